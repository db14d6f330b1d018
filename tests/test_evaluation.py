"""Figures from rankings and labels."""

from dataclasses import replace

import pytest

from codeguard.errors import ConfigError
from codeguard.models import Chunk, ChunkKind, Evidence, Span, Trust, text_digest
from codeguard.ranking.evaluation import DefenseEvaluator, Proportion
from codeguard.ranking.reranking import Ranked, Ranking, at_most_per_file, rank


def ranking() -> Ranking:
    candidates = []
    for position, (path, penalty) in enumerate(
        [("bad.py", 5.0), ("bad.py", 5.0), ("good.py", 0.0), ("worse.py", 9.0)]
    ):
        chunk = Chunk(
            path, f"f{position}", ChunkKind.FUNCTION, Span(1, 1, 0, 1), "x", text_digest("x"), "python"
        )
        evidence = (Evidence("t", "r", penalty, "why"),)
        candidates.append(
            Ranked(str(position), chunk, Trust.UNLISTED, position / 10, float(position), evidence)
        )
    retained, dropped, baseline = rank(candidates)
    return Ranking(
        query="q",
        k=2,
        mode="rerank",
        order="score",
        store="",
        sandbox_level="L3",
        results=at_most_per_file(retained, 2),
        baseline_results=at_most_per_file(baseline, 2),
        ranking=retained,
        baseline=baseline,
        dropped=dropped,
    )


def test_the_evaluator_fetches_by_itself() -> None:
    asked = []

    def search(query: str, k: int) -> Ranking:
        asked.append((query, k))
        return replace(ranking(), query=query)

    evaluator = DefenseEvaluator(lambda chunk: chunk.path == "bad.py", search)
    found = evaluator.fetch(["one", "two"], 2)
    assert ([item.query for item in found], asked) == (["one", "two"], [("one", 2), ("two", 2)])
    assert found[0] == evaluator.evaluate(replace(ranking(), query="one"))
    with pytest.raises(ConfigError, match="search"):
        DefenseEvaluator(lambda chunk: False).fetch(["one"], 2)


def test_poison_is_counted_in_the_deduplicated_top_k() -> None:
    evaluator = DefenseEvaluator(lambda chunk: chunk.path in ("bad.py", "worse.py"))
    result = evaluator.evaluate(ranking())
    assert (result.poison_before, result.poison_after) == (1, 1)
    assert [item.chunk.path for item in result.before] == ["bad.py", "bad.py", "good.py", "worse.py"]
    assert [item.chunk.path for item in result.after] == ["good.py", "bad.py", "bad.py", "worse.py"]


def test_labels_are_looked_up_by_chunk_and_reduction_is_over_all_queries() -> None:
    evaluator = DefenseEvaluator(lambda chunk: chunk.symbol == "f0")
    result = evaluator.evaluate(ranking())
    assert (result.poison_before, result.poison_after) == (1, 1)
    assert DefenseEvaluator.reduction([result]) == Proportion(0, 1)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (0, 0, 0.0, 1.0)],
)
def test_wilson_interval(hits: int, n: int, low: float, high: float) -> None:
    assert Proportion(hits, n).interval == pytest.approx((low, high), abs=1e-4)
