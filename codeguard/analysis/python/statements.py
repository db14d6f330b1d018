"""Functions as sequences of normalised statements, to compare copies.

A statement is a run of tokens up to the end of its line, or further while a bracket is open.
Comments, docstrings, annotations and layout are removed. All variable names count as equal, so a
copy with renamed variables has the same statements.
"""

from __future__ import annotations

from dataclasses import dataclass

from codeguard.analysis.python.sketches import KEYWORDS, Token, sketch_tokens

MAX_STATEMENTS = 2_000
VARIABLE = "$v"
ITSELF = "$f"
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_TAKES_ALL = frozenset({"=", "return", "yield", "in", "+=", "-=", "*=", "/=", "|=", "&="})
_BRACES = frozenset({"{", "}", ";"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its significant tokens, and a key for comparison."""

    tokens: tuple[Token, ...]
    key: tuple[str, ...]
    end: int  # characters of the function's text, exclusive

    @property
    def start(self) -> int:
        """Its start, in characters of the function's text."""
        return self.tokens[0].start


def statements(text: str, language: str, name: str) -> tuple[Statement, ...]:
    """Return a function's statements, header first; empty if there are more than `MAX_STATEMENTS`."""
    runs = (
        _lines(text, sketch_tokens(text, language))
        if language == "python"
        else _braced(sketch_tokens(text, language))
    )
    if len(runs) > MAX_STATEMENTS:
        return ()
    found: list[Statement] = []
    for run in runs:
        kept = _unbracketed(_plain(run)) if language == "python" else run
        if kept and not (len(kept) == 1 and kept[0].is_string):
            key = tuple(_word(kept, at, name) for at in range(len(kept)))
            found.append(Statement(tuple(kept), key, run[-1].end))
    return tuple(found)


def _lines(text: str, found: list[Token]) -> list[list[Token]]:
    """Split at the ends of logical lines, and after the colon of a compound statement on one line."""
    runs: list[list[Token]] = []
    depth, last = 0, 0
    for token in found:
        new = (
            depth == 0
            and "\n" in text[last : token.start]
            and not text[last : token.start].lstrip().startswith("\\")
        )
        if new or not runs:
            runs.append([])
        if token.text in _OPEN:
            depth += 1
        elif token.text in _CLOSE:
            depth = max(0, depth - 1)
        if token.text != ";" or depth:
            runs[-1].append(token)
        last = token.end
    return runs


def _braced(found: list[Token]) -> list[list[Token]]:
    """Split at braces and semicolons, except semicolons in the header of a `for`."""
    runs: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        if token.text in "([":
            depth += 1
        elif token.text in ")]":
            depth = max(0, depth - 1)
        if token.text in _BRACES and depth == 0:
            runs.append([])
        else:
            runs[-1].append(token)
    return runs


def _plain(run: list[Token]) -> list[Token]:
    """Remove annotations of a Python statement and commas before a closing bracket."""
    words = [token.text for token in run]
    header = "def" in words[:2]
    kept: list[Token] = []
    depth, skipping = 0, False
    for at, token in enumerate(run):
        word = token.text
        if word in _OPEN:
            depth += 1
        elif word in _CLOSE:
            depth -= 1
        # In `def f(a: int = 1) -> str:` the parts from colon to comma or `=`, and from arrow to colon, are removed.
        if (header and depth == 1 and word == ":") or (header and depth == 0 and word == "->"):
            skipping = True
        elif skipping and ((depth == 1 and word in (",", "=")) or (depth == 0 and word in (")", ":"))):
            skipping = False
        # `x: int = 1` becomes `x = 1`; `else:` and the like also have a colon as second token.
        if not header and at == 1 and word == ":" and words[0] not in KEYWORDS and "=" in words:
            skipping = True
        elif not header and skipping and depth == 0 and word == "=":
            skipping = False
        trailing = word == "," and at + 1 < len(run) and words[at + 1] in _CLOSE
        if not skipping and not trailing:
            kept.append(token)
    return kept


def _unbracketed(run: list[Token]) -> list[Token]:
    """Remove brackets around everything that is assigned or returned, which have no effect."""
    if not run or run[-1].text != ")":
        return run
    depth = 0
    for at in range(len(run) - 1, 0, -1):
        depth += (run[at].text in _CLOSE) - (run[at].text in _OPEN)
        if depth == 0:
            inner = run[at + 1 : -1]
            whole = run[at].text == "(" and inner and run[at - 1].text in _TAKES_ALL
            return [*run[:at], *inner] if whole else run
    return run


def _word(run: list[Token], at: int, name: str) -> str:
    token = run[at]
    word = token.text
    if token.is_string:
        return word.replace('"', "'") if "\\" not in word else word
    if word == name:
        return ITSELF
    if is_variable(run, at):
        return VARIABLE
    return word


def is_variable(run: list[Token] | tuple[Token, ...], at: int) -> bool:
    """Return whether a token is a variable that a copy may rename: not called, no attribute, no constant."""
    word = run[at].text
    if not word.isidentifier() or word in KEYWORDS or word.isupper() or run[at].is_string:
        return False
    if at and run[at - 1].text == ".":
        return False
    following = run[at + 1].text if at + 1 < len(run) else ""
    keyword = following == "=" and at > 0 and run[at - 1].text in ("(", ",") and _within_brackets(run, at)
    return following != "(" and not keyword


def _within_brackets(run: list[Token] | tuple[Token, ...], at: int) -> bool:
    """Return whether a token is inside brackets: `a, b = …` binds names, `f(a, b=…)` passes an argument."""
    return sum((item.text in _OPEN) - (item.text in _CLOSE) for item in run[:at]) > 0
