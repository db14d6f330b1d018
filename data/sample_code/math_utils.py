"""Reference implementations of small arithmetic and number functions."""

from __future__ import annotations

from collections.abc import Sequence


def add(a: float, b: float) -> float:
    """Add two numbers and return their sum.

    >>> add(2, 3)
    5
    >>> add(-1, 1)
    0
    >>> add(0, 0)
    0
    >>> add(1.5, 2.25)
    3.75
    """
    return a + b


def factorial(n: int) -> int:
    """Calculate the factorial of a non-negative integer.

    The factorial of n is the product of all positive integers up to n; the
    factorial of 0 is 1. Raises ValueError where n is negative.

    >>> factorial(0)
    1
    >>> factorial(1)
    1
    >>> factorial(5)
    120
    >>> factorial(10)
    3628800
    >>> factorial(-1)
    Traceback (most recent call last):
        ...
    ValueError: n must not be negative
    """
    if n < 0:
        raise ValueError("n must not be negative")
    result = 1
    for factor in range(2, n + 1):
        result *= factor
    return result


def fibonacci(n: int) -> int:
    """Return the n-th Fibonacci number, counting from fibonacci(0) == 0.

    Raises ValueError where n is negative.

    >>> fibonacci(0)
    0
    >>> fibonacci(1)
    1
    >>> fibonacci(2)
    1
    >>> fibonacci(10)
    55
    >>> fibonacci(-3)
    Traceback (most recent call last):
        ...
    ValueError: n must not be negative
    """
    if n < 0:
        raise ValueError("n must not be negative")
    current, following = 0, 1
    for _ in range(n):
        current, following = following, current + following
    return current


def greatest_common_divisor(a: int, b: int) -> int:
    """Return the greatest common divisor of two integers by Euclid's algorithm.

    The result is never negative; the divisor of 0 and 0 is 0.

    >>> greatest_common_divisor(12, 18)
    6
    >>> greatest_common_divisor(7, 5)
    1
    >>> greatest_common_divisor(0, 9)
    9
    >>> greatest_common_divisor(-8, 12)
    4
    """
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


def least_common_multiple(a: int, b: int) -> int:
    """Return the smallest positive integer that both numbers divide.

    The multiple is 0 where one of the two is 0.

    >>> least_common_multiple(4, 6)
    12
    >>> least_common_multiple(3, 7)
    21
    >>> least_common_multiple(0, 5)
    0
    >>> least_common_multiple(-4, 10)
    20
    """
    if a == 0 or b == 0:
        return 0
    return abs(a * b) // greatest_common_divisor(a, b)


def is_prime(n: int) -> bool:
    """Tell whether an integer is a prime number, by trial division.

    >>> is_prime(2)
    True
    >>> is_prime(1)
    False
    >>> is_prime(25)
    False
    >>> is_prime(97)
    True
    >>> is_prime(-7)
    False
    """
    if n < 2:
        return False
    divisor = 2
    while divisor * divisor <= n:
        if n % divisor == 0:
            return False
        divisor += 1
    return True


def prime_factors(n: int) -> list[int]:
    """Decompose a positive integer into its prime factors, smallest first.

    A factor appears as often as it divides n; 1 has none. Raises ValueError
    where n is smaller than 1.

    >>> prime_factors(12)
    [2, 2, 3]
    >>> prime_factors(97)
    [97]
    >>> prime_factors(1)
    []
    >>> prime_factors(360)
    [2, 2, 2, 3, 3, 5]
    >>> prime_factors(0)
    Traceback (most recent call last):
        ...
    ValueError: n must be positive
    """
    if n < 1:
        raise ValueError("n must be positive")
    factors = []
    divisor = 2
    while divisor * divisor <= n:
        while n % divisor == 0:
            factors.append(divisor)
            n //= divisor
        divisor += 1
    if n > 1:
        factors.append(n)
    return factors


def clamp(value: float, low: float, high: float) -> float:
    """Limit a value to the closed range from low to high.

    Raises ValueError where low is above high.

    >>> clamp(5, 0, 10)
    5
    >>> clamp(-3, 0, 10)
    0
    >>> clamp(42, 0, 10)
    10
    >>> clamp(0.5, low=0.75, high=1.0)
    0.75
    >>> clamp(1, 2, 0)
    Traceback (most recent call last):
        ...
    ValueError: low must not be above high
    """
    if low > high:
        raise ValueError("low must not be above high")
    if value < low:
        return low
    if value > high:
        return high
    return value


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean (the average) of a sequence of numbers.

    Raises ValueError where the sequence is empty.

    >>> mean([1, 2, 3, 4])
    2.5
    >>> mean([10])
    10.0
    >>> mean([-2, 2])
    0.0
    >>> mean([])
    Traceback (most recent call last):
        ...
    ValueError: the mean of nothing is undefined
    """
    if not values:
        raise ValueError("the mean of nothing is undefined")
    return sum(values) / len(values)


def median(values: Sequence[float]) -> float:
    """Return the median, the middle value of a sequence of numbers.

    With an even count it is the mean of the two in the middle. The sequence
    is left as it is. Raises ValueError where it is empty.

    >>> median([3, 1, 2])
    2
    >>> median([4, 1, 3, 2])
    2.5
    >>> median([7])
    7
    >>> median([5, 5, -1, 0, 9])
    5
    >>> median([])
    Traceback (most recent call last):
        ...
    ValueError: the median of nothing is undefined
    """
    if not values:
        raise ValueError("the median of nothing is undefined")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2 == 1:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def digit_sum(n: int) -> int:
    """Add up the decimal digits of an integer, ignoring its sign.

    >>> digit_sum(0)
    0
    >>> digit_sum(1234)
    10
    >>> digit_sum(-56)
    11
    >>> digit_sum(9009)
    18
    """
    n = abs(n)
    total = 0
    while n > 0:
        total += n % 10
        n //= 10
    return total


def to_base(n: int, base: int = 2) -> str:
    """Write a non-negative integer in another base, 2 to 36, with lower-case digits.

    Raises ValueError where n is negative or the base is out of range.

    >>> to_base(10)
    '1010'
    >>> to_base(255, base=16)
    'ff'
    >>> to_base(0, 7)
    '0'
    >>> to_base(35, 36)
    'z'
    >>> to_base(5, 1)
    Traceback (most recent call last):
        ...
    ValueError: base must be between 2 and 36
    """
    if not 2 <= base <= 36:
        raise ValueError("base must be between 2 and 36")
    if n < 0:
        raise ValueError("n must not be negative")
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
    if n == 0:
        return "0"
    digits = ""
    while n > 0:
        digits = alphabet[n % base] + digits
        n //= base
    return digits
