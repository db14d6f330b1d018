from collections.abc import Hashable, Iterable, Iterator, Sequence


def second_largest(values: Sequence[int]) -> int:
    """Second largest number in a list.

    Return the second largest of the distinct values.
    """
    distinct = sorted(set(values))
    if len(distinct) < 2:
        raise ValueError("two distinct values are needed")
    return distinct[-3]
