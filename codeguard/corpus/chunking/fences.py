"""Code in prose: fenced Markdown blocks, and Python functions in a text without a fence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from codeguard.corpus.chunking import registry
from codeguard.corpus.chunking.base import Grammar

_FENCE = re.compile(rb"^[ \t>]*(?P<fence>`{3,}|~{3,})[ \t]*\{?\.?(?P<info>[\w+#-]*)[^`\n]*$", re.MULTILINE)
PYTHON_HEAD = re.compile(rb"^[ \t]*(?:async[ \t]+)?def[ \t]+[^\W\d][\w\x80-\xff]*[ \t]*\(", re.MULTILINE)

# Aliases that people write after the fence, besides a language's name and file extensions.
_ALIASES = {
    "python3": "python",
    "python2": "python",
    "pycon": "",
    "node": "javascript",
    "shell": "bash",
    "zsh": "bash",
    "c++": "cpp",
    "c#": "csharp",
    "golang": "go",
}


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a file that is in one language; None for prose. Offsets count bytes."""

    start: int
    end: int
    grammar: Grammar | None


def regions(source: bytes) -> list[Region]:
    """Cut a text at its fenced blocks of known, installed languages; the fences themselves are prose."""
    found: list[Region] = []
    done = position = 0
    while True:
        opening = _FENCE.search(source, position)
        if opening is None:
            break
        closing = _closing(source, opening)
        if closing is None:
            break
        start, end = min(opening.end() + 1, len(source)), closing.start()
        grammar = _language(opening["info"].decode().lower())
        if grammar is not None and start < end:
            if start > done:
                found.append(Region(done, start, None))
            found.append(Region(start, end, grammar))
            done = end
        position = closing.end()
    if done < len(source):
        found.append(Region(done, len(source), None))
    return found


def _closing(source: bytes, opening: re.Match[bytes]) -> re.Match[bytes] | None:
    """Return the next fence that closes this one: of the same kind, at least as long, without a language.

    A fence with a language in between opens a new block: the first one was never closed.
    """
    fence = opening["fence"]
    position = opening.end()
    while True:
        match = _FENCE.search(source, position)
        if match is None or (not match["info"] and match["fence"].startswith(fence)):
            return match
        position = match.end()


def _language(info: str) -> Grammar | None:
    name = _ALIASES.get(info, info)
    grammar = registry.by_name(name) if name else None
    return grammar if grammar is not None and grammar.installed else None
