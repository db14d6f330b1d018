"""Read documents from JSON-lines and TSV files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from codeguard.errors import CorpusError, NothingToDoError
from codeguard.text.mlfilter import Example
from codeguard.text.model import Document


def read_documents(path: Path, *, labels: bool = False) -> tuple[Document, ...]:
    """Return the documents of a file, in order.

    `.tsv`: label, tab, text, one a line; a first line `label<TAB>…` is a
    heading. Anything else: JSON lines, each an object with "text" and, where
    they matter, "id", "label", "source". Documents without an id get
    `line:N`. No file can say that a document is trusted. With `labels`, a document without a label is an error.

    Raises:
        CorpusError: the file cannot be read or a line is malformed.
        NothingToDoError: the file holds no document.
    """
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path} cannot be read ({error})") from None
    documents = []
    for number, line in enumerate(content.split("\n"), start=1):
        line = line.removesuffix("\r")
        if not line.strip():
            continue
        document = _tsv(line, number, path) if path.suffix == ".tsv" else _json(line, number, path)
        if document is None:
            continue
        if labels and not document.label:
            raise CorpusError(f"{path}, line {number}: no label", hint="label-flip compares claimed labels")
        documents.append(document)
    if not documents:
        raise NothingToDoError(f"{path} holds no documents")
    return tuple(documents)


def read_examples(path: Path) -> tuple[Example, ...]:
    """Return labelled examples from JSON lines: "query", "text" and "poisoned" (true or false) each.

    Raises:
        CorpusError: the file cannot be read or a line is malformed.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path} cannot be read ({error})") from None
    examples = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        value = _object(line, number, path)
        query, text, poisoned = value.get("query"), value.get("text"), value.get("poisoned")
        if not isinstance(query, str) or not isinstance(text, str) or not isinstance(poisoned, bool):
            raise CorpusError(
                f"{path}, line {number}", expected='"query" and "text" strings, "poisoned" true or false'
            )
        examples.append(Example(query, text, poisoned))
    return tuple(examples)


def _object(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise CorpusError(f"{path}, line {number}", got="no JSON", expected='{"text": "…"}') from None
    if not isinstance(value, dict):
        raise CorpusError(f"{path}, line {number}", got=type(value).__name__, expected="an object")
    return value


def _tsv(line: str, number: int, path: Path) -> Document | None:
    label, tab, text = line.partition("\t")
    if not tab:
        raise CorpusError(f"{path}, line {number}", got="no tab", expected="label, tab, text")
    if number == 1 and label.strip().lower() == "label":
        return None
    return Document(text=text, label=label.strip(), id=f"line:{number}")


def _json(line: str, number: int, path: Path) -> Document:
    value = _object(line, number, path)
    if not isinstance(value.get("text"), str):
        raise CorpusError(f"{path}, line {number}", expected='an object with a string "text"')
    for key in ("id", "label", "source"):
        if key in value and not isinstance(value[key], str):
            raise CorpusError(
                f"{path}, line {number}: {key}", got=type(value[key]).__name__, expected="a string"
            )
    return Document(
        text=value["text"],
        id=value.get("id") or f"line:{number}",
        label=value.get("label", ""),
        source=value.get("source", ""),
    )
