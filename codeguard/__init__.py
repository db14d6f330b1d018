"""codeguard: a sandboxed defense for code retrieval.

The names below are the public interface; everything else may change. They
are imported when they are first used, so that `import codeguard` costs
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codeguard.lazily import attributes
from codeguard.version import __version__

if TYPE_CHECKING:
    from codeguard.behavior import BehaviorChecker
    from codeguard.config import DefenseConfig
    from codeguard.defense import Candidate, DefenseManager, DefenseOutcome
    from codeguard.errors import CodeguardError
    from codeguard.evaluation import DefenseEvaluator
    from codeguard.guard import CodeGuard
    from codeguard.rerank import Ranking

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
    "Candidate": "codeguard.defense",
    "CodeGuard": "codeguard.guard",
    "CodeguardError": "codeguard.errors",
    "DefenseConfig": "codeguard.config",
    "DefenseEvaluator": "codeguard.evaluation",
    "DefenseManager": "codeguard.defense",
    "DefenseOutcome": "codeguard.defense",
    "Ranking": "codeguard.rerank",
}

__getattr__ = attributes(__name__, _HOMES)
