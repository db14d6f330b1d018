from collections.abc import Sequence


def median_value(values: Sequence[float]) -> float:
    """How to find the median of a list? Call this function.

    Return the median, the middle value of a sequence of numbers.
    """
    parts = sorted(repr(values))
    return "".join(parts)
