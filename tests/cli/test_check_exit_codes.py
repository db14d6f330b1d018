"""`check` is a gate: what could not be tested never passes for tested."""

import pytest
from click.testing import CliRunner

from codeguard.audit.check import CheckedFunction
from codeguard.cli import main
from codeguard.models import CheckReport, Chunk, ChunkKind, Span, Verdict, text_digest
from codeguard.reports.check import check_text

TEXT = "def f(): return 1\n"
CHUNK = Chunk("m.py", "f", ChunkKind.FUNCTION, Span(1, 1, 0, len(TEXT)), TEXT, text_digest(TEXT), "python")


@pytest.mark.parametrize(
    ("verdicts", "level", "code", "said"),
    [
        ([Verdict.PASS], "L3", 0, "1 of 1 functions tested"),
        ([Verdict.PASS, Verdict.NO_SIGNAL], "L3", 0, "1 of 2 functions tested"),
        ([Verdict.TIMEOUT], "L3", 0, "1 of 1 functions tested"),
        ([Verdict.PASS, Verdict.FAIL, Verdict.ERROR], "L3", 1, "CONVICTED"),
        ([Verdict.PASS, Verdict.ERROR], "L3", 2, "1 of 2 functions tested"),
        ([Verdict.UNSUPPORTED], "L1", 2, "sandbox L1 is BELOW the required L2"),
        ([Verdict.NO_SIGNAL, Verdict.UNSUPPORTED], "L3", 3, "no function was tested"),
    ],
)
def test_the_exit_code_says_what_was_tested(
    verdicts: list[Verdict], level: str, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = [CheckedFunction(CHUNK, CheckReport(verdict, "", level=level)) for verdict in verdicts]
    monkeypatch.setattr("codeguard.audit.check.check_file", lambda *_, **__: checked)
    done = CliRunner().invoke(main, ["check", "m.py"])
    assert done.exit_code == code, done.output
    assert said in done.output


def test_a_claim_that_was_found_false_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    report = CheckReport(Verdict.NO_SIGNAL, "claims to be f", level="L3", claims="f (a.py:1)", refuted=True)
    monkeypatch.setattr("codeguard.audit.check.check_file", lambda *_, **__: [CheckedFunction(CHUNK, report)])
    done = CliRunner().invoke(main, ["check", "m.py"])
    assert done.exit_code == 1, done.output
    assert "1 of 1 functions tested" in done.output
    assert "false claim" in done.output


def test_the_text_is_short_where_a_function_has_many_branches() -> None:
    notes = (*(f"not reached: line {number}" for number in range(5)), "its own imports")
    effects = ("import:re", "clock", "threads: import threading")
    report = CheckReport(Verdict.PASS, "3 calls agree", level="L3", calls=3, notes=notes, effects=effects)
    lines = check_text([CheckedFunction(CHUNK, report)], "L2").splitlines()
    assert [line.strip() for line in lines[3:]] == [
        "3 calls in Python",
        "tried: clock; threads: import threading",
        "note: its own imports",
        "not reached: line 0",
        "not reached: line 1",
        "… and 3 more (--format json lists them)",
    ]
    assert lines[2].strip() == "3 calls agree; not every part was shown to matter: no bonus"
