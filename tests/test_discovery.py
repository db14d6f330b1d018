"""Which files are found, under which names, and why the others are not."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from codeguard.corpus.discovery import COARSEST_NS, Discovery, FoundFile, discover, read_file, stamp_of
from codeguard.errors import CorpusError


def names(found: Discovery) -> list[str]:
    return [file.name for file in found.files]


def reasons(found: Discovery) -> dict[str, str]:
    return {skipped.path: skipped.reason for skipped in found.skipped}


def write(root: Path, *files: str, content: bytes = b"x = 1\n") -> None:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def repository(root: Path) -> Path:
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def test_files_come_sorted_by_name_with_size_and_real_path(tmp_path: Path) -> None:
    write(tmp_path, "b.py", "a/z.py", "a/b/c.py")
    found = discover([tmp_path], root=tmp_path)
    assert names(found) == ["a/b/c.py", "a/z.py", "b.py"]
    assert found.files[0].path == tmp_path / "a/b/c.py"
    assert found.files[0].size == 6
    assert found.skipped == ()


@pytest.mark.parametrize(
    ("argument", "root", "expected"),
    [
        ("repo", "repo", ["src/a.py"]),
        ("repo/src", "repo", ["src/a.py"]),
        ("repo/src/a.py", "repo", ["src/a.py"]),
        ("repo", ".", ["repo/src/a.py"]),
        ("repo", "elsewhere", ["repo/src/a.py"]),  # not below the root: named from the argument's parent
        ("repo/src", "elsewhere", ["src/a.py"]),
        ("repo/src/a.py", "elsewhere", ["a.py"]),
        ("repo/../repo/./src", "repo", ["src/a.py"]),
    ],
)
def test_a_name_is_relative_and_never_leads_up(
    tmp_path: Path, argument: str, root: str, expected: list[str]
) -> None:
    write(tmp_path, "repo/src/a.py")
    (tmp_path / "elsewhere").mkdir()
    assert names(discover([tmp_path / argument], root=tmp_path / root)) == expected


def test_the_default_root_is_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "pkg/a.py")
    monkeypatch.chdir(tmp_path)
    assert names(discover([Path("pkg")])) == ["pkg/a.py"]
    assert names(discover([Path()])) == ["pkg/a.py"]


def test_a_file_reached_twice_counts_once_and_is_named_by_the_widest_argument(tmp_path: Path) -> None:
    write(tmp_path, "repo/src/a.py")
    away = tmp_path / "away"
    away.mkdir()
    arguments = [tmp_path / "repo/src/a.py", tmp_path / "repo/src", tmp_path / "repo", tmp_path / "repo"]
    for order in (arguments, arguments[::-1]):
        assert names(discover(order, root=away)) == ["repo/src/a.py"]


def test_two_files_that_would_share_a_name_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "one/src/a.py", "two/src/a.py")
    away = tmp_path / "away"
    away.mkdir()
    with pytest.raises(CorpusError, match=r"same name src/a\.py"):
        discover([tmp_path / "one/src", tmp_path / "two/src"], root=away)


def test_an_argument_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no such file"):
        discover([tmp_path / "missing"], root=tmp_path)


@pytest.mark.parametrize(
    ("rules", "files", "taken", "ignored"),
    [
        ({".gitignore": "*.log\n"}, ["a.log", "a.py"], ["a.py"], ["a.log"]),
        (
            {".gitignore": "build/\n"},
            ["build/a.py", "x/build/b.py", "c.py"],
            ["c.py"],
            ["build/", "x/"],
        ),
        ({".gitignore": "/build/\n"}, ["build/a.py", "x/build/b.py"], ["x/build/b.py"], ["build/"]),
        ({".gitignore": "build/\n"}, ["build"], ["build"], []),  # a file of that name is no folder
        ({".gitignore": "*.log\n!keep.log\n"}, ["a.log", "keep.log"], ["keep.log"], ["a.log"]),
        (
            {".gitignore": "*.log\n", "sub/.gitignore": "!*.log\n"},
            ["a.log", "sub/b.log"],
            ["sub/b.log"],
            ["a.log"],
        ),
        (
            {".gitignore": "d/\n", "d/.gitignore": "!*\n"},
            ["d/a.py"],
            [],
            ["d/"],
        ),  # git cannot re-include either
        (
            {"sub/.gitignore": "/a.py\n"},
            ["a.py", "sub/a.py", "sub/x/a.py"],
            ["a.py", "sub/x/a.py"],
            ["sub/a.py"],
        ),
        ({".gitignore": "a/**/z.py\n"}, ["a/z.py", "a/b/c/z.py", "z.py"], ["z.py"], ["a/"]),
        ({".gitignore": "# c\n\n\\#x\n \n"}, ["#x", "a.py"], ["a.py"], ["#x"]),
        ({".git/info/exclude": "*.tmp\n"}, ["a.tmp", "a.py"], ["a.py"], ["a.tmp"]),
        ({".gitignore": "*\n"}, ["a.py", "d/b.py"], [], [".gitignore", "a.py", "d/"]),
        ({".gitignore": "é*\n"}, ["été.py", "a.py"], ["a.py"], ["été.py"]),
        ({".gitignore": b"\xff\n*.log\r\n"}, ["a.log", "a.py"], ["a.py"], ["a.log"]),
    ],
)
def test_ignore_rules_count_and_what_they_hide_is_listed(
    tmp_path: Path, rules: dict[str, str | bytes], files: list[str], taken: list[str], ignored: list[str]
) -> None:
    write(repository(tmp_path), *files)
    for name, text in rules.items():
        write(tmp_path, name, content=text if isinstance(text, bytes) else text.encode())
    found = discover([tmp_path], root=tmp_path)
    assert sorted(set(names(found)) - set(rules)) == sorted(taken)
    assert sorted(set(reasons(found)) - {".git/"}) == sorted(ignored)


def test_what_git_tracks_is_never_ignored(tmp_path: Path) -> None:
    write(
        repository(tmp_path), "build/forced.py", "build/deep/too.py", "build/made.py", "lone.py", "other.py"
    )
    write(tmp_path, ".gitignore", content=b"build/\nlone.py\nother.py\n")
    forced = ["build/forced.py", "build/deep/too.py", "lone.py"]
    subprocess.run(["git", "-C", tmp_path, "add", "--force", *forced], check=True)
    found = discover([tmp_path], root=tmp_path)
    assert sorted(names(found)) == [".gitignore", *sorted(forced)]
    assert reasons(found).keys() == {".git/", "build/made.py", "other.py"}
    inner = discover([tmp_path / "build"], root=tmp_path)  # a folder that is named is meant, ignored or not
    assert "build/made.py" in names(inner)


def test_outside_of_a_repository_no_file_says_what_is_looked_at(tmp_path: Path) -> None:
    write(tmp_path, "evil.py", "d/evil.py")
    write(tmp_path, ".gitignore", content=b"*\n")
    found = discover([tmp_path], root=tmp_path)
    assert (names(found), reasons(found)) == ([".gitignore", "d/evil.py", "evil.py"], {})


def test_a_folder_named_git_is_no_repository(tmp_path: Path) -> None:
    write(tmp_path, ".git/HEAD", "a.log", "a.py")
    write(tmp_path, ".gitignore", content=b"*.log\n")
    found = discover([tmp_path], root=tmp_path)
    assert names(found) == [".gitignore", "a.log", "a.py"]
    assert reasons(found)[".git/"] == "version control data"
    assert [note.startswith(".git/: no .gitignore counts: fatal: not a git rep") for note in found.notes] == [
        True
    ]


def test_without_git_no_rules_count_and_a_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(repository(tmp_path), "a.log", "a.py")
    write(tmp_path, ".gitignore", content=b"*.log\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    found = discover([tmp_path], root=tmp_path)
    assert names(found) == [".gitignore", "a.log", "a.py"]
    assert found.notes == (".git/: no .gitignore counts: git is not installed",)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_repository_of_another_user_is_read_like_ones_own(tmp_path: Path) -> None:
    write(repository(tmp_path), "a.log", "a.py")
    write(tmp_path, ".gitignore", content=b"*.log\n")
    for path in (tmp_path, tmp_path / ".git"):
        os.chown(path, 12345, 12345)
    assert names(discover([tmp_path], root=tmp_path)) == [".gitignore", "a.py"]


def test_an_argument_file_is_taken_whatever_the_rules_say(tmp_path: Path) -> None:
    write(repository(tmp_path), ".gitignore", content=b"*\n")
    write(tmp_path, "a.py")
    found = discover([tmp_path, tmp_path / "a.py"], root=tmp_path)
    assert names(found) == ["a.py"]


def test_what_an_argument_names_is_not_listed_as_ignored(tmp_path: Path) -> None:
    write(repository(tmp_path), "out/a.py", "gen/b.py", "gen/c.py", "log.py")
    write(tmp_path, ".gitignore", content=b"gen\nout\nlog.py\n")
    found = discover([tmp_path, tmp_path / "out", tmp_path / "gen/b.py", tmp_path / "log.py"], root=tmp_path)
    assert names(found) == [".gitignore", "gen/b.py", "log.py", "out/a.py"]
    assert reasons(found).keys() == {".git/", "gen/"}  # of gen the other files stay ignored


def test_a_skipped_file_has_one_reason(tmp_path: Path) -> None:
    write(repository(tmp_path), ".gitignore", content=b"large.py\n")
    write(tmp_path, "large.py", content=b"x = 1\n" * 100)
    found = discover([tmp_path, tmp_path / "large.py"], root=tmp_path, max_bytes=200)
    said = [item.reason for item in found.skipped if item.path == "large.py"]
    assert said == ["too large: 600 bytes, the limit is 200"]


def test_the_callers_own_patterns_count_too(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "vendor/b.py")
    found = discover([tmp_path], root=tmp_path, exclude=["vendor/"])
    assert (names(found), reasons(found)) == (
        ["a.py"],
        {"vendor/": "excluded by --exclude or the configuration"},
    )


def test_version_control_and_state_are_never_walked(tmp_path: Path) -> None:
    write(tmp_path, ".git/hooks/a.py", ".codeguard/index/catalog.py", "sub/.git/b.py", "a.py")
    found = discover([tmp_path], root=tmp_path)
    assert names(found) == [".codeguard/index/catalog.py", "a.py"]
    assert sorted(reasons(found)) == [".git/", "sub/.git/"]
    found = discover([tmp_path], root=tmp_path, is_own_state=lambda folder: folder.parent == tmp_path)
    assert names(found) == ["a.py"]
    assert sorted(reasons(found)) == [".codeguard/", ".git/", "sub/.git/"]


@pytest.mark.parametrize(
    "pattern",
    [
        "*a*a*a*a*a*a*a*a*a*a*a*b",
        "**/a/**/a/**/a/**/a/**/a/**/b",
        "a" * 10_000 + "*",
        "[" * 400 + "*",
        "?*" * 4 + "b",
        "?*?*b\n" * 9,
    ],
)
def test_a_pattern_cannot_make_the_walk_hang(tmp_path: Path, pattern: str) -> None:
    write(repository(tmp_path), *(f"{'a/' * 60}{'a' * 200}{number}.py" for number in range(5)), "b.log")
    write(tmp_path, ".gitignore", content=f"{pattern}\n*.log\n".encode())
    script = "import sys; from pathlib import Path; from codeguard.corpus.discovery import discover\n"
    script += "from codeguard.corpus import git; git.IGNORED_S = 3\n"
    script += (
        "found = discover([Path(sys.argv[1])], root=Path(sys.argv[1])); print(len(found.files), *found.notes)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path], check=False, capture_output=True, text=True, timeout=60
    )
    late = "7 .git/: no .gitignore counts: git cannot be run, or does not answer in time\n"
    assert done.stdout in ("6\n", late), done.stderr


def test_links_are_not_followed_and_never_out_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path, "repo/a.py", "repo/sub/b.py", "secret/key.py")
    repo = tmp_path / "repo"
    (repo / "out.py").symlink_to(tmp_path / "secret/key.py")
    (repo / "outdir").symlink_to(tmp_path / "secret")
    (repo / "inside.py").symlink_to(repo / "a.py")
    (repo / "sub/loop").symlink_to(repo)
    (repo / "self").symlink_to(repo / "self")
    (repo / "broken.py").symlink_to(repo / "gone.py")
    found = discover([repo], root=repo)
    assert names(found) == ["a.py", "sub/b.py"]
    assert reasons(found) == {
        "out.py": "link that leads out of the folder",
        "outdir": "link that leads out of the folder",
        "inside.py": "link to a.py, which is looked at itself",
        "sub/loop": "link to ., which is looked at itself",
        "self": "link that leads in a circle or cannot be followed",
        "broken.py": "broken link",
    }


def test_an_argument_may_be_a_link(tmp_path: Path) -> None:
    write(tmp_path, "real/a.py")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert names(discover([tmp_path / "link"], root=tmp_path)) == ["real/a.py"]


def test_what_is_no_regular_file_is_never_opened(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    os.mkfifo(tmp_path / "fifo.py")
    os.mkfifo(tmp_path / ".gitignore")  # reading it as rules would wait for ever
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(
            str(tmp_path / "sock.py")[-100:] if len(str(tmp_path)) > 90 else str(tmp_path / "sock.py")
        )
        found = discover([tmp_path, tmp_path / "fifo.py"], root=tmp_path)
    assert names(found) == ["a.py"]
    assert reasons(found)["fifo.py"] == "not a regular file (FIFO)"
    assert reasons(found)["sock.py"] == "not a regular file (socket)"
    assert ".gitignore" in reasons(found)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"x = 1\n", None),
        (b"", None),
        (b"\x00", "binary (a NUL byte near its start)"),
        (b"\x01\xff\x00", "binary (a NUL byte near its start)"),
        (b"a" * 8000 + b"\x00", "binary: text with NUL bytes in it"),
        (b"#!/bin/sh\n\x00", "binary: a script by its first line"),
        (b"cos\nsystem\n(S'true'\ntR.", "binary: pickled objects"),
        (b"a" * 9000 + b"\x00", None),
        ("x = 'é'".encode("utf-16"), None),
        ("x = 'é'".encode("utf-32"), None),
        (("x" * 3001).encode("utf-16"), None),
        (b"\xff\xfe\x00", None),  # half a character: the other half may follow
        (b"\xff\xfe\x00\xd8\x00\x00", "binary (a NUL byte near its start)"),
        (b"\xe9t\xe9 = 1\n", None),
        (b"a" * 8191 + "é".encode(), None),  # the head ends within a character
        (b"# coding: latin-1\n", None),
        (b"# coding: rot13\n", "declares the encoding 'rot13', which is not a plain character set"),
        (b"\n# -*- coding: utf-7 -*-\n", "declares the encoding 'utf-7', which is not a plain character set"),
        (b"x" * 100_001, "too large: 100001 bytes, the limit is 100000"),
        (b"x" * 100_000, None),
    ],
)
def test_the_content_decides_whether_a_file_is_taken(
    tmp_path: Path, content: bytes, reason: str | None
) -> None:
    write(tmp_path, "a.py", content=content)
    found = discover([tmp_path], root=tmp_path, max_bytes=100_000)
    assert reasons(found) == ({} if reason is None else {"a.py": reason})
    assert names(found) == (["a.py"] if reason is None else [])


@pytest.mark.parametrize(
    ("name", "shown", "reason"),
    [
        (b"a\xff.py", "a\\udcff.py", "its name is not UTF-8"),
        (b"a\nb.py", "a\\nb.py", "its name holds control characters"),
        (b"a\x1b[31m.py", "a\\x1b[31m.py", "its name holds control characters"),
        ("a\u202eyp.exe".encode(), "a\\u202eyp.exe", "its name holds control characters"),
    ],
)
def test_a_name_that_lies_or_cannot_be_stored_is_left_out(
    tmp_path: Path, name: bytes, shown: str, reason: str
) -> None:
    (tmp_path / os.fsdecode(name)).write_bytes(b"x")
    found = discover([tmp_path], root=tmp_path)
    assert reasons(found) == {shown: reason}
    assert names(found) == []


def test_names_in_all_scripts_are_taken(tmp_path: Path) -> None:
    write(tmp_path, "größe.py", "数.py", "a b'c\"d.py", "😀/x.py")
    assert set(names(discover([tmp_path], root=tmp_path))) == {"größe.py", "数.py", "a b'c\"d.py", "😀/x.py"}


def test_what_cannot_be_read_is_listed() -> None:
    """As nobody, because root reads everything."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write(root, "a.py", "closed.py", "folder/b.py")
        root.chmod(0o755)
        (root / "closed.py").chmod(0)
        (root / "folder").chmod(0)
        script = (
            "import os, sys; from pathlib import Path; from codeguard.corpus.discovery import discover\n"
            "if os.getuid() == 0: os.setresuid(65534, 65534, 65534)\n"
            "root = Path(sys.argv[1])\n"
            "for skipped in discover([root], root=root).skipped: print(skipped.path, '|', skipped.reason)"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, folder], check=False, capture_output=True, text=True, timeout=60
        )
        (root / "folder").chmod(0o755)
    assert done.stdout.splitlines() == [
        "closed.py | cannot be read: permission denied",
        "folder/ | cannot be read: permission denied",
    ], done.stderr


