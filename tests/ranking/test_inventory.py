"""What an index knows of its files without examining anything: decisions, trust, and what is left for later."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lexical_settings import lexical_settings

from codeguard import CodeGuard
from codeguard.models import Trust
from codeguard.ranking.inventory import Inventory
from codeguard.ranking.reranking import ChunkStanding

OWN = '''def add(a, b):
    """Add two numbers.

    >>> add(2, 3)
    5
    >>> add(1, 1)
    2
    """
    return a + b
'''
WRONG = 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n'
PLAIN = "def greet(name):\n    return 'hello ' + name\n"


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CodeGuard]:
    root = tmp_path_factory.mktemp("inventory")
    for path, text in {"own/a.py": OWN, "new/wrong.py": WRONG, "new/plain.py": PLAIN}.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(root / "config"))
        patch.setenv("XDG_STATE_HOME", str(root / "state"))
        settings = lexical_settings(root, root / "store")
        with CodeGuard.open(settings=settings, trust=[root / "own"]) as guard:
            guard.index([root / "new"])
            yield guard


def test_every_file_has_its_trust_and_its_decisions(indexed: CodeGuard) -> None:
    overview = Inventory(indexed.workspace).overview(60.0)
    assert overview.left == 0
    assert {(item.path, item.trust, item.complete) for item in overview.files} == {
        ("own/a.py", Trust.TRUSTED, True),
        ("new/wrong.py", Trust.UNLISTED, True),
        ("new/plain.py", Trust.UNLISTED, True),
    }
    decided = {
        item.path: [(one.chunk.symbol, one.standing) for one in item.flagged] for item in overview.files
    }
    assert decided == {"own/a.py": [], "new/wrong.py": [("add", ChunkStanding.CONVICTED)], "new/plain.py": []}


def test_what_there_was_no_time_for_is_counted_and_read_the_next_time(indexed: CodeGuard) -> None:
    inventory = Inventory(indexed.workspace)
    first = inventory.overview(0.0)
    assert (first.left, [item.complete for item in first.files]) == (3, [False] * 3)
    assert {item.path for item in first.files if item.trust is Trust.TRUSTED} == {"own/a.py"}
    assert inventory.overview(60.0).left == 0
    again = inventory.overview(0.0)
    assert again.left == 0
    assert all(item.complete for item in again.files)


def test_a_file_that_the_index_lacks_has_no_chunks(indexed: CodeGuard) -> None:
    inventory = Inventory(indexed.workspace)
    assert inventory.chunks("new/none.py") == ()
    assert [item.chunk.symbol for item in inventory.chunks("new/plain.py")] == ["greet"]
