"""What an audit loads, and what it never runs of the tree that it looks at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from audit_helpers import CLEAN, FLAGGED, GOOD, WRONG, write
from in_process import codeguard

pytestmark = pytest.mark.ci

HEAVY = (
    "chromadb", "onnxruntime", "tokenizers", "sklearn", "codeguard.index.embedding", "codeguard.index.store",
    "codeguard.analysis.perplexity", "codeguard.index.pipeline", "codeguard.api", "cryptography", "securesystemslib",
)  # fmt: skip
STATIC_ONLY = (*HEAVY, "codeguard.behavior", "codeguard.index.workspace", "sqlite3", "importlib.metadata")
RUNS = (
    "codeguard.behavior.verdict.checker",
    "codeguard.behavior.specs.library",
    "codeguard.sandbox",
    "doctest",
)
SHOW = "import sys; from codeguard.cli import main; sys.argv = ['codeguard', *sys.argv[1:]]\n"
SHOW += "try: main()\nexcept SystemExit: pass\nprint('LOADED', *sorted(sys.modules))"


def loaded(*words: str, cwd: Path, state: Path | None = None) -> set[str]:
    kept = {} if state is None else {"XDG_STATE_HOME": str(state), "XDG_CONFIG_HOME": str(state)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", SHOW, *words],
        cwd=cwd,
        env={**os.environ, **kept},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return set(done.stdout.rpartition("LOADED ")[2].split())


@pytest.mark.parametrize(
    ("words", "never"),
    [
        (("audit", "m.py", "--no-behavior"), STATIC_ONLY),
        (("audit", "m.py"), HEAVY),
        (("audit", "m.py", "--trust", "ours"), HEAVY),
        (("rules",), STATIC_ONLY),
        (("explain", "audit.baseline"), STATIC_ONLY),
        (
            ("audit", "--help"),
            (*STATIC_ONLY, "numpy", "tree_sitter", "codeguard.audit.run", "codeguard.config"),
        ),
    ],
)
def test_nothing_heavy_is_loaded(project: Path, words: tuple[str, ...], never: tuple[str, ...]) -> None:
    write(project, {"m.py": CLEAN, "ours/n.py": CLEAN})
    assert loaded(*words, cwd=project) & set(never) == set()


@pytest.mark.slow
def test_what_runs_code_is_loaded_only_where_evidence_is_missing(project: Path, tmp_path: Path) -> None:
    write(project, {"m.py": WRONG, "ours/n.py": GOOD})
    words = ("audit", "m.py", "--trust", "ours")
    first = loaded(*words, cwd=project, state=tmp_path)
    again = loaded(*words, cwd=project, state=tmp_path)
    assert (
        "codeguard.index.evidence_tasks" in first - again
    )  # a worker process loads the rest, the sandbox tells its level
    assert again & {*RUNS, *HEAVY} == set()


SPREAD = """
import sys
from functools import partial
from pathlib import Path
from codeguard.analysis.rules import load_file_signals
from codeguard.audit.inspection import Source, inspect_all
from codeguard.corpus.discovery import discover, read_file
from codeguard.index import file_tasks
from codeguard.workers.processes import open_executor
from codeguard.workers.tasks import Shared
if __name__ == "__main__":
    file_tasks.BATCH = file_tasks.BATCH._replace(items=2)
    files = [
        Source(item.name, item.size, partial(read_file, item)) for item in discover([Path(sys.argv[1])]).files
    ]
    names = [item.name for item in load_file_signals()]
    shared = Shared.of_values(file_tasks.compared(None, names))
    with open_executor(int(sys.argv[2]), fork=sys.argv[3] == "fork") as executor:
        for item in inspect_all(files, executor, shared, names):
            print(item.name, *sorted(found.rule for found in item.findings))
"""


def spread(path: str, *, jobs: int, cwd: Path, how: str = "fork") -> list[str]:
    """Inspect a folder in worker processes, however small it is; return a line for each file."""
    words = [sys.executable, "-P", "-c", SPREAD, path, str(jobs), how]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


NAMES = ("signal", "multiprocessing", "re", "codeguard", "tree_sitter", "sitecustomize", "numpy", "ast")


@pytest.mark.parametrize("safe", [True, False], ids=["PYTHONSAFEPATH", "without it"])
@pytest.mark.parametrize("how", ["fork", "fresh"])
def test_worker_processes_import_nothing_from_the_audited_tree(
    project: Path, safe: bool, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = project / "ran"
    trap = f"open({str(marker)!r}, 'w').close()\nraise SystemExit(1)\n"
    write(project, {f"{name}.py": trap for name in NAMES})
    write(project, {f"m{number}.py": CLEAN for number in range(30)})
    monkeypatch.setenv("PYTHONSAFEPATH", "1" if safe else "")
    told = spread(".", jobs=2, cwd=project, how=how)
    assert not marker.exists()
    assert len(told) == 38


@pytest.mark.slow
def test_several_processes_find_what_one_does(project: Path) -> None:
    write(project, {f"m{number:02}.py": CLEAN + FLAGGED for number in range(30)})
    one, two = spread(".", jobs=1, cwd=project), spread(".", jobs=2, cwd=project)
    assert one == two == spread(".", jobs=2, cwd=project, how="fresh")
    assert all("audit.inline-ignore" in line for line in one)


def test_nothing_of_the_tree_is_run_or_configures(project: Path) -> None:
    marker = project / "ran"
    write(
        project,
        {
            "m.py": f"open({str(marker)!r}, 'w').close()\n",
            "setup.py": f"open({str(marker)!r}, 'w').close()\n",
            "pyproject.toml": "[tool.codeguard]\nignore = ['audit']\n",
            "config.toml": "[defense]\ndisabled_signals = ['audit']\n",
            ".bandit": "[bandit]\nskips: B101\n",
            "x.py": FLAGGED,
        },
    )
    done = codeguard("audit", ".", "--no-behavior", "--select", "audit", cwd=project)
    assert (done.returncode, "audit.inline-ignore" in done.stdout) == (1, True)
    assert not marker.exists()


def test_an_index_of_another_hand_makes_nothing_trusted(project: Path, tmp_path: Path) -> None:
    write(project, {"m.py": "# codeguard: ignore[audit] ours\n" + CLEAN})
    theirs = {"XDG_CONFIG_HOME": str(tmp_path / "theirs")}
    words = ("index", "m.py", "--trust", "m.py", "--embedding", "lexical")
    assert codeguard(*words, cwd=project, **theirs).returncode == 0
    mine = {"XDG_CONFIG_HOME": str(tmp_path / "mine")}
    done = codeguard("audit", "m.py", "--no-behavior", "--select", "audit", cwd=project, **mine)
    assert (done.returncode, "not of this installation" in done.stderr) == (1, True), done.stdout
    assert "audit.inline-ignore" in done.stdout
