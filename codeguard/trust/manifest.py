"""The manifest: which files are trusted, by which names, with the digest of each and of its chunks, and its JSON.

It is written as an in-toto Statement v1 (in-toto Attestation Framework, spec/v1/statement.md). The subjects are the
files; the predicate, of our own type, holds what the ranking needs besides.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from codeguard.corpus.confusables import look
from codeguard.errors import ManifestError
from codeguard.escaping import shown
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

MAX_PATH = 1024  # characters
_FORBIDDEN = {"Cc": "a control character", "Cf": "an invisible character", "Cs": "bytes that are not text"}
_FORBIDDEN |= {"Zl": "a line separator", "Zp": "a paragraph separator", "Cn": "an unassigned character"}
_SEPARATORS = {"\\": "a backslash", ":": "a colon"}  # both have a special meaning on Windows


def path_problem(path: str) -> str | None:
    """Return why a manifest may not list `path`, or None if it may.

    A path is relative to the root, with `/`, without `.`, `..`, empty
    parts, control or invisible characters, and nothing that another
    operating system reads as a path elsewhere.
    """
    if not path:
        return "an empty path"
    if len(path) > MAX_PATH:
        return f"a path of {len(path)} characters, more than {MAX_PATH}"
    if path.startswith("/"):
        return "an absolute path"
    for character in path:
        if (problem := _SEPARATORS.get(character)) or (
            problem := _FORBIDDEN.get(unicodedata.category(character))
        ):
            return problem
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return {"": "an empty part", ".": "a part '.'", "..": "a part '..'"}[part]
        if part[-1] in ". ":
            return "a part that ends in a dot or a space"
    return None


def check_path(path: str, where: str = "manifest") -> None:
    """Raise ManifestError if a manifest may not list `path`."""
    if problem := path_problem(path):
        raise ManifestError(
            f"{where} lists an unsafe path",
            got=f"{problem} in {shown(path)}",
            expected="a plain path relative to the root, with /",
        )


class NameIndex:
    """The names seen so far, to find one that a new name could be mistaken for.

    Two names pass for one another if they are equal after NFKC and case
    folding (one name to a case-insensitive or normalizing file system), or
    if one has a letter outside ASCII and both have the same look
    (UTS #39, section 4: one name to a reader). Two ASCII names are distinguished by case folding only: `l.py`
    next to `1.py` is common.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._folded: dict[str, str] = {}
        self._ascii_looks: dict[str, str] = {}
        self._other_looks: dict[str, str] = {}
        for name in names:
            self.add(name)

    def add(self, name: str) -> str | None:
        """Add a name; return an earlier one, other than itself, that it could be mistaken for."""
        lookalike = self.lookalike(name)
        self._folded.setdefault(_folded(name), name)
        looks = self._ascii_looks if name.isascii() else self._other_looks
        looks.setdefault(look(name), name)
        return lookalike

    def lookalike(self, name: str) -> str | None:
        """Return an earlier name, other than this one, that it could be mistaken for."""
        looks_like = look(name)
        lookalikes = [self._folded.get(_folded(name)), self._other_looks.get(looks_like)]
        if not name.isascii():
            lookalikes.append(self._ascii_looks.get(looks_like))
        return next(
            (lookalike for lookalike in lookalikes if lookalike is not None and lookalike != name), None
        )


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def check_distinct(paths: Iterable[str]) -> None:
    """Raise ManifestError if a path is also a folder, or could be mistaken for another."""
    index = NameIndex()
    listed: set[str] = set()
    folders: set[str] = set()
    for path in paths:
        lookalike = index.add(path)
        if lookalike is not None:
            raise ManifestError(
                "manifest lists two paths that pass for one another",
                got=f"{shown(path)} beside {shown(lookalike)}",
                expected="names that differ beyond case and look",
            )
        listed.add(path)
        folders.update(path[:end] for end, letter in enumerate(path) if letter == "/")
    if both := listed & folders:
        raise ManifestError(
            "manifest lists a file that is also a folder", got=shown(min(both)), expected="a file or a folder"
        )


def unlistable(paths: Iterable[str]) -> dict[str, str]:
    """Return the paths that no manifest may list, each with the reason; colliding pairs both."""
    listed = list(paths)
    problems = {path: problem for path in listed if (problem := path_problem(path))}
    index = NameIndex()
    for path in listed:
        if path not in problems and (lookalike := index.add(path)) is not None:
            problems[path] = f"passes for {shown(lookalike)}"
            problems.setdefault(lookalike, f"passes for {shown(path)}")
    return problems


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
    `unlistable`, which reports them beforehand.
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
