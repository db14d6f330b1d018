"""Check the functions of one file, and say what one promises, without a store or an embedding."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from codeguard.audit.imported_files import on_disk, read_named
from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.shapes import ValueShape
from codeguard.behavior.source.import_paths import INIT
from codeguard.behavior.specs.contract import Contract
from codeguard.behavior.specs.everyones import locked_wheels
from codeguard.behavior.specs.files import spec_files
from codeguard.behavior.specs.library import SpecLibrary
from codeguard.behavior.verdict.profiles import observe
from codeguard.behavior.verdict.running import drive
from codeguard.config import Settings
from codeguard.corpus.chunking import chunk_file
from codeguard.corpus.decoding import unreadable_reason
from codeguard.corpus.discovery import HEAD_BYTES
from codeguard.errors import ConfigError, CorpusError, NothingToDoError
from codeguard.index.behavior_reports import Siblings, checkable
from codeguard.index.evidence_tasks import Checks, material, trusted_facts
from codeguard.index.file_tasks import chunked, compared, masked
from codeguard.index.report import SandboxBudget
from codeguard.index.trusted_base import of_paths
from codeguard.index.without_index import index_of
from codeguard.index.workspace import Workspace
from codeguard.models import CheckReport, Chunk, Skipped, SourceFile
from codeguard.sandbox import Level, Sandbox, read_given
from codeguard.trust.installation import left_alone, seed_of
from codeguard.workers.processes import open_executor
from codeguard.workers.tasks import Shared


@dataclass(frozen=True, slots=True)
class CheckedFunction:
    """One function of a checked file, the checker's report on it, and the trusted function of its name, if any."""

    chunk: Chunk
    report: CheckReport
    own: Chunk | None = None


def check_file(
    path: Path,
    symbol: str | None = None,
    *,
    against: Sequence[Path] = (),
    settings: Settings | None = None,
    budget: SandboxBudget | None = None,
    warn: Callable[[str], None] = lambda line: None,
) -> list[CheckedFunction]:
    """Run the behavior checker on the functions of one file; no store and no embedding is touched.

    The expectations come from the shipped and the user's specs, from the
    files and folders in `against` (which count as trusted), or, without
    `against`, from the trusted code of the index in the settings' state
    directory, if any. What the file imports from its own package is taken with
    it. `budget`, if given, limits the run instead of that of the settings, and
    has then what was spent. `warn` is called if that index belongs to another installation: it is not
    read.

    Raises:
        CorpusError: the file cannot be read.
        ConfigError: it has no such function.
        NothingToDoError: it has no function that can be run.
    """
    chosen = settings or Settings()
    data = read_named(path)
    SpecLibrary.load([Path(folder) for folder in chosen.specs])  # report invalid specs at once
    with contextlib.ExitStack() as stack:
        executor = stack.enter_context(open_executor(1, fork=True))
        (file,) = chunked(executor, [(path.as_posix(), data)])
        if isinstance(file, Skipped):
            raise CorpusError(file.reason)
        (file,) = masked([file], executor)
        wanted = [chunk for chunk in file.chunks if checkable(chunk) and symbol in (None, chunk.symbol)]
        if not wanted and (why := unreadable_reason(data[:HEAD_BYTES], path.name)):
            raise NothingToDoError(f"{path} holds no code", got=why, expected="a file of Python")
        if not wanted:
            got = f"{symbol!r}" if symbol else "none"
            known = ", ".join(chunk.symbol for chunk in file.chunks if checkable(chunk))
            if not known:
                python = "Python without a function, or with a syntax error"
                raise NothingToDoError(
                    f"no function in {path} can be run",
                    got=python if file.language == "python" else f"{file.language or 'no'} code",
                    expected="functions of Python",
                    hint=f"codeguard audit {path} reads what cannot be run",
                )
            near = difflib.get_close_matches(str(symbol), known.split(", "), n=1)
            raise ConfigError(
                f"{path} has no such function",
                got=got,
                expected=known[:200],
                hint=f"did you mean {near[0]}?" if near else "name one of these",
            )
        ignored = "" if against else left_alone(chosen)
        if ignored:
            warn(ignored)
        index = None if against or ignored else index_of(chosen)
        if index is not None:
            stack.callback(index.close)
        trusted, shared = _material(executor, chosen, against, index)
        listed = {(item.path, item.sha256) for item in trusted}
        files = on_disk(Path(), _package_folder(path), executor, lambda *item: item in listed)
        file = Siblings(files).beside(file)
        checks = Checks(executor, lambda: shared, None if index is None else index.catalog)
        budget = budget or SandboxBudget.of(chosen.defense)
        found = {
            chunk.span: report for (chunk, _), report in checks([(item, file) for item in wanted], budget)
        }
        if any(report.spent for report in found.values()):
            budget.unfinished(file.path)
        own = {chunk.symbol: chunk for item in trusted for chunk in item.chunks if checkable(chunk)}
        kept = [chunk for chunk in wanted if chunk.span in found]
        return [CheckedFunction(chunk, found[chunk.span], own.get(chunk.symbol)) for chunk in kept]


