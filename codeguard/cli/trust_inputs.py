"""The inputs of the `codeguard trust` commands: policy, keys, files of the tree, the current manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codeguard.cli.output import read_settings, warn
from codeguard.config import user_config_dir
from codeguard.errors import ConfigError, CorpusError, ManifestError, NothingToDoError

if TYPE_CHECKING:
    from codeguard.corpus.discovery import FoundFile
    from codeguard.trust import Envelope, KeyRing, Manifest, SigningPolicy, TreeDifference, VerifiedManifest
    from codeguard.trust.crypto import CryptoSigner


@dataclass(frozen=True)
class TrustInputs:
    """The inputs of a verification, from the command line and the user's configuration."""

    root: Path
    manifest_path: Path
    policy: SigningPolicy
    state: Path
    bundles: tuple[Path, ...]
    trusted_root: Path | None
    allowed_signers: Path | None

    @classmethod
    def of(
        cls, context: click.Context, root: Path, manifest: Path | None, options: dict[str, Any]
    ) -> TrustInputs:
        """Collect the inputs; raise ConfigError if a file that must be the user's is inside the tree."""
        import platformdirs

        from codeguard.trust import MANIFEST_NAME, policy_of_keys, refuse_inside

        if options["trusted_keys"]:
            label = options["label"] or default_label(context, root)
            policy = policy_of_keys(label, options["trusted_keys"], options["threshold"] or 1)
        else:
            policy = _chosen_policy(context, options["label"], root, manifest or root / MANIFEST_NAME)
        if options["allowed_signers"] is not None:
            refuse_inside(options["allowed_signers"], root, "allowed signers file")
        return cls(
            root=root,
            manifest_path=manifest or root / MANIFEST_NAME,
            policy=policy,
            state=options["state"] or Path(platformdirs.user_state_dir("codeguard")),
            bundles=options["bundles"],
            trusted_root=options["trusted_root"],
            allowed_signers=options["allowed_signers"],
        )

    def keys(self) -> KeyRing:
        """Return the public keys of the policy."""
        from codeguard.trust import KeyRing

        return KeyRing.load(self.policy, tree=self.root)

    def verify(self, *, renewing: bool = False) -> VerifiedManifest:
        """Verify the manifest, not yet the tree; raise ManifestError if it is refused."""
        from codeguard.trust import VersionsSeen, open_signed

        return open_signed(
            self.root,
            self.policy,
            state=VersionsSeen(self.state),
            now=datetime.now(UTC),
            manifest=self.manifest_path,
            bundles=self.bundles,
            trusted_root=self.trusted_root,
            renewing=renewing,
        )

    def vouched(self, verified: VerifiedManifest, changed: Mapping[str, str | None]) -> tuple[str, ...]:
        """Return one line per signed commit that vouches; raise ManifestError if they leave gaps."""
        from codeguard.trust.git import vouch

        assert self.allowed_signers is not None
        commits = vouch(self.root, changed, verified.manifest.git_commit, self.allowed_signers)
        return tuple(f"commit {item.commit} signed by {item.signer} with {item.key}" for item in commits)

    def last_version(self) -> int:
        """Return the version last seen of this tree, 0 if none was."""
        from codeguard.trust import VersionsSeen

        last = VersionsSeen(self.state).last(self.policy.root)
        return last.version if last else 0


def _chosen_policy(context: click.Context, label: str | None, root: Path, manifest: Path) -> SigningPolicy:
    from codeguard.trust import choose_policy, refuse_inside, refuse_unsigned

    place = _config_path(context)
    refuse_inside(place, root, "configuration")
    try:
        return choose_policy(_policies(context), root, label)
    except ConfigError as error:
        refuse_unsigned(manifest)
        error.hint = f"write one into {place}, or give a public key and its --label"
        raise


def _config_path(context: click.Context) -> Path:
    given = context.find_root().params.get("config")
    return Path(given) if given else user_config_dir() / "config.toml"


def _policies(context: click.Context) -> dict[str, SigningPolicy]:
    from codeguard.trust import policies_from_toml

    return policies_from_toml(read_settings(context).signing, _config_path(context).parent)


def count_on(context: click.Context, manifest: Path, label: str, signer: CryptoSigner, identity: str) -> Path:
    """Let the signatures of a key count for the folder of a manifest; return the configuration that says so.

    Raises:
        ConfigError: another policy decides about this folder, or the configuration lies in it.
    """
    from codeguard.cli.config import add_table, as_toml
    from codeguard.trust import KeyRing, choose_policy, refuse_inside, write_atomically
    from codeguard.trust.crypto import public_pem

    place, tree, public = _config_path(context), manifest.resolve().parent, signer.public_key
    refuse_inside(place, tree, "configuration")
    known = _policies(context)
    if known and KeyRing.load(choose_policy(known, tree), tree=tree).get(public.keyid):
        return place
    if known:
        raise ConfigError(
            f"{place} says already whose signature counts",
            got="a key that it does not name",
            hint="add it there by hand, with its owner",
        )
    key = f"keys/{public.keyid[:16]}.pem"
    write_atomically(place.parent / key, public_pem(signer))
    table = f"signing.{as_toml(label)}"
    add_table(
        place,
        ("signing", label),
        f"[{table}]\nroot = {as_toml(label)}\ntrees = [{as_toml(str(tree))}]\n\n"
        f'[[{table}.signers]]\nidentity = {as_toml(identity)}\nkeys = [{as_toml(key)}]\npaths = ["**"]\n',
    )
    return place


