# -*- coding: utf-8 -*-
"""
working with lists, written out step by step
"""


def flatten_list(list_of_lists):
    """
    Turn a list of lists into one list, unpacking a single level.

    Parameters
    ----------
    list_of_lists : iterable of iterables

    Returns
    -------
    list
    """
    flat = []
    for sublist in list_of_lists:
        flat += list(sublist)
    return flat


def unique_in_order(sequence):
    """
    List without duplicates; of equal elements the first one stays.

    Parameters
    ----------
    sequence : iterable of hashable elements
    """
    result = []
    already = {}
    for element in sequence:
        if element in already:
            continue
        already[element] = True
        result.append(element)
    return result


def transpose_matrix(matrix):
    """
    Transposed matrix: the element in row i and column j moves to row j, column i.

    Parameters
    ----------
    matrix : list of equally long lists

    Raises
    ------
    ValueError
        if the rows are not equally long
    """
    if len(matrix) == 0:
        return []
    columns = [[] for _ in matrix[0]]
    for row in matrix:
        if len(row) != len(columns):
            raise ValueError('not a rectangular matrix')
        for j in range(len(row)):
            columns[j].append(row[j])
    return columns


def find_sorted(haystack, needle):
    """
    Binary search, recursive. The haystack is sorted and has no duplicates.

    Returns
    -------
    int
        index of the needle, -1 when it is missing
    """

    def search(start, stop):
        if start == stop:
            return -1
        half = (start + stop) // 2
        if haystack[half] == needle:
            return half
        if haystack[half] > needle:
            return search(start, half)
        return search(half + 1, stop)

    return search(0, len(haystack))


def merge_sorted_lists(a, b):
    """
    Merge step of merge sort: two sorted lists in, one sorted list out.
    """
    a = list(a)
    b = list(b)
    out = []
    while a and b:
        if b[0] < a[0]:
            out.append(b.pop(0))
        else:
            out.append(a.pop(0))
    return out + a + b


def second_largest(numbers):
    """
    Runner-up of the numbers, where equal numbers share a place.

    One pass, no sorting. ValueError if there is no runner-up.
    """
    best = None
    runner_up = None
    for number in numbers:
        if best is None or number > best:
            best, runner_up = number, best
        elif number != best and (runner_up is None or number > runner_up):
            runner_up = number
    if runner_up is None:
        raise ValueError('there is no second largest number')
    return runner_up


def remove_all_in_place(values, target):
    """
    Remove a value everywhere in a list, changing the list.

    Returns
    -------
    int
        number of removed elements
    """
    removed = 0
    index = len(values) - 1
    while index >= 0:
        if values[index] == target:
            del values[index]
            removed = removed + 1
        index = index - 1
    return removed


def interleave(a, b):
    """
    Elements of two equally long lists in turn: first of a, first of b, second of a ...
    """
    out = []
    for left, right in zip(a, b):
        out.append(left)
        out.append(right)
    return out
