"""What a reader would take for a trusted function, and what only shares a word with it."""

import pytest

from codeguard.behavior.matching.candidate import read_candidate
from codeguard.behavior.matching.claims import Features
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.corpus.chunking import chunk_file
from tests.behavior.conftest import Check

TRUSTED = '''
def copy_tree(source, target):
    """Copy an entire directory tree to a new location and return the copied names."""
    raise NotImplementedError


def get(url):
    """Fetch."""
    return url
'''


def compared(trusted: str, text: str) -> tuple[SpecLibrary, Features]:
    """Return a library of some trusted code, and the features of a function."""
    library = SpecLibrary.load(shipped=False).with_trusted([chunk_file("ours.py", trusted.encode())])
    file = chunk_file("theirs.py", text.encode())
    candidate = read_candidate(file.chunks[0], file)
    assert not isinstance(candidate, str)
    return library, candidate.features


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            'def copy_tree(a, b, c):\n    """Copy an entire directory tree to a new location."""\n',
            ["copy_tree"],
        ),
        ("def copy_tree(source, target):\n    return None\n", ["copy_tree"]),
        ("def do_copy_tree2(source, target):\n    return None\n", ["copy_tree"]),
        (
            'def duplicate(x):\n    """Copy an entire directory tree to a new location and return copied names."""\n',
            ["copy_tree"],
        ),
        ("def copy_tree(a):\n    return a\n", []),
        ('def copy_file(source):\n    """Copy one file to a new location."""\n', []),
        ("def get(url):\n    return None\n", []),
        ('def walk(tree):\n    """Visit every directory of a tree."""\n', []),
    ],
)
def test_lookalikes(text: str, found: list[str]) -> None:
    library, wanted = compared(TRUSTED, f"{text}    pass\n")
    assert [reference.name for reference in library.lookalikes_of(wanted)] == found


NUMBERS = "".join(
    f'def find_{kind}(n):\n    """Search for the nth {kind} number and show its digits."""\n    return n\n\n\n'
    for kind in ("smart", "star", "lucky", "happy", "perfect", "magic", "bell", "woodall", "carol")
)


@pytest.mark.parametrize(("kind", "found"), [("weird", []), ("smart", ["find_smart"])])
def test_what_every_description_says_tells_little(kind: str, found: list[str]) -> None:
    text = f'def find_it(n):\n    """Search for the nth {kind} number and show its digits."""\n    return n\n'
    library, wanted = compared(NUMBERS, text)
    assert [reference.name for reference in library.lookalikes_of(wanted)] == found


def test_common_words_under_the_same_name_claim_it() -> None:
    text = 'def find_smart(of):\n    """Search for the nth number and show its digits, easily."""\n    return -of\n'
    library, wanted = compared(NUMBERS, text)
    (likeness,) = [found for _, found in library.references_for(wanted) if found.name == 1.0]
    assert likeness.described
    assert likeness.lookalike


SPLIT = '''
import os

def splitdrive(p):
    """Split a pathname into drive and path. On Posix, drive is always
    empty."""
    p = os.fspath(p)
    return p[:0], p
'''
RENAMED = '''
def split_pathname_into(val):
    """How to Split a pathname into drive and path. On Posix, drive is always? Call this function."""
    val = os.fspath(val)
    return {result}
'''


@pytest.mark.parametrize(
    ("result", "false"),
    [("val[:1], val", True), ("val[:0], val", False), ("[part for part in val.split('/') if part]", False)],
    ids=["another number", "the same", "another text"],
)
def test_description_and_text_together_are_a_claim(check: Check, result: str, false: bool) -> None:
    assert check(RENAMED.format(result=result), SPLIT).false_claim is false
