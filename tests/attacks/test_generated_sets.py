"""The set that is written on demand: attacks that adapt to the defense."""

from __future__ import annotations

from pathlib import Path

from experiments.corpus.adaptive import build_adaptive_set


def test_adaptive_set_holds_every_variant_verified(tmp_path: Path) -> None:
    built = build_adaptive_set(tmp_path, seed=1, per_variant=1, attacks=("rare_input", "helper_poison"))
    variants = {variant for attack, variant in built.by_variant() if attack == "rare_input"}
    assert variants == {"residue", "equality", "checksum"}
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")}
    assert len(written) == len(built.queries) == 3 + 4
    assert all(label.verified for label in built.labels.functions)
    assert {label.path for label in built.labels.functions} == written
