"""Read documents from CSV and TSV files with a heading, and from JSON Lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codeguard.errors import CorpusError, ManifestError, NothingToDoError
from codeguard.text.filterrag import CleanPair, own_questions
from codeguard.text.mlfilter import LabelledText
from codeguard.text.model import Document
from codeguard.trust.state_files import read_limited

MAX_BYTES = 256 * 1024 * 1024  # of a file; its documents are held in memory
LARGEST_FIELD = 10_000_000  # characters of one field of a CSV or TSV file
BOOLEANS = {"true": True, "false": False, "1": True, "0": False}


def read_documents(path: Path, *, labels: bool = False) -> tuple[Document, ...]:
    """Return the documents of a file, in order.

    `.csv` and `.tsv` files have a heading, all others are JSON Lines with one object per line; the
    fields are text, label, id and source. A document without an id gets the digest of its text as
    id. Ids and labels may be integers. A file cannot mark a document as trusted. With `labels`, a
    document without a label is an error.

    Raises:
        CorpusError: the file cannot be read, or a record is malformed.
        NothingToDoError: the file holds no document.
    """
    documents = []
    for place, record in _records(path):
        text = _required(record, "text", place)
        name, label, source = (_optional(record, key, place) for key in ("id", "label", "source"))
        if labels and not label:
            raise CorpusError(
                f"{place}: no label", hint="label-flip needs the claimed label of every document"
            )
        documents.append(Document(text, name, label, source))
    if not documents:
        raise NothingToDoError(f"{path} holds no documents")
    return tuple(documents)


def read_examples(path: Path) -> tuple[LabelledText, ...]:
    """Return labelled examples, each a query, a text and whether it is poisoned (true or false).

    Raises:
        CorpusError: the file cannot be read, or a record is malformed.
    """
    examples = []
    for place, record in _records(path):
        poisoned = BOOLEANS.get(str(record.get("poisoned")).strip().lower())
        if poisoned is None:
            raise CorpusError(
                f"{place}: poisoned", got=repr(record.get("poisoned")), expected="true or false"
            )
        query, text = (_required(record, name, place) for name in ("query", "text"))
        examples.append(LabelledText(query, text, poisoned))
    return tuple(examples)


def read_pairs(path: Path) -> list[CleanPair]:
    """Return clean passages with the questions that they answer.

    For a passage without a question its first sentence is the question. A passage of one sentence
    without a question is left out.

    Raises:
        CorpusError: the file cannot be read, or a record is malformed.
    """
    pairs: list[CleanPair] = []
    for place, record in _records(path):
        text, query = _required(record, "text", place), _optional(record, "query", place)
        pairs += [CleanPair(query, text)] if query else own_questions([text])
    return pairs


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records of a file, each with its location for error messages."""
    content = _content(path)
    if path.suffix.lower() in (".csv", ".tsv"):
        yield from _table(content, path)
        return
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip():
            place = f"{path}, line {number}"
            try:
                value: Any = json.loads(line)
            except (ValueError, RecursionError):
                raise CorpusError(place, got="invalid JSON", expected='{"text": "…"}') from None
            if not isinstance(value, dict):
                raise CorpusError(place, got=type(value).__name__, expected="an object")
            yield place, value


def _content(path: Path) -> str:
    try:  # as a text file is read: any line ending becomes a newline
        return read_limited(path, MAX_BYTES).decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except ManifestError as error:
        raise CorpusError(error.what, got=error.got, expected=error.expected) from None
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} cannot be read ({error})", hint="save it as UTF-8") from None


def _table(content: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    csv.field_size_limit(LARGEST_FIELD)
    lines = io.StringIO(content)  # newlines alone end a line; for str.splitlines U+2028 does, too
    # Quotation marks in a TSV are text: SMS and reviews have many unpaired ones. An unclosed one in a CSV
    # would make one document of all that follows, so it is an error there (strict).
    reader = (
        csv.DictReader(lines, strict=True)
        if path.suffix.lower() == ".csv"
        else csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    )
    try:
        if "text" not in (reader.fieldnames or ()):
            found = ", ".join(reader.fieldnames or ()) or "nothing"
            raise CorpusError(f"{path}, line 1: no column 'text'", got=found)
        for record in reader:
            place = f"{path}, line {reader.line_num}"
            # DictReader collects cells beyond the heading under None.
            if any(record.get(None) or ()):
                raise CorpusError(
                    f"{place}: more cells than columns",
                    hint="put a text that holds the separator in quotation marks",
                )
            yield place, {key: value for key, value in record.items() if key and value}
    except csv.Error as error:
        raise CorpusError(f"{path}, line {reader.line_num} is not readable ({error})") from None


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
