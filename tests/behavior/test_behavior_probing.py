"""Answers to probes are kept: an edit of trusted code runs only again what it concerns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict.checker import BehaviorChecker
from codeguard.behavior.verdict.running import Answered, RunMemory, holds
from codeguard.corpus.chunking import chunk_file
from codeguard.index.behavior_reports import checkable
from codeguard.index.workspace import Workspace
from codeguard.models import CheckReport, Sibling, Verdict, text_digest
from codeguard.sandbox import Level, Sandbox
from codeguard.sandbox.model import Job, JobResult, Limits, Status, Tier
from tests.behavior.test_behavior_repaired import ROLLING, TRUSTED

SEED = b"test"
RIGHT = ROLLING.format(compared=">")
EDITED = ROLLING.format(compared="<")  # one edit away from rolling_max
NAMED = "def advance(number):\n    return number + 2\n"
HANGING = "def advance(number):\n    while number > 1:\n        pass\n    return number + 2\n"
HELPER = '''
STEP = 1

def advance(number):
    """Return the number after the next one.

    >>> advance(1)
    3
    """
    return number + STEP + 1
'''


class Counting:
    """A sandbox that counts its jobs."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.level: Level = sandbox.level
        self.jobs: list[Job] = []

    def run_many(self, jobs: Sequence[Job]) -> Iterable[JobResult]:
        self.jobs += jobs
        return self._sandbox.run_many(jobs)


def library_of(*texts: str) -> SpecLibrary:
    files = [chunk_file(f"t{number}.py", text.encode()) for number, text in enumerate(texts)]
    return SpecLibrary.load(shipped=False).with_trusted(files)


def checked(sandbox: Sandbox, library: SpecLibrary, code: str, trusted: Answered) -> tuple[CheckReport, int]:
    """Return the report of the only function of a code, and how many jobs its check took."""
    counting = Counting(sandbox)
    file = chunk_file("unknown.py", code.encode())
    (chunk,) = filter(checkable, file.chunks)
    checker = BehaviorChecker(library, counting, seed=SEED, probes=False)
    assert checker.lacks_answers(chunk, file)
    found = checker.probe_trusted(known=dict(trusted))
    assert all(rows[0] for rows in found.values())
    trusted.clear()
    trusted |= found
    checker.take_answers(found)
    assert not checker.lacks_answers(chunk, file)
    (report,) = checker.check_many([(chunk, file)])
    return report, len(counting.jobs)


@pytest.mark.parametrize("code", [EDITED, RIGHT])
def test_what_was_answered_is_not_run_again_and_gives_the_same_report(sandbox: Sandbox, code: str) -> None:
    trusted: Answered = {}
    library = library_of(TRUSTED)
    first, ran = checked(sandbox, library, code, trusted)
    assert trusted
    again, ran_again = checked(sandbox, library, code, trusted)
    fresh, ran_fresh = checked(sandbox, library, code, {})
    assert first == again == fresh
    assert ran_again < ran_fresh == ran


def test_trusted_functions_are_not_run_in_a_sandbox_that_is_too_weak(sandbox: Sandbox) -> None:
    counting = Counting(sandbox)
    counting.level = Level.L0
    checker = BehaviorChecker(library_of(TRUSTED), counting, seed=SEED, required_level=Level.L1)
    assert checker.probe_trusted() == {}
    assert counting.jobs == []


def test_an_edited_trusted_function_is_run_again_and_others_are_not(sandbox: Sandbox) -> None:
    trusted: Answered = {}
    checked(sandbox, library_of(TRUSTED), EDITED, trusted)
    before = {rows[0][0] for rows in trusted.values()}
    edited = library_of(TRUSTED.replace("max(numbers[:place + 1])", "min(numbers[:place + 1])"))
    report, ran = checked(sandbox, edited, EDITED, trusted)
    fresh, ran_fresh = checked(sandbox, edited, EDITED, {})
    assert report == fresh
    assert ran < ran_fresh
    after = {rows[0][0] for rows in trusted.values()}
    assert before - after  # those of the edited function are not kept
    assert before & after  # those of the others are
    assert not report.refuted  # what it was one edit away from is gone


