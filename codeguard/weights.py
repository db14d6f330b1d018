"""Every weight of the ranking, each with its reason; the table of the rules stands beside this file.

A penalty is in units of the ranking's standardized distance: +1 moves a
chunk one standard deviation of the candidates' distances back.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from codeguard.errors import ConfigError
from codeguard.models import Evidence, Severity


@dataclass(frozen=True, slots=True)
class Weight:
    """A default penalty and why it has this value."""

    value: float
    reason: str


INSECURE = "insecure"
# Signals that judge where a text comes from, flaws, or what was not read.
NO_HARM = frozenset(
    "provenance distance perplexity unrelated near_copy audit documents secrets insecure".split()  # noqa: SIM905
)
DEFAULTS: Mapping[str, Weight] = {
    f"{signal}.{rule}": Weight(*row)
    for signal, rows in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
    for rule, row in rows.items()
}
# The weight of a rule that the table does not list.
BY_SEVERITY: Mapping[Severity, Weight] = {
    Severity.CRITICAL: Weight(3.0, "no honest use"),
    Severity.HIGH: Weight(2.5, "what serves as an example must not have this; removed in mode drop"),
    Severity.MEDIUM: Weight(1.0, "honest code sometimes does"),
    Severity.LOW: Weight(0.1, "common in honest code: only enough to break ties"),
    Severity.INFO: Weight(0.0, "reported, costs nothing"),
}
# The weight of what a rule about insecure code finds, by the severity of the finding.
FLAW = Weight(6.0, "text written to be near the question is up to four deviations nearer than a safe answer")
FLAWS: Mapping[Severity, Weight] = {
    **BY_SEVERITY,
    **dict.fromkeys((Severity.MEDIUM, Severity.HIGH, Severity.CRITICAL), FLAW),
}


@dataclass(frozen=True, slots=True)
class Weights:
    """The effective weights: the defaults, some of them overridden.

    Keys are `signal.rule`. A rule without an entry in the table has the weight of its severity.
    """

    overrides: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, value in self.overrides.items():
            if not isinstance(value, int | float) or isinstance(value, bool) or not -100 <= value <= 100:
                raise ConfigError(f"weight {key!r}", got=repr(value), expected="a number from -100 to 100")

    def __getitem__(self, key: str) -> float:
        """Return the weight of a rule; raise ConfigError if the table has none."""
        if key not in self.overrides and key not in DEFAULTS:
            raise ConfigError(f"weight {key!r}", got="none", expected="a rule that a registered signal has")
        return self.of(key, Severity.INFO)

    def of(self, key: str, severity: Severity) -> float:
        """Return the weight of a rule of this severity."""
        return float(self.overrides[key]) if key in self.overrides else default(key, severity).value

    def found(self, key: str, usual: Severity, seen: Severity) -> float:
        """Return the weight of a match of a rule whose usual severity it may not have.

        It is half the rule's for each step that the match is milder; of insecure code without a weight of its own,
        that of the match's severity.
        """
        if key.partition(".")[0] == INSECURE and key not in self.overrides:
            return default(key, seen).value
        return self.of(key, usual) * 0.5 ** max(0, usual - seen)


def default(key: str, severity: Severity) -> Weight:
    """Return the default weight of a rule, and why."""
    return DEFAULTS.get(key) or (FLAWS if key.partition(".")[0] == INSECURE else BY_SEVERITY)[severity]


def is_harm(item: Evidence) -> bool:
    """Return whether evidence is of harm that was planted, not of a wrong result or a flaw."""
    if item.signal == "behavior":
        return item.id == "violation"
    return (item.convicts or item.demotes) and item.severity >= Severity.HIGH and item.signal not in NO_HARM
