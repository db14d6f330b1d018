"""The trust part of an indexing run: remembered paths, signed trees, the unsigned manifest, the model."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

from codeguard.config import Settings
from codeguard.corpus.chunking import CHUNKER_ID
from codeguard.corpus.discovery import FoundFile, left_out
from codeguard.errors import ConfigError, ManifestError
from codeguard.index.catalog import SIGNED_TREES, TRUSTED_PATHS
from codeguard.index.on_disk import place_of_name
from codeguard.index.trusted_paths import (
    below,
    marked_signed,
    name_in_index,
    outermost,
    refuse_vanished,
    trusted_by_name,
    trusted_by_path,
    with_changes,
)
from codeguard.index.trusted_paths import to_text as paths_text
from codeguard.index.workspace import Workspace
from codeguard.models import Skipped
from codeguard.trust.manifest import FileEntry, Manifest, unlistable
from codeguard.trust.signed_trees import SignedTree, find_signed_trees, of_users, verified_trees
from codeguard.trust.signed_trees import to_text as trees_text
from codeguard.trust.verified import in_scope

REPLACED = ": it is replaced"
SHOWN = 3  # names in a message


def signed_trees(
    settings: Settings,
    trusted: Sequence[Path],
    root: Path,
    tops: Sequence[Path],
    signed_before: Collection[str] = (),
) -> tuple[list[SignedTree], list[str]]:
    """Find and verify the signed manifests of trusted paths; return them and warnings.

    `trusted` and `tops`, the indexed paths, are without links.

    Raises ManifestError, ConfigError: one is refused, or a signature is required and there is none.
    """
    trees, warnings = of_users(find_signed_trees(trusted, root, tops), settings, signed_before)
    verified_trees(trees, settings)
    signed = {tree.folder for tree in trees}
    for path in trusted if settings.require_signature else ():
        if not signed & {path, *path.parents}:
            raise ManifestError(
                f"{path} has no signed manifest",
                got="no signature",
                expected="a signature (require_signature is on)",
                hint="make one with: codeguard trust build, then codeguard trust sign",
            )
    return trees, warnings


class TrustUpdate:
    """What a run trusts: determined before anything is written, and recorded when the catalog has the files.

    `known` are the paths that the index will remember, `trees` the signed trees among them that belong to this run,
    `scopes` the names that the run updates, `gone` the untrusted paths that no longer exist, `as_before` the paths
    that this run trusts because of earlier runs.

    Raises:
        CorpusError: a trusted path no longer exists.
        ConfigError: a path to untrust is unknown.
        ManifestError: a signed manifest is refused, or gone.
    """

    def __init__(
        self,
        workspace: Workspace,
        paths: Sequence[Path],
        trust: Sequence[Path],
        untrust: Sequence[Path],
        root: Path,
    ) -> None:
        self._workspace = workspace
        self._catalog = workspace.catalog
        self._root = root
        given, taken = [path.resolve() for path in trust], [path.resolve() for path in untrust]
        self._tops = [*workspace.indexed_paths, *(path.resolve() for path in paths), *given]
        now = datetime.now(UTC).replace(microsecond=0).isoformat()
        self.known = with_changes(workspace.trusted_paths, given, taken, root, now, self._tops)
        asked = outermost(path.resolve() for path in (*paths, *trust))
        self.scopes = [name_in_index(path, root, self._tops) for path in asked]
        self._untrusted = [name_in_index(path, root, self._tops) for path in taken if path not in given]
        self._refuse_unknown(taken)
        met = [
            item
            for item in self.known
            if item.trusted
            and any(below(item.name, scope) or below(scope, item.name) for scope in self.scopes)
        ]
        refuse_vanished(met)
        self.gone = [path for path in taken if not os.path.lexists(path)]
        self.scopes += [name_in_index(path, root, self._tops) for path in self.gone]  # nothing of them stays
        self.trees, warnings = signed_trees(
            workspace.settings,
            [Path(item.path) for item in met],
            root,
            self._tops,
            [item.name or "." for item in met if item.signed],
        )
        workspace.warnings.extend(warnings)
        for item in met:
            if item.signed and not _in_trees(item.name or ".", self.trees):
                raise ManifestError(
                    f"{item.path} was trusted by a signed manifest, which is gone",
                    got="no codeguard.manifest.json",
                    expected="the signed manifest",
                    hint=f"put it back, or trust it anew unsigned: --untrust {item.path} --trust {item.path}",
                )
        again = {str(path) for path in given}
        self.as_before = tuple(item.name or "." for item in met if item.path not in again)

    def _refuse_unknown(self, taken: Sequence[Path]) -> None:
        before = self._workspace.trusted_paths
        for path in taken:
            name = name_in_index(path, self._root, self._tops)
            if any(Path(item.path).is_relative_to(path) for item in before) or os.path.lexists(path):
                continue
            if not any(below(listed, name) for listed in self._listed()):
                remembered = ", ".join(item.path for item in before if item.trusted)
                raise ConfigError(
                    f"--untrust {path}",
                    got="no such path",
                    expected=f"one that is trusted: {remembered or 'none is'}",
                )

    def trusted(self, files: Sequence[FoundFile]) -> tuple[set[str], tuple[Skipped, ...]]:
        """Return the names of the trusted files of the run, and what is left out because a tool installed it.

        What a signed manifest lists was chosen by its signers.
        """
        named = [item for item in files if trusted_by_path(item.path, self.known)]
        own = [(item.name, item.path) for item in named if not _in_trees(item.name, self.trees)]
        installed, folders = self._installed(own)
        said = tuple(Skipped(name, kind) for name, kind in sorted(folders.items()))
        return {item.name for item in named} - installed, said

    def _installed(self, files: Sequence[tuple[str, Path]]) -> tuple[set[str], dict[str, str]]:
        return left_out(files, [Path(item.path) for item in self.known if item.trusted])

    def refuse_loss(self, found: set[str], trusted: set[str]) -> None:
        """Raise ConfigError if files of this run would lose trust that was not revoked.

        Raises ManifestError if this cannot be determined, and the run trusts nothing in its place.
        """
        try:
            listed = self._listed()
        except ManifestError:
            if not trusted:
                raise
            listed = set()
        signed = {name for name in found if _in_trees(name, self._workspace.signed_trees)}
        lost = sorted(name for name in (listed & found | signed) - trusted if not self._is_untrusted(name))
        if lost:
            more = ", …" if len(lost) > SHOWN else ""
            counted = "1 file" if len(lost) == 1 else f"{len(lost)} files"
            raise ConfigError(
                f"this run would take trust from {counted}: {', '.join(lost[:SHOWN])}{more}",
                hint="keep it with --trust PATH, or give it up with --untrust PATH",
            )

    def _is_untrusted(self, name: str) -> bool:
        return any(below(name, scope) for scope in self._untrusted)

    def _listed(self) -> set[str]:
        before = self._workspace.unsigned_manifest
        return set() if before is None else set(before.files)

    def record(self, trusted: set[str], decided: set[str], written: Collection[str]) -> None:
        """Record what is trusted now, and retrain the character model if the trusted text changed.

        `written` are the files that this run wrote to the catalog.
        """
        workspace = self._workspace
        kept = [
            SignedTree(tree.folder, tree.prefix, parts)
            for tree in workspace.signed_trees
            if not self._is_decided(tree)
            and (
                parts := tuple(
                    part for part in tree.parts if trusted_by_name("" if part == "." else part, self.known)
                )
            )
        ]
        trees = [*kept, *self.trees]
        signed = [item.name for item in self.known if _in_trees(item.name or ".", trees)]
        with self._catalog.transaction():
            self._catalog.set_meta(SIGNED_TREES, trees_text(trees))
            self._catalog.set_meta(TRUSTED_PATHS, paths_text(marked_signed(self.known, signed)))
        in_trees = {name for name in trusted if _in_trees(name, trees)}
        self._record_unsigned(trees, trusted - in_trees, decided, written)
        workspace.forget_trust()
        manifest, states = workspace.manifest, self._catalog.files()
        workspace.warnings.extend(
            f"{name} is not as it was signed: untrusted until: codeguard trust update"
            for name in sorted(in_trees & states.keys())
            if manifest is None or not manifest.covers(name, states[name].sha256)
        )
        workspace.train_perplexity()

    def _is_decided(self, tree: SignedTree) -> bool:
        """Return whether this run updates a tree: finds it again, or walks it without trusting it."""
        return any(tree.folder == new.folder for new in self.trees) or any(
            below(part, scope) for part in tree.parts for scope in self.scopes
        )

    def _record_unsigned(
        self, trees: Sequence[SignedTree], trusted: set[str], decided: set[str], written: Collection[str]
    ) -> None:
        """Write the unsigned manifest of files that no signed one covers."""
        workspace, states = self._workspace, self._catalog.files()
        try:
            before = workspace.unsigned_manifest
            listed = set() if before is None else before.files.keys() & states.keys()
        except ManifestError as error:
            if not trusted:
                raise
            workspace.warnings.append(error.what + REPLACED)
            before, listed = None, {name for name in self._written() if not _in_trees(name, trees)}
        kept = {name for name in listed - decided if not self._is_untrusted(name)}
        names = kept | (trusted & states.keys())
        refused = unlistable(sorted(names))
        workspace.warnings.extend(f"{name} is not trusted: {reason}" for name, reason in refused.items())
        same = {} if before is None or before.chunker != CHUNKER_ID else before.files
        entries = {
            name: same[name]
            if name in same and name not in written and same[name].sha256 == states[name].sha256
            else FileEntry(
                states[name].sha256, tuple(c.sha256 for c in self._catalog.chunks_of(name).values())
            )
            for name in sorted(names - refused.keys())
        }
        if entries == ({} if before is None else dict(before.files)):
            return
        manifest = Manifest(
            files=entries,
            root=self._root.name or "root",
            version=1 if before is None else before.version + 1,
            created=datetime.now(UTC).replace(microsecond=0),
            chunker=CHUNKER_ID,
        )
        workspace.save_manifest(manifest)

    def _written(self) -> set[str]:
        places = [
            (name, place_of_name(name, self._root, self._workspace.indexed_paths))
            for name in self._catalog.files()
            if trusted_by_name(name, self.known)
        ]
        return {name for name, _ in places} - self._installed(places)[0]


def _in_trees(name: str, trees: Sequence[SignedTree]) -> bool:
    """Return whether a name is in the trusted part of a signed tree."""
    return any(in_scope(name, tree.parts) for tree in trees)
