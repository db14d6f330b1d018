"""Which paths a manifest speaks of."""

from __future__ import annotations

import pytest

from codeguard.trust.verified import in_scope


@pytest.mark.parametrize(
    ("path", "scope", "expected"),
    [
        ("src/a.py", (".",), True),
        ("src/a.py", ("src",), True),
        ("src/deep/a.py", ("lib", "src"), True),
        ("src/a.py", ("src/a.py",), True),
        ("src2/a.py", ("src",), False),
        ("a.py", ("src",), False),
        ("src", ("src/a.py",), False),
        ("src/a.py", (), False),
    ],
)
def test_a_scope_is_a_folder_with_all_below_or_a_file(
    path: str, scope: tuple[str, ...], expected: bool
) -> None:
    assert in_scope(path, scope) is expected
