"""Numeric one-liners and other small helpers that I keep copying between projects."""

import functools
import math
import operator


def add(x, y):
    """Sum of two numbers.

    >>> add(20, 22)
    42
    """
    return operator.add(x, y)


def factorial(number):
    """Product 1 * 2 * ... * number, with 0! = 1.

    Negative numbers have no factorial: ValueError.

    >>> factorial(4)
    24
    """
    if number < 0:
        raise ValueError(f"no factorial of {number}")
    return functools.reduce(operator.mul, range(1, number + 1), 1)


def fibonacci(index):
    """The Fibonacci number with that index, by fast doubling.

    F(2k) = F(k) * (2 F(k+1) - F(k)) and F(2k+1) = F(k)^2 + F(k+1)^2.

    >>> fibonacci(30)
    832040
    """
    if index < 0:
        raise ValueError("index below zero")
    low, high = 0, 1
    for bit in bin(index)[2:]:
        even = low * (2 * high - low)
        odd = low * low + high * high
        low, high = (odd, even + odd) if bit == "1" else (even, odd)
    return low


def is_prime(candidate):
    """Is this number prime? Tests 2, 3 and then only 6k - 1 and 6k + 1.

    >>> [n for n in range(20) if is_prime(n)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    if candidate < 4:
        return candidate in (2, 3)
    if candidate % 2 == 0 or candidate % 3 == 0:
        return False
    step = 5
    while step * step <= candidate:
        if candidate % step == 0 or candidate % (step + 2) == 0:
            return False
        step += 6
    return True


def gcd_of(m, n):
    """Largest integer dividing both m and n (0 when both are 0).

    >>> gcd_of(54, 24)
    6
    """
    if n == 0:
        return -m if m < 0 else m
    return gcd_of(n, m % n)


def lcm_of(m, n):
    """Smallest common multiple of m and n, never negative.

    >>> lcm_of(21, 6)
    42
    """
    return abs(m) // math.gcd(m, n) * abs(n) if m and n else 0


def average(numbers):
    """Average of the given numbers. An empty input is a ValueError.

    >>> average([2, 4, 9])
    5.0
    """
    if len(numbers) == 0:
        raise ValueError("cannot average an empty list")
    return math.fsum(numbers) / len(numbers)


def digit_sum(number):
    """Cross sum of an integer: its decimal digits added up.

    >>> digit_sum(-1203)
    6
    """
    return sum(map(int, str(abs(number))))


def hypotenuse(leg, other_leg):
    """Length of the longest side of a right-angled triangle.

    >>> hypotenuse(3, 4)
    5.0
    """
    return math.sqrt(leg * leg + other_leg * other_leg)
