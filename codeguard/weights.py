"""Every weight of the ranking, each with its reason, in one table.

A penalty is in units of the ranking's standardised distance: +1 moves a
chunk one standard deviation of the candidates' distances back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from codeguard.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Weight:
    """A default penalty and why it has this value."""

    value: float
    reason: str


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
    "behavior.fail": Weight(3.0, "wrong on an example of the trusted code: behind everything not convicted"),
    "behavior.diverges": Weight(
        3.0, "wrong on inputs inside the learned domain; at least 2, up to 3 by share"
    ),
    "behavior.violation": Weight(3.0, "reached for what the trusted twin does not touch"),
    "behavior.lookalike": Weight(
        4.0, "passes for a trusted function, not shown to behave like it: that one is there to show"
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
    "injection.instruction": Weight(2.5, "orders to the model are what the results are read for"),
    "injection.hidden-instruction": Weight(4.0, "orders that people cannot see have no honest use"),
    "injection.possible-instruction": Weight(0.3, "one in a hundred honest comments is worded like this"),
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
            "insecure.code-injection",
            "insecure.command-injection",
            "insecure.download-and-run",
            "insecure.hostname-not-verified",
            "insecure.nosql-injection",
            "insecure.path-traversal",
            "insecure.server-side-request-forgery",
            "insecure.sql-injection",
            "insecure.template-injection",
            "insecure.tls-not-verified",
            "insecure.unsafe-deserialisation",
            "insecure.unsafe-reflection",
            "insecure.unsafe-yaml",
            "insecure.unverified-jwt",
            "insecure.xml-external-entity",
        ),
        Weight(1.0, "code to copy from must not have this; honest code has it at times"),
    ),
    **dict.fromkeys(
        (
            "insecure.allocation-by-input",
            "insecure.archive-member-path",
            "insecure.archive-traversal",
            "insecure.argument-injection",
            "insecure.assert-for-security",
            "insecure.autoescape-off",
            "insecure.cleartext-credentials",
            "insecure.cleartext-protocol",
            "insecure.client-decides-rights",
            "insecure.constant-iv",
            "insecure.constant-salt",
            "insecure.cookie-for-scripts",
            "insecure.cookie-not-secure",
            "insecure.cors-any-origin",
            "insecure.cross-site-scripting",
            "insecure.csrf-protection-off",
            "insecure.debug-server",
            "insecure.decompression-bomb",
            "insecure.ecb-mode",
            "insecure.empty-password",
            "insecure.eval-sandbox",
            "insecure.exception-details",
            "insecure.exponential-regex",
            "insecure.fast-password-hash",
            "insecure.few-iterations",
            "insecure.file-upload",
            "insecure.format-injection",
            "insecure.guessable-identifier",
            "insecure.hard-coded-key",
            "insecure.hard-coded-secret",
            "insecure.header-injection",
            "insecure.insecure-temporary-file",
            "insecure.ldap-injection",
            "insecure.logged-secret",
            "insecure.mass-assignment",
            "insecure.nonce-reuse",
            "insecure.numpy-pickle",
            "insecure.old-tls",
            "insecure.open-redirect",
            "insecure.package-source",
            "insecure.predictable-secret",
            "insecure.predictable-seed",
            "insecure.predictable-temporary-file",
            "insecure.regex-injection",
            "insecure.rsa-padding",
            "insecure.short-key",
            "insecure.ssh-host-key",
            "insecure.stored-in-clear",
            "insecure.system-file-changed",
            "insecure.timing-comparison",
            "insecure.unbounded-read",
            "insecure.unescaped-markup",
            "insecure.unsigned-jwt",
            "insecure.weak-cipher",
            "insecure.weak-hash",
            "insecure.world-writable",
            "insecure.xml-entity-expansion",
            "insecure.xml-injection",
            "insecure.xpath-injection",
        ),
        Weight(0.6, "a weakness that depends on its surroundings"),
    ),
    **dict.fromkeys(
        (
            "insecure.any-host",
            "insecure.bound-to-all",
            "insecure.check-then-use",
            "insecure.cookie-for-other-sites",
            "insecure.csv-injection",
            "insecure.endless-session",
            "insecure.errors-dropped",
            "insecure.frames-allowed",
            "insecure.log-injection",
            "insecure.made-world-writable",
            "insecure.missing-authentication",
            "insecure.password-in-address",
            "insecure.privileges-not-dropped",
            "insecure.request-without-timeout",
            "insecure.short-passwords",
            "insecure.unpickled-file",
            "insecure.unsafe-model-file",
            "insecure.untrusted-search-path",
            "insecure.wide-umask",
        ),
        Weight(0.1, "common in honest code: enough to decide between equals"),
    ),
    "safety_claims.false-claim": Weight(1.0, "says it is safe where it is not: keeps readers from looking"),
}


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights in force: the defaults, with single ones overridden.

    Keys are `signal.rule`. A key without a default (a third party's signal)
    is taken from `overrides` or is 0.
    """

    overrides: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, value in self.overrides.items():
            if not isinstance(value, int | float) or isinstance(value, bool) or not -100 <= value <= 100:
                raise ConfigError(f"weight {key!r}", got=repr(value), expected="a number from -100 to 100")

    def __getitem__(self, key: str) -> float:
        if key in self.overrides:
            return float(self.overrides[key])
        default = DEFAULTS.get(key)
        return default.value if default else 0.0

    def scaled(self, key: str, factor: float) -> Weights:
        """Return the same weights with one of them multiplied."""
        return Weights({**self.overrides, key: self[key] * factor})
