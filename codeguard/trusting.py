"""What an indexing run decides about trust: signed trees, the unsigned manifest, the character model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from codeguard.chunking import CHUNKER_ID
from codeguard.errors import ManifestError
from codeguard.perplexity import PerplexityModel
from codeguard.provenance import FileEntry, Manifest, unlistable
from codeguard.scopes import below
from codeguard.signed_trust import SignedTree, find_signed_trees, holds, verified_trees
from codeguard.workspace import PERPLEXITY, Workspace

TRAINED_ON = "trained_on"
REPLACED = ": it is replaced"


class Trusting:
    """Writes down what is trusted, for the indexer."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._catalog = workspace.catalog

    def signed_trees(self, trusted: Sequence[Path], root: Path) -> list[SignedTree]:
        """Find and verify the signed manifests of the trusted paths, before anything is written."""
        trees = find_signed_trees(trusted, root)
        verified_trees(trees, self._workspace.settings)
        if self._workspace.settings.require_signature:
            signed = {tree.folder for tree in trees}
            for path in trusted:
                if not signed & {path, *path.parents}:
                    raise ManifestError(
                        f"{path} has no signed manifest",
                        got="no signature",
                        expected="a signature (require_signature is on)",
                        hint="make one with: codeguard trust build, then codeguard trust sign",
                    )
        return trees

    def update(
        self,
        trusted: set[str],
        decided: set[str],
        trees: Sequence[SignedTree],
        scopes: Sequence[str],
        root_name: str,
    ) -> None:
        """Write down what is trusted now and train the character model where the trusted text changed."""
        kept = [tree for tree in self._workspace.signed_trees if not _decided(tree, trees, scopes)]
        self._workspace.save_signed_trees([*kept, *trees])
        in_trees = {name for name in trusted if any(holds(tree, name) for tree in [*kept, *trees])}
        self._update_unsigned(trusted - in_trees, decided, root_name)
        self._workspace.forget_trust()
        manifest = self._workspace.manifest
        states = self._catalog.files()
        for name in sorted(in_trees & states.keys()):
            if manifest is None or not manifest.covers(name, states[name].sha256):
                self._workspace.warnings.append(
                    f"{name} is not as it was signed: untrusted until: codeguard trust update"
                )
        self._train()

    def _update_unsigned(self, trusted: set[str], decided: set[str], root_name: str) -> None:
        """Write the unsigned manifest of what no signed one speaks for."""
        states = self._catalog.files()
        try:
            before = self._workspace.unsigned_manifest
        except ManifestError as error:
            if not trusted:
                raise
            self._workspace.warnings.append(error.what + REPLACED)
            before = None
        listed = set() if before is None else {name for name in before.files if name in states}
        names = sorted((listed - decided) | (trusted & states.keys()))
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

    def _train(self) -> None:
        """Train the character model anew where the trusted text is not what it was trained on."""
        digest = self._workspace.trust_digest
        path = self._workspace.state / PERPLEXITY
        there = path.exists() or self._workspace.manifest is None
        if there and self._catalog.meta(TRAINED_ON) == digest:
            return
        files = self._workspace.trusted_files()
        texts = [(file.path, file.text) for file in files if file.text.strip()]
        if texts:
            PerplexityModel.train(texts).save(path)
        else:
            path.unlink(missing_ok=True)
        self._catalog.set_meta(TRAINED_ON, digest)
        self._workspace.forget_trust()


def _decided(tree: SignedTree, trees: Sequence[SignedTree], scopes: Sequence[str]) -> bool:
    """Say whether this run decides about a tree: finds it again, or walks over it without trusting it."""
    return any(tree.folder == new.folder for new in trees) or any(
        below(part, scope) for part in tree.parts for scope in scopes
    )
