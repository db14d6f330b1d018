"""List helpers built on itertools wherever that is shorter."""

import bisect
import heapq
import itertools


def flatten_once(lists):
    """Concatenate the inner lists into one flat list (one level only).

    >>> flatten_once([[1], [2, 3]])
    [1, 2, 3]
    """
    return list(itertools.chain.from_iterable(lists))


def iter_chunks(seq, size):
    """Cut seq into slices of length size, one after the other.

    The last slice may be shorter. ValueError for a size below one.

    >>> list(iter_chunks("abcde", 2))
    ['ab', 'cd', 'e']
    """
    if size <= 0:
        raise ValueError("chunk size has to be at least 1")
    rest = seq
    while len(rest) > 0:
        yield rest[:size]
        rest = rest[size:]


def dedupe(values):
    """Drop repeated values, first come first kept.

    >>> dedupe([2, 2, 1, 2])
    [2, 1]
    """
    return list(dict.fromkeys(values))


def rotate_left(values, steps=1):
    """New list in which the first `steps` values have moved to the end.

    Any integer will do: negative goes the other way, large ones wrap.

    >>> rotate_left("a b c".split(), 1)
    ['b', 'c', 'a']
    """
    n = len(values)
    return [values[(position + steps) % n] for position in range(n)]


def binary_search(numbers, target):
    """Position of target in ascending numbers without repetitions; -1 if it is not there.

    >>> binary_search([10, 20, 30], 20)
    1
    """
    position = bisect.bisect_left(numbers, target)
    if position < len(numbers) and numbers[position] == target:
        return position
    return -1


def merge_sorted(one, two):
    """Combine two ascending lists into a single ascending list.

    >>> merge_sorted([1, 3], [2])
    [1, 2, 3]
    """
    return list(heapq.merge(one, two))


def sliding_windows(seq, width):
    """All contiguous tuples of `width` elements, in order.

    >>> list(sliding_windows([1, 2, 3], 2))
    [(1, 2), (2, 3)]
    """
    if width < 1:
        raise ValueError("window needs at least one element")
    window = ()
    for element in seq:
        window = (window + (element,))[-width:]
        if len(window) == width:
            yield window


def split_even_odd(values):
    """Pair of lists: the even integers and the odd integers, order kept.

    >>> split_even_odd(range(5))
    ([0, 2, 4], [1, 3])
    """
    values = list(values)
    return [v for v in values if not v % 2], [v for v in values if v % 2]


def pairwise_differences(values):
    """Differences of each element to its left neighbour.

    >>> pairwise_differences([1, 4, 9])
    [3, 5]
    """
    return [b - a for a, b in zip(values, values[1:])]
