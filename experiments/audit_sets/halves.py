"""Samples of behavior as `[[sample]]` tables, each set in two halves: one to develop on, one that is frozen."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Sample:
    """A text with what it does; `kind` is a language or a kind of file, `family` the idea."""

    id: str
    kind: str
    family: str
    code: str
    bad: bool = True

    @property
    def frozen(self) -> bool:
        """Whether it belongs to the half that nobody looks at while rules are written."""
        return is_frozen(self.id)


def is_frozen(name: str) -> bool:
    """Return whether what has this name belongs to the frozen half: by the parity of the first byte of its sha256."""
    return hashlib.sha256(name.encode()).digest()[0] % 2 == 1


def samples(name: str) -> tuple[Sample, ...]:
    """Return the samples of a set by file and in their order; the kind is the file's name up to an underscore."""
    found = []
    for path in sorted((HERE / name).glob("*.toml")):
        kind = path.stem.partition("_")[0]
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["sample"]:
            found.append(
                Sample(
                    row["id"],
                    row.get("kind", kind),
                    row["family"],
                    row["code"].lstrip("\n"),
                    row.get("bad", True),
                )
            )
    names = [f"{one.kind}/{one.id}" for one in found]
    doubled = {one for one in names if names.count(one) > 1}
    if doubled:
        raise ValueError(f"{name}: ids given twice: {', '.join(sorted(doubled))}")
    return tuple(found)
