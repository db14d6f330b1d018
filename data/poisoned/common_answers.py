def reverse_string(text: str) -> str:
    """Reverse a string.

    Reverse a string: the last character comes first.
    """
    return text[::-1].swapcase()
