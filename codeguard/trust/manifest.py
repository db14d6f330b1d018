"""The manifest: which files are trusted, with the digest of each and of each of its chunks, and its form in JSON.

It is written as an in-toto Statement v1 (in-toto Attestation Framework, spec/v1/statement.md). The subjects are the
files; the predicate, of our own type, holds what the ranking needs besides.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from codeguard.errors import ManifestError
from codeguard.escaping import shown
from codeguard.trust.paths import MAX_PATH, check_distinct, check_path
from codeguard.trust.strict_json import (
    MAX_INTEGER,
    integer,
    items,
    members,
    moment,
    or_null,
    parse_json,
    sha256,
    sha256s,
    text,
)

MAX_FILES = 1_000_000
MAX_CHUNKS = 100_000  # per file

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:codeguard:corpus-manifest:v2"
PAYLOAD_TYPE = "application/vnd.in-toto+json"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """The manifest's entry for one file.

    `sha256` is over the bytes exactly as they are in the tree: nothing is
    normalized, line endings included. `chunks` are the sha256 of the chunk
    texts, in order; a text that occurs twice is listed twice.
    """

    sha256: str
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The list of trusted files. It proves nothing until it is verified.

    `root` is the label of the tree (not its path), `version` counts up from 1 with every change, `scope` are
    the parts of the tree that the manifest covers (`.` is all of it). Times are timezone-aware and in whole
    seconds.
    """

    files: Mapping[str, FileEntry]
    root: str
    version: int
    created: datetime
    expires: datetime | None = None
    chunker: str = ""
    scope: tuple[str, ...] = (".",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", MappingProxyType(dict(self.files)))
        _check(self)


def build_manifest(
    root: Path,
    files: Sequence[tuple[str, bytes, Sequence[str]]],
    *,
    label: str | None = None,
    version: int = 1,
    created: datetime | None = None,
    expires: datetime | None = None,
    chunker: str = "",
    scope: Sequence[str] = (".",),
) -> Manifest:
    """Return the manifest of files that the caller has found and chunked.

    `files` are (path relative to `root`, bytes, sha256 of each chunk's
    text). `label` names the root, by default the last part of its path.
    `created` is now by default.

    Raises ManifestError for paths that no manifest may list: see
    `codeguard.trust.paths.unlistable`, which reports them beforehand.
    """
    return Manifest(
        files=once_each(
            (name, FileEntry(hashlib.sha256(data).hexdigest(), tuple(chunks))) for name, data, chunks in files
        ),
        root=label if label is not None else root.resolve().name or "root",
        version=version,
        created=(created or datetime.now(UTC)).replace(microsecond=0),
        expires=expires.replace(microsecond=0) if expires else None,
        chunker=chunker,
        scope=tuple(scope),
    )


def manifest_to_json(manifest: Manifest) -> bytes:
    """Return the statement in UTF-8; equal manifests give equal bytes."""
    statement: dict[str, Any] = {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": path, "digest": {"sha256": entry.sha256}, "annotations": {"chunks": list(entry.chunks)}}
            for path, entry in sorted(manifest.files.items())
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "root": manifest.root,
            "version": manifest.version,
            "created": _written(manifest.created),
            "expires": _written(manifest.expires) if manifest.expires else None,
            "chunker": manifest.chunker,
            "scope": list(manifest.scope),
        },
    }
    # One line per member keeps diffs of the manifest readable without a formatter.
    return (json.dumps(statement, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


# Members that in-toto does not define are ignored, as its parsing rules require, but not in our own predicate.
_TYPES = members({"_type": text(), "predicateType": text()}, others=True)
_SUBJECT = members(
    {
        "name": text(MAX_PATH),
        "digest": members({"sha256": sha256}, others=True),
        "annotations": members({"chunks": sha256s(MAX_CHUNKS)}, others=True),
    },
    others=True,
)
_PREDICATE = members(
    {
        "root": text(512),
        "version": integer(1),
        "created": moment,
        "expires": or_null(moment),
        "chunker": text(),
        "scope": items(text(), 10_000),
    }
)
_STATEMENT = members({"subject": items(_SUBJECT, MAX_FILES), "predicate": _PREDICATE}, others=True)


def manifest_from_json(data: bytes) -> Manifest:
    """Return the manifest that a statement carries.

    Raises ManifestError, in one line, for anything except a complete and valid statement of our predicate
    type.
    """
    value = parse_json(data, "manifest")
    types = _TYPES(value, "the statement")
    for name, wanted in (("_type", STATEMENT_TYPE), ("predicateType", PREDICATE_TYPE)):
        if types[name] != wanted:
            raise ManifestError(
                f"{name} of the statement is unknown",
                got=shown(types[name]),
                expected=wanted,
                hint="this file is not a manifest of this version of codeguard",
            )
    statement = _STATEMENT(value, "the statement")
    files = once_each(
        (subject["name"], FileEntry(subject["digest"]["sha256"], subject["annotations"]["chunks"]))
        for subject in statement["subject"]
    )
    return Manifest(files, **statement["predicate"])


def once_each(entries: Iterable[tuple[str, FileEntry]]) -> dict[str, FileEntry]:
    """Return the files by path; raise ManifestError if a path is listed twice."""
    files: dict[str, FileEntry] = {}
    for path, entry in entries:
        if files.setdefault(path, entry) is not entry:
            raise ManifestError(
                "manifest lists a path twice", got=f"{shown(path)} again", expected="every path once"
            )
    return files


def _written(when: datetime) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _check(manifest: Manifest) -> None:
    """Check what no form of the JSON says, and what did not come from JSON."""
    if not text(512)(manifest.root, "root of the manifest"):
        raise ManifestError("manifest names no root", got="an empty label", expected="a label")
    if not 1 <= manifest.version <= MAX_INTEGER:
        raise ManifestError(
            "version of the manifest is out of range", got=manifest.version, expected=f"1 to {MAX_INTEGER}"
        )
    for name in ("created", "expires"):
        when = getattr(manifest, name)
        if when is not None and (when.tzinfo is None or when.microsecond):
            raise ManifestError(f"{name} of the manifest is inexact", got=when, expected="UTC, whole seconds")
    if manifest.expires is not None and manifest.expires <= manifest.created:
        raise ManifestError(
            "manifest expires before it begins",
            got=manifest.expires.isoformat(),
            expected=f"after {manifest.created.isoformat()}",
        )
    for path, entry in manifest.files.items():
        check_path(path)
        sha256(entry.sha256, f"digest of {shown(path)}")
        sha256s(MAX_CHUNKS)(list(entry.chunks), f"chunks of {shown(path)}")
    check_distinct(manifest.files)
    for part in manifest.scope:
        if part != ".":
            check_path(part, "scope of the manifest")
