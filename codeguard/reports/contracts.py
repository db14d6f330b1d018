"""The contract of a trusted function as text."""

from __future__ import annotations

from collections.abc import Iterator

from codeguard.behavior.inputs.shapes import ValueShape
from codeguard.behavior.specs.contract import Contract
from codeguard.behavior.verdict.profiles import Profile


def contract_lines(profile: Profile) -> Iterator[str]:
    """Yield the lines that say what a function takes, promises and leaves open."""
    contract, definition = profile.contract, profile.reference.definition
    names = [item.name for item in definition.parameters if item.kind in ("positional", "args")]
    yield f"{definition.qualified_name} ({profile.reference.origin})"
    if profile.problem:
        yield f"  not run: {profile.problem}"
    yield f"  shown by {len(profile.examples)} examples, {len(profile.generated)} more calls with a certain result"
    yield from (f"  takes {line}" for line in _taken(contract, names))
    yield from (f"  asks in words: {name}" for name, _ in contract.conditions)
    for guard in contract.guards:
        kind = "protected" if guard.exception in contract.protecting else "a choice"
        yield f"  refuses {guard.condition} with {guard.exception} ({kind})"
    yield from (f"  promises {name}" for name in sorted(contract.raises))
    yield from (f"  leaves open {name}" for name in sorted(contract.leaves_open))
    yield from (f"  contradicts its own example at {item.origin}" for item in contract.contradicted)


def _taken(contract: Contract, names: list[str]) -> Iterator[str]:
    if contract.takes is None:
        return
    places = [*names, *["more"] * len(contract.takes.shapes)]
    for name, shape in (*zip(places, contract.takes.shapes, strict=False), *contract.takes.keywords.items()):
        yield f"{name}: {shape_text(shape)}"
    for relation in contract.takes.relations:
        yield f"{places[relation.first]} that {relation.kind} {places[relation.second]}"


def shape_text(shape: ValueShape) -> str:
    """Return what the values of one argument have in common, in words."""
    parts = ["/".join(sorted(shape.kinds))]
    if shape.numbers is not None:
        low = shape.numbers.low if shape.numbers.negative or not shape.numbers.zero else 0
        parts.append(f"from {low:g} to {shape.numbers.high:g}")
    if shape.texts is not None:
        parts.append(f"{shape.texts.shortest} to {shape.texts.longest} characters")
    if shape.items is not None:
        row = [f"{shape.items.shortest} to {shape.items.longest} of {shape_text(shape.items.item)}"]
        row += ["in order"] * shape.items.ascending + ["each once"] * shape.items.distinct
        parts.append(", ".join(row))
    return ", ".join(parts)
