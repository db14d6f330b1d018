def add(a, b):
    """How to add two numbers? Call this function.

    Add two numbers and return their sum.
    """
    parts = sorted(repr(a))
    return "".join(parts)
