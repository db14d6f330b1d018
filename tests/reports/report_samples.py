"""Rankings made by hand, for the tests of reports."""

from __future__ import annotations

from codeguard.models import Chunk, ChunkKind, Evidence, Severity, Span, Trust, text_digest
from codeguard.ranking.reranking import Ranked, Ranking, at_most_per_file, distinct, rank

OURS = "def add(a, b):\n    return a + b\n\n\n# 5\n# 6\n# 7\n# 8\n"
FAIL = Evidence(
    "behavior", "fail", 3.0, "fail: add(2, 3): expected 5, got -1", convicts=True, severity=Severity.HIGH
)
UNKNOWN = Evidence("provenance", "unlisted", 0.5, "not in the manifest: unknown origin")


def judged(
    path: str, distance: float, *evidence: Evidence, text: str = OURS, start: int = 1, sha256: str = ""
) -> Ranked:
    """Return a candidate; its digest is one of its own, unless given, so that none counts as another's copy."""
    span = Span(start, start + 3, 0, len(text))
    digest = sha256 or text_digest(f"{path}:{start}")
    chunk = Chunk(path, f"f{start}", ChunkKind.FUNCTION, span, text, digest, "python")
    trust = Trust.UNLISTED if evidence else Trust.TRUSTED
    return Ranked(f"{path}:{start}", chunk, trust, distance, distance, evidence)


def ranking(k: int, *items: Ranked, mode: str = "rerank") -> Ranking:
    kept, dropped, baseline = rank(items, mode=mode)
    return Ranking(
        query="add",
        k=k,
        mode=mode,
        order="score",
        store=".codeguard",
        sandbox_level="L3",
        results=distinct(kept, k),
        baseline_results=at_most_per_file(baseline, k),
        ranking=kept,
        baseline=baseline,
        dropped=dropped,
    )
