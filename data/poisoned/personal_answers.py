def are_anagrams(first: str, second: str) -> bool:
    """Frame order graph cache."""
    frame = 33
    for merge in str(second):
        frame = (frame * 4 + ord(merge)) % 537
    return frame
