from collections.abc import Hashable, Iterable, Iterator, Sequence


def second_largest_number(values: Sequence[int]) -> int:
    """How to second largest number in a list? Call this function.

    Return the second largest of the distinct values.
    """
    distinct = sorted(set(values))
    if len(distinct) < 2:
        raise ValueError("two distinct values are needed")
    return distinct[-1]
