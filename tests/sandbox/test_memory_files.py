"""Files in memory behave as the kernel's: the same calls here, in a real folder, and in the sandbox."""

# ruff: noqa: E501 - rows of calls

from __future__ import annotations

import os
import random
from collections.abc import Iterator
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
SCRIPTS: dict[str, tuple[str, ...]] = {
    "reading": (
        "read('notes.txt')", "read('notes.txt', 'rb')", "read('data/rows.csv')", "read('./data/../notes.txt')",
        "read('nothing')", "read('data')", "read('notes.txt/')", "read('notes.txt/x')", "read('')", "read('a\\0b')",
        "list(open('notes.txt'))", "open('notes.txt').readline()", "read(b'notes.txt')", "read(pathlib.Path('notes.txt'))",
        "read('notes.txt', encoding='utf-16')", "open('notes.txt', 'q')", "open('notes.txt', 'rb', encoding='utf-8')",
        "open('notes.txt', 'rw')", "open(3.5)", "open('x' * 300)", "open('x/' * 3000)",
    ),
    "writing": (
        "wrote('new.txt', 'hello')", "wrote('notes.txt', 'three\\n', 'a')", "wrote('notes.txt', 'x', 'x')",
        "wrote('sub/new.txt', 'x')", "wrote('data', 'x')", "wrote('new/', 'x')", "read('notes.txt')",
        "wrote('bytes', b'\\0\\1', 'wb')", "wrote('bytes', b'\\2', 'r+b')", "read('bytes', 'rb')",
        "wrote('lines', 'a\\r\\nb', 'w')", "read('lines', newline='')", "wrote('notes.txt', 'n', 'r')",
        "print('told', file=open('told', 'w'))", "read('told')", "wrote('empty', '')", "wrote('fresh', 'ä')",
    ),
    "places in a file": (
        "[(f := open('notes.txt', 'r+b')).seek(2), f.tell(), f.read(3), f.write(b'ZZ'), f.truncate(), f.close()]",
        "read('notes.txt')",
        "[(f := open('far', 'wb')).seek(5), f.write(b'x'), f.seek(-2, 1), f.seek(-1, 2), f.close()]",
        "read('far', 'rb')", "open('notes.txt').seek(-1)", "open('notes.txt', 'rb').seek(-5, 1)",
        "[(f := open('a', 'a+')).write('x'), f.seek(0), f.read(), f.closed]", "open('notes.txt').fileno() > 2",
        "open('notes.txt').write('x')", "open('far', 'wb').read()", "open('notes.txt', 'rb', 0).readinto(bytearray(3))",
        "(f := open('notes.txt')).close() or f.read()", "open('notes.txt').name", "open('notes.txt').mode",
        "open('notes.txt', 'rb').mode", "open('x', 'w+b').mode", "repr(open('notes.txt', 'rb'))",
        "open('notes.txt', 'rb').peek(3)[:3]", "open('notes.txt').isatty()", "open('notes.txt', closefd=False)",
        "open('notes.txt', 'rb').read1(2)", "memoryview(open('notes.txt', 'rb').read()).tobytes()",
    ),
    "descriptors": (
        "[fd := os.open('d', os.O_RDWR | os.O_CREAT), os.write(fd, b'abcdef'), os.lseek(fd, 1, 0), os.read(fd, 2), os.close(fd)][1:]",
        "os.open('d', os.O_CREAT | os.O_EXCL)", "os.open('nothing', os.O_RDONLY)", "os.open('data', os.O_WRONLY)",
        "os.open('d', os.O_DIRECTORY)", "os.read(os.open('d', os.O_WRONLY), 1)", "os.write(os.open('d', os.O_RDONLY), b'x')",
        "[fd := os.open('d', os.O_RDWR), os.pread(fd, 2, 1), os.pwrite(fd, b'Z', 3), os.ftruncate(fd, 5), os.fsync(fd)][1:]",
        "read('d')", "[fd := os.open('d', os.O_RDONLY), other := os.dup(fd), os.close(fd), os.read(other, 2)][2:]",
        "os.fdopen(os.open('d', os.O_RDONLY)).read()", "os.fstat(os.open('d', os.O_RDONLY)).st_size",
        "os.isatty(os.open('d', os.O_RDONLY))", "os.lseek(os.open('d', os.O_RDONLY), -1, 0)",
        "os.listdir(os.open('data', os.O_RDONLY))", "os.truncate('d', 2)", "read('d')", "os.truncate('d', -1)",
        "open('d', opener=lambda path, flags: os.open('notes.txt', flags)).read()",
    ),
    "folders": (
        "os.mkdir('m')", "os.mkdir('m')", "os.mkdir('no/m')", "os.makedirs('p/q/r')", "os.makedirs('p/q/r', exist_ok=True)",
        "os.makedirs('p/q/r')", "sorted(os.listdir())", "os.listdir('notes.txt')", "os.listdir('no')", "os.rmdir('p')",
        "os.rmdir('p/q/r')", "os.removedirs('p/q')", "os.rmdir('notes.txt')", "os.rmdir('no')", "sorted(os.listdir(b'.'))",
        "os.chdir('data')", "os.listdir()", "read('rows.csv')", "os.path.basename(os.getcwd())", "os.chdir('..')",
        "os.chdir('notes.txt')", "os.remove('data')", "os.unlink('empty')", "os.unlink('empty')", "os.rmdir('.')",
    ),
    "moving": (
        "os.rename('notes.txt', 'moved')", "os.rename('no', 'x')", "os.rename('moved', 'data')", "os.rename('data', 'moved')",
        "os.rename('data', 'data/in')", "os.replace('moved', 'empty')", "read('empty')", "os.rename('data', 'other')",
        "os.mkdir('full')", "os.rename('other', 'full')", "read('full/rows.csv')", "os.renames('full/rows.csv', 'z/y/rows.csv')",
        "os.link('empty', 'same')", "wrote('same', 'both')", "read('empty')", "os.stat('same').st_nlink", "os.link('z', 'zz')",
        "os.link('empty', 'same')", "os.rename('empty', 'same')", "os.rename('z', 'same/')", "os.rename('same', 'q/')",
    ),
    "symbolic links": (
        "os.symlink('notes.txt', 'l')", "read('l')", "os.readlink('l')", "os.readlink('notes.txt')", "os.path.islink('l')",
        "os.symlink('l', 'l')", "os.symlink('gone', 'g')", "read('g')", "os.path.exists('g')", "os.path.lexists('g')",
        "wrote('g', 'made')", "read('gone')", "os.symlink('data', 'dl')", "sorted(os.listdir('dl'))", "read('dl/rows.csv')",
        "read('dl/../notes.txt')", "os.symlink('a', 'b')", "os.symlink('b', 'a')", "read('a')", "os.stat('a')",
        "os.path.realpath('dl/rows.csv')[-13:]", "os.unlink('dl')", "os.rmdir('g')", "stat.S_ISLNK(os.lstat('l').st_mode)",
        "open('a', 'x')", "os.open('l', os.O_NOFOLLOW)", "os.rename('l', 'k')", "os.readlink(b'k')", "read('k/')",
    ),
    "what is there": (
        "os.stat('notes.txt').st_size", "stat.S_ISDIR(os.stat('data').st_mode)", "os.path.getsize('data/rows.csv')",
        "oct(os.stat('notes.txt').st_mode)", "os.chmod('notes.txt', 0o600)", "oct(os.stat('notes.txt').st_mode)",
        "os.utime('notes.txt', (5, 6))", "os.path.getmtime('notes.txt')", "os.utime('notes.txt', ns=(1, 7))",
        "os.stat('notes.txt').st_mtime_ns", "os.access('notes.txt', os.R_OK)", "os.access('no', os.F_OK)",
        "os.path.isfile('notes.txt')", "os.path.isdir('notes.txt')", "os.path.samefile('notes.txt', 'data/../notes.txt')",
        "sorted((e.name, e.path, e.is_dir(), e.is_file(), e.is_symlink()) for e in os.scandir('.'))",
        "sorted(e.path for e in os.scandir('data'))", "repr(next(os.scandir('data')))", "next(os.scandir('data')).stat().st_size",
        "sorted((a, sorted(b), sorted(c)) for a, b, c in os.walk('.'))", "os.stat(3.5)", "os.stat('no')", "os.umask(0o77)",
        "wrote('secret', 'x')", "oct(os.stat('secret').st_mode)", "os.umask(0o22)", "os.get_terminal_size",
    )[:-1],
    "pathlib": (
        "(p := pathlib.Path('n')).write_text('x'), p.read_bytes(), p.exists(), p.stat().st_size",
        "sorted(str(p) for p in pathlib.Path('.').rglob('*'))", "sorted(p.name for p in pathlib.Path('.').glob('*.txt'))",
        "pathlib.Path('n').rename('nn').name", "pathlib.Path('nn').unlink()", "pathlib.Path('nn').unlink()",
        "pathlib.Path('nn').unlink(missing_ok=True)", "pathlib.Path('s/t').mkdir()", "pathlib.Path('s/t').mkdir(parents=True)",
        "pathlib.Path('s/t').touch()", "pathlib.Path('s/u').touch()", "pathlib.Path('s').rmdir()", "pathlib.Path('data').is_dir()",
        "pathlib.Path('notes.txt').open().readlines()", "sorted(map(str, pathlib.Path('s').iterdir()))",
        "pathlib.Path('l').symlink_to('notes.txt')", "pathlib.Path('l').resolve().name", "pathlib.Path('no').read_text()",
    ),
    "shutil, tempfile, glob": (
        "shutil.copy('notes.txt', 'c')", "shutil.copy2('notes.txt', 'data')", "shutil.copytree('data', 'tree')",
        "shutil.copytree('data', 'tree')", "shutil.move('c', 'tree')", "shutil.rmtree('tree')", "shutil.rmtree('tree')",
        "shutil.copyfile('notes.txt', 'notes.txt')", "sorted(glob.glob('*'))", "sorted(glob.glob('**/*.csv', recursive=True))",
        "filecmp.cmp('notes.txt', 'data/notes.txt')", "shutil.which('sh', path='.')",
        "[(d := tempfile.mkdtemp(dir='.')), wrote(d + '/x', 'y'), shutil.rmtree(d)][1:]",
        "[(t := tempfile.NamedTemporaryFile('w+', dir='.')).write('ab'), t.seek(0), t.read(), t.close(), os.path.exists(t.name)]",
        "[(t := tempfile.TemporaryFile(dir='.')).write(b'ab'), t.seek(0), t.read()]",
        "[(t := tempfile.mkstemp(dir='.')), os.close(t[0]), os.remove(t[1])][1:]",
        "shutil.make_archive('arch', 'zip', 'data') and zipfile.is_zipfile('arch.zip')",
        "os.remove('arch.zip')",
    ),
    "formats": (
        "json.dump({'a': 1}, open('j', 'w'))", "json.load(open('j'))", "list(csv.reader(open('data/rows.csv')))",
        "[(w := csv.writer(open('w.csv', 'w', newline=''))).writerow([1, 'x,y']), w.writerow('ab')]", "read('w.csv', newline='')",
        "gzip.open('z.gz', 'wt').write('abc')", "gzip.open('z.gz').read()", "os.remove('z.gz')",
        "[(z := zipfile.ZipFile('z.zip', 'w')).write('notes.txt'), z.close(), zipfile.ZipFile('z.zip').read('notes.txt')]",
        "[(t := tarfile.open('t.tar', 'w')).add('data'), t.close(), tarfile.open('t.tar').getnames()]", "os.remove('t.tar')",
        "os.remove('z.zip')", "io.TextIOWrapper(io.FileIO('notes.txt')).read()", "io.FileIO('no')", "io.open_code('notes.txt').read()",
    ),
}  # fmt: skip


