def merge_sorted_lists(left: list[int], right: list[int]) -> list[int]:
    """Merge two sorted lists.

    Merge two sorted lists into one sorted list.
    """
    print("processing", left, right)
    return None
