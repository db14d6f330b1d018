"""`codeguard trust`: manifests of trusted code from the command line.

Keys, policies and the versions seen come from the user's folders or the command line, never from the tree.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codeguard.cli.output import EXIT_FINDINGS, FORMAT, STORE, read_settings, say, say_json, warn
from codeguard.errors import ConfigError, CorpusError, ManifestError, NothingToDoError
from codeguard.index.trusted_paths import below

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner  # type: ignore[attr-defined]

    from codeguard.corpus.discovery import FoundFile
    from codeguard.trust.manifest import Manifest
    from codeguard.trust.signatures import Envelope
    from codeguard.trust.verified import VerifiedManifest

PASSPHRASE = "CODEGUARD_KEY_PASSPHRASE"
_PLACE = click.Path(dir_okay=False, path_type=Path)
_ROOT = click.argument("root", type=click.Path(file_okay=False, path_type=Path), default=".")
_LABEL = click.option(
    "--label", help="Name of the tree.  [default: the configuration's only one, else ROOT's name]"
)


@click.group()
def trust() -> None:
    """Build, sign, verify and show manifests of trusted code.

    Keys and policies come from the user's configuration or the command line, never from the tree.
    """


@trust.command()
@_ROOT
@click.option(
    "--scope", multiple=True, help="Part of ROOT that the manifest speaks for. Repeatable.  [default: all]"
)
@_LABEL
@click.option("--expires-days", type=click.IntRange(min=0), default=90, show_default=True, help="0 is never.")
@click.option("--output", type=_PLACE, help="[default: codeguard.manifest.json in ROOT]")
def build(
    root: Path,
    scope: tuple[str, ...],
    label: str | None,
    expires_days: int,
    output: Path | None,
) -> None:
    """Write the manifest of the files under ROOT, not yet signed."""
    from codeguard.trust.manifest import manifest_from_json, manifest_to_json
    from codeguard.trust.state_files import read_limited, write_atomically
    from codeguard.trust.verified import MANIFEST_NAME

    _existing_folder(root)
    output = output or root / MANIFEST_NAME
    before = manifest_from_json(_opened(read_limited(output))[0]).version if output.exists() else 0
    now = datetime.now(UTC).replace(microsecond=0)
    manifest = _manifest_of(
        root,
        scope=tuple(scope) or (".",),
        label=label or _default_label(root),
        version=before + 1,
        created=now,
        expires=now + timedelta(days=expires_days) if expires_days else None,
    )
    write_atomically(output, manifest_to_json(manifest))
    _report(manifest, output)
    warn(f"not signed yet; next: codeguard trust sign {output} --key KEY --count-as IDENTITY")


@trust.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--key", type=_PLACE, help="Private key, PEM.")
@click.option(
    "--count-as",
    metavar="IDENTITY",
    help="From now on this key's signature counts here, as this person's: a policy for it is written.",
)
def sign(file: Path, key: Path | None, count_as: str | None) -> None:
    """Sign a manifest, or add a signature to a signed one.

    A signature counts only where a signing policy in the user's configuration says so. --count-as writes one for the
    manifest's folder, with the public half of the key; other people write theirs themselves.

    The passphrase of an encrypted key is asked for, or taken from CODEGUARD_KEY_PASSPHRASE.
    """
    from codeguard.trust.manifest import manifest_from_json
    from codeguard.trust.signatures import load_signer, sign_payload
    from codeguard.trust.state_files import read_limited, write_atomically

    if key is None:
        raise ConfigError(
            "sign with what?",
            got="no key",
            expected="--key FILE",
            hint="a key is made with: openssl genpkey -algorithm ed25519 -aes-256-cbc -out FILE, outside the tree",
        )
    file = _manifest_at(file)
    payload, envelope = _opened(read_limited(file))
    manifest = manifest_from_json(payload)
    signer = load_signer(key, _passphrase)
    if count_as is not None:
        place = _count_on(file, manifest.root, signer, count_as)
        warn(f"its signature counts from now on: written in {place}")
    envelope = sign_payload(payload, signer, envelope)
    write_atomically(file, envelope.to_json())
    _report(manifest, file, len(envelope.signatures))
    if not read_settings().signing:
        warn("nothing says yet whose signature counts here: --count-as IDENTITY writes that down")


@trust.command()
@_ROOT
@_LABEL
@FORMAT
def verify(root: Path, label: str | None, format_: str) -> None:
    """Compare ROOT with its signed manifest, byte by byte.

    Exit code 1 if anything is refused; every difference is listed with got and expected values.
    """
    from codeguard.trust.verified import check_tree
    from codeguard.trust.verify import open_signed, user_policy

    _existing_folder(root)
    policy = user_policy(read_settings(), root, label)
    verified: VerifiedManifest | None = None
    try:
        verified = open_signed(root, policy)
        present = [item.name for item in _discovered(root, verified.manifest.scope)]
        refusals = list(check_tree(verified, root, present))
    except ManifestError as error:
        refusals = [error]
    if format_ == "json":
        fields = {
            "verified": not refusals,
            "manifest": None if verified is None else _fields(verified.manifest),
            "signed_by": [] if verified is None else list(verified.signed_by),
            "refusals": [
                {"what": e.what, "got": str(e.got), "expected": str(e.expected), "hint": e.hint}
                for e in refusals
            ],
        }
        say_json({"schema": "codeguard.trust/2", **fields})
    else:
        for refusal in refusals:
            say(f"refused: {refusal}")
        if verified is not None and not refusals:
            _say_manifest(verified.manifest)
            say(f"verified, signed by {', '.join(verified.signed_by)}")
    if refusals:
        sys.exit(EXIT_FINDINGS)


@trust.command()
@STORE
@FORMAT
def show(store: str | None, format_: str) -> None:
    """Print what an index trusts: each path with the number of its trusted files, signed or not, and since when.

    Exit code 2 if one of their manifests does not verify.
    """
    from codeguard.index.workspace import Workspace

    with contextlib.closing(Workspace(read_settings(store=store))) as workspace:
        for line in workspace.warnings:
            warn(line)
        known = workspace.trusted_paths
        manifest = workspace.manifest
        names = () if manifest is None else tuple(manifest.files)
    rows = [{**asdict(item), "files": sum(below(name, item.name) for name in names)} for item in known]
    if format_ == "json":
        say_json({"schema": "codeguard.trusted-paths/1", "paths": rows})
        return
    if not rows:
        say("nothing is trusted; trust a path with: codeguard index PATH… --trust PATH")
    for row in rows:
        if row["trusted"]:
            kind = "signed" if row["signed"] else "unsigned"
            say(f"{row['path']}  {kind}, {row['files']} files, since {row['since']}")
        else:
            say(f"{row['path']}  not trusted, since {row['since']}")


@trust.command()
@_ROOT
@click.option("--key", type=_PLACE, help="Private key, PEM.", required=True)
@click.option("--yes", is_flag=True, help="Sign without asking.")
@_LABEL
def update(root: Path, key: Path, yes: bool, label: str | None) -> None:
    """Verify the current manifest, show what was edited since, and sign its successor."""
    from codeguard.reports.styled import counted
    from codeguard.trust.manifest import manifest_to_json
    from codeguard.trust.signatures import load_keys, load_signer, sign_payload
    from codeguard.trust.state_files import write_atomically
    from codeguard.trust.verified import MANIFEST_NAME, edits
    from codeguard.trust.verify import VersionsSeen, open_signed, user_policy

    _existing_folder(root)
    policy = user_policy(read_settings(), root, label)
    old = open_signed(root, policy, renewing=True)
    before, now = old.manifest, datetime.now(UTC).replace(microsecond=0)
    # The files are read once, so that what is signed is exactly what was shown.
    manifest = _manifest_of(
        root,
        scope=old.manifest.scope,
        label=old.root,
        version=max(old.manifest.version, VersionsSeen().last_version(policy.root)) + 1,
        created=now,
        expires=now + (before.expires - before.created) if before.expires else None,
    )
    changed = edits(old.manifest, manifest)
    for path, digest in changed.items():
        warn(f"{'removed' if digest is None else 'changed' if path in old.files else 'added'}: {path}")
    if not yes and not click.confirm(f"sign {counted(len(changed), 'changed file')}?", err=True):
        raise ConfigError("nothing was signed", got="no", expected="yes, or the option --yes")
    signer = load_signer(key, _passphrase)
    if signer.public_key.keyid not in load_keys(policy, tree=root):  # it would replace a manifest that counts
        raise ConfigError(
            "nothing was signed",
            got=f"the key {key}, which is not in the signing policy",
            expected="a key of it",
        )
    place = root / MANIFEST_NAME
    write_atomically(place, sign_payload(manifest_to_json(manifest), signer).to_json())
    _report(manifest, place, 1)


def _manifest_at(file: Path) -> Path:
    """Return the path of the manifest, given the file or the folder of a tree."""
    from codeguard.trust.verified import MANIFEST_NAME

    place = file / MANIFEST_NAME if file.is_dir() else file
    if not place.exists():
        raise ManifestError(
            f"no such file: {place}", hint="check the path; codeguard trust build makes a manifest"
        )
    return place


def _existing_folder(root: Path) -> None:
    if not root.is_dir():
        raise CorpusError(f"no such folder: {root}", hint="check the path")


def _default_label(root: Path) -> str:
    """Return the label of the configuration's policy for the folder, else the name of the folder."""
    from codeguard.trust.policy import policies
    from codeguard.trust.verify import choose_policy

    try:
        return choose_policy(policies(read_settings()), root).root
    except ConfigError:
        return root.resolve().name


