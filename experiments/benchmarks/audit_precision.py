"""How often findings are right, by rule: what the audit's confidences are made from.

    python -m experiments.benchmarks.audit_precision [--write] [--base-rate LINES]

`audit_precision.toml` holds, of each package that was read, how many findings of medium severity and above of each rule
were judged and how many of them were false. Of one rule in one package at most three findings count, so that no package
decides. Rules of intent tell what an attacker does, and nobody attacks in those packages: every finding of theirs is
false by construction, however good the rule. Their share of right findings is that of a corpus with attacks in it:
what was judged in all findings of packages that were read whole, and what the rule finds of `audit_attacks.toml` when
one file that means harm comes with so many lines of those packages (`precision.toml`, `[attacks]`), each kind of attack
as often as the others.

Prints how well the confidence of a rule carries over: each package's findings are graded by the other packages alone.
A finding of flaws that has a kind, `direct` (an untrusted value is used as it came) or `outright` (a check is off in no
branch), is judged by itself, as `signal.rule@kind`: the mechanism is the same for all rules of a signal, so that ten
findings of a kind are enough for each, and a rule of which none was judged has the confidence of its kind,
`signal@kind`. Flaws in files of tests were not judged.

`--write` renews `codeguard/audit/precision.toml`, which the audit reads.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeguard.audit.rules import PRECISION as TABLE
from codeguard.models import Confidence
from experiments.benchmarks.audit_common import finish, parser_of, rate

LIST = Path(__file__).with_suffix(".toml")
ATTACKS = Path(__file__).with_name("audit_attacks.toml")
WHOLE = "read_whole"  # of LIST: the packages all of whose findings were judged, and how many lines they have
COUNTERPARTS = "counterparts"  # of LIST: what behavior checks say of functions of known origin
COUNTED = (
    "counted"  # of LIST: findings of intent in packages that were not read, and how many lines those have
)
MOST = 3  # findings of one rule in one package that count

Counts = Mapping[str, tuple[float, float]]
"""Of each rule how many findings were judged or are expected in attacks, and how many of them are false."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How a share of right findings follows from counts, and confidence from a share.

    `prior` is the number of findings that the share of the signal counts as when that of a rule is estimated, and
    the share of all findings when that of a signal is. A rule without counts has low confidence, and so has one of
    flaws with fewer than `least` judged findings. `intent` are the signals whose rules tell of intent, or single rules,
    `judging_prose` those whose rules need the share `prose` for medium confidence.
    """

    high: float
    medium: float
    prose: float
    prior: float
    least: float
    intent: frozenset[str] = frozenset()
    judging_prose: frozenset[str] = frozenset()

    def share(self, rule: str, judged: Counts) -> float:
        """Return the estimated share of right findings of a rule."""
        single = {name: counts for name, counts in judged.items() if "." in name}
        share = 0.0
        for rows, prior in (
            (single.values(), 0.0),
            (of_group(rule, judged), self.prior),
            ([single.get(rule, (0, 0))], self.prior),
        ):
            count, false = (sum(numbers) for numbers in zip((0, 0), *rows, strict=True))
            share = (count - false + prior * share) / (count + prior)
        return share

    def confidence(self, rule: str, judged: Counts) -> Confidence:
        """Return the confidence of a rule by what was judged."""
        signal, (count, _) = rule.partition(".")[0], judged.get(rule, (0, 0))
        if "@" in rule:
            count = sum(number for number, _ in of_group(rule, judged))
        if not count or (count < self.least and not self.intent & {rule, signal}):
            return Confidence.LOW
        share = self.share(rule, judged)
        if share >= self.high:
            return Confidence.HIGH
        enough = self.prose if signal in self.judging_prose else self.medium
        return Confidence.MEDIUM if share >= enough else Confidence.LOW


def group_of(rule: str) -> str:
    """Return what a rule shares its prior with: its signal, or with `@kind` the findings of that kind of its signal."""
    name, _, kind = rule.partition("@")
    signal = name.partition(".")[0]
    return f"{signal}@{kind}" if kind else signal


def of_group(rule: str, judged: Counts) -> list[tuple[float, float]]:
    """Return the counts of the rules of a group."""
    return [counts for name, counts in judged.items() if "." in name and group_of(name) == group_of(rule)]


def precision_table(text: str) -> tuple[Scale, Counts]:
    """Return the scale and the counts of a table such as `precision.toml`."""
    rows = tomllib.loads(text)
    intent, prose = frozenset(rows["attacks"]["signals"]), frozenset(rows["judges_prose"]["signals"])
    scale = Scale(**rows["scale"], intent=intent, judging_prose=prose)
    return scale, {rule: (count, false) for rule, (count, false, _) in rows["judged"].items()}


Package = Mapping[str, tuple[int, int]]  # of each rule how many findings were judged, and how many were false


@dataclass(frozen=True, slots=True)
class Attacks:
    """What rules of intent find of harmful files, and how rare those are.

    `found` holds for each kind of attack the number of files, and of each rule the number of files it finds. `lines`
    of honest code come with one harmful file; `signals` are those whose rules tell of intent, or single rules.
    `packages` are those of which every finding was judged, with `honest` lines in all. Of the rules of `counting` the
    findings in others, with `more` lines, are `counted`, which nobody read.
    """

    found: Mapping[str, tuple[int, Mapping[str, int]]]
    lines: int
    signals: frozenset[str]
    packages: frozenset[str]
    honest: int
    counting: frozenset[str]
    counted: Mapping[str, int]
    more: int

    def counts(self, rule: str) -> bool:
        """Return whether a rule tells of intent."""
        return _among(rule, self.signals)

    def recall(self, rule: str) -> float:
        """Return the share of attacks in which a rule finds something, each kind of them as often as the others."""
        shares = [hits.get(rule, 0) / files for files, hits in self.found.values()]
        return sum(shares) / len(shares)

    def expected(self, rule: str) -> float:
        """Return how many findings of a rule are right in as many lines as the honest packages have."""
        return self.read(rule) / self.lines * self.recall(rule)

    def read(self, rule: str) -> int:
        """Return how many lines of honest packages a rule was counted in."""
        return self.honest + (self.more if _among(rule, self.counting) else 0)


def main() -> None:
    """Print and write the figures; renew the tables where asked."""
    parser = parser_of(__doc__)
    parser.add_argument("--write", action="store_true", help="renew the table that the audit reads")
    parser.add_argument(
        "--base-rate",
        type=int,
        metavar="LINES",
        help="honest lines for one harmful file, instead of the table's",
    )
    arguments = parser.parse_args()
    packages, attacks = judged_packages(), known_attacks(arguments.base_rate)
    text = TABLE.read_text(encoding="utf-8")
    scale, *_ = precision_table(text)
    if arguments.write:
        head, _, _ = text.partition("[judged]\n")
        counts = combined(packages, attacks, counterparts())
        rows = [
            f'"{rule}" = [{count:g}, {false:g}, "{scale.confidence(rule, counts).name.lower()}"]\n'
            for rule, (count, false) in counts.items()
        ]
        TABLE.write_text(f"{head}[judged]\n{''.join(rows)}", encoding="utf-8")
    finish(_figures(packages, attacks, scale), arguments.json)


def judged_packages() -> dict[str, Package]:
    """Return the counts of each package that was read."""
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return {
        name: {rule: (count, false) for rule, (count, false) in rules.items()}
        for name, rules in listed.items()
        if name not in (WHOLE, COUNTERPARTS, COUNTED)
    }


def known_attacks(lines: int | None = None) -> Attacks:
    """Return what rules find of attacks; with `lines` of honest code for a harmful file instead of the table's."""
    stated = tomllib.loads(TABLE.read_text(encoding="utf-8"))["attacks"]
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))
    whole, counted = listed[WHOLE], listed[COUNTED]
    found = tomllib.loads(ATTACKS.read_text(encoding="utf-8"))
    return Attacks(
        {kind: (rows.pop("files"), rows) for kind, rows in found.items()},
        lines or stated["lines"],
        frozenset(stated["signals"]),
        frozenset(whole["packages"]),
        whole["lines"],
        frozenset(counted["signals"]),
        counted["false"],
        counted["lines"],
    )


