"""Guess from a job's text which zygote should serve it: the lean one, the wide one, or that with numpy."""

from __future__ import annotations

import re
from enum import IntEnum

from codeguard.sandbox.inside.allowed import CORE, NUMERIC
from codeguard.sandbox.model import Job

_IMPORT = re.compile(r"\bfrom\s+([\w.]+)\s+import\b|\bimport\s+([\w.]+(?:\s*,\s*[\w.]+)*)")
_DYNAMIC = ("__import__", "importlib", "import_module", "__builtins__", "__subclasses__")
# Letters first and the boundary before them last: a pattern that opens with a boundary is tried at every character,
# which took seconds for megabytes of source.
_MODULES = tuple(re.compile(rf"{word}\b(?<!\w{word})") for word in ("exec", "eval", "sys", "os"))
_CORE = frozenset(CORE)
_NUMERIC = re.compile(rf"\b(?:import|from)[ \t]{{1,9}}{NUMERIC[0]}\b")
# The lean one has no other encodings than every interpreter.
_ENCODED = re.compile(r"code\(\s*(?:encoding\s*=\s*)?['\"](?!utf-?8|ascii|latin)", re.IGNORECASE)


class LoadedModules(IntEnum):
    """What a zygote has loaded, each with what is in the one before."""

    CORE = 0
    ALL = 1
    NUMERIC = 2


def needed(job: Job) -> LoadedModules:
    """Return the modules the job may import; too many cost time, too few an ImportError."""
    if job.importing is not None:
        modules = job.importing.modules.values()
        numeric = any(_NUMERIC.search(item.source) for item in modules if item.is_expected)
        return LoadedModules.NUMERIC if numeric else LoadedModules.ALL
    texts = {job.source, *(call.setup for call in job.calls), *(call.target for call in job.calls)}
    text = "\n;\n".join(texts)
    names = {
        name.strip()
        for source, listed in (_IMPORT.findall(text) if "import" in text else ())
        for name in (source or listed).split(",")
    }
    if any(name.partition(".")[0] == NUMERIC[0] for name in names):
        return LoadedModules.NUMERIC
    if any(word in text for word in _DYNAMIC) or any(pattern.search(text) for pattern in _MODULES):
        return LoadedModules.ALL
    return LoadedModules.ALL if _ENCODED.search(text) or not names <= _CORE else LoadedModules.CORE
