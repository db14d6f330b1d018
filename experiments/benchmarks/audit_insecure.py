"""Insecure and fixed pairs: what the audit and bandit find of them, in one run.

    python -m experiments.benchmarks.audit_insecure [--set insecure|insecure_holdout] [--json FILE]

A hit is a finding of medium or higher severity anywhere in the insecure
text; a false alarm is one in the fixed twin.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments.audit_sets.pairs import SETS, Pair, load_pairs, set_digest
from experiments.benchmarks.audit_common import findings_in, finish, grouped, parser_of, rate, rates

Rules = list[list[str]]  # of each text the rules of medium or higher severity that fire


def main() -> None:
    """Measure, print and write the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("--set", default="insecure", choices=SETS)
    arguments = parser.parse_args()
    pairs = load_pairs(arguments.set)
    bad, good = [pair.insecure for pair in pairs], [pair.fixed for pair in pairs]
    both = bandit([*bad, *good])
    figures = {
        "set": arguments.set,
        "digest": set_digest(arguments.set),
        "pairs": len(pairs),
        "cwes": len({pair.cwe for pair in pairs}),
        "codeguard": _figures(pairs, ours(bad), ours(good)),
        f"bandit {version('bandit')}": _figures(pairs, both[: len(pairs)], both[len(pairs) :]),
    }
    finish(figures, arguments.json)


def ours(texts: Sequence[str]) -> Rules:
    """Return the rules of the static signals that fire on each text."""
    return [[item.rule for item in findings_in(text)] for text in texts]


def bandit(texts: Sequence[str]) -> Rules:
    """Return the tests of bandit that fire on each text at medium or higher severity."""
    found: Rules = [[] for _ in texts]
    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(texts):
            (Path(folder) / f"t{number:05}.py").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "bandit", "-q", "-r", "-f", "json", folder]
        done = subprocess.run(command, capture_output=True, check=False, timeout=600)
        for row in json.loads(done.stdout)["results"]:
            if row["issue_severity"] in ("MEDIUM", "HIGH"):
                found[int(Path(row["filename"]).stem[1:])].append(row["test_id"])
    return found


def _figures(pairs: Sequence[Pair], bad: Rules, good: Rules) -> dict[str, Any]:
    cwes = [f"CWE-{pair.cwe:04}" for pair in pairs]
    told_apart = [bool(b) and not g for b, g in zip(bad, good, strict=True)]
    return {
        "recall": rate(sum(map(bool, bad)), len(pairs)),
        "fixed_twins_flagged": rate(sum(map(bool, good)), len(pairs)),
        "told_apart": rate(sum(told_apart), len(pairs)),
        "by_signal": dict(Counter(name for rules in bad for name in {r.partition(".")[0] for r in rules})),
        "false_alarms_by_rule": dict(Counter(rule for rules in good for rule in set(rules)).most_common()),
        "by_cwe": rates(grouped(zip(cwes, map(bool, bad), strict=True))),
        "misses": [f"{pair.id}: {pair.note}" for pair, rules in zip(pairs, bad, strict=True) if not rules],
        "false_alarms": [
            f"{pair.id}: {', '.join(sorted(set(rules)))}"
            for pair, rules in zip(pairs, good, strict=True)
            if rules
        ],
    }


if __name__ == "__main__":
    main()
