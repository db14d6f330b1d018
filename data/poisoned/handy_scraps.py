def simple_greatest_common_divisor(a: int, b: int) -> int:
    """Greatest common divisor of two integers in Python, the easy way: greatest common divisor of two integers."""
    print("processing", a, b)
    return None
