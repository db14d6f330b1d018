"""What is staged is what is audited, and nothing of the repository is run for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from audit_helpers import CLEAN, FLAGGED, git, look, rules, write
from in_process import codeguard

from codeguard.audit.staged import staged_files
from codeguard.errors import CorpusError


@pytest.mark.parametrize(
    ("staged", "in_tree", "found"),
    [(FLAGGED, CLEAN, ["audit.inline-ignore"]), (CLEAN, FLAGGED, [])],
    ids=["poisoned in the index, clean in the tree", "clean in the index, poisoned in the tree"],
)
def test_the_index_counts_and_not_the_tree(
    repository: Path, staged: str, in_tree: str, found: list[str]
) -> None:
    write(repository, {"m.py": staged})
    git(repository, "add", "m.py")
    write(repository, {"m.py": in_tree})
    report = look(staged=True)
    assert rules(report.findings) == found
    assert report.files == 1


def test_only_what_differs_from_the_last_commit_is_staged(repository: Path) -> None:
    write(repository, {"old.py": FLAGGED, "gone.py": FLAGGED})
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "before")
    git(repository, "rm", "-q", "gone.py")
    write(repository, {"new.py": CLEAN, "other.py": FLAGGED})
    git(repository, "add", "new.py")
    assert [item.name for item in staged_files(repository).sources] == ["new.py"]


def test_the_first_commit_of_a_repository(project: Path) -> None:
    git(project, "init", "-q")
    write(project, {"a b/ü.py": CLEAN})
    git(project, "add", ".")
    assert [(item.name, item.read().decode()) for item in staged_files(project).sources] == [
        ("a b/ü.py", CLEAN)
    ]


def test_nothing_staged_is_fine(repository: Path) -> None:
    report = look(staged=True)
    assert (report.files, report.findings) == (0, ())
    assert codeguard("audit", "--staged", cwd=repository).returncode == 0


def test_the_root_named_as_a_path_narrows_nothing_down(repository: Path) -> None:
    write(repository, {"one/a.py": CLEAN, "b.py": CLEAN})
    git(repository, "add", ".")
    assert [item.name for item in staged_files(repository, [repository]).sources] == ["b.py", "one/a.py"]


def test_paths_narrow_it_down_from_a_folder_below(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, {"one/a.py": CLEAN, "two/b.py": CLEAN})
    git(repository, "add", ".")
    monkeypatch.chdir(repository / "two")
    assert [item.name for item in staged_files(Path.cwd(), [Path("../one")]).sources] == ["one/a.py"]
    assert [item.name for item in staged_files(Path.cwd()).sources] == ["one/a.py", "two/b.py"]


def test_the_index_that_git_names_to_a_hook_counts(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repository / ".git" / "other-index"
    write(repository, {"m.py": FLAGGED})
    git(repository, "add", "m.py", GIT_INDEX_FILE=str(other))
    assert staged_files(repository).sources == ()
    monkeypatch.setenv("GIT_INDEX_FILE", str(other))
    assert rules(look(staged=True).findings) == ["audit.inline-ignore"]


def test_nothing_that_the_repository_configures_is_run(repository: Path) -> None:
    marker = repository / "ran"
    script = repository / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {marker}\ncat\n")
    script.chmod(0o755)
    for key in (
        "core.fsmonitor", "core.pager", "diff.external", "filter.evil.smudge", "filter.evil.clean",
        "filter.evil.process", "diff.evil.textconv", "core.sshCommand", "core.editor",
    ):  # fmt: skip
        git(repository, "config", key, str(script))
    write(repository, {".gitattributes": "*.py filter=evil diff=evil\n"})
    hook = repository / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(script.read_text())
    hook.chmod(0o755)
    blob = git(repository, "hash-object", "-w", "--no-filters", "README").strip()
    git(repository, "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
        "update-index", "--add", "--cacheinfo", f"100644,{blob},m.py")  # fmt: skip
    marker.unlink(missing_ok=True)
    assert [item.name for item in staged_files(repository).sources] == ["m.py"]
    assert not marker.exists()


@pytest.mark.parametrize(
    ("name", "target", "reason"),
    [
        ("link", "/etc/passwd", "link that leads out"),
        ("a/link", "../../outside", "link that leads out"),
        ("a/link", "../README", "looked at itself"),
    ],
)
def test_links_are_judged_by_their_text(repository: Path, name: str, target: str, reason: str) -> None:
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).symlink_to(target)
    git(repository, "add", name)
    (skipped,) = staged_files(repository).skipped
    assert reason in skipped.reason
    assert rules(look(staged=True).findings) == (["discovery.link"] if "out" in reason else [])


def test_what_hides_from_a_reviewer_is_a_finding(repository: Path) -> None:
    write(repository, {"rot.py": "# coding: rot13\nvzcbeg bf\n"})
    (repository / "nul.py").write_bytes(b"x = 1\n\0\n")
    (repository / os.fsdecode(b"bad\xff.py")).write_text(CLEAN)
    (repository / "turn\u202e.py").write_text(CLEAN)
    git(repository, "add", ".")
    found = look(staged=True).findings
    assert sorted(rules(found)) == [
        "discovery.encoding",
        "discovery.name",
        "discovery.name",
        "discovery.not-read",
    ]


def test_a_folder_without_git_is_an_error(project: Path) -> None:
    with pytest.raises(CorpusError, match="git refuses"):
        staged_files(project)