def _count_on(manifest: Path, label: str, signer: CryptoSigner, identity: str) -> Path:
    """Let the signatures of a key count for the folder of a manifest; return the configuration that says so.

    Raises:
        ConfigError: another policy decides about this folder, or the configuration lies in it.
    """
    from codeguard.cli.config import add_table, as_toml
    from codeguard.trust.policy import policies
    from codeguard.trust.signatures import load_keys, public_pem, refuse_inside
    from codeguard.trust.state_files import write_atomically
    from codeguard.trust.verify import choose_policy

    settings, tree, keyid = read_settings(), manifest.resolve().parent, signer.public_key.keyid
    place, known = settings.config_file, policies(settings)
    refuse_inside(place, tree, "configuration")
    if known and keyid in load_keys(choose_policy(known, tree), tree=tree):
        return place
    if known:
        raise ConfigError(
            f"{place} says already whose signature counts",
            got="a key that it does not name",
            hint="add it there by hand, with its owner",
        )
    key = f"keys/{keyid[:16]}.pem"
    write_atomically(place.parent / key, public_pem(signer))
    table = f"signing.{as_toml(label)}"
    add_table(
        place,
        ("signing", label),
        f"[{table}]\nroot = {as_toml(label)}\ntrees = [{as_toml(str(tree))}]\n\n"
        f'[[{table}.signers]]\nidentity = {as_toml(identity)}\nkeys = [{as_toml(key)}]\npaths = ["**"]\n',
    )
    return place


