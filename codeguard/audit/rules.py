"""Every rule of the audit: those of the signals, and its own."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from codeguard.analysis.observations import AUDIT, DISCOVERY, ENGINE_RULES
from codeguard.analysis.rules import Rule
from codeguard.analysis.rules.base import DIRECT, LESS_SURE, OUTRIGHT, rules_of
from codeguard.audit.findings import CHANGE, FOR_REVIEW, NEW_EFFECT, Finding, is_fact
from codeguard.errors import ConfigError
from codeguard.models import Confidence, Severity
from codeguard.ranking.signals import AnySignal, load_all

_RULES = {**ENGINE_RULES, **rules_of(__file__)}
_OWN = {
    AUDIT: "detector-error not-fully-read inline-ignore company baseline budget-spent agent-file",
    DISCOVERY: "encoding name link not-read not-audited collision syntax",
    CHANGE: "behavior not-compared new-effect removed-check",
}
OWN_RULES: dict[str, Rule] = {
    f"{signal}.{name}": _RULES[name] for signal, names in _OWN.items() for name in names.split()
}
REMOVED_CHECK = f"{CHANGE}.removed-check"
PRECISION = Path(__file__).with_name("precision.toml")


@dataclass(frozen=True, slots=True)
class NamedRule:
    """A rule with the name of the signal that it belongs to."""

    signal: str
    rule: Rule

    @property
    def id(self) -> str:
        """The full id, `signal.rule`."""
        return f"{self.signal}.{self.rule.id}"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        rule = self.rule
        grades = {"severity": rule.severity.name.lower(), "confidence": rule.confidence.name.lower()}
        texts = ("explanation", "remediation", "language", "bad", "good")
        lists = {"cwe": list(rule.cwe), "special_of": list(rule.special_of)}
        named = {"rule": self.id, "summary": rule.summary}
        return named | grades | lists | {name: getattr(rule, name) for name in texts}


class FindingKind(StrEnum):
    """What a finding is about, the most urgent first: an attacker's intent, a mistake, what was not read, a change."""

    INTENT = "intent"
    FLAW = "flaw"
    UNREAD = "unread"
    REVIEW = "review"

    @property
    def heading(self) -> str:
        """The heading of the kind in a report."""
        return _HEADINGS[self]


_HEADINGS = {
    FindingKind.INTENT: "intent, what an attacker would plant",
    FindingKind.FLAW: "flaws, mistakes that make code insecure",
    FindingKind.UNREAD: "not read, so not cleared",
    FindingKind.REVIEW: "for review, what trusted functions do otherwise than before",
}


@cache
def _signals_of_intent() -> frozenset[str]:
    return frozenset(signal.name for signal in load_all() if getattr(signal, "intent", False))


def kind_of_rule(rule: str) -> FindingKind:
    """Return the kind of what a rule (`signal.rule`) reports.

    A signal whose `intent` is true tells of what an attacker would plant, any other of flaws.
    """
    signal = rule.partition(".")[0]
    if signal in (AUDIT, DISCOVERY):
        return FindingKind.UNREAD
    if rule in FOR_REVIEW:
        return FindingKind.REVIEW
    intent = rule == NEW_EFFECT or signal in _signals_of_intent()
    return FindingKind.INTENT if intent else FindingKind.FLAW


def by_kind(findings: Iterable[Finding]) -> dict[FindingKind, dict[str, list[Finding]]]:
    """Return findings by kind and rule, in their order."""
    found: dict[FindingKind, dict[str, list[Finding]]] = {kind: {} for kind in FindingKind}
    for item in findings:
        found[kind_of_rule(item.rule)].setdefault(item.rule, []).append(item)
    return found


def all_rules(signals: Sequence[AnySignal] | None = None) -> tuple[NamedRule, ...]:
    """Return the audit's own rules and those of the signals (default: the registered ones), sorted by id.

    Their confidence is the measured one, as in findings.
    """
    named = [NamedRule(id_.partition(".")[0], rule) for id_, rule in OWN_RULES.items()]
    for signal in load_all() if signals is None else signals:
        named += [NamedRule(signal.name, rule) for rule in signal.rules]
    return tuple(sorted(map(_with_confidence, named), key=lambda item: item.id))


