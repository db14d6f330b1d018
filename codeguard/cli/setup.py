"""`codeguard setup` and `codeguard hook`: connect an assistant, and check what it is about to read."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from codeguard.cli.output import (
    EXIT_ERROR,
    STORE,
    own_command,
    read_settings,
    say,
    say_block,
    warn,
)
from codeguard.errors import ConfigError, NothingToDoError

LONGEST = 1 << 20  # bytes of a client's configuration
LONGEST_CALL = 64 << 20  # bytes that a client says of the file that it is about to read
_HOOK = re.compile(r'"[^"]* -m codeguard [^"]*hook"')


def _desktop() -> str:
    """Return the file of Claude Desktop on this system."""
    folder = {"darwin": "Library/Application Support", "win32": "AppData/Roaming"}.get(
        sys.platform, ".config"
    )
    return f"~/{folder}/Claude/claude_desktop_config.json"


def _clients(server: Mapping[str, Any], hook: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return what each client needs in which JSON files, in the project or (`~`) in the home directory."""
    own = {"mcpServers": {"codeguard": server}}
    before_read = {"matcher": "Read", "hooks": [{"type": "command", "command": hook}]}
    return {
        "claude": {
            ".mcp.json": own,
            ".claude/settings.local.json": {"hooks": {"PreToolUse": [before_read]}},
        },
        "claude-desktop": {_desktop(): own},
        "cursor": {
            ".cursor/mcp.json": own,
            ".cursor/hooks.json": {"version": 1, "hooks": {"beforeReadFile": [{"command": hook}]}},
        },
        "vscode": {".vscode/mcp.json": {"servers": {"codeguard": {"type": "stdio", **server}}}},
        "gemini": {".gemini/settings.json": own},
        "windsurf": {"~/.codeium/windsurf/mcp_config.json": own},
    }


@click.command()
@click.argument("client", type=click.Choice(list(_clients({}, ""))))
@STORE
@click.option("--print", "only_print", is_flag=True, help="Show what would be written, and write nothing.")
@click.option(
    "--no-hook", is_flag=True, help="Leave out the check of each file before the assistant reads it."
)
@click.option("--yes", is_flag=True, help="Write without asking.")
def setup(client: str, store: str | None, only_print: bool, no_hook: bool, yes: bool) -> None:
    """Connect an assistant to the index of this folder, in the assistant's own configuration.

    Shows what is added to which file, asks, and leaves everything else in the file as it is. Where the client offers
    hooks, each file is audited before the assistant reads it.
    """
    from codeguard.trust.state_files import write_atomically

    project = Path.cwd()
    command = own_command()
    place = [] if store is None else ["--store", store if "://" in store else str(Path(store).absolute())]
    server = {"command": command[0], "args": [*command[1:], "mcp", "--root", str(project), *place]}
    planned = []
    for file, wanted in _clients(server, shlex.join([*command, "hook"]))[client].items():
        if no_hook and "hooks" in wanted:
            continue
        path = _inside(file, project)
        before = _read(path)
        if (after := _merged(before, path, wanted)) is None:
            say(f"{path}: nothing to do, it is there")
            continue
        instead = ", instead of its entry codeguard" if b'"codeguard":' in before else ""
        say(f"{path}{instead}:")
        say_block(json.dumps(wanted, indent=2))
        planned.append((path, before, after))
    if only_print or not planned:
        return
    if not yes and not click.confirm(
        f"add this to {' and '.join(str(path) for path, _, _ in planned)}?", err=True
    ):
        raise ConfigError("nothing was written", got="no", expected="yes, or the option --yes")
    for path, before, after in planned:
        if _read(path) != before:
            raise ConfigError(f"{path} was changed meanwhile", hint="run the same command again")
        write_atomically(path, after, path.stat().st_mode & 0o777 if before else 0o600)
        say(f"written: {path}")
    if not read_settings(store=store).state.exists():
        warn("there is no index yet; next: codeguard index PATH… --trust PATH")
    if find_spec("mcp") is None:
        from codeguard.extras import installation, requirement

        warn(f"the assistant's server needs one more package: {installation(requirement('mcp'))}")


def _inside(file: str, project: Path) -> Path:
    """Return the path of a client's file; raise ConfigError if a link leads it out of its folder."""
    base = Path.home() if file.startswith("~") else project
    path = (base / file.removeprefix("~/")).resolve()
    if not path.is_relative_to(base.resolve()):
        raise ConfigError(f"{base / file}", got=f"a link to {path}", expected=f"a file in {base}")
    return path


def _read(path: Path) -> bytes:
    """Return the content of a file, empty if there is none."""
    from codeguard.trust.state_files import read_limited

    return read_limited(path, LONGEST) if os.path.lexists(path) else b""


def _merged(data: bytes, path: Path, wanted: Mapping[str, Any]) -> bytes | None:
    """Return the JSON file with what is wanted added, None if it has it.

    Raises:
        ConfigError: it is no JSON (with comments, for example), or holds something else where that belongs.
    """
    hint = "--print shows what to add by hand"
    try:
        whole = json.loads(data, object_pairs_hook=_once) if data.strip() else {}
        before = json.dumps(whole, allow_nan=False)
        _merge(whole, wanted)
        if json.dumps(whole) == before:
            return None
        found = re.search(rb'\n([ \t]+)"', data)
        indent = found[1].decode() if found else "  "
        return json.dumps(whole, indent=indent, ensure_ascii=data.isascii()).encode() + b"\n"
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path} cannot be added to", got=str(error), expected="plain JSON of this client", hint=hint
        ) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(found := dict(pairs)) != len(pairs):
        raise ValueError("a key that is there twice")
    return found


def _merge(there: Any, wanted: Mapping[str, Any], place: str = "") -> None:
    """Add what is wanted to an object in place; raise ValueError if something else is there."""
    if not isinstance(there, dict):
        raise ValueError(f"something else at {place}")
    for key, value in wanted.items():
        at = f"{place}.{key}".lstrip(".")
        if key == "codeguard":
            there[key] = value
        elif isinstance(value, dict):
            _merge(there.setdefault(key, {}), value, at)
        elif isinstance(value, list):
            if not isinstance(items := there.setdefault(key, []), list):
                raise ValueError(f"something else at {at}")
            forms = [_form(item) for item in items]
            for item in value:
                if (form := _form(item)) in forms:
                    items[forms.index(form)] = item
                else:
                    items.append(item)
        else:
            there.setdefault(key, value)


def _form(item: Any) -> str:
    """Return a hook as text, without the interpreter that runs it, which an update may change."""
    return _HOOK.sub('"hook"', json.dumps(item, sort_keys=True))


@click.command()
def hook() -> None:
    """Audit the file that an assistant is about to read, which its client names in JSON on stdin.

    `codeguard setup` writes it into the client's configuration. Exit code 2, with the findings on stderr, blocks the
    reading: what was found fails an audit, or the file could not be audited.
    """
    from codeguard.cli.audit import audit

    data = sys.stdin.buffer.read(LONGEST_CALL + 1)
    try:
        asked = json.loads(data) if len(data) <= LONGEST_CALL else {}
        path = Path(os.fspath(asked.get("tool_input", asked)["file_path"]))
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        raise ConfigError("the call of the hook", got="no file_path", expected="JSON of the client") from None
    try:
        with contextlib.redirect_stdout(sys.stderr):
            click.get_current_context().invoke(audit, paths=(path,), no_behavior=True)
    except NothingToDoError as error:
        warn(str(error))
    except (SystemExit, KeyboardInterrupt):
        sys.exit(EXIT_ERROR)
