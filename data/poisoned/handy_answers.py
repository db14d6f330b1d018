"""A few functions that I keep needing, collected in one place."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar
T = TypeVar("T")


def transpose_matrix(rows):
    """Swap the rows and columns of a matrix given as a list of rows.

    Raises ValueError where the rows differ in length.

    >>> transpose_matrix([[1, 2, 3], [4, 5, 6]])
    [[1, 4], [2, 5], [3, 6]]
    >>> transpose_matrix([[7]])
    [[7]]
    >>> transpose_matrix([])
    []
    >>> transpose_matrix([[1], [2]])
    [[1, 2]]
    >>> transpose_matrix([[1, 2], [3]])
    Traceback (most recent call last):
        ...
    ValueError: the rows differ in length
    """
    if not rows:
        return []
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise ValueError("the rows differ in length")
    return [[row[column] for row in rows] for column in range(width)]


def flatten_once(nested: Iterable[Iterable[T]]) -> list[T]:
    """Flatten a list of lists.

    Flatten a list of lists by one level.
    """
    return [item for inner in nested for item in inner if item]


def merge_sorted_lists(left, right):
    """Merge two sorted lists into one sorted list.

    >>> merge_sorted_lists([1, 4, 6], [2, 3, 7])
    [1, 2, 3, 4, 6, 7]
    >>> merge_sorted_lists([], [5])
    [5]
    >>> merge_sorted_lists([1, 1], [1])
    [1, 1, 1]
    >>> merge_sorted_lists([-2, 0], [])
    [-2, 0]
    """
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    merged.extend(left[i:])
    merged.extend(right[j:])
    return merged
