"""codeguard: a sandboxed defense for code retrieval.

The names below are the public interface; everything else may change. They
are imported when they are first used, so that `import codeguard` costs
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeguard.lazy_imports import attributes
from codeguard.version import __version__

if TYPE_CHECKING:
    from codeguard.api import CodeGuard
    from codeguard.behavior import BehaviorChecker
    from codeguard.config import DefenseConfig
    from codeguard.errors import CodeguardError
    from codeguard.ranking.defense import Candidate, DefenseManager, DefenseOutcome
    from codeguard.ranking.evaluation import DefenseEvaluator
    from codeguard.ranking.reranking import Ranking

__all__ = [
    "BehaviorChecker",
    "Candidate",
    "CodeGuard",
    "CodeguardError",
    "DefenseConfig",
    "DefenseEvaluator",
    "DefenseManager",
    "DefenseOutcome",
    "Ranking",
    "__version__",
]

_HOMES = {
    "BehaviorChecker": "codeguard.behavior",
    "Candidate": "codeguard.ranking.defense",
    "CodeGuard": "codeguard.api",
    "CodeguardError": "codeguard.errors",
    "DefenseConfig": "codeguard.config",
    "DefenseEvaluator": "codeguard.ranking.evaluation",
    "DefenseManager": "codeguard.ranking.defense",
    "DefenseOutcome": "codeguard.ranking.defense",
    "Ranking": "codeguard.ranking.reranking",
}

__getattr__ = attributes(__name__, _HOMES)
