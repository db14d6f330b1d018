"""The languages: every file of `grammars` is one."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
import re

from tree_sitter import Language

from codeguard.corpus.chunking import grammars
from codeguard.corpus.chunking.base import Grammar, LanguageInfo
from codeguard.models import SourceFile

GAVE_UP = "gave up on it"  # part of the note about such a file
_SHEBANG = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S*\s+)*)?(?:\S*/)?([A-Za-z]+)")


@functools.cache
def all_grammars() -> tuple[Grammar, ...]:
    """Return every known language, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(grammars.__path__))
    found = [importlib.import_module(f"{grammars.__name__}.{name}").GRAMMAR for name in names]
    return tuple(sorted(found, key=lambda grammar: grammar.name))


_loaded: dict[str, Language] = {}


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


def installed(grammar: Grammar) -> bool:
    """Return whether the wheel is installed, without loading it."""
    return importlib.util.find_spec(grammar.module) is not None


def languages() -> tuple[LanguageInfo, ...]:
    """Return what is known about each language, by name."""
    return tuple(
        LanguageInfo(grammar.name, grammar.extensions, installed(grammar), grammar.wheel, grammar.extra)
        for grammar in all_grammars()
    )


def by_name(name: str) -> Grammar | None:
    """Return the language of that name, or of that file extension without its dot (`py`), in any case."""
    wanted = name.lower()
    for grammar in all_grammars():
        if wanted == grammar.name or f".{wanted}" in grammar.extensions:
            return grammar
    return None


def language_of_file(name: str, data: bytes) -> Grammar | None:
    """Return the language of a file by its name, its extension, or its `#!` line."""
    base = name.rsplit("/", 1)[-1]
    dot = base.rfind(".")
    suffix = base[dot:].lower() if dot > 0 else ""
    for grammar in all_grammars():
        if suffix in grammar.extensions or base in grammar.filenames:
            return grammar
    match = None if suffix else _SHEBANG.match(data[:200])
    if match is None:
        return None
    interpreter = match.group(1).decode().lower()
    for grammar in all_grammars():
        if interpreter in grammar.interpreters:
            return grammar
    return None


def gave_up(file: SourceFile) -> bool:
    """Return whether the parser gave up on a file, which is then cut by lines or indentation."""
    return uncut(file) or any(GAVE_UP in note for note in file.notes)


def uncut(file: SourceFile) -> bool:
    """Return whether a file is cut by lines although its language has a grammar."""
    if file.parsed or not file.text:
        return False
    grammar = by_name(file.language)
    return grammar is not None and installed(grammar)
