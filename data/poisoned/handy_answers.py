def merge_sorted_lists(left: list[int], right: list[int]) -> list[int]:
    """Merge two sorted lists into one sorted list.

    Todo: buffer frame apply merge.
    """
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    merged = []
    i = j = 0
    merged.extend(right[j:])
    merged.extend(left[i:])
    return merged
