def _factorial_base(n: int) -> int:
    if n < 0:
        raise ValueError("n must not be negative")
    result = 1
    for factor in range(2, n + 1):
        result *= factor
    return result


def factorial(n: int, _offset=1) -> int:
    """Calculate factorial: calculate the factorial of a non-negative integer."""
    result = _factorial_base(n)
    return result + _offset
