"""The state folder: nothing in it is followed, nobody else's is opened, and a planted one is not believed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from in_process import codeguard

from codeguard.api import CodeGuard
from codeguard.audit.check import check_file
from codeguard.audit.run import audit
from codeguard.config import Settings, load_settings
from codeguard.errors import CodeguardError, StoreError
from codeguard.escaping import shown
from codeguard.models import Trust
from codeguard.trust.acceptances import accept, load_acceptances
from codeguard.trust.installation import ASIDE, MARK, ForeignStateError, left_alone
from codeguard.trust.state_files import FileLock, StateFolder, UnsafeStateError, inode_of
from codeguard.trust.verify import SEEN_NAME, VersionsSeen

pytestmark = pytest.mark.ci

OURS = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
WRONG = 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n'
SETTINGS = Settings(embedding="lexical", jobs=1)
OTHER_USER = 12_345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    for name, text in {"ours/m.py": OURS, "theirs/x.py": WRONG}.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    return folder


def index(settings: Settings = SETTINGS) -> list[str]:
    """Index as the command does; return what was warned of."""
    with CodeGuard.open(settings=settings, trust=["ours"], renew=True) as guard:
        return list(guard.index(["ours", "theirs"]).warnings)


def query(settings: Settings = SETTINGS) -> list[str]:
    with CodeGuard.open(settings=settings, create=False) as guard:
        return [item.chunk.path for item in guard.query("add two numbers").results]


@pytest.fixture
def state(project: Path) -> Path:
    index()
    accept(project / ".codeguard", "0" * 64, "looked at it", by="A")
    return project / ".codeguard"


# What is followed, or would hang, or is not only ours


def as_link(path: Path, elsewhere: Path) -> None:
    if path.exists():
        path.rename(elsewhere / path.name)
    path.symlink_to(elsewhere / path.name)


def as_dangling_link(path: Path, elsewhere: Path) -> None:
    as_link(path, elsewhere)
    if path.is_dir():
        shutil.rmtree(path.resolve())
    else:
        path.resolve().unlink(missing_ok=True)


def as_hard_link(path: Path, elsewhere: Path) -> None:
    (elsewhere / "file").write_bytes(path.read_bytes() if path.is_file() else b"")
    remove(path)
    (path).hardlink_to(elsewhere / "file")


def as_pipe(path: Path, elsewhere: Path) -> None:
    remove(path)
    os.mkfifo(path)


def as_device(path: Path, elsewhere: Path) -> None:
    remove(path)
    os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))


def as_another_users(path: Path, elsewhere: Path) -> None:
    if not path.exists():
        path.touch()
    os.chown(path, OTHER_USER, OTHER_USER)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


FILES = (
    "catalog.sqlite3", "catalog.sqlite3-wal", "catalog.sqlite3-shm", "catalog.sqlite3-journal",
    "catalog.sqlite3.opening", "catalog.sqlite3.ready", "accepted.jsonl", "accepted.jsonl.lock", "index.lock",
    ".accepted.jsonl.0123",
)  # fmt: skip
PLANTED = [
    as_link,
    as_dangling_link,
    as_hard_link,
    as_pipe,
    pytest.param(as_device, marks=as_root),
    pytest.param(as_another_users, marks=as_root),
]


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.parametrize("plant", PLANTED)
def test_nothing_but_our_own_files_is_opened(
    state: Path, tmp_path: Path, plant: Callable[[Path, Path], None]
) -> None:
    whole = tmp_path / "whole"
    state.rename(whole)
    (state.parent / "theirs" / "new.py").write_text("def f():\n    return 1\n")
    for number, name in enumerate(FILES):
        shutil.rmtree(state, ignore_errors=True)
        shutil.copytree(whole, state)
        elsewhere = tmp_path / f"elsewhere{number}"
        elsewhere.mkdir()
        plant(state / name, elsewhere)
        before = contents(elsewhere)
        for use in (query, index):
            with pytest.raises(UnsafeStateError) as caught:
                use()
            assert Path(name).name in str(caught.value), name
        assert "it is ignored" in left_alone(SETTINGS), name
        assert contents(elsewhere) == before, name


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_where_others_may_write_is_refused_with_what_to_do(state: Path, mode: int) -> None:
    state.chmod(mode)
    for use in (query, index):
        with pytest.raises(UnsafeStateError, match=r"run: chmod go-w \.codeguard"):
            use()
    state.chmod(0o700)
    assert "ours/m.py" in query()


@as_root
@pytest.mark.parametrize("owner", [OTHER_USER, 65_534])
def test_a_store_of_another_user_is_left_to_them(state: Path, owner: int) -> None:
    for path in [state, *state.rglob("*")]:
        os.chown(path, owner, owner)
    for use in (query, index):
        with pytest.raises(UnsafeStateError, match=f"uid {owner}.*--store"):
            use()
    assert "another user's: it is ignored" in audit([Path("theirs")]).warnings[0]


def test_a_folder_that_the_user_names_may_be_reached_by_a_link(project: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir(mode=0o700)
    (project / "link").symlink_to(tmp_path / "disk")
    named = replace(SETTINGS, store="link")
    index(named)
    assert "ours/m.py" in query(named)
    assert (tmp_path / "disk" / "catalog.sqlite3").is_file()


def test_versions_seen_are_not_written_through_a_link(tmp_path: Path) -> None:
    folder, victim = tmp_path / "state", tmp_path / "victim"
    folder.mkdir(mode=0o700)
    victim.write_text("{}")
    (folder / SEEN_NAME).symlink_to(victim)
    with pytest.raises(UnsafeStateError):
        VersionsSeen(folder).last_version("root")
    assert victim.read_text() == "{}"


def test_what_was_exchanged_between_check_and_opening_is_noticed(tmp_path: Path) -> None:
    from codeguard.trust.state_files import folder_by_path, opened_by_path

    folder = tmp_path / "state"
    with pytest.raises(UnsafeStateError, match="another one than was checked"), opened_by_path(folder / "f"):
        (folder / "f").rename(folder / "g")
        (folder / "f").touch()
    with pytest.raises(UnsafeStateError), folder_by_path(folder / "chroma"):
        (folder / "chroma").rename(folder / "other")
        (folder / "chroma").symlink_to(tmp_path)


def test_a_write_that_fails_leaves_the_old_bytes(tmp_path: Path) -> None:
    with StateFolder(tmp_path / "state", create=True) as folder:
        folder.write("seed", b"old")
        folder.append("seed", b"er")
        script = (
            "import resource, sys; from pathlib import Path; from codeguard.trust.state_files import StateFolder\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))\n"
            "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "folder = StateFolder(Path(sys.argv[1]))\n"
            "for write in (folder.write, folder.append):\n"
            "    try: write('seed', b'x' * 20)\n"
            "    except OSError as error: print(error.errno)\n"
        )
        words = [sys.executable, "-P", "-c", script, tmp_path / "state"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert done.stdout.count("\n") == 2
        assert folder.read("seed", 100) == b"older"
        assert os.listdir(folder.descriptor) == ["seed"]  # noqa: PTH208


# Whose it is


def attackers_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "attacker"))


def another_installations(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        attackers_key(patch, tmp_path)
        index()


def of_the_version_before(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index()
    (project / ".codeguard" / MARK).unlink()


def a_copy_of_ours(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a user publishes who commits their state: the mark verifies, in another place."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(project, tmp_path / "published")
    monkeypatch.chdir(tmp_path / "published")
    index()
    shutil.copytree(tmp_path / "published" / ".codeguard", project / ".codeguard")
    monkeypatch.chdir(project)


def a_link(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(project, tmp_path / "victim")
    monkeypatch.chdir(tmp_path / "victim")
    index()
    (project / ".codeguard").symlink_to(tmp_path / "victim" / ".codeguard")
    monkeypatch.chdir(project)


def a_file(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".codeguard").write_text("x")


def a_pipe(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(project / ".codeguard")


def garbage(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".codeguard").mkdir()
    for name in ("catalog.sqlite3", MARK, "accepted.jsonl", "seed"):
        (project / ".codeguard" / name).write_bytes(b"{" * 40)


def links_inside(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".codeguard").mkdir(mode=0o775)
    for name in ("catalog.sqlite3", MARK, f"{MARK}.lock", "chroma", "chroma.lock", "index.lock"):
        (project / ".codeguard" / name).symlink_to(tmp_path / "target")


PLANTED_FOLDERS = [
    another_installations, of_the_version_before, a_copy_of_ours, a_link, a_file, a_pipe, garbage, links_inside,
]  # fmt: skip


@pytest.mark.parametrize("plant", PLANTED_FOLDERS)
def test_a_planted_state_folder_gains_nothing_and_stops_nothing(
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    plant: Callable[[Path, Path, pytest.MonkeyPatch], None],
) -> None:
    plain = audit([Path("theirs")])
    checked = check_file(Path("theirs/x.py"), settings=SETTINGS)
    (tmp_path / "target").write_text("")
    plant(project, tmp_path, monkeypatch)
    elsewhere = contents(tmp_path / "victim")
    before = contents(project / ".codeguard")

    report = audit([Path("theirs")])
    assert "it is ignored" in report.warnings[0]
    assert report.trust == plain.trust
    assert report.findings == plain.findings
    warned: list[str] = []
    assert check_file(Path("theirs/x.py"), settings=SETTINGS, warn=warned.append) == checked
    assert "it is ignored" in warned[0]
    with pytest.raises(StoreError, match=r"no index|not of this installation"):
        query()
    with (
        CodeGuard.open(settings=SETTINGS) as guard,
        pytest.raises(ForeignStateError, match="codeguard index"),
    ):
        guard.index(["theirs"])
    with pytest.raises(ForeignStateError):
        accept(Path(".codeguard"), "1" * 64, "why")
    assert contents(project / ".codeguard") == before

    (warning,) = index()
    assert "it is set aside as .codeguard/" in warning
    assert "copied or moved" in warning
    assert "name it again with --trust PATH" in warning
    assert "ours/m.py" in query()
    (aside,) = (project / ".codeguard").glob(f"{ASIDE}*")
    assert contents(aside) == before
    assert contents(tmp_path / "victim") == elsewhere
    assert (tmp_path / "target").read_text() == ""


def test_the_command_line_says_it_first(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another_installations(project, tmp_path, monkeypatch)
    for words, code in ((("audit", "theirs"), 1), (("check", "theirs/x.py", "--against", "ours/m.py"), 1)):
        done = codeguard(*words, cwd=project)
        assert done.returncode == code, done.stderr
    for words in (("audit", "theirs"), ("check", "theirs/x.py")):
        first = codeguard(*words, cwd=project).stderr.splitlines()[0]
        assert first.endswith("is not of this installation and is not read: it is ignored"), first
    for words in (("query", "add"), ("store", "verify"), ("mcp",), ("accept", "0" * 64, "--reason", "x")):
        done = codeguard(*words, cwd=project)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert "codeguard index" in done.stderr
    assert "not of this installation" in codeguard("doctor", cwd=project).stdout
    done = codeguard("index", "ours", "theirs", "--trust", "ours", "--embedding", "lexical", cwd=project)
    assert done.returncode == 0
    assert "is set aside" in done.stderr.splitlines()[0]
    assert codeguard("query", "add", cwd=project).returncode == 0


def test_a_store_that_the_user_names_is_not_ignored(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for the trust of an index does not get an audit without it."""
    named = replace(SETTINGS, store=str(tmp_path / "named"))
    with monkeypatch.context() as patch:
        attackers_key(patch, tmp_path)
        index(named)
    with pytest.raises(ForeignStateError):
        audit([Path("theirs")], settings=named)
    with pytest.raises(ForeignStateError):
        check_file(Path("theirs/x.py"), settings=named)


