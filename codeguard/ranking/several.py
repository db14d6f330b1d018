"""One ranking of the candidates of several indexes for one query."""

from __future__ import annotations

import posixpath
import statistics
from collections.abc import Sequence
from dataclasses import replace

from codeguard.models import Evidence
from codeguard.ranking.reranking import Ranked, Ranking, at_most_per_file, distinct, rank
from codeguard.ranking.scoring import standardise


def merged(rankings: Sequence[tuple[str, Ranking]], drop_threshold: float) -> Ranking:
    """Return one ranking; each comes with the folder that its names are relative to, "" for the working directory.

    What is held for or against a candidate is what its own index knows. Each index orders its candidates as it does
    alone, on the scale of its distances: those of one embedding can be compared, words of different files cannot.
    """
    first = rankings[0][1]
    placed: list[Ranked] = []
    for number, (folder, ranking) in enumerate(rankings):
        items = (*ranking.ranking, *ranking.dropped)
        distances = [item.distance for item in items]
        middle, spread = (statistics.fmean(distances), statistics.pstdev(distances)) if items else (0.0, 0.0)
        placed += (
            replace(
                item,
                id=f"{number}:{item.id}",
                chunk=replace(item.chunk, path=posixpath.join(folder, item.chunk.path)),
                distance_z=middle + spread * item.distance_z,
                evidence=tuple(_placed(part, folder) for part in item.evidence),
            )
            for item in items
        )
    z_scores = standardise([item.distance_z for item in placed])
    judged = [replace(item, distance_z=z) for item, z in zip(placed, z_scores, strict=True)]
    mode = "drop" if first.mode == "drop" else "rerank"
    retained, dropped, baseline = rank(judged, order=first.order, mode=mode, drop_threshold=drop_threshold)
    return replace(
        first,
        store=", ".join(ranking.store for _, ranking in rankings),
        sandbox_level=min(ranking.sandbox_level for _, ranking in rankings),
        results=distinct(retained, first.k),
        baseline_results=at_most_per_file(baseline, first.k),
        ranking=retained,
        baseline=baseline,
        dropped=dropped,
        warnings=tuple(f"{ranking.store}: {line}" for _, ranking in rankings for line in ranking.warnings),
        budget=None,
    )


def _placed(evidence: Evidence, folder: str) -> Evidence:
    """Return the evidence, with the place of a trusted function as the merged ranking names it."""
    twin = evidence.measurements.get("twin")
    if not isinstance(twin, str):
        return evidence
    return replace(evidence, measurements={**evidence.measurements, "twin": posixpath.join(folder, twin)})