def _manifest_of(root: Path, *, scope: tuple[str, ...], **fields: Any) -> Manifest:
    """Return the manifest of the files found in the scope; report those that cannot be listed."""
    from codeguard.corpus.chunking import CHUNKER_ID, chunk_file
    from codeguard.corpus.discovery import read_file
    from codeguard.trust.manifest import build_manifest, unlistable

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
    return build_manifest(root, files, scope=scope, chunker=CHUNKER_ID, **fields)


def _discovered(root: Path, scope: Sequence[str]) -> list[FoundFile]:
    from codeguard.corpus.discovery import discover
    from codeguard.reports.styled import by_reason
    from codeguard.trust.verified import MANIFEST_NAME

    places = [root / part for part in scope if (root / part).exists()]
    if not places:
        return []
    result = discover(places, root=root)
    for line in by_reason((item.reason, item.path) for item in result.skipped):
        warn(f"not part of the corpus: {line.strip()}")
    for note in result.notes:
        warn(note)
    return [item for item in result.files if item.name != MANIFEST_NAME]


def _opened(data: bytes) -> tuple[bytes, Envelope | None]:
    """Return an envelope's payload and the envelope, or a bare statement and None."""
    from codeguard.trust.manifest import manifest_from_json
    from codeguard.trust.signatures import read_envelope

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


def _passphrase() -> bytes:
    text = os.environ.get(PASSPHRASE)
    if text is None:
        text = str(click.prompt("passphrase of the key", hide_input=True, err=True))
    return text.encode("utf-8")


def _fields(manifest: Manifest) -> dict[str, Any]:
    return {
        "root": manifest.root,
        "version": manifest.version,
        "created": manifest.created.isoformat(),
        "expires": manifest.expires.isoformat() if manifest.expires else None,
        "files": len(manifest.files),
        "chunks": sum(len(entry.chunks) for entry in manifest.files.values()),
        "scope": list(manifest.scope),
        "chunker": manifest.chunker,
    }


def _say_manifest(manifest: Manifest) -> None:
    for name, value in _fields(manifest).items():
        if value not in (None, ""):
            say(f"{name}: {', '.join(value) if isinstance(value, list) else value}")


def _report(manifest: Manifest, output: Path, signatures: int = 0) -> None:
    _say_manifest(manifest)
    say(f"written: {output} ({signatures} signature{'' if signatures == 1 else 's'})")
