"""What is derived of a trusted file is the same read back, and a library made of it is the same library."""

import json

from codeguard.behavior.source.definitions import read_module
from codeguard.behavior.specs.assertions import shown_in, test_examples
from codeguard.behavior.specs.facts import FileFacts, file_facts, reader_of, to_values
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.corpus.chunking import chunk_file

TEXT = '''
import os

class Stack:
    @property
    def top(self):
        return self.items[-1]

    @top.setter
    def top(self, value):
        self.items[-1] = value

def clamp(value, low=0, *, high=10):
    """Limit a value to an interval.

    >>> clamp(12)
    10
    """
    return max(low, min(value, high))

def double(value):
    return value * 2 + len("a\\0b")
'''
FILE = chunk_file("tools.py", TEXT.encode())


TESTS = chunk_file(
    "test_tools.py",
    b"""
def test_clamp():
    assert clamp(1180591620717411303424, {1, 2}, high=float("nan")) == [b"x", (1.5, "\\ud800")]
    with pytest.raises(ValueError):
        clamp(None)
""",
)


def test_what_tests_show_is_the_same_read_back() -> None:
    facts = {TESTS.path: FileFacts(shown=json.loads(json.dumps(shown_in(TESTS))))}
    known = SpecLibrary().with_trusted([FILE], [TESTS], facts=facts)
    assert repr(known.references[2].shown) == repr(test_examples(TESTS)["clamp"])


def test_facts_are_the_same_read_back() -> None:
    facts = file_facts(FILE.path, read_module(FILE.text))
    assert [item.qualified_name for item in facts.functions] == ["Stack.top", "Stack.top", "clamp", "double"]
    assert reader_of(FileFacts)(json.loads(json.dumps(to_values(facts)))) == facts


def test_a_library_of_known_facts_is_the_one_that_derives_them() -> None:
    derived = SpecLibrary.load(shipped=False).with_trusted([FILE])
    facts = {FILE.path: file_facts(FILE.path, read_module(FILE.text))}
    known = SpecLibrary.load(shipped=False).with_trusted([FILE], facts=facts)
    assert [item.digest for item in known.references] == [item.digest for item in derived.references]
    assert [item.written for item in known.references] == [item.written for item in derived.references]
    assert (known.short_texts.keys(), known.coverage()) == (derived.short_texts.keys(), derived.coverage())
