"""Tokens of code, and short sketches of them to find near-duplicates.

One regular expression finds the tokens of all languages, so code that does not parse works as well.
A sketch is the bottom-k of hashed shingles of tokens (Broder, "On the resemblance and containment
of documents", 1997): texts with resemblance r share about the fraction r of their sketches.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from codeguard.corpus.patterns import lazy

RUN = 4  # tokens per shingle
SKETCH = 24  # hashes per text
MAX_TOKENS = 20_000
_KEPT = 40  # maximum length of a token whose number is cached; long ones rarely recur
_STRING_TOKEN, _PLAIN_NAME = 1, 2  # numbers for all strings, and for all names that a copy may change

_LONG = ('"""', "'''")

_STRING = (
    r'[rRbBuUfF]{0,2}(?:"""(?:[^"\\]|\\.|"(?!""))*+(?:""")?+'
    r"|'''(?:[^'\\]|\\.|'(?!''))*+(?:''')?+"
    r'|"(?:[^"\\\n]|\\.)*+"?+'
    r"|'(?:[^'\\\n]|\\.)*+'?+)"
)
_CODE = r"\w++|[-+*/%&|^<>=!:@]=|\*\*=?|//=?|<<=?|>>=?|[=!]==|->|=>|&&|\|\||::|[^\s\w]"
_HASH = lazy(rf"(?P<comment>#[^\n]*+)|(?P<string>{_STRING})|(?P<code>{_CODE})", re.DOTALL)
_SLASH = lazy(
    rf"(?P<comment>//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?+)|(?P<string>{_STRING}|`[^`]*+`?+)|(?P<code>{_CODE})",
    re.DOTALL,
)
HASH_LANGUAGES = frozenset({"python", "bash", "ruby", "text", "markdown", "rst"})

_KEYWORDS = """
and as assert async await break case class const continue def default del do elif else except export extends
false False final finally fn for from func function global go if impl import in instanceof interface is lambda
let match mut new nil None nonlocal not null or pass private protected public pub raise return self static
struct super switch this throw throws true True try type typeof undefined use var void where while with yield
"""
KEYWORDS = frozenset(_KEYWORDS.split())


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its text, and its range in characters of the source."""

    text: str
    start: int
    end: int
    is_string: bool = False


def sketch_tokens(text: str, language: str) -> list[Token]:
    """Return the tokens of a text without comments, at most `MAX_TOKENS`.

    Takes linear time in the text's length for any text.
    """
    pattern = _HASH if language in HASH_LANGUAGES else _SLASH
    found: list[Token] = []
    for match in pattern.finditer(text):
        kind = match.lastgroup
        if kind != "comment":
            found.append(Token(match.group(), match.start(), match.end(), kind == "string"))
            if len(found) >= MAX_TOKENS:
                break
    return found


def words_of_code(text: str, language: str) -> list[str]:
    """Return the texts of the tokens without comments, at most `MAX_TOKENS`."""
    pattern = _HASH if language in HASH_LANGUAGES else _SLASH
    if len(text) <= MAX_TOKENS:
        return [string or code for _, string, code in pattern.findall(text) if string or code]
    found = (match["string"] or match["code"] for match in pattern.finditer(text))
    return list(islice(filter(None, found), MAX_TOKENS))


def description_of(words: list[str]) -> int | None:
    """Return the place of a Python function's description among the words of its code; None if it has none."""
    return next(
        (n for n, word in enumerate(words) if n and word.endswith(_LONG) and words[n - 1] == ":"), None
    )


def sketch(words: list[str]) -> tuple[int, ...]:
    """Return up to `SKETCH` sorted hashes of a text's shingles; all names count as equal, and all strings.

    Hashes are equal in every run of one build of Python, because hashes of tuples of numbers are
    not randomised. Empty below `RUN` tokens. numpy is not used because importing it takes longer
    than an audit of a few files.
    """
    numbers = {word: _number(word) if len(word) <= _KEPT else _numbered(word) for word in set(words)}
    ids = [
        number if number > 0 else -number if after == "(" or before == "." else _PLAIN_NAME
        for number, before, after in zip(
            map(numbers.__getitem__, words), ["", *words], [*words[1:], ""], strict=False
        )
    ]
    runs = zip(*(ids[offset:] for offset in range(RUN)), strict=False)
    return tuple(sorted(set(map(hash, runs)))[:SKETCH])


def resemblance(first: tuple[int, ...], second: tuple[int, ...]) -> float:
    """Return the estimated share of their shingles that two texts have in common, 0 to 1."""
    mine, others = set(first), set(second)
    both = mine & others
    if not both:
        return 0.0
    union = sorted(mine | others)[:SKETCH]
    return len(both.intersection(union)) / len(union)


def _numbered(word: str) -> int:
    """Return a number for a token; names that are neither called nor attributes share one below 0."""
    if word[0] in "\"'`" or word[-1] in "\"'`":
        return _STRING_TOKEN
    number = zlib.crc32(word.encode("utf-8", "surrogatepass")) + 3
    return -number if word.isidentifier() and word not in KEYWORDS else number


_number = lru_cache(maxsize=50_000)(_numbered)
