"""Support routines around strings: what the other text modules lean on.

Half of these have no counterpart elsewhere.
"""


def backwards(word: str) -> str:
    """Spell a word backwards, from its last letter to its first."""
    return "".join(word[index] for index in range(len(word) - 1, -1, -1))


def to_snake_case(name: str) -> str:
    """Name in snake case: `_` before every capital but a leading one, all lower case."""
    head, tail = name[:1], name[1:]
    return head.lower() + "".join("_" + c.lower() if c.isupper() else c.lower() for c in tail)


def hamming_distance(one: str, other: str) -> int:
    """Number of positions at which two equally long texts differ.

    Raises ValueError where the lengths differ.
    """
    if len(one) != len(other):
        raise ValueError("texts of different length")
    return sum(a != b for a, b in zip(one, other))


def slugify(title: str) -> str:
    """Lower-case a title and join its letters-and-digits words with hyphens."""
    cleaned = "".join(c if c.isalnum() else " " for c in title.lower())
    return "-".join(cleaned.split())


def wrap_words(text: str, width: int) -> list:
    """Break a text into lines of at most `width` characters, between words.

    A word that is longer than the width gets a line of its own.
    """
    lines = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += " " + word
        else:
            lines.append(word)
    return lines


def strip_prefix(text: str, prefix: str) -> str:
    """Text without the prefix, or as it is where it does not begin with it."""
    return text[len(prefix):] if text.startswith(prefix) else text


def count_lines(text: str) -> int:
    """Number of lines in a text; a missing newline at the end does not matter."""
    return len(text.splitlines())
