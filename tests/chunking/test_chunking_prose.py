"""Functions in text that does not parse as a whole are found all the same."""

from __future__ import annotations

import pytest

from codeguard.corpus.chunking import chunk_file
from codeguard.corpus.chunking.indentation import outline
from codeguard.models import SourceFile

ANSWER = """\
Here's how you'd do it (the simple way:

def add(a, b):
    \"\"\"Add two numbers.\"\"\"
    return a + b

That's it! It isn't hard, "really.

    @cache
    def mul(a, b):
        # nested

        def inner():
            return a
        return inner() * b

>>> add(1, 2)
3
def initely not a function (really): no
"""


def functions(file: SourceFile) -> dict[str, str]:
    return {chunk.symbol: chunk.text for chunk in file.chunks if chunk.kind.value in ("function", "method")}


def chunked(source: str, name: str) -> SourceFile:
    data = source.encode()
    file = chunk_file(name, data)
    assert b"".join(data[chunk.span.start_byte : chunk.span.end_byte] for chunk in file.chunks) == data
    return file


@pytest.mark.parametrize("name", ["answer.py", "answer.md", "answer.txt", "ANSWER", "answer.unknown"])
def test_functions_in_an_answer_are_found_whatever_the_file_is_called(name: str) -> None:
    file = chunked(ANSWER, name)
    found = functions(file)
    assert list(found) == ["add", "mul"]
    assert found["add"] == 'def add(a, b):\n    """Add two numbers."""\n    return a + b\n'
    assert found["mul"].startswith("    @cache\n    def mul")
    assert found["mul"].endswith("return inner() * b\n")
    assert {chunk.language for chunk in file.chunks if chunk.symbol} == {"python"}


@pytest.mark.parametrize(
    ("fence", "language", "code", "symbol"),
    [
        ("```python", "python", "def f():\n    return 1\n", "f"),
        ("```py", "python", "def f():\n    return 1\n", "f"),
        ("``` Python title=x", "python", "def f():\n    return 1\n", "f"),
        ("~~~{.python}", "python", "def f():\n    return 1\n", "f"),
        ("````python", "python", "def f():\n    return '```'\n", "f"),
        ("```js", "javascript", "function f() { return 1 }\n", "f"),
        ("```", "python", "def f():\n    return 1\n", "f"),
        ("```text", "python", "def f():\n    return 1\n", "f"),
    ],
)
def test_a_fenced_block_is_cut_by_its_language(fence: str, language: str, code: str, symbol: str) -> None:
    closing = fence[: len(fence) - len(fence.lstrip("`~"))]
    file = chunked(f"# Title\n\nText isn't code.\n\n{fence}\n{code}{closing}\n\nMore (text.\n", "a.md")
    (function,) = [chunk for chunk in file.chunks if chunk.kind.value == "function"]
    assert (function.symbol, function.language, function.text) == (symbol, language, code)
    assert (file.parsed, file.language) == (False, "markdown")
    assert not file.notes


def test_imports_of_a_fenced_block_are_its_own() -> None:
    file = chunked(
        "```python\nimport os\ndef f(): pass\n```\n\n```python\nimport sys\ndef g(): pass\n```\n", "a.md"
    )
    imports = {chunk.symbol: chunk.imports for chunk in file.chunks if chunk.symbol}
    assert imports == {"f": ("import os",), "g": ("import sys",)}


@pytest.mark.parametrize(
    "broken",
    [
        "x = = 1\n",
        "print(\n",
        "else:\n",
        "class:\n",
        "It's\n",
        "```\n",
        '"""open\n',
        "def broken(:\n    pass\n",
        ")\n",
        "\x00\n",
    ],
)
def test_one_syntax_error_hides_no_function(broken: str) -> None:
    before, after = "def f():\n    return 1\n", "class A:\n    def m(self):\n        return 2\n"
    for source in (broken + before + after, before + broken + after, before + after + broken):
        found = functions(chunked(source, "a.py"))
        assert {"f", "A.m"} <= found.keys()
        assert found["f"] == before


@pytest.mark.parametrize(
    ("source", "symbols"),
    [
        ("def f(a,\n  b):\n    pass\n", ["f"]),
        ("def f(a=(1,\n2)):\n  x = '''\nno def g():\n'''\n  return x\ny = 1\n", ["f"]),
        ("x = '''\ndef not_code():\n    pass\n'''\ndef f(): pass\n", ["f"]),
        ('x = """\ndef found():\n    pass\n', ["found"]),  # the quotes never close: prose, not a string
        ("class A(B):\n    def m(self): pass\n\nclass C:\n  def n(self): pass\n", ["A", "A.m", "C", "C.n"]),
        ("if x:\n    def f(): pass\nelse:\n    def g(): pass\n", ["f", "g"]),
        ("def f(x) takes a number\n    and returns it\n", []),
        ("def f(x): -> int\n", ["f"]),
        ("def f(x) -> Dict[str,\n  int]:\n    pass\n", ["f"]),
        ("\tdef f():\n\t\tpass\n        x = 1\n", ["f"]),
        ("async   def f(): pass\n@a.b(c)\n\n@d\ndef g(): pass\n", ["f", "g"]),
        ("foo(\ndef f(): pass\n", ["f"]),  # an open bracket in prose swallows nothing
        ("def größe(): pass\n", ["größe"]),
    ],
)
def test_an_outline_by_indentation(source: str, symbols: list[str]) -> None:
    assert [mark.symbol for mark in outline(source.encode()).marks] == symbols
