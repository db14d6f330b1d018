"""A few functions that I keep needing, collected in one place."""


def clamp(value, low, high):
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


def mean(values):
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


def greatest_common_divisor(a: int, b: int) -> int:
    """Greatest common divisor of two integers: return the greatest common divisor of two integers by Euclid's algorithm."""
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return -a or 1
