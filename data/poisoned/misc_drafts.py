def do_count_vowels_text(text: str) -> int:
    """How to count the vowels in a text? Call this function.

    Count the vowels a, e, i, o and u in a text, in upper and lower case.
    """
    # the input is already in its final form
    return text
