"""Find the language of a file, and load its grammar."""

from __future__ import annotations

import importlib
import re

from tree_sitter import Language

from codeguard.corpus.chunking.base import Grammar
from codeguard.corpus.chunking.grammars import GRAMMARS
from codeguard.models import SourceFile

GAVE_UP = "gave up on it"  # part of the note about such a file
_SHEBANG = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S*\s+)*)?(?:\S*/)?([A-Za-z]+)")
_loaded: dict[str, Language] = {}


def languages() -> tuple[Grammar, ...]:
    """Return every known language, by name."""
    return GRAMMARS


def load_grammar(grammar: Grammar) -> Language | None:
    """Return the tree-sitter language, or None if its wheel is missing or cannot be loaded.

    Only successes are cached: a worker that once ran out of memory tries again.
    """
    if grammar.name not in _loaded:
        try:
            module = importlib.import_module(grammar.module)
            _loaded[grammar.name] = Language(getattr(module, grammar.entry)())
        except ImportError:
            return None
    return _loaded[grammar.name]


def by_name(name: str) -> Grammar | None:
    """Return the language of that name, or of that file extension without its dot (`py`), in any case."""
    wanted = name.lower()
    found = (item for item in languages() if wanted == item.name or f".{wanted}" in item.extensions)
    return next(found, None)


def suffix_of(name: str) -> str:
    """Return the extension of a file's name in lower case, with its dot, or ""."""
    base = name.rpartition("/")[2]
    return base[base.rfind(".") :].lower() if base.rfind(".") > 0 else ""


def language_of_file(name: str, data: bytes) -> Grammar | None:
    """Return the language of a file by its name, its extension, or its `#!` line."""
    base, suffix = name.rpartition("/")[2], suffix_of(name)
    for grammar in languages():
        if suffix in grammar.extensions or base in grammar.filenames:
            return grammar
    match = None if suffix else _SHEBANG.match(data[:200])
    interpreter = "" if match is None else match.group(1).decode().lower()
    return next((item for item in languages() if interpreter in item.interpreters), None)


def gave_up(file: SourceFile) -> bool:
    """Return whether the parser gave up on a file, which is then cut by lines or indentation."""
    return uncut(file) or any(GAVE_UP in note for note in file.notes)


def uncut(file: SourceFile) -> bool:
    """Return whether a file is cut by lines although its language has a grammar."""
    if file.parsed or not file.text:
        return False
    grammar = by_name(file.language)
    return grammar is not None and grammar.installed
