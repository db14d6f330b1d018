"""A function of which the trusted code has many variants is not held against one of them."""

from __future__ import annotations

import pytest

from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.corpus.chunking import chunk_file
from codeguard.models import CheckReport, SourceFile, Verdict
from codeguard.sandbox import Sandbox
from tests.behavior.conftest import SEED

CODEC = '''
TABLE = {table}

def spelled(text):
    """Return a text with each letter replaced by what the table of this alphabet has for it.

    Letters that the table lacks stay as they are, and so do digits and signs.
    """
    found = []
    for letter in text:
        found.append(TABLE.get(letter, letter))
    return "".join(found)
'''
TABLES = [{"a": "x", "b": "y"}, {"a": "q"}, {"b": "w", "c": "v"}, {"a": "k", "z": "l"}]


def codec(name: str, table: dict[str, str]) -> SourceFile:
    return chunk_file(name, CODEC.format(table=table).encode())


def checked(sandbox: Sandbox, trusted: list[SourceFile], candidate: SourceFile) -> CheckReport:
    library = SpecLibrary.load(shipped=False).with_trusted(trusted, [])
    chunk = next(chunk for chunk in candidate.chunks if chunk.symbol == "spelled")
    return BehaviorChecker(library, sandbox, seed=SEED).check(chunk, candidate)


@pytest.mark.parametrize(
    ("count", "verdict"), [(1, Verdict.DIVERGES), (3, Verdict.DIVERGES), (4, Verdict.NO_SIGNAL)]
)
def test_one_more_variant_of_many_is_not_convicted(sandbox: Sandbox, count: int, verdict: Verdict) -> None:
    trusted = [codec(f"own_{place}.py", table) for place, table in enumerate(TABLES[:count])]
    report = checked(sandbox, trusted, codec("new.py", {"a": "d", "e": "f"}))
    assert report.verdict is verdict
    assert not report.refuted
    if verdict is Verdict.NO_SIGNAL:
        assert "4 trusted functions named spelled" in report.reason


def test_equal_copies_are_no_variants(sandbox: Sandbox) -> None:
    trusted = [codec(f"own_{place}.py", TABLES[0]) for place in range(5)]
    assert checked(sandbox, trusted, codec("new.py", {"a": "d"})).verdict is Verdict.DIVERGES
