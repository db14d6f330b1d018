"""The contract that a trusted function is taken to have: what it takes, promises and leaves open."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from codeguard.audit.imported_files import read_named
from codeguard.behavior import SpecLibrary
from codeguard.behavior.budget import Budget
from codeguard.behavior.inputs.shapes import ValueShape
from codeguard.behavior.specs.contract import Contract
from codeguard.behavior.verdict.profiles import observe
from codeguard.behavior.verdict.running import drive
from codeguard.config import Settings
from codeguard.corpus.chunking import chunk_file
from codeguard.errors import NothingToDoError
from codeguard.index.file_tasks import masked
from codeguard.sandbox import Level, Sandbox, read_given
from codeguard.trust.installation import seed_of


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
