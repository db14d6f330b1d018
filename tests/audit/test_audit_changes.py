"""What a change brings is what is audited, by git's objects, and nothing of the repository is run for it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from audit_helpers import CLEAN, FLAGGED, GOOD, commit, git, look, rules, write
from in_process import codeguard

from codeguard.audit.changes import ChangeSet
from codeguard.errors import CorpusError
from codeguard.models import Severity, Skipped


def staged(folder: Path, paths: Sequence[Path] = ()) -> dict[str, str]:
    """Return the names and texts of what is staged."""
    with closing(ChangeSet(folder, None, paths)) as change:
        return {item.name: item.read().decode() for item in change.after.sources}


def left_out(folder: Path) -> Sequence[Skipped]:
    with closing(ChangeSet(folder, None)) as change:
        return change.after.skipped


@pytest.mark.parametrize(
    ("in_index", "in_tree", "found"),
    [(FLAGGED, CLEAN, ["audit.inline-ignore"]), (CLEAN, FLAGGED, [])],
    ids=["poisoned in the index, clean in the tree", "clean in the index, poisoned in the tree"],
)
def test_the_index_counts_and_not_the_tree(
    repository: Path, in_index: str, in_tree: str, found: list[str]
) -> None:
    write(repository, {"m.py": in_index})
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
    assert list(staged(repository)) == ["new.py"]


def test_the_first_commit_of_a_repository(project: Path) -> None:
    git(project, "init", "-q")
    write(project, {"a b/ü.py": CLEAN})
    git(project, "add", ".")
    assert staged(project) == {"a b/ü.py": CLEAN}


def test_nothing_staged_is_fine(repository: Path) -> None:
    report = look(staged=True)
    assert (report.files, report.findings) == (0, ())
    assert codeguard("audit", "--staged", cwd=repository).returncode == 0


def test_the_root_named_as_a_path_narrows_nothing_down(repository: Path) -> None:
    write(repository, {"one/a.py": CLEAN, "b.py": CLEAN})
    git(repository, "add", ".")
    assert list(staged(repository, [repository])) == ["b.py", "one/a.py"]


def test_paths_narrow_it_down_from_a_folder_below(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, {"one/a.py": CLEAN, "two/b.py": CLEAN})
    git(repository, "add", ".")
    monkeypatch.chdir(repository / "two")
    assert list(staged(Path.cwd(), [Path("../one")])) == ["one/a.py"]
    assert list(staged(Path.cwd())) == ["one/a.py", "two/b.py"]


def test_the_index_that_git_names_to_a_hook_counts(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repository / ".git" / "other-index"
    write(repository, {"m.py": FLAGGED})
    git(repository, "add", "m.py", GIT_INDEX_FILE=str(other))
    assert staged(repository) == {}
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
    assert list(staged(repository)) == ["m.py"]
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
    (skipped,) = left_out(repository)
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
        ChangeSet(project, None)


INSECURE = "import os\n\n\ndef run(request):\n    os.system('ls ' + request.args['x'])\n"
INJECTION = "insecure.command-injection"
TWICE = INSECURE + "\n\ndef again(request):\n    os.system('ls ' + request.args['x'])\n"
LONG = (
    INSECURE.replace("request):\n", "request):\n    a = 1\n    b = 2\n    c = 3\n") + "    return a + b + c\n"
)
HELPER = "import os\n\n\ndef shell(text):\n    os.system(text)\n\n\ndef run(request):\n    shell('date')\n"


def brought(repository: Path, before: dict[str, str], after: dict[str, str | None]) -> list[tuple[str, str]]:
    """Return the rules and files of the findings that a change brings; None is for a file that it removes."""
    commit(repository, before)
    for name in (name for name, text in after.items() if text is None):
        git(repository, "rm", "-q", name)
    write(repository, {name: text for name, text in after.items() if text is not None})
    git(repository, "add", "-A")
    by_index = look(only=("insecure",), staged=True).findings
    git(repository, "commit", "-qm", "after", "--allow-empty")
    by_commit = look(only=("insecure",), since="HEAD~1").findings
    assert by_index == by_commit
    return [(item.rule, item.path) for item in by_commit]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"m.py": CLEAN}, {"m.py": CLEAN + INSECURE}, [(INJECTION, "m.py")]),
        ({"m.py": INSECURE}, {"m.py": "import sys\n" + INSECURE + "\n\n" + CLEAN}, []),
        ({"m.py": INSECURE}, {"m.py": TWICE}, [(INJECTION, "m.py")]),
        ({"m.py": TWICE}, {"m.py": INSECURE}, []),
        ({"m.py": HELPER}, {"m.py": HELPER.replace("'date'", "request.args['x']")}, [(INJECTION, "m.py")]),
        ({"m.py": INSECURE}, {"m.py": None, "n.py": INSECURE}, []),
        ({"m.py": INSECURE}, {"m.py": None, "M.py": INSECURE + "\n\n" + CLEAN}, []),
        ({"m.py": TWICE, "n.py": CLEAN}, {"m.py": INSECURE, "n.py": CLEAN + TWICE[len(INSECURE):]}, []),
        ({"m.py": INSECURE}, {"n.py": INSECURE}, [(INJECTION, "n.py")]),
        ({"m.py": INSECURE}, {"m.py": None}, []),
        ({"m.py": LONG}, {"m.py": LONG.replace("def run", "def start")}, []),
        ({"m.py": LONG}, {"m.py": CLEAN + "\n\n" + INSECURE.replace("def run", "def serve")}, []),
    ],
    ids=[
        "a line is added", "lines around it move", "the same line again", "one of two goes",
        "what reaches a line elsewhere in the file", "a renamed file", "renamed by case, and edited",
        "a function moves as it is", "a copy", "a removed file",
        "a renamed function", "its line in another function instead",
    ],
)  # fmt: skip
def test_only_what_a_change_brings_is_found(
    repository: Path, before: dict[str, str], after: dict[str, str | None], found: list[tuple[str, str]]
) -> None:
    assert brought(repository, before, after) == found


def test_a_change_is_judged_from_where_the_histories_part(repository: Path) -> None:
    git(repository, "switch", "-qc", "feature")
    commit(repository, {"mine.py": FLAGGED})
    git(repository, "switch", "-q", "main")
    commit(repository, {"theirs.py": FLAGGED})
    git(repository, "switch", "-q", "feature")
    assert [item.path for item in look(since="main").findings] == ["mine.py"]


@pytest.mark.parametrize(
    ("since", "reason"),
    [
        ("nowhere", "no such commit"),
        ("", "got an empty name"),
        ("--output=x", "no such commit"),
        ("HEAD:m.py", "no such commit"),
        ("other", "part"),
    ],
)
def test_a_base_that_is_not_there_is_an_error(repository: Path, since: str, reason: str) -> None:
    git(repository, "branch", "other", git(repository, "commit-tree", "-m", "x", "HEAD^{tree}").strip())
    done = codeguard("audit", f"--since={since}", cwd=repository)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "fetch" in done.stderr
    assert sorted(item.name for item in repository.iterdir()) == [".git", "README"]


def test_a_shallow_clone_says_what_to_fetch(repository: Path, tmp_path: Path) -> None:
    for branch in ("main", "feature"):
        git(repository, "switch", "-qC", branch)
        write(repository, {f"{branch}.py": CLEAN})
        git(repository, "add", ".")
        git(repository, "commit", "-qm", branch)
    git(repository, "switch", "-q", "main")
    git(repository, "commit", "-qm", "more", "--allow-empty")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", f"file://{repository}", str(clone))
    git(clone, "switch", "-q", "feature")
    done = codeguard("audit", "--since", "origin/main", cwd=clone)
    assert done.returncode == 2
    assert "--unshallow" in done.stderr
    git(clone, "fetch", "-q", "--unshallow")
    assert codeguard("audit", "--since", "origin/main", cwd=clone).returncode == 0


def test_replaced_and_grafted_commits_hide_nothing(repository: Path) -> None:
    first = git(repository, "rev-parse", "HEAD").strip()
    commit(repository, {"m.py": FLAGGED})
    head = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "replace", head, first)
    (repository / ".git" / "info" / "grafts").write_text(f"{first} {head}\n")
    assert [item.path for item in look(since=first).findings] == ["m.py"]


@pytest.mark.parametrize("kind", ["link", "submodule", "removed", "nothing"])
def test_what_holds_no_text_ends_well(repository: Path, kind: str) -> None:
    if kind == "link":
        (repository / "link").symlink_to("README")
    elif kind == "removed":
        git(repository, "rm", "-q", "README")
    elif kind == "submodule":
        commit = git(repository, "rev-parse", "HEAD").strip()
        git(repository, "update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
    if kind in ("link", "removed"):
        git(repository, "add", "-A")
    git(repository, "commit", "-qm", kind, "--allow-empty")
    done = codeguard("audit", "--since", "HEAD~1", cwd=repository)
    assert (done.returncode, "0 findings" in done.stdout) == (0, True), done.stdout + done.stderr


HELPED = (
    "STEP = 1\n\n\ndef plain(number):\n    return number\n\n\n"
    'def add(a, b):\n    """Add two numbers."""\n    return plain(a + b * STEP)\n'
)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("return number", "return -number", ["behavior.fail"]),
        ("STEP = 1", "STEP = 2", ["behavior.fail"]),
        ("* STEP)\n", "* STEP)\n\n\nadd = max\n", ["behavior.replaced"]),
        ("STEP = 1", "STEP = 1  # the same", []),
    ],
    ids=["helper", "constant", "other binding", "nothing"],
)
def test_a_function_that_a_change_reaches_is_checked(
    repository: Path, old: str, new: str, found: list[str]
) -> None:
    wrong = HELPED.replace("a +", "a -")  # as wrong before: nothing that the change causes
    commit(repository, {"ours/add.py": GOOD, "vendor/add.py": HELPED, "vendor/wrong.py": wrong})
    commit(
        repository, {"vendor/add.py": HELPED.replace(old, new), "vendor/wrong.py": f"import math\n{wrong}"}
    )
    report = look(only=("behavior",), behavior=True, since="HEAD~1", trust=(Path("ours"),))
    assert [(item.path, item.rule) for item in report.findings if item.severity > Severity.LOW] == [
        ("vendor/add.py", rule) for rule in found
    ]


def test_what_git_checks_out_as_another_text_is_a_finding(repository: Path) -> None:
    commit(repository, {"ours/m.py": CLEAN, "m.py": CLEAN})
    (repository / "ours/m.py").unlink()
    (repository / "ours/m.py").symlink_to("../m.py")
    commit(repository, {".gitattributes": "# all\n" * 9_000 + "*.py working-tree-encoding=UTF-7\n"})
    assert rules(look(since="HEAD~1").findings) == ["discovery.encoding", "discovery.link"]
