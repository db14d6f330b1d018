"""Every entry is in the list of `entries.py`, and SECURITY.md holds the table that the list makes."""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import click
import pytest
from entries import BEGIN, END, ENTRIES, PROMISES, SECURITY, table
from running import ACTION, HOOKS

from codeguard.cli import main

PACKAGE = Path(__file__).parents[2] / "codeguard"
CLASSES = {
    "api.py": ("CodeGuard",),
    "behavior/verdict/checker.py": ("BehaviorChecker",),
    "ranking/defense.py": ("DefenseManager",),
    "ranking/evaluation.py": ("DefenseEvaluator",),
    "integrations/chroma.py": ("GuardedClient", "GuardedCollection"),
    "integrations/documents.py": ("DocumentJudge", "Retrieval"),
}


def names(*groups: str) -> set[str]:
    return {entry.name for entry in ENTRIES if entry.group in groups}


def commands(command: click.Command, words: str = "codeguard") -> Iterator[str]:
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            yield from commands(part, f"{words} {name}")
    else:
        yield words


def methods(path: str) -> Iterator[tuple[str, str]]:
    """Yield the public methods and properties of the public classes of a file."""
    for item in ast.parse((PACKAGE / path).read_text()).body:
        if isinstance(item, ast.ClassDef) and not item.name.startswith("_"):
            for part in item.body:
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and not part.name.startswith("_"):
                    yield item.name, part.name


def test_commands() -> None:
    lazy = click.Context(main)
    loaded = {name: main.get_command(lazy, name) for name in main.list_commands(lazy)}
    found = {words for name, part in loaded.items() if part for words in commands(part, f"codeguard {name}")}
    assert found == names("command")


def test_hooks_and_steps_of_the_action() -> None:
    assert {f"hook {hook['id']}" for hook in HOOKS} == names("hook")
    scripts = [step["name"] for step in ACTION["runs"]["steps"] if "run" in step]
    assert {f"Action: {name}" for name in scripts} == names("Action")


def test_what_the_assistant_is_offered() -> None:
    pytest.importorskip("mcp.server.mcpserver")
    from mcp import Client

    from codeguard.integrations.mcp import make_server

    async def offered() -> set[str]:
        async with Client(make_server(cast(Any, None))) as client:
            assert not (await client.list_prompts()).prompts
            assert not (await client.list_resources()).resources
            return {item.name for item in (await client.list_tools()).tools}

    assert asyncio.run(offered()) == names("MCP")


def test_routes() -> None:
    source = (PACKAGE / "integrations" / "web.py").read_text()
    assert set(re.findall(r'"(/[\w.]*)"', source)) == names("serve")


def test_classes_of_the_library() -> None:
    found = {
        f"{class_}.{name}"
        for path, classes in CLASSES.items()
        for class_, name in methods(path)
        if class_ in classes
    }
    assert found == names("Python", "Chroma")


def test_adapters() -> None:
    """A file of an adapter has no other public class, and there is no other file with one."""
    known = {path for path in CLASSES if path.startswith("integrations/")}
    adapters = set()
    for path in sorted((PACKAGE / "integrations").glob("*.py")):
        classes = [item for item in ast.parse(path.read_text()).body if isinstance(item, ast.ClassDef)]
        if f"integrations/{path.name}" not in known and path.stem not in ("mcp", "web"):
            adapters |= {f"{path.stem}.{item.name}" for item in classes if not item.name.startswith("_")}
    assert adapters == names("frameworks")


def test_no_entry_is_named_twice_and_every_reason_is_of_a_promise() -> None:
    assert len({(entry.group, entry.name) for entry in ENTRIES}) == len(ENTRIES)
    assert {promise for entry in ENTRIES for promise in entry.leaves_out} <= PROMISES.keys()
    ran = [entry for entry in ENTRIES if len(entry.leaves_out) < len(PROMISES)]
    assert all(entry.runs or entry.family or entry.group in ("hook", "Action") for entry in ran)


def test_the_table_of_the_documentation() -> None:
    text = SECURITY.read_text().partition(BEGIN)[2].partition(END)[0]
    assert text == table(), "python tests/invariants/entries.py writes it"
