"""A temporary corpus with its index, into which poison is put and out of which it is taken again."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from codeguard.config import DefenseConfig, Settings
from codeguard.guard import CodeGuard
from codeguard.index_report import IndexReport
from codeguard.rerank import Ranking

DATA = Path(__file__).resolve().parent.parent / "data"
TRUSTED = "sample_code"
UNKNOWN = "unknown_source"
POISON = "poisoned"
SEED = b"experiment seed, known to anyone"


class Workbench:
    """Copies of corpora in a temporary folder and a store beside them. Use as a context manager.

    `folders` name what is copied in from the start; `trusted` those of them
    that are the team's own. The seed is fixed, so that a run can be repeated.
    """

    def __init__(self, folders: Sequence[Path], trusted: Sequence[str], *, embedding: str = "auto") -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="experiment-")
        self.root = Path(self._temporary.name)
        self.corpus = self.root / "corpus"
        self.corpus.mkdir()
        for folder in folders:
            self.put(folder)
        settings = Settings(
            store=str(self.root / "store"),
            root=str(self.corpus),
            embedding=embedding,
            fixed_seed=SEED,
            share=False,
        )
        self._guard = CodeGuard.open(settings=settings, trust=[self.corpus / name for name in trusted])

    def put(self, folder: Path, name: str | None = None) -> None:
        """Copy a folder into the corpus."""
        shutil.copytree(folder, self.corpus / (name or folder.name), ignore=shutil.ignore_patterns("*.md"))

    def take(self, name: str) -> None:
        """Take a folder out of the corpus again."""
        shutil.rmtree(self.corpus / name)

    def index(self) -> IndexReport:
        """Bring the index up to date with the corpus."""
        return self._guard.index([self.corpus])

    def ask(
        self, queries: Sequence[str], k: int, config: DefenseConfig | None = None, *, defense: bool = True
    ) -> list[Ranking]:
        """Return a ranking for each query."""
        return self._guard.query_many(queries, k, config=config, defense=defense)

    @property
    def embedding(self) -> str:
        """Identity of the embedding in use."""
        return self._guard.workspace.embedding.identity

    def close(self) -> None:
        """Close the store and delete everything."""
        self._guard.close()
        self._temporary.cleanup()

    def __enter__(self) -> Workbench:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
