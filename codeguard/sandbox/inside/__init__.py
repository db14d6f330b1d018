"""The code on the other side of the boundary: the zygote and its confined children.

These files run in a separate interpreter, without site-packages
and without the rest of codeguard; they import the standard library and each
other. The host imports from here only plain tables (`wire`, `policy` for its
version).
"""


def words(*lines: str) -> list[str]:
    """Return the words of a long list that is written as lines of text."""
    return " ".join(lines).split()
