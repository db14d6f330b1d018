"""Guesses from a job's text which zygote serves it: the lean one, or the one with every module."""

from __future__ import annotations

import re

from codeguard.sandbox.inside.allowed import CORE
from codeguard.sandbox.model import Job

_IMPORT = re.compile(r"\b(?:import|from)\s+([\w.]+(?:\s*,\s*[\w.]+)*)")
_DYNAMIC = re.compile(
    r"__import__|importlib|import_module|\bexec\b|\beval\b|\bsys\b|\bos\b|__builtins__|__subclasses__"
)
_CORE = frozenset(CORE)


def wide(job: Job) -> bool:
    """Whether the job may import more than the core; a wrong yes costs time, a wrong no an ImportError."""
    return any(
        map(
            _text_is_wide,
            (job.source, *(call.setup for call in job.calls), *(call.target for call in job.calls)),
        )
    )


def _text_is_wide(text: str) -> bool:
    if "import" not in text and "_" not in text:
        return False
    if _DYNAMIC.search(text):
        return True
    for names in _IMPORT.findall(text):
        for name in names.split(","):
            if name.strip() not in _CORE:
                return True
    return False
