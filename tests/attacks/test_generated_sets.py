"""The sets that are written on demand: adaptive attacks, and the standard library."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from experiments.attacks.registry import METHOD
from experiments.corpus.adaptive import build_adaptive_set
from experiments.corpus.stdlib import build_stdlib_set, library_files


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.py"))}


def test_adaptive_set_holds_every_variant_verified(tmp_path: Path) -> None:
    built = build_adaptive_set(tmp_path, seed=1, per_variant=1, attacks=("rare_input", "helper_poison"))
    variants = {variant for attack, variant in built.by_variant() if attack == "rare_input"}
    assert variants == {"residue", "equality", "checksum"}
    assert len(contents(tmp_path)) == len(built.queries) == 3 + 4
    assert all(label.verified for label in built.labels.functions)
    assert {label.path for label in built.labels.functions} == set(contents(tmp_path))


def test_library_files_are_public_and_each_named_once() -> None:
    names = [name for name, _ in library_files()]
    assert "textwrap" in names
    assert len(names) == len(set(names))
    assert not [
        name for name in names if any(part.startswith("_") or part == "test" for part in name.split("."))
    ]


@pytest.mark.soak
def test_stdlib_set_is_deterministic_and_consistent(tmp_path: Path) -> None:
    folders = (tmp_path / "one", tmp_path / "two")
    one, two = (build_stdlib_set(folder, seed=2, count=16) for folder in folders)
    assert contents(folders[0]) == contents(folders[1])
    assert one.queries == two.queries
    assert len(one.queries) == len({query.text.lower() for query in one.queries}) == 16
    assert Counter(query.poisoned for query in one.queries) == {True: 8, False: 8}
    assert {query.trusted for query in one.queries if query.poisoned} == {True, False}
    assert {query.attack for query in one.queries if query.poisoned} <= set(METHOD)
    for query in one.queries:
        rows = [label for label in one.labels.functions if label.target == query.target]
        assert [row.origin for row in rows if not row.poisoned] == ["trusted" if query.trusted else "clean"]
        assert any(row.poisoned for row in rows) == query.poisoned
    for label in one.labels.functions:
        lines = (folders[0] / label.path).read_text(encoding="utf-8").split("\n")
        node = ast.parse("\n".join(lines[label.start_line - 1 : label.end_line])).body[0]
        assert isinstance(node, ast.FunctionDef)
        assert node.name == label.symbol
    assert 0.0 <= one.unverified_share < 1.0
