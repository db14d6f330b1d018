"""The set that is made on demand: attacks that adapt to the defense."""

from __future__ import annotations

from experiments.adaptive_set import attempts


def test_adaptive_set_holds_every_variant_verified() -> None:
    found = list(attempts(seed=1, each=1, attacks=("rare_input", "helper_poison")))
    variants = {item.variant for item in found if item.attack == "rare_input"}
    assert variants == {"residue", "equality", "checksum"}
    assert len({item.file.path for item in found}) == len(found) == 3 + 4
    assert all(item.functions for item in found)
