"""What the chunks of Python files are."""

from __future__ import annotations

import pytest

from codeguard.corpus.chunking import chunk_file
from codeguard.models import SourceFile


def shape(file: SourceFile) -> list[tuple[str, str]]:
    """Return kind and symbol of every chunk that holds more than blanks."""
    return [(chunk.kind.value, chunk.symbol) for chunk in file.chunks if chunk.text.strip()]


def chunked(source: str | bytes, name: str = "a.py", **options: int) -> SourceFile:
    data = source.encode() if isinstance(source, str) else source
    file = chunk_file(name, data, **options)
    assert b"".join(data[chunk.span.start_byte : chunk.span.end_byte] for chunk in file.chunks) == data
    assert "".join(chunk.text for chunk in file.chunks) == file.text
    return file


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", []),
        ("x = 1\n", [("module", "")]),
        ("def f():\n    return 1\n", [("function", "f")]),
        ("async def f():\n    return 1\n", [("function", "f")]),
        ("@cache\n@other(1,\n  2)\ndef f():\n    return 1\n", [("function", "f")]),
        ("def f():\n    def g():\n        pass\n    return g\n", [("function", "f")]),
        ("f = lambda x: x\n", [("module", "")]),
        ("class A:\n    x = 1\n", [("class", "A")]),
        ("class A:\n    def m(self): pass\n", [("class", "A"), ("method", "A.m")]),
        ("@d\nclass A:\n    @p\n    def m(self): pass\n", [("class", "A"), ("method", "A.m")]),
        (
            "class O:\n    class I:\n        async def m(self): pass\n    def n(self): pass\n",
            [("class", "O"), ("class", "O.I"), ("method", "O.I.m"), ("method", "O.n")],
        ),
        (
            "if a:\n    def f(): pass\nelif b:\n    def g(): pass\nelse:\n    def h(): pass\n",
            [
                ("module", ""),
                ("function", "f"),
                ("module", ""),
                ("function", "g"),
                ("module", ""),
                ("function", "h"),
            ],
        ),
        (
            "try:\n    def f(): pass\nexcept E:\n    def g(): pass\nfinally:\n    def h(): pass\n",
            [
                ("module", ""),
                ("function", "f"),
                ("module", ""),
                ("function", "g"),
                ("module", ""),
                ("function", "h"),
            ],
        ),
        ("with a:\n    for b in c:\n        def f(): pass\n", [("module", ""), ("function", "f")]),
        ("match a:\n    case 1:\n        def f(): pass\n", [("module", ""), ("function", "f")]),
        ("class A:\n    if x:\n        def m(self): pass\n", [("class", "A"), ("method", "A.m")]),
        ("def f[T](x: T) -> T:\n    return x\n", [("function", "f")]),
        ("def größe():\n    return '😀'\ndef g():\n    pass\n", [("function", "größe"), ("function", "g")]),
        ("def f():\r\n    return 1\r\ndef g():\r\n    pass\r\n", [("function", "f"), ("function", "g")]),
        ("def f():\r    return 1\rdef g():\r    pass\r", [("function", "f"), ("function", "g")]),
        ("\x0cdef f():\n\treturn 1\n\x0c\ndef g():\n\tpass", [("function", "f"), ("function", "g")]),
        ("def f():\n    return '\0'\ndef g():\n    pass\n", [("function", "f"), ("function", "g")]),
    ],
)
def test_the_kinds_and_symbols_of_a_file(source: str, expected: list[tuple[str, str]]) -> None:
    assert shape(chunked(source)) == expected
