"""What library functions do, by language: one table of sources, sinks and clients for flaws and for malice."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from codeguard.corpus.patterns import lazy

WRITING = frozenset({"write", "writelines", "write_text", "write_bytes"})
_SINKS = {
    "code": "code",
    "shells": "command",
    "starts": "command",
    "commands": "command",
    "loads": "load",
    "looks_up": "look-up",
    "sends": "send",
}
_WRITING = ("store", "copies", "open", "destroys")
_LANGUAGES = {"typescript": "javascript", "tsx": "javascript", "cpp": "c"}
_PARTS = 4  # of a name, at most


@dataclass(frozen=True, slots=True)
class Effects:
    """The table of one language: names by use, with the relevant argument if the row has one.

    `exact` says that names count whole, as Python's do, whose imports are resolved.
    """

    uses: Mapping[str, Mapping[str, str]]
    exact: bool
    words: re.Pattern[str]

    def has(self, use: str, name: str) -> bool:
        """Return whether a dotted name belongs to a use."""
        return self.of(use, name) is not None

    def of(self, use: str, name: str) -> str | None:
        """Return the row of a dotted name in a use, or None."""
        known = self.uses.get(use, {})
        if self.exact:
            return known.get(name, known.get(f".{name.rpartition('.')[2]}"))
        parts = name.replace("/", ".").split(".")
        for count in range(min(_PARTS, len(parts)), 0, -1):
            found = known.get(".".join(parts[-count:]))
            if found is not None and (count > 1 or len(parts) == 1):
                return found
        return None

    def acts(self, name: str) -> bool:
        """Return whether a function sends, runs, loads, looks up, connects, writes or deletes something.

        Of Python's, writing counts where its arguments are seen.
        """
        return self.has("acts", name)

    def may_act(self, text: str) -> bool:
        """Return quickly whether a text in the language has a word of such a function's name."""
        return self.words.search(text) is not None

    def sinks(self, name: str) -> list[str]:
        """Return everything that a function does with its arguments."""
        return list(dict.fromkeys(what for use, what in _SINKS.items() if self.has(use, name)))


def effects_of(language: str) -> Effects | None:
    """Return the table of a language, or None if it has none."""
    language = _LANGUAGES.get(language, language)
    return _table(language) if language in _stored() else None


@cache
def _stored() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def _table(language: str) -> Effects:
    uses: dict[str, dict[str, str]] = {}
    for use, names in _stored()[language].items():
        if use == "host":
            uses[use] = {name: kind for kind, listed in names.items() for name in listed.split()}
        elif use == "constants":
            uses[use] = dict(item.split("=") for item in names.split())
        elif use != "exact":
            parted = (name.partition(":") for name in names.split())
            uses[use] = {name: number for name, _, number in parted}
    exact = _stored()[language].get("exact", False)
    known = {use: uses.get(use, {}) for use in (*_SINKS, *_WRITING, "connects")}
    acts = (*_SINKS, "copies", "destroys", "connects") if exact else (*_SINKS, *_WRITING)
    uses["acts"] = {name: "" for use in acts for name in known[use]}
    # Methods of a notebook's shell have names of their own for what they come to.
    acting = {"get_ipython", *WRITING, *(name for names in known.values() for name in names)}
    last = sorted({re.escape(name.rpartition(".")[2].rstrip("!")) for name in acting})
    words = lazy(rf"\b(?:{'|'.join(last)})\b")
    return Effects(uses, exact, words)


PYTHON = _table("python")


def python_names(*uses: str) -> frozenset[str]:
    """Return the names of Python's functions in some uses."""
    return frozenset(name for use in uses for name in PYTHON.uses[use])


SENDING, DECODING = python_names("sends"), python_names("decodes")
RUNNING_CODE, RUNNING_COMMANDS = python_names("code"), python_names("shells", "starts", "commands")