def test_the_source_of_a_trusted_function_is_not_needed_where_all_of_its_answers_are_known(
    sandbox: Sandbox,
) -> None:
    trusted: Answered = {}
    checked(sandbox, library_of(TRUSTED), EDITED, trusted)
    library = library_of(TRUSTED)
    BehaviorChecker(library, Counting(sandbox), seed=SEED).probe_trusted(known=trusted)
    assert library.fingerprints.places
    assert not any("usable" in reference.__dict__ for reference in library.references)


def test_answers_of_another_shape_are_not_used(sandbox: Sandbox) -> None:
    trusted: Answered = {}
    expected, _ = checked(sandbox, library_of(TRUSTED), EDITED, trusted)
    torn: Answered = {key: [row[:-1] for row in rows] for key, rows in trusted.items()}
    assert checked(sandbox, library_of(TRUSTED), EDITED, torn)[0] == expected


def memory_of(
    sandbox: Sandbox, library: SpecLibrary, code: str, known: dict[str, Any]
) -> tuple[CheckReport, int, dict[str, Any]]:
    """Return the report of a function with what it ran, and how many jobs were not known."""
    counting, file = Counting(sandbox), chunk_file("unknown.py", code.encode())
    checker = BehaviorChecker(library, counting, seed=SEED)
    memory = RunMemory(checker.runs_basis, known)
    (report,) = checker.check_many([(next(filter(checkable, file.chunks)), file)], memories=[memory])
    return report, len(counting.jobs), memory.used


@pytest.mark.parametrize("code", [EDITED, RIGHT, NAMED, HANGING])
def test_what_a_check_ran_is_known_to_the_next_one(sandbox: Sandbox, code: str) -> None:
    library = library_of(TRUSTED, HELPER)
    first, ran, runs = memory_of(sandbox, library, code, {})
    again, ran_again, runs_again = memory_of(sandbox, library, code, json.loads(json.dumps(runs)))
    assert again == first
    assert {key: runs_again[key] for key in runs} == runs
    assert ran_again < ran


def test_a_run_is_another_one_beside_another_helper(sandbox: Sandbox) -> None:
    first, _, runs = memory_of(sandbox, library_of(HELPER), NAMED, {})
    edited = library_of(HELPER.replace("STEP = 1", "STEP = 2").replace("    3\n", "    4\n"))
    found, ran, _ = memory_of(sandbox, edited, NAMED, runs)
    assert found == memory_of(sandbox, edited, NAMED, {})[0]
    assert first.verdict is Verdict.PASS is not found.verdict
    assert ran


UNLIKE = "def shout(text):\n    return text.upper() * 3\n"
IMPORTING = '''
from steps import STEP

def far(number, by):
    """Repeat a later number several times."""
    return [number + STEP] * by
'''


def met_of(
    sandbox: Sandbox, trusted: dict[str, str], code: str, asked: Any, beside: dict[str, str]
) -> tuple[Any, str]:
    """Return what the check of the last function of a code asks of trusted files, and a digest of what that meets."""
    files = [chunk_file(path, text.encode()) for path, text in trusted.items()]
    checker = BehaviorChecker(SpecLibrary.load(shipped=False).with_trusted(files), sandbox, seed=SEED)
    siblings = tuple(Sibling(path, text_digest(text), text) for path, text in beside.items())
    file = replace(chunk_file("unknown.py", code.encode()), siblings=siblings)
    subject = ([chunk for chunk in file.chunks if checkable(chunk)][-1], file)
    if asked is None:
        memory = RunMemory(checker.runs_basis)
        list(checker.check_many([subject], memories=[memory]))
        asked = checker.asked_by(*subject, memory)
    checker.take_answers(checker.probe_trusted())
    return json.loads(json.dumps(asked)), checker.met(*subject, asked)


