"""Segments of a source file: comments, docstrings, strings, names and prose."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from codeguard.corpus.patterns import lazy


class SegmentKind(StrEnum):
    """The kind of a segment."""

    COMMENT = "comment"
    DOCSTRING = "docstring"
    STRING = "string"
    IDENTIFIER = "identifier"
    PROSE = "prose"  # a paragraph outside of code: Markdown, plain text, markup around code


class Segment(NamedTuple):  # of a dataclass a file's thousands would take three times as long to make
    """A comment, string or name in a file.

    `text` is the content without delimiters. `start` and `end` are character offsets of the whole
    token in the file's text, the end exclusive.
    """

    kind: SegmentKind
    text: str
    start: int
    end: int


_NAME = r"(?P<name>[^\W\d]\w*+)"
_NUMBER = r"(?P<skip>\d\w*+)"
_GROUPED_NUMBER = r"(?P<skip>\d\w*+(?:'\w++)*+)"
_SLASHES = r"(?P<comment>//[^\r\n]*+)"
_SLASHES_JS = r"(?P<comment>(?://|\A\#!)[^\r\n\u2028\u2029]*+)"
_HASH = r"(?P<comment>\#[^\r\n]*+)"
_BLOCK = r"(?P<block>/\*(?:[^*]|\*(?!/))*+(?:\*/)?+)"
_REGEX_LITERAL = r"(?P<regex>/(?![*/ >])(?:[^\\/\[\r\n]|\\.|\[(?:[^\]\\\r\n]|\\.)*+\])++/\w*+)"


def _line(quote: str) -> str:
    """Return the pattern of a string that ends with its line, unless the line end is escaped."""
    return rf"{quote}[^{quote}\\\r\n]*+(?:\\(?:\r\n|[\s\S])[^{quote}\\\r\n]*+)*+{quote}?+"


def _multi(quote: str) -> str:
    return rf"{quote}[^{quote}\\]*+(?:\\[\s\S][^{quote}\\]*+)*+{quote}?+"


def _verbatim(quote: str) -> str:
    """Return the pattern of a string that may span lines and has no escapes."""
    return rf"{quote}[^{quote}]*+{quote}?+"


def _triple(quote: str) -> str:
    three = quote * 3
    return rf"{three}[^{quote}\\]*+(?:(?:\\[\s\S]|{quote}(?!{quote * 2}))[^{quote}\\]*+)*+(?:{three})?+"


def _string(*forms: str, prefix: str = "") -> str:
    return rf"(?P<string>{prefix}(?:{'|'.join(forms)}))"


@dataclass(frozen=True, slots=True)
class Lexer:
    """A language's tokens.

    The groups of `tokens` tell what was found: `comment` and `block`, `string`, `name`, `skip`
    (nothing of interest), `regex` (a string if an operand is expected), `nested` (a nesting block
    comment), `heredoc` (its body starts on the next line), `markup` (the end of code). `ending`
    finds lines that may close a heredoc, `reopening` finds where code continues after markup.
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


_PARAGRAPH = lazy(r"\S[^\r\n]*+(?:(?:\r\n|\r|\n)[^\S\r\n]*+[^\s][^\r\n]*+)*+")
_NESTING = lazy(r"/\*|\*/")
_LINE_MARKS = lazy(r"(?://[/!]*+|\#++!?|<!--)[ \t]?+")
_DECORATION = lazy(r"^[^\S\r\n]*+\*++(?=\s|$)[ \t]?+", re.MULTILINE)
_OPENING = lazy(r"""[A-Za-z0-9@$]{0,3}+(?P<hashes>\#*+)(?P<quote>\"{3}|'{3}|["'`/])""")
_BEFORE_OPERAND = frozenset("(,=:[!&|?{};+-*%~^>")
_WORDS_BEFORE_OPERAND = ("return", "typeof", "case", "in", "of", "when", "if", "unless", "and", "or", "not")
_LINE_BREAK = lazy(r"\r\n|\r|\n")
Described = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def segments_of(text: str, language: str, docstrings: frozenset[int] | None = None) -> tuple[Segment, ...]:
    """Return the segments of a text, sorted by start.

    Comments on consecutive lines are one segment. A name (including keywords) is returned once, at
    its first occurrence. In prose a segment is a paragraph; languages without a lexer are read as
    prose. Takes linear time for any text; one segment may be as long as the text. `docstrings` are
    the offsets of docstrings, guessed if None.
    """
    lexer = LEXERS.get(language)
    if lexer is None:
        return tuple(paragraphs(text, 0, len(text)))
    if docstrings is None and language != "python":
        docstrings = frozenset()
    scan = _Scan(text, lexer, docstrings)
    scan.run()
    return tuple(sorted(scan.found, key=lambda segment: segment.start))


def paragraphs(text: str, start: int, end: int) -> Iterator[Segment]:
    """Yield the paragraphs of prose, which are separated by blank lines."""
    for match in _PARAGRAPH.finditer(text, start, end):
        yield Segment(SegmentKind.PROSE, match.group(), match.start(), match.end())


