"""Files in memory work as real ones do, and stay in their child: the same calls in a real folder and in the sandbox."""

# ruff: noqa: E501 - rows of calls

from __future__ import annotations

import os
import random
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from codeguard.sandbox import Call, Job, Level, Outcome, Sandbox, Status, Tier, World

FILES = {"notes.txt": b"one\ntwo\n", "data/rows.csv": b"a,b\n1,2\n", "empty": b""}
SOURCE = """
import contextlib, csv, errno, fileinput, filecmp, glob, gzip, io, json, os, pathlib, shutil, stat, tarfile, tempfile, zipfile

def tried(act):
    try:
        return act()
    except OSError as error:
        return type(error).__name__, errno.errorcode.get(error.errno), error.filename, error.filename2
    except Exception as error:
        return type(error).__name__

def wrote(path, text, mode="w"):
    with open(path, mode) as file:
        return file.write(text)

def read(path, mode="r", **how):
    with open(path, mode, **how) as file:
        return file.read()

def left():
    found = {}
    for folder, folders, files in os.walk("."):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            found[path] = os.readlink(path) if os.path.islink(path) else read(path, "rb") if os.path.isfile(path) else None
    return found
"""
# Each is a list of expressions, run one after another; what each gives, and what is left in the folder.
SCRIPTS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("file_calls.toml").read_text("utf-8"))


def done(names: dict[str, Any], script: Sequence[str]) -> list[object]:
    """Return what each expression gives where the names are, and what is left; the same text runs in the sandbox."""
    return [*(names["tried"](lambda one=one: eval(one, names)) for one in script), names["left"]()]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        if made.level < Level.L2:
            pytest.skip(f"this machine's sandbox reaches {made.level.name} only")
        yield made


def in_sandbox(sandbox: Sandbox, script: Sequence[str]) -> Any:
    source = f"{SOURCE}\ndef all_done():\n    return {DONE.format(script=script)}\n"
    result = sandbox.run(Job(source, (Call("all_done"),), Tier.NATIVE, world=World(files=FILES)))
    assert result.status is Status.COMPLETED, result
    assert result.calls[0].outcome is Outcome.RETURNED, result.calls[0]
    return result.calls[0].value


DONE = "[*(tried(lambda one=one: eval(one, globals())) for one in {script!r}), left()]"


