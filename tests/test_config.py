"""Configuration: what is read, and one clear line for what cannot be."""

from collections.abc import Callable
from pathlib import Path

import pytest

from codeguard.audit.run import AuditOptions
from codeguard.config import LONGEST, DefenseConfig, Settings, load_settings
from codeguard.errors import ConfigError
from codeguard.models import Severity
from codeguard.weights import BY_SEVERITY, DEFAULTS, Weights


def test_without_a_file_the_defaults_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert load_settings() == Settings()


def test_a_complete_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        'store = "http://127.0.0.1:8000"\nspecs = ["mine"]\njobs = 3\n[headers]\nX-Token = "t"\n'
        '[defense]\nmode = "drop"\ntrust_paths = ["src"]\ndrop_threshold = 1\n[defense.weights]\n"behavior.fail" = 4\n'
    )
    settings = load_settings(path)
    assert settings.remote
    assert (settings.jobs, settings.specs, settings.headers) == (3, ("mine",), {"X-Token": "t"})
    assert (settings.defense.mode, settings.defense.trust_paths) == ("drop", ("src",))
    assert settings.defense.weights["behavior.fail"] == 4
    assert settings.defense.weights["behavior.diverges"] == DEFAULTS["behavior.diverges"].value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("storre = 'x'", "unknown key 'storre'"),
        ("jobs = 'three'", "expected int"),
        ("jobs = true", "expected int"),
        ("jobs = 0", "jobs, got 0, expected 1 or more"),
        ("jobs = -1", "jobs, got -1, expected 1 or more"),
        ("defense = 3", "expected a table"),
        ("[defense]\nmode = 'delete'", "expected one of rerank, drop"),
        ("[defense]\nrequired_level = 'L9'", "expected one of L0"),
        ("[defense]\nfetch_multiplier = 0", "expected 1 or more"),
        ("[defense]\nenable_behavior = 1", "expected bool"),
        ("[defense.weights]\nx = 'y'", "expected a number"),
        ("[defense.weights]\nx = nan", "expected a number"),
        ("store = ", "is not TOML"),
        ("store = '\xff'", "is not TOML"),
        ("#" * LONGEST + "#", "is too large"),
    ],
)
def test_what_cannot_be_read_is_one_line_that_names_the_file(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("jobs", [0, -1])
@pytest.mark.parametrize(
    "made", [lambda jobs: Settings(jobs=jobs), Settings().replace, lambda jobs: AuditOptions(jobs=jobs)]
)
def test_fewer_than_one_process_are_refused_in_python_too(made: Callable[..., object], jobs: int) -> None:
    with pytest.raises(ConfigError, match=f"jobs, got {jobs}, expected 1 or more"):
        made(jobs=jobs)


def test_a_missing_named_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not found"):
        load_settings(tmp_path / "none.toml")


def test_switches_and_disabled_signals() -> None:
    config = DefenseConfig(enable_perplexity=False, disabled_signals=("theirs",))
    assert [config.enabled(name) for name in ("perplexity", "theirs", "behavior", "other")] == [
        False,
        False,
        True,
        True,
    ]


def test_overriding_a_weight_leaves_the_others() -> None:
    weights = Weights({"behavior.fail": 1.5})
    assert weights["behavior.fail"] == 1.5
    assert all(weights[key] == DEFAULTS[key].value for key in DEFAULTS if key != "behavior.fail")
    with pytest.raises(ConfigError, match="a registered signal has"):
        weights["a.third.party"]


def test_a_rule_without_an_entry_weighs_by_its_severity() -> None:
    assert Weights().of("theirs.rule", Severity.MEDIUM) == BY_SEVERITY[Severity.MEDIUM].value
    assert Weights({"theirs.rule": 2.0}).of("theirs.rule", Severity.MEDIUM) == 2.0
    assert Weights().of("behavior.fail", Severity.LOW) == DEFAULTS["behavior.fail"].value
