"""A small corpus with something to convict, an index of it by whoever, and all that the index holds."""

import itertools
import json
import os
import sqlite3
from pathlib import Path

from lexical_settings import lexical_settings

from codeguard.api import CodeGuard
from codeguard.config import Settings
from codeguard.index.report import IndexReport, Progress
from codeguard.index.workspace import Workspace
from codeguard.ranking.inventory import Inventory

OURS = {
    "ours/numbers.py": '''
def add(a, b):
    """Add two numbers.

    >>> add(2, 3)
    5
    """
    return a + b


def clamp(value, low, high):
    """Keep a value between two others.

    >>> clamp(7, 0, 5)
    5
    """
    return max(low, min(high, value))
''',
    "ours/words.py": '''
def initials(text):
    """Return the first letters of the words.

    >>> initials("a new day")
    'and'
    """
    return "".join(word[0] for word in text.split())
''',
}
THEIRS = {
    "theirs/right.py": "def add(a, b):\n    return b + a\n\n\ndef clamp(v, a, b):\n    return min(b, max(v, a))\n",
    "theirs/wrong.py": "def add(a, b):\n    'Add two numbers.'\n    return a - b\n\n\ndef clamp(value, low, high):\n    return value\n",  # noqa: E501
    "theirs/other.py": "import base64\n\n\ndef run(data):\n    exec(base64.b64decode(data))\n\n\ndef longest(items):\n    found = ''\n    for item in items:\n        if len(str(item)) >= len(found):\n            found = str(item)\n    return found\n",  # noqa: E501
    "theirs/twice.py": "def add(a, b):\n    'Add two numbers.'\n    return a - b\n\n\ndef clamp(value, low, high):\n    return value\n",  # noqa: E501
    "theirs/notes.md": "# Notes\n\n```python\ndef add(a, b):\n    return 7\n```\n",
}


# What holds a time, a place, or a code under the key of the one who indexed.
OWN = "'root', 'maker', 'totals', 'head', 'place', 'trusted_paths', 'indexed_paths', 'unsigned'"


def made(folder: Path) -> Path:
    for name, text in (OURS | THEIRS).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        os.utime(folder / name, ns=(10**18, 10**18))
    return folder


def settings_of(corpus: Path, state: Path, jobs: int = 1) -> Settings:
    return lexical_settings(corpus, state, jobs=jobs)


def index(
    corpus: Path,
    state: Path,
    jobs: int = 1,
    progress: Progress = lambda stage, done, total: None,
) -> IndexReport:
    with CodeGuard.open(settings=settings_of(corpus, state, jobs), trust=[corpus / "ours"]) as guard:
        return guard.index([corpus], progress=progress)


def dump(corpus: Path, state: Path) -> list[str]:
    """Return all that an index holds but times and secrets: catalog, cached evidence, export, vectors."""
    with sqlite3.connect(state / "catalog.sqlite3") as db:
        tables = [db.execute(f"SELECT * FROM {table} ORDER BY 1, 2") for table in ("chunks", "intents")]
        tables.append(
            db.execute(
                "SELECT path, size, sha256, language, parsed, vectors, content FROM files ORDER BY path"
            )
        )
        meta = db.execute(f"SELECT key, value FROM meta WHERE key NOT IN ({OWN}) ORDER BY key")
        cached = db.execute(
            "SELECT key, value FROM analyses WHERE key NOT IN ('last run', 'unsigned')"
            " AND key NOT LIKE 'runs%' ORDER BY key"  # they hold how long each took
        )
        rows = [repr(row) for row in itertools.chain(*tables, meta, cached)]
    workspace = Workspace(settings_of(corpus, state))
    inventory = Inventory(workspace)
    judged = [item.to_json() for path in workspace.catalog.files() for item in inventory.chunks(path)]
    exported = sorted(json.dumps(record, sort_keys=True) for record in judged)
    vectors = workspace.vectors.embeddings(sorted(workspace.vectors.ids()))
    workspace.close()
    return [*rows, *exported, *(f"{id_} {vectors[id_].tobytes().hex()}" for id_ in sorted(vectors))]


def difference(found: list[str], expected: list[str]) -> list[tuple[str | None, str | None]]:
    """Return the first line that differs, nothing where none does."""
    pairs = itertools.zip_longest(found, expected)
    return list(itertools.islice((pair for pair in pairs if pair[0] != pair[1]), 1))
