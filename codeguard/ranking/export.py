"""An index as plain records: every chunk with everything known about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codeguard.index.on_disk import IndexOnDisk
from codeguard.index.workspace import Workspace
from codeguard.models import Trust
from codeguard.ranking.defense import DefenseManager, trust_now
from codeguard.ranking.scoring import is_convicted, is_demoted
from codeguard.ranking.signals.base import SignalServices, Subject
from codeguard.trust.acceptances import load_acceptances

SCHEMA = "codeguard.export/1"


def export(workspace: Workspace) -> Iterator[dict[str, Any]]:
    """Yield a record for each chunk: its location, text, trust and evidence, weighted as in a query.

    No behavior check is run: the evidence of an unchecked function says so.

    Raises:
        StoreError, ManifestError: see there.
    """
    config = workspace.settings.defense
    services = SignalServices(
        behavior=workspace.reports(known_only=True),
        perplexity=workspace.perplexity,
        static=workspace.static_evidence(config),
        acceptances=load_acceptances(workspace.state),
    )
    manager = DefenseManager(config, manifest=workspace.manifest, services=services)
    disk = IndexOnDisk(workspace.catalog, workspace.indexed_paths)
    for path in sorted(workspace.catalog.files()):
        file = workspace.catalog.file(path)
        if file is None:
            continue
        for id_, chunk in workspace.catalog.chunks_of(path).items():
            listed = manager.trust_of(chunk, file)
            on_disk = disk.state(path, trusted=listed is Trust.TRUSTED)
            trust = trust_now(listed, on_disk)
            evidence = manager.evidence(Subject(chunk, file, trust))
            yield {
                "schema": SCHEMA,
                "id": id_,
                "path": chunk.path,
                "symbol": chunk.symbol,
                "kind": chunk.kind.value,
                "language": chunk.language,
                "start_line": chunk.start_line,
                "end_line": chunk.end_line,
                "sha256": chunk.sha256,
                "text": chunk.text,
                "masked": chunk.masked,
                "withheld": chunk.withheld,
                "trust": trust.value,
                "on_disk": on_disk.value,
                "convicted": is_convicted(evidence),
                "demoted": is_demoted(evidence),
                "penalty": round(sum(item.penalty for item in evidence), 6),
                "evidence": [item.to_json() for item in evidence],
            }
