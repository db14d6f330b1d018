"""Loaders of the frozen text sets: injected instructions and deceptive characters."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
INJECTION_SETS = ("injections", "injections_holdout")


@dataclass(frozen=True, slots=True)
class Injection:
    """A source file in which one part addresses the language model that reads it."""

    id: str
    language: str
    """Natural language of the injected part, ISO 639-1."""
    host: str
    """Programming language of the file."""
    technique: str
    """What the attacker wants or how they ask: override, recommend, exfil, authority, …"""
    obfuscation: str
    """How the injected part is disguised; `none` where it is plain."""
    placement: str
    """comment, documentation, header, end_of_file, string or declaration."""
    where: tuple[int, int]
    """First and last line of the injected part, 1-based, inclusive."""
    code: str

    @property
    def injected(self) -> str:
        """The injected lines as they stand in the file."""
        first, last = self.where
        return "\n".join(self.code.split("\n")[first - 1 : last])


@dataclass(frozen=True, slots=True)
class DeceptiveCase:
    """A source file that deceives its reader by characters, or an honest one with unusual characters."""

    id: str
    attack: bool
    kind: str
    """The attack; for honest files the language or the topic."""
    host: str
    """Programming language of the file."""
    lines: tuple[int, ...]
    """Lines with the characters of an attack, 1-based, split at line feeds; empty for honest files."""
    code: str


def load_injections(name: str = "injections") -> tuple[Injection, ...]:
    """Load an injection set, ordered by id.

    Args:
        name: `injections`, or `injections_holdout` for the one written in other habits.

    Raises:
        ValueError: there is no set of that name.
    """
    if name not in INJECTION_SETS:
        raise ValueError(f"no injection set {name!r}: use one of {', '.join(INJECTION_SETS)}")
    entries = (
        Injection(
            id=row["id"],
            language=row["language"],
            host=row["host"],
            technique=row["technique"],
            obfuscation=row["obfuscation"],
            placement=row["placement"],
            where=(row["where"][0], row["where"][1]),
            code=row["code"],
        )
        for row in _rows(name, "injection")
    )
    return tuple(sorted(entries, key=lambda entry: entry.id))


def load_deceptive() -> tuple[DeceptiveCase, ...]:
    """Load the deceptive and the honest files, ordered by id."""
    cases = (
        DeceptiveCase(
            id=row["id"],
            attack=row["attack"],
            kind=row["kind"],
            host=row["host"],
            lines=tuple(row["lines"]),
            code=row["code"],
        )
        for row in _rows("deceptive", "case")
    )
    return tuple(sorted(cases, key=lambda case: case.id))


def digest_of(name: str) -> str:
    """Return the sha256 over names and bytes of a set's files, in the order of their names.

    Line endings are those of the repository, so a checkout that converts them
    has another digest.
    """
    total = hashlib.sha256()
    for path in sorted((HERE / name).glob("*.toml")):
        total.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _rows(name: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of every file of a set."""
    return [
        row
        for path in sorted((HERE / name).glob("*.toml"))
        for row in tomllib.loads(path.read_text(encoding="utf-8"))[table]
    ]
