"""Every interface says when an answer is not what the disk has, and serves nothing of it as trusted."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from guarded_texts import CLEAN, QUERY, TRUSTED
from lexical_settings import lexical_settings

from codeguard.api import CodeGuard
from codeguard.cli import main
from codeguard.integrations.documents import DocumentJudge, Retrieval, StoredText, verdict_of
from codeguard.integrations.web import Site

pytestmark = pytest.mark.ci

NAME = "ours/m.py"
WARNING = "shown as indexed, not trusted: ours/m.py"


class Desk:
    """A trusted and an untrusted file, indexed by name from a folder that may be another one."""

    def __init__(self, base: Path, work: Path) -> None:
        self.corpus = base / "corpus"
        for name, text in {NAME: TRUSTED, "theirs/clean.py": CLEAN}.items():
            (self.corpus / name).parent.mkdir(parents=True, exist_ok=True)
            (self.corpus / name).write_text(text)
        self.settings = lexical_settings(work, work / ".codeguard")
        self.file = self.corpus / NAME
        with self.guard() as guard:
            guard.index([self.corpus / "ours", self.corpus / "theirs"])

    def guard(self) -> CodeGuard:
        return CodeGuard.open(settings=self.settings, trust=[self.corpus / "ours"])


@pytest.fixture(params=["inside", "outside"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Desk:
    work = tmp_path / "work"
    work.mkdir()
    return Desk(tmp_path, tmp_path / "corpus" if request.param == "inside" else work)


def run(desk: Desk, *words: str) -> str:
    with contextlib.chdir(str(desk.settings.root)):
        done = CliRunner().invoke(main, ["query", QUERY, *words])
    assert done.exit_code == 0, done.output
    return done.output


Answer = tuple[str, str]  # trust, and how the file compares with the disk


def of_json(desk: Desk) -> tuple[Answer, str]:
    said = run(desk, "--format", "json")
    return of_values(json.loads(said.splitlines()[-1])["results"]), said


def of_values(found: list[Any]) -> Answer:
    item = next(item for item in found if item["path"] == NAME)
    return item["trust"], item.get("on_disk", "same")


def of_python(desk: Desk) -> tuple[Answer, str]:
    with desk.guard() as guard:
        ranking = guard.query(QUERY)
    item = next(item for item in ranking.results if item.chunk.path == NAME)
    return (item.trust.value, item.on_disk.value), " ".join(ranking.warnings)


def of_framework(desk: Desk) -> tuple[Answer, str]:
    with desk.guard() as guard:
        found = Retrieval(guard).ask(QUERY, 5, "rerank")
    said = verdict_of(next(item for item in found if item.chunk.path == NAME))
    return (said["trust"], said["on_disk"]), WARNING


def of_mcp(desk: Desk) -> tuple[Answer, str]:
    pytest.importorskip("mcp.server.mcpserver")
    from codeguard.integrations.mcp import Fence, _Assistant

    with desk.guard() as guard:
        answer = _Assistant([guard], "rerank", (), lambda: None).search(QUERY, 5, Fence())
    return of_values(answer["results"]), " ".join(answer["warnings"])


def of_judge(desk: Desk) -> tuple[Answer, str]:
    """Return what the drop-in for Chroma says of the same text in somebody's collection."""
    with desk.guard() as guard:
        (item,) = DocumentJudge(guard, mode="rerank").judge([StoredText("a", TRUSTED)]).retained
    return (item.trust.value, item.on_disk.value), WARNING


ASK = [of_json, of_python, of_framework, of_mcp, of_judge]


def edit(desk: Desk) -> None:
    desk.file.write_text(desk.file.read_text().replace("a + b", "b + a"))


def delete(desk: Desk) -> None:
    desk.file.unlink()


def link(desk: Desk) -> None:
    shutil.move(desk.file, desk.corpus / "elsewhere.py")
    desk.file.symlink_to(desk.corpus / "elsewhere.py")


@pytest.mark.parametrize("ask", ASK)
@pytest.mark.parametrize(
    ("change", "state"),
    [(edit, "changed"), (delete, "gone"), (link, "gone")],
    ids=["edited", "deleted", "link"],
)
def test_what_differs_from_the_disk_is_said_and_not_trusted(
    desk: Desk, ask: Callable[[Desk], tuple[Answer, str]], change: Callable[[Desk], None], state: str
) -> None:
    assert ask(desk)[0] == ("trusted", "same")
    change(desk)
    answer, said = ask(desk)
    assert answer == ("modified", state)
    assert WARNING in said


@pytest.mark.parametrize("desk", ["outside"], indirect=True)  # inside of it the state is gone, too
@pytest.mark.parametrize("ask", ASK)
def test_a_folder_that_is_not_on_this_disk_is_another_case(
    desk: Desk, ask: Callable[[Desk], tuple[Answer, str]]
) -> None:
    shutil.rmtree(desk.corpus)
    (answer, said) = ask(desk)
    assert answer == ("trusted", "elsewhere")
    assert "not on this disk" in said or said == WARNING


def test_text_and_pages_say_it_beside_the_answer(desk: Desk) -> None:
    edit(desk)
    said = run(desk)
    assert "your own code" not in said
    assert "changed since it was trusted" in said
    assert "the file has changed since it was indexed" in said
    with desk.guard() as guard:
        assert "the file has changed since it was indexed" in Site(guard).search({"q": QUERY})


def test_every_answer_of_a_batch_is_compared(desk: Desk, tmp_path: Path) -> None:
    edit(desk)
    (tmp_path / "questions").write_text(f"{QUERY}\n{QUERY} again\n")
    with contextlib.chdir(str(desk.settings.root)):
        done = CliRunner().invoke(main, ["query", "--batch", str(tmp_path / "questions")])
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [of_values(answer["results"]) for answer in answers] == [("modified", "changed")] * 2
