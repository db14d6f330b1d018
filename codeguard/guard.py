"""The facade: open a guard, index paths, ask it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from codeguard.acceptance import load_acceptances
from codeguard.audit import AuditOptions, audit
from codeguard.catalog import Catalog
from codeguard.config import DefenseConfig, Settings, load_settings
from codeguard.defense import Candidate, DefenseManager, DefenseOutcome
from codeguard.errors import ConfigError
from codeguard.findings import AuditReport
from codeguard.indexing import Indexer, IndexReport, Progress
from codeguard.models import SourceFile, text_digest
from codeguard.rerank import Ranking, one_per_file
from codeguard.store import Hit
from codeguard.workspace import Workspace

LONGEST_QUERY = 10_000


class CodeGuard:
    """A guarded index of code. Use as a context manager or call `close`.

    Several processes may hold the same index open, one of them indexing.
    """

    def __init__(self, workspace: Workspace, trust: Sequence[str] = ()) -> None:
        self._workspace = workspace
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
            defense: False ranks by distance alone, for comparison.
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
        search = _Search(self._workspace, chosen, k, defense)
        vectors = self._workspace.embedding.embed(list(texts))
        return [search.rank(text, vector) for text, vector in zip(texts, vectors, strict=True)]

    def close(self) -> None:
        """Stop the sandbox and let go of the store."""
        self._workspace.close()

    def __enter__(self) -> CodeGuard:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class _Search:
    """One search: fetch, judge, grow the candidate set until it holds k presentable files."""

    def __init__(self, workspace: Workspace, config: DefenseConfig, k: int, defense: bool) -> None:
        self._workspace = workspace
        self._config = config
        self._k = k
        self._defense = defense
        self._files: dict[str, SourceFile | None] = {}
        self._reports = workspace.reports(config.query_budget_s)
        self._manager = self._make_manager()

    def _make_manager(self) -> DefenseManager:
        services: dict[str, Any] = {}
        if self._defense:
            services["behavior"] = self._reports
            services["static"] = self._workspace.static_evidence(self._config)
            services["acceptances"] = load_acceptances(self._workspace.state)
            if self._workspace.perplexity is not None:
                services["perplexity"] = self._workspace.perplexity
        manifest = self._workspace.manifest
        return DefenseManager(
            self._config, manifest=manifest, services=services, signals=None if self._defense else []
        )

    def rank(self, text: str, vector: Any) -> Ranking:
        """Return the ranking of one query."""
        warnings: dict[str, None] = {}
        count = self._config.fetch_multiplier * self._k
        limit = max(count, self._config.max_candidates)
        while True:
            hits = self._workspace.vectors.nearest(vector, count)
            outcome = self._manager.apply(self._candidates(hits, warnings))
            exhausted = len(hits) < count
            if exhausted or self._enough(outcome) or count >= limit:
                break
            count = min(limit, count * 2)
        if not exhausted and not self._enough(outcome):
            warnings[
                f"fewer than {self._k} files remain among the {limit} nearest chunks (max_candidates)"
            ] = None
        return self._ranking(text, outcome, warnings)

    def _enough(self, outcome: DefenseOutcome) -> bool:
        """Say whether k files would be shown even if mode "drop" removed what it removes."""
        threshold = self._config.drop_threshold
        presentable = {i.chunk.path for i in outcome.retained if not i.convicted and i.penalty <= threshold}
        return len(presentable) >= self._k

    def _candidates(self, hits: Sequence[Hit], warnings: dict[str, None]) -> Iterator[Candidate]:
        chunks = self._workspace.catalog.chunks(hit.id for hit in hits)
        strangers = self._strangers([hit.id for hit in hits if hit.id not in chunks])
        if strangers:
            warnings["the vector store holds entries that codeguard did not write: ignored"] = None
        for hit in hits:
            chunk = chunks.get(hit.id)
            if chunk is None:
                continue
            if text_digest(hit.document) != chunk.sha256:
                place = f"{chunk.path}:{chunk.start_line}"
                warnings[f"the vector store's text of {place} was rewritten: the indexed text is used"] = None
            file = self._file(chunk.path)
            if file is not None:
                yield Candidate(hit.id, chunk, file, round(hit.distance, 6))

    def _strangers(self, unknown: Sequence[str]) -> set[str]:
        """Return which ids the catalog never knew; an index that runs beside us may just have deleted some."""
        if not unknown:
            return set()
        going = set(
            self._workspace.catalog.intents().delete
        )  # before the store is asked: deleted, then cleared
        return self._workspace.vectors.documents(unknown).keys() - going

    def _file(self, path: str) -> SourceFile | None:
        if path not in self._files:
            self._files[path] = self._workspace.catalog.file(path)
        return self._files[path]

    def _ranking(self, text: str, outcome: DefenseOutcome, warnings: Mapping[str, None]) -> Ranking:
        lines = list(warnings)
        if self._reports.out_of_budget:
            seconds = self._config.query_budget_s
            lines.append(
                f"{self._reports.out_of_budget} checks not run within {seconds:g} s (query_budget_s)"
            )
        return Ranking(
            query=text,
            k=self._k,
            mode=self._config.mode if self._defense else "none",
            order=self._config.order,
            store=self._workspace.settings.store,
            sandbox_level=self._workspace.catalog.meta("sandbox_level") or "",
            results=one_per_file(outcome.retained, self._k),
            baseline_results=one_per_file(outcome.baseline, self._k),
            ranking=outcome.retained,
            baseline=outcome.baseline,
            dropped=outcome.dropped,
            warnings=(*self._workspace.warnings, *lines),
        )