@pytest.mark.parametrize(
    ("code", "changed", "beside", "same"),
    [
        (NAMED, {}, {}, True),
        (NAMED, {"new.py": UNLIKE}, {}, True),
        (NAMED, {"new.py": HELPER}, {}, False),  # of its name
        (
            NAMED,
            {"ours.py": HELPER.replace("STEP = 1", "STEP = 2")},
            {},
            False,
        ),  # what it resembles needs that
        (RIGHT, {"new.py": UNLIKE}, {}, True),
        (
            RIGHT,
            {"new.py": ROLLING.format(compared=">").replace("rolling", "other")},
            {},
            False,
        ),  # of its results
        (EDITED, {"new.py": ROLLING.format(compared=">=")}, {}, False),  # one edit away
        (IMPORTING, {"new.py": UNLIKE}, {}, True),
        (IMPORTING, {"lib/steps.py": "STEP = 4\n"}, {}, False),  # what it imports is there
        (IMPORTING, {}, {"steps.py": "STEP = 5\n"}, False),  # the same text beside another helper
    ],
)
def test_a_report_depends_on_what_its_check_met_and_on_nothing_else(
    sandbox: Sandbox, code: str, changed: dict[str, str], beside: dict[str, str], same: bool
) -> None:
    trusted = {"ours.py": HELPER, "twin.py": TRUSTED}
    asked, before = met_of(sandbox, trusted, code, None, {})
    _, after = met_of(sandbox, {**trusted, **changed}, code, asked, beside)
    assert before
    assert (before == after) is same


@pytest.mark.parametrize("torn", [[], [3, "completed", "", 0.0, 0.0, ["{"]], [9, "no", "", 0.0, 0.0, []]])
def test_kept_runs_of_another_shape_are_made_again(sandbox: Sandbox, torn: Any) -> None:
    library = library_of(HELPER)
    first, _, runs = memory_of(sandbox, library, NAMED, {})
    assert memory_of(sandbox, library, NAMED, dict.fromkeys(runs, torn))[0] == first


@pytest.mark.parametrize(
    ("status", "spent_s", "cpu_s", "wall_s", "again"),
    [
        (Status.COMPLETED, 0.5, 1.0, 4.0, True),
        (Status.COMPLETED, 0.5, 0.4, 4.0, False),
        (Status.TIMEOUT, 0.9, 1.0, 4.0, True),
        (Status.TIMEOUT, 0.5, 1.0, 4.0, False),
        (Status.NO_SIGNAL, 0.5, 1.0, 4.0, False),
    ],
)
def test_a_known_run_counts_where_it_would_end_the_same_way(
    status: Status, spent_s: float, cpu_s: float, wall_s: float, again: bool
) -> None:
    result = JobResult(status, Level.L3, Tier.RESTRICTED, spent_s=spent_s)
    assert holds(result, Limits(wall_s=wall_s, cpu_s=cpu_s)) is again


def reports_of(workspace: Workspace) -> list[CheckReport]:
    reports = workspace.reports(known_only=True)  # the kept ones alone
    file = workspace.catalog.file("unknown.py")
    assert file is not None
    return [reports(chunk, file) for chunk in filter(checkable, file.chunks)]


def indexed(corpus: Path, state: Path) -> Workspace:
    settings = lexical_settings(corpus, state)
    with CodeGuard.open(settings=settings, trust=[corpus / "ours"]) as guard:
        guard.index([corpus])
    return Workspace(settings)


def test_an_index_after_an_edit_says_what_a_fresh_one_says(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    for name, text in (("ours/t.py", TRUSTED), ("ours/h.py", HELPER), ("unknown.py", EDITED)):
        (corpus / name).parent.mkdir(parents=True, exist_ok=True)
        (corpus / name).write_text(text)
    with closing(indexed(corpus, tmp_path / "state")) as workspace:
        (first,) = reports_of(workspace)
        material = workspace.material(workspace.static_evidence(workspace.settings.defense)).value()
    assert first.refuted
    assert set(material["facts"]) == {"ours/t.py", "ours/h.py"}  # no later run derives them again
    for old, new in (("max(numbers[", "min(numbers["), ("min(numbers[", "max(numbers[")):
        (corpus / "ours/t.py").write_text((corpus / "ours/t.py").read_text().replace(old, new))
        with closing(indexed(corpus, tmp_path / "state")) as workspace:
            edited = reports_of(workspace)
        with closing(indexed(corpus, tmp_path / new[:3])) as fresh:
            assert edited == reports_of(fresh)
    assert edited == [first]
