"""Print each pattern of the package that takes more than a second for a short text, then the number of patterns."""

from __future__ import annotations

import importlib
import os
import pkgutil
import random
import re
import signal
import sys

import codeguard
from codeguard.corpus import patterns

LENGTH = 600  # characters
SECONDS = 2.0
CHARACTERS = [*"aA1 \t\n-_./\"'([{<=\u00e9", "Aa", "a ", "a1", "a.", "a,", "# "]
ENDS = ("!", "ZZ")
_SYNTAX = re.compile(r"\\(?:u[0-9a-f]{4}|.)|\(\?P?[<:=!a-zA-Z]*|\{[\d,]*\}")

Found = dict[tuple[str, int], str]


def collected() -> Found:
    """Import every module; return the patterns that it compiles, or would on first use, with its name."""
    found: Found = {}
    compile_, made = re.compile, patterns._Lazy.__init__

    def note(source: object, flags: int, depth: int) -> None:
        module = sys._getframe(depth).f_globals.get("__name__", "")
        if isinstance(source, str) and module.startswith("codeguard."):
            found.setdefault((source, int(flags)), module)

    def noted_compile(source: str, flags: int = 0) -> re.Pattern[str]:
        note(source, flags, 2)
        return compile_(source, flags)

    def noted_lazy(self: patterns._Lazy, source: str, flags: int) -> None:
        note(source, flags, 3)
        made(self, source, flags)

    re.compile, patterns._Lazy.__init__ = noted_compile, noted_lazy  # type: ignore[assignment, method-assign]
    for module in pkgutil.walk_packages(codeguard.__path__, "codeguard."):
        if ".inside" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    re.compile, patterns._Lazy.__init__ = compile_, made  # type: ignore[method-assign]
    return found


def search(source: str, flags: int) -> None:
    """Search texts in this process, which the timer ends."""
    pattern = re.compile(source, flags)
    words = sorted(set(re.findall(r"\w{2,}", _SYNTAX.sub(" ", source))))
    chance = random.Random(source)
    for beginning in ("", *chance.sample(words, min(8, len(words)))):
        for part in (*CHARACTERS, *chance.sample(words, min(25, len(words)))):
            for end in ENDS:
                signal.setitimer(signal.ITIMER_REAL, SECONDS)
                pattern.search(beginning + part * (LENGTH // len(part)) + end)


def main() -> None:
    """Search with each pattern in a process of its own."""
    found = collected()
    for (source, flags), module in found.items():
        child = os.fork()
        if not child:
            search(source, flags)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            print(f"{module}: {source[:200]!r}", flush=True)
    print(len(found))


if __name__ == "__main__":
    main()
