"""What a trusted file says of its chunks counts; what an untrusted one says of itself never does."""

from __future__ import annotations

import random
import string

import pytest

from codeguard.models import Chunk, ChunkKind, Span, text_digest
from codeguard.ranking.file_context import with_context

COSTS = {"a": -1.0, "b": -0.9, "c": -0.8, "d": -0.7, "far": 3.4}


def chunks_of(*places: str) -> dict[str, Chunk]:
    """Return one chunk for each `path::symbol`, by the ids a, b, c, …"""
    found = {
        letter: chunk_of(path=place.partition("::")[0], symbol=place.partition("::")[2])
        for letter, place in zip(string.ascii_lowercase, places, strict=False)
    }
    return found | {"far": chunk_of("far.py", "far")}


def chunk_of(path: str, symbol: str) -> Chunk:
    return Chunk(path, symbol, ChunkKind.FUNCTION, Span(1, 1, 0, 4), "pass", text_digest("pass"), "python")


def order(question: str, chunks: dict[str, Chunk], trusted: str) -> str:
    costs = with_context(question, COSTS, chunks, list(trusted))
    return "".join(sorted(chunks, key=lambda id_: costs[id_])).removesuffix("far")


NAMED = chunks_of("lib/core.py::f", "lib/util.py::g", "lib/sessions.py::h", "lib/zeta.py::i")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("how are sessions kept", "cabd"),
        ("session handling", "cabd"),
        ("how is core started", "abcd"),
        ("what does the loop do", "abcd"),
    ],
)
def test_name_of_a_trusted_file_lifts_its_chunk(question: str, expected: str) -> None:
    assert order(question, NAMED, "abcd") == expected


def test_name_of_a_folder_stands_for_its_index_file() -> None:
    chunks = chunks_of("lib/a.js::f", "lib/b.js::g", "lib/c.js::h", "lib/defaults/index.js::i")
    assert order("default values", chunks, "abcd")[0] == "d"


@pytest.mark.parametrize("question", ["Session.close", "close", "close()", "Session#close", "ns::close"])
def test_symbol_finds_its_definition(question: str) -> None:
    chunks = chunks_of("a.py::close_all", "b.py::open", "c.py::Session.close", "d.py::f")
    assert order(question, chunks, "abcd")[0] == "c"


def test_sentence_that_mentions_a_symbol_is_no_symbol() -> None:
    chunks = chunks_of("a.py::close_all", "b.py::open", "c.py::Session.close", "d.py::f")
    assert order("how does close work", chunks, "abcd")[0] == "a"


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_core.py",
        "lib/core.spec.ts",
        "docs/core.py",
        "third_party/core.py",
        "core_test.go",
        "lib/core/Tests/core.py",
    ],
)
def test_secondary_files_come_later_unless_asked_for(path: str) -> None:
    chunks = chunks_of(f"{path}::f", "lib/run.py::g", "lib/x.py::h", "lib/y.py::i")
    assert order("how does it start", chunks, "abcd")[0] == "b"
    assert order("tests and docs of third party, spec", chunks, "abcd")[0] == "a"


def test_other_chunks_of_a_trusted_file_speak_for_the_best() -> None:
    costs = {"a": -1.0, "b": -0.9, "c": -0.8, "d": 1.5, "far": 1.6}
    chunks = chunks_of("one.py::f", "two.py::g", "two.py::h", "three.py::i")
    found = with_context("what is done here", costs, chunks, list("abcd"))
    assert min(found, key=lambda id_: found[id_]) == "b"
    assert found["c"] > found["a"], "only the best of a file gains"


def test_nothing_trusted_changes_nothing() -> None:
    assert with_context("sessions", COSTS, NAMED, []) == COSTS


def test_names_of_untrusted_files_change_no_cost() -> None:
    """A thousand renames, with words of the question and siblings made up for it: no chunk moves."""
    question = "how are sessions kept"
    drawn = random.Random(7)
    before = with_context(question, COSTS, NAMED, ["a", "c"])
    parts = [*question.split(), "tests", "docs", "index", "session", "__init__", "src"]
    for _ in range(1_000):
        names = ["/".join(drawn.choices(parts, k=drawn.randint(1, 4))) + ".py::sessions" for _ in range(2)]
        if drawn.random() < 0.5:
            names[1] = names[0]  # as siblings of one file
        chunks = NAMED | dict(zip("bd", chunks_of(*names).values(), strict=False))
        assert with_context(question, COSTS, chunks, ["a", "c"]) == before


def test_empty_names_and_questions() -> None:
    chunks = chunks_of("a.py", ".py", "…/…", "d")
    assert sorted(order("", chunks, "abcd")) == list("abcd")
    assert sorted(order("???", chunks, "abcd")) == list("abcd")
