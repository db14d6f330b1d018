"""The four steps of the experiment: baseline, poisoning, impact, defenses. Each returns plain figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from codeguard.audit.rules import all_rules
from codeguard.config import DefenseConfig
from codeguard.models import Chunk, Severity
from codeguard.ranking.evaluation import DefenseEvaluator, Evaluation, Proportion
from codeguard.ranking.reranking import Ranked, Ranking
from codeguard.ranking.signals import load_all
from codeguard.weights import Weights
from experiments.corpus.labels import read_labels
from experiments.corpus.queries import Query
from experiments.workbench import DATA, POISON, TRUSTED, UNKNOWN, Workbench

UNDEFENDED = "no defense"
SCALES = (0.0, 0.5, 2.0)
SHARED = Path("results/bench")  # corpus and store of the four steps when each is run alone
Labels = Callable[[Chunk], "Truth"]


@dataclass(frozen=True, slots=True)
class Truth:
    """What is known of a chunk: poisoned or not, by which attack, standing in for which function."""

    poisoned: bool
    attack: str = ""
    target: str = ""


def example_truth() -> Labels:
    """Return what the labels of the example corpora say of a chunk of a workbench, for measuring alone."""
    # The labels name files from the project's root, a workbench from its corpus.
    known = {
        (label.path.removeprefix("data/"), label.symbol): Truth(label.poisoned, label.attack, label.target)
        for label in read_labels().functions
    }
    return lambda chunk: known.get((chunk.path, chunk.symbol), Truth(poisoned=False))


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to defend, with its name in tables; `config` None is no defense."""

    name: str
    config: DefenseConfig | None


def charged(rankings: Sequence[Ranking]) -> list[str]:
    """Return the weights, as `signal.rule`, that were charged to any candidate."""
    return sorted(
        {
            f"{part.signal}.{part.id}"
            for ranking in rankings
            for item in ranking.ranking
            for part in item.evidence
            if part.penalty
        }
    )


def charging(keys: Sequence[str]) -> list[str]:
    """Return the signals of weights; what the engine itself charges, such as an unread file, is not one."""
    known = {signal.name for signal in load_all()}
    return sorted({key.partition(".")[0] for key in keys} & known)


def settings(signals: Sequence[str]) -> list[Setting]:
    """Return the defenses to compare: none, the default, drop, the method's order, one signal off or on."""
    default = DefenseConfig()
    found = [
        Setting(UNDEFENDED, None),
        Setting("default (rerank, score)", default),
        Setting("drop", replace(default, mode="drop")),
        Setting("order penalty", replace(default, order="penalty")),
    ]
    found += [Setting(f"without {name}", replace(default, disabled_signals=(name,))) for name in signals]
    every = [signal.name for signal in load_all()]
    found += [
        Setting(
            f"only {name}",
            replace(default, disabled_signals=tuple(other for other in every if other != name)),
        )
        for name in signals
    ]
    return found


