"""One answer of several indexes, and indexes that follow the disk while they are in use."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codeguard.api import CodeGuard
from codeguard.cli import main
from codeguard.cli.serve import Refreshed
from codeguard.config import Settings

OURS = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
WRONG = 'def add(x, y):\n    """Add two numbers, the official way."""\n    return x - y\n'
ELSEWHERE = (
    'def add_two(first, second):\n    """Add two numbers, first and second."""\n    return first + second\n'
)
FAR = 'def shout(text):\n    """Return a text in capital letters."""\n    return text.upper()\n'
QUERY = "add two numbers"


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One project with its own code and a wrong copy, another beside it; the first is the working directory."""
    texts = {"a/ours/m.py": OURS, "a/theirs/m.py": WRONG, "b/lib/m.py": ELSEWHERE, "b/lib/n.py": FAR}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name, paths in {"b": ["lib"], "a": ["ours", "theirs", "--trust", "ours"]}.items():
        monkeypatch.chdir(tmp_path / name)
        done = run("index", *paths, "--embedding", "lexical", "--jobs", "1")
        assert done.exit_code == 0, done.output
    return tmp_path / "a"


def answer(*words: str) -> dict[str, Any]:
    done = run("query", QUERY, "--format", "json", *words)
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_several_stores_give_one_answer_with_the_verdicts_of_each(projects: Path) -> None:
    both = answer("--store", ".codeguard", "--store", "../b/.codeguard")
    assert [(item["path"], item["trust"], item["convicted"]) for item in both["results"]] == [
        ("ours/m.py", "trusted", False),
        ("../b/lib/m.py", "unlisted", False),
        ("../b/lib/n.py", "unlisted", False),
        ("theirs/m.py", "unlisted", True),
    ]
    assert [item["rank"] for item in both["ranking"]] == [1, 2, 3, 4]
    assert both["store"] == ".codeguard, ../b/.codeguard"
    for store, paths in {
        ".codeguard": "a",
        "../b/.codeguard": "b",
    }.items():  # in the order that each has alone
        alone = [item["sha256"] for item in answer("--store", store)["ranking"]]
        assert [item["sha256"] for item in both["ranking"] if item["sha256"] in alone] == alone, paths
    assert answer("--store", ".codeguard", "--store", ".codeguard") == answer()
    dropped = answer("--store", ".codeguard", "--store", "../b/.codeguard", "--mode", "drop")["dropped"]
    assert [item["path"] for item in dropped] == ["theirs/m.py"]


def test_nothing_of_two_stores_depends_on_the_order_in_which_they_are_named(projects: Path) -> None:
    one = answer("--store", ".codeguard", "--store", "../b/.codeguard")["ranking"]
    other = answer("--store", "../b/.codeguard", "--store", ".codeguard")["ranking"]
    assert [(item["path"], item["score"]) for item in one] == [
        (item["path"], item["score"]) for item in other
    ]


def test_stores_that_cannot_answer_together_are_named(projects: Path) -> None:
    assert run("index", "ours", "--store", "other", "--embedding", "static", "--jobs", "1").exit_code == 0
    done = run("query", QUERY, "--store", ".codeguard", "--store", "other")
    assert done.exit_code == 2
    assert "cannot answer together" in done.stderr
    assert "other" in done.stderr
    missing = run("query", QUERY, "--store", ".codeguard", "--store", "nowhere")
    assert (missing.exit_code, missing.stdout) == (2, "")
    assert "nowhere" in missing.stderr


def test_an_assistant_searches_and_reads_several_repositories(projects: Path) -> None:
    pytest.importorskip("mcp.server.mcpserver")
    from mcp import Client

    from codeguard.integrations.mcp import make_server

    asked = []

    async def talk(server: Any) -> tuple[Any, Any, Any]:
        async with Client(server) as client:
            found = await client.call_tool("search_code", {"query": QUERY})
            read = [await client.call_tool("read", {"path": path}) for path in ("../b/lib/m.py", "ours/m.py")]
            return found.structured_content, *(item.structured_content for item in read)

    with CodeGuard.open(".codeguard") as first, CodeGuard.open("../b/.codeguard") as second:
        found, theirs, ours = asyncio.run(talk(make_server(first, second, refresh=lambda: asked.append(1))))
    assert [item["path"] for item in found["results"]] == ["ours/m.py", "../b/lib/m.py", "../b/lib/n.py"]
    assert found["left_out"]["count"] == 1
    assert ELSEWHERE.strip() in theirs["parts"][0]["text"]
    assert ours["parts"][0]["trust"] == "trusted"
    assert len(asked) == 3


def test_an_index_in_use_follows_the_disk(projects: Path) -> None:
    (projects / "theirs" / "new.py").write_text(ELSEWHERE)
    settings = Settings(store=".codeguard")
    with CodeGuard.open(settings=settings) as guard:
        refreshed = Refreshed([guard], None)
        assert len(refreshed.start()) == 1
        assert not refreshed.start()  # not while it is at work, nor right after
        assert [process.wait(60) for process in refreshed.running] == [0]
        assert "theirs/new.py" in {item.chunk.path for item in guard.query(QUERY).results}


def test_watch_indexes_what_changes_until_it_is_interrupted(projects: Path) -> None:
    words = [sys.executable, "-m", "codeguard", "index", "--watch", "0.1", "--format", "json", "--jobs", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["added"] == 0
        (projects / "theirs" / "new.py").write_text(ELSEWHERE)
        assert json.loads(process.stdout.readline())["added"] == 1
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode in (1, 130), told
    assert "Traceback" not in told
