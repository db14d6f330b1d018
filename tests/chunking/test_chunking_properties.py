"""What holds for every file: any bytes, mutated code, the whole standard library."""

from __future__ import annotations

import hashlib
import sysconfig
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tree_sitter import Parser

from codeguard.corpus.chunking import chunk_file, chunker, grammars
from codeguard.corpus.chunking.cutting import outline_of, tile
from codeguard.corpus.chunking.indentation import outline
from codeguard.corpus.decoding import read_text
from codeguard.errors import CorpusError
from codeguard.models import ChunkKind, SourceFile

pytestmark = pytest.mark.ci


@cache  # not on import: every worker collects every file
def library() -> list[Path]:
    folder = Path(sysconfig.get_path("stdlib"))
    return sorted(path for path in folder.rglob("*.py") if "site-packages" not in path.parts)


NAMES = st.sampled_from(["a.py", "a.js", "a.md", "a", "a.txt"])


def check(name: str, data: bytes, max_chars: int = 4000) -> SourceFile | None:
    """Chunk a file and check everything that is promised of every file; None where it is refused."""
    try:
        file = chunk_file(name, data, max_chars=max_chars)
    except CorpusError:
        return None
    assert file.sha256 == hashlib.sha256(data).hexdigest()
    assert "".join(chunk.text for chunk in file.chunks) == file.text
    at, line = 0, 1
    for chunk in file.chunks:
        assert chunk.span.start_byte == at
        at = chunk.span.end_byte
        assert 0 < len(chunk.text) <= max_chars or not file.text
        assert chunk.sha256 == hashlib.sha256(chunk.text.encode()).hexdigest()
        assert line - 1 <= chunk.start_line <= chunk.end_line
        line = chunk.end_line + 1
    assert at == len(data)
    return file


@given(NAMES, st.binary(max_size=400), st.integers(1, 100))
@example("a.py", b"\xff\xfe", 1)
@example("a.py", "é".encode("utf-16"), 1)
def test_any_bytes_are_tiled(name: str, data: bytes, max_chars: int) -> None:
    check(name, data, max_chars)


@pytest.mark.slow
@given(
    NAMES,
    st.text(max_size=300),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.integers(1, 50),
)
def test_any_text_in_any_encoding_is_tiled(name: str, text: str, encoding: str, max_chars: int) -> None:
    check(name, text.encode(encoding, "surrogatepass"), max_chars)


FRAGMENTS = st.sampled_from(
    (
        *(
            "def f(x):\n",
            "    return x\n",
            "class A:\n",
            "    def m(self):\n",
            "        pass\n",
            "@d\n",
            "if x:\n",
            "else:\n",
        ),
        *(
            "'''",
            '"""',
            "'",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "\\\n",
            "# c\n",
            "\n",
            "\r",
            "\r\n",
            "\t",
            "\x0c",
            "\x00",
            "é",
            "😀",
        ),
        *("```python\n", "```\n", "import os\n", "lambda: ", "async ", "x = 1; "),
        *("function f() { ", "class A { m() {} }", "=> "),
    )
)


@settings(max_examples=300)
@given(NAMES, st.lists(FRAGMENTS, max_size=40), st.integers(1, 60))
def test_any_mixture_of_code_is_tiled(name: str, fragments: list[str], max_chars: int) -> None:
    check(name, "".join(fragments).encode(), max_chars)


@settings(max_examples=60)
@given(
    st.deferred(lambda: st.sampled_from(library()[::40])),
    st.integers(0, 10**6),
    st.integers(0, 2000),
    st.binary(max_size=6),
)
def test_mutated_real_code_is_tiled(path: Path, at: int, gone: int, put: bytes) -> None:
    data = path.read_bytes()[:30_000]
    at %= len(data) + 1
    check("a.py", data[:at] + put + data[at + gone :], 500)


def _check_library(paths: list[Path]) -> None:
    grammar = grammars.by_name("python")
    assert grammar is not None
    language = grammars.load_grammar(grammar)
    assert language is not None
    for path in paths:
        data = path.read_bytes()
        if check("a.py", data) is None:
            assert path.name.startswith("bad_coding")
            continue
        source = read_text(data, "a.py").text.replace("\r\n", "\n").encode()
        root = Parser(language).parse(source).root_node
        if not root.has_error:
            # Two independent ways to find functions agree on all real code, line by line.
            by_tree = tile(source, outline_of(root, grammar, source).marks, grammar.comment, ChunkKind.MODULE)
            by_indentation = tile(source, outline(source).marks, grammar.comment, ChunkKind.MODULE)
            assert by_tree == by_indentation, path


@pytest.mark.slow
def test_a_sample_of_the_standard_library() -> None:
    _check_library(library()[:: max(1, len(library()) // 150)])


@pytest.mark.soak
def test_the_whole_standard_library() -> None:
    _check_library(library())


def test_chunks_do_not_depend_on_the_name_of_the_file() -> None:
    data = library()[0].read_bytes()
    first, second = chunk_file("a/good.py", data), chunk_file("b/evil.py", data)
    assert [chunk.sha256 for chunk in first.chunks] == [chunk.sha256 for chunk in second.chunks]
    assert [chunk.span for chunk in first.chunks] == [chunk.span for chunk in second.chunks]


@pytest.mark.parametrize("pieces", [[(0, 3), (4, 6)], [(0, 3), (2, 6)], [(0, 3), (3, 2), (2, 6)], [(0, 5)]])
def test_pieces_that_leave_a_gap_or_overlap_are_refused(pieces: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="piece"):
        chunker._tiles(b"abcdef", [(start, end, ChunkKind.MODULE, "") for start, end in pieces])
