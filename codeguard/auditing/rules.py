"""Every rule that an audit may name: those of the signals, and the audit's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codeguard.errors import ConfigError
from codeguard.models import Confidence, Severity
from codeguard.signals import AnySignal, Rule, load_all

AUDIT = "audit"
DISCOVERY = "discovery"

AUDIT_RULES: tuple[Rule, ...] = (
    Rule(
        "detector-error",
        "a detector failed on this file, which may hide anything",
        Severity.HIGH,
        Confidence.MEDIUM,
        explanation="Whoever can make a detector fail goes unseen, so a failure is a finding and not silence. "
        "Read the file by hand; if it is honest, report the failure and accept the finding.",
        bad="# a file on which the detector raises, hangs or dies",
        good="# a file that every detector reads to its end",
        cwe=(755,),
    ),
    Rule(
        "not-fully-read",
        "a part of the file was not examined",
        Severity.MEDIUM,
        Confidence.MEDIUM,
        explanation="Every detector keeps within bounds of time, depth and number, and a file can be written to run "
        "into one before the place that matters. The reason says what ended and in which line. Ordinary code keeps "
        "well within: read the rest by hand, split the file, or accept the finding.",
        bad="# a file that is padded until a bound is met, and what it is about behind that",
        good="# a file of ordinary size and nesting",
        cwe=(693,),
    ),
    Rule(
        "inline-ignore",
        "a comment asks to be ignored, where that does not count",
        Severity.MEDIUM,
        Confidence.HIGH,
        explanation="An inline ignore counts only in a file that the verified manifest covers, and only with a "
        "rule and a reason. Anywhere else whoever wrote the code would overrule its audit.",
        bad="run(command)  # codeguard: ignore",
        good="run(command)  # codeguard: ignore[insecure.shell] command is a constant of this module",
        cwe=(693,),
    ),
    Rule(
        "baseline",
        "the baseline could have been written by whoever wrote the audited code",
        Severity.MEDIUM,
        Confidence.HIGH,
        explanation="A baseline that lies in the audited tree counts only where the verified manifest covers it. "
        "Keep it outside of the audited paths, or list it in the signed manifest.",
        bad="codeguard audit . --baseline ./baseline.json",
        good="codeguard audit src --baseline ../policy/baseline.json",
        cwe=(693,),
        language="shell",
    ),
)

DISCOVERY_RULES: tuple[Rule, ...] = (
    Rule(
        "encoding",
        "declares an encoding that is not a plain character set",
        Severity.HIGH,
        Confidence.HIGH,
        explanation="A coding comment names the function that turns bytes into the program. With utf-7, rot13 or "
        "unicode_escape the program is not what a reviewer reads. The file is not audited further.",
        bad="# coding: utf-7",
        good="# coding: utf-8",
        cwe=(506, 838),
    ),
    Rule(
        "name",
        "a name holds control, bidirectional or undecodable characters",
        Severity.HIGH,
        Confidence.HIGH,
        explanation="Such a name shows as another one in a terminal, a diff or a review. The file is not audited "
        "further: rename it.",
        bad="invoice\\u202eyp.exe",
        good="invoice.py",
        cwe=(451,),
        language="text",
    ),
    Rule(
        "link",
        "a link leads out of the audited folder",
        Severity.MEDIUM,
        Confidence.HIGH,
        explanation="What the link leads to is not part of what is reviewed, and may be anything on the machine "
        "that follows it.",
        bad="settings.py -> /etc/passwd",
        good="settings.py -> defaults.py",
        cwe=(59,),
        language="text",
    ),
    Rule(
        "unseen",
        "a source file that could not be audited",
        Severity.MEDIUM,
        Confidence.MEDIUM,
        explanation="A file with the extension of a programming language that is too large, binary or unreadable "
        "does not enter the corpus, and nobody has looked at it.",
        bad="# a module of 3 MB, or with a NUL byte in it",
        good="# a module of ordinary size, saved as UTF-8",
        cwe=(1121,),
    ),
    Rule(
        "collision",
        "a path that passes for another one",
        Severity.MEDIUM,
        Confidence.HIGH,
        explanation="Two names that are one to a file system which folds case or normalises, or one to a reader "
        "(confusable letters, UTS #39). Beside a trusted file, whoever opens or retrieves the one may get the other.",
        bad="p\u0430yments.py beside payments.py (the second letter is Cyrillic)",
        good="payments.py",
        cwe=(451, 178),
        language="text",
    ),
    Rule(
        "syntax",
        "Python that does not parse: what needs the syntax tree sees only a part",
        Severity.MEDIUM,
        Confidence.MEDIUM,
        explanation="The statements that parse are looked at, the others are not, and a code model reads the text "
        "all the same. Mend the file, or audit it with a Python new enough for it.",
        bad="def f(:\n    return 1",
        good="def f():\n    return 1",
        cwe=(1121,),
    ),
)


@dataclass(frozen=True, slots=True)
class NamedRule:
    """A rule with the name of the signal that it belongs to."""

    signal: str
    rule: Rule

    @property
    def id(self) -> str:
        """The full id, `signal.rule`."""
        return f"{self.signal}.{self.rule.id}"


OWN_RULES: dict[str, Rule] = {
    **{f"{AUDIT}.{rule.id}": rule for rule in AUDIT_RULES},
    **{f"{DISCOVERY}.{rule.id}": rule for rule in DISCOVERY_RULES},
}


def all_rules(signals: Sequence[AnySignal] | None = None) -> tuple[NamedRule, ...]:
    """Return the audit's own rules and those of the signals (default: the registered ones), sorted by id."""
    named = [NamedRule(AUDIT, rule) for rule in AUDIT_RULES]
    named += [NamedRule(DISCOVERY, rule) for rule in DISCOVERY_RULES]
    for signal in load_all() if signals is None else signals:
        named += [NamedRule(signal.name, rule) for rule in signal.rules]
    return tuple(sorted(named, key=lambda item: item.id))


def find_rule(id_: str) -> NamedRule:
    """Return one rule by its full id; ConfigError where there is none."""
    rules = all_rules()
    for item in rules:
        if item.id == id_:
            return item
    near = [item.id for item in rules if id_ in item.id or item.signal == id_.partition(".")[0]]
    raise ConfigError(
        "no such rule",
        got=repr(id_),
        expected=", ".join(near[:8]) or "signal.rule",
        hint="codeguard rules lists all",
    )


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rules count, by full id or by prefix at a dot: `insecure` means all of that signal.

    Without `select` all do; `ignore` takes away from those. Of two that
    match, the longer one decides.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def takes(self, rule: str) -> bool:
        """Say whether a rule counts."""
        chosen = _longest(rule, self.select) if self.select else 0
        ignored = _longest(rule, self.ignore)
        return chosen >= 0 and (ignored < 0 or chosen > ignored)

    def check(self, rules: Sequence[NamedRule]) -> None:
        """Raise ConfigError for a pattern that matches no rule: a slip of the pen must not hide a finding."""
        for pattern in (*self.select, *self.ignore):
            if not any(_matches(item.id, pattern) for item in rules):
                raise ConfigError(
                    "no such rule", got=repr(pattern), expected="a rule or a signal", hint="codeguard rules"
                )


def _matches(rule: str, pattern: str) -> bool:
    return rule == pattern or rule.startswith(pattern.rstrip(".*") + ".")


def _longest(rule: str, patterns: Sequence[str]) -> int:
    """Return the length of the longest pattern that matches, -1 where none does."""
    return max((len(pattern) for pattern in patterns if _matches(rule, pattern)), default=-1)
