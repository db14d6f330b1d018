"""What people get wrong: each mistake ends in one line that says what, and what to do next, and loses nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from codeguard.cli import main

GOOD = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
FILES = {
    "ours/m.py": GOOD,
    "theirs/x.py": 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n',
    "theirs/notes.md": "# Notes\n",
    "key.toml": 'colour = "red"\n',
    "near.toml": 'stor = "elsewhere"\n',
    "type.toml": 'jobs = "many"\n',
    "broken.toml": "[defense\n",
    "signal.toml": '[defense]\ndisabled_signals = ["behaviour"]\n',
    "weight.toml": '[defense.weights]\n"provenance.trustd" = 1\n',
    "folder.py/inner.py": "x = 1\n",
    "broken_spec.toml": 'jobs = 1\nspecs = ["specs"]\n',
    "latin_spec.toml": 'jobs = 1\nspecs = ["latin"]\n',
    "specs/add.toml": "[[spec]\n",
}


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with an index of its own; the mistakes must leave it as it is."""
    place = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    (place / "empty").mkdir()
    (place / "broken.py").write_text("def f(:\n")
    (place / "latin").mkdir()
    (place / "latin/add.toml").write_bytes(b"# caf\xe9\n")
    (place / "theirs/blob.bin").write_bytes(b"\x7fELF" + bytes(range(256)))
    (place / "theirs/fake.py").write_bytes(b"\x7fELF\0\0")
    (place / "large.py").write_text("x = 1\n" * 400_000)
    os.mkfifo(place / "pipe.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        configuration = place.with_name("configuration")
        (configuration / "codeguard").mkdir(parents=True)
        (configuration / "codeguard" / "config.toml").write_text("jobs = 1\n")
        patch.setenv("XDG_CONFIG_HOME", str(configuration))
        done = run("index", "ours", "theirs/x.py", "--trust", "ours", "--embedding", "lexical")
        assert done.exit_code == 0, done.output
        before = run("ls", "--format", "json").stdout
        yield place
        assert run("ls", "--format", "json").stdout == before


@pytest.fixture(autouse=True)
def _as_the_one_who_made_the_index(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project.with_name("configuration")))


