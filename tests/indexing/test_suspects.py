"""What an indexing run says of functions that it convicts or demotes."""

from __future__ import annotations

from pathlib import Path

from codeguard import CodeGuard
from codeguard.config import Settings

GOOD = 'def add(a, b):\n    """Add two numbers.\n\n    >>> add(2, 3)\n    5\n    """\n    return a + b\n'
WRONG = 'def add(a, b):\n    """Add two numbers."""\n    return a - b\n'
LYING = 'def add(a, b):\n    """Add two numbers."""\n    return []\n'


def test_demoted_functions_are_named_as_the_convicted_are(tmp_path: Path) -> None:
    for name, text in {"ours/m.py": GOOD, "theirs/x.py": WRONG, "theirs/y.py": LYING}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    settings = Settings(
        store=str(tmp_path / "state"),
        state_dir=str(tmp_path / "state"),
        embedding="lexical",
        root=str(tmp_path),
    )
    with CodeGuard.open(trust=[tmp_path / "ours"], settings=settings) as guard:
        for _ in range(2):  # the second run reads what the first one has kept
            report = guard.index([tmp_path / "theirs"])
            (convicted,), (demoted,) = report.convicted, report.demoted
            assert (convicted.symbol, convicted.verdict) == ("add", "fail")
            assert (demoted.path, demoted.line, demoted.symbol) == ("theirs/y.py", 1, "add")
            assert (demoted.verdict, demoted.reason) == ("false claim", "does nothing with its arguments")
