"""Kill -9, a full disk, a read-only folder, an older store: one clear line, nothing lost."""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from in_process import codeguard

from experiments.benchmarks.crash import crash

pytestmark = pytest.mark.ci

LIMITED = (
    "import resource, sys; size = int(sys.argv.pop(1)); resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))\n"
    "from codeguard.cli import main; main()"
)
INDEX = ("index", ".", "--trust", "ours", "--embedding", "lexical")


def write_corpus(base: Path) -> Path:
    folder = base / "corpus"
    (folder / "ours").mkdir(parents=True)
    (folder / "ours" / "m.py").write_text("def add(a, b):\n    return a + b\n")
    return folder


def index_corpus(base: Path) -> None:
    done = codeguard(*INDEX, cwd=write_corpus(base))
    assert done.returncode == 0, done.stderr


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path)


@pytest.fixture
def indexed(once: Callable[[Callable[[Path], object]], Path]) -> Path:
    return once(index_corpus) / "corpus"


def grow(corpus: Path, count: int) -> None:
    for number in range(count):
        lines = "\n".join(f"    x = x * {number} + {line}" for line in range(30))
        (corpus / f"g{number}.py").write_text(f"def g{number}(x):\n{lines}\n    return x\n")


def run(corpus: Path, *words: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = before or (sys.executable, "-P", "-m", "codeguard")
    return subprocess.run(
        [*command, *words], cwd=corpus, capture_output=True, text=True, timeout=300, check=False
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stdout + done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert "Traceback" not in line
    assert "internal error" not in line
    return line


def whole(corpus: Path) -> None:
    """Everything is as it should be, and the same command completes."""
    done = codeguard(*INDEX, "--format", "json", cwd=corpus)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"] == len(list(corpus.rglob("*.py")))
    verified = codeguard("store", "verify", "--all", cwd=corpus)
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.slow
def test_killed_at_random_moments(tmp_path: Path) -> None:
    outcome = crash(8, 2, tmp_path, files=15)
    assert outcome.trials == 8
    assert outcome.failures == []


@pytest.mark.parametrize(
    ("size", "files"),
    [
        (300_000, 50),
        pytest.param(20_000, 150, marks=pytest.mark.slow),
        pytest.param(900_000, 150, marks=pytest.mark.slow),
    ],
)
def test_no_file_may_grow(indexed: Path, size: int, files: int) -> None:
    """The limit on a file's size stands in for a full disk where no file system can be mounted."""
    corpus = indexed
    grow(corpus, files)
    one_line(run(corpus, *INDEX, before=(sys.executable, "-c", LIMITED, str(size))))
    whole(corpus)


@pytest.mark.parametrize("files", [80, pytest.param(300, marks=pytest.mark.slow)])
def test_a_full_disk(corpus: Path, tmp_path: Path, files: int) -> None:
    """In a namespace of its own, the state directory is a small file system; what is in it at the end is kept."""
    grow(corpus, files)
    kept = tmp_path / "kept"
    script = (
        f"mkdir -p .codeguard && mount -t tmpfs -o mode=0700,size=1m none .codeguard && "
        f'"$@"; code=$?; cp -a .codeguard {kept}; exit $code'
    )
    namespace = ("unshare", "-rm", "sh", "-c", script, "sh", sys.executable, "-P", "-m", "codeguard")
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here")
    line = one_line(run(corpus, *INDEX, before=namespace))
    assert "full" in line or "No space left" in line
    shutil.rmtree(corpus / ".codeguard")
    kept.rename(corpus / ".codeguard")
    whole(corpus)


def test_a_read_only_index_is_one_line_and_stays_as_it_is(indexed: Path) -> None:
    corpus = indexed
    before = {path: path.read_bytes() for path in (corpus / ".codeguard").rglob("*") if path.is_file()}
    script = (
        'mount -t tmpfs -o size=50m none /mnt && cp -a .codeguard /mnt/s && mount -o remount,ro /mnt && "$@"'
    )
    namespace = ("unshare", "-rm", "sh", "-c", script, "sh", sys.executable, "-P", "-m", "codeguard")
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no user namespaces here")
    for words in ((*INDEX, "--store", "/mnt/s"), ("query", "add", "--store", "/mnt/s")):
        one_line(run(corpus, *words, before=namespace))
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("words", [INDEX, ("query", "add"), ("store", "verify")])
def test_a_store_of_another_version_is_one_line_and_stays_as_it_is(
    indexed: Path, words: tuple[str, ...]
) -> None:
    corpus = indexed
    catalog = corpus / ".codeguard" / "catalog.sqlite3"
    db = sqlite3.connect(catalog)
    db.execute("PRAGMA user_version = 97")
    db.close()
    before = catalog.read_bytes()
    assert "another version" in one_line(run(corpus, *words))
    assert catalog.read_bytes() == before
