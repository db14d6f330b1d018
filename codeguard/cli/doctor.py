"""`codeguard doctor`."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from codeguard import __version__
from codeguard.cli.output import EXIT_ERROR, FORMAT, STORE, read_settings, say, say_json
from codeguard.extras import DISTRIBUTION, installation, missing_extra, requirement

if TYPE_CHECKING:
    from codeguard.config import Settings

PACKAGES = "chromadb click numpy RestrictedPython tree-sitter tree-sitter-python tokenizers"


@click.command()
@STORE
@FORMAT
def doctor(store: str | None, format_: str) -> None:
    """Show what works on this machine: sandbox layers, embedding, store, versions.

    Exit code 2: there is an index, and it cannot be read.
    """
    from codeguard.sandbox import Level, Sandbox, advice

    settings = read_settings(store=store)
    required = settings.defense.required_level
    with Sandbox(Level[required]) as sandbox:
        level, layers = sandbox.level, sandbox.layers()
    owners = packages_distributions().get("codeguard", [])
    facts: dict[str, Any] = {
        "schema": "codeguard.doctor/1",
        "codeguard": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "sandbox": {
            "level": level.name,
            "required": required,
            "tests_run": level >= Level[required],
            "layers": [
                {"name": item.name, "engaged": item.engaged, "detail": item.detail} for item in layers
            ],
            "advice": advice(level, layers),
        },
        "modules": _modules(settings.defense.modules),
        "embeddings": _embeddings(),
        "store": _store(settings),
        "packages": {name: _version(name) for name in PACKAGES.split()},
        # Others that put files into our import package, as the one called codeguard does.
        "other_distributions": sorted({owner for owner in owners if owner != DISTRIBUTION}),
    }
    if format_ == "json":
        say_json(facts)
    else:
        _show(facts)
    if facts["store"].get("damaged"):
        sys.exit(EXIT_ERROR)


def _modules(paths: Sequence[str]) -> list[dict[str, Any]]:
    """Return whether each module that the configuration names can be imported in the sandbox, and why not."""
    from codeguard.errors import SandboxError
    from codeguard.sandbox import Job, Sandbox, Status, Tier, read_given

    if not paths:
        return []
    try:
        given = read_given(paths)
    except SandboxError as error:
        return [{"name": "all", "available": False, "detail": str(error)}]
    names = [Path(path).stem for path in paths]
    with Sandbox(given=given, workers=1) as sandbox:
        results = sandbox.run_many([Job(f"import {name}", (), Tier.NATIVE) for name in names])
        return [
            {"name": name, "available": result.status is Status.COMPLETED, "detail": result.detail}
            for name, result in zip(names, results, strict=True)
        ]


def _embeddings() -> list[dict[str, Any]]:
    try:
        from codeguard.index.embedding import available_embeddings
    except ImportError as error:
        if (extra := missing_extra(error)) is None:
            raise
        return [{"name": "all", "available": False, "detail": installation(requirement(extra))}]
    return [{"name": i.name, "available": i.available, "detail": i.detail} for i in available_embeddings()]


def _store(settings: Settings) -> dict[str, Any]:
    from contextlib import closing

    from codeguard.errors import CodeguardError, NoIndexError
    from codeguard.index.workspace import Workspace

    try:
        with closing(Workspace(settings)) as workspace:
            catalog = workspace.catalog
            return {
                "place": settings.store,
                "state": "readable",
                "files": len(catalog.files()),
                "chunks": len(catalog.ids()),
                "embedding": catalog.meta("embedding"),
                "chunker": catalog.meta("chunker"),
                "unfinished_writes": bool(catalog.intents()),
            }
    except NoIndexError as error:
        return {"place": settings.store, "state": str(error)}
    except CodeguardError as error:
        return {"place": settings.store, "state": str(error), "damaged": True}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _say_items(items: Sequence[Mapping[str, Any]], key: str, yes: str, no: str) -> None:
    """Say a line about each part, wrapped to the terminal."""
    for item in items:
        head = f"  {yes if item[key] else no:<11}  {item['name']:<18} "
        width, indent = shutil.get_terminal_size().columns, " " * len(head)
        for line in wrap(head + item["detail"], width, subsequent_indent=indent, break_on_hyphens=False):
            say(line)


def _to_do(facts: dict[str, Any]) -> list[str]:
    """Return what to do before codeguard works in full, the most important first."""
    sandbox, store = facts["sandbox"], facts["store"]
    found = [
        f"{name} of somebody else is installed into the same folder: pip uninstall {name}, then install this one anew"
        for name in facts["other_distributions"]
    ]
    if not sandbox["tests_run"]:
        found += [f"functions are not tested: reach {line}" for line in sandbox["advice"]]
    if store.get("damaged"):
        found.append(str(store["state"]))
    found += [
        f"module {item['name']}: {item['detail']}" for item in facts["modules"] if not item["available"]
    ]
    if not any(item["available"] for item in facts["embeddings"]):
        found += [f"index and query need an embedding: {item['detail']}" for item in facts["embeddings"][:1]]
    return found


def _show(facts: dict[str, Any]) -> None:
    sandbox, to_do = facts["sandbox"], _to_do(facts)
    state = "tests run" if sandbox["tests_run"] else "BELOW THE REQUIRED LEVEL: nothing is tested"
    say("to do" if to_do else "to do      nothing: everything works")
    for line in to_do:
        say(f"  {line}")
    say(f"sandbox    {sandbox['level']} (required {sandbox['required']}): {state}")
    _say_items(sandbox["layers"], "engaged", "engaged", "NOT ENGAGED")
    for line in sandbox["advice"]:
        say(f"  to reach {line}")
    for part, title in (("modules", "modules"), ("embeddings", "embedding")):
        if facts[part]:
            say(title)
        _say_items(facts[part], "available", "available", "missing")
    store = {key: value for key, value in facts["store"].items() if key != "damaged"}
    say(f"store      {store.pop('place')}: {store.pop('state')}")
    for key, value in store.items():
        say(f"  {key}: {value}")
    say(f"versions   codeguard {facts['codeguard']}, Python {facts['python']}, {facts['platform']}")
    for name, number in facts["packages"].items():
        say(f"  {name} {number or 'not installed'}")
