"""Fusion: pure functions of distances and scores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeguard.ranking.scoring import candidates, fuse, weight_for

DISTANCES = {"near": 0.1, "middle": 0.3, "far": 0.8}


def order(costs: dict[str, float]) -> list[str]:
    return sorted(costs, key=lambda id_: costs[id_])


@pytest.mark.parametrize(
    ("scores", "weight", "expected"),
    [
        ({}, 0.3, ["near", "middle", "far"]),
        ({"far": 9.0}, 0.0, ["near", "middle", "far"]),
        ({"middle": 9.0, "near": 1.0, "far": 1.0}, 0.5, ["middle", "near", "far"]),
        ({"far": 9.0, "near": 1.0, "middle": 1.0}, 1.0, ["far", "near", "middle"]),
    ],
)
def test_order(scores: dict[str, float], weight: float, expected: list[str]) -> None:
    assert order(fuse(DISTANCES, scores, weight)) == expected


def test_without_words_the_cost_is_the_distance() -> None:
    assert fuse(DISTANCES, {}, 0.3) == DISTANCES


def test_what_the_words_did_not_find_counts_as_the_last_they_found() -> None:
    assert fuse(DISTANCES, {"near": 5.0, "middle": 2.0}, 0.5) == fuse(
        DISTANCES, {"near": 5.0, "middle": 2.0, "far": 2.0}, 0.5
    )


def test_candidates_are_the_best_with_all_that_tie() -> None:
    assert candidates({"a": 1.0, "b": 3.0, "c": 1.0, "d": 0.5}, 2) == ["b", "a", "c"]
    assert candidates({"a": 1.0}, 5) == ["a"]
    assert candidates({}, 5) == []


@given(
    st.dictionaries(st.text(max_size=3), st.floats(0, 2), min_size=1, max_size=30),
    st.dictionaries(st.text(max_size=3), st.floats(1e-6, 50), max_size=30),
    st.floats(0, 1),
)
def test_every_distance_has_one_finite_cost_whatever_the_order(
    distances: dict[str, float], scores: dict[str, float], weight: float
) -> None:
    costs = fuse(distances, scores, weight)
    assert costs.keys() == distances.keys()
    assert all(abs(cost) < 1e3 for cost in costs.values())
    turned = fuse(dict(reversed(distances.items())), dict(reversed(scores.items())), weight)
    assert all(costs[id_] == pytest.approx(turned[id_], abs=1e-6) for id_ in costs)


def test_vectors_made_of_words_leave_more_to_the_words() -> None:
    assert weight_for("lexical@2/dim512") > weight_for("minilm-l6-v2@abc/graph1")
