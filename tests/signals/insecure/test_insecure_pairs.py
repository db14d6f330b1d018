"""Insecure texts are found at medium severity or above, and their mended twins are not."""

from __future__ import annotations

import pairs_files
import pairs_injection
import pairs_secrets
import pairs_styles
import pytest

from codeguard.models import Severity, SourceFile, text_digest
from codeguard.reading import Reading
from codeguard.signals.base import Context
from codeguard.signals.insecure import SIGNAL

PAIRS = [*pairs_injection.PAIRS, *pairs_files.PAIRS, *pairs_secrets.PAIRS, *pairs_styles.PAIRS]


def serious(text: str) -> list[str]:
    file = SourceFile("sample", text, text_digest(text), "python", ())
    found = SIGNAL.inspect(Reading(file), Context())
    return [item.rule for item in found if item.severity is not None and item.severity >= Severity.MEDIUM]


@pytest.mark.parametrize(("bad", "good"), [pair[1:] for pair in PAIRS], ids=[pair[0] for pair in PAIRS])
def test_the_insecure_text_is_found_and_its_twin_is_not(bad: str, good: str) -> None:
    assert serious(bad)
    assert not serious(good)


def test_there_are_many_pairs() -> None:
    assert len({name for name, _, _ in PAIRS}) == len(PAIRS) >= 170
