"""What the model learns from: templates expand fully, and say who speaks, how, and what for."""

from __future__ import annotations

import random

import pytest

from experiments.audit_training.corpus import templates


@pytest.mark.parametrize("folder", ["injected", "ordinary"])
def test_every_template_expands_without_a_slot_left(folder: str) -> None:
    rng = random.Random(1)
    for template in templates(folder):
        for _ in range(3):
            text, _ = template.expanded(rng)
            assert "{=" not in text, template.group
