"""Systems under test: retrievers without a defense, filters behind them, codeguard, and whatever is plugged in."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

from experiments.benchmark.systems import filters, guarded, retrievers
from experiments.benchmark.systems.base import Surroundings, System

__all__ = ["BASELINE", "DEFENDED", "built_in", "plugged_in"]
BASELINE = "hybrid"
"""The undefended system by which poison is said to be in reach, and right answers to be kept."""
DEFENDED = "codeguard"


def built_in(
    around: Surroundings, *, scanners: Sequence[str] = (), rules: Path | None = None, ablations: bool = True
) -> list[System]:
    """Return the systems that come with the benchmark, and filters by `scanners`, each NAME=COMMAND.

    `rules` is a folder of rules for semgrep, which is left out without one.
    """
    plain = list(retrievers.systems(around))
    fused = next(item for item in plain if item.name == BASELINE)
    assert isinstance(fused, retrievers.Searching)
    named = [filters.scanner(item, fused) for item in scanners]
    return [*plain, *filters.systems(fused, rules), *named, *guarded.systems(around, ablations=ablations)]


def plugged_in(name: str, around: Surroundings) -> Sequence[System]:
    """Return the systems of `module:object`: a system, or a factory that gets a `Surroundings`.

    Raises:
        ValueError: there is no such object, or it is neither.
    """
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"--system {name}: {error}; expected module:object") from None
    made = found if isinstance(found, System) and not isinstance(found, type) else found(around)
    systems = [made] if isinstance(made, System) else list(made)
    for system in systems:
        if not isinstance(system, System):
            raise ValueError(f"--system {name}: got {system!r}, expected name, main, parts and ask")
    return systems
