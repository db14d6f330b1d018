"""What the audit finds in our own samples of malice, of agents' files and of orders, each half by itself.

The samples lie in `experiments/audit_sets` and do no harm. One half was looked
at while the rules were written, the other one was not; which is which follows
from the digest of a sample's name. A sample counts as caught where a rule of the named
signals finds something of medium severity or above in it; for honest
counterparts every signal counts.

    python -m experiments.benchmarks.audit_halves [--misses] [--peers FOLDER]

With `--peers` the samples in Python are written into a folder, one file each,
for other scanners to read.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from experiments.audit_sets.halves import Sample, samples
from experiments.benchmarks.audit_common import findings_in
from experiments.text.common import wilson

SETS = ("malice", "agent_files", "agent_orders", "agent_orders_holdout", "agent_varied", "orders")
SIGNALS = ("agent", "capabilities", "deceptive", "imports", "injection", "obfuscation")


def caught(sample: Sample) -> bool:
    """Return whether something is found in a sample that a person should see."""
    found = findings_in(sample.code, sample.kind)
    return any(not sample.bad or item.rule.partition(".")[0] in SIGNALS for item in found)


def main() -> None:
    """Print a line for each set, kind and half."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--misses", action="store_true", help="name what is missed in the half to develop on")
    parser.add_argument("--peers", type=Path, help="a folder to write the samples in Python into")
    arguments = parser.parse_args()
    for name in SETS:
        rows: dict[tuple[str, bool, bool], list[bool]] = defaultdict(list)
        for sample in samples(name):
            if arguments.peers is not None and name == "malice" and sample.kind == "python":
                folder = arguments.peers / sample.id
                folder.mkdir(parents=True, exist_ok=True)
                (folder / "setup.py").write_text(sample.code, encoding="utf-8")
            hit = caught(sample)
            label = sample.kind if name == "malice" else sample.family
            for each in (label, "all"):
                rows[each, sample.bad, sample.frozen].append(hit)
            if arguments.misses and not sample.frozen and hit is not sample.bad:
                print(f"{name}: {sample.kind} {sample.id} {'missed' if sample.bad else 'flagged'}")
        for (label, bad, frozen), hits in sorted(rows.items()):
            low, high = wilson(sum(hits), len(hits))
            half, what = "frozen" if frozen else "development", "caught" if bad else "honest flagged"
            shown = f"{sum(hits)} of {len(hits)}, {sum(hits) / len(hits):.0%} ({low:.0%} to {high:.0%})"
            print(f"{name:12} {label:16} {half:12} {what}: {shown}")


if __name__ == "__main__":
    main()
