"""Every command and format says what it said before, unless a change means it to: see `snapshot`."""

import json

import pytest
from snapshot import EXPECTED, snapshot


@pytest.fixture(scope="module")
def now() -> dict[str, object]:
    return snapshot()


KNOWN = json.loads(EXPECTED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("part", KNOWN)
def test_outputs_are_those_that_were_written_down(now: dict[str, object], part: str) -> None:
    assert now[part] == KNOWN[part], "if that is meant: python -P tests/golden/snapshot.py, and say why"


def test_nothing_is_left_out(now: dict[str, object]) -> None:
    assert now.keys() == KNOWN.keys()
