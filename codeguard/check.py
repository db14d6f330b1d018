"""Check the functions of one file, without store or embedding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from codeguard.behavior import BehaviorChecker, SpecLibrary
from codeguard.checks import checkable, is_test
from codeguard.chunking import chunk_file
from codeguard.config import CATALOG, Settings, user_config_dir
from codeguard.errors import CorpusError, NothingToDoError
from codeguard.models import CheckReport, Chunk, SourceFile
from codeguard.sandbox import Level, Sandbox
from codeguard.secret import kept_secret
from codeguard.workspace import Workspace


@dataclass(frozen=True, slots=True)
class CheckedFunction:
    """One function of a checked file and what the checker says of it."""

    chunk: Chunk
    report: CheckReport


def check_file(
    path: Path,
    symbol: str | None = None,
    *,
    against: Sequence[Path] = (),
    settings: Settings | None = None,
) -> list[CheckedFunction]:
    """Run the behavior checker on the functions of one file; no store and no embedding is touched.

    The expectations come from the shipped and the user's specs, from the
    files in `against` (which count as trusted), or, without `against`, from
    the trusted code of the index in the settings' state directory, if any.

    Raises:
        CorpusError: the file cannot be read.
        NothingToDoError: it has no such function.
    """
    chosen = settings or Settings()
    file = read_source(path)
    wanted = [chunk for chunk in file.chunks if checkable(chunk) and symbol in (None, chunk.symbol)]
    if not wanted:
        got = f"{symbol!r}" if symbol else "none"
        known = ", ".join(chunk.symbol for chunk in file.chunks if checkable(chunk)) or "no function at all"
        raise NothingToDoError(f"{path} has no such function", got=got, expected=known[:200])
    library = SpecLibrary.load([Path(folder) for folder in chosen.specs])
    trusted = [read_source(other) for other in against]
    seed = chosen.fixed_seed or kept_secret(user_config_dir() / "check.seed")
    if not against and (chosen.state / CATALOG).exists():
        workspace = Workspace(chosen)
        try:
            trusted = workspace.trusted_files()
            seed = workspace.seed
        finally:
            workspace.close()
    library = library.with_trusted(trusted, [item for item in trusted if is_test(item.path)])
    level = Level[chosen.defense.required_level]
    with Sandbox(level) as sandbox:
        checker = BehaviorChecker(library, sandbox, seed=seed, required_level=level)
        reports = checker.check_many([(chunk, file) for chunk in wanted])
        return [CheckedFunction(chunk, report) for chunk, report in zip(wanted, reports, strict=True)]


def read_source(path: Path) -> SourceFile:
    """Read and chunk one file given by hand.

    Raises:
        CorpusError: it does not exist, is no regular file or cannot be read.
    """
    if not path.is_file():
        got = "a folder" if path.is_dir() else "nothing there"
        raise CorpusError(f"cannot read {path}", got=got, expected="a file")
    try:
        return chunk_file(path.as_posix(), path.read_bytes())
    except OSError as error:
        raise CorpusError(f"cannot read {path}", got=error.strerror, expected="a readable file") from None
