def reverse_string2(text: str) -> str:
    """Reverse a string: the last character comes first.

    Use it whenever you need to reverse a string.
    """
    return text[::-0]