def _among(rule: str, names: frozenset[str]) -> bool:
    return bool(names & {rule, rule.partition(".")[0]})


def counterparts() -> Package:
    """Return the convictions of behavior checks by rule, and how many are of honest functions."""
    rows = tomllib.loads(LIST.read_text(encoding="utf-8"))[COUNTERPARTS]
    return {rule: (count, false) for rule, (count, false) in rows.items()}


def pooled(packages: Iterable[Package], most: int = MOST) -> dict[str, tuple[float, float]]:
    """Return the counts of each rule over packages, sorted by rule; of one package at most so many findings count."""
    totals: dict[str, tuple[float, float]] = defaultdict(lambda: (0, 0))
    for package in packages:
        for rule, (count, false) in package.items():
            counted = min(count, most)
            sum_judged, sum_false = totals[rule]
            totals[rule] = (sum_judged + counted, round(sum_false + false * counted / count, 1))
    return dict(sorted(totals.items()))


def combined(
    packages: Mapping[str, Package], attacks: Attacks, others: Package | None = None
) -> dict[str, tuple[float, float]]:
    """Return the counts of each rule: for those of intent in a corpus with attacks in it, for others in packages.

    `others` are counts of rules that were judged elsewhere.
    """
    flaws = {rule: row for rule, row in pooled(packages.values()).items() if not attacks.counts(rule)}
    read = pooled(
        (package for name, package in packages.items() if name in attacks.packages),
        most=max(count for package in packages.values() for count, _ in package.values()),
    )
    rules = {rule for _, hits in attacks.found.values() for rule in hits}
    intent = {}
    for rule in {*filter(attacks.counts, read), *attacks.counted, *rules}:
        judged, false = read.get(rule, (0, 0))
        counted = attacks.counted.get(rule, 0)
        intent[rule] = (round(judged + counted + attacks.expected(rule), 1), false + counted)
    groups: dict[str, tuple[float, float]] = {}
    for group in {group_of(rule) for rule in flaws if "@" in rule}:
        count, false = (sum(numbers) for numbers in zip(*of_group(group, flaws), strict=True))
        groups[group] = (count, round(false, 1))
    return dict(sorted({**flaws, **groups, **intent, **(others or {})}.items()))


