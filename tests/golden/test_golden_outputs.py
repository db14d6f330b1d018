"""Every command and format says what it said before, unless a change means it to: see `snapshot`."""

import json
import subprocess
import sys
from typing import Any

import pytest
from snapshot import EXPECTED


@pytest.fixture(scope="module")
def now() -> dict[str, Any]:
    """What is said now, by a process of its own: other tests leave traces in this one."""
    command = [sys.executable, "-P", EXPECTED.with_name("snapshot.py"), "--show"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


KNOWN = json.loads(EXPECTED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("part", KNOWN)
def test_outputs_are_those_that_were_written_down(now: dict[str, Any], part: str) -> None:
    assert now[part] == KNOWN[part], "if that is meant: python -P tests/golden/snapshot.py, and say why"


def test_nothing_is_left_out(now: dict[str, Any]) -> None:
    assert now.keys() == KNOWN.keys()
