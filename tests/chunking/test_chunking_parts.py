"""How chunks are cut: comments, line ends, long functions, class headers, line numbers, imports, limits."""

from __future__ import annotations

import pytest

from codeguard.corpus.chunking import chunk_file
from codeguard.corpus.chunking.cutting import MAX_IMPORT_CHARS, MAX_IMPORTS
from codeguard.models import Chunk, SourceFile

pytestmark = pytest.mark.ci


def chunked(source: str | bytes, name: str = "a.py", max_chars: int = 4000) -> SourceFile:
    data = source.encode() if isinstance(source, str) else source
    file = chunk_file(name, data, max_chars=max_chars)
    assert b"".join(data[chunk.span.start_byte : chunk.span.end_byte] for chunk in file.chunks) == data
    assert "".join(chunk.text for chunk in file.chunks) == file.text
    assert all(len(chunk.text) <= max_chars for chunk in file.chunks)
    return file


def named(file: SourceFile, symbol: str) -> list[Chunk]:
    return [chunk for chunk in file.chunks if chunk.symbol == symbol and chunk.text.strip()]


@pytest.mark.parametrize(
    ("source", "symbol", "text"),
    [
        ("x = 1\n# of f\n# too\ndef f(): pass\n", "f", "# of f\n# too\ndef f(): pass\n"),
        ("# of nothing\n\ndef f(): pass\n", "f", "def f(): pass\n"),
        ("# of f\n@d\ndef f(): pass\n", "f", "# of f\n@d\ndef f(): pass\n"),
        ("x = 1  # of x\ndef f(): pass\n", "f", "def f(): pass\n"),
        ("#!/bin/python\ndef f(): pass\n", "f", "def f(): pass\n"),
        ("def f():\n    return 1  # end\n\n\nx = 1\n", "f", "def f():\n    return 1  # end\n"),
        ("def f():\n    return 1\n    # still f\nx = 1\n", "f", "def f():\n    return 1\n    # still f\n"),
        ("def f():\n    return 1\n# not f\nx = 1\n", "f", "def f():\n    return 1\n"),
        ("class A:\n    # of m\n    def m(self): pass\n", "A.m", "    # of m\n    def m(self): pass\n"),
        (
            "class A:\n    '''Doc.'''\n    x = 1\n\n    def m(self): pass\n",
            "A",
            "class A:\n    '''Doc.'''\n    x = 1\n\n",
        ),
        ("if x:\n    def f(): pass\n", "f", "    def f(): pass\n"),
        ("def f(): pass", "f", "def f(): pass"),
        ("def f():\r\n    return 1\r\nx = 1\r\n", "f", "def f():\r\n    return 1\r\n"),
        ("def f():\r    return 1\rx = 1\r", "f", "def f():\r    return 1\r"),
        ("def f():\n\treturn '''\nx\n'''\nx = 1\n", "f", "def f():\n\treturn '''\nx\n'''\n"),
        ("s = '😀'; t = 1\ndef f():\n    return '𝒳'\nx = 1\n", "f", "def f():\n    return '𝒳'\n"),
        ("def f(\n    a,\n):\n    return a\n", "f", "def f(\n    a,\n):\n    return a\n"),
        ("def f(): return (\n  1)\nx = 2\n", "f", "def f(): return (\n  1)\n"),
    ],
)
def test_the_exact_text_of_a_chunk(source: str, symbol: str, text: str) -> None:
    assert named(chunked(source), symbol)[0].text == text


def test_a_functions_text_does_not_depend_on_what_follows_it() -> None:
    """Else code appended to a trusted file would change the digest of the function before it."""
    function = "def f():\n    return 1\n"
    digests = {
        named(chunked(function + after), "f")[0].sha256
        for after in ("", "\n\ndef g(): pass\n", "\n\n\n\n", "x = 1\n")
    }
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("x = 1\ndef f():\n    pass\n\ny = 2", [("", 1, 1), ("f", 2, 3), ("", 4, 5)]),
        ("x = 1\r\ndef f():\r\n    pass\r\n\r\ny = 2\r\n", [("", 1, 1), ("f", 2, 3), ("", 4, 5)]),
        ("x = 1\rdef f():\r    pass\r\ry = 2", [("", 1, 1), ("f", 2, 3), ("", 4, 5)]),
        ("def f(): pass\ndef g(): pass", [("f", 1, 1), ("g", 2, 2)]),
        ("\n\n\n", [("", 1, 3)]),
        ("x", [("", 1, 1)]),
    ],
)
def test_lines_are_counted_from_one_and_inclusive(source: str, lines: list[tuple[str, int, int]]) -> None:
    file = chunked(source)
    assert [(chunk.symbol, chunk.start_line, chunk.end_line) for chunk in file.chunks] == lines


