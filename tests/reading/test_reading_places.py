"""Where things stand in a file that is read once: in which chunk, on which line, inside of which text."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

from codeguard.analysis import Reading
from codeguard.corpus.chunking import chunk_file

TEXT = "import os\n\n\ndef f():\n    return 1\n\n\nx = f()\n"


def test_a_line_outside_of_every_chunk_is_in_none() -> None:
    file = chunk_file("a.py", TEXT.encode())
    function = next(chunk for chunk in file.chunks if chunk.symbol == "f")
    reading = Reading(replace(file, chunks=(function,)))
    places = {word: reading.chunk_index(TEXT.index(word)) for word in ("import", "def", "return", "x =")}
    assert places == {"import": -1, "def": 0, "return": 0, "x =": -1}


@pytest.mark.parametrize(
    ("text", "imported"),
    [
        ('TEXT = """\nimport os\n"""\n', False),  # what a text says is no code
        ('TEXT = = """\nimport os\n"""\n', False),
        ('TEXT = """\nimport os\n', True),  # what only looks like a text may be code
        ("# a\nimport os\n", True),
    ],
)
def test_of_a_file_that_does_not_parse_code_is_read_and_text_is_not(text: str, imported: bool) -> None:
    reading = Reading(chunk_file("a.py", f"def broken(:\n    pass\n\n\n{text}".encode()))
    assert reading.syntax_error
    assert any(isinstance(node, ast.Import) for node in reading.nodes) is imported
