"""The manifest: which files are trusted, with the digest of each and of each of its chunks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from codeguard.errors import ManifestError
from codeguard.trust.escape import shown
from codeguard.trust.paths import check_distinct, check_path
from codeguard.trust.patterns import unusable_pattern
from codeguard.trust.strict_json import MAX_INTEGER, checked_sha256, checked_sha256s, checked_text
from codeguard.version import __version__

MAX_FILES = 1_000_000
MAX_CHUNKS = 100_000  # per file


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
class SignerRule:
    """The manifest's own rule of who may sign which paths: it narrows the user's policy, never widens it."""

    identity: str
    paths: tuple[str, ...]


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
    codeguard: str = __version__
    git_commit: str = ""
    source_url: str = ""
    scope: tuple[str, ...] = (".",)
    signers: tuple[SignerRule, ...] = ()

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
    git_commit: str = "",
    source_url: str = "",
    scope: Sequence[str] = (".",),
    signers: Sequence[SignerRule] = (),
) -> Manifest:
    """Return the manifest of files that the caller has found and chunked.

    `files` are (path relative to `root`, bytes, sha256 of each chunk's
    text). `label` names the root, by default the last part of its path.
    `created` is now by default.

    Raises ManifestError for paths that no manifest may list: see
    `codeguard.trust.paths.unlistable`, which reports them beforehand.
    """
    names = [name for name, _, _ in files]
    check_distinct(names)
    entries = {
        name: FileEntry(hashlib.sha256(data).hexdigest(), tuple(chunks)) for name, data, chunks in files
    }
    return Manifest(
        files=entries,
        root=label if label is not None else root.resolve().name or "root",
        version=version,
        created=(created or datetime.now(UTC)).replace(microsecond=0),
        expires=expires.replace(microsecond=0) if expires else None,
        chunker=chunker,
        git_commit=git_commit,
        source_url=source_url,
        scope=tuple(scope),
        signers=tuple(signers),
    )


def _check(manifest: Manifest) -> None:
    """Check the invariants, however the manifest was created."""
    # A flat list in the order of the fields, so that it can be compared with the format's documentation.
    if not checked_text(manifest.root, "root of the manifest", 512):
        raise ManifestError("manifest names no root", got="an empty label", expected="a label")
    if not 1 <= manifest.version <= MAX_INTEGER:
        raise ManifestError(
            "version of the manifest is out of range", got=manifest.version, expected=f"1 to {MAX_INTEGER}"
        )
    for name in ("created", "expires"):
        moment = getattr(manifest, name)
        if moment is not None and (moment.tzinfo is None or moment.microsecond):
            raise ManifestError(
                f"{name} of the manifest is inexact", got=moment, expected="UTC, whole seconds"
            )
    if manifest.expires is not None and manifest.expires <= manifest.created:
        raise ManifestError(
            "manifest expires before it begins",
            got=manifest.expires.isoformat(),
            expected=f"after {manifest.created.isoformat()}",
        )
    if len(manifest.files) > MAX_FILES:
        raise ManifestError(
            "manifest lists too many files", got=len(manifest.files), expected=f"at most {MAX_FILES}"
        )
    for path, entry in manifest.files.items():
        check_path(path)
        checked_sha256(entry.sha256, f"digest of {shown(path)}")
        if len(entry.chunks) > MAX_CHUNKS:
            raise ManifestError(
                f"{shown(path)} has too many chunks", got=len(entry.chunks), expected=f"at most {MAX_CHUNKS}"
            )
        checked_sha256s(entry.chunks, f"chunk digest of {shown(path)}")
    check_distinct(manifest.files)
    for rule in manifest.signers:
        for pattern in rule.paths:
            if problem := unusable_pattern(pattern):
                raise ManifestError(
                    f"a rule for {shown(rule.identity)} is unusable",
                    got=problem,
                    expected="path patterns such as src/**",
                )
    for part in manifest.scope:
        if part != ".":
            check_path(part, "scope of the manifest")
