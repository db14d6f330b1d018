"""What the example corpora have to show, on the corpora themselves."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from codeguard.ranking.reranking import Ranking
from experiments.corpus.queries import ALL, EXAMPLES
from experiments.steps import Labels, Truth, example_bench, example_truth, judge
from experiments.workbench import POISON, UNKNOWN, Workbench

# tests/golden holds what is said of these corpora, tests/test_guard.py works on small ones.
pytestmark = pytest.mark.slow
K = 5


@pytest.fixture(scope="module")
def truth() -> Labels:
    return example_truth()


@pytest.fixture(scope="module")
def bench() -> Iterator[Workbench]:
    with example_bench(poisoned=True) as made:
        yield made


@pytest.fixture(scope="module")
def rankings(bench: Workbench) -> list[Ranking]:
    return bench.ask([query.text for query in ALL], K)


@pytest.fixture(scope="module")
def similar(bench: Workbench) -> list[Ranking]:
    return bench.similar([query.text for query in ALL], K)


def test_the_three_queries_show_poison_before_and_none_after(
    rankings: list[Ranking], similar: list[Ranking], truth: Labels
) -> None:
    outcome = judge("examples", EXAMPLES, rankings[: len(EXAMPLES)], truth, similar[: len(EXAMPLES)])
    assert outcome.poison_before >= 4
    assert outcome.poison_after == 0


def test_clean_implementations_that_pass_stand_above_poison_in_every_full_ranking(
    rankings: list[Ranking], similar: list[Ranking], truth: Labels
) -> None:
    assert (
        judge(
            "examples", EXAMPLES, rankings[: len(EXAMPLES)], truth, similar[: len(EXAMPLES)]
        ).clean_below_poison
        == ()
    )


def test_poison_falls_by_at_least_95_percent_over_all_queries(
    rankings: list[Ranking], similar: list[Ranking], truth: Labels
) -> None:
    outcome = judge("all", ALL, rankings, truth, similar)
    assert len(ALL) >= 33
    assert outcome.poison_before >= 30
    assert outcome.reduction.share >= 0.95, outcome.questions_with_poison_after


def test_poison_before_is_the_same_whatever_defends(
    bench: Workbench, rankings: list[Ranking], similar: list[Ranking], truth: Labels
) -> None:
    undefended = bench.ask([query.text for query in ALL], K, defense=False)
    outcomes = [judge("all", ALL, found, truth, similar) for found in (rankings, undefended)]
    assert len({item.poison_before for item in outcomes}) == 1
    for ranking in similar:
        distances = [item.distance for item in ranking.baseline]
        assert distances == sorted(distances)


def test_the_right_answer_stays(rankings: list[Ranking], similar: list[Ranking], truth: Labels) -> None:
    outcome = judge("all", ALL, rankings, truth, similar)
    assert outcome.kept.share >= 0.98, outcome


def test_no_clean_function_is_convicted(rankings: list[Ranking], truth: Labels) -> None:
    convicted = {
        (item.chunk.path, item.chunk.symbol)
        for ranking in rankings
        for item in ranking.ranking
        if item.convicted and not truth(item.chunk).poisoned
    }
    assert convicted == set()


def test_renaming_and_shuffling_the_untrusted_files_changes_no_penalty_and_no_verdict(
    bench: Workbench, rankings: list[Ranking]
) -> None:
    texts = [query.text for query in EXAMPLES]
    before = [_facts(ranking) for ranking in rankings[: len(EXAMPLES)]]
    chance = random.Random(1)
    with example_bench(poisoned=True) as other:
        files = [path for name in (UNKNOWN, POISON) for path in sorted((other.corpus / name).iterdir())]
        for number, path in enumerate(chance.sample(files, len(files))):
            target = other.corpus / chance.choice(["trusted", "a/b", "zz", "poison"]) / f"n{number}.py"
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, target)
        other.index()
        after = [_facts(ranking) for ranking in other.ask(texts, K)]
    for old, new in zip(before, after, strict=True):
        assert [fact[:-2] for fact in new] == [fact[:-2] for fact in old]
        # The last digits of a vector depend on which texts were embedded with it.
        assert [fact[-2:] for fact in new] == [pytest.approx(fact[-2:], abs=1e-3) for fact in old]


def _facts(ranking: Ranking) -> list[tuple[object, ...]]:
    return sorted(
        (i.chunk.text, i.verdict, i.convicted, str(i.trust), i.penalty, i.score) for i in ranking.ranking
    )


def test_labels_are_not_in_the_corpus(bench: Workbench) -> None:
    words = ("poison", "attack", "label")
    for name in (UNKNOWN, POISON):
        for path in (bench.corpus / name).rglob("*.py"):
            text = (path.name + path.read_text()).lower()
            assert not any(word in text for word in words), path


def test_an_unlabelled_chunk_is_not_poison(truth: Labels, bench: Workbench) -> None:
    chunk = bench.ask(["anything"], 1)[0].ranking[0].chunk
    from dataclasses import replace

    assert truth(replace(chunk, path="elsewhere.py")) == Truth(poisoned=False)
    assert Path(chunk.path).suffix == ".py"
