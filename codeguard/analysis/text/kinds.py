"""What kind of text a file without syntax is: documentation, settings or a page, by what is in it."""

from __future__ import annotations

import re
from itertools import islice

from codeguard.corpus.patterns import lazy

_MOST_LINES = 400  # of a file, from its beginning
_KEYED_SHARE = 0.6
_LINE = lazy(r"[^\n]{1,4000}")
# An entry of YAML, TOML, INI or JSON; brackets, names and quoted values stand alone on lines of lists.
_KEYED = lazy(
    r"\s{0,200}(?:- \S{1,100}\s{0,80}$|[\[\]{},]|(?:- )?[\"']?[\w.$/*\\-]{1,80}[\"']?[ \t]{0,20}[:=](?:\s|[\"'\[{]|$)"
    r"|[\"'][^\"']{0,200}[\"'],?\s{0,80}(?:$|\#))"
)
_REMARK = lazy(r"\s{0,200}(?:[#;]|//|$)")
_SENTENCE = lazy(r"(?:\b[A-Za-z][a-z'’]{0,20}[,:]?\s{1,3}){4}[A-Za-z][a-z]{1,20}\b")
_AROUND = 2_000  # characters before and after a place in which documentation has its sentences
_SENTENCES = 2
_MARKUP = lazy(r"<!doctype html|<(?:html|head|body|script|style|div)\b", re.IGNORECASE)


def is_settings(text: str) -> bool:
    """Return whether most lines of a text, remarks aside, are keys with values."""
    lines = [line[0] for line in islice(_LINE.finditer(text), _MOST_LINES) if not _REMARK.match(line[0])]
    keyed = sum(_KEYED.match(line) is not None for line in lines)
    return bool(lines) and keyed >= _KEYED_SHARE * len(lines)


def is_page(text: str) -> bool:
    """Return whether a text is a page, or a part of one, that a server sends to every visitor."""
    return _MARKUP.search(text) is not None


def is_explained(text: str, at: int) -> bool:
    """Return whether there are sentences around a place, as documentation has them around an example."""
    around = text[max(0, at - _AROUND) : at + _AROUND]
    return len(list(islice(_SENTENCE.finditer(around), _SENTENCES))) == _SENTENCES
