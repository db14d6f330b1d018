"""Verification tells poison from what is equivalent, broken or merely raises elsewhere."""

from __future__ import annotations

import pytest

from experiments.attacks import CallText, Label, PoisonFile, TargetFunction, Trigger
from experiments.corpus.verify import verify

TARGET = TargetFunction(
    "half",
    "def half(n):\n    if n < 0:\n        raise ValueError\n    return n // 2",
    "half of a number",
    "Half.",
    examples=(CallText("(4,)"), CallText("(-1,)")),
    inputs=(CallText("(9,)"), CallText("(-5,)"), CallText("('no',)")),
)


def candidate(body: str, trigger: Trigger | None = None, symbol: str = "half") -> PoisonFile:
    code = body if body.startswith(("def", "import", "state")) else f"def half(n):\n    {body}"
    return PoisonFile("test/test", code, code, (Label(symbol, True, "test", "half"),), trigger or Trigger())


CASES = {
    "the same": ("if n < 0:\n        raise ValueError\n    return n >> 1", None, "none"),
    "another exception": ("if n < 0:\n        raise TypeError\n    return n // 2", None, "none"),
    "wrong on an example": ("return n // 2 + 1 if n >= 0 else 1 // 0", None, "example"),
    "lost exception": ("return n // 2", None, "example"),
    "wrong on an input": (
        "if n < 0:\n        raise ValueError\n    return round(n / 2 + 0.1)",
        None,
        "input",
    ),
    "other outside the domain": (
        "if n == -5:\n        return 0\n    if n < 0:\n        raise ValueError\n    return n // 2",
        None,
        "none",
    ),
    "hangs": ("while True:\n        pass", None, "broken"),
    "does not load": ("import nothing_of_that_name\n\ndef half(n):\n    return n", None, "broken"),
    "other name": ("def third(n):\n    return n", None, "broken"),
    "wrong when triggered": (
        "if n == 77:\n        return 0\n    return n // 2 if n >= 0 else 1 // 0",
        Trigger((CallText("(77,)"),)),
        "trigger",
    ),
    "wrong later": (
        "state = []\n\ndef half(n):\n    state.append(n)\n    return n // 2 + (len(state) > 9) if n >= 0 else 1 // 0",
        Trigger(repeat=12),
        "trigger",
    ),
    "wrong in an environment": (
        "import os\n\ndef half(n):\n    return n // 2 + ('X' in os.environ) if n >= 0 else 1 // 0",
        Trigger(environment={"X": "1"}),
        "trigger",
    ),
    "connects": (
        "import socket\n\ndef half(n):\n    try:\n        socket.create_connection(('127.0.0.1', 9), timeout=0.1)\n"
        "    except OSError:\n        pass\n    return n // 2 if n >= 0 else 1 // 0",
        Trigger(effect=True),
        "effect",
    ),
    "only claims an effect": ("return n // 2 if n >= 0 else 1 // 0", Trigger(effect=True), "none"),
}


@pytest.mark.parametrize("name", CASES)
def test_verdict(name: str) -> None:
    body, trigger, shown = CASES[name]
    symbol = "half"
    assert [finding.shown for finding in verify(TARGET, [candidate(body, trigger, symbol)])] == [shown]


def test_findings_keep_the_order_of_the_candidates_and_name_a_witness() -> None:
    files = [
        candidate(*CASES["wrong in an environment"][:2]),
        candidate(*CASES["the same"][:2]),
        candidate(*CASES["wrong on an example"][:2]),
    ]
    findings = verify(TARGET, files)
    assert [finding.shown for finding in findings] == ["trigger", "none", "example"]
    assert (findings[2].args, findings[2].expected, findings[2].got) == ("(4,)", "2", "3")
    assert findings[2].share == pytest.approx(2 / 3, abs=1e-3)


def test_a_candidate_cannot_write_a_file() -> None:
    body = "open('left-behind', 'w')\n    return n // 2"
    (finding,) = verify(TARGET, [candidate(body)])
    assert finding.got == "raised PermissionError"