def in_folder(folder: Path, script: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> list[object]:
    for name, data in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(SOURCE, names)
    before = os.umask(0o022)
    try:
        return done(names, script)
    finally:
        os.umask(before)


def shown(value: object, folder: str) -> str:
    """Return a value's text, whatever the sandbox's folder or the real one is called."""
    if isinstance(value, str):
        return value.replace(folder, "HERE")
    if isinstance(value, list | tuple):
        return f"[{', '.join(shown(item, folder) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {shown(item, folder)}' for key, item in value.items())}}}"
    return repr(value)


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_call_gives_what_it_gives_in_a_real_folder(
    name: str, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = in_folder(tmp_path, SCRIPTS[name], monkeypatch)
    got = in_sandbox(sandbox, SCRIPTS[name])
    labels = [*SCRIPTS[name], "what is left"]
    texts = [
        (label, shown(mine, World().folder), shown(real, str(tmp_path)))
        for label, mine, real in zip(labels, got, wanted, strict=True)
    ]
    assert [row for row in texts if row[1] != row[2]] == []


ACTS = (
    """
wrote({0!r}, 'x{2}'); wrote({0!r}, 'y{2}', 'a'); read({0!r}); os.mkdir({0!r}); os.makedirs({0!r}); os.rmdir({0!r})
os.remove({0!r}); sorted(os.listdir({0!r})); os.path.isdir({0!r}); os.truncate({0!r}, 1); os.readlink({0!r})
os.rename({0!r}, {1!r}); os.symlink({0!r}, {1!r}); os.link({0!r}, {1!r}); shutil.copy({0!r}, {1!r})
""".strip()
    .replace("\n", "; ")
    .split("; ")
)


@pytest.mark.parametrize("seed", range(10))
def test_random_calls_leave_what_they_leave_in_a_real_folder(
    seed: int, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    names = ["a", "b", "d", "d/a", "d/e", "d/e/f", "l", "notes.txt", "data/x", "./d/./a"]
    script = [
        chance.choice(ACTS).format(chance.choice(names), chance.choice(names), step) for step in range(60)
    ]
    wanted, got = in_folder(tmp_path, script, monkeypatch), in_sandbox(sandbox, script)
    # an error's number may be another where several fit
    pairs = [
        (label, *(("error",) if isinstance(found, tuple) else found for found in results))
        for label, *results in zip([*script, "left"], got, wanted, strict=True)
    ]
    first = next((place for place, row in enumerate(pairs) if row[1] != row[2]), None)
    assert first is None, (pairs[first], script[:first])


CHANGING = """
import os
kept = open("kept", "w").write("by the module")
def change(path):
    with open(path, "a") as file:
        file.write("more")
    return os.path.exists("new"), sorted(os.listdir())
def many():
    os.mkdir("folder"); os.symlink("folder", "link"); os.remove("notes.txt"); os.rename("empty", "/tmp/full")
    open("/tmp/full", "w").write("abc")
def fails():
    open("before", "w").write("1")
    raise ValueError
"""


def test_what_a_call_leaves_is_part_of_its_result_and_gone_for_the_next(sandbox: Sandbox) -> None:
    calls = (
        Call("change", ("new",)),
        Call("change", ("notes.txt",)),
        Call("many"),
        Call("fails"),
        Call("change", ("x",), setup="open('x', 'w').write('set up, ')"),
    )
    result = sandbox.run(Job(CHANGING, calls, Tier.NATIVE, world=World(files=FILES)))
    everything = ["data", "empty", "kept", "notes.txt"]
    assert [call.value for call in result.calls] == [
        (True, sorted([*everything, "new"])),
        (False, everything),
        None,
        None,
        (False, sorted([*everything, "x"])),
    ]
    assert [call.files for call in result.calls] == [
        (("new", b"more"),),
        (("notes.txt", b"one\ntwo\nmore"),),
        (
            ("/tmp/full", b"abc"),
            ("empty", None),
            ("folder/", b""),
            ("link", "folder"),
            ("notes.txt", None),
        ),
        (("before", b"1"),),
        (("x", b"set up, more"),),
    ]


def test_file_left_open_by_one_call_does_not_close_another_s(sandbox: Sandbox) -> None:
    source = """
kept = []
def leak():
    kept.append(open("notes.txt"))
def use():
    with open("notes.txt") as file:
        kept.clear()
        return file.read()
"""
    result = sandbox.run(Job(source, (Call("leak"), Call("use")), Tier.NATIVE, world=World(files=FILES)))
    assert result.calls[1].value == "one\ntwo\n"


BOUNDS = {
    "bytes": ("[open(f'f{i}', 'wb').write(bytes(1 << 20)) for i in range(64)]", "ENOSPC"),
    "one long file": ("open('f', 'wb').truncate(1 << 40)", "ENOSPC"),
    "files": ("[open(f'f{i}', 'wb').close() for i in range(100_000)]", "ENOSPC"),
    "open files": ("[open('notes.txt') for _ in range(100_000)]", "EMFILE"),
    "devices": ("os.mkfifo('pipe')", "EACCES"),
    "owner": ("os.chown('notes.txt', 0, 0)", "EACCES"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bound_is_an_error_of_the_operating_system(name: str, sandbox: Sandbox) -> None:
    expression, code = BOUNDS[name]
    clean = "[os.remove(name) for name in glob.glob('f*')]"
    assert in_sandbox(sandbox, (expression, clean))[0][1] == code


def test_restricted_code_opens_by_path_alone(sandbox: Sandbox) -> None:
    source = """
def by_path(path):
    with open(path, "a+") as file:
        file.write("three")
        file.seek(0)
        return file.read()
def by_number(number):
    return open(number, "wb")
def by_opener(path):
    return open(path, opener=lambda path, flags: 3)
def by_opener_in_place(path):
    return open(path, "r", -1, None, None, None, True, lambda path, flags: 3)
def by_class(path):
    return [type(raw)(3, "wb") for raw in (open(path, "rb", 0), open(path).buffer.raw)]
"""
    calls = [Call("by_path", ("notes.txt",)), Call("by_number", (3,))]
    calls += [Call(name, ("notes.txt",)) for name in ("by_opener", "by_opener_in_place")]
    calls += [Call("by_class", ("notes.txt",))]
    result = sandbox.run(Job(source, tuple(calls), Tier.RESTRICTED, world=World(files=FILES)))
    assert result.calls[0].value == "one\ntwo\nthree"
    assert result.calls[0].files == (("notes.txt", b"one\ntwo\nthree"),)
    assert [call.exception[0] for call in result.calls[1:]] == ["PermissionError"] * 3 + ["OSError"]
    assert "Bad file descriptor" in result.calls[-1].message
    assert {"open:notes.txt", "open:3"} <= set(result.effects)


@pytest.mark.parametrize("closing", ["os.close(3)", "os.closerange(0, 64)", "os.close(os.open('empty', 0))"])
def test_what_answers_go_through_is_not_closed(closing: str, sandbox: Sandbox) -> None:
    calls = (Call(f"tried(lambda: {closing})", None), Call("read('notes.txt')", None))
    result = sandbox.run(Job(SOURCE, calls, tier=Tier.NATIVE, world=World(files=FILES)))
    assert result.status is Status.COMPLETED, result
    assert result.calls[1].value == "one\ntwo\n"
    assert result.calls[0].value in (None, ("OSError", "EBADF", None, None))


def test_null_device_swallows_what_is_written(sandbox: Sandbox) -> None:
    source = """
import os
def f():
    with open(os.devnull, "w") as file:
        file.write("x" * 100)
    return open(os.devnull).read(), os.stat(os.devnull).st_size
"""
    (call,) = sandbox.run(Job(source, (Call("f"),), Tier.NATIVE)).calls
    assert (call.value, call.files) == (("", 0), ())


def test_attempts_are_noted_as_those_on_real_files_are(sandbox: Sandbox) -> None:
    source = """
import os, shutil
def f():
    open("a", "w").close(); os.mkdir("b"); os.rename("a", "b/a"); os.listdir("b"); shutil.rmtree("b"); os.chdir("data")
"""
    effects = sandbox.run(Job(source, (Call("f"),), Tier.NATIVE, world=World(files=FILES))).effects
    assert {"write:b", "write:a", "list:b", "delete:b", "chdir:data"} <= set(effects)


def test_left_out_there_are_none() -> None:
    with Sandbox(Level.L0, without=frozenset({"files"})) as without:
        (call,) = without.run(
            Job("def f(): return open('notes.txt').read()", (Call("f"),), Tier.NATIVE)
        ).calls
    assert call.exception[0] == "PermissionError"
