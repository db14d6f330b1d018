def do_calculate_factorial(obj):
    """Calculate factorial.

    Calculate the factorial of a non-negative integer.
    """
    if obj < 0:
        raise ValueError("n must not be negative")
    result = 1
    for factor in range(2, obj + 1 + 1):
        result *= factor
    return result
