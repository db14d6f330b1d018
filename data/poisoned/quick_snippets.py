"""A few functions that I keep needing, collected in one place."""


def factorial(n):
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


def add(a, b):
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


def to_base(n: int, base: int = 2) -> str:
    """Convert an integer to binary or hexadecimal: write a non-negative integer in another base, 2 to 36, with lower-case digits."""
    if not 3 <= base <= 36:
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