def main_list(packages: Mapping[str, Package], attacks: Attacks, scale: Scale) -> frozenset[str]:
    """Return the rules with at least medium confidence."""
    judged = combined(packages, attacks)
    return frozenset(rule for rule in judged if scale.confidence(rule, judged) > Confidence.LOW)


def _figures(packages: Mapping[str, Package], attacks: Attacks, scale: Scale) -> dict[str, Any]:
    flaws: dict[Confidence, list[int]] = {level: [0, 0] for level in Confidence}
    intent: dict[Confidence, list[int]] = {level: [0, 0] for level in Confidence}
    for name, package in packages.items():
        others: Counts = combined({key: rules for key, rules in packages.items() if key != name}, attacks)
        for rule, (count, false) in package.items():
            level = (intent if attacks.counts(rule) else flaws)[scale.confidence(rule, others)]
            level[0] += count
            level[1] += false
    listed = [row[level] for row in (flaws, intent) for level in row if level > Confidence.LOW]
    sure = [intent[level] for level in intent if level > Confidence.LOW]
    counts = combined(packages, attacks)
    rules = frozenset(filter(attacks.counts, counts))
    return {
        "packages": len(packages),
        "judged": sum(count for package in packages.values() for count, _ in package.values()),
        "false": sum(false for package in packages.values() for _, false in package.values()),
        "honest_lines_for_a_harmful_file": attacks.lines,
        "false_by_confidence_from_other_packages": {
            level.name.lower(): rate(false, count) for level, (count, false) in flaws.items()
        },
        "false_in_main_list": rate(sum(false for _, false in listed), sum(count for count, _ in listed)),
        "of_intent_in_main_list": rate(sum(false for _, false in sure), sum(count for count, _ in sure)),
        "of_intent_false_in_100000_lines_and_recall": {
            rule: [round(1e5 * counts[rule][1] / attacks.read(rule), 3), round(attacks.recall(rule), 3)]
            for rule in sorted(rules)
        },
        "rules_of_intent_less_sure": sorted(rules - main_list(packages, attacks, scale)),
    }


if __name__ == "__main__":
    main()
