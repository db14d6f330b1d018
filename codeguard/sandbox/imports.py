"""Guesses from a job's text which zygote serves it: the lean one, or the one with every module."""

from __future__ import annotations

import re

from codeguard.sandbox.inside.allowed import CORE
from codeguard.sandbox.model import Job

_IMPORT = re.compile(r"\bfrom\s+([\w.]+)\s+import\b|\bimport\s+([\w.]+(?:\s*,\s*[\w.]+)*)")
_DYNAMIC = ("__import__", "importlib", "import_module", "__builtins__", "__subclasses__")
# Letters first and the boundary before them last: a pattern that opens with a boundary is tried at every character,
# which took seconds for megabytes of source.
_MODULES = tuple(re.compile(rf"{word}\b(?<!\w{word})") for word in ("exec", "eval", "sys", "os"))
_CORE = frozenset(CORE)
# The lean one has no other encodings than every interpreter.
_ENCODED = re.compile(r"code\(\s*(?:encoding\s*=\s*)?['\"](?!utf-?8|ascii|latin)", re.IGNORECASE)


def wide(job: Job) -> bool:
    """Whether the job may import more than the core; a wrong yes costs time, a wrong no an ImportError."""
    texts = {job.source, *(call.setup for call in job.calls), *(call.target for call in job.calls)}
    return _text_is_wide("\n;\n".join(texts))


def _text_is_wide(text: str) -> bool:
    if any(word in text for word in _DYNAMIC) or any(pattern.search(text) for pattern in _MODULES):
        return True
    if _ENCODED.search(text):
        return True
    if "import" not in text:
        return False
    for source, names in _IMPORT.findall(text):
        if any(name.strip() not in _CORE for name in (source or names).split(",")):
            return True
    return False
