"""`codeguard audit`."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codeguard.cli.output import (
    EXIT_FINDINGS,
    Progress,
    guarded,
    read_settings,
    say_block,
    say_json,
    warn,
)
from codeguard.errors import ConfigError
from codeguard.escaping import escaped

if TYPE_CHECKING:
    from codeguard.auditing.trust import TrustedBase
    from codeguard.findings import AuditReport
    from codeguard.models import Severity

SEVERITIES = ("info", "low", "medium", "high", "critical")
CONFIDENCES = ("low", "medium", "high")
_FILE = click.Path(dir_okay=False, path_type=Path)


class _Command(click.Command):
    """A command whose options cannot come from the names of the files that a hook hands to it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option that is also the name of a file: `--no-behavior` may lie in the tree."""
        words = args[: args.index("--")] if "--" in args else args
        for word in words:
            if word.startswith("-") and os.path.lexists(word):
                raise click.UsageError(
                    f"a file is named like an option: {escaped(word)}; put -- before the names"
                )
        return super().parse_args(ctx, args)


@click.command(cls=_Command)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--staged", is_flag=True, help="What the git index holds for the next commit, not the files.")
@click.option(
    "--trust", multiple=True, type=click.Path(path_type=Path), help="A path that is your own. Repeatable."
)
@click.option("--manifest", type=_FILE, help="Signed manifest of the tree it lies in, instead of --trust.")
@click.option(
    "--key",
    "keys",
    multiple=True,
    type=_FILE,
    help="Public key, PEM, for --manifest, instead of the configuration's signers. Repeatable.",
)
@click.option("--label", help="Label that the manifest has to name.  [default: as for `trust verify`]")
@click.option("--store", help="Folder of the index whose trust and evidence count.  [default: .codeguard]")
@click.option("--baseline", type=_FILE, help="Known findings; it counts from outside of the audited paths.")
@click.option("--update-baseline", is_flag=True, help="Write the baseline anew; reasons are kept.")
@click.option("--reason", default="", help="Reason of new entries of the baseline.")
@click.option("--select", multiple=True, metavar="RULE", help="Only these rules or signals. Repeatable.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Not these rules or signals. Repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="medium",
    show_default=True,
    help="Least severity for exit code 1.",
)
@click.option(
    "--min-confidence",
    type=click.Choice(CONFIDENCES),
    default="low",
    show_default=True,
    help="Leave out what is less sure.",
)
@click.option("--no-behavior", is_flag=True, help="Run nothing in the sandbox.")
@click.option("--jobs", type=click.IntRange(min=1), help="Worker processes.  [default: one a core]")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    show_default=True,
)
@click.pass_context
@guarded
def audit(
    context: click.Context,
    paths: tuple[Path, ...],
    staged: bool,
    trust: tuple[Path, ...],
    manifest: Path | None,
    keys: tuple[Path, ...],
    label: str | None,
    store: str | None,
    baseline: Path | None,
    update_baseline: bool,
    reason: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    min_confidence: str,
    no_behavior: bool,
    jobs: int | None,
    format_: str,
) -> None:
    """Look for what is wrong in PATHS (files or folders), as they would enter the corpus.

    Needs no index. Exit code 1 where an open finding is at least as severe as --fail-on, 3 where
    there is no such file.
    """
    gc.disable()  # for the imports; `run_audit` collects by itself
    if not paths and not staged:
        raise ConfigError("audit what?", got="no path", expected="PATH… or --staged")
    if update_baseline and baseline is None:
        raise ConfigError("--update-baseline", got="no --baseline", expected="--baseline FILE")
    if manifest is not None and trust:
        raise ConfigError("whom to trust?", got="--trust and --manifest", expected="one of them")
    if keys and manifest is None:
        raise ConfigError("--key", got="no --manifest", expected="--manifest FILE")
    from codeguard.audit import AuditOptions
    from codeguard.audit import audit as run_audit
    from codeguard.auditing.rules import Selection
    from codeguard.models import Confidence, Severity

    settings = read_settings(context, store=store)
    if store is not None and not settings.state.is_dir():
        raise ConfigError("--store", got=f"no folder {settings.state}", expected="the folder of an index")
    options = AuditOptions(
        selection=Selection(select, ignore),
        min_confidence=Confidence[min_confidence.upper()],
        staged=staged,
        trust=trust,
        base=_verified(context, manifest, keys, label) if manifest is not None else None,
        behavior=not no_behavior,
        baseline=baseline,
        update_baseline=update_baseline,
        reason=reason,
        jobs=jobs,
    )
    report = run_audit(paths, options, settings, progress=Progress())
    least = Severity[fail_on.upper()]
    _say(report, format_, least, settings.defense.required_level)
    gc.freeze()  # what is left ends with the process, which would look through it for garbage first
    if report.failing(least):
        sys.exit(EXIT_FINDINGS)


def _verified(
    context: click.Context, manifest: Path, keys: tuple[Path, ...], label: str | None
) -> TrustedBase:
    """Verify a manifest by the given keys or the user's policies."""
    from codeguard.auditing.trust import of_manifest
    from codeguard.cli.trust_inputs import TrustInputs

    tree = manifest.parent
    options = {
        "trusted_keys": keys,
        "label": label,
        "threshold": None,
        "allowed_signers": None,
        "state": None,
        "bundles": (),
        "trusted_root": None,
    }
    return of_manifest(TrustInputs.of(context, tree, manifest, options).verify(), tree)


def _say(report: AuditReport, format_: str, least: Severity, required_level: str) -> None:
    for line in report.warnings:
        warn(line)
    if format_ == "json":
        from codeguard.formats.audit_json import audit_json

        say_json(audit_json(report))
    elif format_ == "sarif":
        from codeguard.auditing.rules import all_rules
        from codeguard.formats.sarif import sarif

        say_json(sarif(report, all_rules()))
    elif format_ == "github":
        from codeguard.formats.github import github_annotations

        if report.open:
            say_block(github_annotations(report))
    else:
        from codeguard.formats.audit_text import audit_text

        say_block(audit_text(report, least, required_level))
