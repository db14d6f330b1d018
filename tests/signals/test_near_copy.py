"""Copies of trusted functions: what counts as a change, what does not, and where it is shown."""

from __future__ import annotations

import pytest

from codeguard.analysis import Reading
from codeguard.analysis.python.counterparts import TrustedFunctions
from codeguard.analysis.rules.base import DetectorContext, Match
from codeguard.analysis.rules.near_copy import SIGNAL
from codeguard.corpus.chunking.chunker import chunk_file
from codeguard.index.static_evidence import StaticEvidence
from codeguard.models import Chunk, ChunkKind, SourceFile, Span, Trust
from codeguard.weights import Weights

TRUSTED = '''
import hashlib, subprocess, requests

def read_below(root, name, mode=0o600):
    """Read a file below a folder."""
    path = (root / name).resolve()
    if not path.is_relative_to(root):
        raise ValueError(f"{name} is outside")
    log.info("reading %s", path)
    return path.read_text()

def fetch(url, timeout=10):
    """Fetch a page."""
    response = requests.get(url, verify=True, timeout=timeout)
    response.raise_for_status()
    return response.text

def digest(data: bytes, salt: bytes) -> str:
    """Digest the data."""
    state = hashlib.sha256()
    state.update(salt)
    state.update(data)
    return state.hexdigest()

def merge(left, right):
    """Merge two sorted lists."""
    merged = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    merged.extend(left[i:])
    merged.extend(right[j:])
    return merged

def allowed(user, action):
    return action in user.grants and not user.locked

def forbidden(user, action):
    return action not in user.grants or user.locked
'''


def file_of(text: str, name: str = "x.py") -> SourceFile:
    return chunk_file(name, text.encode())


def changed(*pairs: tuple[str, str]) -> str:
    text = TRUSTED
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def inspect(text: str, name: str = "y.py", trusted: str = TRUSTED) -> list[Match]:
    index = TrustedFunctions.from_files([file_of(trusted, f"t.{name.rpartition('.')[2]}")])
    return list(SIGNAL.inspect(Reading(file_of(text, name)), DetectorContext(index)))


SAME = [
    (),
    (("is outside", "lies elsewhere"),),
    (('    log.info("reading %s", path)\n', ""),),
    (("    ", "  "),),
    (('"""Merge two sorted lists."""', '"""How to merge? Call this."""'),),
    (("merged.append(left[i])", "merged.append(left[i])  # the smaller one"),),
    (("left", "first"), ("right", "second")),
    (("data: bytes, salt: bytes) -> str", "data, salt)"),),
    (("verify=True, timeout=timeout", "timeout=timeout, verify=True"),),
    (("def allowed(user, action)", "def allowed(action, user)"),),
    (
        (
            "requests.get(url, verify=True, timeout=timeout)",
            "requests.get(\n        url,\n        verify=True,\n        timeout=timeout,\n    )",
        ),
    ),
    (("merge(", "merge_two("),),
    (("while i < len(left) and j < len(right):", "while i < len(left) and (j < len(right)):"),),
    (("if left[i] <= right[j]:", "if (left[i]) <= right[j]:"),),
    (("merged.extend(right[j:])", "merged.extend((right[j:]))"),),
]


@pytest.mark.parametrize("pairs", SAME)
def test_what_does_not_count(pairs: tuple[tuple[str, str], ...]) -> None:
    assert inspect(changed(*pairs)) == []


CHANGED = [
    ("left[i] <= right[j]", "left[i] >= right[j]", "changed-line", "changed code"),
    ("i += 1", "i += 2", "changed-line", "changed code"),
    ("i = j = 0", "i = j = 1", "changed-line", "changed code"),
    ("merged.extend(right[j:])", "merged.extend(left[j:])", "changed-line", "exchanged variable"),
    ("merged.extend(right[j:])", "merged.extend(right[j:-1])", "changed-line", "changed"),
    ("    merged.extend(right[j:])\n", "", "changed-line", "removed statement"),
    ("    return merged", "    send(merged)\n    return merged", "changed-line", "added statement"),
    ("while i < len(left) and", "while i < len(left) or", "changed-line", "changed code"),
    ("merged.extend(right[j:])", "merged.extend((right[j:],))", "changed-line", "changed"),
    (
        "while i < len(left) and j < len(right):",
        "while (i < len(left) and j) < len(right):",
        "changed-line",
        "changed",
    ),
    ("state.update(salt)", "state.update(data)", "changed-line", "exchanged variable"),
    ("verify=True", "verify=False", "removed-check", "verify"),
    ("verify=True, ", "", "removed-check", "verify"),
    ("    response.raise_for_status()\n", "", "changed-line", "removed statement"),
    ("hashlib.sha256()", "hashlib.md5()", "removed-check", "md5"),
    ("mode=0o600", "mode=0o777", "removed-check", "0o777"),
    (
        '    if not path.is_relative_to(root):\n        raise ValueError(f"{name} is outside")\n',
        "",
        "removed-check",
        "removed check",
    ),
    ('        raise ValueError(f"{name} is outside")', "        pass", "removed-check", "removed check"),
    (".resolve()", ".absolute()", "removed-check", "resolve"),
]


