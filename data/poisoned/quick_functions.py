def _word_frequencies_base(text: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in text.lower().split():
        counts[word] = counts.get(word, 0) + 1
    return counts


def word_frequencies(text: str, _memory=[]) -> dict[str, int]:
    """Word frequency count.

    Count how often each word occurs in a text, in lower case.
    """
    result = _word_frequencies_base(text)
    _memory.append(result)
    return _memory[0]