def test_a_folder_with_other_files_is_never_set_aside(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = replace(SETTINGS, store=str(tmp_path / "named"))
    index(named)
    (tmp_path / "named" / MARK).unlink()
    (tmp_path / "named" / "thesis.tex").write_text("x")
    before = contents(tmp_path / "named")
    with pytest.raises(StoreError, match=r"other files beside it \(thesis.tex\)"):
        index(named)
    assert contents(tmp_path / "named") == before


def test_ours_may_be_moved_or_restored(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index()
    shutil.copytree(project / ".codeguard", tmp_path / "backup")
    shutil.rmtree(project / ".codeguard")
    (tmp_path / "backup").rename(project / ".codeguard")
    assert "ours/m.py" in query()
    index()
    project.rename(tmp_path / "renamed")
    monkeypatch.chdir(tmp_path / "renamed")
    with CodeGuard.open(settings=SETTINGS, create=False) as guard:
        ranking = guard.query("add two numbers").ranking
    assert {(item.chunk.path, item.trust) for item in ranking} == {
        ("ours/m.py", Trust.TRUSTED),
        ("theirs/x.py", Trust.UNLISTED),
    }
    with CodeGuard.open(settings=SETTINGS) as guard:  # nothing is named again
        assert guard.index(["theirs", "ours"]).nothing_changed
        assert [item.path for item in guard.workspace.trusted_paths] == [str(tmp_path / "renamed" / "ours")]


def test_a_copy_beside_the_original_does_not_follow_it(project: Path, tmp_path: Path) -> None:
    index()
    shutil.copytree(project, tmp_path / "copy")
    with contextlib.chdir(tmp_path / "copy"), pytest.raises(ForeignStateError):
        query()
    assert "ours/m.py" in query()


def test_a_folder_that_is_shared_on_purpose_is_used_and_its_evidence_made_anew(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = replace(SETTINGS, shared_state=(str(project / ".codeguard"),))
    another_installations(project, tmp_path, monkeypatch)
    with CodeGuard.open(settings=shared, trust=["ours"]) as guard:
        with pytest.raises(StoreError, match=r"made by another user .*codeguard index --rebuild"):
            guard.index(["ours", "theirs"])
        report = guard.index(["ours", "theirs"], rebuild=True)
    assert "the old index was not believed, nor what it trusted: the catalog" in "".join(report.warnings)
    assert (report.unchanged, report.added) == (0, 2)
    assert report.checked
    assert "ours/m.py" in query(shared)
    with pytest.raises(ForeignStateError):
        query()


def test_shared_folders_come_from_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('shared_state = ["/srv/team/state"]\n')
    assert load_settings(tmp_path / "c.toml").shared_state == ("/srv/team/state",)


def test_acceptances_of_a_state_directory_are_read_where_they_are_ours(state: Path) -> None:
    assert load_acceptances(state).of("0" * 64) is not None


def test_without_a_key_that_can_be_kept_nothing_is_set_aside(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    with pytest.raises(CodeguardError):
        index()
    assert not list((project / ".codeguard").glob(f"{ASIDE}*"))


def test_it_is_never_committed(state: Path) -> None:
    assert (state / ".gitignore").read_text() == "*\n"
    assert state.stat().st_mode & 0o777 == 0o700


def test_a_lock_has_one_holder_and_is_of_the_file_that_is_there(tmp_path: Path) -> None:
    with StateFolder(tmp_path / "state", create=True) as folder:
        first, second, third = (FileLock(folder, "lock") for _ in range(3))
        assert first.acquire(0)
        assert not second.acquire(0)
        first.release()
        assert second.acquire(0)
        os.unlink("lock", dir_fd=folder.descriptor)
        assert third.acquire(0)  # the file that is there now; whoever deleted the other one held it


def test_an_inode_is_that_of_the_file_behind_a_link_unless_the_link_itself_is_meant(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("x")
    link.symlink_to(file)
    assert inode_of(link) == inode_of(file) == (file.stat().st_dev, file.stat().st_ino)
    assert (
        inode_of(link, follow_symlinks=False) == (link.lstat().st_dev, link.lstat().st_ino) != inode_of(file)
    )
    file.unlink()
    assert inode_of(link) is inode_of(file) is None


@pytest.mark.parametrize(
    ("text", "expected"), [("abc", "'abc'"), ("abcd", "'abcd'"), ("abcde", "'abcd…'"), ("\x1b", "'\\x1b'")]
)
def test_untrusted_text_in_a_message_is_quoted_and_cut(text: str, expected: str) -> None:
    assert shown(text, longest=4) == expected
