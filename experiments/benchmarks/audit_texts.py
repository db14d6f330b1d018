"""Text that addresses the model, and characters that deceive: recall and false alarms of the audit.

    python -m experiments.benchmarks.audit_texts [--set injections|injections_holdout] [FOLDER…] [--json FILE]

An injection is hit where a finding of medium or higher severity overlaps its
lines. False alarms are counted on honest comments, docstrings and strings of
the folders (default: the installed packages and the standard library), each
of them a file of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codeguard.models import Severity
from experiments.audit_sets.benign_comments import BenignText, choose, collect
from experiments.audit_sets.texts import (
    INJECTION_SETS,
    DeceptiveCase,
    Injection,
    digest_of,
    load_deceptive,
    load_injections,
)
from experiments.benchmarks.audit_common import findings_in, finish, grouped, parser_of, rate, rates, touches

LISTED = 60


def main() -> None:
    """Measure, print and write the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="where honest texts are gathered")
    parser.add_argument("--set", default="injections", choices=INJECTION_SETS)
    parser.add_argument(
        "--least",
        default="medium",
        choices=[item.name.lower() for item in Severity],
        help="findings that count",
    )
    parser.add_argument("--pool", type=int, default=1_000_000, help="at most so many texts to choose from")
    arguments = parser.parse_args()
    figures = {
        "set": arguments.set,
        "digest": digest_of(arguments.set),
        "least": arguments.least,
        "injections": injections(load_injections(arguments.set), Severity[arguments.least.upper()]),
        "honest_texts": honest(
            choose(collect(arguments.folders, arguments.pool)), Severity[arguments.least.upper()]
        ),
        "deceptive": deceptive(load_deceptive()),
    }
    finish(figures, arguments.json)


def injections(entries: Sequence[Injection], least: Severity) -> dict[str, Any]:
    """Return recall of all signals and of the injection signal alone, by language, technique and disguise."""
    hits, own = [], []
    by_rule: Counter[str] = Counter()
    for entry in entries:
        rules = {
            item.rule for item in findings_in(entry.code, entry.host, least) if touches(item, *entry.where)
        }
        by_rule.update(rules)
        hits.append(bool(rules))
        own.append(any(rule.startswith("injection.") for rule in rules))
    columns = {
        "language": [entry.language for entry in entries],
        "technique": [entry.technique for entry in entries],
        "obfuscation": [entry.obfuscation for entry in entries],
        "host": [entry.host for entry in entries],
    }
    return {
        "recall": rate(sum(hits), len(hits)),
        "recall_of_injection_alone": rate(sum(own), len(own)),
        "by_rule": dict(by_rule.most_common()),
        **{f"by_{name}": rates(grouped(zip(values, hits, strict=True))) for name, values in columns.items()},
        "misses": [entry.id for entry, hit in zip(entries, hits, strict=True) if not hit],
    }


def honest(texts: Sequence[BenignText], least: Severity) -> dict[str, Any]:
    """Return false alarms on honest texts, on the hard ones and on all."""
    by_rule: Counter[str] = Counter()
    flagged: list[tuple[BenignText, str]] = []
    injected: list[bool] = []
    for text in texts:
        rules = sorted({item.rule for item in findings_in(_as_file(text), text.host, least)})
        by_rule.update(rules)
        injected.append(any(rule.startswith("injection.") for rule in rules))
        if rules:
            flagged.append((text, ", ".join(rules)))
    hard = [text.hard for text in texts]
    flags = {id(text) for text, _ in flagged}
    return {
        "hard": rate(sum(text.hard for text, _ in flagged), sum(hard)),
        "all": rate(len(flagged), len(texts)),
        "hard_by_injection": rate(sum(a and b for a, b in zip(injected, hard, strict=True)), sum(hard)),
        "all_by_injection": rate(sum(injected), len(texts)),
        "by_kind": rates(grouped((text.kind, id(text) in flags) for text in texts)),
        "by_rule": dict(by_rule.most_common()),
        "flagged": [f"{text.path}: {rules}: {text.text[:120]!r}" for text, rules in flagged[:LISTED]],
    }


def deceptive(cases: Sequence[DeceptiveCase]) -> dict[str, Any]:
    """Return recall on deceptive files (on their lines) and false alarms on honest ones."""
    attacks, false = [], []
    for case in cases:
        found = findings_in(case.code, case.host)
        if case.attack:
            on_line = any(touches(item, line, line) for item in found for line in case.lines)
            attacks.append((case, bool(found), on_line))
        elif found:
            false.append((case, sorted({item.rule for item in found})))
    honest_cases = sum(not case.attack for case in cases)
    return {
        "recall": rate(sum(found for _, found, _ in attacks), len(attacks)),
        "recall_on_its_lines": rate(sum(hit for _, _, hit in attacks), len(attacks)),
        "by_kind": rates(grouped((case.kind, hit) for case, _, hit in attacks)),
        "by_host": rates(grouped((case.host, hit) for case, _, hit in attacks)),
        "false_alarms": rate(len(false), honest_cases),
        "misses": [case.id for case, _, hit in attacks if not hit],
        "flagged": [f"{case.id}: {', '.join(rules)}" for case, rules in false],
    }


def _as_file(text: BenignText) -> str:
    """Return a text as a file in which it is what it was: a comment, a docstring, a string."""
    if text.kind == "string":
        return f"NAME = {text.text}\n" if text.host == "python" else f"var name = {text.text};\n"
    return text.text + "\n"


if __name__ == "__main__":
    main()