@pytest.mark.parametrize(("old", "new", "rule", "what"), CHANGED)
def test_what_counts(old: str, new: str, rule: str, what: str) -> None:
    found = inspect(changed((old, new)))
    assert [item.rule for item in found] == [rule] * len(found) != []
    assert any(what in item.reason for item in found)


def test_the_changed_line_is_shown_and_pointed_at() -> None:
    text = changed(("left[i] <= right[j]", "left[i] > right[j]"))
    (found,) = inspect(text)
    assert text[found.start : found.end] == "if left[i] > right[j]:"
    assert "trusted: if left[i] <= right[j]:; here: if left[i] > right[j]:" in found.reason
    assert "merge (t.py:" in found.reason


def test_a_changed_copy_under_another_name_is_found_by_its_code() -> None:
    text = changed(("def merge(", "def combine_lists("), ("left[i] <= right[j]", "left[i] >= right[j]"))
    assert [item.rule for item in inspect(text)] == ["changed-line"]


HONEST = [
    "def merge(left, right):\n    return sorted(left + right)\n",
    "def merge(a, b):\n    import heapq\n    return list(heapq.merge(a, b))\n",
    "def digest(path):\n    with open(path, 'rb') as stream:\n        return hashlib.file_digest(stream, 'sha256')\n",
    "class Page:\n    def fetch(self, key):\n        return self.cache[key]\n",
    "def permitted(user, deed):\n    return deed in user.grants or not user.locked\n",
]


@pytest.mark.parametrize("text", HONEST)
def test_another_function_is_no_copy(text: str) -> None:
    assert inspect(text) == []


def test_javascript() -> None:
    trusted = """
function pick(items, limit) {
  // keeps the first ones
  const kept = [];
  for (const item of items) {
    if (kept.length < limit) { kept.push(item); }
  }
  return kept;
}
"""
    assert (
        inspect(trusted.replace("kept", "found").replace("// keeps", "/* x */ // keeps"), "y.js", trusted)
        == []
    )
    (found,) = inspect(trusted.replace("kept.length < limit", "kept.length <= limit"), "y.js", trusted)
    assert found.rule == "changed-line"
    assert "changed code" in found.reason


def test_python_between_prose() -> None:
    function = TRUSTED[TRUSTED.index("def merge") : TRUSTED.index("def allowed")]
    text = f"Here's what worked for me, don't ask!\n\n{function.replace('<=', '>')}\nhope it helps :)\n"
    assert [item.rule for item in inspect(text)] == ["changed-line"]


def test_without_the_service_nothing_is_said() -> None:
    reading = Reading(file_of(changed(("i += 1", "i += 2"))))
    assert list(SIGNAL.inspect(reading, DetectorContext())) == []


@pytest.mark.parametrize(
    "body", ["(" * 20_000, "a = 1\n" * 5_000, "x," * 30_000, "f(a=" * 10_000, "if x:\n" * 4_000, "'" * 30_001]
)
def test_hostile_bodies_are_bounded(body: str) -> None:
    texts = [f"def merge(left, right):\n    {body}\n", f"def merge(left, right):\n    {body}\n    b = 2\n"]
    files = []
    for name, text in zip(("t.py", "y.py"), texts, strict=True):
        chunk = Chunk(name, "merge", ChunkKind.FUNCTION, Span(1, 1, 0, len(text)), text, "", "python")
        files.append(SourceFile(name, text, "", "python", (chunk,)))
    context = DetectorContext(TrustedFunctions.from_files(files[:1]))
    assert len(list(SIGNAL.inspect(Reading(files[1]), context))) <= 3


def test_the_ranking_is_told_where_a_copy_differs() -> None:
    trusted = chunk_file("trusted.py", TRUSTED.encode())
    copy = changed(("left[i] <= right[j]", "left[i] >= right[j]"))
    file = chunk_file("copy.py", copy.encode())
    static = StaticEvidence(Weights(), trusted=lambda: [trusted], file_signals=[SIGNAL])
    found = [
        item
        for chunk in file.chunks
        for item in static(chunk, file, Trust.UNLISTED)
        if item.id == "changed-line"
    ]
    line = copy[: copy.index("left[i] >= right[j]")].count("\n") + 1
    assert [dict(item.measurements) for item in found] == [{"line": line, "count": 1}]