def _package_folder(path: Path) -> Path:
    """Return the folder of a file, or that of its outermost package."""
    folder = path.parent
    while (folder / INIT).is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


def _material(
    executor: Executor, chosen: Settings, against: Sequence[Path], index: Workspace | None
) -> tuple[Sequence[SourceFile], Shared]:
    """Return the trusted files, and the reference material for checking the functions."""
    trusted = of_paths(against, chosen, Path.cwd()).files() if against else []
    if against and not trusted:
        got = ", ".join(map(str, against))
        raise CorpusError("nothing to check against", got=got, expected="files", hint="check the path")
    if index is not None:
        trusted = index.trusted_files()
    return trusted, material(
        trusted=trusted,
        comparing=compared(trusted, ()),
        specs=spec_files(map(Path, chosen.specs)),
        seed=seed_of(chosen) if index is None else index.seed,
        required_level=chosen.defense.required_level,
        given=read_given(chosen.defense.modules),
        locked=locked_wheels(chosen.defense.wheels, trusted)[0],
        facts=trusted_facts(executor, trusted, None if index is None else index.catalog),
    )


def contract_of(path: Path, symbol: str, settings: Settings) -> list[str]:
    """Return what a function (`function` or `Class.method`) of a file takes, promises and leaves open, as lines.

    Below the required sandbox level nothing is run, and a line says so.

    Raises:
        CorpusError: the file cannot be read.
        NothingToDoError: there is no such function in it.
    """
    library = SpecLibrary().with_trusted(list(masked([chunk_file(path.as_posix(), read_named(path))])))
    found = {item.definition.qualified_name: item for item in library.references}
    if symbol not in found:
        raise NothingToDoError(
            f"{path} has no such function",
            got=repr(symbol) if symbol else "none",
            expected=", ".join(found)[:200] or "a function",
        )
    reference = found[symbol]
    heading = f"{symbol} ({reference.origin})"
    required, given = Level[settings.defense.required_level], read_given(settings.defense.modules)
    with contextlib.closing(Sandbox(required, workers=1, given=given)) as sandbox:
        if sandbox.level < required:
            return [
                heading,
                f"  not run: the sandbox offers {sandbox.level.name}, {required.name} is required",
            ]
        seed = seed_of(settings)
        (profile,) = drive(sandbox, [observe(reference, sandbox.level, Budget(), seed)])
    calls = f"{len(profile.examples)} examples, {len(profile.generated)} more calls with a certain result"
    names = [item.name for item in reference.definition.parameters if item.kind in ("positional", "args")]
    problem = [f"  not run: {profile.problem}"] if profile.problem else []
    return [
        heading,
        *problem,
        f"  shown by {calls}",
        *(f"  {line}" for line in _terms(profile.contract, names)),
    ]


def _terms(contract: Contract, names: list[str]) -> Iterator[str]:
    if contract.takes is not None:
        places = [*names, *["more"] * len(contract.takes.shapes)]
        shapes = (*zip(places, contract.takes.shapes, strict=False), *contract.takes.keywords.items())
        yield from (f"takes {name}: {_in_words(shape)}" for name, shape in shapes)
        for relation in contract.takes.relations:
            yield f"takes {places[relation.first]} that {relation.kind} {places[relation.second]}"
    yield from (f"asks in words: {name}" for name, _ in contract.conditions)
    for guard in contract.guards:
        kind = "protected" if guard.exception in contract.protecting else "a choice"
        yield f"refuses {guard.condition} with {guard.exception} ({kind})"
    yield from (f"promises {name}" for name in sorted(contract.raises))
    yield from (f"leaves open {name}" for name in sorted(contract.leaves_open))
    yield from (f"contradicts its own example at {item.origin}" for item in contract.contradicted)


def _in_words(shape: ValueShape) -> str:
    parts = ["/".join(sorted(shape.kinds))]
    if shape.numbers is not None:
        low = shape.numbers.low if shape.numbers.negative or not shape.numbers.zero else 0
        parts.append(f"from {low:g} to {shape.numbers.high:g}")
    if shape.texts is not None:
        parts.append(f"{shape.texts.shortest} to {shape.texts.longest} characters")
    if shape.items is not None:
        row = [f"{shape.items.shortest} to {shape.items.longest} of {_in_words(shape.items.item)}"]
        parts += [*row, *["in order"] * shape.items.ascending, *["each once"] * shape.items.distinct]
    return ", ".join(parts)
