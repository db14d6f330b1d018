"""How often findings are right in popular packages, by rule: what the audit's confidences are made from.

    python -m experiments.benchmarks.audit_precision [--write]

`audit_precision.toml` holds, of each package that was read, how many findings of medium severity and above of each rule
were judged and how many of them were false. Prints how well the confidence of a rule carries over: each package's
findings are graded by the other packages alone. `--write` renews `codeguard/audit/precision.toml`, which the audit
reads; of one rule in one package at most three findings count, so that no package decides.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from codeguard.audit.precision import TABLE, Scale, table
from codeguard.models import Confidence
from experiments.benchmarks.audit_common import finish, parser_of, rate

LIST = Path(__file__).with_suffix(".toml")
MOST = 3  # findings of one rule in one package that count

Package = Mapping[str, tuple[int, int]]  # of each rule how many findings were judged, and how many were false


def main() -> None:
    """Print and write the figures; renew the table where asked."""
    parser = parser_of(__doc__)
    parser.add_argument("--write", action="store_true", help="renew the table that the audit reads")
    arguments = parser.parse_args()
    packages = judged_packages()
    text = TABLE.read_text(encoding="utf-8")
    scale, _ = table(text)
    if arguments.write:
        head, _, _ = text.partition("[judged]\n")
        rows = [
            f'"{rule}" = [{count:g}, {false:g}]\n'
            for rule, (count, false) in pooled(packages.values()).items()
        ]
        TABLE.write_text(f"{head}[judged]\n{''.join(rows)}", encoding="utf-8")
    finish(_figures(packages, scale), arguments.json)


def judged_packages() -> dict[str, Package]:
    """Return the counts of each package that was read."""
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return {
        name: {rule: (count, false) for rule, (count, false) in rules.items()}
        for name, rules in listed.items()
    }


def pooled(packages: Iterable[Package]) -> dict[str, tuple[float, float]]:
    """Return the counts of each rule over packages, sorted by rule."""
    totals: dict[str, tuple[float, float]] = defaultdict(lambda: (0, 0))
    for package in packages:
        for rule, (count, false) in package.items():
            counted = min(count, MOST)
            sum_judged, sum_false = totals[rule]
            totals[rule] = (sum_judged + counted, round(sum_false + false * counted / count, 1))
    return dict(sorted(totals.items()))


def _figures(packages: Mapping[str, Package], scale: Scale) -> dict[str, Any]:
    found: dict[Confidence, list[int]] = {level: [0, 0] for level in Confidence}
    for name, package in packages.items():
        others = pooled(rules for other, rules in packages.items() if other != name)
        for rule, (count, false) in package.items():
            share = scale.share(rule, others)
            if share is not None:
                level = found[scale.confidence(share)]
                level[0] += count
                level[1] += false
    return {
        "packages": len(packages),
        "judged": sum(count for package in packages.values() for count, _ in package.values()),
        "false": sum(false for package in packages.values() for _, false in package.values()),
        "false_by_confidence_from_other_packages": {
            level.name.lower(): rate(false, count) for level, (count, false) in found.items()
        },
        "false_in_main_list": rate(
            sum(found[level][1] for level in found if level > Confidence.LOW),
            sum(found[level][0] for level in found if level > Confidence.LOW),
        ),
    }


if __name__ == "__main__":
    main()
