"""`codeguard trust`: manifests of trusted code from the command line."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from codeguard.cli.options import FORMAT, option_group, store_option
from codeguard.cli.output import EXIT_FINDINGS, guarded, read_settings, say, say_json, warn
from codeguard.cli.trust_inputs import (
    TrustInputs,
    build_from,
    changed_files,
    count_on,
    default_label,
    existing_folder,
    manifest_at,
    next_version,
    opened,
    tree_differences,
)
from codeguard.errors import ConfigError, ManifestError
from codeguard.index.trusted_paths import below

if TYPE_CHECKING:
    from codeguard.trust import Manifest, VerifiedManifest

F = TypeVar("F", bound=Callable[..., Any])
PASSPHRASE = "CODEGUARD_KEY_PASSPHRASE"
_ROOT = click.argument("root", type=click.Path(file_okay=False, path_type=Path), default=".")
_MANIFEST = click.option(
    "--manifest",
    "manifest_path",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The signed manifest.  [default: codeguard.manifest.json in ROOT]",
)
_FILE = click.argument("file", type=click.Path(path_type=Path))
_LABEL = click.option(
    "--label", help="Name of the tree.  [default: the configuration's only one, else ROOT's name]"
)
_SIGNING_KEY = click.option(
    "--key", type=click.Path(dir_okay=False, path_type=Path), help="Private key, PEM.", required=True
)


def _policy_options(*names: str) -> Callable[[F], F]:
    """Add the options that say whose signatures count; none of this is ever read from the tree.

    `names` are the names of the option for public keys.
    """
    path = click.Path(dir_okay=False, path_type=Path)
    return option_group(
        _LABEL,
        click.option(
            *names,
            "trusted_keys",
            multiple=True,
            type=path,
            help="Public key, PEM, instead of the configuration's signers. Repeatable.",
        ),
        click.option("--threshold", type=click.IntRange(min=1), help="Signers needed where keys are given."),
        click.option(
            "--bundle", "bundles", multiple=True, type=path, help="Sigstore bundle of a keyless signer."
        ),
        click.option(
            "--trusted-root", type=path, help="Sigstore's trusted root instead of the packaged one."
        ),
        click.option(
            "--allowed-signers",
            type=path,
            help="Signed git commits of these signers (ssh-keygen) vouch for edits.",
        ),
        click.option(
            "--state",
            type=click.Path(file_okay=False, path_type=Path),
            help="Where the versions last seen are kept.  [default: the user's own state directory]",
        ),
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
@click.option("--number", type=click.IntRange(min=1), help="Version number.  [default: one more than before]")
@click.option("--expires-days", type=click.IntRange(min=0), default=90, show_default=True, help="0 is never.")
@click.option("--source-url", default="", help="Where the tree comes from.")
@click.option(
    "--signer", "signers", multiple=True, metavar="IDENTITY=PATTERN", help="Who may sign what. Repeatable."
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="[default: codeguard.manifest.json in ROOT]",
)
@FORMAT
@click.pass_context
@guarded
def build(
    context: click.Context,
    root: Path,
    scope: tuple[str, ...],
    label: str | None,
    number: int | None,
    expires_days: int,
    source_url: str,
    signers: tuple[str, ...],
    output: Path | None,
    format_: str,
) -> None:
    """Write the manifest of the files under ROOT, not yet signed."""
    from codeguard.trust import MANIFEST_NAME, manifest_to_json, write_atomically

    existing_folder(root)
    output = output or root / MANIFEST_NAME
    label = label or default_label(context, root)
    now = datetime.now(UTC).replace(microsecond=0)
    manifest = build_from(
        root,
        label=label,
        version=number or next_version(output),
        created=now,
        expires=now + timedelta(days=expires_days) if expires_days else None,
        scope=tuple(scope) or (".",),
        source_url=source_url,
        signers=_rules(signers),
    )
    write_atomically(output, manifest_to_json(manifest))
    _report(manifest, format_, output)
    warn(f"not signed yet; next: codeguard trust sign {output} --key KEY")


@trust.command()
@_FILE
@click.option("--key", type=click.Path(dir_okay=False, path_type=Path), help="Private key, PEM.")
@click.option("--keyless", is_flag=True, help="Sign with sigstore (needs the network and SIGSTORE_ID_TOKEN).")
@click.option(
    "--count-as",
    metavar="IDENTITY",
    help="From now on this key's signature counts here, as this person's: a policy for it is written.",
)
@FORMAT
@click.pass_context
@guarded
def sign(
    context: click.Context,
    file: Path,
    key: Path | None,
    keyless: bool,
    count_as: str | None,
    format_: str,
) -> None:
    """Sign a manifest, or add a signature to a signed one.

    A signature counts only where a signing policy in the user's configuration says so. --count-as writes one for the
    manifest's folder, with the public half of the key; other people write theirs themselves.

    The passphrase of an encrypted key is asked for, or taken from CODEGUARD_KEY_PASSPHRASE.
    """
    from codeguard.trust import load_signer, manifest_from_json, read_limited, sign_payload, write_atomically

    if (key is None) != keyless:
        raise ConfigError(
            "sign with what?",
            got="both" if keyless else "neither",
            expected="--key FILE or --keyless",
            hint="a key is made with: openssl genpkey -algorithm ed25519 -aes-256-cbc -out FILE, outside the tree",
        )
    file = manifest_at(file)
    payload, envelope = opened(read_limited(file))
    manifest = manifest_from_json(payload)
    if count_as is not None and key is None:
        raise ConfigError("--count-as", got="no --key", expected="--key FILE")
    if key is not None:
        signer = load_signer(key, _passphrase)
        if count_as is not None:
            warn(
                f"its signature counts from now on, by {count_on(context, file, manifest.root, signer, count_as)}"
            )
        envelope = sign_payload(payload, signer, envelope)
        write_atomically(file, envelope.to_json())
        _report(manifest, format_, file, signatures=len(envelope.signatures))
        if not read_settings(context).signing:
            warn("nothing says yet whose signature counts here: --count-as IDENTITY writes that down")
        return
    from codeguard.trust.keyless import sign_keyless

    bundle = file.with_suffix(".sigstore.json")
    write_atomically(bundle, sign_keyless(payload, os.environ.get("SIGSTORE_ID_TOKEN")))
    _report(manifest, format_, bundle, signatures=1)


@trust.command()
@_ROOT
@_MANIFEST
@_policy_options("--key", "--trusted-key")
@FORMAT
@click.pass_context
@guarded
def verify(
    context: click.Context, /, root: Path, manifest_path: Path | None, format_: str, **options: Any
) -> None:
    """Compare ROOT with its signed manifest, byte by byte.

    Exit code 1 if anything is refused; every difference is listed with got and expected values.
    """
    existing_folder(root)
    trusted = TrustInputs.of(context, root, manifest_path, options)
    refusals: list[ManifestError] = []
    vouched: tuple[str, ...] = ()
    verified: VerifiedManifest | None = None
    try:
        verified = trusted.verify()
        differences = tree_differences(verified, root)
        if differences and trusted.allowed_signers is not None:
            vouched = trusted.vouched(verified, changed_files(root, differences))
        else:
            refusals = [difference.error() for difference in differences]
    except ManifestError as error:
        refusals = [error]
    if format_ == "json":
        say_json(
            {
                "schema": "codeguard.trust/1",
                "verified": not refusals,
                "manifest": None if verified is None else _fields(verified.manifest),
                "signed_by": [] if verified is None else list(verified.signed_by),
                "vouched_by_commits": list(vouched),
                "refusals": [
                    {"what": e.what, "got": str(e.got), "expected": str(e.expected), "hint": e.hint}
                    for e in refusals
                ],
            }
        )
    else:
        for refusal in refusals:
            say(f"refused: {refusal}")
        for line in vouched:
            say(f"vouched: {line}")
        if verified is not None and not refusals:
            _say_manifest(verified.manifest)
            say(f"verified, signed by {', '.join(verified.signed_by)}")
    if refusals:
        sys.exit(EXIT_FINDINGS)


@trust.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--files", is_flag=True, help="List every file with its digest.")
@store_option("The index whose trusted paths are shown without FILE.")
@FORMAT
@click.pass_context
@guarded
def show(context: click.Context, file: Path | None, files: bool, store: str | None, format_: str) -> None:
    """Print a manifest in readable form, unverified; without FILE, what an index trusts.

    An index remembers the paths of `index --trust`: each with the number of its trusted files,
    signed or not, and since when. Exit code 2 if one of their manifests does not verify.
    """
    if file is None:
        if files:
            raise ConfigError("--files", got="no FILE", expected="a manifest")
        _show_index(context, store, format_)
        return
    from codeguard.trust import manifest_from_json, read_limited

    file = manifest_at(file)
    payload, envelope = opened(read_limited(file))
    manifest = manifest_from_json(payload)
    signatures = [item.keyid for item in envelope.signatures] if envelope else []
    if format_ == "json":
        listed = {path: entry.sha256 for path, entry in sorted(manifest.files.items())} if files else None
        say_json(
            {"schema": "codeguard.trust/1", **_fields(manifest), "key_ids": signatures, "sha256": listed}
        )
        return
    say("not verified: anybody may have written this")
    _say_manifest(manifest)
    for rule in manifest.signers:
        say(f"may sign: {rule.identity}: {', '.join(rule.paths)}")
    for keyid in signatures:
        say(f"signature by a key that calls itself {keyid or 'nothing'}")
    if files:
        for path, entry in sorted(manifest.files.items()):
            say(f"{entry.sha256}  {path}  ({len(entry.chunks)} chunks)")


@trust.command()
@_ROOT
@_MANIFEST
@_SIGNING_KEY
@click.option("--expires-days", type=click.IntRange(min=0), help="0 is never.  [default: as long as before]")
@click.option("--yes", is_flag=True, help="Sign without asking.")
@_policy_options("--trusted-key")
@FORMAT
@click.pass_context
@guarded
def update(
    context: click.Context,
    /,
    root: Path,
    manifest_path: Path | None,
    key: Path,
    expires_days: int | None,
    yes: bool,
    format_: str,
    **options: Any,
) -> None:
    """Verify the current manifest, show what was edited since, and sign its successor.

    With --allowed-signers every edit must be part of signed git commits.
    """
    from codeguard.reports.styled import counted
    from codeguard.trust import edits, load_signer, manifest_to_json, sign_payload, write_atomically

    existing_folder(root)
    trusted = TrustInputs.of(context, root, manifest_path, options)
    old = trusted.verify(renewing=True)
    now = datetime.now(UTC).replace(microsecond=0)
    manifest = build_from(
        root,
        label=old.root,
        version=max(old.manifest.version, trusted.last_version()) + 1,
        created=now,
        expires=_successor_expiry(old.manifest, now, expires_days),
        scope=old.manifest.scope,
        source_url=old.manifest.source_url,
        signers=old.manifest.signers,
    )
    # The files are read once, so that what is signed is exactly what was shown and vouched for.
    changed = edits(old.manifest, manifest)
    for path, digest in changed.items():
        warn(f"{'removed' if digest is None else 'changed' if path in old.files else 'added'}: {path}")
    if changed and trusted.allowed_signers is not None:
        for line in trusted.vouched(old, changed):
            warn(f"vouched: {line}")
    if not yes and not click.confirm(f"sign {counted(len(changed), 'changed file')}?", err=True):
        raise ConfigError("nothing was signed", got="no", expected="yes, or the option --yes")
    signer = load_signer(key, _passphrase)
    if trusted.keys().get(signer.public_key.keyid) is None:  # it would replace a manifest that counts
        raise ConfigError(
            "nothing was signed",
            got=f"the key {key}, which is not in the signing policy",
            expected="a key of it",
        )
    envelope = sign_payload(manifest_to_json(manifest), signer)
    write_atomically(trusted.manifest_path, envelope.to_json())
    _report(manifest, format_, trusted.manifest_path, signatures=1)


def _show_index(context: click.Context, store: str | None, format_: str) -> None:
    from codeguard.index.workspace import Workspace

    with contextlib.closing(Workspace(read_settings(context, store=store))) as workspace:
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


def _successor_expiry(old: Manifest, now: datetime, days: int | None) -> datetime | None:
    if days is not None:
        return now + timedelta(days=days) if days else None
    return now + (old.expires - old.created) if old.expires else None


def _rules(texts: Sequence[str]) -> tuple[Any, ...]:
    from codeguard.trust import SignerRule
    from codeguard.trust.patterns import check_pattern

    paths: dict[str, list[str]] = {}
    for text in texts:
        identity, equals, pattern = text.rpartition("=")
        if not equals or not identity:
            raise ConfigError("--signer", got=text, expected="IDENTITY=PATTERN")
        paths.setdefault(identity, []).append(check_pattern(pattern))
    return tuple(SignerRule(identity, tuple(patterns)) for identity, patterns in paths.items())


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
        "codeguard": manifest.codeguard,
        "git_commit": manifest.git_commit,
        "source_url": manifest.source_url,
    }


def _say_manifest(manifest: Manifest) -> None:
    for name, value in _fields(manifest).items():
        if value not in (None, ""):
            say(f"{name.replace('_', ' ')}: {', '.join(value) if isinstance(value, list) else value}")


def _report(manifest: Manifest, format_: str, output: Path, signatures: int = 0) -> None:
    if format_ == "json":
        fields = {**_fields(manifest), "output": str(output), "signatures": signatures}
        say_json({"schema": "codeguard.trust/1", **fields})
    else:
        _say_manifest(manifest)
        say(f"written: {output} ({signatures} signature{'' if signatures == 1 else 's'})")
