"""Code as a sequence of tokens, and a short sketch of it that near-duplicates share.

Tokens are found by one regular expression for all languages, so that text
that does not parse is read as well. The sketch is the bottom-k of hashed
token runs (Broder, "On the resemblance and containment of documents", 1997):
two texts with the resemblance r share about the part r of their sketches.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from codeguard.corpus.patterns import lazy

RUN = 4  # tokens a shingle
SKETCH = 24  # hashes kept a text
MAX_TOKENS = 20_000
_KEPT = 40  # characters of a token whose number is remembered: long ones seldom come again
_STRING_TOKEN, _PLAIN_NAME = 1, 2  # one number for all strings, one for names that copies give anew

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
    """One token of code: its text and where it stands, in characters of the text it is from."""

    text: str
    start: int
    end: int
    is_string: bool = False


def tokens(text: str, language: str) -> list[Token]:
    """Return the tokens of a text without its comments, at most `MAX_TOKENS`.

    Linear in the text's length, whatever it holds.
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


def sketch(words: list[str]) -> tuple[int, ...]:
    """Return up to `SKETCH` sorted hashes of a text's token runs; names count as one word, strings too.

    Equal in every run of one build of Python, for the hash of a tuple of
    numbers has no secret in it. Empty below `RUN` tokens. Without numpy,
    whose import takes longer than an audit of a few files.
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
    """Return the estimated part of their token runs that two texts share, 0 to 1."""
    mine, others = set(first), set(second)
    both = mine & others
    if not both:
        return 0.0
    union = sorted(mine | others)[:SKETCH]
    return len(both.intersection(union)) / len(union)


def _numbered(word: str) -> int:
    """Return a number for a token, below 0 for a name: one that is not called or reached is like any other."""
    if word[0] in "\"'`" or word[-1] in "\"'`":
        return _STRING_TOKEN
    number = zlib.crc32(word.encode("utf-8", "surrogatepass")) + 3
    return -number if word.isidentifier() and word not in KEYWORDS else number


_number = lru_cache(maxsize=50_000)(_numbered)
