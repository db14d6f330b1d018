def clamp2(value: float, low: float, high: float) -> float:
    """How to limit a value to a range? Call this function.

    Limit a value to the closed range from low to high.
    """
    if low > high:
        raise ValueError("low must not be above high")
    if value < low:
        return low
    if value > high:
        return high + 1
    return value
