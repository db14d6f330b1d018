"""`codeguard config`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from codeguard.cli.options import FORMAT
from codeguard.cli.output import guarded, read_settings, say, say_json
from codeguard.corpus.patterns import stored

KEYS: Mapping[str, str] = stored(Path(__file__).with_suffix(".toml"))  # each key's meaning in one line


@click.group()
def config() -> None:
    """Show the effective configuration.

    It is read from config.toml in your configuration directory or from --config FILE, never from the code that is
    indexed or audited.
    """


@config.command("show")
@FORMAT
@click.pass_context
@guarded
def show(context: click.Context, format_: str) -> None:
    """Show every setting with its value, and which differ from the default."""
    from codeguard.config import Settings

    settings = read_settings(context)
    values, defaults = settings_table(settings), settings_table(Settings())
    if format_ == "json":
        say_json(
            {"schema": "codeguard.config/1", "source": settings.source or str(own_file()), "settings": values}
        )
        return
    place = Path(settings.source) if settings.source else own_file()
    say(f"from {place}" + ("" if place.exists() else " (there is none: defaults)"))
    for key, value in values.items():
        mark = "*" if value != defaults[key] else " "
        say(f"{mark} {key} = {as_toml(value)}")


def add_table(place: Path, name: tuple[str, str], text: str) -> None:
    """Add the table `[first."second"]`, given as TOML, to the end of a configuration file, and create it if needed.

    Raises ConfigError, and changes nothing, if the table is there or the file would not be TOML afterwards.
    """
    import tomllib

    from codeguard.errors import ConfigError
    from codeguard.trust.local import write_atomically

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


def own_file() -> Path:
    """Return the path of the user's own configuration file."""
    from codeguard.config import user_config_dir

    return user_config_dir() / "config.toml"


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
    import json

    if value is None:
        return '""'
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{json.dumps(k)} = {as_toml(v)}" for k, v in value.items()) + " }"
            if value
            else "{}"
        )
    return json.dumps(value, ensure_ascii=False)
