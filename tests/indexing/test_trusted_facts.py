"""What is derived of trusted files is made once, and never within the limits of a function that is checked."""

from __future__ import annotations

import json
from concurrent.futures import Executor, Future
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from codeguard import CodeGuard
from codeguard.behavior.specs.everyones import public_functions
from codeguard.behavior.specs.facts import facts_version
from codeguard.config import Settings
from codeguard.corpus.chunking import chunk_file
from codeguard.index import behavior_reports, file_tasks
from codeguard.index.behavior_reports import ensure_level
from codeguard.index.catalog import Catalog
from codeguard.index.evidence_tasks import (
    FACTS,
    RUNS,
    STANDARD,
    Checks,
    _packed,
    facts_key,
    standard_functions,
    trusted_facts,
)
from codeguard.index.pipeline import OF_TEXTS
from codeguard.index.report import SandboxBudget
from codeguard.index.workspace import Workspace
from codeguard.models import CheckReport, Verdict
from codeguard.workers.processes import default_workers
from codeguard.workers.tasks import Shared, TaskAnswer

TEXT = 'def halve(number):\n    """Halve a number."""\n    return number / 2\n'


class Scripted(Executor):
    """Workers that answer a check only with the trusted functions' answers, and write down what they are asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        asked = json.loads(args[0][0])
        self.asked.append((fn.__name__, asked.get("answers", asked.get("known"))))
        if fn.__name__ == "probe_task":
            answer: Any = {"one": [["1"]], "two": [[], ["2"]]}
        else:
            report = CheckReport(Verdict.PASS, "same", "L3").to_json()
            answer = [
                None if asked["answers"] is None else (report, 0.1, "packed") for _ in asked["subjects"]
            ]
        future: Future[Any] = Future()
        future.set_result([TaskAnswer((json.dumps(answer).encode(),))])
        return future


def test_trusted_functions_are_probed_between_checks_and_not_within_one(tmp_path: Path) -> None:
    file = chunk_file("theirs.py", TEXT.encode())
    subject = (file.chunks[0], file)
    with Catalog(tmp_path / "catalog", b"k" * 32) as catalog:
        for known in ({}, {"one": [["1"]]}):  # the second run has what is worth keeping of the first
            workers = Scripted()
            checks = Checks(workers, lambda: Shared.of(b""), catalog)
            ((_, report),) = checks([subject], SandboxBudget())
            assert report.verdict is Verdict.PASS
            names = [name for name, _ in workers.asked]
            assert names[0] == names[-1] == "check_task"
            assert set(names[1:-1]) == {"probe_task"}
            assert workers.asked[1][1] == known
            assert workers.asked[-1][1] == {"one": [["1"]], "two": [[], ["2"]]}


def test_facts_are_derived_once_for_a_text_and_those_of_older_texts_are_forgotten(tmp_path: Path) -> None:
    most = file_tasks.MOST_STALE
    with Catalog(tmp_path / "catalog", b"k" * 32) as catalog:
        for edit in range(most + 2):
            file = chunk_file("ours.py", f"{TEXT}\n\nEDIT = {edit}\n".encode())
            found = trusted_facts(default_workers(), [file], catalog)
            assert found == trusted_facts(Scripted(), [file], catalog)  # nothing is asked again
            assert facts_key(file) in catalog.analysis_keys(FACTS)
            assert len(catalog.analysis_keys(FACTS)) <= 1 + most


def test_an_index_keeps_facts_and_sketches_of_each_trusted_file(tmp_path: Path) -> None:
    for name, text in {
        "ours/a.py": TEXT,
        "ours/b.py": "def b(x):\n    return x\n",
        "theirs/c.py": TEXT,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    settings = Settings(store=str(tmp_path / "state"), root=str(tmp_path), embedding="lexical", jobs=1)
    with CodeGuard.open(settings=settings, trust=[tmp_path / "ours"]) as guard:
        guard.index([tmp_path])
        for kind in (FACTS, "sketches:"):
            assert len(guard.catalog.analysis_keys(kind)) == 2
        assert len(guard.catalog.analysis_keys(STANDARD)) == 1
        kept = standard_functions(guard.catalog)
        assert kept == public_functions()
        guard.catalog.put_analyses({STANDARD + facts_version(): {"places": {}}})
        assert standard_functions(guard.catalog) == {}  # what is kept is not read again


def test_results_of_earlier_texts_are_forgotten_once_they_are_most_of_what_is_kept(tmp_path: Path) -> None:
    settings = Settings(store=str(tmp_path / "state"), root=str(tmp_path), embedding="lexical", jobs=1)
    with CodeGuard.open(settings=settings) as guard:
        for edit in range(8):
            (tmp_path / "theirs.py").write_text(f"{TEXT}\n\nEDIT = {edit}\n")
            guard.index([tmp_path / "theirs.py"])
            kept = [key for kind in OF_TEXTS for key in guard.catalog.analysis_keys(kind)]
            assert 2 <= len(kept) <= file_tasks.MOST_STALE * guard.catalog.count() + 2


def test_after_an_edit_of_trusted_code_only_what_met_it_is_checked_again(tmp_path: Path) -> None:
    ours = 'def halve(number):\n    """Halve a number.\n\n    >>> halve(8)\n    4.0\n    """\n    return number / 2\n'
    other = "def shout(text):\n    return text.upper() * 3\n"
    settings = Settings(store=str(tmp_path / "state"), root=str(tmp_path), embedding="lexical", jobs=1)

    def indexed(name: str, text: str) -> tuple[set[str], dict[str, Any]]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        with CodeGuard.open(settings=settings, trust=[tmp_path / "ours"]) as guard:
            found = {item.symbol for item in guard.index([tmp_path]).convicted}
            return found, {key: guard.catalog.analysis(key) for key in guard.catalog.analysis_keys(RUNS)}

    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/c.py").write_text(TEXT)
    right, first = indexed("ours/a.py", ours)
    assert first
    assert (right, first) == indexed("ours/b.py", other)  # nothing is told anew
    wrong, edited = indexed("ours/a.py", ours.replace("4.0", "2.0").replace("/ 2", "/ 4"))
    assert (right, wrong) == (set(), {"halve"})
    assert edited != first
    for torn in ([], {"met": "", "spent_s": 0.0, "asked": [], "report": {}}, {"met": 1, "spent_s": "x"}):
        with closing(Workspace(settings)) as workspace:
            workspace.catalog.put_analyses(
                {key: {"runs": _packed({"ran": {}, "last": torn})} for key in edited}
            )
        assert indexed("ours/b.py", other + f"# {torn}\n")[0] == wrong


@pytest.mark.parametrize(("kept", "then"), [("", "L2"), ("L1", "L2"), ("L2", "L2"), ("L3", "L3")])
def test_the_sandbox_level_is_measured_until_it_is_the_highest(
    kept: str, then: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(behavior_reports, "own_level", lambda: "L2")
    with Catalog(tmp_path / "catalog", b"k" * 32) as catalog:
        catalog.set_meta("sandbox_level", kept)
        assert ensure_level(catalog) == then == catalog.meta("sandbox_level")
