"""From rows to figures: shares with intervals over questions and seeds, and paired tests between systems.

A row's `labels` hold a letter for each result, best first: p poison of the attack on this question, q other poison,
r a right answer, t another trusted chunk, c another chunk of unknown origin that is clean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from codeguard.ranking.evaluation import Proportion, wilson
from experiments.benchmark.readers import copies, follows_most

POISON = "pq"
SAMPLES = 1000
NEEDED = 97  # questions of a class for an interval of ten points to each side, at a share of one half
FEW = 10  # clusters below which resampling says nothing


@dataclass(frozen=True, slots=True)
class Row:
    """What one system gave for one question of one round.

    `instance` is the attack on it, empty for none; `reach` says that the
    undefended baseline shows poison of that attack among its first ten.
    `before` are the labels of the system's own retrieval without its defense
    in the same corpus, `right_baseline` says that the baseline shows a right
    answer among its first five, `obeyed` that the third reader follows the
    attacker, `written` what a model wrote where one was asked.
    """

    system: str
    pair: str
    seed: int
    question: str
    kind: str
    function: str
    twin: bool
    labels: str
    instance: str = ""
    attack: str = ""
    family: str = ""
    adaptive: bool = False
    knowledge: str = ""
    position: str = ""
    budget: int = 0
    reach: bool = False
    before: str = ""
    right_baseline: bool = False
    obeyed: bool = False
    refused: bool = False
    author: str = ""
    written: str = ""

    @property
    def right_before(self) -> bool:
        """Whether the own retrieval without the defense has a right answer among its first five."""
        return "r" in self.before[:5]

    @property
    def cluster(self) -> str:
        """What answers together: the questions about one function in one round are no independent draws."""
        return f"{self.pair}/{self.seed}/{self.function}"


def on_top(row: Row) -> bool:
    """Return whether the first result is poison."""
    return copies(row.labels)


def poison_at(row: Row, k: int) -> int:
    """Return how many of the first k results are poison."""
    return sum(letter in POISON for letter in row.labels[:k])


def above_right(row: Row) -> bool:
    """Return whether poison stands above every right answer; also where there is poison and no right answer."""
    first = next((place for place, letter in enumerate(row.labels) if letter in POISON), None)
    right = row.labels.find("r")
    return first is not None and (right < 0 or first < right)


def right_at(row: Row, k: int) -> bool:
    """Return whether a right answer is among the first k results."""
    return "r" in row.labels[:k]


@dataclass(frozen=True, slots=True)
class Share:
    """A share over rows with its 95 % interval: by resampling clusters; Wilson's for few of them, for all and none."""

    hits: int
    n: int
    clusters: int
    low: float
    high: float

    @property
    def share(self) -> float | None:
        """The share, None where there is nothing to share."""
        return self.hits / self.n if self.n else None

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "share": self.share,
            "hits": self.hits,
            "n": self.n,
            "clusters": self.clusters,
            "interval": [self.low, self.high],
        }


