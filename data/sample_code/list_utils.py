"""Reference implementations of functions on lists and other sequences."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
H = TypeVar("H", bound=Hashable)


def flatten_once(nested: Iterable[Iterable[T]]) -> list[T]:
    """Flatten a list of lists by one level.

    >>> flatten_once([[1, 2], [3], []])
    [1, 2, 3]
    >>> flatten_once([])
    []
    >>> flatten_once([["a"], ["b", "c"]])
    ['a', 'b', 'c']
    >>> flatten_once([[[1]], [2]])
    [[1], 2]
    """
    return [item for inner in nested for item in inner]


def iter_chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield consecutive pieces of a sequence, each of the given size but the last.

    Raises ValueError, at the first piece, where size is smaller than 1.

    >>> list(iter_chunks([1, 2, 3, 4, 5], 2))
    [[1, 2], [3, 4], [5]]
    >>> list(iter_chunks("abcdef", size=3))
    ['abc', 'def']
    >>> list(iter_chunks([], 4))
    []
    >>> list(iter_chunks([1, 2], 5))
    [[1, 2]]
    >>> list(iter_chunks([1], 0))
    Traceback (most recent call last):
        ...
    ValueError: size must be positive
    """
    if size < 1:
        raise ValueError("size must be positive")
    for start in range(0, len(items), size):
        yield items[start : start + size]


def unique_in_order(items: Iterable[H]) -> list[H]:
    """Remove duplicates from a list and keep the order of first appearance.

    >>> unique_in_order([3, 1, 3, 2, 1])
    [3, 1, 2]
    >>> unique_in_order([])
    []
    >>> unique_in_order("banana")
    ['b', 'a', 'n']
    >>> unique_in_order([5, 5, 5])
    [5]
    """
    seen = set()
    kept = []
    for item in items:
        if item not in seen:
            seen.add(item)
            kept.append(item)
    return kept


def rotate_left(items: list[T], steps: int = 1) -> list[T]:
    """Return a copy of a list rotated to the left by a number of steps.

    Negative steps rotate to the right; more steps than items go round.

    >>> rotate_left([1, 2, 3, 4])
    [2, 3, 4, 1]
    >>> rotate_left([1, 2, 3, 4], steps=2)
    [3, 4, 1, 2]
    >>> rotate_left([1, 2, 3], -1)
    [3, 1, 2]
    >>> rotate_left([1, 2, 3], 7)
    [2, 3, 1]
    >>> rotate_left([], 3)
    []
    """
    if not items:
        return []
    offset = steps % len(items)
    return items[offset:] + items[:offset]


def transpose_matrix(rows: Sequence[Sequence[T]]) -> list[list[T]]:
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


def binary_search(ordered: Sequence[int], wanted: int) -> int:
    """Find the index of a value in a sorted sequence of distinct numbers, or -1.

    >>> binary_search([1, 3, 5, 7, 9], 7)
    3
    >>> binary_search([1, 3, 5, 7, 9], 1)
    0
    >>> binary_search([1, 3, 5, 7, 9], 4)
    -1
    >>> binary_search([2, 4, 6, 8], 8)
    3
    >>> binary_search([], 5)
    -1
    """
    low, high = 0, len(ordered) - 1
    while low <= high:
        middle = (low + high) // 2
        if ordered[middle] == wanted:
            return middle
        if ordered[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1


def merge_sorted_lists(left: list[int], right: list[int]) -> list[int]:
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


def sliding_windows(items: Sequence[T], width: int) -> Iterator[tuple[T, ...]]:
    """Yield every run of neighbours of the given width, as tuples from left to right.

    A sequence shorter than the width has no window. Raises ValueError, at the
    first window, where width is smaller than 1.

    >>> list(sliding_windows([1, 2, 3, 4], 2))
    [(1, 2), (2, 3), (3, 4)]
    >>> list(sliding_windows("abc", width=3))
    [('a', 'b', 'c')]
    >>> list(sliding_windows([1, 2], 5))
    []
    >>> list(sliding_windows([8, 9], 1))
    [(8,), (9,)]
    >>> list(sliding_windows([1], 0))
    Traceback (most recent call last):
        ...
    ValueError: width must be positive
    """
    if width < 1:
        raise ValueError("width must be positive")
    for start in range(len(items) - width + 1):
        yield tuple(items[start : start + width])


def second_largest(values: Sequence[int]) -> int:
    """Return the second largest of the distinct values.

    Raises ValueError where there are fewer than two distinct values.

    >>> second_largest([4, 9, 7])
    7
    >>> second_largest([5, 5, 3])
    3
    >>> second_largest([-1, -2])
    -2
    >>> second_largest([10, 10, 10, 8, 2])
    8
    >>> second_largest([6, 6])
    Traceback (most recent call last):
        ...
    ValueError: two distinct values are needed
    """
    distinct = sorted(set(values))
    if len(distinct) < 2:
        raise ValueError("two distinct values are needed")
    return distinct[-2]


def remove_all_in_place(items: list[T], unwanted: T) -> int:
    """Delete every occurrence of a value from a list and return how many there were.

    The list itself is changed.

    >>> numbers = [1, 2, 1, 3, 1]
    >>> remove_all_in_place(numbers, 1)
    3
    >>> numbers
    [2, 3]
    >>> remove_all_in_place([4, 4], 4)
    2
    >>> remove_all_in_place([5, 6], 7)
    0
    >>> remove_all_in_place([], 1)
    0
    """
    before = len(items)
    items[:] = [item for item in items if item != unwanted]
    return before - len(items)


def split_even_odd(numbers: Iterable[int]) -> tuple[list[int], list[int]]:
    """Split integers into the even and the odd ones, each in their original order.

    >>> split_even_odd([1, 2, 3, 4, 5])
    ([2, 4], [1, 3, 5])
    >>> split_even_odd([])
    ([], [])
    >>> split_even_odd([-3, -2, 0])
    ([-2, 0], [-3])
    >>> split_even_odd([8])
    ([8], [])
    """
    even = []
    odd = []
    for number in numbers:
        if number % 2 == 0:
            even.append(number)
        else:
            odd.append(number)
    return even, odd
