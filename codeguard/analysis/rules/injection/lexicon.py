"""Words by their function in an instruction to a model, in two dozen languages; see `lexicon.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

CONCEPTS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""Concept to its words, separated by whitespace."""