def _with_confidence(named: NamedRule) -> NamedRule:
    confidence = measured_confidence(named.id, named.rule.severity)
    return named if confidence is None else replace(named, rule=replace(named.rule, confidence=confidence))


@cache
def _measured() -> Mapping[str, Confidence]:
    """Return the confidence of the rules whose findings were judged; see `experiments.benchmarks.audit_precision`."""
    judged = tomllib.loads(PRECISION.read_text(encoding="utf-8"))["judged"]
    return {rule: Confidence[level.upper()] for rule, (_, _, level) in judged.items()}


@cache
def measured_confidence(rule: str, severity: Severity, kind: str = "") -> Confidence | None:
    """Return the confidence of a rule (`signal.rule`) as measured, low if it was not; None if it states its own.

    Findings of a `kind` were judged by themselves: of the rule, or else of all rules of its signal. Less severe
    findings state their own, and facts: what the audit says of its own reading, of a manifest, or of lines that a
    change removed.
    """
    if severity < Severity.MEDIUM or is_fact(rule):
        return None
    known = _measured()
    plain = known.get(rule, Confidence.LOW)
    return known.get(f"{rule}@{kind}", known.get(f"{rule.partition('.')[0]}@{kind}", plain))


def with_confidence(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with measured confidence; those that state their own keep it.

    It is low where the detector says that its rule is mostly wrong at such a place.
    """
    result = []
    for item in findings:
        kind = next((name for name in (DIRECT, OUTRIGHT) if item.measurements.get(name)), "")
        confidence = measured_confidence(item.rule, item.severity, kind)
        if item.measurements.get(LESS_SURE):
            confidence = Confidence.LOW
        result.append(item if confidence is None else replace(item, confidence=confidence))
    return result


def find_rule(id_: str) -> NamedRule:
    """Return one rule by its full id; raise ConfigError if there is none."""
    rules = all_rules()
    for item in rules:
        if item.id == id_:
            return item
    raise ConfigError(
        "no such rule", got=repr(id_), expected=_meant(id_, rules), hint="codeguard rules lists all"
    )


def _meant(wrong: str, rules: Sequence[NamedRule]) -> str:
    """Return suggestions for a mistyped rule."""
    ids = [item.id for item in rules]
    near = [id_ for id_ in ids if wrong in id_] or difflib.get_close_matches(wrong, ids, n=3)
    by_name = {id_.rpartition(".")[2]: id_ for id_ in ids}
    near = near or [by_name[name] for name in difflib.get_close_matches(wrong, by_name, n=3, cutoff=0.7)]
    near = near or [id_ for id_ in ids if id_.partition(".")[0] == wrong.partition(".")[0]]
    return " or ".join(near[:5]) or "signal.rule"


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """Which rules count, by full id or by prefix at a dot: `insecure` means all of that signal.

    Without `select` all count; `ignore` excludes some. If several patterns match, the longest decides.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def takes(self, rule: str) -> bool:
        """Return whether a rule counts."""
        ignored, chosen = longest_match(rule, self.ignore), longest_match(rule, self.select)
        return bool(chosen or not self.select) and (not ignored or len(chosen) > len(ignored))

    def check(self, rules: Sequence[NamedRule]) -> None:
        """Raise ConfigError for a pattern that matches no rule: a typo must not hide a finding."""
        for pattern in (*self.select, *self.ignore):
            if not any(_matches(item.id, pattern) for item in rules):
                meant = _meant(pattern, rules)
                raise ConfigError(
                    "no such rule or signal",
                    got=repr(pattern),
                    expected=meant,
                    hint="codeguard rules lists all",
                )


def _matches(rule: str, pattern: str) -> bool:
    return rule == pattern or rule.startswith(pattern.rstrip(".*") + ".")


def longest_match(rule: str, patterns: Iterable[str]) -> str:
    """Return the longest of some rules and signals that means a rule, "" if none does."""
    return max((pattern for pattern in patterns if _matches(rule, pattern)), key=len, default="")
