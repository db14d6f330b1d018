"""The user's settings, from a TOML file in their configuration directory or set explicitly.

Nothing here is ever read from a corpus: an audited tree does not configure
the tool that audits it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import platformdirs

from codeguard.corpus.patterns import pattern_problem
from codeguard.errors import ConfigError
from codeguard.weights import Weights

MODES = ("rerank", "drop")
ORDERS = ("score", "penalty")
LONGEST = 1 << 20  # bytes of a configuration file
CATALOG = "catalog.sqlite3"  # in the state directory; defined here so that looking it up imports nothing
CHROMA = "chroma"  # the folder beside it that Chroma searches
LEVELS = ("L0", "L1", "L2", "L3")


def below_level(level: str, required: str) -> str:
    """Return the line that says that no check runs at this sandbox level, or "" if checks run."""
    if level not in LEVELS or LEVELS.index(level) >= LEVELS.index(required):
        return ""
    return f"sandbox {level} is BELOW the required {required}: no check was run (see: codeguard doctor)"


def user_config_dir() -> Path:
    """Return the folder of the user's configuration and keys, which is outside every corpus."""
    try:
        return Path(platformdirs.user_config_dir("codeguard"))
    except RuntimeError:  # a user without a name or a home, as containers have them
        raise ConfigError(
            "no folder for the configuration and keys",
            got="a user without a home",
            expected="HOME or XDG_CONFIG_HOME set to a folder that this user can write",
        ) from None


@dataclass(frozen=True, slots=True)
class DefenseConfig:
    """How candidates are evaluated and ordered; `codeguard.cli.config.KEYS` says what each key means.

    `order` "score" sorts by standardized distance plus penalty plus what own code adds (see
    `codeguard.ranking.own_code`), "penalty" by the penalty alone (the method's own order). `fetch_multiplier`
    times k candidates are fetched; if they cover fewer than k distinct files and texts, the set grows up to
    `max_candidates`. What is not fully checked when its budget is spent is demoted.
    """

    enable_provenance: bool = True
    enable_perplexity: bool = True
    enable_distance: bool = True
    enable_behavior: bool = True
    mode: str = "rerank"
    order: str = "score"
    trust_paths: tuple[str, ...] = ()
    untrust: tuple[str, ...] = ()
    fetch_multiplier: int = 3
    max_candidates: int = 400
    drop_threshold: float = 2.0
    budget_s: float = 900.0
    file_budget_s: float = 20.0
    required_level: str = "L2"
    modules: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()
    disabled_signals: tuple[str, ...] = ()
    weights: Weights = field(default_factory=Weights)

    def __post_init__(self) -> None:
        _one_of("mode", self.mode, MODES)
        _one_of("order", self.order, ORDERS)
        _one_of("required_level", self.required_level, LEVELS)
        if self.fetch_multiplier < 1:
            raise ConfigError("fetch_multiplier", got=self.fetch_multiplier, expected="1 or more")
        if self.max_candidates < 1:
            raise ConfigError("max_candidates", got=self.max_candidates, expected="1 or more")
        for name, seconds in (("budget_s", self.budget_s), ("file_budget_s", self.file_budget_s)):
            if not seconds > 0:
                raise ConfigError(name, got=seconds, expected="more than 0 seconds")

    def enabled(self, signal: str) -> bool:
        """Return whether the signal of this name is enabled."""
        return signal not in self.disabled_signals and getattr(self, f"enable_{signal}", True)


def check_exclusions(patterns: Iterable[str]) -> None:
    """Raise ConfigError for a pattern of excluded files that cannot count."""
    for pattern in patterns:
        problem = pattern_problem(pattern)
        if problem:
            raise ConfigError(f"exclude: {pattern!r}", got=problem, expected="a pattern as in .gitignore")


