"""What a defense needs where there is no index: trust, models and checks made from the trusted paths themselves."""

from __future__ import annotations

import contextlib
import weakref
from pathlib import Path

from codeguard.config import DefenseConfig, Settings, below_level
from codeguard.index.behavior_reports import BehaviorReports, ListedFiles, Siblings, ensure_level
from codeguard.index.report import SandboxBudget
from codeguard.index.trusted_base import TrustedBase, of_paths
from codeguard.index.without_index import opened_workspace
from codeguard.index.workspace import Workspace
from codeguard.models import CheckReport, Chunk, SourceFile
from codeguard.ranking.signals.base import Check, SignalServices
from codeguard.trust.acceptances import load_acceptances


class BehaviorService:
    """The behavior service of a manager that outlives a query: each query brings its own budget."""

    reports: BehaviorReports

    def __call__(self, chunk: Chunk, file: SourceFile) -> CheckReport:
        """Return the report of one function."""
        return self.reports(chunk, file)


def services_of(workspace: Workspace, config: DefenseConfig, behavior: Check) -> SignalServices:
    """Return what signals may use of an index."""
    return SignalServices(
        behavior=behavior,
        perplexity=workspace.perplexity,
        static=workspace.static_evidence(config),
        acceptances=load_acceptances(workspace.state),
    )


class Alone:
    """The services of a defense without an index.

    Args:
        config: `trust_paths`, relative to the working directory, are read now, and what they hold is trusted as it
            is; one with a signed manifest as far as that verifies.

    Raises:
        ConfigError, CorpusError, ManifestError: a path cannot be trusted; see `of_paths`.
    """

    def __init__(self, config: DefenseConfig) -> None:
        settings = Settings(defense=config)
        root = Path.cwd()
        paths = [Path(path) for path in config.trust_paths]
        base = of_paths(paths, settings, root) if paths else TrustedBase(root)
        files = base.files()
        self._config = config
        self._stack = contextlib.ExitStack()
        self.close = weakref.finalize(self, self._stack.close)
        self._workspace = self._stack.enter_context(opened_workspace(settings, base))
        self._siblings = Siblings(ListedFiles(files, base.covers))
        self._behavior = BehaviorService()
        self.warnings = base.warnings
        self.manifest = base.manifest
        self.texts = {file.path: file.text for file in files}
        # Why a signal that is switched on says nothing.
        self.missing: dict[str, str] = {}
        checks = below_level(ensure_level(self._workspace.catalog), config.required_level)
        if checks:
            self.missing["behavior"] = checks
        perplexity = None
        known = [file.text for file in files if file.text.strip()]
        if not known:
            self.missing["perplexity"] = "there is no trusted code to learn from"
        elif config.enable_perplexity:
            from codeguard.analysis.perplexity import PerplexityModel  # brings numpy

            perplexity = PerplexityModel.train(known)
        self.services = SignalServices(
            behavior=None if checks else self._behavior,
            perplexity=perplexity,
            static=self._workspace.static_evidence(config),
        )

    @property
    def level(self) -> str:
        """The sandbox level of the checks."""
        return self._workspace.level

    def renew(self, coming: int) -> None:
        """Give the checks of the next `coming` texts a budget of their own."""
        workspace = self._workspace
        budget = SandboxBudget.of(self._config)
        budget.coming = coming
        self._behavior.reports = BehaviorReports(
            workspace.checks, workspace.epoch, workspace.catalog, budget=budget, siblings=self._siblings
        )
