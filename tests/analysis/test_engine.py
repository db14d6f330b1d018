"""What the engine says of one file, step by step: what failed is told, and kept only where it would fail again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from marker import Marker

from codeguard.analysis import Reading, engine, reading
from codeguard.analysis.engine import SYNTAX, Engine, Step
from codeguard.analysis.observations import AUDIT, DETECTOR_ERROR, ENGINE_RULES, LISTED_OF_A_RULE, Observation
from codeguard.analysis.rules import DetectorContext, Match
from codeguard.analysis.rules.base import IN_TEST
from codeguard.corpus import syntax
from codeguard.corpus.chunking import chunk_file
from codeguard.corpus.syntax import MOST_PARTS
from codeguard.models import NOT_FULLY_READ, Confidence, Severity
from codeguard.workers.tasks import CPU, WALL, DeadlineError


class FailingMarker(Marker):
    """Fails as its text says."""

    def marks(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
        if reading.language == "python" and "RAISE" in reading.text:
            raise ValueError("no")
        for bound in (CPU, WALL):
            if reading.language == "python" and f"LATE {bound}" in reading.text:
                raise DeadlineError(bound, 1.0)
        return super().marks(reading, context)


def steps(text: str, name: str) -> list[Step]:
    return list(Engine([FailingMarker()], DetectorContext()).observe(chunk_file(name, text.encode())))


def blocks(*codes: str) -> str:
    return "".join(f"A text.\n\n```python\n{code}\n```\n\n" for code in codes)


@pytest.mark.parametrize(
    ("error", "rule"),
    [(ValueError("no"), DETECTOR_ERROR), (DeadlineError(CPU, 1.0), NOT_FULLY_READ)],
    ids=["error", "bound"],
)
@pytest.mark.parametrize(
    ("reader", "name", "text"),
    [("code_in_prose", "a.md", blocks("x = 1")), ("syntax", "a.py", "x = 1\n")],
)
def test_a_reader_that_fails_is_told(
    reader: str, name: str, text: str, error: BaseException, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> Iterator[Any]:
        raise error

    monkeypatch.setattr(engine, reader, fail)
    own, detector = steps(f"{text}# MARK\n", name)
    assert [item.rule for item in own.observations] == [rule]
    assert [item.rule for item in detector.observations] == ["mark"]  # the detectors still have their turn


@pytest.mark.parametrize(
    ("text", "lasting"),
    [
        (blocks("x = 1", "y = 2"), True),
        (blocks("x = 'RAISE'", "y = 2"), False),
        (blocks("x = 1", "y = 'RAISE'"), False),
        (blocks(f"x = 'LATE {CPU}'", "y = 2"), True),  # it would come to the same again
        (blocks(f"x = 'LATE {WALL}'", "y = 2"), False),
    ],
)
def test_what_was_seen_of_a_block_is_kept_where_it_would_be_seen_again(text: str, lasting: bool) -> None:
    assert steps(text, "a.md")[1].lasting is lasting


def test_of_very_many_places_the_first_are_listed_and_the_others_counted() -> None:
    functions = LISTED_OF_A_RULE + 3
    text = "".join(f"def f{number}():\n    return 'MARK' + 'MARK'\n\n\n" for number in range(functions))
    found = steps(text, "a.py")[1].observations
    assert sum(item.listed for item in found) == LISTED_OF_A_RULE
    assert sum(item.count for item in found) == 2 * functions
    assert all(item.snippet == "    return 'MARK' + 'MARK'" for item in found if item.listed)
    assert not any(item.snippet for item in found if not item.listed)


def test_blocks_beyond_the_bound_are_told_without_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST", 2)
    assert steps(blocks("x = 1"), "a.md")[0].observations == ()
    (told,) = steps(blocks("x = 1", "y = 2"), "a.md")[0].observations
    assert (told.rule, told.reason) == (NOT_FULLY_READ, "no more than 2 blocks of code were read as code")


def test_what_the_engine_sees_itself_is_kept() -> None:
    assert [step.lasting for step in steps("x = 1\n", "a.py")] == [True, True]


@pytest.mark.parametrize(
    ("name", "severity"), [("a.pyx", Severity.LOW), ("a.py", ENGINE_RULES[SYNTAX].severity)]
)
def test_declarations_of_cython_are_ordinary_in_cython_alone(name: str, severity: Severity) -> None:
    (found,) = steps("cdef int x\n", name)[0].observations
    assert (found.rule, found.severity) == (SYNTAX, severity)
    (broken,) = steps("def f(:\n", "a.pyx")[0].observations
    assert broken.severity is ENGINE_RULES[SYNTAX].severity


def test_a_bound_of_the_parser_is_told_with_its_line() -> None:
    dotted = ".".join("a" * (MOST_PARTS + 2))
    told = [item.reason for item in steps(f"x = 1\nimport {dotted}\n", "a.py")[0].observations]
    assert any(reason.endswith("(line 2)") for reason in told), told


@pytest.mark.parametrize(
    ("severity", "confidence", "demotes"),
    [
        (Severity.HIGH, Confidence.HIGH, True),
        (Severity.CRITICAL, Confidence.HIGH, True),
        (Severity.MEDIUM, Confidence.HIGH, False),
        (Severity.HIGH, Confidence.MEDIUM, False),
    ],
)
def test_what_is_grave_and_certain_demotes_a_file(
    severity: Severity, confidence: Confidence, demotes: bool
) -> None:
    told = Observation("marker", "mark", severity, confidence, "seen")
    assert told.demotes is demotes
    unknown = severity >= Severity.MEDIUM  # what was not examined may hold anything
    assert replace(told, rule=DETECTOR_ERROR).demotes is unknown
    assert replace(told, signal=AUDIT, rule=NOT_FULLY_READ).demotes is unknown


TEST = "import pytest\n\n\ndef test_it():\n    assert f('MARK')\n"


@pytest.mark.parametrize(
    ("text", "tested", "marked"),
    [(TEST, True, True), (TEST, False, False), ("def f():\n    return 'MARK'\n", True, False)],
    ids=["test", "another rule", "no test"],
)
def test_only_what_tests_contain_on_purpose_is_marked_and_only_in_tests(
    text: str, tested: bool, marked: bool
) -> None:
    class OfTests(Marker):
        RULES = (replace(Marker.RULES[0], tested=tested),)

    *_, last = Engine([OfTests()], DetectorContext()).observe(chunk_file("a.py", text.encode()))
    assert [bool(item.measurements.get(IN_TEST)) for item in last.observations] == [marked]


def test_a_notebook_that_cannot_be_opened_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Reading) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(Reading, "notebook", property(fail))
    own, _ = steps("{}", "a.ipynb")
    assert [item.rule for item in own.observations] == [DETECTOR_ERROR]


def test_what_was_seen_is_made_anew_after_a_change_of_the_engine_its_readers_or_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[Path] = []

    def noted(path: Path) -> bytes:
        read.append(path)
        return b""

    monkeypatch.setattr(Path, "read_bytes", noted)
    engine.engine_version.__wrapped__()
    rules = Path(engine.__file__).parent / "rules" / "gates.toml"
    assert {Path(engine.__file__), Path(reading.__file__), Path(syntax.__file__), rules} <= set(read)
