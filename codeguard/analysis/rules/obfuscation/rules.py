"""The rules of the obfuscation signal, each with a bad and a good example."""

from __future__ import annotations

from codeguard.analysis.rules.base import Rule, rules_of

_RULES = rules_of(__file__)


RULES: tuple[Rule, ...] = (
    _RULES["runs-built-text"],
    _RULES["hidden-call"],
    _RULES["hidden-text"],
    _RULES["encoded-blob"],
    _RULES["escaped-text"],
    _RULES["far-right"],
    _RULES["identifier-soup"],
    _RULES["nested-lambdas"],
)