def test_bytes_are_those_of_the_file_and_not_of_its_text() -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        data = "ä = '😀'\r\ndef f():\r\n    return 'é'\r\n".encode(encoding)
        file = chunked(data)
        (function,) = named(file, "f")
        assert function.text == "def f():\r\n    return 'é'\r\n"
        assert (
            data[function.span.start_byte : function.span.end_byte]
            == function.text.encode(encoding)[len("".encode(encoding)) :]
        )


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xff\xfe\x00\x00"])
def test_a_byte_order_mark_alone_is_one_empty_chunk(data: bytes) -> None:
    assert [(chunk.text, chunk.span.end_byte) for chunk in chunked(data).chunks] == [("", len(data))]


def test_an_empty_file_has_no_chunks() -> None:
    file = chunked("")
    assert (file.chunks, file.text, file.language) == ((), "", "python")


def test_a_long_function_is_split_between_its_outermost_statements() -> None:
    loop = "    for i in range(10):\n        a = i\n        b = i\n"
    file = chunked("def f():\n" + loop * 20, max_chars=200)
    parts = named(file, "f")
    assert len(parts) > 5
    assert {part.kind.value for part in parts} == {"function"}
    assert all(part.text.startswith("    for") for part in parts[1:])


def test_a_statement_keeps_its_comment_when_a_function_is_split() -> None:
    file = chunked("def f():\n" + "    # why\n    a = 1111\n" * 40, max_chars=100)
    assert all(part.text.startswith("    # why\n") for part in named(file, "f")[1:])


def test_one_long_line_is_cut_at_the_limit() -> None:
    file = chunked("def f():\n    return '" + "😀" * 500 + "'\n", max_chars=100)
    assert len(named(file, "f")) == 7


def test_a_crlf_is_never_cut_apart() -> None:
    file = chunked(b"x" * 99 + b"\r\n" + b"y" * 150 + b"\r\n", max_chars=100)
    assert [
        chunk.text.count("\r\n") * 2 == chunk.text.count("\r") + chunk.text.count("\n")
        for chunk in file.chunks
    ] == [True] * len(file.chunks)


def test_a_long_module_and_a_long_class_header_are_split_too() -> None:
    table = "TABLE = [\n" + "    1,\n" * 100 + "]\n"
    file = chunked(table + "class A:\n" + "    a = 1\n" * 100 + "    def m(self): pass\n", max_chars=200)
    assert len(named(file, "")) >= 3
    assert len(named(file, "A")) >= 5
    assert named(file, "A.m")[0].text == "    def m(self): pass\n"


@pytest.mark.parametrize(
    ("source", "imports"),
    [
        ("import os\nfrom a.b import (c,\n  d)\nx = 1\n", ("import os", "from a.b import (c,\n  d)")),
        ("try:\n    import a\nexcept ImportError:\n    import b as a\n", ("import a", "import b as a")),
        ("from __future__ import annotations\n", ("from __future__ import annotations",)),
        ("def f():\n    import os\n", ()),
        ("class A:\n    import os\n", ()),
        ("if x:\n    from . import y  # why\n", ("from . import y",)),
    ],
)
def test_imports_in_scope_are_on_every_chunk(source: str, imports: tuple[str, ...]) -> None:
    assert {chunk.imports for chunk in chunked(source + "\ndef g(): pass\n").chunks} == {imports}


def test_a_file_of_imports_does_not_grow_with_its_square() -> None:
    file = chunked("".join(f"import m{number}\n" for number in range(5000)) + "def f(): pass\n" * 2000)
    kept = file.chunks[0].imports
    assert len(kept) == MAX_IMPORTS
    assert sum(map(len, kept)) <= MAX_IMPORT_CHARS
    assert file.notes == ("only the first 200 of 5000 import statements count",)


