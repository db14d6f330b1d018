"""A worker's description of itself: where it is, what its results depend on, and its sandbox level."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from codeguard.sandbox import Level, Sandbox

PACKAGES = ("RestrictedPython", "numpy", "onnxruntime", "openvino", "tokenizers", "tree-sitter")


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """One worker. `make` must be the same on every worker, because results depend on it."""

    address: str
    level: Level
    python: str
    make: Mapping[str, str]

    @property
    def codeguard(self) -> str:
        """Its version of codeguard."""
        return self.make.get("codeguard", "")

    def to_json(self) -> dict[str, Any]:
        """Return what `doctor` shows, as plain values."""
        return {
            "address": self.address,
            "sandbox_level": self.level.name,
            "python": self.python,
            "codeguard": self.codeguard,
        }


def facts_task(payload: bytes) -> bytes:
    """Describe this process; the payload is ignored."""
    del payload
    facts = {"level": own_level().name, "python": platform.python_version(), "make": dict(own_make())}
    return json.dumps(facts).encode("ascii")


def facts_of(address: str, answer: bytes) -> WorkerFacts:
    """Parse an answer of `facts_task`; raise ValueError, KeyError or TypeError if malformed."""
    value = json.loads(answer)
    make = {str(key): str(given) for key, given in dict(value["make"]).items()}
    return WorkerFacts(address, Level[value["level"]], str(value["python"]), make)


def first_difference(ours: Mapping[str, str], theirs: Mapping[str, str]) -> tuple[str, str, str] | None:
    """Return the first difference between two makes: its name, their value, our value."""
    for name in sorted(ours.keys() | theirs.keys()):
        got, expected = theirs.get(name, "none"), ours.get(name, "none")
        if got != expected:
            return name, got, expected
    return None


_measured: dict[str, Level] = {}


def own_level() -> Level:
    """Return the level that the sandbox reaches in this process.

    The highest one is measured once: every check looks again at the level of what runs it. A lower one may have
    been raised since.
    """
    if "level" not in _measured:
        with Sandbox(Level.L0) as sandbox:
            level = sandbox.level
        if level < max(Level):
            return level
        _measured["level"] = level
    return _measured["level"]


@functools.cache
def own_make() -> Mapping[str, str]:
    """Return what results depend on: codeguard's code, Python, and the parsing and numerical libraries."""
    from codeguard.corpus.chunking import languages  # `doctor` without a cluster needs no grammars

    names = sorted({*PACKAGES, *(language.wheel for language in languages())})
    return {
        "codeguard": _version("codeguard"),
        "codeguard's code": _code_digest()[:16],
        "Python": ".".join(platform.python_version_tuple()[:2]),
        **{name: _version(name) for name in names},
    }


def _code_digest() -> str:
    home = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(home.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            data = path.read_bytes()
            digest.update(f"{path.relative_to(home).as_posix()}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"
