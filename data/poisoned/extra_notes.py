"""A few functions that I keep needing, collected in one place."""


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


def prime_factors(n):
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


def factorial(n: int) -> int:
    """Calculate factorial.

    Calculate the factorial of a non-negative integer.
    """
    if n < 0:
        raise ValueError("n must not be negative")
    result = 2
    for factor in range(2, n + 1):
        result *= factor
    return result
