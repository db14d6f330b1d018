"""The order of DESIGN section 3, the method's own order, dropping, one chunk a file."""

from dataclasses import replace

import pytest

from codeguard.models import (
    DETECTOR_ERROR,
    NOT_FULLY_READ,
    Chunk,
    ChunkKind,
    Evidence,
    Severity,
    Span,
    Trust,
    text_digest,
)
from codeguard.ranking.reranking import Ranked, at_most_per_file, distinct, rank, represented


def judged(name: str, distance: float, penalty: float = 0.0, **options: object) -> Ranked:
    convicts = bool(options.get("convicts", False))
    rule = str(options.get("rule", "some"))
    trust = options.get("trust", Trust.UNLISTED)
    assert isinstance(trust, Trust)
    path = str(options.get("path", f"{name}.py"))
    text = str(options.get("text", "x = 1\n"))
    chunk = Chunk(path, name, ChunkKind.FUNCTION, Span(1, 2, 0, 9), text, text_digest(text), "python")
    demotes = bool(options.get("demotes", False))
    severity = options.get("severity", Severity.INFO)
    assert isinstance(severity, Severity)
    evidence = (
        Evidence("test", rule, penalty, "because", convicts=convicts, demotes=demotes, severity=severity),
    )
    return Ranked(name, chunk, trust, distance, distance, evidence)


def order(candidates: list[Ranked], **options: str) -> list[str]:
    retained, _, _ = rank(candidates, **options)  # type: ignore[arg-type]
    return [item.id for item in retained]


def test_score_is_standardised_distance_plus_penalty() -> None:
    candidates = [judged("near_but_penalised", -1.0, 2.5), judged("far", 1.0), judged("middle", 0.0)]
    assert order(candidates) == ["middle", "far", "near_but_penalised"]


def test_a_convicted_chunk_never_ranks_above_one_that_is_not() -> None:
    candidates = [judged("convicted", -9.0, -5.0, convicts=True), judged("clean", 9.0, 90.0)]
    assert order(candidates) == ["clean", "convicted"]


def test_the_order_is_neither_then_demoted_then_convicted() -> None:
    candidates = [
        judged("convicted", -9.0, -5.0, convicts=True),
        judged("both", -9.5, -5.0, convicts=True, demotes=True),
        judged("demoted", -8.0, -5.0, demotes=True),
        judged("demoted_far", 0.0, 1.0, demotes=True),
        judged("neither", 9.0, 90.0),
    ]
    retained, _, _ = rank(candidates)
    assert [item.id for item in retained] == ["neither", "demoted", "demoted_far", "both", "convicted"]
    assert [item.demoted for item in retained] == [False, True, True, False, False]
    assert [item.to_json()["demoted"] for item in retained] == [False, True, True, False, False]


def test_order_penalty_lets_an_irrelevant_trusted_chunk_win() -> None:
    candidates = [judged("relevant_unknown", -2.0, 0.5), judged("irrelevant_trusted", 2.0, -0.5)]
    assert order(candidates, order="penalty") == ["irrelevant_trusted", "relevant_unknown"]
    assert order(candidates, order="score") == ["relevant_unknown", "irrelevant_trusted"]


@pytest.mark.parametrize(
    ("candidate", "kept"),
    [
        (judged("clean", 0.0, 0.0), True),
        (judged("at_threshold", 0.0, 2.0), True),
        (judged("above_threshold", 0.0, 2.1), False),
        (judged("convicted", 0.0, -1.0, convicts=True), False),
        (judged("detector_failed", 0.0, 0.0, rule=DETECTOR_ERROR, demotes=True), False),
        (judged("part_not_read", 0.0, 0.5, rule=NOT_FULLY_READ, demotes=True), False),
        (judged("cell_of_another_language", 0.0, 0.5, rule=NOT_FULLY_READ, severity=Severity.LOW), True),
        (judged("grave_finding", 0.0, 1.0, severity=Severity.CRITICAL), True),
        (judged("detector_failed_on_trusted", 0.0, 0.0, rule=DETECTOR_ERROR, trust=Trust.TRUSTED), True),
    ],
    ids=lambda value: value.id if isinstance(value, Ranked) else str(value),
)
def test_mode_drop_removes(candidate: Ranked, kept: bool) -> None:
    retained, dropped, baseline = rank([candidate], mode="drop")
    assert [item.id for item in retained] == ([candidate.id] if kept else [])
    assert [item.id for item in dropped] == ([] if kept else [candidate.id])
    assert [item.id for item in baseline] == [candidate.id]