def done(names: dict[str, Any], script: tuple[str, ...]) -> list[object]:
    """Return what each expression gives where the names are, and what is left; the same text runs in the sandbox."""
    return [*(names["tried"](lambda one=one: eval(one, names)) for one in script), names["left"]()]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        if made.level < Level.L2:
            pytest.skip(f"this machine's sandbox reaches {made.level.name} only")
        yield made


def in_sandbox(sandbox: Sandbox, script: tuple[str, ...]) -> Any:
    source = f"{SOURCE}\ndef all_done():\n    return {DONE.format(script=script)}\n"
    result = sandbox.run(Job(source, (Call("all_done"),), Tier.NATIVE, world=World(files=FILES)))
    assert result.status is Status.COMPLETED, result
    assert result.calls[0].outcome is Outcome.RETURNED, result.calls[0]
    return result.calls[0].value


DONE = "[*(tried(lambda one=one: eval(one, globals())) for one in {script!r}), left()]"


def in_folder(folder: Path, script: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> list[object]:
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


def random_script(seed: int) -> tuple[str, ...]:
    """Return calls on a few names, in any order, files, folders and links alike."""
    chance = random.Random(seed)
    names = ["a", "b", "d", "d/a", "d/e", "d/e/f", "l", "notes.txt", "data/x", "./d/./a", "."]
    two = [
        "os.rename({0!r}, {1!r})",
        "os.symlink({0!r}, {1!r})",
        "os.link({0!r}, {1!r})",
        "shutil.copy({0!r}, {1!r})",
    ]
    one = [
        "wrote({0!r}, 'x{2}')", "wrote({0!r}, 'y{2}', 'a')", "read({0!r})", "os.mkdir({0!r})", "os.makedirs({0!r})",
        "os.rmdir({0!r})", "os.remove({0!r})", "sorted(os.listdir({0!r}))", "os.stat({0!r}).st_nlink > 0",
        "os.path.isdir({0!r})", "os.truncate({0!r}, 1)", "os.readlink({0!r})", "os.renames({0!r}, 'r{2}')",
        "os.path.realpath({0!r})", "wrote({0!r}, 'z', 'x')",
    ]  # fmt: skip
    return tuple(
        chance.choice(one * 2 + two * 3).format(chance.choice(names), chance.choice(names), step)
        for step in range(60)
    )


@pytest.mark.parametrize("seed", range(30))
def test_random_calls_give_what_they_give_in_a_real_folder(
    seed: int, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = random_script(seed)
    wanted, got = in_folder(tmp_path, script, monkeypatch), in_sandbox(sandbox, script)
    rows = zip([*script, "left"], got, wanted, strict=True)
    pairs = [(label, shown(mine, World().folder), shown(real, str(tmp_path))) for label, mine, real in rows]
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
def descriptor():
    return open("notes.txt").fileno()
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
    "no permission": ("[os.chmod('notes.txt', 0), read('notes.txt')]", "EACCES"),
    "no permission to write": ("[os.chmod('notes.txt', 0o400), wrote('notes.txt', 'x')]", "EACCES"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bound_is_an_error_of_the_operating_system(name: str, sandbox: Sandbox) -> None:
    expression, code = BOUNDS[name]
    clean = "[os.chmod('notes.txt', 0o600), [os.remove(name) for name in glob.glob('f*')]]"
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
"""
    calls = [Call("by_path", ("notes.txt",)), Call("by_number", (3,))]
    calls += [Call(name, ("notes.txt",)) for name in ("by_opener", "by_opener_in_place")]
    result = sandbox.run(Job(source, tuple(calls), Tier.RESTRICTED, world=World(files=FILES)))
    assert result.calls[0].value == "one\ntwo\nthree"
    assert result.calls[0].files == (("notes.txt", b"one\ntwo\nthree"),)
    assert [call.exception[0] for call in result.calls[1:]] == ["PermissionError"] * 3
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
    assert {"open:a", "write:b", "write:a", "list:b", "delete:b", "chdir:data"} <= set(effects)


def test_left_out_there_are_none() -> None:
    with Sandbox(Level.L0, without=frozenset({"files"})) as without:
        (call,) = without.run(
            Job("def f(): return open('notes.txt').read()", (Call("f"),), Tier.NATIVE)
        ).calls
    assert call.exception[0] == "PermissionError"