def docstring_places(described: Iterable[Described]) -> Iterator[tuple[int, int]]:
    """Yield the line and UTF-8 column of the docstrings of a module and its definitions."""
    for node in described:
        first = node.body[0] if node.body else None
        value = first.value if isinstance(first, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.lineno, value.col_offset


class _Scan:
    def __init__(self, text: str, lexer: Lexer, docstrings: frozenset[int] | None) -> None:
        self.text = text
        self.lexer = lexer
        self.docstrings = docstrings
        self.found: list[Segment] = []
        self._comment: list[str] = []  # parts of the current comment
        self._comment_start = self._comment_end = 0
        self._names: set[str] = set()
        self._endings: dict[str, list[int]] | None = None

    def run(self) -> None:
        """Find every segment."""
        start = 0
        if self.lexer.reopening is not None:
            start = self._reopen(0)
        self._lex(start, len(self.text), heredocs=self.lexer.ending is not None)
        self._close_comment()

    def _lex(self, position: int, end: int, *, heredocs: bool) -> None:
        names, found = self._names, self.found
        tokens = self.lexer.tokens.finditer(self.text, position, end)
        while (match := next(tokens, None)) is not None:
            group, (start, position) = match.lastgroup, match.span()
            after = position
            if group == "name":
                name = match.group()
                if name not in names:
                    names.add(name)
                    found.append(Segment(SegmentKind.IDENTIFIER, name, start, position))
            elif group == "string":
                self._string(start, position)
            elif group == "comment":
                self._add_comment(_LINE_MARKS.sub("", match.group(), count=1), start, position)
            elif group == "block":
                self._block(start, position)
            elif group == "regex":
                if self._operand_expected(start):
                    self._string(start, position)
                else:  # the slash is a division, followed by code
                    position = start + 1
            elif group == "nested":
                position = self._nested_end(start)
                self._block(start, position)
            elif group == "heredoc" and heredocs:
                position = self._heredocs(start)
            elif group == "markup":
                position = self._reopen(position)
            if position != after:  # continue after the token, whose end no pattern describes
                tokens = self.lexer.tokens.finditer(self.text, position, end)

    def _string(self, start: int, end: int) -> None:
        opening = _OPENING.match(self.text, start, end)
        if opening is None:
            return
        quote = opening["quote"]
        closing = quote + opening["hashes"]
        stop = end
        if end - opening.end() >= len(closing) and self.text.endswith(closing, start, end):
            stop = end - len(closing)
        if stop > opening.end():
            kind = SegmentKind.DOCSTRING if self._is_docstring(start) else SegmentKind.STRING
            self.found.append(Segment(kind, self.text[opening.end() : stop], start, end))

    def _is_docstring(self, start: int) -> bool:
        if self.docstrings is not None:
            return start in self.docstrings
        before, line_break = self._before(start)
        return (line_break and before in ("", ":")) or start == 0

    def _before(self, start: int) -> tuple[str, bool]:
        """Return the last character before whitespace, and whether a line ends in between."""
        position = start
        line_break = False
        while position and self.text[position - 1].isspace():
            position -= 1
            line_break = line_break or self.text[position] in "\r\n"
        return self.text[position - 1 : position], line_break or position == 0

    def _operand_expected(self, start: int) -> bool:
        before, line_break = self._before(start)
        if line_break or before in _BEFORE_OPERAND:
            return True
        words = self.text[max(0, start - 16) : start].split()
        return bool(words) and words[-1].endswith(_WORDS_BEFORE_OPERAND) and before.isalpha()

    def _add_comment(self, content: str, start: int, end: int) -> None:
        if self._comment:
            gap = self.text[self._comment_end : start]
            if not gap.isspace() or len(_LINE_BREAK.findall(gap)) != 1:
                self._close_comment()
        if not self._comment:
            self._comment_start = start
        self._comment.append(content)
        self._comment_end = end

    def _close_comment(self) -> None:
        content = "\n".join(self._comment)
        if content and not content.isspace():
            self.found.append(Segment(SegmentKind.COMMENT, content, self._comment_start, self._comment_end))
        self._comment = []

    def _block(self, start: int, end: int) -> None:
        content = self.text[start:end]
        content = content.removeprefix("=begin").removeprefix("/*").removesuffix("=end").removesuffix("*/")
        self._add_comment(_DECORATION.sub("", content.lstrip("*!")).strip(" "), start, end)

    def _nested_end(self, start: int) -> int:
        depth = 0
        for match in _NESTING.finditer(self.text, start):
            depth += 1 if match.group() == "/*" else -1
            if depth == 0:
                return match.end()
        return len(self.text)

    def _heredocs(self, start: int) -> int:
        """Read the bodies of the heredocs opened in this line and the rest of the line; return the next position."""
        line_break = _LINE_BREAK.search(self.text, start)
        line_end = line_break.start() if line_break else len(self.text)
        body = line_break.end() if line_break else line_end
        for match in self.lexer.tokens.finditer(self.text, start, line_end):
            if match["word"]:
                ending = self._ending(match["word"], body)
                if ending is not None:
                    if ending > body:
                        content = self.text[body:ending]
                        self.found.append(Segment(SegmentKind.STRING, content, body, ending))
                    body = ending + len(match["word"])
        self._lex(start, line_end, heredocs=False)
        return body

    def _ending(self, word: str, start: int) -> int | None:
        if self._endings is None:
            self._endings = {}
            assert self.lexer.ending is not None
            for match in self.lexer.ending.finditer(self.text):
                self._endings.setdefault(match[1], []).append(match.start())
        places = self._endings.get(word, ())
        index = bisect_left(places, start)
        return places[index] if index < len(places) else None

    def _reopen(self, position: int) -> int:
        """Read markup as prose up to the next code."""
        assert self.lexer.reopening is not None
        match = self.lexer.reopening.search(self.text, position)
        end = match.start() if match else len(self.text)
        self.found.extend(paragraphs(self.text, position, end))
        return match.end() if match else end