@pytest.mark.parametrize(
    ("later_ns", "stamp", "taken"),
    [(3 * COARSEST_NS, stamp_of, True), (3 * COARSEST_NS, str, False), (0, stamp_of, False)],
    ids=["the stamp of before", "another one", "changed too recently for any stamp"],
)
def test_a_known_file_is_not_opened_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    later_ns: int,
    stamp: Callable[[os.stat_result], str],
    taken: bool,
) -> None:
    write(tmp_path, "a.py", content=b"\x00")
    info = (tmp_path / "a.py").stat()
    monkeypatch.setattr(time, "time_ns", lambda: info.st_ctime_ns + later_ns)
    found = discover([tmp_path], root=tmp_path, known={"a.py": stamp(info)})
    assert names(found) == (["a.py"] if taken else [])


def test_deep_folders_do_not_crash(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    try:
        for _ in range(600):
            os.mkdir("deeper", dir_fd=here)
            below = os.open("deeper", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)
    write(tmp_path, "a.py")
    found = discover([tmp_path], root=tmp_path)
    assert names(found) == ["a.py"]
    assert {skipped.reason for skipped in found.skipped} == {"cannot be read: file name too long"}


@pytest.mark.parametrize("swap", ["fifo", "link", "folder", "larger", "gone"])
def test_reading_a_found_file_refuses_what_took_its_place(tmp_path: Path, swap: str) -> None:
    write(tmp_path, "a.py", "b.py")
    path = tmp_path / "a.py"
    (file,) = (file for file in discover([tmp_path], root=tmp_path).files if file.name == "a.py")
    assert read_file(file) == b"x = 1\n"
    path.unlink()
    if swap == "fifo":
        os.mkfifo(path)
    elif swap == "link":
        path.symlink_to(tmp_path / "b.py")
    elif swap == "folder":
        path.mkdir()
    elif swap == "larger":
        path.write_bytes(b"x" * 101)
    with pytest.raises(CorpusError, match=r"a\.py"):
        read_file(FoundFile(file.path, file.name, file.size), max_bytes=100)