def test_names_and_nesting_have_a_limit() -> None:
    """Else the symbols of a file of nested classes would be larger than memory."""
    file = chunked("class A{" * 50_000, name="a.java")
    assert sum(len(chunk.symbol) for chunk in file.chunks) < 100_000
    file = chunked(f"def {'f' * 100_000}(): pass\n")
    assert len(file.chunks[0].symbol) == 200


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "(" * 100_000 + ")" * 100_000,
        "(" * 100_000,
        "".join(" " * depth + "if x:\n" for depth in range(1500)) + " " * 1500 + "pass\n",
        "".join(" " * depth + f"class A{depth}:\n" for depth in range(500)) + " " * 500 + "pass\n",
        "x = " + "[" * 50_000,
        "@a\n" * 50_000,
        "def f():\n" * 5_000,
        '"""' * 5_001,
        "'" * 10_001,
        "f'{" * 5_000,
        "\\\n" * 10_000,
        "#" * 100_000,
        "lambda: " * 20_000 + "1",
        "x = " + "-" * 100_000 + "1",
        "x = a" + ".b" * 50_000,
        "x = 1 " + "+ 1" * 50_000,
        "def f(x)->" * 5_000,
        "\x00" * 10_000,
        "else:\n" * 10_000,
    ],
    ids=lambda source: repr(source[:12]),
)
@pytest.mark.parametrize("name", ["a.py", "a.js", "a.md"])
def test_no_depth_and_no_repetition_crashes(name: str, source: str) -> None:
    chunked(source, name)


def test_a_text_that_makes_the_parser_read_again_and_again_is_called_off() -> None:
    """A backslash a line costs the Python grammar time in the square of the lines."""
    file = chunked("def f(): pass\n" + "\\\n" * 100_000 + "\ndef g(): pass\n")
    assert file.notes == ("functions found by indentation: the python parser gave up on it",)
    assert (file.parsed, file.syntax_errors) == (True, True)
    assert named(file, "f")[0].text == "def f(): pass\n"


@pytest.mark.parametrize(
    "line",
    [b"/*\n", b"/*#\n", b"//*\n", b"%*\n", b"/\n*\n", b"/*\n/*\nx\n", b"and *\n/ *\n", b"not ;\n", b",=\n"],
)
def test_texts_that_take_the_parser_time_in_their_square_are_given_up(line: bytes) -> None:
    file = chunked(line * 20_000)
    assert file.notes == ("functions found by indentation: the python parser gave up on it",)
    assert file.syntax_errors
    assert [piece.span for piece in file.chunks] == [piece.span for piece in chunked(line * 20_000).chunks]


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    x = 1\n\n" + "# 3.11a7 (a line of a long table of versions)\n" * 800 + "y = 1\n",
        "x = 1\n" + "def f():\n    return 1\n\n\n" * 400 + "# " + "=" * 100 + "\n",
        "x = 1\n" + "def f():\n    return 1\n\n\n" * 400 + "# " + "-" * 76,
        "x = 1\n"
        + "def f():\n    text = 1, 2, 3, 4, 5\n    return text\n\n\n" * 2_400
        + "'''\n#define f(x) (x)\n\n/**********/\n'''\n",
        "x = 1\n"
        + "def f():\n    text = 1, 2, 3, 4, 5\n    return text\n\n\n" * 2_400
        + "x = '''\n"
        + "=-" * 20
        + "'''\n",
    ],
)
def test_honest_comments_and_strings_are_no_reason_to_give_up(text: str) -> None:
    assert chunked(text).notes == ()


@pytest.mark.parametrize(
    "line",
    [
        "x = -1 ** -2 ^ ~y | +z & -w << 2 >> 1\n",
        "# " + "=" * 76 + "\n",
        "x = '''\n" + "-+*/%|=" * 10 + "\n'''\ny = f(x, 1)\n",
        "0,",
        "a[::-1] @ b[...] ** -c\n",
        "f(*a, **b)\n",
        "not_ = not not not x\n",
        "x=1;",
    ],
)
def test_dense_code_is_parsed(line: str) -> None:
    assert chunked(line * 800).notes == ()
