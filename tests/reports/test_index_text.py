"""What an indexing run tells a person."""

from __future__ import annotations

from codeguard.reports.index import _by_reason


def test_what_was_left_out_is_counted_by_reason() -> None:
    items = [
        ("too large", "a.py"),
        *(("binary", f"{number}.png") for number in range(5)),
        ("too large", "b\x1b.py"),
    ]
    assert _by_reason(items) == [
        "  5 × binary: 0.png, 1.png, 2.png … and 2 more (--format json lists all)",
        "  2 × too large: a.py, b\\x1b.py",
    ]
