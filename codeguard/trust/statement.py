"""A manifest as an in-toto Statement v1, and back.

Source: in-toto Attestation Framework, spec/v1/statement.md. The subjects are
the files; the predicate, of our own type, holds what the ranking needs.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from codeguard.errors import ManifestError
from codeguard.trust.escape import shown
from codeguard.trust.manifest import MAX_CHUNKS, MAX_FILES, FileEntry, Manifest, SignerRule
from codeguard.trust.paths import MAX_PATH, check_distinct, check_path
from codeguard.trust.strict_json import ObjectReader, checked_sha256, checked_sha256s, kind, parse_json

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:codeguard:corpus-manifest:v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"

_PREDICATE = (
    "root", "version", "created", "expires", "chunker", "codeguard", "gitCommit", "sourceUrl",
    "scope", "signers", "chunks",
)  # fmt: skip


def manifest_to_json(manifest: Manifest) -> bytes:
    """Return the statement in UTF-8; equal manifests give equal bytes."""
    files = sorted(manifest.files.items())
    statement: dict[str, Any] = {
        "_type": STATEMENT_TYPE,
        "subject": [{"name": path, "digest": {"sha256": entry.sha256}} for path, entry in files],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "root": manifest.root,
            "version": manifest.version,
            "created": _written(manifest.created),
            "expires": _written(manifest.expires) if manifest.expires else None,
            "chunker": manifest.chunker,
            "codeguard": manifest.codeguard,
            "gitCommit": manifest.git_commit,
            "sourceUrl": manifest.source_url,
            "scope": list(manifest.scope),
            "signers": [{"identity": rule.identity, "paths": list(rule.paths)} for rule in manifest.signers],
            "chunks": {path: list(entry.chunks) for path, entry in files},
        },
    }
    # One line per file keeps diffs of the manifest readable without a formatter.
    return (json.dumps(statement, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def manifest_from_json(data: bytes) -> Manifest:
    """Return the manifest that a statement carries.

    Statement members that in-toto does not define are ignored, as its parsing rules require; members of our
    own predicate must be known.

    Raises ManifestError, in one line, for anything except a complete and valid statement of our predicate
    type.
    """
    statement = ObjectReader(parse_json(data, "manifest"), "the statement")
    _expect(statement, "_type", STATEMENT_TYPE)
    _expect(statement, "predicateType", PREDICATE_TYPE)
    digests = _subjects(statement)
    predicate = statement.child("predicate")
    predicate.only(_PREDICATE)
    chunks = _chunks(predicate.child("chunks"))
    _same_paths(digests, chunks)
    return Manifest(
        files={path: FileEntry(digest, chunks[path]) for path, digest in digests.items()},
        root=predicate.text("root", max_length=512),
        version=predicate.integer("version", least=1),
        created=predicate.moment("created"),
        expires=None if predicate.take("expires") is None else predicate.moment("expires"),
        chunker=predicate.text("chunker"),
        codeguard=predicate.text("codeguard"),
        git_commit=predicate.text("gitCommit"),
        source_url=predicate.text("sourceUrl"),
        scope=predicate.texts("scope", most=10_000),
        signers=tuple(_rule(reader) for reader in predicate.objects("signers", most=10_000)),
    )


def _expect(statement: ObjectReader, name: str, wanted: str) -> None:
    got = statement.text(name)
    if got != wanted:
        raise ManifestError(
            f"{name} of the statement is unknown",
            got=shown(got),
            expected=wanted,
            hint="this file is not a manifest of this version of codeguard",
        )


def _subjects(statement: ObjectReader) -> dict[str, str]:
    names: list[str] = []
    digests: list[str] = []
    for subject in statement.objects("subject", most=MAX_FILES):
        name = check_path(subject.text("name", max_length=MAX_PATH), "the statement")
        names.append(name)
        digests.append(checked_sha256(subject.child("digest").take("sha256"), f"digest of {shown(name)}"))
    check_distinct(names, "the statement")
    return dict(zip(names, digests, strict=True))


def _chunks(reader: ObjectReader) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for path, digests in reader.members(most=MAX_FILES).items():
        if not isinstance(digests, list) or len(digests) > MAX_CHUNKS:
            got = kind(digests) if not isinstance(digests, list) else f"{len(digests)} items"
            raise ManifestError(
                f"chunks of {shown(path)} are malformed", got=got, expected=f"a list of at most {MAX_CHUNKS}"
            )
        found[path] = checked_sha256s(digests, f"chunk digest of {shown(path)}")
    return found


def _same_paths(digests: dict[str, str], chunks: dict[str, tuple[str, ...]]) -> None:
    if digests.keys() != chunks.keys():
        odd = min(digests.keys() ^ chunks.keys())
        place = "chunks but not subject" if odd in chunks else "subject but not chunks"
        raise ManifestError(
            "subject and chunks of the statement disagree",
            got=f"{shown(odd)} in {place}",
            expected="the same paths in both",
        )


def _rule(reader: ObjectReader) -> SignerRule:
    reader.only(("identity", "paths"))
    return SignerRule(reader.text("identity"), reader.texts("paths", most=10_000))


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