@dataclass(frozen=True, slots=True)
class OpinionConfig:
    """The language model that is asked for a second opinion; none without an `endpoint`.

    It is asked no more once `timeout_s` seconds of a query have passed, and each answer may take as long.
    """

    endpoint: str = ""
    model: str = ""
    send_names: bool = False
    timeout_s: float = 30.0

    def __post_init__(self) -> None:
        if self.endpoint and not self.model:
            raise ConfigError(
                "model of [opinion]", got="none", expected="the name that the endpoint knows it by"
            )


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a command needs besides its arguments; `codeguard.cli.config.KEYS` says what each key means.

    A Chroma server has `wait_s` seconds for an answer, five times as many where it writes, and a process that changes
    the index ten times as many to end. `source` is the configuration file that this was read from, if not
    the user's own.
    """

    store: str = ".codeguard"
    state_dir: str | None = None
    shared_state: tuple[str, ...] = ()
    root: str | None = None
    embedding: str = "auto"
    specs: tuple[str, ...] = ()
    jobs: int | None = None
    lexical_weight: float | None = None
    wait_s: float = 60.0
    require_signature: bool = False
    exclude: tuple[str, ...] = ()
    include_secrets: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    defense: DefenseConfig = field(default_factory=DefenseConfig)
    opinion: OpinionConfig = field(default_factory=OpinionConfig)
    signing: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    fixed_seed: bytes | None = None  # experiments only: a seed that an attacker may know

    def __post_init__(self) -> None:
        check_jobs(self.jobs)
        if not self.wait_s > 0:
            raise ConfigError("wait_s", got=self.wait_s, expected="more than 0 seconds")
        if "://" in self.store and not self.remote:
            raise ConfigError(
                "not the address of a store", got=self.store, expected="a folder, or http(s)://host:port"
            )
        if self.lexical_weight is not None and not 0 <= self.lexical_weight <= 1:
            raise ConfigError("lexical_weight", got=self.lexical_weight, expected="0 to 1")
        check_exclusions(self.exclude)

    @property
    def remote(self) -> bool:
        """Whether the store is a server."""
        return self.store.startswith(("http://", "https://"))

    @property
    def config_file(self) -> Path:
        """The path of the configuration file, existing or not; key files are relative to it."""
        return Path(self.source) if self.source is not None else user_config_dir() / "config.toml"

    @property
    def state(self) -> Path:
        """Folder of the local state."""
        if self.state_dir is not None:
            return Path(self.state_dir)
        return Path(".codeguard") if self.remote else Path(self.store)

    def replace(self, **changes: Any) -> Settings:
        """Return the same settings with some of them changed; None means unchanged."""
        return replace(self, **{key: value for key, value in changes.items() if value is not None})


def check_jobs(jobs: int | None) -> None:
    """Raise ConfigError for fewer than 1 worker process; None means one per core."""
    if jobs is not None and jobs < 1:
        raise ConfigError("jobs", got=jobs, expected="1 or more")


def load_settings(path: Path | None = None) -> Settings:
    """Read the configuration file: `path`, or `config.toml` in the user's configuration directory.

    A missing default file means the defaults; a missing `path` is an error. A table `[projects."FOLDER"]` holds
    settings that count in that folder and below it, instead of the others.

    Raises:
        ConfigError: unreadable file, broken TOML, an unknown key or a value of the wrong type.
    """
    chosen = path or user_config_dir() / "config.toml"
    try:
        with chosen.open("rb") as file:
            raw = file.read(LONGEST + 1)
    except FileNotFoundError:
        if path is None:
            return Settings()
        raise ConfigError("configuration file not found", got=str(path), hint="check --config") from None
    except OSError as error:
        raise ConfigError(
            "configuration file cannot be read",
            got=f"{chosen} ({error.strerror})",
            hint="check its permissions",
        ) from None
    if len(raw) > LONGEST:
        raise ConfigError(
            f"configuration file {chosen} is too large", got=f"over {LONGEST} bytes", hint="check --config"
        )
    import tomllib  # most users have no such file

    try:
        table = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"configuration file {chosen} is not TOML ({error})",
            hint="correct that line",
        ) from None
    return _settings(_of_project(table, str(chosen)), str(chosen)).replace(
        source=None if path is None else str(path)
    )


def _of_project(table: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Return the settings with those of the project that the working directory is in, by its absolute path."""
    projects = _table(table.get("projects", {}), f"{where}: [projects]")
    own = {key: value for key, value in table.items() if key != "projects"}
    here = Path.cwd()
    name = next((str(folder) for folder in (here, *here.parents) if str(folder) in projects), None)
    if name is None:
        return own
    project = _table(projects[name], f"{where}: [projects.{name!r}]")
    both = {
        key: {**own[key], **project[key]}
        for key in own.keys() & project.keys()
        if isinstance(own[key], dict) and isinstance(project[key], dict)
    }
    return {**own, **project, **both}


_KINDS = {"str": str, "int": int, "float": float, "bool": bool, "tuple[str, ...]": list}  # by annotation


def _settings(table: Mapping[str, Any], where: str) -> Settings:
    values = dict(table)
    tables = {
        key: _table(values.pop(key, {}), f"{where}: [{key}]")
        for key in ("defense", "opinion", "signing", "headers")
    }
    own = dict(tables["defense"])
    weights = Weights(dict(_table(own.pop("weights", {}), f"{where}: [defense.weights]")))
    return Settings(
        **_values(Settings, values, where),
        defense=DefenseConfig(**_values(DefenseConfig, own, f"{where}: [defense]"), weights=weights),
        opinion=OpinionConfig(**_values(OpinionConfig, tables["opinion"], f"{where}: [opinion]")),
        signing=tables["signing"],
        headers={str(key): str(value) for key, value in tables["headers"].items()},
    )


def _values(
    of: type[Settings | DefenseConfig | OpinionConfig], table: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """Return the values of a table for the fields of a class, checked by their annotations."""
    kinds = {item.name: _KINDS.get(str(item.type).removesuffix(" | None")) for item in fields(of)}
    known = {name: kind for name, kind in kinds.items() if kind is not None and name != "source"}
    _check_keys(table, known, where)
    return {key: tuple(map(str, value)) if isinstance(value, list) else value for key, value in table.items()}


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(where, got=type(value).__name__, expected="a table")
    return value


def _check_keys(values: Mapping[str, Any], known: Mapping[str, type], where: str) -> None:
    for key, value in values.items():
        if key not in known:
            raise ConfigError(
                f"{where}: unknown key {key!r}",
                expected=f"one of {', '.join(get_close_matches(key, known, n=2) or sorted(known))}",
                hint="codeguard config show lists them",
            )
        wanted: tuple[type, ...] = (int, float) if known[key] is float else (known[key],)
        if not isinstance(value, wanted) or (isinstance(value, bool) and known[key] is not bool):
            raise ConfigError(
                f"{where}: {key}", got=f"{value!r} ({type(value).__name__})", expected=known[key].__name__
            )


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(name, got=repr(value), expected=f"one of {', '.join(allowed)}")