DIGEST = "a" * 64
MISTAKES = [
    # what was typed, exit code, what went wrong, the next step
    ("query add --store nosuch", 2, "no index in nosuch", "codeguard index PATH"),
    ("status --store nosuch", 2, "no index in nosuch", "codeguard index PATH"),
    ("query add --store ftp://host", 2, "got ftp://host", "http(s)://host:port"),
    ("query add --store http://127.0.0.1:9", 2, "belongs to another store", "give that store"),
    ("query", 2, "query what?", "codeguard query 'reverse a string'"),
    ("query reverse string", 2, "unexpected extra argument", "in quotes"),
    ("query add --batch -", 2, "got TEXT and --batch", "TEXT or --batch FILE"),
    ("query add -k 0", 2, "k, got 0", "1 or more"),
    ("query add -k ten", 2, "'ten' is not a valid integer", "codeguard query --help"),
    ("query add --mode dorp", 2, "'dorp' is not one of", "did you mean drop?"),
    ("query add --embedding minilm3", 2, "unknown embedding", "static, minilm, lexical"),
    ("query add --embedding static", 2, "another embedding", "leave --embedding out"),
    ("query --explian add", 2, "no such option", "--explain"),
    ("qurey add", 2, "no such command 'qurey'", "did you mean query?"),
    ("index --store nosuch", 2, "index what?", "codeguard index src"),
    ("index nosuch", 2, "nosuch cannot be read", "check the path"),
    ("index ours --trust nosuch", 2, "nosuch cannot be read", "check the path"),
    ("index ours --store theirs/x.py", 2, "theirs/x.py is no index, got a file, expected a folder", "--store"),
    ("index empty", 3, "no file to index", "give other paths"),
    ("index theirs/blob.bin", 3, "theirs/blob.bin (binary", "give other paths"),
    ("index ours --jobs 0", 2, "0 is not in the range", "codeguard index --help"),
    ("ls nosuch", 3, "no such file in the index", "codeguard ls"),
    ("rm nosuch.py", 3, "no such file in the index", "codeguard ls"),
    ("audit", 2, "audit what?", "PATH…, --since REF, --staged or --policy FILE"),
    ("audit nosuch", 2, "no such file: nosuch", "check the path"),
    ("audit empty", 3, "no file to audit", "give other paths"),
    ("audit --staged", 2, "not a git repository", "run it in a git repository"),
    ("audit theirs --select insecure.pickel", 2, "no such rule or signal", "codeguard rules lists all"),
    ("audit theirs --format sarf", 2, "'sarf' is not one of", "did you mean sarif?"),
    ("audit theirs --baseline nosuch.json", 2, "no such baseline", "--write-baseline"),
    ("check nosuch.py", 2, "cannot read nosuch.py", "check the path"),
    ("check large.py", 2, "got 2400000 bytes", "expected at most 2000000 bytes"),
    ("check theirs/x.py --against large.py", 2, "got large.py", "check the path"),
    ("check pipe.py", 2, "pipe.py cannot be read", "not a regular file"),
    ("check folder.py", 2, "got a folder", "codeguard audit folder.py"),
    ("check theirs/blob.bin", 3, "got binary: a program", "a file of Python"),
    ("check theirs/fake.py", 3, "got binary: a program", "a file of Python"),
    ("check theirs/notes.md", 3, "no function in theirs/notes.md", "codeguard audit theirs/notes.md"),
    ("check broken.py", 3, "got Python without a function, or with a syntax error", "codeguard audit broken.py"),
    ("check theirs/x.py::ad", 2, "no such function, got 'ad', expected add", "did you mean add?"),
    ("check theirs/x.py --against nosuch.py", 2, "nosuch.py cannot be read", "check the path"),
    ("explain behavior.fial", 2, "no such rule", "behavior.fail"),
    ("explain", 2, "missing argument 'RULE|FILE::SYMBOL'", "codeguard explain --help"),
    ("accept 1234 --reason x", 2, "not a digest", "64 hexadecimal digits"),
    (f"accept {DIGEST} --reason ", 2, "reason", "1 to 2000"),
    ("trust verify", 2, "no signing policy", "[signing] table"),
    ("trust verify nosuch", 2, "no such folder: nosuch", "check the path"),
    ("trust sign ours/m.py --key theirs/x.py", 2, "envelope is not JSON", "codeguard trust build"),
    ("trust build empty", 3, "nothing to trust", "at least one"),
    ("--config nosuch.toml status", 2, "configuration file not found", "check --config"),
    ("--config key.toml status", 2, "unknown key 'colour'", "codeguard config show"),
    ("--config near.toml status", 2, "unknown key 'stor'", "expected one of store;"),
    ("--config type.toml status", 2, "got 'many' (str)", "expected int"),
    ("--config broken.toml status", 2, "is not TOML", "correct that line"),
    ("--config signal.toml query add", 2, "'behaviour'", "expected behavior"),
    ("--config broken_spec.toml index ours", 2, "spec file specs/add.toml: ", "expected TOML in UTF-8"),
    ("--config latin_spec.toml index ours", 2, "spec file latin/add.toml: ", "expected TOML in UTF-8"),
    ("--config latin_spec.toml check theirs/x.py", 2, "spec file latin/add.toml: ", "expected TOML in UTF-8"),
    ("--config weight.toml audit theirs --no-behavior", 2, "'provenance.trustd'", "provenance.trusted"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "code", "what", "next_step"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_ends_in_one_line_with_the_next_step(
    typed: str, code: int, what: str, next_step: str
) -> None:
    done = run(*typed.split(" "))
    assert done.exit_code == code, done.output
    assert not done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("codeguard: ")
    assert what in line
    assert next_step in line


def test_a_missing_extra_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.partition(".")[0] == "mcp" or name == "codeguard.integrations.mcp":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = run("mcp")
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert "codeguard-rag[mcp]" in line


def test_no_arguments_print_the_help() -> None:
    assert run().output.startswith("Usage: ")
    assert run("trust").output.startswith("Usage: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("typed", ["--help", "--version", "audit --help", "rules"])
def test_a_full_disk_behind_the_output_is_one_line(typed: str) -> None:
    with Path("/dev/full").open("w") as full:
        words = [sys.executable, "-P", "-m", "codeguard", *typed.split(" ")]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    told, _, hint = done.stderr.partition("; ")
    assert told == "codeguard: the system refuses (No space left on device)"
    assert hint.startswith("free some space")
    assert hint.count("\n") == 1
