"""The command line as a user meets it: exit codes, one clear line for what goes wrong, real processes where due."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from in_process import codeguard as run

pytestmark = pytest.mark.ci

GOOD = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
WRONG = 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n'


def run_process(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "codeguard", *words],
        cwd=cwd,
        input="",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def write_project(base: Path) -> Path:
    folder = base / "project"
    for name, text in {"ours/m.py": GOOD, "theirs/x.py": WRONG}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def index_project(base: Path) -> None:
    words = ("index", "ours", "theirs", "--trust", "ours", "--embedding", "lexical")
    done = run(*words, cwd=write_project(base))
    assert done.returncode == 0, done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path)


@pytest.fixture
def indexed(once: Callable[[Callable[[Path], object]], Path]) -> Path:
    return once(index_project) / "project"


def one_line(done: subprocess.CompletedProcess[str], *words: str, code: int = 2) -> None:
    assert done.returncode == code, done.stderr + done.stdout
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in lines[0]


def test_index_then_query(indexed: Path) -> None:
    done = run_process("query", "add two numbers", "--explain", cwd=indexed)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].endswith("for 'add two numbers'")
    assert "without the defense" in lines
    assert "CONVICTED" in done.stdout
    assert "ours/m.py:1" in done.stdout


def test_query_as_json_has_the_stable_form(indexed: Path) -> None:
    answer = json.loads(run("query", "add two numbers", "-k", "1", "--format", "json", cwd=indexed).stdout)
    assert answer["schema"] == "codeguard.query/1"
    assert {"query", "k", "store", "sandbox_level", "mode", "results", "ranking", "dropped"} <= answer.keys()
    (first,) = answer["results"]
    assert {
        "rank", "baseline_rank", "path", "symbol", "kind", "start_line", "end_line", "sha256", "text", "distance",
        "penalty", "score", "trust", "verdict", "coverage", "convicted", "evidence",
    } <= first.keys()  # fmt: skip
    assert {"signal", "id", "penalty", "convicts", "reason"} <= first["evidence"][0].keys()
    assert first["path"] == "ours/m.py"


def test_batch_from_stdin_writes_one_object_a_line(indexed: Path) -> None:
    done = run("query", "--batch", "-", cwd=indexed, stdin="add numbers\n\nsubtract\n")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["query"] for answer in answers] == ["add numbers", "subtract"]


def test_a_line_of_a_batch_that_is_too_long_is_named_after_the_answers_before_it(indexed: Path) -> None:
    lines = ["a" * 10_000, "", "subtract", "a" * 10_001, "add"]
    done = run("query", "--batch", "-", cwd=indexed, stdin="\n".join(lines))
    assert [json.loads(line)["query"] for line in done.stdout.splitlines()] == [lines[0], "subtract"]
    assert (
        done.stderr == "codeguard: --batch, line 4, got more than 10000 characters, expected at most 10000\n"
    )


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
@pytest.mark.parametrize(
    "words", [["query", "--batch", "/dev/zero"], ["--config", "/dev/zero", "query", "add"]]
)
def test_a_file_without_end_is_one_line(indexed: Path, words: list[str]) -> None:
    done = run_process(*words, cwd=indexed)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "line 1, got more than 10000 characters" in done.stderr or "is too large" in done.stderr


def test_no_defense_ranks_by_distance_alone(indexed: Path) -> None:
    answer = json.loads(run("query", "add", "--no-defense", "--format", "json", cwd=indexed).stdout)
    distances = [item["distance"] for item in answer["ranking"]]
    assert distances == sorted(distances)
    assert all(not item["evidence"] for item in answer["ranking"])


def test_check_tells_where_the_expectation_comes_from(project: Path) -> None:
    bad = run("check", "theirs/x.py::add", "--against", "ours/m.py", cwd=project)
    assert bad.returncode == 1
    assert "CONVICTED" in bad.stdout
    assert "ours/m.py" in bad.stdout or "spec" in bad.stdout
    good = run("check", "ours/m.py", "--against", "ours/m.py", cwd=project)
    assert good.returncode == 0, good.stdout


def test_check_takes_a_folder_of_trusted_code(project: Path) -> None:
    (project / "strange.py").write_text("def slope(a, b):\n    return a - 3 * b\n")
    (project / "ours" / "deep").mkdir()
    (project / "ours" / "deep" / "k.py").write_text(
        'def slope(a, b):\n    """\n    >>> slope(8, 3)\n    2\n    """\n    return a - 2 * b\n'
    )
    done = run("check", "strange.py", "--against", "ours", cwd=project)
    assert done.returncode == 1, done.stdout
    assert "slope but differs: slope(" in done.stdout
    (project / "empty").mkdir()
    assert run("check", "strange.py", "--against", "empty", cwd=project).returncode == 2


def test_check_as_json(project: Path) -> None:
    answer = json.loads(run("check", "theirs/x.py", "--format", "json", cwd=project).stdout)
    assert answer["schema"] == "codeguard.check/1"
    assert answer["functions"][0]["verdict"] == "fail"


@pytest.mark.parametrize(
    ("words", "expected", "code"),
    [
        (["query", "x"], ["no index in .codeguard", "codeguard index"], 2),
        (["index", "nowhere"], ["nowhere"], 2),
        (["index", "empty"], ["no file to index"], 3),
        (["check", "nowhere.py"], ["nowhere.py", "nothing there"], 2),
        (["check", "ours"], ["a folder"], 2),
        (["check", "ours/m.py::missing"], ["no such function", "add"], 2),
        (["--config", "none.toml", "status"], ["none.toml", "not found"], 2),
        (
            ["index", "ours", "--store", "http://127.0.0.1:1", "--embedding", "lexical"],
            ["no Chroma server"],
            2,
        ),
        (["index", "ours", "--embedding", "nonsense"], ["nonsense"], 2),
        (["index", "ours", "--store", "ours/m.py"], ["ours/m.py"], 2),
    ],
)
def test_what_cannot_be_done_is_one_line(
    project: Path, words: list[str], expected: list[str], code: int
) -> None:
    (project / "empty").mkdir()
    one_line(run_process(*words, cwd=project), *expected, code=code)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["query", ""], "empty text"),
        (["query", "x" * 20_000], "20000 characters"),
        (["query", "x", "-k", "0"], "1 or more"),
        (["query"], "got nothing, expected TEXT or --batch FILE"),
        (["query", "x", "--embedding", "lexical@2"], "unknown embedding"),
    ],
)
def test_a_query_that_makes_no_sense_is_one_line(indexed: Path, words: list[str], expected: str) -> None:
    one_line(run(*words, cwd=indexed), expected)


def test_a_corrupt_store_is_one_line_and_is_left_as_it_is(indexed: Path) -> None:
    path = indexed / ".codeguard" / "catalog.sqlite3"
    path.write_bytes(b"garbage")
    one_line(run("query", "add numbers", cwd=indexed))
    assert path.read_bytes() == b"garbage"


def test_difficult_files_are_indexed_or_listed(project: Path) -> None:
    theirs = project / "theirs"
    (theirs / "broken.py").write_text("def broken(:\n  x = (1\n" + WRONG)
    (theirs / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nname = '\xe9'\n")
    (theirs / "binary.py").write_bytes(b"\x00\x01\x02" * 100)
    (theirs / "empty.py").write_bytes(b"")
    os.mkfifo(theirs / "pipe.py")
    (theirs / "loop").symlink_to(theirs)
    (theirs / "outside.py").symlink_to("/etc/hostname")
    (theirs / "huge.py").write_text("x = 1\n" * 1_000_000)
    (theirs / "odd\x1b[31mname.py").write_text("x = 1\n")
    done = run("index", "ours", "theirs", "--trust", "ours", "--embedding", "lexical", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    for name in ("binary.py", "pipe.py", "outside.py", "huge.py"):
        assert name in done.stdout, done.stdout
    ranking = json.loads(run("query", "add two numbers", "--format", "json", cwd=project).stdout)["ranking"]
    assert {"theirs/broken.py", "theirs/x.py"} <= {item["path"] for item in ranking if item["convicted"]}


def test_hostile_text_does_not_act_on_the_terminal(project: Path) -> None:
    (project / "theirs" / "t.py").write_text(
        'def add(a, b):\n    """\x1b]0;owned\x07 \u202e add two numbers"""\n    raise ValueError("\x1b[2J\u202e")\n'
    )
    run("index", "ours", "theirs", "--trust", "ours", "--embedding", "lexical", cwd=project)
    for words in (["query", "add", "--explain"], ["check", "theirs/t.py"]):
        done = run(*words, cwd=project)
        shown = done.stdout + done.stderr
        assert not set(shown) & {"\x1b", "\x07", "\u202e"}, shown


def test_a_read_only_state_directory_is_one_line(indexed: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("permissions do not bind root")
    (indexed / ".codeguard").chmod(0o500)
    try:
        one_line(run("index", "ours", "--embedding", "lexical", cwd=indexed))
    finally:
        (indexed / ".codeguard").chmod(0o700)


def test_an_interrupted_index_is_finished_by_the_next(project: Path) -> None:
    (project / "many").mkdir()
    for number in range(100):
        (project / f"many/f{number}.py").write_text(f"def f{number}(x):\n    return x + {number}\n")
    typed = ["index", "ours", "many", "--trust", "ours", "--embedding", "lexical", "--format", "json"]
    words = [sys.executable, "-P", "-m", "codeguard", *typed]
    process = subprocess.Popen(
        words, cwd=project, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while not (project / ".codeguard" / "catalog.sqlite3").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors
    for name, expected in (("files", 101), ("added", 0)):  # of the next run, and of the one after it
        assert json.loads(run(*typed, cwd=project).stdout)[name] == expected


@pytest.mark.slow
def test_two_at_once_both_end_well_or_with_one_line(indexed: Path) -> None:
    (indexed.parent / "home" / "codeguard" / "config.toml").write_text("jobs = 1\n")
    words = [sys.executable, "-P", "-m", "codeguard", "query", "add two numbers", "--format", "json"]
    processes = [
        subprocess.Popen(words, cwd=indexed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    answers = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], answers
    told = [{**json.loads(out), "budget": None} for out, _ in answers]  # one of them may have run a check
    assert told[0] == told[1] == told[2]


@pytest.mark.parametrize(
    "typed",
    [
        "--help",
        "index --help",
        "query --help",
        "check --help",
        "rules",
        "check ours/m.py --against ours/m.py",
    ],
)
def test_what_needs_neither_chroma_nor_an_embedding_imports_neither(project: Path, typed: str) -> None:
    code = (
        "import sys; from codeguard.cli import main\n"
        f"try: main({typed.split()!r})\nexcept SystemExit: pass\n"
        "heavy = {'chromadb', 'onnxruntime', 'codeguard.index.embedding'}\n"
        "print(sorted(set(sys.modules) & heavy), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.stderr.strip().splitlines()[-1] == "[]", done.stderr


def test_doctor_tells_each_layer(project: Path) -> None:
    facts = json.loads(run("doctor", "--format", "json", cwd=project).stdout)
    assert facts["sandbox"]["level"] in ("L0", "L1", "L2", "L3")
    assert all({"name", "engaged", "detail"} <= layer.keys() for layer in facts["sandbox"]["layers"])
    assert any(item["available"] for item in facts["embeddings"])


def test_doctor_fails_where_the_index_cannot_be_read_and_keeps_to_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def f(a):\n    return a\n")
    fine = run("doctor", cwd=tmp_path, COLUMNS="80")  # without an index
    assert fine.returncode == 0
    layers = fine.stdout.partition("store ")[0].splitlines()
    assert max(map(len, layers)) <= 80
    assert not [line for line in layers if "\\x0a" in line]
    run("index", ".", "--embedding", "lexical", cwd=tmp_path)
    (tmp_path / ".codeguard/catalog.sqlite3").write_bytes(b"no database" * 1_000)
    damaged = run("doctor", cwd=tmp_path, COLUMNS="80")
    assert damaged.returncode == 2
    assert "codeguard index --rebuild PATH… --trust PATH" in damaged.stdout


def test_an_audit_says_of_behavior_only_what_it_checked_and_names_functions_as_they_are(
    tmp_path: Path,
) -> None:
    code = """
    import getpass, socket

    class Host:
        def find(self, name):
            return socket.gethostbyname(name)

        def go(self):
            return self.find(f"{socket.gethostname()}.{getpass.getuser()}.t.example")
    """
    (tmp_path / "m.py").write_text(textwrap.dedent(code))
    plain = run("audit", "m.py", "--no-behavior", cwd=tmp_path).stdout
    assert "behavior of" not in plain
    assert "\n    socket.gethostbyname looks up a name made of what this machine is called" in plain
    assert "behavior of 2 functions checked, 2 of them anew" in run("audit", "m.py", cwd=tmp_path).stdout


def test_doctor_begins_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("doctor", cwd=tmp_path).stdout.startswith("to do      nothing")
    stranger = tmp_path / "site" / "codeguard-9.dist-info"
    stranger.mkdir(parents=True)
    (stranger / "METADATA").write_text("Metadata-Version: 2.1\nName: codeguard\nVersion: 9\n")
    (stranger / "RECORD").write_text("codeguard/theirs.py,,\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    shown = run("doctor", cwd=tmp_path).stdout.splitlines()
    assert shown[0] == "to do"
    assert "codeguard of somebody else is installed into the same folder" in shown[1]


def test_doctor_says_which_modules_the_sandbox_has(tmp_path: Path) -> None:
    for name, text in (("plain", "VALUE = 1\n"), ("reading", "open('/etc/hosts').read()\n")):
        (tmp_path / f"{name}.py").write_text(text)
    paths = ", ".join(repr(str(tmp_path / f"{name}.py")) for name in ("plain", "reading"))
    (tmp_path / "config.toml").write_text(f"[defense]\nmodules = [{paths}]\n")
    done = run("--config", str(tmp_path / "config.toml"), "doctor", "--format", "json", cwd=tmp_path)
    rows = {row["name"]: row for row in json.loads(done.stdout)["modules"]}
    assert rows["plain"]["available"]
    assert not rows["reading"]["available"]
    assert rows["reading"]["detail"]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="only Linux lists a process's threads")
def test_numpy_starts_no_threads_beneath_a_command() -> None:
    lines = "import os, codeguard.cli, numpy; print(len(os.listdir('/proc/self/task')))"
    settings = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-P", "-c", lines],
        env=settings,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "1\n", done.stderr
