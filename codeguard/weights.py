"""Every weight of the ranking, each with its reason, in one table.

A penalty is in units of the ranking's standardized distance: +1 moves a
chunk one standard deviation of the candidates' distances back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from codeguard.errors import ConfigError
from codeguard.models import Severity


@dataclass(frozen=True, slots=True)
class Weight:
    """A default penalty and why it has this value."""

    value: float
    reason: str


SERIOUS = Weight(1.0, "code that serves as an example must not have this; honest code sometimes does")
DEPENDS = Weight(0.6, "a weakness that depends on the context")
COMMON = Weight(0.1, "common in honest code: only enough to break ties")
INSECURE = "insecure"
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
    "behavior.company": Weight(
        2.5, "the text around a convicted function makes it look credible: removed in mode drop"
    ),
    "behavior.reach": Weight(
        1.5, "untested code with both the source and the sink of a leak; honest network code has both, too"
    ),
    "behavior.timeout": Weight(1.5, "does not finish although the reference does; may be honest and slow"),
    "behavior.memory": Weight(1.5, "exhausts memory although the reference does not"),
    "behavior.crash": Weight(1.5, "crashes although the reference does not"),
    "behavior.untested": Weight(0.0, "nothing is known: neither a pass nor a suspicion"),
    "injection.instruction": Weight(2.5, "instructions to the model, which reads the results"),
    "injection.hidden-instruction": Weight(4.0, "instructions that people cannot see have no honest use"),
    "injection.possible-instruction": Weight(
        0.3, "two in a hundred honest comments about prompts are worded like this"
    ),
    **dict.fromkeys(
        (
            "agent.approves-itself",
            "agent.changes-instructions",
            "agent.disables-checks",
            "agent.hides-from-user",
            "agent.inserts-code",
            "agent.reads-credentials",
            "agent.runs-by-itself",
            "agent.runs-download",
            "agent.sends-data",
        ),
        Weight(2.5, "like any instruction to the model"),
    ),
    "agent.instructions": Weight(1.5, "instructions of unknown origin do not answer a question about code"),
    "deceptive.bidi": Weight(2.5, "displays as a different program: no honest reason in code"),
    "deceptive.bidi-override": Weight(1.0, "text displayed backwards; natural text needs no override"),
    "deceptive.hidden-data": Weight(2.5, "data that only a machine, such as a model, sees"),
    "deceptive.invisible": Weight(
        1.0, "a name that looks like another; also happens when copying from a web page"
    ),
    "deceptive.lookalike-name": Weight(2.0, "a Latin name forged with other letters"),
    "deceptive.colliding-name": Weight(2.0, "indistinguishable from another name in the file"),
    "deceptive.styled-name": Weight(1.5, "hides a call from a search; a test of Unicode looks the same"),
    "deceptive.lookalike-punctuation": Weight(0.5, "mostly a typing error"),
    "deceptive.overprint": Weight(1.5, "a terminal shows different text"),
    "deceptive.line-separator": Weight(1.0, "some readers see a different line structure"),
    "near_copy.changed-line": Weight(1.5, "looks like a trusted function but differs; may be an honest fork"),
    "near_copy.removed-check": Weight(2.5, "looks like a trusted function but lacks its protection"),
    "capabilities.exfiltration": Weight(3.0, "secrets flow into a request: no honest use"),
    "capabilities.download-and-run": Weight(3.0, "the server decides what is run"),
    "capabilities.decoded-exec": Weight(3.0, "encoded for one reason: to keep people from reading it"),
    "capabilities.reverse-shell": Weight(3.0, "no honest use"),
    "capabilities.persistence": Weight(2.5, "installers do it; snippets have no reason to"),
    "capabilities.destroys": Weight(2.5, "harm, whether meant or not"),
    "capabilities.disables-security": Weight(2.5, "not a program's decision"),
    "capabilities.tampered-verification": Weight(
        2.0, "weakens everything else in the process; tests do it, too"
    ),
    "capabilities.import-effect": Weight(1.0, "scripts without a main guard do it"),
    "capabilities.install-hook": Weight(2.0, "runs before anything has been imported"),
    "capabilities.beyond-twin": Weight(2.0, "uses a resource that its trusted twin does not use"),
    "gates.unrelated-exit": Weight(
        1.5, "right except where a condition says so; four of 30,000 honest functions"
    ),
    "idle.effect": Weight(1.5, "an effect that serves nobody who calls; one of 900 honest functions"),
    "idle.import": Weight(
        1.0, "repeating the import installs what nobody knows; a compatibility module does it"
    ),
    "imports.lookalike": Weight(2.0, "repeating the import installs the imitation"),
    "imports.install-source": Weight(1.0, "a different package index is a way to replace packages"),
    "imports.runtime-install": Weight(1.0, "bypasses every lock file; notebooks do it"),
    "obfuscation.runs-built-text": Weight(2.5, "assembled so that nobody can read it"),
    "obfuscation.hidden-call": Weight(2.5, "assembled so that a search does not find it"),
    "obfuscation.concealed-name": Weight(1.5, "hiding is the evidence: the name could be written"),
    "obfuscation.escaped-text": Weight(0.5, "tests of parsers look the same"),
    "obfuscation.identifier-soup": Weight(1.5, "produced by a tool that makes code unreadable"),
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


# The weight of a static rule that the table does not list.
BY_SEVERITY: Mapping[Severity, Weight] = {
    Severity.CRITICAL: SERIOUS,
    Severity.HIGH: SERIOUS,
    Severity.MEDIUM: DEPENDS,
    Severity.LOW: COMMON,
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
