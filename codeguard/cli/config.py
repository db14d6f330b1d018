"""`codeguard config` and `init`: the settings in force, and what is the team's own in a folder, once confirmed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from codeguard.cli.output import FORMAT, STORE, read_settings, say, say_json, warn
from codeguard.corpus.patterns import stored
from codeguard.errors import ConfigError, NothingToDoError

KEYS: Mapping[str, str] = stored(Path(__file__).with_suffix(".toml"))  # each key's meaning in one line


@click.group()
def config() -> None:
    """Show the effective configuration.

    It is read from config.toml in your configuration directory or from --config FILE, never from the code that is
    indexed or audited.
    """


@config.command("show")
@FORMAT
def show(format_: str) -> None:
    """Show every setting with its value, and which differ from the default."""
    from codeguard.config import Settings

    settings = read_settings()
    values, defaults = settings_table(settings), settings_table(Settings())
    if format_ == "json":
        source = str(settings.config_file)
        say_json({"schema": "codeguard.config/1", "source": source, "settings": values})
        return
    place = settings.config_file
    say(f"from {place}" + ("" if place.exists() else " (there is none: defaults)"))
    for key, value in values.items():
        mark = "*" if value != defaults[key] else " "
        say(f"{mark} {key} = {as_toml(value)}")


def add_table(place: Path, name: tuple[str, str], text: str) -> None:
    """Add the table `[first."second"]`, given as TOML, to the end of a configuration file, and create it if needed.

    Raises ConfigError, and changes nothing, if the table is there or the file would not be TOML afterwards.
    """
    import tomllib

    from codeguard.trust.state_files import write_atomically

    before = place.read_text(encoding="utf-8") if place.exists() else ""
    after = f"{before.rstrip()}\n\n{text}".lstrip()
    try:
        if name[1] in tomllib.loads(before).get(name[0], {}):
            raise ValueError(f"a table for {name[1]}")
        tomllib.loads(after)
    except (ValueError, AttributeError) as error:
        raise ConfigError(
            f"{place} cannot be added to", got=str(error), expected="TOML without it", hint="edit it by hand"
        ) from None
    # It may hold secrets, so nobody else may read it who could not before.
    write_atomically(place, after.encode(), place.stat().st_mode & 0o777 if before else 0o600)


def settings_table(settings: Any) -> dict[str, Any]:
    """Return every key of the configuration with its value, in the order of the table above."""
    found: dict[str, Any] = {}
    for key in KEYS:
        part, _, name = key.rpartition(".")
        value = getattr(getattr(settings, part) if part else settings, name)
        if key == "defense.weights":
            value = dict(value.overrides)
        found[key] = (
            list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value
        )
    return found


def as_toml(value: Any) -> str:
    """Return a value as TOML; a setting without a default becomes an empty string."""
    if value is None:
        return '""'
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{json.dumps(key)} = {as_toml(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return json.dumps(value, ensure_ascii=False)


_ELSEWHERE = re.compile(
    r"(?i)(third|3rd)[-_]?party|vendor(ed)?|external|node_modules|deps|snippets|forks?|contrib"
)


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@STORE
@click.option("--yes", is_flag=True, help="Trust PATHS without asking; they have to be named.")
def init(paths: tuple[Path, ...], store: str | None, yes: bool) -> None:
    """Propose what is your own in this folder, and trust it in your configuration once you confirm.

    PATHS are trusted instead of what is proposed. A proposal goes by the layout of the folder, which whoever can write
    there chooses. What is trusted says what is right, so confirm only paths that nobody else can write to.
    """
    from codeguard.corpus.discovery import discover
    from codeguard.reports.styled import counted

    if yes and not paths:
        raise ConfigError(
            "--yes", got="no PATH", expected="the paths to trust", hint="codeguard init --yes src"
        )
    here = Path.cwd()
    settings = read_settings(store=store)
    found = [file.path.relative_to(here.resolve()) for file in discover([here], root=here).files]
    if not found:
        raise NothingToDoError("no file in this folder", got=str(here))
    files = Counter(name.parts[0] for name in found if len(name.parts) > 1)
    chosen = [path.resolve() for path in paths] or [here.resolve() / name for name in _proposed(files, found)]
    for outside in (path for path in chosen if not path.is_relative_to(here.resolve())):
        raise ConfigError("a path outside of this folder", got=str(outside), expected=f"one in {here}")
    names = [path.relative_to(here.resolve()).as_posix() for path in chosen]
    owners = _owners(here)
    for top in sorted({*files} | {*names}):
        mark = "your own?" if top in names else ""
        count = sum(name.is_relative_to(top) for name in found)
        say(f"{mark:<9}  {top:<24} {counted(count, 'file')}{owners.get(top, '')}")
    if not names:
        raise NothingToDoError("no folder looks like your own", hint="name it: codeguard init PATH…")
    if not yes and not click.confirm(
        f"trust {', '.join(names)}? Anyone who can write there decides what is right", err=True
    ):
        raise ConfigError("nothing is trusted", got="no", expected="yes, or codeguard init PATH…")
    table = f"projects.{as_toml(str(here))}"
    state = settings.store if settings.remote else str(Path(settings.store).absolute())
    add_table(
        settings.config_file,
        ("projects", str(here)),
        f"[{table}]\nstore = {as_toml(state)}\nroot = {as_toml(str(here))}\n\n"
        f"[{table}.defense]\ntrust_paths = {as_toml([str(path) for path in chosen])}\n",
    )
    say(f"written: {settings.config_file}")
    rest = sorted(name for name in files if not any(Path(name).is_relative_to(own) for own in names))
    say(f"next: codeguard index {' '.join([*names, *rest])}")
    if rest:
        warn(f"not trusted, and checked against your own: {', '.join(rest)}")


def _owners(here: Path) -> dict[str, str]:
    """Return whom CODEOWNERS names for top folders: a hint, because whoever can write here can write that."""
    places = (here / folder / "CODEOWNERS" for folder in (".github", ".", "docs"))
    small = (place for place in places if place.is_file() and place.stat().st_size < 100_000)
    text = next((place.read_text("utf-8", "replace") for place in small), "")
    rows = (line.partition("#")[0].split() for line in text.splitlines())
    return {
        row[0].strip("/*").split("/")[0]: f", CODEOWNERS: {' '.join(row[1:4])}" for row in rows if row[1:]
    }


def _proposed(files: Counter[str], found: Sequence[Path]) -> list[str]:
    """Return the top folders that a project's own code usually lies in: src, packages and tests."""
    packages = {name.parts[0] for name in found if len(name.parts) == 2 and name.name == "__init__.py"}
    usual = {"src", "lib", "tests", "test"} & files.keys()
    return sorted(name for name in packages | usual if not _ELSEWHERE.fullmatch(name))
