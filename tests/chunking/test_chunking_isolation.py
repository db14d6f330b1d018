"""A parser that hangs or dies costs one file its grammar and nothing else."""

from __future__ import annotations

import os

import pytest

from codeguard.corpus.chunking import chunk_file, cutting, gave_up, grammars
from codeguard.corpus.chunking.base import Grammar
from codeguard.corpus.chunking.cutting import cut_apart, cut_by_grammar
from codeguard.workers.processes import default_workers
from codeguard.workers.tasks import ItemBounds

pytestmark = pytest.mark.ci

CODE = b"function f() { return 1 }\n"


def javascript() -> Grammar:
    grammar = grammars.by_name("javascript")
    assert grammar is not None
    return grammar


def test_a_text_is_cut_in_the_other_process_as_in_this_one() -> None:
    for source in (CODE, b"", CODE * 50_000, "x = '\u2028é😀'\n".encode(), b"}{" * 100):
        assert cut_apart(source, javascript(), 4000) == cut_by_grammar(source, javascript(), 4000)


@pytest.mark.parametrize(
    "bounds", [ItemBounds(0.01), ItemBounds(memory_bytes=1 << 20)], ids=["time", "memory"]
)
def test_a_parser_beyond_its_bounds_costs_only_its_file(
    bounds: ItemBounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"[" * 500_000
    with monkeypatch.context() as patch:
        patch.setattr(cutting, "BOUNDS", bounds)
        cut = cut_apart(text, javascript(), 4000)
    assert cut.gave_up
    assert cut.note == "chunked by lines: the javascript parser gave up on it"
    assert cut.pieces[-1].end == len(text)
    assert cut_apart(CODE, javascript(), 4000).pieces[0].symbol == "f"


def test_a_forked_child_has_a_parser_of_its_own() -> None:
    assert chunk_file("a.js", CODE).parsed
    ours = default_workers()
    child = os.fork()
    if child == 0:
        parsed = chunk_file("a.js", CODE).chunks[0].symbol == "f"
        os._exit(0 if parsed and default_workers() is not ours else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert chunk_file("a.js", CODE).chunks[0].symbol == "f"


@pytest.mark.slow
def test_the_text_that_hangs_the_c_grammar_is_cut_by_lines() -> None:
    c = grammars.by_name("c")
    if c is None or not c.installed:
        pytest.skip("tree-sitter-c is not installed")
    file = chunk_file("a.c", b"x=>" * 7000)
    assert (file.parsed, file.notes) == (False, ("chunked by lines: the c parser gave up on it",))


@pytest.mark.slow
def test_a_tree_of_too_many_words_is_not_built() -> None:
    crowded = chunk_file("a.py", b"a;" * 300_000 + b"a\n\ndef f():\n    return 1\n")
    assert crowded.notes == ("functions found by indentation: the python parser gave up on it",)
    assert "f" in {chunk.symbol for chunk in crowded.chunks}
    assert not chunk_file("b.py", b"a;" * 299_990 + b"\n").notes


def test_a_file_of_too_many_chunks_is_cut_by_its_lines() -> None:
    crowded = chunk_file("a.py", b"def f():\n    return 1\n" * 5_001)
    assert crowded.notes == (
        "chunked by lines: the chunker gave up on it, which would be more than 5000 chunks",
    )
    assert (len(crowded.chunks) < 100, crowded.parsed, gave_up(crowded)) == (True, False, True)
    fenced = chunk_file("a.md", b"```python\ndef f():\n    return 1\n```\n" * 5_001)
    assert (len(fenced.chunks) < 100, gave_up(fenced)) == (True, True)
    assert not chunk_file("b.py", b"def f():\n    return 1\n" * 4_999).notes
