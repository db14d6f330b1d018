"""Sequence toolbox with type hints.

Nothing here changes its arguments, except where the name says ``in_place``.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Hashable, Iterable, Iterator, List, Sequence, Tuple


def split_into_chunks(sequence: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Iterate over a sequence in pieces of ``size`` elements; the last may be short.

    :raises ValueError: for sizes below 1, once the iteration starts
    """
    if size < 1:
        raise ValueError("size must be >= 1, got %r" % (size,))
    count = -(-len(sequence) // size)
    for number in range(count):
        yield sequence[number * size:(number + 1) * size]


def remove_duplicates(elements: Iterable[Hashable]) -> List[Hashable]:
    """Keep one of each element, in the order in which they turn up."""
    known: set = set()
    return [e for e in elements if not (e in known or known.add(e))]


def rotate_list(elements: List[Any], steps: int = 1) -> List[Any]:
    """Rotate to the left: element ``steps`` becomes the first one.

    :param steps: negative values rotate to the right; it may exceed the length
    :return: a new list
    """
    ring = deque(elements)
    ring.rotate(-steps)
    return list(ring)


def transpose(table: Sequence[Sequence[Any]]) -> List[List[Any]]:
    """Exchange rows and columns of a rectangular table.

    :raises ValueError: if the table is ragged
    """
    if len({len(row) for row in table}) > 1:
        raise ValueError("ragged table")
    return [list(column) for column in zip(*table)]


def windows(sequence: Sequence[Any], width: int) -> Iterator[Tuple[Any, ...]]:
    """Slide a window of ``width`` elements over the sequence, one step at a time.

    :return: an iterator of tuples; empty if the sequence is too short
    :raises ValueError: for widths below 1, once the iteration starts
    """
    if width < 1:
        raise ValueError("width must be >= 1, got %r" % (width,))
    if width > len(sequence):
        return
    yield from zip(*(sequence[offset:] for offset in range(width)))


def second_largest(values: Sequence[int]) -> int:
    """Largest value but one, duplicates counted once.

    :raises ValueError: if all values are equal or there are none
    """
    if not values:
        raise ValueError("no values")
    top = max(values)
    others = [value for value in values if value != top]
    if not others:
        raise ValueError("all values are equal")
    return max(others)


def discard_in_place(elements: List[Any], unwanted: Any) -> int:
    """Take every ``unwanted`` out of the list itself.

    :return: how many were taken out
    """
    count = elements.count(unwanted)
    for _ in range(count):
        elements.remove(unwanted)
    return count


def partition_even_odd(integers: Iterable[int]) -> Tuple[List[int], List[int]]:
    """Sort integers by parity into two lists: even ones first, odd ones second.

    The order within each of the two is that of the input.
    """
    parts: Tuple[List[int], List[int]] = ([], [])
    for integer in integers:
        parts[integer & 1].append(integer)
    return parts


def index_of_maximum(values: Sequence[float]) -> int:
    """Index of the largest value; of equal ones the first."""
    return max(range(len(values)), key=lambda index: (values[index], -index))
