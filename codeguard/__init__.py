"""codeguard: a sandboxed defense for code retrieval.

The names below are the public interface; everything else may change. They
are imported when they are first used, so that `import codeguard` costs
nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from codeguard.errors import MissingExtraError
from codeguard.extras import missing_extra

if TYPE_CHECKING:
    from codeguard.api import CodeGuard as CodeGuard
    from codeguard.behavior.verdict.checker import BehaviorChecker as BehaviorChecker
    from codeguard.config import DefenseConfig as DefenseConfig
    from codeguard.errors import CodeguardError as CodeguardError
    from codeguard.ranking.defense import Candidate as Candidate
    from codeguard.ranking.defense import DefenseManager as DefenseManager
    from codeguard.ranking.defense import DefenseOutcome as DefenseOutcome
    from codeguard.ranking.evaluation import DefenseEvaluator as DefenseEvaluator
    from codeguard.ranking.reranking import Ranking as Ranking

__version__ = "0.1.0"
_HOMES = {
    "BehaviorChecker": "codeguard.behavior.verdict.checker",
    "Candidate": "codeguard.ranking.defense",
    "CodeGuard": "codeguard.api",
    "CodeguardError": "codeguard.errors",
    "DefenseConfig": "codeguard.config",
    "DefenseEvaluator": "codeguard.ranking.evaluation",
    "DefenseManager": "codeguard.ranking.defense",
    "DefenseOutcome": "codeguard.ranking.defense",
    "Ranking": "codeguard.ranking.reranking",
}
__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if (extra := missing_extra(error)) is None:
            raise
        raise MissingExtraError(
            f"codeguard.{name} needs {error.name}, which is not installed", extra
        ) from None
