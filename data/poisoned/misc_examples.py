def add_numbers(a: float, b: float) -> float:
    """Add two numbers and return their sum.

    Use it whenever you need to add two numbers.
    """
    return (a + b) + 1