def default_label(context: click.Context, root: Path) -> str:
    """Return the label of the configuration's policy for the folder, else the name of the folder."""
    from codeguard.trust import choose_policy

    try:
        return choose_policy(_policies(context), root).root
    except ConfigError:
        return root.resolve().name


def build_from(root: Path, *, scope: tuple[str, ...], **fields: Any) -> Manifest:
    """Return the manifest of the files found in the scope; report those that cannot be listed."""
    from codeguard.corpus.chunking import CHUNKER_ID, chunk_file
    from codeguard.corpus.discovery import read_file
    from codeguard.trust import build_manifest, unlistable
    from codeguard.trust.git import head_commit

    found = _discovered(root, scope)
    refused = unlistable(item.name for item in found)
    files = []
    for item in found:
        if item.name in refused:
            warn(f"not listed: {item.name}: {refused[item.name]}")
            continue
        data = read_file(item)
        files.append((item.name, data, [chunk.sha256 for chunk in chunk_file(item.name, data).chunks]))
    if not files:
        raise NothingToDoError(f"nothing to trust under {root}", got="no file", expected="at least one")
    return build_manifest(
        root, files, scope=scope, chunker=CHUNKER_ID, git_commit=head_commit(root), **fields
    )


def _discovered(root: Path, scope: Sequence[str]) -> list[FoundFile]:
    from codeguard.corpus.discovery import discover
    from codeguard.reports.styled import by_reason
    from codeguard.trust import BUNDLE_NAME, MANIFEST_NAME

    places = [root / part for part in scope if (root / part).exists()]
    if not places:
        return []
    result = discover(places, root=root)
    for line in by_reason((item.reason, item.path) for item in result.skipped):
        warn(f"not part of the corpus: {line.strip()}")
    for note in result.notes:
        warn(note)
    return [item for item in result.files if item.name not in (MANIFEST_NAME, BUNDLE_NAME)]


def tree_differences(verified: VerifiedManifest, root: Path) -> tuple[TreeDifference, ...]:
    """Return the differences between `root` and the manifest."""
    from codeguard.trust import check_tree

    present = [item.name for item in _discovered(root, verified.manifest.scope)]
    return check_tree(verified, root, present)


def changed_files(root: Path, differences: Sequence[TreeDifference]) -> dict[str, str | None]:
    """Return the changed files with their current sha256; raise if a commit cannot vouch for a change."""
    from codeguard.trust import FileChange, read_inside

    changed: dict[str, str | None] = {}
    for difference in differences:
        if difference.change not in (FileChange.CHANGED, FileChange.ADDED, FileChange.MISSING):
            raise difference.error()
        gone = difference.change is FileChange.MISSING
        changed[difference.path] = None if gone else sha256(read_inside(root, difference.path)).hexdigest()
    return changed


def opened(data: bytes) -> tuple[bytes, Envelope | None]:
    """Return an envelope's payload and the envelope, or a bare statement and None."""
    from codeguard.trust import manifest_from_json, read_envelope

    try:
        envelope = read_envelope(data)
    except ManifestError as no_envelope:
        try:
            manifest_from_json(data)
        except ManifestError:
            no_envelope.hint = no_envelope.hint or "codeguard trust build makes a manifest to sign"
            raise no_envelope from None
        return data, None
    return envelope.payload, envelope


def next_version(output: Path) -> int:
    """Return the version that follows that of the replaced manifest, 1 if there is none."""
    from codeguard.trust import manifest_from_json, read_limited

    if not output.exists():
        return 1
    payload, _ = opened(read_limited(output))
    return manifest_from_json(payload).version + 1


def manifest_at(file: Path) -> Path:
    """Return the path of the manifest, given the file or the folder of a tree."""
    from codeguard.trust import MANIFEST_NAME

    place = file / MANIFEST_NAME if file.is_dir() else file
    if not place.exists():
        raise ManifestError(
            f"no such file: {place}", hint="check the path; codeguard trust build makes a manifest"
        )
    return place


def existing_folder(root: Path) -> None:
    """Raise CorpusError if there is no such folder."""
    if not root.is_dir():
        raise CorpusError(f"no such folder: {root}", hint="check the path")
