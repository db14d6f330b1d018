"""Signed manifests of trusted paths: where they are, and their content with the file names of the corpus.

A tree is verified anew whenever a guard opens it, from the manifest in the tree and the policy in the user's
configuration. An index remembers only where to look.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codeguard.config import Settings
from codeguard.corpus.chunking import CHUNKER_ID, chunk_file
from codeguard.corpus.discovery import name_of
from codeguard.errors import CorpusError, ManifestError
from codeguard.trust.policy import policies
from codeguard.trust.verified import (
    MANIFEST_NAME,
    VerifiedManifest,
    combined_manifest,
    in_scope,
    read_inside,
    rechunked,
    within,
)


@dataclass(frozen=True, slots=True)
class SignedTree:
    """A folder with a signed manifest.

    `prefix` is the folder's name in the corpus ("." for the corpus root
    itself), `parts` are the corpus names of what the user trusts in it.
    """

    folder: Path
    prefix: str
    parts: tuple[str, ...]


def find_signed_trees(paths: Sequence[Path], root: Path, tops: Sequence[Path] = ()) -> list[SignedTree]:
    """Return the trees with a manifest in a trusted path, or above one up to the corpus root.

    `paths`, `root` and `tops`, the folders that are read, are resolved. Paths without a manifest are in none
    of the trees.
    """
    found: dict[Path, tuple[str, list[str]]] = {}
    for path in paths:
        inside = path.is_relative_to(root)
        folders = [path, *path.parents] if inside else [path]
        for folder in folders:
            if folder.is_dir() and (folder / MANIFEST_NAME).is_file():
                prefix, part = (name_of(item, root, tops) for item in (folder, path))
                found.setdefault(folder, (prefix, []))[1].append(part)
                break
            if folder == root:
                break
    return [SignedTree(folder, prefix, tuple(parts)) for folder, (prefix, parts) in found.items()]


def of_users(
    trees: Sequence[SignedTree], settings: Settings, signed_before: Collection[str] = ()
) -> tuple[list[SignedTree], list[str]]:
    """Return the trees that count, and a warning for each manifest that is left out.

    Without any signing policy, a manifest in a folder *above* what the user trusts was not asked for: whoever can
    write there could stop every run by putting one there. It is left out and proves nothing. A manifest in a folder
    that the user names is his own affair: that run must not quietly trust it unsigned.

    Args:
        signed_before: corpus names of paths that a signature covered in an earlier run; their trees always count.
    """
    if settings.require_signature or policies(settings):
        return list(trees), []
    kept, warnings = [], []
    for tree in trees:
        if tree.prefix in tree.parts or any(in_scope(name, tree.parts) for name in signed_before):
            kept.append(tree)
            continue
        warnings.append(
            f"{tree.folder / MANIFEST_NAME} does not count: it lies above what you trust, and no signing policy"
            f" in {settings.config_file} says whose signature counts; write one (docs/provenance.md) or remove it"
        )
    return kept, warnings


def verified_trees(trees: Iterable[SignedTree], settings: Settings) -> list[tuple[str, VerifiedManifest]]:
    """Return each tree's prefix and verified manifest, with the tree's own names, as `combined_manifest` takes them.

    Raises:
        ManifestError: a manifest is missing, refused, expired, older than one seen before, …
        ConfigError: no policy says whose signature counts, or a key lies in the tree.
    """
    return [(tree.prefix, _verified(tree, settings)) for tree in trees]


def together(parts: Sequence[tuple[str, VerifiedManifest]]) -> VerifiedManifest | None:
    """Return the combined manifest with the names of the corpus, or None if there is none."""
    return combined_manifest(parts) if parts else None


def to_text(trees: Iterable[SignedTree]) -> str:
    """Serialize trees for the index."""
    return json.dumps([[str(tree.folder), tree.prefix, list(tree.parts)] for tree in trees])


def from_text(text: str | None) -> list[SignedTree]:
    """Rebuild trees from `to_text`'s text; None gives none."""
    return [
        SignedTree(Path(folder), prefix, tuple(parts)) for folder, prefix, parts in json.loads(text or "[]")
    ]


def _verified(tree: SignedTree, settings: Settings) -> VerifiedManifest:
    from codeguard.trust.verify import open_signed, refuse_unsigned, user_policy

    policy = user_policy(settings, tree.folder)
    try:
        verified = open_signed(tree.folder, policy)
    except ManifestError:
        refuse_unsigned(tree.folder / MANIFEST_NAME)
        raise
    inside = [
        part if tree.prefix == "." else part.removeprefix(tree.prefix).lstrip("/") for part in tree.parts
    ]
    verified = within(verified, [part or "." for part in inside])
    return verified if verified.manifest.chunker == CHUNKER_ID else rechunked_tree(verified, tree.folder)


def rechunked_tree(verified: VerifiedManifest, folder: Path) -> VerifiedManifest:
    """Rechunk the listed files if another version of the chunker made the manifest."""
    files = []
    for path in verified.files:
        try:
            data = read_inside(folder, path)
            files.append((path, data, [chunk.sha256 for chunk in chunk_file(path, data).chunks]))
        except (CorpusError, ManifestError):
            continue  # changed since it was signed: none of its chunks is trusted
    return rechunked(verified, files, CHUNKER_ID)
