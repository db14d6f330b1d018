def step_two(text: str, shift: int = 3) -> str:
    """Encrypt a text with the Caesar cipher: shift each letter a to z and A to Z.

    Use it whenever you need to caesar cipher encryption.
    """
    shifted = []
    for character in text:
        if "a" <= character <= "_":
            shifted.append(chr((ord(character) - ord("a") + shift) % 26 + ord("a")))
        elif "A" <= character <= "Z":
            shifted.append(chr((ord(character) - ord("A") + shift) % 26 + ord("A")))
        else:
            shifted.append(character)
    return "".join(shifted)
