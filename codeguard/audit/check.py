"""Check the functions of one file, and work out the contract of one, without a store or an embedding."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codeguard.audit.files_on_disk import FilesOnDisk, read_named
from codeguard.behavior import SpecLibrary
from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.shapes import ValueShape
from codeguard.behavior.source.import_paths import INIT
from codeguard.behavior.specs.contract import Contract
from codeguard.behavior.specs.files import RECORDED_NAME, spec_files
from codeguard.behavior.verdict.profiles import observe
from codeguard.behavior.verdict.running import drive
from codeguard.config import Settings, user_config_dir
from codeguard.corpus.chunking import chunk_file
from codeguard.corpus.decoding import unreadable_reason
from codeguard.corpus.discovery import HEAD_BYTES, discover
from codeguard.errors import ConfigError, CorpusError, NoIndexError, NothingToDoError
from codeguard.index.behavior_reports import checkable
from codeguard.index.evidence_tasks import Checks, material
from codeguard.index.executor import open_executor
from codeguard.index.file_tasks import chunked, masked
from codeguard.index.sandbox_budget import SandboxBudget
from codeguard.index.siblings import Siblings
from codeguard.index.workspace import Workspace
from codeguard.models import CheckReport, Chunk, Skipped, SourceFile
from codeguard.sandbox import Level, Sandbox, read_given
from codeguard.trust.installation import kept_secret, left_alone
from codeguard.workers.tasks import Shared


@dataclass(frozen=True, slots=True)
class CheckedFunction:
    """One function of a checked file and the checker's report on it."""

    chunk: Chunk
    report: CheckReport


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
    with open_executor(1, fork=True) as executor:
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
        trusted, shared = _material(chosen, against, warn)
        listed = {(item.path, item.sha256) for item in trusted}
        files = FilesOnDisk(Path(), _package_folder(path), executor, lambda *item: item in listed)
        file = Siblings(files).beside(file)
        checks = Checks(executor, lambda answered: shared)
        budget = budget or SandboxBudget.of(chosen.defense)
        answers = list(checks([(chunk, file) for chunk in wanted], True, budget))
        found = {chunk.span: report for (chunk, _), (_, report) in answers if report is not None}
        if any(report.spent for report in found.values()):
            budget.unfinished(file.path)
        return [CheckedFunction(chunk, found[chunk.span]) for chunk in wanted if chunk.span in found]


def _package_folder(path: Path) -> Path:
    """Return the folder of a file, or that of its outermost package."""
    folder = path.parent
    while (folder / INIT).is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


def _material(
    chosen: Settings, against: Sequence[Path], warn: Callable[[str], None]
) -> tuple[Sequence[SourceFile], Shared]:
    """Return the trusted files, and the reference material for checking the functions."""
    ignored = "" if against else left_alone(chosen)
    if ignored:
        warn(ignored)
    trusted = [source for other in against for source in _trusted(other)]
    seed = chosen.fixed_seed or kept_secret(user_config_dir() / "check.seed")
    if not against and not ignored:
        with contextlib.suppress(NoIndexError), contextlib.closing(Workspace(chosen)) as workspace:
            trusted = workspace.trusted_files()
            seed = workspace.seed
    return trusted, material(
        trusted=trusted,
        specs=spec_files(map(Path, chosen.specs)),
        seed=seed,
        required_level=chosen.defense.required_level,
        given=read_given(chosen.defense.modules),
        signals=(),
    )


def _trusted(path: Path) -> list[SourceFile]:
    if not path.exists():
        raise CorpusError(
            f"cannot read {path}", got="nothing there", expected="a file or a folder", hint="check the path"
        )
    if not path.is_dir():
        return [read_source(path)]
    found = discover([path], withhold_secrets=True).files
    if not found:
        raise CorpusError(
            f"cannot read {path}", got="an empty folder", expected="files", hint="check the path"
        )
    return list(masked(chunk_file(item.name, read_named(item.path)) for item in found))


def read_source(path: Path) -> SourceFile:
    """Read and chunk one explicitly given trusted file; its secrets are masked, as in an index.

    Raises:
        CorpusError: it does not exist, is no regular file or cannot be read.
    """
    (file,) = masked([chunk_file(path.as_posix(), read_named(path))])
    return file


def contract_of(path: Path, symbol: str, settings: Settings) -> list[str]:
    """Return what a function (`function` or `Class.method`) of a file takes, promises and leaves open, as lines.

    Specs recorded beside the file count. Below the required sandbox level nothing is run, and a line says so.

    Raises:
        CorpusError: the file cannot be read.
        NothingToDoError: there is no such function in it.
    """
    recorded = path.with_name(RECORDED_NAME)
    library = SpecLibrary().with_trusted(
        [read_source(item) for item in (path, recorded) if item == path or item.is_file()]
    )
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
        seed = settings.fixed_seed or kept_secret(user_config_dir() / "check.seed")
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
