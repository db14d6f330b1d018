"""A parser that hangs or dies costs one file its grammar and nothing else."""

from __future__ import annotations

import os
import signal

import pytest

from codeguard.chunking import chunk_file, isolation, registry
from codeguard.chunking.base import Grammar
from codeguard.chunking.cutting import cut_by_grammar
from codeguard.chunking.isolation import ParserProcess

CODE = b"function f() { return 1 }\n"


@pytest.fixture
def process() -> ParserProcess:
    return ParserProcess()


def javascript() -> Grammar:
    grammar = registry.by_name("javascript")
    assert grammar is not None
    return grammar


def test_a_text_is_cut_in_the_other_process_as_in_this_one(process: ParserProcess) -> None:
    for source in (CODE, b"", CODE * 50_000, "x = '\u2028é😀'\n".encode(), b"}{" * 100):
        assert process.cut(source, javascript(), 4000) == cut_by_grammar(source, javascript(), 4000)
    process.close()


def test_a_parser_that_takes_too_long_is_ended_and_the_next_file_is_parsed(
    process: ParserProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    process.cut(CODE, javascript(), 4000)
    with monkeypatch.context() as patch:
        patch.setattr(isolation, "DEADLINE_S", -1.0)
        patch.setattr(isolation, "DEADLINE_S_PER_BYTE", 0.0)
        cut = process.cut(CODE * 10_000, javascript(), 4000)
    assert cut.gave_up
    assert cut.note == "chunked by lines: the javascript parser gave up on it"
    assert cut.pieces[-1].end == len(CODE) * 10_000
    assert process.cut(CODE, javascript(), 4000).pieces[0].symbol == "f"
    process.close()


def test_a_parser_that_died_is_started_again(process: ParserProcess) -> None:
    process.cut(CODE, javascript(), 4000)
    assert process._process is not None
    os.kill(process._process.pid, signal.SIGKILL)
    process._process.wait()
    assert process.cut(CODE, javascript(), 4000).pieces[0].symbol == "f"
    process.close()


def test_a_parser_without_memory_costs_only_its_file(
    process: ParserProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(isolation, "MEMORY_BYTES", 300 << 20)
        cut = process.cut(b"[" * 8_000_000, javascript(), 4000)
    assert cut.gave_up
    assert process.cut(CODE, javascript(), 4000).pieces[0].symbol == "f"
    process.close()


def test_a_forked_child_has_a_parser_of_its_own() -> None:
    assert chunk_file("a.js", CODE).parsed
    child = os.fork()
    if child == 0:
        os._exit(0 if chunk_file("a.js", CODE).chunks[0].symbol == "f" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert chunk_file("a.js", CODE).chunks[0].symbol == "f"


@pytest.mark.slow
def test_the_text_that_hangs_the_c_grammar_is_cut_by_lines() -> None:
    c = registry.by_name("c")
    if c is None or not registry.installed(c):
        pytest.skip("tree-sitter-c is not installed")
    file = chunk_file("a.c", b"x=>" * 7000)
    assert (file.parsed, file.notes) == (False, ("chunked by lines: the c parser gave up on it",))
