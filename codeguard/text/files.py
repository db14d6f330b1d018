"""Read documents from CSV, TSV, JSON and JSON-lines files, whatever their fields are called."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeguard.errors import CorpusError, NothingToDoError
from codeguard.text.filterrag import CleanPair, own_questions
from codeguard.text.mlfilter import Example
from codeguard.text.model import Document

LARGEST_FIELD = 10_000_000  # characters of one field of a CSV or TSV file
Record = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Fields:
    """What the fields of a file are called."""

    text: str = "text"
    label: str = "label"
    id: str = "id"
    source: str = "source"
    query: str = "query"
    poisoned: str = "poisoned"


def read_documents(path: Path, *, labels: bool = False, fields: Fields | None = None) -> tuple[Document, ...]:
    """Return the documents of a file, in order.

    `.csv`: a heading, then records. `.tsv`: the same, or label, tab, text on
    every line (a first line `label<TAB>…` is then left out). `.json`: an
    array of objects. Anything else: JSON lines, each an object. A document
    without an id is named by the digest of its text. Ids and labels may be
    integers. No file can say that a document is trusted. With `labels`, a
    document without a label is an error.

    Raises:
        CorpusError: the file cannot be read or a record is malformed.
        NothingToDoError: the file holds no document.
    """
    names = fields or Fields()
    documents = []
    for place, record in read_records(path, names):
        document = Document(
            text=_required(record, names.text, place),
            id=_word(record, names.id, place),
            label=_word(record, names.label, place),
            source=_word(record, names.source, place),
        )
        if labels and not document.label:
            raise CorpusError(f"{place}: no label", hint="label-flip compares claimed labels")
        documents.append(document)
    if not documents:
        raise NothingToDoError(f"{path} holds no documents")
    return tuple(documents)


def read_examples(path: Path, fields: Fields | None = None) -> tuple[Example, ...]:
    """Return labelled examples: a query, a text and whether it is poisoned (true or false) each.

    Raises:
        CorpusError: the file cannot be read or a record is malformed.
    """
    names = fields or Fields()
    examples = []
    for place, record in read_records(path, names):
        query, text = record.get(names.query), record.get(names.text)
        poisoned = _truth(record.get(names.poisoned))
        if not isinstance(query, str) or not isinstance(text, str) or poisoned is None:
            raise CorpusError(
                place,
                expected=f'"{names.query}" and "{names.text}" strings, "{names.poisoned}" true or false',
            )
        examples.append(Example(query, text, poisoned))
    return tuple(examples)


def read_pairs(path: Path, fields: Fields | None = None) -> list[CleanPair]:
    """Return clean passages with the questions they answer.

    A passage without a question gets its first sentence as one, and is left
    out where it has no other.

    Raises:
        CorpusError: the file cannot be read or a record is malformed.
    """
    names = fields or Fields()
    pairs: list[CleanPair] = []
    for place, record in read_records(path, names):
        text, query = _required(record, names.text, place), _word(record, names.query, place)
        pairs += [CleanPair(query, text)] if query else own_questions([text])
    return pairs


def read_records(path: Path, names: Fields) -> Iterator[Record]:
    """Yield the records of a file, each with its place for messages."""
    try:
        content = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path} cannot be read ({error})") from None
    kind = path.suffix.lower()
    if kind == ".csv":
        yield from _table(content, path, names, ",")
    elif kind == ".tsv":
        heading = content.split("\n", 1)[0].rstrip("\r").split("\t")
        yield from (
            _table(content, path, names, "\t") if names.text in heading else _pairs(content, path, names)
        )
    elif kind == ".json":
        yield from _array(content, path)
    else:
        for number, line in enumerate(content.split("\n"), start=1):
            if line.strip():
                yield f"{path}, line {number}", _object(line, f"{path}, line {number}")


def _table(content: str, path: Path, names: Fields, separator: str) -> Iterator[Record]:
    csv.field_size_limit(LARGEST_FIELD)
    lines = content.splitlines(keepends=True)
    # Quotation marks of a TSV are text: SMS and reviews are full of lone ones. One that is never closed in a CSV
    # would make a single document of all that follows, so it is an error there (strict).
    reader = (
        csv.DictReader(lines, delimiter=separator, strict=True)
        if separator == ","
        else csv.DictReader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    )
    try:
        if names.text not in (reader.fieldnames or ()):
            raise CorpusError(
                f"{path}, line 1: no column {names.text!r}",
                got=", ".join(reader.fieldnames or ()) or "nothing",
                hint="name it with --text-field",
            )
        for record in reader:
            yield (
                f"{path}, line {reader.line_num}",
                {key: value for key, value in record.items() if key and value},
            )
    except csv.Error as error:
        raise CorpusError(f"{path}, line {reader.line_num} is not readable ({error})") from None


def _pairs(content: str, path: Path, names: Fields) -> Iterator[Record]:
    for number, line in enumerate(content.split("\n"), start=1):
        label, tab, text = line.removesuffix("\r").partition("\t")
        if not line.strip() or (number == 1 and label.strip().lower() == "label"):
            continue
        if not tab:
            raise CorpusError(f"{path}, line {number}", got="no tab", expected="label, tab, text")
        yield f"{path}, line {number}", {names.label: label.strip(), names.text: text}


def _array(content: str, path: Path) -> Iterator[Record]:
    try:
        values: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise CorpusError(f"{path} is not JSON", expected="an array of objects") from None
    if not isinstance(values, list):
        raise CorpusError(f"{path}", got=type(values).__name__, expected="an array of objects")
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise CorpusError(f"{path}, entry {number}", got=type(value).__name__, expected="an object")
        yield f"{path}, entry {number}", value


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise CorpusError(place, got="no JSON", expected='{"text": "…"}') from None
    if not isinstance(value, dict):
        raise CorpusError(place, got=type(value).__name__, expected="an object")
    return value


def _required(record: dict[str, Any], name: str, place: str) -> str:
    if not isinstance(record.get(name), str):
        raise CorpusError(place, expected=f'an object with a string "{name}"')
    return str(record[name])


def _word(record: dict[str, Any], name: str, place: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise CorpusError(f"{place}: {name}", got=type(value).__name__, expected="a string or an integer")
    return str(value)


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False, "1": True, "0": False}.get(str(value).strip().lower())
