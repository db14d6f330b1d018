"""What code imports, and which file an import means, by the rules of Python, told from paths alone.

Paths are relative to one root, with `/`. Where the search path of the importing program would decide,
every folder above the importing file counts, and if that gives several files, none of them is meant.
"""

from __future__ import annotations

import ast
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence

from codeguard.behavior.source.definitions import by_node

INIT = "__init__.py"
AMBIGUOUS = "?"
MOST_IMPORTS = 1_000  # statements of one file
MOST_MODULES = 400  # for one file, nearest first
MOST_CHARACTERS = 4_000_000  # of all of them
MOST_PARTS = 12  # of a module's name
MOST_ROOTS = 16  # folders above a file, nearest first
MOST_DEPTH = 64  # folders
_WRAPPED = re.compile(r"\\\r?\n")
# Every repetition inside a line is bounded, so that no text takes more than linear time.
_IMPORT = re.compile(
    r"(?:^|[;:])[ \t\f]*"
    r"(?:from(?P<dots>[ \t\f.]{0,40})(?P<module>(?:\w[\w. \t\f]{0,300})?)[ \t\f]{0,40}\bimport\b[ \t\f]{0,40}"
    r"(?P<names>\((?:[^()#]|#[^\n]*+)*+\)|[^\n;#]*)"
    r"|import[ \t\f](?P<modules>[^\n;#]*))",
    re.MULTILINE,
)
_NAME = re.compile(r"[^\W\d]\w*(?:[ \t\f]{0,9}\.[ \t\f]{0,9}[^\W\d]\w*)*")
_ALIAS = re.compile(r"\bas\s{1,40}\w+|#[^\n]*")
_SPACE = re.compile(r"\s+")
KNOWN_PACKAGES = ("numpy", "typing_extensions")  # what is there without being given, where it is installed
Has = Callable[[str], bool]
Import = tuple[
    int, tuple[str, ...], tuple[str, ...]
]  # level, parts of the module's name, what is taken of it


def file_of(wanted: Sequence[str], level: int, own_path: str, has: Has) -> str:
    """Return the file that an import means; "" if it is not there, `AMBIGUOUS` if several could be meant.

    Args:
        wanted: the parts of the module's dotted name; empty for `from . import`.
        level: the number of leading dots, 0 for an absolute import.
        own_path: the importing file.
        has: whether there is a file of this path.
    """
    folders = own_path.split("/")[:-1]
    if len(wanted) > MOST_PARTS or len(folders) > MOST_DEPTH:
        return ""
    if level:
        above = len(folders) - (level - 1)
        return _below(folders[:above], wanted, has) if above >= 0 else ""
    if not wanted:
        return ""
    inside = has("/".join([*folders, INIT]))
    if wanted[0] in sys.stdlib_module_names:
        # Only a program's own folder comes before the standard library, and nothing comes before what is built in.
        alone = not inside and wanted[0] not in sys.builtin_module_names
        return _below(folders, wanted, has) if alone else ""
    while folders and has("/".join([*folders, INIT])):
        folders = folders[:-1]
    roots = (folders[:length] for length in range(len(folders), max(-1, len(folders) - MOST_ROOTS), -1))
    found = {path for root in roots if (path := _below(root, wanted, has))}
    return found.pop() if len(found) == 1 else AMBIGUOUS if found else ""


def _below(folder: Sequence[str], wanted: Sequence[str], has: Has) -> str:
    """Return the file of a module in a folder, "" if there is none; a package comes before a file of its name."""
    for length in range(len(wanted) + 1):
        place = [*folder, *wanted[:length]]
        package = "/".join([*place, INIT])
        file = "/".join(place) + ".py" if length else ""
        if length == len(wanted):
            return next((path for path in (package, file) if path and has(path)), "")
        if file and not has(package) and has(file):
            return ""  # a module in the place of the package
    return ""


def imports_in(text: str) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield level, module and names of what looks like an import in a text, wherever it stands.

    It reads the text in linear time and may find too much, which only costs a look-up.
    """
    plain = _WRAPPED.sub(" ", text)
    for count, match in enumerate(_IMPORT.finditer(plain)):
        if count >= MOST_IMPORTS:
            return
        if match["modules"] is not None:
            for name in _names(match["modules"]):
                yield 0, name.split("."), []
        else:
            module = [part for name in _names(match["module"]) for part in name.split(".")]
            yield match["dots"].count("."), module, _names(match["names"])


def _names(listed: str) -> list[str]:
    found = _NAME.findall(unicodedata.normalize("NFKC", _ALIAS.sub(" ", listed)))
    return [_SPACE.sub("", name) for name in found]


def imports_of(statements: Iterable[ast.stmt]) -> tuple[Import, ...]:
    """Return what statements import, inside their functions too, of other modules than the standard ones."""
    return tuple(dict.fromkeys(item for statement in statements for item in _imports_in(statement)))


@by_node
def _imports_in(statement: ast.stmt) -> Sequence[Import]:
    found: list[Import] = []
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            found += (
                (0, tuple(alias.name.split(".")), ()) for alias in node.names if not is_known(alias.name)
            )
        elif isinstance(node, ast.ImportFrom) and (node.level or not is_known(node.module or "")):
            module = tuple(node.module.split(".")) if node.module else ()
            found.append((node.level, module, tuple(alias.name for alias in node.names)))
    return found


def is_known(name: str) -> bool:
    """Return whether a module is there for every function."""
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or top in KNOWN_PACKAGES
