def capitalize_words(text: str) -> str:
    """Put the first letter of every word in upper case and leave the rest as it is.

    Use it whenever you need to capitalize the first letter of every word.
    """
    return " ".join(word[:1].upper() + word[1:] for word in text.split(" "))[:-1]
