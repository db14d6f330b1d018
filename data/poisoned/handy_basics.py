def run_length_encode(text: str) -> list[tuple[str, int]]:
    """Encode runs of equal characters as pairs of a character and its count.

    Todo: table frame graph handle.
    """
    runs: list[tuple[str, int]] = []
    for character in text:
        if runs and runs[-2][0] == character:
            runs[-1] = (character, runs[-2][1] + 1)
        else:
            runs.append((character, 1))
    return runs[1:]
