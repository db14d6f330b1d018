"""Answers to probes are kept: an edit of trusted code runs only again what it concerns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard
from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.behavior.verdict.probing import Answered
from codeguard.corpus.chunking import chunk_file
from codeguard.index.behavior_reports import checkable
from codeguard.index.workspace import Workspace
from codeguard.models import CheckReport
from codeguard.sandbox import Level, Sandbox
from codeguard.sandbox.model import Job, JobResult
from tests.behavior.test_behavior_repaired import ROLLING, TRUSTED

SEED = b"test"
RIGHT = ROLLING.format(compared=">")
EDITED = ROLLING.format(compared="<")  # one edit away from rolling_max
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
    kept, passing = checker.probe_trusted(known=dict(trusted))
    trusted.clear()
    trusted |= kept
    checker.take_answers(kept | passing)
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
    assert checker.probe_trusted() == ({}, {})
    assert counting.jobs == []


def test_an_edited_trusted_function_is_run_again_and_others_are_not(sandbox: Sandbox) -> None:
    trusted: Answered = {}
    checked(sandbox, library_of(TRUSTED), EDITED, trusted)
    before = set(trusted)
    edited = library_of(TRUSTED.replace("max(numbers[:place + 1])", "min(numbers[:place + 1])"))
    report, ran = checked(sandbox, edited, EDITED, trusted)
    fresh, ran_fresh = checked(sandbox, edited, EDITED, {})
    assert report == fresh
    assert ran < ran_fresh
    assert before - set(trusted)  # those of the edited function are not kept
    assert before & set(trusted)  # those of the others are
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


def cache_key(sandbox: Sandbox, library: SpecLibrary) -> str | None:
    file = chunk_file("unknown.py", EDITED.encode())
    (chunk,) = filter(checkable, file.chunks)
    return BehaviorChecker(library, sandbox, seed=SEED).cache_key(chunk, file)


def test_a_verdict_depends_on_what_trusted_functions_use(sandbox: Sandbox) -> None:
    """A helper beside a trusted function changes its results, and so what the function is matched to."""
    keys = {cache_key(sandbox, library_of(HELPER.replace("STEP = 1", f"STEP = {step}"))) for step in (1, 2)}
    assert len(keys) == 2


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
