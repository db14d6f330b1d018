"""Signals that need all files at once."""

from __future__ import annotations

from collections.abc import Sequence

from codeguard.auditing.inspecting import Inspected, detector_error, sighted
from codeguard.findings import Finding
from codeguard.reading import Reading
from codeguard.signals import Context, CorpusSignal, Sighting


def corpus_findings(
    signals: Sequence[CorpusSignal], inspected: Sequence[Inspected], context: Context
) -> list[Finding]:
    """Return what the signals whose needs are met say of the files that were kept."""
    active = [item for item in signals if item.needs <= context.services.keys()]
    if not active:
        return []
    readings = {item.name: Reading(item.file) for item in inspected if item.file is not None}
    return [finding for signal in active for finding in _findings(signal, readings, context)]


def _findings(signal: CorpusSignal, readings: dict[str, Reading], context: Context) -> list[Finding]:
    try:
        found: dict[str, list[Sighting]] = {}
        for path, sighting in signal.inspect_corpus(readings.values(), context):
            found.setdefault(path, []).append(sighting)
        return [
            finding
            for path, sightings in found.items()
            for finding in sighted(signal, readings[path], sightings)
        ]
    except Exception as error:  # a signal may be a third party's; its failure is told of the first file
        return [detector_error(signal.name, reading, error) for reading in list(readings.values())[:1]]
