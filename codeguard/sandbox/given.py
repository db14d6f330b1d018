"""Modules that the user allows trusted code to import: the source texts of installed packages.

They are read here, go to each zygote as text and are executed within its confinement, never outside of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from codeguard.errors import SandboxError

Texts = tuple[tuple[str, str], ...]  # place within the package's parent folder ("a/b.py"), and text; sorted
MOST_CHARACTERS = 16 * 1024 * 1024


def read_given(paths: Iterable[str]) -> Texts:
    """Return the texts of packages and modules, each named by its folder or file.

    Paths must be absolute, because with a relative one the working directory would choose the code.

    Raises:
        SandboxError: there is no such module, it hides a standard one, or all of them are too large.
    """
    found = {place: text for path in paths for place, text in _texts(Path(path).expanduser())}
    if sum(map(len, found.values())) > MOST_CHARACTERS:
        raise SandboxError("modules for the sandbox are too large", expected=f"{MOST_CHARACTERS} characters")
    return tuple(sorted(found.items()))


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    single = path.suffix == ".py"
    first = path if single else path / "__init__.py"
    if not path.is_absolute() or not first.is_file():
        expected = "the absolute path of a package's folder or of a module's file"
        raise SandboxError("no module for the sandbox", got=str(path), expected=expected)
    if not path.stem.isidentifier() or path.stem in sys.stdlib_module_names:
        raise SandboxError("no name for a module of the sandbox", got=path.stem)
    for file in [path] if single else sorted(path.rglob("*.py")):
        if file.is_file() and not file.is_symlink():
            try:
                yield file.relative_to(path.parent).as_posix(), file.read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise SandboxError(
                    "a module for the sandbox cannot be read", got=f"{file} ({error})"
                ) from None
