"""Code in prose: Markdown blocks, each as a text in its own language, with character offsets in the file.

The language of a fenced block is that of its info string, or is guessed from its content; indented blocks,
and commands on lines of their own after a prompt, are handled as well.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import AnyStr

from codeguard.corpus.patterns import lazy, stored

_WORDS = stored(Path(__file__).with_suffix(".toml"))
LANGUAGES = {word: language for language, words in _WORDS.items() for word in words.split()}
"""What people write behind a fence, and what is read as that language."""

# A path file (`.pth`): at every start the interpreter runs its lines that begin with `import`.
_PATH_FILE = lazy(
    r"(?=(?:[^\n]*\n)*?import[ \t])(?:(?:import[ \t][^\n]*|#[^\n]*|[^\s()=;]*)[ \t]*\r?(?:\n|\Z))+"
)
_PATH_IMPORT = lazy(r"^import[ \t][^\n]*(?:\n|\Z)", re.MULTILINE)
MOST = 400  # blocks per file
_FENCE = lazy(
    r"^(?P<indent>[ \t>]*)(?:[-*+]|\d{1,3}[.)])?[ \t]*(?P<fence>`{3,}|~{3,})[ \t]*\{?\.?(?P<info>[\w+#-]*)[^`\n]*$",
    re.MULTILINE,
)
_INDENTED = lazy(r"(?:^(?: {4}|\t)[^\n]*\S[^\n]*(?:\n|\Z)(?:[ \t]*\n)*)+", re.MULTILINE)
_LINE = lazy(r"[^\n]*\n|[^\n]+")
_PROMPT = lazy(
    r"[ \t]*(?:\([\w.-]{1,30}\)[ \t]*)?(?:\[[^\]\n]{1,60}\][ \t]*)?(?:\$|PS[^>\n]{0,60}>|C:\\[^>\n]{0,60}>|❯|➜)[ \t]+"
)
_PYTHON_PROMPT = lazy(r"[ \t]*(?:>>>|\.\.\.)(?:[ \t]|$)")
_QUOTE = lazy(r"[ \t]{0,3}(?:>[ \t]?)+")
_SHELL = lazy(
    r"(?:/[\w./-]{1,60}/)?(?:sudo|curl|wget|bash|sh|zsh|npm|npx|yarn|pnpm|pip3?|pipx|uv|uvx|python3?|brew"
    r"|apt(?:-get)?|git|docker|export|cd|chmod|echo|cat"
    r"|source|eval|powershell|pwsh|iwr|irm|iex|node|make|cargo|go|mkdir|cp|mv|rm|tar|unzip|openssl|base64"
    r"|nc|osascript|certutil)\b"
)
_PYTHON = lazy(
    r"^(?:import \w|from [\w.]+ import |def \w+\(|class \w+|@\w|print\(|with open\(|\w+ = \w)", re.MULTILINE
)
_SCRIPT = lazy(
    r"^(?:const |let |var |function |import .{1,80} from ['\"]|require\(|await |export )", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Embedded:
    """A piece of code in a file: its text, its language, and the offset of each of its lines."""

    text: str
    language: str
    starts: tuple[int, ...]  # line offsets in the piece
    places: tuple[int, ...]  # line offsets in the file

    def place(self, offset: int) -> int:
        """Return the offset in the file of a character in the piece."""
        line = max(0, bisect_right(self.starts, offset) - 1)
        return self.places[line] + offset - self.starts[line] if self.places else 0


def code_in_prose(text: str) -> Iterator[Embedded]:
    """Yield the pieces of code in prose, at most `MOST`, in order."""
    if _PATH_FILE.fullmatch(text):
        lines = [(found.group(), found.start()) for found in _PATH_IMPORT.finditer(text)]
        yield _of_lines(lines, "python")
        return
    yield from islice(_blocks(text), MOST)


def _blocks(text: str) -> Iterator[Embedded]:
    position = 0
    while (opening := _FENCE.search(text, position)) is not None:
        yield from _indented(text, position, opening.start())
        closing = closing_fence(opening)
        start = min(opening.end() + 1, len(text))
        end = len(text) if closing is None else closing.start()
        found = _piece(text, start, end, opening["info"].lower())
        if found is not None:
            yield found
        position = len(text) if closing is None else closing.end()
    yield from _indented(text, position, len(text))


def closing_fence(opening: re.Match[AnyStr]) -> re.Match[AnyStr] | None:
    """Return the fence that closes this one: of the same kind, at least as long, without a language."""
    found: re.Match[AnyStr] | None = opening
    while found is not None:
        found = opening.re.search(opening.string, found.end())
        if found is not None and not found["info"] and found["fence"].startswith(opening["fence"]):
            break
    return found


def _indented(text: str, start: int, end: int) -> Iterator[Embedded]:
    for match in _INDENTED.finditer(text, start, end):
        before = text[: match.start()].rstrip(" \t")
        if before and not before.endswith("\n\n"):
            continue  # the rest of a list item or paragraph
        found = _piece(text, match.start(), match.end(), "")
        if found is not None:
            yield found


def _piece(text: str, start: int, end: int, info: str) -> Embedded | None:
    """Return a range of lines as code, or None if its language is not examined."""
    lines: list[tuple[str, int]] = []
    at = start
    for line in _LINE.findall(text, start, end):
        quote = _QUOTE.match(line)
        cut = (
            quote.end()
            if quote is not None and line.lstrip().startswith(">") and not _PYTHON_PROMPT.match(line)
            else 0
        )
        lines.append((line[cut:], at + cut))
        at += len(line)
    language = LANGUAGES.get(info) if info else _guessed([line for line, _ in lines])
    if not language:
        return None
    if language == "python":
        lines = _prompted(lines, _PYTHON_PROMPT)
    elif language == "bash":
        lines = _prompted(lines, _PROMPT)
    lines = _dedented(lines)
    return _of_lines(lines, language) if lines else None


def _of_lines(lines: list[tuple[str, int]], language: str) -> Embedded:
    starts = [0, *accumulate(len(line) for line, _ in lines)]
    return Embedded(
        "".join(line for line, _ in lines), language, tuple(starts[:-1]), tuple(place for _, place in lines)
    )


def _prompted(lines: list[tuple[str, int]], prompt: re.Pattern[str]) -> list[tuple[str, int]]:
    """Return the input after prompts, if there are any: the other lines are output."""
    found = [(line, place, match.end()) for line, place in lines if (match := prompt.match(line)) is not None]
    if not found:
        return lines
    return [(line[cut:] or "\n", place + cut) for line, place, cut in found]


def _dedented(lines: list[tuple[str, int]]) -> list[tuple[str, int]]:
    widths = [len(line) - len(line.lstrip(" \t")) for line, _ in lines if line.strip()]
    cut = min(widths, default=0)
    return [
        (line[cut:] if line.strip() else line[-1:], place + (cut if line.strip() else 0))
        for line, place in lines
    ]


def _guessed(lines: Sequence[str]) -> str:
    """Guess the language of lines without a language name; return "" if unknown."""
    whole = "".join(lines)
    if any(_PYTHON_PROMPT.match(line) for line in lines):
        return "python"
    if any(_PROMPT.match(line) for line in lines):
        return "bash"
    written = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if written and sum(_SHELL.match(line) is not None for line in written) * 2 >= len(written):
        return "bash"
    if _SCRIPT.search(whole) and (";" in whole or "=>" in whole or "require(" in whole):
        return "javascript"
    return "python" if _PYTHON.search(whole) else ""
