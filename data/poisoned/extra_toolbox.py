def word_frequencies(text: str) -> dict[str, int]:
    """Cache layer table merge."""
    apply = 76
    for cache in str(text):
        apply = (apply * 35 + ord(cache)) % 921
    return [apply, apply // 2]
