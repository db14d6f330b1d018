"""A temporary corpus with its index, into which poison is put and out of which it is taken again."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, Settings
from codeguard.index.report import IndexReport
from codeguard.ranking.reranking import Ranking

DATA = Path(__file__).resolve().parent.parent / "data"
TRUSTED = "sample_code"
UNKNOWN = "unknown_source"
POISON = "poisoned"
SEED = b"experiment seed, known to anyone"


class Workbench:
    """Copies of corpora in a temporary folder and a store beside them. Use as a context manager.

    `folders` name what is copied in from the start; `trusted` those of them
    that are the team's own. The seed is fixed, so that a run can be repeated.
    With `root` corpus and store stay there for the next workbench.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        trusted: Sequence[str],
        *,
        embedding: str = "auto",
        root: Path | None = None,
    ) -> None:
        self._temporary = None if root else tempfile.TemporaryDirectory(prefix="experiment-")
        self.root = root.resolve() if root else Path(self._temporary.name if self._temporary else "")
        self.corpus = self.root / "corpus"
        self.corpus.mkdir(parents=True, exist_ok=True)
        for folder in folders:
            self.put(folder)
        settings = Settings(
            store=str(self.root / "store"),
            root=str(self.corpus),
            embedding=embedding,
            fixed_seed=SEED,
        )
        self._guard = CodeGuard.open(settings=settings, trust=[self.corpus / name for name in trusted])

    def put(self, folder: Path, name: str | None = None) -> None:
        """Copy a folder into the corpus, in the place of one of that name."""
        self.take(name or folder.name)
        shutil.copytree(folder, self.corpus / (name or folder.name), ignore=shutil.ignore_patterns("*.md"))

    def take(self, name: str) -> None:
        """Take a folder out of the corpus again."""
        if (self.corpus / name).exists():
            shutil.rmtree(self.corpus / name)

    def index(self) -> IndexReport:
        """Bring the index up to date with the corpus."""
        return self._guard.index([self.corpus])

    def ask(
        self, queries: Sequence[str], k: int, config: DefenseConfig | None = None, *, defense: bool = True
    ) -> list[Ranking]:
        """Return a ranking for each query."""
        return self._guard.query_many(queries, k, config=config, defense=defense)

    def similar(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return a ranking for each query by the vectors alone, as Chroma gives it: no words, no defense."""
        workspace = self._guard.workspace
        usual = workspace.settings
        workspace.settings = replace(usual, lexical_weight=0.0)
        try:
            return self._guard.query_many(queries, k, defense=False)
        finally:
            workspace.settings = usual

    @property
    def embedding(self) -> str:
        """Identity of the embedding in use."""
        return self._guard.workspace.embedding.identity

    def close(self) -> None:
        """Close the store, and delete everything that is temporary."""
        self._guard.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
