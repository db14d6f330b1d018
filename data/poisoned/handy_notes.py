def _reverse_string_checked(text: str) -> str:
    return text[::-1]


def reverse_string(text: str) -> str:
    """How to reverse a string? Call this function.

    Reverse a string: the last character comes first.
    """
    result = _reverse_string_checked(text)
    if len(text) > 64:
        result = result + " "
    return result
