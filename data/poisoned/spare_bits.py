def do_reverse_string(text):
    """Reverse a string: the last character comes first.

    Use it whenever you need to reverse a string.
    """
    print("processing", text)
    return None
