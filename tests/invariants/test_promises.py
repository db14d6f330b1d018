"""Each promise at each entry, in one hostile tree; `entries.py` says which apply where, and why not elsewhere."""

from __future__ import annotations

import pytest
from entries import Entry
from hostile_tree import (
    CHANGED,
    FAILED,
    HONEST,
    LOOPING,
    REBOUND,
    SECRET,
    TRUSTED,
    UNREAD_PART,
    UNREAD_WHOLE,
)
from running import Record, Runs

pytestmark = pytest.mark.ci

VALUES = ("Python", "Chroma", "frameworks")  # which return exact texts, as values


def right(entry: Entry, runs: Runs) -> Record:
    """Return the record of an entry, which did what it is for."""
    record = runs(entry)
    assert set(record.codes) <= set(entry.codes), record.errors
    return record


def about(entry: Entry, record: Record, name: str) -> set[str]:
    """Return the files that an entry said something good of, the honest one among them."""
    found = set(record.shown[name])
    assert found & {HONEST, TRUSTED}, "nothing is said of honest code"
    return found


def test_imports(entry: Entry, runs: Runs) -> None:
    assert right(entry, runs).marked == ()


def test_ends(entry: Entry, runs: Runs) -> None:
    """A run has 3 CPU seconds in the sandbox, a file one; the function that loops is not called right."""
    assert LOOPING not in right(entry, runs).shown["vouched"]


def test_shown(entry: Entry, runs: Runs) -> None:
    record = right(entry, runs)
    assert record.shown["text"]
    assert SECRET not in record.shown["text"]
    if entry.group not in VALUES:
        assert not {"\x1b", "\x07", "\u202e"} & set(record.shown["text"])


def test_unread(entry: Entry, runs: Runs) -> None:
    assert not {UNREAD_PART, UNREAD_WHOLE} & about(entry, right(entry, runs), "cleared")


def test_failed(entry: Entry, runs: Runs) -> None:
    assert FAILED not in about(entry, right(entry, runs), "cleared")


def test_rebound(entry: Entry, runs: Runs) -> None:
    assert REBOUND not in about(entry, right(entry, runs), "vouched")


def test_stale(entry: Entry, runs: Runs) -> None:
    shown = right(entry, runs).shown
    assert shown["stale"] == [CHANGED]
    assert CHANGED not in shown["trusted"]
