"""Started in a folder full of planted modules, no command and no process of it runs one."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
SAFE = {
    "codeguard": (str(BIN / "codeguard"),),
    "python -P -m codeguard": (sys.executable, "-P", "-m", "codeguard"),
    "python -I -m codeguard": (sys.executable, "-I", "-m", "codeguard"),
}
PACKAGES = (
    "chromadb", "click", "codeguard", "cryptography", "distributed", "filelock", "httpx", "jinja2",
    "markupsafe", "mcp", "nltk", "numpy", "onnxruntime", "openvino", "pathspec", "platformdirs", "pydantic",
    "pydantic_settings", "RestrictedPython", "securesystemslib", "tokenizers", "tree_sitter",
    "tree_sitter_c", "tree_sitter_javascript", "tree_sitter_python", "uvicorn", "yaml",
)  # fmt: skip
OURS = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
WRONG = 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n'
Commands = tuple[tuple[tuple[str, ...], int], ...]
COMMANDS: Commands = (
    (("audit", "theirs", "--trust", "ours"), 1),
    (("check", "theirs/x.py", "--against", "ours/m.py"), 1),
    (("index", "ours", "theirs", "--trust", "ours", "--embedding", "lexical"), 0),
    (("query", "add two numbers"), 0),
    (("doctor",), 0),
    (("mcp",), 0),
)
# Tells of each process that is started, and makes so many of them that every kind is.
DRIVER = """
import sys
told = open(sys.argv.pop(1), "a")
sys.addaudithook(
    lambda event, words: event == "subprocess.Popen" and print(words[2], words[1], file=told, flush=True)
)
import codeguard.audit.inspection, codeguard.index.file_tasks, codeguard.index.pipeline
codeguard.audit.inspection.WORTH_A_PROCESS = codeguard.index.pipeline.BYTES_A_POOL = 1
codeguard.index.file_tasks.BATCH = codeguard.index.file_tasks.BATCH._replace(items=2)
from codeguard.cli import main
main(prog_name="codeguard")
"""


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Return a project with a trap under the name of every module, and whatever else Python looks for."""
    folder, ran = tmp_path / "project", tmp_path / "ran"
    ran.mkdir()
    trap = f"open({str(ran)!r} + '/' + __name__.replace('.', '_'), 'w').close()\nraise SystemExit(99)\n"
    files = {
        "ours/m.py": OURS,
        "theirs/x.py": WRONG,
        "theirs/a.c": "int add(int a, int b) { return a + b; }\n",
        "theirs/a.js": "function add(a, b) { return a + b }\n",
        **{f"theirs/f{number}.py": f"def f{number}(x):\n    return x + {number}\n" for number in range(8)},
        **{f"{name}.py": trap for name in sys.stdlib_module_names},
        **{f"{name}/__init__.py": trap for name in (*PACKAGES, "json", "sqlite3", "importlib", "encodings")},
        "codeguard/__main__.py": trap,
        **{f"{name}.py": trap for name in ("sitecustomize", "usercustomize", "conftest", "setup")},
        "planted.pth": f"import sys; {trap.splitlines()[0].replace('__name__', repr('pth'))}\n",
        "site-packages/planted.pth": f"import sys; {trap.splitlines()[0].replace('__name__', repr('pth'))}\n",
        "pyvenv.cfg": f"home = {folder}\ninclude-system-site-packages = true\n",
        "python._pth": "import site\n.\n",
        ".env": "CHROMA_PRODUCT_TELEMETRY_IMPL=json.Trap\nCHROMA_API_IMPL=json.Trap\nPYTHONPATH=.\nMCP_DEBUG=1\n",
        "setup.cfg": "[codeguard]\nignore = audit\n",
        "pyproject.toml": "[tool.codeguard]\nstore = 'elsewhere'\n",
        ".pdbrc": "import json\n",
        ".python-version": "0.0\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        words, cwd=folder, env=environment, input="", capture_output=True, text=True, timeout=300, check=False
    )


def ran(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder.parent / "ran").iterdir())


def runs_none(planted: Path, start: str, commands: Commands) -> None:
    for words, code in commands:
        if words[0] == "mcp":
            pytest.importorskip("mcp")
        done = run(planted, *SAFE[start], *words)
        assert done.returncode == code, (words, done.stderr, done.stdout)
        assert ran(planted) == [], words


@pytest.mark.parametrize("start", SAFE)
def test_a_check_runs_no_planted_module(planted: Path, start: str) -> None:
    runs_none(planted, start, COMMANDS[1:2])


@pytest.mark.slow
@pytest.mark.parametrize("start", SAFE)
def test_nor_does_any_command_however_it_is_started(planted: Path, start: str) -> None:
    runs_none(planted, start, COMMANDS)


@pytest.mark.slow
def test_no_process_that_is_started_runs_one(planted: Path, tmp_path: Path) -> None:
    configuration = Path(os.environ["XDG_CONFIG_HOME"]) / "codeguard" / "config.toml"
    configuration.write_text("jobs = 1\n")
    log = tmp_path / "started"
    for words, code in COMMANDS[:4]:
        if words[0] in ("audit", "index"):
            words = (*words, "--jobs", "2")
        done = run(planted, sys.executable, "-P", "-c", DRIVER, str(log), *words)
        assert done.returncode == code, (words, done.stderr, done.stdout)
    assert ran(planted) == []
    started = log.read_text()
    assert {line.split()[0] for line in started.splitlines()} == {"/"}, started
    for process in ("sandbox/inside/boot.py", "codeguard.workers.processes"):
        assert process in started, started


def test_processes_are_started_in_few_places_and_interpreters_in_one() -> None:
    """The others start git."""
    start = re.compile(
        r"subprocess\.(?:run|Popen|call|check_\w+|get\w+)|os\.(?:exec[lv]\w*|spawn\w+|posix_spawn\w*|system|popen)"
        r"|asyncio\.create_subprocess_\w+|pty\.spawn"
    )
    found = {
        path.relative_to(ROOT / "codeguard").as_posix()
        for path in (ROOT / "codeguard").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call) and start.fullmatch(ast.unparse(node.func))
    }
    assert found == {"interpreter.py", "corpus/git.py"}


def test_with_m_alone_the_current_folder_runs_first(planted: Path) -> None:
    """What the documentation warns of, and the proof that the traps are traps."""
    run(planted, sys.executable, "-m", "codeguard", "rules")
    assert ran(planted) != []
