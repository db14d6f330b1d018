"""codeguard: in each mode, with each signal alone, and with each left out, over one index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, Settings
from codeguard.index.embedding import Embedding
from codeguard.index.store import row_of
from codeguard.models import Trust
from codeguard.ranking.reranking import Ranked, Ranking
from codeguard.ranking.signals import load_all
from experiments.benchmark.corpora import TRUSTED
from experiments.benchmark.systems import base
from experiments.workbench import SEED

UNDEFENDED = "codeguard, retrieval alone"


class Guard:
    """The index of codeguard, and its store; it takes the shared vectors, which would be the same."""

    name = "codeguard"

    def __init__(self, folder: Path, corpus: Path, embedding: Embedding) -> None:
        settings = Settings(
            store=str(folder / "store"),
            root=str(corpus),
            fixed_seed=SEED,
            embedding="lexical" if embedding.identity.startswith("lexical") else "auto",
        )
        self._corpus, self._embedding = corpus, embedding
        self._guard = CodeGuard.open(settings=settings, trust=[corpus / TRUSTED])

    def index(self, change: base.Change) -> None:
        """Bring the index up to date with what is on disk."""
        self._guard.workspace.embedding = self._embedding
        self._guard.index([self._corpus])

    def ask(self, questions: Sequence[str], k: int, config: DefenseConfig | None) -> list[Ranking]:
        """Return a ranking for each question, undefended without a configuration."""
        self._guard.workspace.embedding = self._embedding
        return self._guard.query_many(questions, k, config=config, defense=config is not None)

    def tamper(self, tampering: base.Tampering) -> Callable[[], None] | None:
        """Rewrite the vector of an entry, as whoever may write to the store can; its text is the catalog's."""
        vectors = self._guard.workspace.vectors
        found = self._guard.catalog.chunks_of(tampering.path)
        rows = [row_of(id_, chunk) for id_, chunk in found.items() if chunk.symbol == tampering.symbol][:1]
        if not rows:
            return None
        (vector,) = vectors.embeddings([rows[0].id]).values()
        vectors.add(rows, tampering.vector.reshape(1, -1))

        def undo() -> None:
            vectors.add(rows, vector.reshape(1, -1))

        return undo

    def close(self) -> None:
        """Close the store."""
        self._guard.close()


class Guarded:
    """codeguard under one configuration; None is its own retrieval, to which trusted files are like all others."""

    def __init__(self, name: str, guard: Guard, config: DefenseConfig | None, *, main: bool) -> None:
        self.name, self.main, self.undefended = name, main, UNDEFENDED
        self.parts: tuple[base.Part, ...] = (guard,)
        self._guard, self._config = guard, config

    def ask(self, questions: Sequence[str], k: int) -> list[base.Answer]:
        """Return the rankings as answers."""
        return [self._answer(ranking) for ranking in self._guard.ask(questions, k, self._config)]

    def _answer(self, ranking: Ranking) -> base.Answer:
        results = ranking.results if self._config is not None else ranking.baseline_results
        candidates = (*ranking.ranking, *ranking.dropped)
        return base.Answer(tuple(map(hit_of, results)), tuple(map(hit_of, candidates)))


def hit_of(item: Ranked) -> base.Hit:
    """Return a ranked candidate as a hit."""
    chunk = item.chunk
    parts = sorted((part for part in item.evidence if part.penalty > 0), key=lambda part: -part.penalty)
    reasons = tuple(f"{part.signal}.{part.id} {part.penalty:+.1f}" for part in parts[:4])
    if item.verdict:
        reasons = (f"verdict {item.verdict}", *reasons)
    return base.Hit(
        chunk.path, chunk.symbol, chunk.start_line, chunk.end_line, chunk.text, decision_of(item), reasons
    )


def decision_of(item: Ranked) -> base.Decision:
    """Return what was decided about a candidate."""
    if item.trust is Trust.TRUSTED:
        return base.Decision.NONE
    if item.convicted:
        return base.Decision.CONVICTED
    return base.Decision.DEMOTED if item.demoted else base.Decision.NONE


def systems(around: base.Surroundings, *, ablations: bool = True) -> Sequence[base.System]:
    """Return codeguard's modes and, for the first seed, each signal alone and left out."""
    guard = Guard(around.folder, around.corpus, around.embedding)
    default = DefenseConfig()
    names = [signal.name for signal in load_all()]
    found = [
        Guarded("codeguard", guard, default, main=True),
        Guarded("codeguard, drop", guard, replace(default, mode="drop"), main=True),
        Guarded("codeguard, order penalty", guard, replace(default, order="penalty"), main=True),
        Guarded(UNDEFENDED, guard, None, main=True),
        Guarded("codeguard, provenance only", guard, _only(default, ["provenance"], names), main=True),
    ]
    if ablations:
        found += [
            Guarded(f"only {name}", guard, _only(default, [name], names), main=False)
            for name in names
            if name != "provenance"
        ]
        found += [
            Guarded(f"without {name}", guard, replace(default, disabled_signals=(name,)), main=False)
            for name in names
        ]
    return found


def _only(config: DefenseConfig, kept: Sequence[str], names: Sequence[str]) -> DefenseConfig:
    return replace(config, disabled_signals=tuple(name for name in names if name not in kept))
