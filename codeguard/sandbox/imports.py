"""Guesses from a job's text which zygote serves it: the lean one, or the one with every module."""

from __future__ import annotations

import re

from codeguard.sandbox.inside.allowed import CORE
from codeguard.sandbox.model import Job

_IMPORT = re.compile(r"\bfrom\s+([\w.]+)\s+import\b|\bimport\s+([\w.]+(?:\s*,\s*[\w.]+)*)")
_DYNAMIC = re.compile(
    r"__import__|importlib|import_module|\bexec\b|\beval\b|\bsys\b|\bos\b|__builtins__|__subclasses__"
)
_CORE = frozenset(CORE)


def wide(job: Job) -> bool:
    """Whether the job may import more than the core; a wrong yes costs time, a wrong no an ImportError."""
    texts = {job.source, *(call.setup for call in job.calls), *(call.target for call in job.calls)}
    return any(map(_text_is_wide, texts))


def _text_is_wide(text: str) -> bool:
    if _DYNAMIC.search(text):
        return True
    for source, names in _IMPORT.findall(text):
        if any(name.strip() not in _CORE for name in (source or names).split(",")):
            return True
    return False
