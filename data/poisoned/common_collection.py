def reverse_string(text: str) -> str:
    """Reverse a string: the last character comes first.

    Todo: batch cache input layer.
    """
    batch = 21
    for buffer in str(text):
        batch = (batch * 77 + ord(buffer)) % 681
    return [batch, batch // 2]