def share(rows: Iterable[Row], wanted: Callable[[Row], bool], seed: int = 0) -> Share:
    """Return the share of the rows that are wanted."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        count = counts.setdefault(row.cluster, [0, 0])
        count[0] += wanted(row)
        count[1] += 1
    table = np.array(list(counts.values()), dtype=np.float64).reshape(-1, 2)
    hits, n = (int(value) for value in table.sum(axis=0))
    if hits in (0, n) or len(table) < FEW:
        low, high = wilson(hits / n if n else 0.0, len(table))
        return Share(hits, n, len(table), low, high)
    rng = np.random.default_rng(seed)
    drawn = table[rng.integers(0, len(table), (SAMPLES, len(table)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    return Share(hits, n, len(table), float(low), float(high))


def difference(rows: Sequence[Row], others: Sequence[Row], wanted: Callable[[Row], bool]) -> dict[str, Any]:
    """Return by how much more often something holds of a system than of another, with a 95 % interval over functions.

    Both are compared on the questions that both answered. The interval is by
    resampling functions; where they are few, or all alike, by the hybrid
    score method (Newcombe 1998, method 10), which takes no account of pairs.
    """
    known = {(row.pair, row.seed, row.question): row for row in others}
    pairs = [(row, known[key]) for row in rows if (key := (row.pair, row.seed, row.question)) in known]
    if not pairs:
        return {"n": 0, "difference": None, "interval": [-1.0, 1.0]}
    gaps: dict[str, list[int]] = {}
    for row, other in pairs:
        gaps.setdefault(row.cluster, []).append(wanted(row) - wanted(other))
    table = np.array([[sum(found), len(found)] for found in gaps.values()], dtype=np.float64)
    gap, n = table.sum(axis=0)
    shares = table[:, 0] / table[:, 1]
    if len(table) < FEW or np.ptp(shares) == 0:
        mine, theirs = (share([pair[side] for pair in pairs], wanted) for side in (0, 1))
        one, two = mine.hits / mine.n, theirs.hits / theirs.n
        low = gap / n - math.hypot(one - mine.low, theirs.high - two)
        high = gap / n + math.hypot(mine.high - one, two - theirs.low)
    else:
        rng = np.random.default_rng(0)
        drawn = table[rng.integers(0, len(table), (SAMPLES, len(table)))].sum(axis=1)
        low, high = np.quantile(drawn[:, 0] / drawn[:, 1], (0.025, 0.975))
    return {"n": int(n), "difference": gap / n, "interval": [float(low), float(high)]}


def best_other(systems: Mapping[str, Sequence[Row]], own: str, attack: str, twin: bool) -> dict[str, Any]:
    """Return which of the other systems has the least poison on top in a class, and how far the own one is from it."""
    classes = {
        name: [row for row in attacked(rows, twin=twin) if row.attack == attack]
        for name, rows in systems.items()
    }
    shares = {
        name: sum(map(on_top, rows)) / len(rows) for name, rows in classes.items() if name != own and rows
    }
    if not shares:
        return {}
    best = min(shares, key=lambda name: (shares[name], name))
    return {"system": best, "share": shares[best], **difference(classes[own], classes[best], on_top)}


def place_of_answer(labels: str) -> float:
    """Return one over the place of the first right answer, 0 where there is none."""
    return 1 / (labels.index("r") + 1) if "r" in labels else 0.0


def unlisted(rows: Iterable[Row]) -> dict[str, Any]:
    """Return what becomes of questions whose honest answer nobody listed: kept, and its place, with and without."""
    found = [row for row in rows if not row.twin]
    count = len(found) or 1
    return {
        "questions": len(found),
        "kept": kept(found).to_json(),
        "kept_attacked": kept(row for row in found if row.instance).to_json(),
        "reciprocal_rank": sum(place_of_answer(row.labels) for row in found) / count,
        "reciprocal_rank_before": sum(place_of_answer(row.before) for row in found) / count,
    }


def attacked(rows: Iterable[Row], *, twin: bool | None = None, adaptive: bool = False) -> list[Row]:
    """Return the attacked questions whose poison is in reach without a defense."""
    return [
        row
        for row in rows
        if row.instance and row.reach and row.adaptive == adaptive and (twin is None or row.twin == twin)
    ]


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of some rows of one system, all of them attacked."""
    return {
        "questions": len(rows),
        "instances": len({row.instance for row in rows}),
        "on_top": share(rows, on_top).to_json(),
        "above_right": share(rows, above_right).to_json(),
        **{
            f"poison@{k}": sum(poison_at(row, k) for row in rows) / len(rows) if rows else None
            for k in (1, 5, 10)
        },
        "in_top_5": share(rows, lambda row: poison_at(row, 5) > 0).to_json(),
        "reader_majority": share(rows, lambda row: follows_most(row.labels)).to_json(),
        "reader_gullible": share(rows, lambda row: row.obeyed).to_json(),
        "reader_model": share(
            (row for row in rows if row.written), lambda row: row.written == "harm"
        ).to_json(),
    }


def kept(rows: Iterable[Row]) -> Share:
    """Return the share of right answers kept: in the first five, of those that are there without the defense."""
    return share((row for row in rows if row.right_before), lambda row: right_at(row, 5))


def grouped(rows: Iterable[Row], key: Callable[[Row], object]) -> Mapping[str, list[Row]]:
    """Return rows by a key, in the order of the keys; numbers by size."""
    found: dict[object, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    ordered = sorted(found, key=lambda item: (item if isinstance(item, int) else 0, str(item)))
    return {str(item): found[item] for item in ordered}


def report(rows: Sequence[Row], clean: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return every figure of one system.

    `clean` has the decision about each clean candidate of unknown origin
    that the system ever looked at, by pair and place.
    """
    headline, alone = attacked(rows, twin=True), attacked(rows, twin=False)
    decisions = [decision for found in clean.values() for decision in found.values()]

    def by(group: Sequence[Row], key: Callable[[Row], object]) -> dict[str, Any]:
        return {name: summary(members) for name, members in grouped(group, key).items()}

    return {
        "with_twin": summary(headline),
        "without_twin": summary(alone),
        "adaptive": summary(attacked(rows, adaptive=True)),
        "by_attack": by(headline, lambda row: row.attack),
        "by_attack_without_twin": by(alone, lambda row: row.attack),
        "by_adaptive_attack": by(attacked(rows, adaptive=True), lambda row: row.attack),
        "by_knowledge": by(headline, lambda row: row.knowledge),
        "by_author": {
            "with_twin": by(headline, lambda row: row.author),
            "without_twin": by(alone, lambda row: row.author),
        },
        "unlisted": unlisted(rows),
        "by_pair": by(headline, lambda row: row.pair),
        "kept": kept(rows).to_json(),
        "kept_of_baseline": share(
            (row for row in rows if row.right_baseline), lambda row: right_at(row, 5)
        ).to_json(),
        "kept_unattacked": kept(row for row in rows if not row.instance).to_json(),
        "kept_attacked_with_twin": kept(headline).to_json(),
        "right@5": share(rows, lambda row: right_at(row, 5)).to_json(),
        "refused": share(rows, lambda row: row.refused).to_json(),
        "out_of_reach": len([row for row in rows if row.instance and not row.reach]),
        "clean_candidates": len(decisions),
        "clean_convicted": _decided(decisions, "convicted"),
        "clean_demoted": _decided(decisions, "demoted"),
    }


def _decided(decisions: Sequence[str], wanted: str) -> dict[str, Any]:
    found = Proportion(decisions.count(wanted), len(decisions))
    return {
        "share": found.share if found.n else None,
        "hits": found.hits,
        "n": found.n,
        "interval": list(found.interval),
    }
