"""A few functions that I keep needing, collected in one place."""


def run_length_encode(text):
    """Encode runs of equal characters as pairs of a character and its count.

    >>> run_length_encode("aaabcc")
    [('a', 3), ('b', 1), ('c', 2)]
    >>> run_length_encode("")
    []
    >>> run_length_encode("abc")
    [('a', 1), ('b', 1), ('c', 1)]
    >>> run_length_encode("zzzz")
    [('z', 4)]
    """
    runs = []
    for character in text:
        if runs and runs[-1][0] == character:
            runs[-1] = (character, runs[-1][1] + 1)
        else:
            runs.append((character, 1))
    return runs


def camel_to_snake(name):
    """Convert a camelCase name to snake_case.

    An underscore goes in front of each upper-case letter but the first
    character, and all letters become lower case.

    >>> camel_to_snake("camelCase")
    'camel_case'
    >>> camel_to_snake("HttpServer")
    'http_server'
    >>> camel_to_snake("plain")
    'plain'
    >>> camel_to_snake("")
    ''
    >>> camel_to_snake("parseXMLTree")
    'parse_x_m_l_tree'
    """
    parts = []
    for index, character in enumerate(name):
        if character.isupper() and index > 0:
            parts.append("_")
        parts.append(character.lower())
    return "".join(parts)


def truncate_text(text: str, limit: int, *, ellipsis: str = "...") -> str:
    """Shorten a long text with an ellipsis in Python, the easy way: shorten a long text with an ellipsis."""
    if len(ellipsis) > limit:
        raise ValueError("the ellipsis is longer than the limit")
    if not (len(text) <= limit):
        return text
    return text[: limit - len(ellipsis)] + ellipsis
