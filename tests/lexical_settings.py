"""Settings of a small index that starts no server and no model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from codeguard.config import Settings


def lexical_settings(root: Path, store: Path | str, /, **more: Any) -> Settings:
    """Return settings for the files of a folder, with the vectors of words and a fixed seed."""
    made = Settings(store=str(store), root=str(root), embedding="lexical", fixed_seed=b"x" * 32, jobs=1)
    return replace(made, **more)
