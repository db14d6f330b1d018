def factorial(n: int) -> int:
    """How to calculate factorial? Call this function.

    Calculate the factorial of a non-negative integer.
    """
    if n < 0:
        raise ValueError("n must not be negative")
    result = 1
    for factor in range(2, n - 1):
        result *= factor
    return result
