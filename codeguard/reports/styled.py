"""Lines of text whose parts have a meaning, for colors and links on a terminal and plain text in a pipe."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from codeguard.config import below_level
from codeguard.escaping import escaped

NAMED = 3  # paths of one reason
HIGHLIGHTED = 8_000  # characters of a text that are colored; the rest is shown plain


@dataclass(frozen=True, slots=True)
class Styled:
    """A part of a line.

    `style` is its meaning, not its appearance: good, bad, warning, strong, faint, place, or a kind of token
    (keyword, string, comment, name). `path` and `line` name the file to link to.
    """

    text: str
    style: str = ""
    path: str = ""
    line: int = 0


Line = tuple[Styled, ...]


def unstyled(lines: Iterable[Line]) -> str:
    """Return the lines as text without any style."""
    return "\n".join("".join(part.text for part in line) for line in lines)


def line(*parts: Styled | str) -> Line:
    """Return a line of parts, with terminal control characters escaped."""
    return tuple(
        Styled(escaped(part.text), part.style, part.path, part.line)
        if isinstance(part, Styled)
        else Styled(escaped(part))
        for part in parts
    )


def level_line(level: str, required: str) -> str:
    """Return the line about the sandbox level that precedes everything else."""
    if not level:
        return "sandbox: no behavior check has run"
    return below_level(level, required) or f"sandbox {level}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 file`, `2 files`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def kinds(found: Iterable[str]) -> str:
    """Return how many decisions there are of each kind, the most urgent first."""
    counts = Counter(found)
    named = [f"{counts[kind]} {kind}" for kind in ("harmful", "convicted", "demoted") if counts[kind]]
    return ", ".join(named) or "none convicted or demoted"


def some_of(paths: Sequence[str], where: str = "") -> str:
    """Return the first paths, escaped, and how many more there are, with a remark `where` they are listed."""
    more = f" … and {len(paths) - NAMED} more{where}" if len(paths) > NAMED else ""
    return ", ".join(map(escaped, paths[:NAMED])) + more


def by_reason(items: Iterable[tuple[str, str]], where: str = "") -> list[str]:
    """Return one line per reason of `(reason, path)`, the most frequent first: its count and the first paths."""
    paths: dict[str, list[str]] = {}
    for reason, path in items:
        paths.setdefault(reason, []).append(path)
    ordered = sorted(paths.items(), key=lambda item: -len(item[1]))
    return [f"  {len(found)} × {escaped(reason)}: {some_of(found, where)}" for reason, found in ordered]


def place_text(path: str, start: int, end: int = 0) -> Styled:
    """Return a place in a file, `path:start` or `path:start-end`."""
    return Styled(f"{path}:{start}-{end}" if end > start else f"{path}:{start}", "place", path, start)


# One pass over a line, without nesting or look-around: the time is linear in the text.
_TOKENS = re.compile(
    r"(?P<comment>\#.*|//.*)"
    r"|(?P<string>\"\"\"[^\"]*\"\"\"|'''[^']*'''|\"\"\".*|'''.*|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<word>[^\W\d]\w*)"
)
_KEYWORDS = """
    and as assert async await break case catch class const continue def del delete elif else enum except export
    extends extern finally fn for foreach from func function global go if impl implements import in interface is
    lambda let match mut namespace new nonlocal not null or package pass private protected pub public raise return
    self static struct super switch this throw trait try type typeof use using var void while with yield None True
    False true false nil"""
_KEYWORD_SET = frozenset(_KEYWORDS.split())


def code(text: str, margin: str = "") -> list[Line]:
    """Return a text of code as lines, its words colored line by line, each with the margin in front."""
    lines, used = [], 0
    for raw in text.split("\n"):
        shown = raw.rstrip("\r").replace("\t", "    ")
        front = [Styled(margin, "faint")] if margin else []
        parts = _tokens(shown) if used < HIGHLIGHTED else [Styled(shown)]
        lines.append(line(*front, *parts))
        used += len(raw)
    return lines


def _tokens(text: str) -> list[Styled]:
    if text.lstrip().startswith(("//", "#")):
        return [Styled(text, "comment")]
    parts, end = [], 0
    for found in _TOKENS.finditer(text):
        kind = found.lastgroup or ""
        if kind == "comment" and found[0].startswith("//") and "//" in text[: found.end()] and "://" in text:
            kind = ""  # an address, or a division that rounds
        if kind == "word":
            kind = "keyword" if found[0] in _KEYWORD_SET else ""
        if kind:
            parts += [Styled(text[end : found.start()]), Styled(found[0], kind)]
            end = found.end()
    return [part for part in (*parts, Styled(text[end:])) if part.text]
