"""The optional parts of the distribution: which import belongs to which extra, and how one is installed here."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import PurePath

DISTRIBUTION = "codeguard-rag"

# Top-level import -> the extra that brings it. What the base install brings is not in here.
EXTRA_OF = {
    "chromadb": "index",
    "httpx": "index",
    "numpy": "index",
    "jinja2": "html",
    "uvicorn": "index",
    "tokenizers": "minilm",
    "nltk": "text",
    "sklearn": "text",
    "langchain_core": "langchain",
    "llama_index": "llamaindex",
    "mcp": "mcp",
}


def requirement(extra: str = "") -> str:
    """Return what a package installer is asked for, quoted for a shell."""
    return f"'{DISTRIBUTION}[{extra}]'" if extra else DISTRIBUTION


def installation(*words: str) -> str:
    """Return the command that installs the given requirements beside this interpreter's packages.

    An environment of pipx or uv has no pip of its own that a user would reach.
    """
    wanted = " ".join(words)
    prefix = PurePath(sys.prefix).parts
    if "pipx" in prefix and "venvs" in prefix:
        return f"pipx runpip {DISTRIBUTION} install {wanted}"
    if find_spec("pip") is None:
        return f"uv pip install --python {sys.executable} {wanted}"
    return f"pip install {wanted}"


def missing_extra(error: ImportError) -> str | None:
    """Return the extra whose absence this error is about, None where it is about none of them."""
    return EXTRA_OF.get((error.name or "").partition(".")[0])
