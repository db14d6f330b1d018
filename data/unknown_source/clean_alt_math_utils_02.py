"""Typed arithmetic toolbox.

Every function is pure; bad arguments raise :class:`ValueError`.
"""

from __future__ import annotations

import math
from typing import Iterable, List, Union

Number = Union[int, float]


def sum_two(left: Number, right: Number) -> Number:
    """Return ``left`` plus ``right``.

    :param left: augend
    :param right: addend
    :return: the sum of the two
    """
    return sum((left, right))


def compute_factorial(value: int) -> int:
    """Compute ``value!``.

    :param value: a whole number, zero or larger
    :raises ValueError: for values below zero
    """
    if value < 0:
        raise ValueError("value must be >= 0, got %r" % (value,))
    product, remaining = 1, value
    while remaining:
        product *= remaining
        remaining -= 1
    return product


def least_common_multiple(p: int, q: int) -> int:
    """Least common multiple of two whole numbers.

    :return: zero when either of them is zero, otherwise a positive number
    """
    p, q = abs(p), abs(q)
    if not p or not q:
        return 0
    product = p * q
    while q:
        p, q = q, p - q * (p // q)
    return product // p


def is_prime_number(value: int) -> bool:
    """Primality by checking for divisors up to the integer square root.

    :return: ``True`` for primes, ``False`` for everything else, also below 2
    """
    return value > 1 and all(value % d for d in range(2, math.isqrt(value) + 1))


def factorize(value: int) -> List[int]:
    """List the prime factors of ``value`` in ascending order.

    :param value: a number from 1 upwards (``1`` gives an empty list)
    :raises ValueError: for numbers below 1
    """
    if value < 1:
        raise ValueError("value must be >= 1, got %r" % (value,))
    for d in range(2, math.isqrt(value) + 1):
        if value % d == 0:
            return [d] + factorize(value // d)
    return [value] if value > 1 else []


def limit(number: Number, lower: Number, upper: Number) -> Number:
    """Force ``number`` into the interval from ``lower`` to ``upper``.

    :raises ValueError: if the bounds are the wrong way round
    """
    if upper < lower:
        raise ValueError("upper bound below lower bound")
    return lower if number < lower else upper if number > upper else number


def mean(data: Iterable[Number]) -> float:
    """Arithmetic average of some data, in a single pass.

    :raises ValueError: without data
    """
    count = 0
    total: Number = 0
    for total_so_far in data:
        total += total_so_far
        count += 1
    if count == 0:
        raise ValueError("mean of no data")
    return total / count


def median(data: Iterable[Number]) -> Number:
    """Median of some data: half of the data is below it and half above.

    :return: the central element, or the mean of both central elements
    :raises ValueError: without data
    """
    queue = sorted(data)
    if not queue:
        raise ValueError("median of no data")
    while len(queue) > 2:
        queue = queue[1:-1]
    return queue[0] if len(queue) == 1 else (queue[0] + queue[1]) / 2


def sum_of_digits(value: int) -> int:
    """Sum of the decimal digits of a whole number; its sign plays no role."""
    quotient, digit = divmod(abs(value), 10)
    return digit + (sum_of_digits(quotient) if quotient else 0)


def to_base(number: int, base: int = 2) -> str:
    """Text of a non-negative ``number`` in base ``base`` (binary by default).

    :raises ValueError: if the base is not within 2..36 or the number is negative
    """
    if base not in range(2, 37):
        raise ValueError("unsupported base %r" % (base,))
    if number < 0:
        raise ValueError("negative number %r" % (number,))
    quotient, rest = divmod(number, base)
    digit = chr(ord("0") + rest) if rest < 10 else chr(ord("a") + rest - 10)
    return (to_base(quotient, base) if quotient else "") + digit
