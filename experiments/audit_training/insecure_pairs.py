"""Insecure texts and their fixed counterparts, of our own, and how many of each the signal tells apart.

    python -m experiments.audit_training.insecure_pairs HALF [--verbose] [--peer]

A file holds pairs as one text each: lines that begin with a blank stand in
both, `-` in the insecure text alone, `+` in its twin alone. A pair begins with
`=== CWE title`. Rules are made with `design`; `held_out` was written before
them, for a figure at the end; since that figure was taken it is an example like the others. `survey` goes over many
weaknesses in the styles that people write, and was written before rules were changed for it.
`ways` writes the same weaknesses in several ways, half of them looked at. `libraries` asks for what libraries
that many projects use can be told to do; written before the rules were changed for it, every second pair held out.
`kinds` goes through weaknesses of the CWE catalogue and of other tools' lists that none of the others has, likewise.
`frameworks` writes weaknesses for frameworks other than Flask and for their neighbors, put aside likewise, by the
digest of the title; `indirect` writes them a helper, an alias or an attribute away from where they come from.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext
from codeguard.analysis.rules.insecure import SIGNAL
from codeguard.analysis.rules.secrets import SIGNAL as SECRETS
from codeguard.models import Severity, SourceFile, text_digest
from experiments.benchmarks.audit_insecure import bandit

FOLDER = Path(__file__).parent / "insecure"


@dataclass(frozen=True, slots=True)
class Pair:
    """One weakness: `bad` has it, `good` does the same thing without."""

    cwe: int
    title: str
    bad: str
    good: str


def load(half: str) -> list[Pair]:
    """Return the pairs of one half, in the order of the files.

    Raises:
        ValueError: a line has no mark, or a text is no Python.
    """
    return [pair for path in sorted((FOLDER / half).glob("*.diff")) for pair in _read(path)]


def serious(text: str) -> list[str]:
    """Return the rules of medium or higher severity that fire on a text, those about secrets included."""
    reading = Reading(SourceFile("sample", text, text_digest(text), "python", ()))
    found = SIGNAL.inspect(reading, DetectorContext())
    rules = [item.rule for item in found if item.severity is not None and item.severity >= Severity.MEDIUM]
    return [*rules, *(item.rule for item in SECRETS.inspect(reading, DetectorContext()))]


def _read(path: Path) -> Iterator[Pair]:
    for block in path.read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, body = block.partition("\n")
        number, _, title = head.partition(" ")
        bad, good = _side(body, "-", path), _side(body, "+", path)
        for text in (bad, good):
            ast.parse(text, filename=f"{path.name}: {title}")
        yield Pair(int(number), title, bad, good)


def _side(body: str, mark: str, path: Path) -> str:
    lines = []
    for line in body.splitlines():
        if line and line[0] not in " +-":
            raise ValueError(f"{path.name}: a line begins with {line[0]!r}, expected a blank, + or -")
        if line[:1] in ("", " ", mark):
            lines.append(line[1:])
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print how many pairs are found, how many twins flagged, and with `--verbose` which."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "half",
        choices=(
            "design",
            "held_out",
            "survey",
            "ways",
            "libraries",
            "libraries_held_out",
            "kinds",
            "kinds_held_out",
            "frameworks",
            "frameworks_held_out",
            "indirect",
            "indirect_held_out",
        ),
    )
    parser.add_argument(
        "--verbose", action="store_true", help="name the pairs that are missed or flagged twice"
    )
    parser.add_argument("--peer", action="store_true", help="run bandit over the same texts")
    arguments = parser.parse_args()
    pairs = load(arguments.half)
    bad, good = [serious(pair.bad) for pair in pairs], [serious(pair.good) for pair in pairs]
    if arguments.verbose:
        for pair, here, there in zip(pairs, bad, good, strict=True):
            if not here or there:
                print(
                    f"CWE-{pair.cwe} {pair.title}: found {here or 'nothing'}, in the twin {there or 'nothing'}"
                )
    print(f"{len(pairs)} pairs: found {sum(map(bool, bad))}, twins flagged {sum(map(bool, good))}")
    if arguments.peer:
        told = bandit([*(pair.bad for pair in pairs), *(pair.good for pair in pairs)])
        found, flagged = (sum(map(bool, half)) for half in (told[: len(pairs)], told[len(pairs) :]))
        print(f"bandit: found {found}, twins flagged {flagged}")


if __name__ == "__main__":
    main()
