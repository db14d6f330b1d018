"""The rules about characters that make source look different from what is executed."""

from __future__ import annotations

from codeguard.analysis.rules.base import rules_of

_RULES = rules_of(__file__)

BIDI = _RULES["bidi"]
OVERRIDE = _RULES["bidi-override"]
INVISIBLE = _RULES["invisible"]
HIDDEN = _RULES["hidden-data"]
LOOKALIKE_NAME = _RULES["lookalike-name"]
COLLIDING = _RULES["colliding-name"]
STYLED = _RULES["styled-name"]
PUNCTUATION = _RULES["lookalike-punctuation"]
OVERPRINT = _RULES["overprint"]
SEPARATOR = _RULES["line-separator"]

RULES = tuple(_RULES.values())