def sweep(keys: Sequence[str]) -> list[Setting]:
    """Return the default with every weight of `keys` scaled, one at a time and all at once."""
    default = DefenseConfig()
    usual = {item.id: item.rule.severity for item in all_rules()}
    now = {key: default.weights.of(key, usual.get(key, Severity.INFO)) for key in keys}
    groups = [(key, [key]) for key in keys] + [("all", list(keys))]
    return [
        Setting(
            f"{name} × {scale:g}",
            replace(default, weights=Weights({key: now[key] * scale for key in group})),
        )
        for scale in SCALES
        for name, group in groups
    ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one setting did to all questions.

    `poison_before` counts poison by similarity alone, `poison_fused` by the
    search with words, both undefended.
    """

    setting: str
    poison_before: int
    poison_fused: int
    poison_after: int
    questions_with_poison_after: tuple[str, ...]
    relevant_before: int
    relevant_kept: int
    by_attack: dict[str, tuple[int, int]]
    clean_below_poison: tuple[str, ...]

    @property
    def reduction(self) -> Proportion:
        """Share of the poison in the undefended top k that is gone."""
        return Proportion(max(0, self.poison_before - self.poison_after), self.poison_before)

    @property
    def kept(self) -> Proportion:
        """Share of the questions whose relevant clean function stays in the top k, of those that had one."""
        return Proportion(self.relevant_kept, self.relevant_before)

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as plain values."""
        return {
            "setting": self.setting,
            "poison_before": self.poison_before,
            "poison_fused": self.poison_fused,
            "poison_after": self.poison_after,
            "reduction": self.reduction.share,
            "reduction_interval": self.reduction.interval,
            "questions_with_poison_after": list(self.questions_with_poison_after),
            "relevant_before": self.relevant_before,
            "relevant_kept": self.relevant_kept,
            "by_attack": {name: list(counts) for name, counts in self.by_attack.items()},
            "clean_below_poison": list(self.clean_below_poison),
        }


def judge(
    setting: str,
    questions: Sequence[Query],
    rankings: Sequence[Ranking],
    truth: Labels,
    baseline: Sequence[Ranking],
) -> Outcome:
    """Return the figures of one setting over all questions.

    `baseline` is what an undefended assistant is given: the same questions by
    similarity alone. Every "before" is counted there, whatever the setting.
    """
    evaluator = DefenseEvaluator(lambda chunk: truth(chunk).poisoned)
    evaluations = [evaluator.evaluate(ranking) for ranking in rankings]
    plain = [evaluator.evaluate(ranking) for ranking in baseline]
    by_attack: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for undefended, ranking in zip(baseline, rankings, strict=True):
        for column, items in enumerate((undefended.baseline_results, ranking.results)):
            for item in items:
                if (label := truth(item.chunk)).poisoned:
                    by_attack[label.attack][column] += 1
    before = [
        has_relevant(r.baseline_results, q.target, truth) for q, r in zip(questions, baseline, strict=True)
    ]
    after = [has_relevant(r.results, q.target, truth) for q, r in zip(questions, rankings, strict=True)]
    return Outcome(
        setting=setting,
        poison_before=sum(item.poison_before for item in plain),
        poison_fused=sum(item.poison_before for item in evaluations),
        poison_after=sum(item.poison_after for item in evaluations),
        questions_with_poison_after=tuple(item.query for item in evaluations if item.poison_after),
        relevant_before=sum(before),
        relevant_kept=sum(b and a for b, a in zip(before, after, strict=True)),
        by_attack={name: (counts[0], counts[1]) for name, counts in sorted(by_attack.items())},
        clean_below_poison=tuple(
            line for evaluation in evaluations for line in _clean_below_poison(evaluation, truth)
        ),
    )


def has_relevant(items: Sequence[Ranked], target: str, truth: Labels) -> bool:
    """Return whether one of the results is a correct implementation of the target."""
    labels = [truth(item.chunk) for item in items]
    return any(not label.poisoned and label.target == target for label in labels)


def _clean_below_poison(evaluation: Evaluation, truth: Labels) -> list[str]:
    """Return the unknown clean implementations that passed and still stand below poison."""
    poison = [item.rank for item in evaluation.after if truth(item.chunk).poisoned]
    first_poison = min(poison, default=10**9)
    return [
        f"{evaluation.query}: {item.chunk.path}::{item.chunk.symbol}"
        for item in evaluation.after
        if item.verdict == "pass" and item.rank > first_poison and not truth(item.chunk).poisoned
    ]


def defended(
    bench: Workbench, questions: Sequence[Query], truth: Labels, chosen: Sequence[Setting], k: int
) -> list[Outcome]:
    """Ask all questions under every setting and judge the answers."""
    texts = [question.text for question in questions]
    baseline, alone = bench.similar(texts, k), undefended(bench, texts, k)
    outcomes = []
    for setting in chosen:
        rankings = alone if setting.config is None else bench.ask(texts, k, setting.config)
        found = judge(setting.name, questions, rankings, truth, baseline)
        fused = sum(truth(item.chunk).poisoned for ranking in alone for item in ranking.results)
        outcomes.append(replace(found, poison_fused=fused))
    return outcomes


def undefended(bench: Workbench, texts: Sequence[str], k: int) -> list[Ranking]:
    """Return what retrieval alone gives by similarity and words, one result a file, for each question."""
    rankings = bench.ask(texts, k, defense=False)
    return [replace(ranking, results=ranking.baseline_results) for ranking in rankings]


def example_bench(*, poisoned: bool, embedding: str = "auto", root: Path | None = None) -> Workbench:
    """Return the example corpora, indexed in a temporary store, or in the one that stays in `root`."""
    bench = Workbench([DATA / TRUSTED, DATA / UNKNOWN], [TRUSTED], embedding=embedding, root=root)
    bench.take(POISON)
    if poisoned:
        bench.put(DATA / POISON)
    bench.index()
    return bench
