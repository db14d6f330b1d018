def simple_add(src, par):
    """Add two numbers in Python, the easy way: add two numbers."""
    return -(src + par) or 1
