"""Descriptions stuffed with what people search for."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.rules.base import DetectorContext, Match
from codeguard.analysis.rules.stuffing import SIGNAL
from codeguard.corpus.chunking.chunker import chunk_file


def inspect(text: str, suffix: str = "py") -> list[Match]:
    return list(SIGNAL.inspect(Reading(chunk_file(f"f.{suffix}", text.encode())), DetectorContext()))


STUFFED = [
    "Reverse string, string reverse, reverse a string in python, python string reverse, how to reverse string, "
    "reverse strings fast, reverse string easy, best string reverse, reversing a string, string reversing python, "
    "reverse the string, reverse string python.",
    "How do I reverse a string?\n    How can you reverse text in Python?\n"
    "    What is the best way to reverse a string?\n    Looking for a function to reverse strings?",
]
PLAIN = [
    "Return the text with its last character first.\n\n    >>> reverse('ab')\n    'ba'",
    "Does it work for bytes?\n\n    It does not: give text. What of None? Raises TypeError.",
    "Reverse a string.\n\n    Args:\n        text (str): the string. Defaults to None.\n"
    "        step (int): the step. Defaults to None.\n        last (str): the end. Defaults to None.",
    "Numbers:\n\n    1 2 3 4\n    5 6 7 8\n    https://example.org/a\n    https://example.org/b\n",
]


@pytest.mark.parametrize("said", STUFFED)
def test_stuffed(said: str) -> None:
    found = inspect(f'def reverse(text):\n    """{said}"""\n    return text\n')
    assert [item.rule for item in found] == ["stuffed"]


@pytest.mark.parametrize("said", PLAIN)
def test_not_stuffed(said: str) -> None:
    assert inspect(f'def reverse(text):\n    """{said}"""\n    return text\n') == []


def test_what_follows_a_string_is_no_description() -> None:
    """Quotes at the start of a line end a text as well; what follows them is code."""
    code = "".join(f"            (reverse string{number}, reverse strings),\n" for number in range(30))
    assert inspect(f'RULES = [("""\n    a pattern\n    """,\n{code})]\nNAME = """x"""\n') == []
    found = inspect(f'TEXT = """\n    a pattern\n    """\n\n\nclass A:\n    """{STUFFED[0]}"""\n')
    assert [item.rule for item in found] == ["stuffed"]


def test_the_match_covers_the_description() -> None:
    text = f'import os\n\n\ndef reverse(text):\n    """{STUFFED[1]}"""\n    return text\n'
    (found,) = inspect(text)
    assert text[found.start : found.end].strip() == f'"""{STUFFED[1]}"""'
