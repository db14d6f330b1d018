"""What comments, strings and names look like in each language: one regular expression a language.

A token that is never closed ends with its line (quotes that may not span
lines) or with the file, so that a broken or hostile file is read once from
its start to its end and nothing of its text is lost. Repetitions are
possessive: none of the expressions goes back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from codeguard.reading.patterns import lazy

_NAME = r"(?P<name>[^\W\d]\w*+)"
_NUMBER = r"(?P<skip>\d\w*+)"
_GROUPED_NUMBER = r"(?P<skip>\d\w*+(?:'\w++)*+)"
_SLASHES = r"(?P<comment>//[^\r\n]*+)"
_SLASHES_JS = r"(?P<comment>(?://|\A\#!)[^\r\n\u2028\u2029]*+)"
_HASH = r"(?P<comment>\#[^\r\n]*+)"
_BLOCK = r"(?P<block>/\*(?:[^*]|\*(?!/))*+(?:\*/)?+)"
_REGEX_LITERAL = r"(?P<regex>/(?![*/ >])(?:[^\\/\[\r\n]|\\.|\[(?:[^\]\\\r\n]|\\.)*+\])++/\w*+)"


def _line(quote: str) -> str:
    """A string that ends with its line, unless the line's end is escaped."""
    return rf"{quote}[^{quote}\\\r\n]*+(?:\\(?:\r\n|[\s\S])[^{quote}\\\r\n]*+)*+{quote}?+"


def _multi(quote: str) -> str:
    """A string that may span lines."""
    return rf"{quote}[^{quote}\\]*+(?:\\[\s\S][^{quote}\\]*+)*+{quote}?+"


def _verbatim(quote: str) -> str:
    """A string that may span lines and knows no escapes."""
    return rf"{quote}[^{quote}]*+{quote}?+"


def _triple(quote: str) -> str:
    three = quote * 3
    return rf"{three}[^{quote}\\]*+(?:(?:\\[\s\S]|{quote}(?!{quote * 2}))[^{quote}\\]*+)*+(?:{three})?+"


def _string(*forms: str, prefix: str = "") -> str:
    return rf"(?P<string>{prefix}(?:{'|'.join(forms)}))"


@dataclass(frozen=True, slots=True)
class Lexer:
    """A language's tokens.

    The groups of `tokens` say what was found: `comment` and `block`,
    `string`, `name`, `skip` (nothing of interest), `regex` (a string where
    an operand may stand), `nested` (a block comment that nests), `heredoc`
    (opened here, its body starts in the next line), `markup` (the end of
    code). `ending` finds the lines that may close a heredoc, `reopening`
    where code starts again after markup.
    """

    tokens: re.Pattern[str]
    ending: re.Pattern[str] | None = None
    reopening: re.Pattern[str] | None = None


def _lexer(
    *alternatives: str, number: str = _NUMBER, ending: str | None = None, reopening: str | None = None
) -> Lexer:
    return Lexer(
        lazy("|".join((*alternatives, number, _NAME))),
        lazy(ending, re.MULTILINE) if ending else None,
        lazy(reopening) if reopening else None,
    )


_DOUBLE, _SINGLE = _line('"'), _line("'")
_C = _lexer(_SLASHES, _BLOCK, _string(_DOUBLE, _SINGLE, prefix="(?:u8|[uUL])?+"), number=_GROUPED_NUMBER)
_RAW_CPP = r'(?:u8|[uUL])?+R"(?P<mark>[^()\\\s"]{0,16}+)\((?:[^)]|\)(?!(?P=mark)"))*+(?:\)(?P=mark)")?+'
_SCRIPT = _lexer(_SLASHES_JS, _BLOCK, _string(_DOUBLE, _SINGLE, _multi("`")), _REGEX_LITERAL)
_CHARACTER = r"'(?:\\[^\r\n]{1,10}?|[^\\'\r\n])'"
_WHOLE_LINE = r"^[ \t]*+(\w++)[ \t]*+;?+[ \t]*+$"

LEXERS: dict[str, Lexer] = {
    "python": _lexer(
        _HASH,
        _string(_triple('"'), _triple("'"), _DOUBLE, _SINGLE, prefix="[rRbBuUfFtT]{0,3}"),
    ),
    "c": _C,
    "cpp": _lexer(
        _SLASHES, _BLOCK, _string(_RAW_CPP, rf"(?:u8|[uUL])?+(?:{_DOUBLE}|{_SINGLE})"), number=_GROUPED_NUMBER
    ),
    "java": _lexer(_SLASHES, _BLOCK, _string(_triple('"'), _DOUBLE, _SINGLE)),
    "csharp": _lexer(
        _SLASHES,
        _BLOCK,
        _string(
            _triple('"'),
            rf"(?:@\$?|\$@){_verbatim(chr(34))}",
            rf"\$*+(?:{_triple(chr(34))}|{_DOUBLE})",
            _SINGLE,
        ),
    ),
    "go": _lexer(_SLASHES, _BLOCK, _string(_DOUBLE, _SINGLE, _verbatim("`"))),
    "rust": _lexer(
        _SLASHES,
        r"(?P<nested>/\*)",
        _string(
            r'(?:b|c)?+r(?P<mark>\#*+)"(?:[^"]|"(?!(?P=mark)))*+(?:"(?P=mark))?+',
            rf"[bc]?+{_multi(chr(34))}",
            rf"b?+{_CHARACTER}",
        ),
    ),
    "javascript": _SCRIPT,
    "typescript": _SCRIPT,
    "tsx": _SCRIPT,
    "php": _lexer(
        r"(?P<markup>\?>)",
        r"(?P<comment>(?://|\#(?!\[))(?:[^\r\n?]|\?(?!>))*+)",
        _BLOCK,
        r"(?P<heredoc><<<[ \t]*+(['\"]?)(?P<word>\w++)['\"]?)",
        _string(_multi('"'), _multi("'")),
        ending=r"^[ \t]*+(\w++)",
        reopening=r"<\?(?:php|=)?",
    ),
    "ruby": _lexer(
        r"(?P<block>(?:^|(?<=\n)|(?<=\r))=begin\b(?:[^\r\n]|[\r\n]++(?!=end\b))*+(?:[\r\n]++=end)?+)",
        _HASH,
        r"(?P<heredoc><<[~-]?(['\"`]?)(?P<word>[A-Z_]\w*+)['\"`]?)",
        _string(_multi('"'), _multi("'"), _multi("`")),
        r"(?P<skip_character>\?['\"`\#](?!\w))",
        _REGEX_LITERAL,
        ending=_WHOLE_LINE,
    ),
    "bash": _lexer(
        r"(?P<comment>(?:^|(?<=[\s;(&|]))\#[^\r\n]*+)",
        r"(?P<heredoc><<-?[ \t]*+(['\"\\]?)(?P<word>[^\W\d]\w*+)['\"]?)",
        r"(?P<skip_escape>\\[\s\S])",
        _string(_multi('"'), rf"\${_multi(chr(39))}", _verbatim("'")),
        ending=_WHOLE_LINE,
    ),
}
