"""Every weight of the ranking, each with its reason, in one table.

A penalty is in units of the ranking's standardized distance: +1 moves a
chunk one standard deviation of the candidates' distances back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from codeguard.errors import ConfigError
from codeguard.models import Severity


@dataclass(frozen=True, slots=True)
class Weight:
    """A default penalty and why it has this value."""

    value: float
    reason: str


SERIOUS = Weight(1.0, "code to copy from must not have this; honest code has it at times")
DEPENDS = Weight(0.6, "a weakness that depends on its surroundings")
COMMON = Weight(0.1, "common in honest code: enough to decide between equals")
DEFAULTS: Mapping[str, Weight] = {
    "provenance.trusted": Weight(-0.5, "the team's own text, verified now: a bonus below one deviation"),
    "provenance.copy": Weight(
        0.0, "text of ours in a file that is not ours: no bonus, its surroundings decide"
    ),
    "provenance.modified": Weight(1.0, "a trusted path whose text is not the trusted text"),
    "provenance.unlisted": Weight(0.5, "unknown origin is the ordinary case, not an accusation"),
    "perplexity.outlier": Weight(0.5, "a style detector: unlike the trusted code, which is no crime"),
    "distance.outlier": Weight(0.3, "times min(z, 3): far from the query for a candidate"),
    "behavior.pass": Weight(
        -0.5, "unknown origin, but does what the trusted code does, every branch reached"
    ),
    "behavior.differs": Weight(
        0.3, "keeps another contract than the trusted function, which is no error: to decide between equals"
    ),
    "behavior.fail": Weight(3.0, "wrong on an example of the trusted code: behind everything not convicted"),
    "behavior.diverges": Weight(
        3.0, "wrong on inputs inside the learned domain; at least 2, up to 3 by share"
    ),
    "behavior.violation": Weight(3.0, "reached for what the trusted twin does not touch"),
    "behavior.lookalike": Weight(4.0, "shown not to be what it passes for: an answer to nobody's question"),
    "behavior.unshown": Weight(
        1.5, "reads like a trusted function that could not be put to the test beside it: honest forks do, too"
    ),
    "behavior.company": Weight(
        2.5, "the text around a convicted function is what sells it: out of mode drop"
    ),
    "behavior.reach": Weight(
        1.5, "untested code with both ends of a leak; honest network code has them, too"
    ),
    "behavior.timeout": Weight(1.5, "does not finish where the reference does; may be honest and slow"),
    "behavior.memory": Weight(1.5, "exhausts memory where the reference does not"),
    "behavior.crash": Weight(1.5, "dies where the reference does not"),
    "behavior.untested": Weight(0.0, "nothing is known: neither a pass nor an accusation"),
    "injection.instruction": Weight(2.5, "orders to the model are what the results are read for"),
    "injection.hidden-instruction": Weight(4.0, "orders that people cannot see have no honest use"),
    "injection.possible-instruction": Weight(
        0.3, "two in a hundred honest comments on prompts are worded like this"
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
        Weight(2.5, "as any order to the model"),
    ),
    "agent.instructions": Weight(
        1.5, "instructions from an unknown hand are no answer to a question on code"
    ),
    "deceptive.bidi": Weight(2.5, "shows another program than it is: no honest reason in code"),
    "deceptive.bidi-override": Weight(1.0, "text shown backwards; natural text needs no override"),
    "deceptive.hidden-data": Weight(2.5, "data that only a machine sees, a model among them"),
    "deceptive.invisible": Weight(1.0, "a name that looks like another; stray copies from a web page, too"),
    "deceptive.lookalike-name": Weight(2.0, "a Latin name forged with other letters"),
    "deceptive.colliding-name": Weight(2.0, "cannot be told from another name of the file"),
    "deceptive.styled-name": Weight(1.5, "hides a call from a search; a test of Unicode looks the same"),
    "deceptive.lookalike-punctuation": Weight(0.5, "mostly a slip of the keyboard"),
    "deceptive.stacked-marks": Weight(0.5, "covers its surroundings, which is rarely useful"),
    "deceptive.overprint": Weight(1.5, "a terminal shows another text"),
    "deceptive.line-separator": Weight(1.0, "some readers see another line structure"),
    "near_copy.changed-line": Weight(1.5, "passes for a trusted function and differs; may be an honest fork"),
    "near_copy.removed-check": Weight(2.5, "passes for a trusted function and lacks its protection"),
    "capabilities.exfiltration": Weight(3.0, "secrets flow into a request: no honest use"),
    "capabilities.download-and-run": Weight(3.0, "whoever answers decides what is run"),
    "capabilities.decoded-exec": Weight(3.0, "encoded for one reason: that nobody reads it"),
    "capabilities.reverse-shell": Weight(3.0, "no honest use"),
    "capabilities.persistence": Weight(2.5, "installers do it, snippets have no reason to"),
    "capabilities.destroys": Weight(2.5, "harm, whether meant or not"),
    "capabilities.disables-security": Weight(2.5, "not a program's to do"),
    "capabilities.tampered-verification": Weight(
        2.0, "weakens everything else in the process; tests do it, too"
    ),
    "capabilities.import-effect": Weight(1.0, "scripts without a main guard do it"),
    "capabilities.install-hook": Weight(2.0, "runs before anybody has imported anything"),
    "capabilities.ignores-arguments": Weight(1.5, "protects nothing; a stub looks the same"),
    "capabilities.beyond-twin": Weight(2.0, "reaches for what its trusted twin does not"),
    "imports.lookalike": Weight(2.0, "repeating the import installs the imitation"),
    "imports.unknown-package": Weight(0.3, "private packages are unknown, too"),
    "imports.install-source": Weight(1.0, "another index is how packages are replaced"),
    "imports.urged": Weight(1.5, "honest code does not argue for its imports"),
    "imports.runtime-install": Weight(1.0, "passes by every lock file; notebooks do it"),
    "obfuscation.runs-built-text": Weight(2.5, "put together so that nobody reads it"),
    "obfuscation.hidden-call": Weight(2.5, "put together so that nobody finds it"),
    "obfuscation.hidden-text": Weight(1.5, "one step from being run"),
    "obfuscation.escaped-text": Weight(0.5, "tests of parsers look the same"),
    "obfuscation.far-right": Weight(2.0, "out of sight of a review"),
    "obfuscation.identifier-soup": Weight(1.5, "written by a tool that makes code unreadable"),
    "obfuscation.nested-lambdas": Weight(0.5, "functional style goes far, too"),
    **dict.fromkeys(
        (
            "insecure.check-fails-open",
            "insecure.download-and-run",
            "insecure.hostname-not-verified",
            "insecure.tls-not-verified",
        ),
        SERIOUS,
    ),
    **dict.fromkeys(
        (
            "insecure.cross-site-scripting",
            "insecure.file-upload",
            "insecure.ldap-injection",
            "insecure.mass-assignment",
            "insecure.xpath-injection",
        ),
        DEPENDS,
    ),
    **dict.fromkeys(
        (
            "insecure.any-host",
            "insecure.bound-to-all",
            "insecure.cookie-for-other-sites",
            "insecure.csv-injection",
            "insecure.endless-session",
            "insecure.frames-allowed",
            "insecure.log-injection",
            "insecure.made-world-writable",
            "insecure.missing-authentication",
            "insecure.password-in-address",
            "insecure.privileges-not-dropped",
            "insecure.short-passwords",
            "insecure.unsafe-model-file",
            "insecure.untrusted-search-path",
            "insecure.wide-umask",
        ),
        COMMON,
    ),
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
        Weight(0.0, "withheld by the index, whoever wrote it; says nothing of what the code does"),
    ),
    "audit.company": Weight(
        1.0, "takes along code that is certainly harmful; an uncertain finding is charged as where it stands"
    ),
    "audit.not-fully-read": Weight(
        0.5, "padded until the detectors ran out, or made by a generator: not cleared, not accused"
    ),
    "safety_claims.false-claim": Weight(1.0, "says it is safe where it is not: keeps readers from looking"),
}


# Of a static rule that the table does not name.
BY_SEVERITY: Mapping[Severity, Weight] = {
    Severity.CRITICAL: SERIOUS,
    Severity.HIGH: SERIOUS,
    Severity.MEDIUM: DEPENDS,
    Severity.LOW: COMMON,
    Severity.INFO: Weight(0.0, "told, not charged"),
}


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights in force: the defaults, with single ones overridden, and scaled by a factor.

    Keys are `signal.rule`. A rule without an entry in the table weighs what it
    brings itself (`own`), else what its severity is worth.
    """

    overrides: Mapping[str, float] = field(default_factory=dict)
    factors: Mapping[str, float] = field(default_factory=dict)
    own: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, value in self.overrides.items():
            if not isinstance(value, int | float) or isinstance(value, bool) or not -100 <= value <= 100:
                raise ConfigError(f"weight {key!r}", got=repr(value), expected="a number from -100 to 100")

    def __getitem__(self, key: str) -> float:
        """Return the weight of a rule; raise ConfigError if neither the table nor the rule's signal has one."""
        if key not in self.overrides and key not in DEFAULTS and key not in self.own:
            raise ConfigError(f"weight {key!r}", got="none", expected="a rule that a registered signal has")
        return self.of(key, Severity.INFO)

    def of(self, key: str, severity: Severity) -> float:
        """Return the weight of a rule of this severity."""
        if key in self.overrides:
            value = float(self.overrides[key])
        elif key in DEFAULTS or key not in self.own:
            value = default(key, severity).value
        else:
            value = self.own[key]
        return value * self.factors.get(key, 1.0)

    def with_own(self, own: Mapping[str, float]) -> Weights:
        """Return the same weights, and those that rules bring for what has no entry."""
        return Weights(self.overrides, self.factors, {**self.own, **own})

    def scaled(self, keys: Iterable[str], factor: float) -> Weights:
        """Return the same weights with those of `keys` multiplied."""
        return Weights(self.overrides, {**self.factors, **dict.fromkeys(keys, factor)}, self.own)


def default(key: str, severity: Severity) -> Weight:
    """Return what a rule weighs where nobody said otherwise, and why."""
    return DEFAULTS.get(key) or BY_SEVERITY[severity]
