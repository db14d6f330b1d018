"""What the model learns from: templates expand fully, and say who speaks, how, and what for."""

from __future__ import annotations

import random

import pytest

from experiments.audit_training.corpus import templates, written


@pytest.mark.parametrize("folder", ["injected", "ordinary"])
def test_every_template_expands_without_a_slot_left(folder: str) -> None:
    rng = random.Random(1)
    for template in templates(folder):
        for _ in range(3):
            text, _ = template.expanded(rng)
            assert "{=" not in text, template.group


def test_goals_and_registers_are_told() -> None:
    found = [one for one in written("injected", 1, 1) if "_voice_" in one.group]
    assert all(one.register for one in found)
    assert len({goal for one in found for goal in one.goals}) >= 12


def test_the_same_seed_makes_the_same_texts() -> None:
    assert written("ordinary", 1, 3) == written("ordinary", 1, 3)
