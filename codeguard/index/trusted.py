"""The trust part of an indexing run: remembered paths, signed trees, the unsigned manifest, the model."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from codeguard.analysis.perplexity import PerplexityModel
from codeguard.config import Settings
from codeguard.corpus.chunking import CHUNKER_ID
from codeguard.corpus.discovery import FoundFile
from codeguard.corpus.installed import left_out
from codeguard.errors import ConfigError, ManifestError
from codeguard.index.catalog import SIGNED_TREES, TRUSTED_PATHS
from codeguard.index.on_disk import place_of_name
from codeguard.index.trusted_paths import (
    TrustedPath,
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
from codeguard.index.workspace import PERPLEXITY, Workspace
from codeguard.models import Skipped
from codeguard.trust.manifest import FileEntry, Manifest
from codeguard.trust.paths import unlistable
from codeguard.trust.signed_trees import (
    SignedTree,
    find_signed_trees,
    is_trusted_part,
    of_users,
    verified_trees,
)
from codeguard.trust.signed_trees import to_text as trees_text

TRAINED_ON = "trained_on"
REPLACED = ": it is replaced"
SHOWN = 3  # names in a message


@dataclass(frozen=True, slots=True)
class TrustPlan:
    """The trust plan of a run.

    `known` are the paths that the index will remember, `trees` the signed trees among them that belong to
    this run, `scopes` the names that the run updates, `untrusted` those that lose trust, `as_before` the
    paths that this run trusts because of earlier runs.
    """

    known: tuple[TrustedPath, ...]
    trees: tuple[SignedTree, ...]
    scopes: tuple[str, ...]
    untrusted: tuple[str, ...]
    as_before: tuple[str, ...]

    def trusted(self, files: Sequence[FoundFile]) -> tuple[set[str], tuple[Skipped, ...]]:
        """Return the names of the trusted files of the run, and what is left out because a tool installed it.

        What a signed manifest lists was chosen by its signers.
        """
        named = [item for item in files if trusted_by_path(item.path, self.known)]
        own = [
            (item.name, item.path)
            for item in named
            if not any(is_trusted_part(tree, item.name) for tree in self.trees)
        ]
        installed, folders = left_out(own, [Path(item.path) for item in self.known if item.trusted])
        said = tuple(Skipped(name, kind) for name, kind in sorted(folders.items()))
        return {item.name for item in named} - installed, said


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
    if settings.require_signature:
        signed = {tree.folder for tree in trees}
        for path in trusted:
            if not signed & {path, *path.parents}:
                raise ManifestError(
                    f"{path} has no signed manifest",
                    got="no signature",
                    expected="a signature (require_signature is on)",
                    hint="make one with: codeguard trust build, then codeguard trust sign",
                )
    return trees, warnings


class TrustUpdate:
    """Records what is trusted, for the indexer."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._catalog = workspace.catalog

    def plan(
        self, paths: Sequence[Path], trust: Sequence[Path], untrust: Sequence[Path], root: Path
    ) -> TrustPlan:
        """Determine what a run trusts, before anything is written.

        Raises:
            CorpusError: a trusted path no longer exists.
            ConfigError: a path to untrust is unknown.
            ManifestError: a signed manifest is refused, or gone.
        """
        before = self._workspace.trusted_paths
        given, taken = [path.resolve() for path in trust], [path.resolve() for path in untrust]
        tops = [*self._workspace.indexed_paths, *(path.resolve() for path in paths), *given]
        now = datetime.now(UTC).replace(microsecond=0).isoformat()
        known = with_changes(before, given, taken, root, now, tops)
        asked = outermost(path.resolve() for path in (*paths, *trust))
        scopes = [name_in_index(path, root, tops) for path in asked]
        met = [
            item
            for item in known
            if item.trusted and any(below(item.name, scope) or below(scope, item.name) for scope in scopes)
        ]
        untrusted = [name_in_index(path, root, tops) for path in taken if path not in given]
        self._refuse_unknown(before, taken, root, tops)
        refuse_vanished(met)
        signed_before = [item.name or "." for item in met if item.signed]
        trees, warnings = signed_trees(
            self._workspace.settings, [Path(item.path) for item in met], root, tops, signed_before
        )
        self._workspace.warnings.extend(warnings)
        for item in met:
            if item.signed and not any(is_trusted_part(tree, item.name or ".") for tree in trees):
                raise ManifestError(
                    f"{item.path} was trusted by a signed manifest, which is gone",
                    got="no codeguard.manifest.json",
                    expected="the signed manifest",
                    hint=f"put it back, or trust it anew unsigned: --untrust {item.path} --trust {item.path}",
                )
        again = {str(path) for path in given}
        as_before = [item.name or "." for item in met if item.path not in again]
        return TrustPlan(tuple(known), tuple(trees), tuple(scopes), tuple(untrusted), tuple(as_before))

    def _refuse_unknown(
        self, before: Sequence[TrustedPath], taken: Sequence[Path], root: Path, tops: Sequence[Path]
    ) -> None:
        for path in taken:
            if any(Path(item.path).is_relative_to(path) for item in before):
                continue
            if not os.path.lexists(path) and not any(
                below(name, name_in_index(path, root, tops)) for name in self._listed()
            ):
                remembered = ", ".join(item.path for item in before if item.trusted)
                raise ConfigError(
                    f"--untrust {path}",
                    got="no such path",
                    expected=f"one that is trusted: {remembered or 'none is'}",
                )

    def refuse_loss(self, plan: TrustPlan, found: set[str], trusted: set[str]) -> None:
        """Raise ConfigError if files of this run would lose trust that was not revoked.

        Raises ManifestError if this cannot be determined, and the run trusts nothing in its place.
        """
        try:
            listed = self._listed()
        except ManifestError:
            if not trusted:
                raise
            listed = set()
        trees = self._workspace.signed_trees
        signed = {name for name in found if any(is_trusted_part(tree, name) for tree in trees)}
        lost = sorted(
            name
            for name in (listed & found | signed) - trusted
            if not any(below(name, scope) for scope in plan.untrusted)
        )
        if lost:
            more = ", …" if len(lost) > SHOWN else ""
            counted = "1 file" if len(lost) == 1 else f"{len(lost)} files"
            raise ConfigError(
                f"this run would take trust from {counted}: {', '.join(lost[:SHOWN])}{more}",
                hint="keep it with --trust PATH, or give it up with --untrust PATH",
            )

    def _listed(self) -> set[str]:
        before = self._workspace.unsigned_manifest
        return set() if before is None else set(before.files)

    def update(self, plan: TrustPlan, trusted: set[str], decided: set[str], root_name: str) -> None:
        """Record what is trusted now, and retrain the character model if the trusted text changed."""
        kept = [
            SignedTree(tree.folder, tree.prefix, parts)
            for tree in self._workspace.signed_trees
            if not _decided(tree, plan.trees, plan.scopes)
            and (parts := tuple(part for part in tree.parts if trusted_by_name(_name(part), plan.known)))
        ]
        trees = [*kept, *plan.trees]
        signed = [
            item.name for item in plan.known if any(is_trusted_part(tree, item.name or ".") for tree in trees)
        ]
        with self._catalog.transaction():
            self._catalog.set_meta(SIGNED_TREES, trees_text(trees))
            self._catalog.set_meta(TRUSTED_PATHS, paths_text(marked_signed(plan.known, signed)))
        in_trees = {name for name in trusted if any(is_trusted_part(tree, name) for tree in trees)}
        self._update_unsigned(plan, trees, trusted - in_trees, decided, root_name)
        self._workspace.forget_trust()
        manifest = self._workspace.manifest
        states = self._catalog.files()
        for name in sorted(in_trees & states.keys()):
            if manifest is None or not manifest.covers(name, states[name].sha256):
                self._workspace.warnings.append(
                    f"{name} is not as it was signed: untrusted until: codeguard trust update"
                )
        self._train()

    def _update_unsigned(
        self,
        plan: TrustPlan,
        trees: Sequence[SignedTree],
        trusted: set[str],
        decided: set[str],
        root_name: str,
    ) -> None:
        """Write the unsigned manifest of files that no signed one covers."""
        states = self._catalog.files()
        try:
            before = self._workspace.unsigned_manifest
            listed = set() if before is None else {name for name in before.files if name in states}
        except ManifestError as error:
            if not trusted:
                raise
            self._workspace.warnings.append(error.what + REPLACED)
            before = None
            listed = self._written(plan)
            listed = {name for name in listed if not any(is_trusted_part(tree, name) for tree in trees)}
        kept = {name for name in listed - decided if not any(below(name, scope) for scope in plan.untrusted)}
        names = sorted(kept | (trusted & states.keys()))
        refused = unlistable(names)
        self._workspace.warnings.extend(
            f"{name} is not trusted: {reason}" for name, reason in refused.items()
        )
        names = [name for name in names if name not in refused]
        entries = {
            name: FileEntry(
                states[name].sha256, tuple(c.sha256 for c in self._catalog.chunks_of(name).values())
            )
            for name in names
        }
        if before is not None and dict(before.files) == entries:
            return
        if before is None and not entries:
            return
        manifest = Manifest(
            files=entries,
            root=root_name or "root",
            version=1 if before is None else before.version + 1,
            created=datetime.now(UTC).replace(microsecond=0),
            chunker=CHUNKER_ID,
        )
        self._workspace.save_manifest(manifest)

    def _written(self, plan: TrustPlan) -> set[str]:
        """Return the indexed files under the trusted paths, without what a tool installed there."""
        root, tops = Path(self._catalog.meta("root") or "."), self._workspace.indexed_paths
        places = [
            (name, place_of_name(name, root, tops))
            for name in self._catalog.files()
            if trusted_by_name(name, plan.known)
        ]
        installed, _ = left_out(places, [Path(item.path) for item in plan.known if item.trusted])
        return {name for name, _ in places} - installed

    def _train(self) -> None:
        """Retrain the character model if the trusted text has changed."""
        digest = self._workspace.trust_digest
        there = (self._workspace.state / PERPLEXITY).exists() or self._workspace.manifest is None
        intact = self._workspace.perplexity_intact()
        if there and intact and self._catalog.meta(TRAINED_ON) == digest:
            return
        files = self._workspace.trusted_files()
        texts = [(file.path, file.text) for file in files if file.text.strip()]
        self._workspace.save_perplexity(PerplexityModel.train(texts) if texts else None)
        self._catalog.set_meta(TRAINED_ON, digest)
        self._workspace.forget_trust()


def _name(part: str) -> str:
    return "" if part == "." else part


def _decided(tree: SignedTree, trees: Sequence[SignedTree], scopes: Sequence[str]) -> bool:
    """Return whether this run updates a tree: finds it again, or walks it without trusting it."""
    return any(tree.folder == new.folder for new in trees) or any(
        below(part, scope) for part in tree.parts for scope in scopes
    )
