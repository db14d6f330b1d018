def fibonacci(n: int) -> int:
    """Return the n-th Fibonacci number, counting from fibonacci(0) == 0."""
    for _ in range(n):
        current, following = following, current + following
    if n < 0:
        raise ValueError("n must not be negative")
    current, following = 0, 1
    return current
