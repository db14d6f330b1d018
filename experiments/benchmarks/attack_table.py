"""Turns the attack suite on the sandbox with one layer left out at a time, and prints what gets through.

`python -m experiments.benchmarks.attack_table [--json FILE] [--category NAME]... [--without LAYERS]...`

Each row is a run of all attacks: the restricted tier with every layer, the
native tier (RestrictedPython removed) with every layer, then both with each
layer of the operating system left out. The last rows leave out every layer of the
operating system, for the categories whose effects are harmless even then:
what RestrictedPython alone stops. An attack that crosses the boundary where a
single layer is missing has only that layer before it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeguard.sandbox import Tier

TESTS = Path(__file__).resolve().parents[2] / "tests" / "sandbox"
SYSTEM = ("namespaces", "capabilities", "landlock", "seccomp", "child_filter", "rlimits", "cgroup")
FILTERS = ("seccomp", "child_filter")
# what the rules alone can be measured with: no signals, no bombs, no processes
ALONE = ("introspection", "imports", "policy", "advisories")


@dataclass(frozen=True, slots=True)
class Row:
    """One run of the suite: its tier, the layers left out, and what got through."""

    tier: str
    without: tuple[str, ...]
    tried: int
    through: dict[str, list[str]]
    residual: tuple[str, ...]
    seconds: float

    @property
    def name(self) -> str:
        """What the table calls the row."""
        return (
            f"{self.tier}, without {' + '.join(self.without)}"
            if self.without
            else f"{self.tier}, every layer"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {
            "tier": self.tier,
            "without": list(self.without),
            "tried": self.tried,
            "through": self.through,
            "residual": list(self.residual),
            "seconds": round(self.seconds, 1),
        }


def measure(tier: Tier, without: tuple[str, ...], categories: list[str]) -> Row:
    """Run the attacks of the categories against one configuration."""
    catalogue = importlib.import_module("attacks.catalogue")
    confined = importlib.import_module("attacks.confined")
    start = time.monotonic()
    through: dict[str, list[str]] = {}
    residual = []
    attacks = [attack for attack in catalogue.ALL if attack.category in categories]
    with confined.Range(frozenset(without), timed=True) as range_:
        for attack in attacks:
            effects = range_.effects(attack, tier)
            known = "rules" if tier is Tier.RESTRICTED and set(without) == set(SYSTEM) else tier.value
            if effects and known in dict(attack.residual):
                residual.append(attack.id)
            elif effects:
                through[attack.id] = effects
    return Row(tier.value, without, len(attacks), through, tuple(residual), time.monotonic() - start)


def show(row: Row) -> None:
    """Print a row: the count, and each attack with its effect."""
    counts = Counter(name.split("/")[0] for name in row.through)
    summary = ", ".join(f"{category} {count}" for category, count in sorted(counts.items())) or "nothing"
    print(f"{row.name:<48} {len(row.through):>4} of {row.tried} through: {summary}", end="")
    print(f"; {len(row.residual)} known residual")
    for name, effects in sorted(row.through.items()):
        print(f"    {name:<44} {effects[0][:100]}")


def main() -> None:
    """Run the rows asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--json", type=Path, help="write the rows there")
    parser.add_argument("--category", action="append", help="only this category of attacks")
    parser.add_argument("--without", action="append", help="only this set of layers, separated by commas")
    arguments = parser.parse_args()
    sys.path.insert(0, str(TESTS))
    everything = list(importlib.import_module("attacks.catalogue").CATEGORIES)
    categories = arguments.category or everything
    sets: list[tuple[str, ...]] = [(), *((layer,) for layer in SYSTEM), FILTERS]
    if arguments.without:
        sets = [tuple(filter(None, text.split(","))) for text in arguments.without]
    plan = [(tier, without, categories) for tier in Tier for without in sets]
    if not arguments.without:
        plan += [(tier, SYSTEM, [name for name in ALONE if name in categories]) for tier in Tier]
    rows = []
    for tier, without, chosen in plan:
        if chosen:
            rows.append(measure(tier, without, chosen))
            show(rows[-1])
    if arguments.json:
        arguments.json.write_text(json.dumps([row.to_json() for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
