"""The facade: open a guard, index paths, ask it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from codeguard.audit import AuditOptions, audit
from codeguard.catalog import Catalog
from codeguard.config import DefenseConfig, Settings, load_settings
from codeguard.errors import ConfigError
from codeguard.findings import AuditReport
from codeguard.index_report import IndexReport
from codeguard.indexing import Indexer, Progress
from codeguard.rerank import Ranking
from codeguard.search import Searcher
from codeguard.workspace import Workspace

LONGEST_QUERY = 10_000


class CodeGuard:
    """A guarded index of code. Use as a context manager or call `close`.

    Several processes may hold the same index open, one of them indexing.
    """

    def __init__(self, workspace: Workspace, trust: Sequence[str] = ()) -> None:
        self._workspace = workspace
        self._searcher = Searcher(workspace)
        self._trust = tuple(trust)

    @classmethod
    def open(
        cls,
        store: str | Path | None = None,
        trust: Sequence[str | Path] = (),
        *,
        config: Path | None = None,
        settings: Settings | None = None,
        create: bool = True,
    ) -> CodeGuard:
        """Open the guard of a store: a folder, or the URL of a Chroma server.

        Args:
            store: ".codeguard" by default.
            trust: paths that are the team's own, for `index`.
            config: a configuration file instead of the user's.
            settings: complete settings instead of a configuration file.
            create: make the store where there is none; False makes that an error.

        Raises:
            ConfigError, StoreError: see there.
        """
        chosen = settings if settings is not None else load_settings(config)
        chosen = chosen.replace(store=None if store is None else str(store))
        paths = tuple(str(path) for path in trust) or chosen.defense.trust_paths
        return cls(Workspace(chosen, create=create), paths)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._workspace.settings

    @property
    def catalog(self) -> Catalog:
        """What is indexed."""
        return self._workspace.catalog

    @property
    def workspace(self) -> Workspace:
        """The parts beneath; no stable interface."""
        return self._workspace

    def index(
        self,
        paths: Sequence[str | Path],
        *,
        quarantine: bool = False,
        progress: Progress = lambda stage, done, total: None,
    ) -> IndexReport:
        """Bring the index up to date with these paths and the trusted ones; see `Indexer.run`."""
        indexer = Indexer(self._workspace, progress)
        return indexer.run(
            [Path(path) for path in paths], [Path(path) for path in self._trust], quarantine=quarantine
        )

    def audit(self, paths: Sequence[str | Path], options: AuditOptions | None = None) -> AuditReport:
        """Audit files against what this index trusts (or what the options name); see `codeguard.audit.audit`."""
        chosen = options or AuditOptions()
        if not chosen.trust and chosen.base is None and self._trust:
            chosen = replace(chosen, trust=tuple(Path(path) for path in self._trust))
        return audit([Path(path) for path in paths], chosen, self.settings)

    def query(
        self,
        text: str,
        k: int = 5,
        *,
        mode: str | None = None,
        order: str | None = None,
        defense: bool = True,
        config: DefenseConfig | None = None,
    ) -> Ranking:
        """Return the ranking for a query.

        Args:
            text: what is looked for, natural language or code.
            k: how many results, one a file; 1 or more.
            mode: "rerank" or "drop", the configuration's by default.
            order: "score" or "penalty", the configuration's by default.
            defense: False ranks by retrieval alone, for comparison.
            config: another defense configuration for this query alone.

        Raises:
            ConfigError: an argument out of its range.
            StoreError, EmbeddingError: the index cannot be read.
        """
        return self.query_many([text], k, mode=mode, order=order, defense=defense, config=config)[0]

    def query_many(
        self,
        texts: Sequence[str],
        k: int = 5,
        *,
        mode: str | None = None,
        order: str | None = None,
        defense: bool = True,
        config: DefenseConfig | None = None,
    ) -> list[Ranking]:
        """Return a ranking for each query; the queries are embedded together. Arguments as in `query`."""
        if k < 1:
            raise ConfigError("k", got=k, expected="1 or more")
        for text in texts:
            if not text.strip() or len(text) > LONGEST_QUERY:
                got = "an empty text" if not text.strip() else f"{len(text)} characters"
                raise ConfigError("query", got=got, expected=f"1 to {LONGEST_QUERY} characters")
        if not texts:
            return []
        chosen = config or self.settings.defense
        chosen = replace(chosen, mode=mode or chosen.mode, order=order or chosen.order)
        self._workspace.refresh()
        Indexer(self._workspace).repair_if_alone()
        return self._searcher.rank_all(texts, chosen, k, defense=defense)

    def close(self) -> None:
        """Stop the sandbox and let go of the store."""
        self._searcher.close()
        self._workspace.close()

    def __enter__(self) -> CodeGuard:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
