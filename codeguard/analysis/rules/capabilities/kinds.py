"""The capabilities of a file's functions, compared with those of their trusted counterparts."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from codeguard.analysis import Reading
from codeguard.analysis.python.counterparts import TrustedFunction, TrustedFunctions
from codeguard.analysis.rules.base import Match
from codeguard.corpus.chunking.chunker import chunk_file
from codeguard.models import Chunk, ChunkKind, Severity
from codeguard.syntax.capabilities import (
    CODE,
    ENVIRONMENT,
    FILES,
    LOADING,
    NATIVE,
    NETWORK,
    PROCESS,
    effect_of_name,
)

RISKY = frozenset({NETWORK, PROCESS, FILES, CODE, NATIVE, LOADING, ENVIRONMENT})
MAX_NAMED = 4


@dataclass(frozen=True, slots=True)
class Ability:
    """The capabilities of a range of a file: kinds, with the names that show them."""

    start: int
    end: int
    symbol: str
    kinds: dict[str, str]

    @property
    def match(self) -> Match:
        """The capabilities as an informational match."""
        shown = ", ".join(f"{kind} ({name})" for kind, name in sorted(self.kinds.items())[:MAX_NAMED])
        return Match("able", self.start, self.end, f"can reach {shown}")


def able(reading: Reading) -> tuple[Ability, ...]:
    """Return the capabilities of the file's functions and of its module level, if they have any."""
    found: dict[ast.AST | None, dict[str, str]] = {}
    for node in reading.nodes:
        of = type(node)
        if of is ast.Call:
            name = reading.names.called(node)  # type: ignore[arg-type]
        elif of is ast.Attribute and node.attr == "environ":  # type: ignore[attr-defined]
            name = reading.names.resolve(node)  # type: ignore[arg-type]
        else:
            continue
        kind = effect_of_name(name) if name and name[0] != ":" else ""
        if kind:
            found.setdefault(reading.names.function_of(node), {}).setdefault(kind, name)
    abilities: list[Ability] = []
    for owner, kinds in found.items():
        start, end = (0, min(1, len(reading.text))) if owner is None else reading.place(owner)
        symbol = "" if owner is None else reading.names.symbol(owner)
        abilities.append(Ability(start, min(end, _line_end(reading, start)), symbol, kinds))
    return tuple(abilities)


def _line_end(reading: Reading, start: int) -> int:
    found = reading.text.find("\n", start)
    return len(reading.text) if found < 0 else found


def beyond_counterparts(
    reading: Reading, abilities: Sequence[Ability], trusted: TrustedFunctions
) -> Iterator[Match]:
    """Yield the capabilities that a function has and no trusted function of its name and class has."""
    chunks = {
        chunk.symbol: chunk
        for chunk in reading.file.chunks
        if chunk.kind in (ChunkKind.FUNCTION, ChunkKind.METHOD)
    }
    for ability in abilities:
        risky = {kind: name for kind, name in ability.kinds.items() if kind in RISKY}
        chunk = chunks.get(ability.symbol)
        if not risky or chunk is None:
            continue
        counterparts = _counterparts(chunk, trusted)
        if not counterparts:
            continue
        allowed = set().union(*(kinds_of(counterpart) for counterpart in counterparts))
        extra = {kind: name for kind, name in risky.items() if kind not in allowed}
        if extra:
            shown = ", ".join(f"{kind} ({name})" for kind, name in sorted(extra.items()))
            reason = f"reaches {shown}; its trusted twin {counterparts[0].symbol} ({counterparts[0].origin}) does not"
            yield Match("beyond-twin", ability.start, ability.end, reason, Severity.MEDIUM)


def _counterparts(chunk: Chunk, trusted: TrustedFunctions) -> list[TrustedFunction]:
    """Return the trusted functions that a reader would take for this one, by name and parameters or code."""
    wanted = _parameters(chunk.text)
    return [
        counterpart.function
        for counterpart in trusted.counterparts(chunk)
        if counterpart.named
        and (counterpart.likeness >= 0.3 or (wanted and wanted == _parameters(counterpart.function.text)))
    ]


def _parameters(text: str) -> int:
    """Return the number of parameters in a function's header, 0 if it cannot be determined."""
    header = text[text.find("(") + 1 :].partition(")")[0]
    return header.count(",") + 1 if header.strip() else 0


@lru_cache(maxsize=4_096)
def _kinds(text: str, imports: tuple[str, ...]) -> frozenset[str]:
    source = (
        "\n".join((*imports, text)) if not text[:1].isspace() else "\n".join((*imports, "if True:", text))
    )
    reading = Reading(chunk_file("twin.py", source.encode("utf-8", "surrogatepass")))
    return frozenset(kind for ability in able(reading) for kind in ability.kinds)


def kinds_of(function: TrustedFunction) -> frozenset[str]:
    """Return the capabilities of a trusted function, given the imports in its scope."""
    return _kinds(function.text, function.imports) if function.language == "python" else frozenset()
