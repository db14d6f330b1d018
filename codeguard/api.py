"""The facade: open a guard, index paths, run queries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codeguard.config import CATALOG, DefenseConfig, Settings, load_settings
from codeguard.errors import ConfigError, NoIndexError
from codeguard.index.catalog import Catalog
from codeguard.index.report import IndexReport, Progress
from codeguard.index.workspace import Workspace
from codeguard.ranking.reranking import Ranking, merged
from codeguard.ranking.search import Searcher

# Indexing and auditing code is imported on first use, because a query needs neither.
if TYPE_CHECKING:
    from codeguard.audit.findings import AuditReport
    from codeguard.audit.run import AuditOptions

LONGEST_QUERY = 10_000


class CodeGuard:
    """A guarded index of code. Use it as a context manager, or call `close`.

    Several processes may hold the same index open, one of them indexing.
    """

    def __init__(
        self,
        settings: Settings,
        trust: Sequence[str] = (),
        untrust: Sequence[str] = (),
        *,
        create: bool = True,
        renew: bool = False,
    ) -> None:
        self._settings = settings
        self._create, self._renew = create, renew
        self._opened: tuple[Workspace, Searcher] | None = None
        self._trust, self._untrust = tuple(trust), tuple(untrust)
        if not create:
            self._parts()

    @classmethod
    def open(
        cls,
        store: str | Path | None = None,
        trust: Sequence[str | Path] = (),
        *,
        untrust: Sequence[str | Path] = (),
        config: Path | None = None,
        settings: Settings | None = None,
        create: bool = True,
        renew: bool = False,
    ) -> CodeGuard:
        """Open the guard of a store: a folder, or the URL of a Chroma server.

        With `create`, the store is opened on first use.

        Args:
            store: ".codeguard" by default.
            trust: paths that are the team's own, for `index`; the index remembers them.
            untrust: paths that are no longer trusted, for `index`.
            config: a configuration file instead of the user's.
            settings: complete settings instead of a configuration file.
            create: create the store if there is none; if False, a missing store is an error.
            renew: move a state directory that this installation did not create aside, and start a new one.

        Raises:
            ConfigError, StoreError: see there.
        """
        chosen = settings if settings is not None else load_settings(config)
        chosen = chosen.replace(store=None if store is None else str(store))
        paths = tuple(str(path) for path in trust) or chosen.defense.trust_paths
        taken = tuple(str(path) for path in untrust) or chosen.defense.untrust
        return cls(chosen, paths, taken, create=create, renew=renew)

    def _parts(self) -> tuple[Workspace, Searcher]:
        if self._opened is None:
            workspace = Workspace(self._settings, create=self._create, renew=self._renew)
            self._opened = workspace, Searcher(workspace)
        return self._opened

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._settings

    @property
    def catalog(self) -> Catalog:
        """What is indexed."""
        return self.workspace.catalog

    @property
    def folder(self) -> str:
        """The folder that the names of files are relative to, from the working directory; "" if it is that."""
        root = Path(self.catalog.meta("root") or ".").absolute()
        return "" if root == Path.cwd() else Path(os.path.relpath(root)).as_posix()

    @property
    def workspace(self) -> Workspace:
        """The underlying parts; not a stable interface."""
        return self._parts()[0]

    def index(
        self,
        paths: Sequence[str | Path] = (),
        *,
        rebuild: bool = False,
        exclude: Sequence[str] = (),
        progress: Progress = lambda stage, done, total: None,
    ) -> IndexReport:
        """Bring the index up to date with these paths and the trusted ones; see `Indexer.run`.

        `exclude` are .gitignore patterns of files to leave out, in this run and later ones; `!GLOB` takes one back.
        With `rebuild` it is rebuilt from the files, including those of earlier runs; see
        `codeguard.index.maintenance.rebuild`.
        """
        from codeguard.index.pipeline import Indexer, found_first

        chosen, trust, untrust = (
            [Path(path) for path in part] for part in (paths, self._trust, self._untrust)
        )
        exists = (self._settings.state / CATALOG).exists()
        if rebuild:
            from codeguard.index.maintenance import rebuild as make_new

            self.close()
            return make_new(
                self._settings,
                chosen,
                trust,
                untrust=untrust,
                exclude=exclude,
                progress=progress,
            )
        discovery = None if exists else found_first(chosen, trust, self._settings, exclude)
        return Indexer(self.workspace, progress).run(
            chosen, trust, untrust=untrust, exclude=exclude, discovery=discovery
        )

    def audit(self, paths: Sequence[str | Path], options: AuditOptions | None = None) -> AuditReport:
        """Audit files against what this index trusts (or what the options name); see `codeguard.audit.run.audit`."""
        from codeguard.audit.run import AuditOptions, audit

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
            text: the query, in natural language or code.
            k: the number of results, different texts of different files; 1 or more.
            mode: "rerank" or "drop"; the configuration's by default.
            order: "score" or "penalty"; the configuration's by default.
            defense: False ranks by retrieval alone, for comparison.
            config: another defense configuration, for this query only.

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
        for text in texts:
            if not text.strip() or len(text) > LONGEST_QUERY:
                got = "an empty text" if not text.strip() else f"{len(text)} characters"
                raise ConfigError("query", got=got, expected=f"1 to {LONGEST_QUERY} characters")
        chosen = config or self.settings.defense
        chosen = replace(chosen, mode=mode or chosen.mode, order=order or chosen.order)
        if k < 1:
            raise ConfigError("k", got=k, expected="1 or more")
        if not texts:
            return []
        if self._opened is None and not (self._settings.state / CATALOG).exists():
            raise NoIndexError(f"no index in {self._settings.state}", hint="call index first")
        workspace, searcher = self._parts()
        workspace.refresh()
        under_way = workspace.under_way()
        if not under_way and workspace.catalog.intents(1):  # of an indexing run that was interrupted
            from codeguard.index.pipeline import Indexer

            Indexer(workspace).repair_if_alone()
        return searcher.rank_all(texts, chosen, k, defense=defense, under_way=under_way)

    def close(self) -> None:
        """Stop the sandbox and release the store."""
        if self._opened is not None:
            (workspace, _), self._opened = self._opened, None
            workspace.close()

    def __enter__(self) -> CodeGuard:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def query_together(
    guards: Sequence[CodeGuard], texts: Sequence[str], k: int = 5, **how: Any
) -> list[Ranking]:
    """Return one ranking for each query over several open guards; arguments as in `CodeGuard.query_many`.

    Names of files are then relative to the working directory.

    Raises:
        ConfigError: the indexes were made with different embeddings, whose distances cannot be compared.
    """
    if len(guards) == 1:
        return guards[0].query_many(texts, k, **how)
    made = {str(guard.catalog.meta("embedding")): guard.settings.store for guard in guards}
    if len(made) > 1:
        got = ", ".join(f"{name} in {store}" for name, store in made.items())
        raise ConfigError("indexes that cannot answer together", got=got, expected="one embedding")
    answers = [guard.query_many(texts, k, **how) for guard in guards]
    folders = [guard.folder for guard in guards]
    limit = guards[0].settings.defense.drop_threshold
    return [merged(list(zip(folders, each, strict=True)), limit) for each in zip(*answers, strict=True)]
