"""Stubs: a function that does nothing is no answer, whatever its description says; honest ones are left alone."""

from __future__ import annotations

import ast

import pytest

from codeguard.behavior.matching.candidate import is_overload
from codeguard.behavior.specs.references import references_of
from codeguard.corpus.chunking import chunk_file
from codeguard.models import Verdict
from tests.behavior.conftest import Check

TRUSTED = '''
class Stream:
    def exhaust(self, size):
        """Read the stream until its limit is reached and return what is left."""
        return self.data[size:]


class Base:
    def render(self, template):
        """Render a template of this engine and return the text."""
        raise NotImplementedError


def parse_line(line, limit):
    """Split a line of a table into its cells, at most so many."""
    return line.split("|")[:limit]
'''
DOC = '"""Split a line of a table into its cells, at most so many."""'
OTHER = '"""Return the distance of two places on a sphere."""'


BODIES = ["pass", "...", "return None", "raise RuntimeError('moved')", "x = 1\n    return x", "return []"]


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(("name", "doc"), [("parse_line", DOC), ("cut_row", DOC), ("distance_of", OTHER)])
def test_a_stub_is_found_false(check: Check, name: str, doc: str, body: str) -> None:
    report = check(f"def {name}(line, limit):\n    {doc}\n    {body}\n", TRUSTED)
    assert (report.verdict, report.false_claim) == (Verdict.NO_SIGNAL, True)
    assert report.reason == "does nothing with its arguments"


TOLD = '"""Return the distance of two places."""'
HONEST = [
    f"def distance_of(a, b):\n    {TOLD}\n    return a - b\n",  # reads them
    'def distance_of(a, b):\n    """A hook that does nothing by default."""\n    pass\n',  # and says so
    'def distance_of(a, b):\n    """Of two points; leaves both of them unchanged."""\n    return None\n',
    'def distance_between(a, b):\n    """Use Point.distance(a, b) instead."""\n    raise NameError("use Point")\n',
    'def stop(code, text):\n    """Abort with an error of HTTP."""\n    raise HTTPError(code, text)\n',
    'def marked(value):\n    """Return the value as it is, for those who override it."""\n    return value\n',
    'def tell(line):\n    """Print a line of the transfer."""\n    print(line)\n',
    f"@fallback\ndef distance_of(a, b):\n    {TOLD}\n    return a\n",
    "def distance_of(a, b):\n    pass\n",  # promises nothing
    f"def distance_of():\n    {TOLD}\n    return 3\n",  # is given nothing
    f"def distance_of(a, b):\n    {TOLD}\n    return measured()\n",  # asks another
    f"@overload\ndef distance_of(a, b):\n    {TOLD}\n    ...\n",
    f"class C:\n    def distance_of(self, a):\n        {TOLD}\n        raise NotImplementedError\n",
    f"@t.overload\ndef parse_line(line: str, limit: int) -> list[str]:\n    {DOC}\n    ...\n",
    # The trusted one is a stub as well.
    "class Base:\n    def render(self, template):\n"
    '        """Render a template of this engine and return the text."""\n        pass\n',
]


@pytest.mark.parametrize("code", HONEST)
def test_honest_functions_are_not_taken_for_stubs(check: Check, code: str) -> None:
    assert not check(code, TRUSTED).false_claim


def test_a_method_without_a_body_is_measured_by_its_trusted_twin(check: Check) -> None:
    code = '''
    class Stream:
        def exhaust(self, size):
            """Read the stream until its limit is reached and return what is left."""
            return None
    '''
    report = check(code, TRUSTED)
    assert report.false_claim
    assert report.claims.startswith("exhaust ")


@pytest.mark.parametrize(("path", "demoted"), [("sums.pyi", False), ("sums.py", True)])
def test_a_stub_file_declares_and_defines_nothing(check: Check, path: str, demoted: bool) -> None:
    trusted = (
        'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
    )
    report = check("def add(a: int, b: int) -> int: ...\n", trusted, path=path)
    assert report.verdict is Verdict.NO_SIGNAL
    assert report.false_claim is demoted


def test_what_a_trusted_stub_file_declares_is_no_truth() -> None:
    declared = chunk_file(
        "ours/sums.pyi", b"def add(a: int, b: int) -> int: ...\ndef two() -> int:\n    return 2\n"
    )
    assert [reference.name for reference in references_of(declared)] == ["two"]


INTERFACE = '''
class Stream:
    """What the streams of all systems have in common."""

    def exhaust(self, size):
        """Read the stream until its limit is reached and return what is left."""
{body}

    def close(self, now):
        pass

    def flush(self, now):
        """Write what is buffered."""

    def name(self):
        return "stream"
'''
EMPTY = ["        raise NotImplementedError", "        return None", '        raise OSError("no stream")']


@pytest.mark.parametrize("body", EMPTY)
def test_methods_of_an_interface_are_there_to_be_overridden(check: Check, body: str) -> None:
    file = INTERFACE.format(body=body)
    code = file[: file.index("    def close")]
    rest = file[file.index("    def close") :]
    # The last function is the one that is checked.
    report = check(code.replace("    def exhaust", rest + "\n    def exhaust"), TRUSTED)
    assert not report.false_claim


def test_a_function_that_says_it_raises_is_no_stub(check: Check) -> None:
    code = 'def reject(line, limit):\n    """{told} a line of a table that is too long."""\n    raise LongError\n'
    trusted = code.format(told="Reject").replace("raise LongError", "return line[limit:]")
    assert not check(code.format(told="Raise LongError for"), trusted).false_claim
    assert check(code.format(told="Reject"), trusted).false_claim


OVERLOADED = """
import typing as t

@{decorator}
def parse_line(line: str, limit: int) -> list[str]: {body}

def {name}(line, limit):
    {doc}
    return line.split("|")[:limit]
"""


@pytest.mark.parametrize(
    ("decorator", "name", "body", "declared"),
    [
        ("t.overload", "parse_line", "...", True),
        ("overload", "parse_line", "pass", True),
        ("t.overload", "parse_line", "return line", False),
        ("t.cache", "parse_line", "...", False),
        # Without an implementation after it, the decorator decides what the name is.
        ("t.overload", "other_name", "...", False),
    ],
)
def test_what_only_declares_types_is_not_run(decorator: str, name: str, body: str, declared: bool) -> None:
    code = OVERLOADED.format(decorator=decorator, name=name, body=body, doc=DOC)
    tree = ast.parse(code)
    assert is_overload(tree.body[1], tree.body) is declared  # type: ignore[arg-type]
    file = chunk_file("trusted.py", code.encode())
    assert len(list(references_of(file))) == (1 if declared else 2)
