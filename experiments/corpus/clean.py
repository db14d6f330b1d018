"""Labels of the hand-written files: which function implements what."""

from __future__ import annotations

import ast
from pathlib import Path

from experiments.corpus.labels import BY_HAND, FunctionLabel

TWINS: dict[str, str] = BY_HAND["twins"]


def clean_labels(root: Path) -> list[FunctionLabel]:
    """Return the labels of data/sample_code and data/unknown_source under a project root."""
    trusted = _labels(root, "data/sample_code", "trusted")
    names = {label.symbol for label in trusted}
    unknown = _labels(root, "data/unknown_source", "clean")
    return [_with_target(label, names) for label in (*trusted, *unknown)]


def _labels(root: Path, folder: str, origin: str) -> list[FunctionLabel]:
    found = []
    for path in sorted((root / folder).glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef):
                end = node.end_lineno or node.lineno
                name = f"{folder}/{path.name}"
                found.append(FunctionLabel(name, node.name, node.lineno, end, origin, False))
    return found


def _with_target(label: FunctionLabel, names: set[str]) -> FunctionLabel:
    target = label.symbol if label.symbol in names else TWINS.get(label.symbol, "")
    return FunctionLabel(
        label.path, label.symbol, label.start_line, label.end_line, label.origin, False, target=target
    )
