"""Audit files as they would enter the corpus; neither a vector store nor an embedding is touched."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from codeguard.auditing.inspecting import Inspected, Source, detector_error, sighted
from codeguard.auditing.rules import Selection, all_rules
from codeguard.auditing.unseen import unseen_findings
from codeguard.auditing.workers import inspect_all
from codeguard.discovery import discover
from codeguard.errors import NothingToDoError
from codeguard.findings import AuditReport, Finding, with_fingerprints
from codeguard.models import Confidence, Skipped
from codeguard.reading import Reading
from codeguard.signals import Context, CorpusSignal, Sighting, load_corpus_signals

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What an audit may be told.

    `jobs` bounds the worker processes. Findings below `min_confidence` or
    outside the selection are counted and not listed.
    """

    selection: Selection = field(default_factory=Selection)
    min_confidence: Confidence = Confidence.LOW
    jobs: int | None = None


def audit(
    paths: Sequence[Path],
    options: AuditOptions | None = None,
    *,
    progress: Progress = lambda stage, done, total: None,
) -> AuditReport:
    """Audit the files under `paths`.

    Raises:
        NothingToDoError: not one file, suitable or not, under the paths.
        CorpusError, ConfigError: see there.
    """
    begun = time.monotonic()
    chosen = options or AuditOptions()
    chosen.selection.check(all_rules())
    sources, skipped = _sources(paths)
    context = Context()
    corpus = [item for item in load_corpus_signals() if item.needs <= context.services.keys()]
    inspected = list(
        inspect_all(
            sources,
            context,
            jobs=chosen.jobs,
            keep=bool(corpus),
            progress=lambda done, total: progress("files", done, total),
        )
    )
    findings = [finding for item in inspected for finding in item.findings]
    findings += unseen_findings(skipped)
    for signal in corpus:
        findings += _over_corpus(signal, inspected, context)
    kept, hidden = _chosen(with_fingerprints(findings), chosen)
    return AuditReport(
        findings=tuple(kept),
        files=len(inspected),
        functions=sum(item.functions for item in inspected),
        lines=sum(item.lines for item in inspected),
        skipped=tuple(skipped),
        hidden=hidden,
        seconds=time.monotonic() - begun,
    )


def _sources(paths: Sequence[Path]) -> tuple[list[Source], tuple[Skipped, ...]]:
    missing = [path for path in paths if not path.exists() and not path.is_symlink()]
    if paths and len(missing) == len(paths):
        raise NothingToDoError(f"no such file: {missing[0]}", hint="check the path")
    found = discover(paths)
    if not found.files and not found.skipped:
        raise NothingToDoError("no file to audit", got="empty folders", hint="give other paths")
    return [Source(item.name, item) for item in found.files], found.skipped


def _over_corpus(signal: CorpusSignal, inspected: Sequence[Inspected], context: Context) -> list[Finding]:
    """Return what a signal that needs all files at once says; its failure is a finding about the first file."""
    readings = {item.name: Reading(item.file) for item in inspected if item.file is not None}
    try:
        found: dict[str, list[Sighting]] = {}
        for path, sighting in signal.inspect_corpus(readings.values(), context):
            found.setdefault(path, []).append(sighting)
        return [
            finding
            for path, sightings in found.items()
            for finding in sighted(signal, readings[path], sightings)
        ]
    except Exception as error:  # a signal may be a third party's
        return [detector_error(signal.name, reading, error) for reading in list(readings.values())[:1]]


def _chosen(findings: Sequence[Finding], options: AuditOptions) -> tuple[list[Finding], int]:
    kept = [
        item
        for item in findings
        if options.selection.takes(item.rule) and item.confidence >= options.min_confidence
    ]
    return kept, len(findings) - len(kept)
