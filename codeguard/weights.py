"""Every weight of the ranking, each with its reason, in one table.

A penalty is in units of the ranking's standardized distance: +1 moves a
chunk one standard deviation of the candidates' distances back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    {
        "provenance",
        "distance",
        "perplexity",
        "unrelated",
        "near_copy",
        "audit",
        "documents",
        "secrets",
        INSECURE,
    }
)
DEFAULTS: Mapping[str, Weight] = {
    "provenance.trusted": Weight(-0.5, "the team's own text, verified now: a bonus below one deviation"),
    "provenance.copy": Weight(
        0.0, "trusted text in an untrusted file: no bonus, the surrounding code decides"
    ),
    "provenance.modified": Weight(1.0, "a trusted path whose text is not the trusted text"),
    "provenance.unlisted": Weight(0.5, "unknown origin is the normal case, not a suspicion"),
    "perplexity.outlier": Weight(
        0.5, "a style detector: differing from the trusted code's style is harmless"
    ),
    "distance.outlier": Weight(0.3, "times min(z, 3): farther from the query than other candidates"),
    "behavior.pass": Weight(
        -0.5, "unknown origin, but does what the trusted code does, every branch reached"
    ),
    "behavior.differs": Weight(
        0.3, "follows a different contract than the trusted function, which is no error: only breaks ties"
    ),
    "behavior.fail": Weight(
        3.0, "wrong on an example of the trusted code: ranks behind everything not convicted"
    ),
    "behavior.diverges": Weight(
        3.0, "wrong on inputs inside the learned domain; 2 to 3, by the share of inputs"
    ),
    "behavior.violation": Weight(3.0, "used a resource that its trusted twin does not use"),
    "behavior.lookalike": Weight(
        4.0, "shown not to be the function it pretends to be: never a useful answer"
    ),
    "behavior.unshown": Weight(
        1.5, "reads like a trusted function but could not be tested against it: honest forks do, too"
    ),
    "behavior.unannounced": Weight(
        1.5,
        "an effect that neither name nor description announces, seen in a run: 13 of 5,600 honest functions",
    ),
    "behavior.timeout": Weight(1.5, "does not finish although the reference does; may be honest and slow"),
    "behavior.memory": Weight(1.5, "exhausts memory although the reference does not"),
    "behavior.crash": Weight(1.5, "crashes although the reference does not"),
    "behavior.untested": Weight(0.0, "nothing is known: neither a pass nor a suspicion"),
    "agent.instructions": Weight(1.5, "instructions of unknown origin do not answer a question about code"),
    "near_copy.changed-line": Weight(1.5, "looks like a trusted function but differs; may be an honest fork"),
    "gates.unrelated-exit": Weight(
        1.5, "right except where a condition says so; four of 30,000 honest functions"
    ),
    "idle.effect": Weight(1.5, "an effect that serves nobody who calls; one of 900 honest functions"),
    "idle.import": Weight(
        1.0, "repeating the import installs what nobody knows; a compatibility module does it"
    ),
    "unrelated.body": Weight(
        1.5, "does something else than it says, as far as words tell; one of 100 honest functions"
    ),
    "obfuscation.concealed-name": Weight(1.5, "hiding is the evidence: the name could be written"),
    **dict.fromkeys(
        (
            "secrets.private-key",
            "secrets.cloud-key",
            "secrets.service-token",
            "secrets.json-web-token",
            "secrets.password-in-url",
            "secrets.assigned-secret",
            "secrets.environment-file",
            "secrets.key-file",
            "secrets.credentials-file",
        ),
        Weight(0.0, "withheld by the index, no matter who wrote it; says nothing about what the code does"),
    ),
    "audit.company": Weight(
        1.0,
        "depends on code that is certainly harmful; an uncertain finding costs as much as in its own chunk",
    ),
    "audit.not-fully-read": Weight(
        0.5, "padded until the detectors reached a limit, or generated: neither cleared nor suspected"
    ),
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
FLAW = Weight(
    6.0, "text written to be near the question is up to four deviations nearer than the safe answer"
)
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
