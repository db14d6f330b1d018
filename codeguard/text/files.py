"""Read documents from CSV, TSV, JSON and JSON Lines files with configurable field names."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codeguard.errors import CorpusError, NothingToDoError
from codeguard.text.filterrag import CleanPair, own_questions
from codeguard.text.mlfilter import LabelledText
from codeguard.text.model import Document
from codeguard.trust.local import open_regular

MAX_BYTES = 256 * 1024 * 1024  # of a file; its documents are held in memory
LARGEST_FIELD = 10_000_000  # characters of one field of a CSV or TSV file
Record = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Fields:
    """Names of a file's fields."""

    text: str = "text"
    label: str = "label"
    id: str = "id"
    source: str = "source"
    query: str = "query"
    poisoned: str = "poisoned"


def read_documents(path: Path, *, labels: bool = False, fields: Fields | None = None) -> tuple[Document, ...]:
    """Return the documents of a file, in order.

    `.csv` files have a header row. `.tsv` files have one too, or they hold a label, a tab and a
    text on each line, optionally below a line `label<TAB>…`. `.json` files are an array of objects.
    All others are read as JSON Lines with one object per line. A document without an id gets the
    digest of its text as id. Ids and labels may be integers. A file cannot mark a document as
    trusted. With `labels`, a document without a label is an error.

    Raises:
        CorpusError: the file cannot be read, or a record is malformed.
        NothingToDoError: the file holds no document.
    """
    names = fields or Fields()
    documents = []
    for place, record in read_records(path, names):
        document = Document(
            text=_required(record, names.text, place),
            id=_optional(record, names.id, place),
            label=_optional(record, names.label, place),
            source=_optional(record, names.source, place),
        )
        if labels and not document.label:
            raise CorpusError(
                f"{place}: no label", hint="label-flip needs the claimed label of every document"
            )
        documents.append(document)
    if not documents:
        raise NothingToDoError(f"{path} holds no documents")
    return tuple(documents)


def read_examples(path: Path, fields: Fields | None = None) -> tuple[LabelledText, ...]:
    """Return labelled examples, each a query, a text and whether it is poisoned (true or false).

    Raises:
        CorpusError: the file cannot be read, or a record is malformed.
    """
    names = fields or Fields()
    examples = []
    for place, record in read_records(path, names):
        query, text = record.get(names.query), record.get(names.text)
        poisoned = _boolean(record.get(names.poisoned))
        if not isinstance(query, str) or not isinstance(text, str) or poisoned is None:
            raise CorpusError(
                place,
                expected=f'"{names.query}" and "{names.text}" strings, "{names.poisoned}" true or false',
            )
        examples.append(LabelledText(query, text, poisoned))
    return tuple(examples)


def read_pairs(path: Path, fields: Fields | None = None) -> list[CleanPair]:
    """Return clean passages with the questions that they answer.

    For a passage without a question its first sentence is the question. A passage of one sentence
    without a question is left out.

    Raises:
        CorpusError: the file cannot be read, or a record is malformed.
    """
    names = fields or Fields()
    pairs: list[CleanPair] = []
    for place, record in read_records(path, names):
        text, query = _required(record, names.text, place), _optional(record, names.query, place)
        pairs += [CleanPair(query, text)] if query else own_questions([text])
    return pairs


def read_records(path: Path, names: Fields) -> Iterator[Record]:
    """Yield the records of a file, each with its location for error messages."""
    content = _content(path)
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


def _content(path: Path) -> str:
    try:
        with open_regular(path) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise CorpusError(f"{path} is too large", expected=f"at most {MAX_BYTES} bytes", hint="split it")
        # As a text file is read: any line ending becomes a newline.
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise CorpusError(
            f"{path} cannot be read", got=error.strerror or str(error), expected="a regular file"
        ) from None
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} cannot be read ({error})", hint="save it as UTF-8") from None


def _table(content: str, path: Path, names: Fields, separator: str) -> Iterator[Record]:
    csv.field_size_limit(LARGEST_FIELD)
    lines = io.StringIO(
        content
    )  # newlines alone end a line; for str.splitlines U+2028 and form feeds do, too
    # Quotation marks in a TSV are text: SMS and reviews have many unpaired ones. An unclosed one in a CSV
    # would make one document of all that follows, so it is an error there (strict).
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
            # DictReader collects cells beyond the heading under None.
            if any(record.get(None) or ()):
                raise CorpusError(
                    f"{path}, line {reader.line_num}: more cells than columns",
                    hint="put a text that holds the separator in quotation marks",
                )
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
        raise CorpusError(place, got="invalid JSON", expected='{"text": "…"}') from None
    if not isinstance(value, dict):
        raise CorpusError(place, got=type(value).__name__, expected="an object")
    return value


def _required(record: dict[str, Any], name: str, place: str) -> str:
    if not isinstance(record.get(name), str):
        raise CorpusError(place, expected=f'an object with a string "{name}"')
    return str(record[name])


def _optional(record: dict[str, Any], name: str, place: str) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise CorpusError(f"{place}: {name}", got=type(value).__name__, expected="a string or an integer")
    return str(value)


def _boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False, "1": True, "0": False}.get(str(value).strip().lower())