def test_ranks_count_from_one_and_tell_where_a_chunk_was() -> None:
    retained, _, baseline = rank([judged("a", 0.0, 9.0), judged("b", 1.0)])
    assert [(item.id, item.rank, item.baseline_rank) for item in retained] == [("b", 1, 2), ("a", 2, 1)]
    assert [(item.id, item.rank) for item in baseline] == [("a", 1), ("b", 2)]


def test_one_chunk_a_file_in_the_top_k() -> None:
    retained, _, _ = rank(
        [judged("a", 0, path="x.py"), judged("b", 1, path="x.py"), judged("c", 2, path="y.py")]
    )
    top = at_most_per_file(retained, 5)
    assert [(item.id, item.rank) for item in top] == [("a", 1), ("c", 2)]
    assert [item.id for item in at_most_per_file(retained, 1)] == ["a"]


DISTINCT = {
    "one text once": (
        [judged("a", 0, text="t"), judged("b", 1, text="t"), judged("c", 2, text="u")],
        [("a", ["b"]), ("c", [])],
    ),
    "the trusted one stands for its copies, in the first one's place": (
        [judged("a", 0, text="t"), judged("b", 1, text="u"), judged("c", 2, text="t", trust=Trust.TRUSTED)],
        [("c", ["a"]), ("b", [])],
    ),
    "a trusted one is not replaced": (
        [judged("a", 0, text="t", trust=Trust.TRUSTED), judged("b", 1, text="t", trust=Trust.TRUSTED)],
        [("a", ["b"])],
    ),
    "a convicted copy is named": (
        [judged("a", 0, text="t", convicts=True), judged("b", 1, text="t")],
        [("b", ["a"])],
    ),
    "one chunk a file, the copy in another file for a file that is shown": (
        [judged("a", 0, path="x", text="t"), judged("b", 1, path="x", text="u"), judged("c", 2, text="u")],
        [("a", []), ("c", ["b"])],
    ),
    "a copy leaves its file's place to another text": (
        [
            judged("a", 0, path="x", text="t"),
            judged("b", 1, path="y", text="t"),
            judged("c", 2, path="y", text="u"),
        ],
        [("a", ["b"]), ("c", [])],
    ),
    "a trusted file that is shown already is named": (
        [
            judged("a", 0, path="x", text="t", trust=Trust.TRUSTED),
            judged("b", 1, text="u"),
            judged("c", 2, path="x", text="u", trust=Trust.TRUSTED),
        ],
        [("a", []), ("b", ["c"])],
    ),
    "the same code under another description": (
        [
            judged("a", 0, text='def f(x):\n    """Add one."""\n    return x + 1\n'),
            judged("b", 1, text='def f(x):\n    """Return one more."""\n    return x + 1  # more\n'),
            judged("c", 2, text='def f(x):\n    """Add one."""\n    return x + 2\n'),
            judged("d", 3, text='def f(x):\n    """One more."""\n    return x + 1\n', trust=Trust.TRUSTED),
        ],
        [("a", ["b"]), ("c", []), ("d", [])],
    ),
}


@pytest.mark.parametrize(("candidates", "expected"), DISTINCT.values(), ids=DISTINCT)
def test_the_top_k_are_different_texts(
    candidates: list[Ranked], expected: list[tuple[str, list[str]]]
) -> None:
    retained, _, _ = rank(candidates)
    top = distinct(retained, 5)
    assert [(item.id, [copy.id for copy in item.copies]) for item in top] == expected
    assert [item.rank for item in top] == list(range(1, len(top) + 1))
    known = {item.id: item for item in retained}
    for item in top:
        assert (item.penalty, item.evidence) == (known[item.id].penalty, known[item.id].evidence)
    assert [item.id for item in distinct(retained, 1)] == [expected[0][0]]


def test_copies_do_not_count_as_shown_where_more_is_held_against_them() -> None:
    retained, _, _ = rank(
        [judged("a", 0, text="t"), judged("b", 1, text="t"), judged("c", 2, text="t", convicts=True)]
    )
    assert represented(distinct(retained, 5)) == {"a", "b"}


@pytest.mark.parametrize("by", ["score", "penalty"])
def test_another_contract_never_ranks_above_its_trusted_function(by: str) -> None:
    trusted = judged("trusted", 2.0, -0.5, trust=Trust.TRUSTED)
    differing = replace(
        judged("differing", -3.0, -1.0),
        evidence=(
            Evidence(
                "behavior",
                "differs",
                -1.0,
                "because",
                measurements={"verdict": "differs", "twin": "trusted.py:2"},
            ),
        ),
    )
    found = order([trusted, differing, judged("other", 0.0)], order=by)
    assert found.index("differing") == found.index("trusted") + 1
    assert order([differing, judged("other", 0.0)], order=by) == ["differing", "other"]
