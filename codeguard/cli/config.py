"""`codeguard config`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from codeguard.cli.options import FORMAT
from codeguard.cli.output import guarded, read_settings, say, say_json

# The meaning of every key in one line, for the reference.
KEYS: Mapping[str, str] = {
    "store": "folder of the index, or http(s)://host:port of a Chroma server",
    "state_dir": "catalog, evidence and manifest; the store's folder unless the store is a server",
    "shared_state": "state folders that other installations write as well, on purpose",
    "root": "the folder that the names of files are relative to; the current one by default",
    "embedding": "auto, static, minilm or lexical",
    "specs": "folders of your own behavior specs (TOML)",
    "jobs": "worker processes; one a core by default",
    "lexical_weight": "share of the words in retrieval, 0 to 1; by default what suits the embedding",
    "wait_s": "seconds for an answer of a Chroma server, before a command gives up",
    "require_signature": "refuse trust that no signature proves",
    "exclude": "files that are left out, as in .gitignore",
    "include_secrets": "index what holds secrets, too; they are masked all the same",
    "headers": "HTTP headers for a Chroma server",
    "signing": "who may sign for which tree: see the page on provenance",
    "defense.enable_provenance": "weigh where code is from",
    "defense.enable_perplexity": "weigh how unlike the trusted code a text is",
    "defense.enable_distance": "weigh how far a candidate is from the question",
    "defense.enable_behavior": "run code of unknown origin in the sandbox",
    "defense.mode": "rerank keeps every candidate, drop leaves out what is convicted or above drop_threshold",
    "defense.order": "score sorts by distance, penalty and what own code adds, penalty by the penalty alone",
    "defense.trust_paths": "default of index --trust",
    "defense.untrust": "default of index --untrust",
    "defense.fetch_multiplier": "candidates fetched for each result that is wanted",
    "defense.max_candidates": "limit of the candidates where poison floods the neighbourhood",
    "defense.drop_threshold": "penalty above which mode drop leaves a candidate out",
    "defense.budget_s": "CPU seconds in the sandbox that one run of a command may spend (--budget)",
    "defense.file_budget_s": "how many of them may be spent on one file; more is not fully checked, and demoted",
    "defense.required_level": "sandbox level below which nothing is run (L1, L2, L3)",
    "defense.modules": "absolute paths of installed packages, in pure Python, that the sandbox is to have",
    "defense.disabled_signals": "signals that do not count, by name",
    "defense.weights": "weights of your own, by the key of the table below",
}


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
        value = getattr(settings.defense if part else settings, name)
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
