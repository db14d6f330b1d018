"""Near-copies of trusted functions, with the changed lines."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from codeguard.analysis import Reading
from codeguard.analysis.python.counterparts import Counterpart, TrustedFunctions
from codeguard.analysis.python.statements import MAX_STATEMENTS, Statement, statements
from codeguard.analysis.rules.base import DetectorContext, FileSignal, Match, rules_of
from codeguard.analysis.rules.near_copy.difference import (
    LEAVING,
    PROTECTING,
    WEAK,
    ChangeWeight,
    FunctionDifference,
    StatementChange,
    difference,
    keywords,
)
from codeguard.analysis.rules.secrets import masked_file
from codeguard.corpus.patterns import lazy
from codeguard.models import Chunk, ChunkKind

FUNCTIONS = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
_TOO_LONG = f"a function of more than {MAX_STATEMENTS:,} statements was not compared with its trusted twin"
LEAST_TOKENS = 14  # tokens of both functions together
LEAST_COMMON_TOKENS = (
    120  # tokens of both together; this much common code is no coincidence, whatever the names
)
MOST_REPLACED = 3
MOST_ADDED = 6
NAMED_SHARE = 0.3
_OFF = frozenset({"False", "None", "0", "false", "null"})
UNNAMED_SHARE = 0.1


def _inspect(reading: Reading, context: DetectorContext) -> Iterable[Match]:
    """Yield the changes of each near-copy, most severe first."""
    trusted = context.trusted_functions
    if not trusted:
        return
    position = 0
    for chunk, masked in zip(reading.file.chunks, masked_file(reading).chunks, strict=True):
        if chunk.kind in FUNCTIONS:
            yield from reading.unread.apart(chunk.symbol, _matches, reading, masked, position, trusted)
        position += len(chunk.text)


def _matches(reading: Reading, chunk: Chunk, position: int, trusted: TrustedFunctions) -> Iterator[Match]:
    closest: tuple[Counterpart, FunctionDifference] | None = None
    counterparts = trusted.counterparts(chunk)
    own = statements(chunk.text, chunk.language, chunk.symbol.rpartition(".")[2]) if counterparts else ()
    if counterparts and not own and chunk.text.strip():
        reading.unread.note(_TOO_LONG, chunk.start_line)
    for counterpart in counterparts:
        found = _compared(own, chunk, counterpart)
        if found is None:
            continue
        if not found.changes:
            return  # an exact copy apart from ignored differences
        if closest is None or found.share < closest[1].share:
            closest = (counterpart, found)
    if closest is None or not _is_copy(*closest, chunk):
        return
    counterpart, found = closest
    for change in sorted(found.changes, key=lambda item: -item.weight)[:3]:
        yield _match(change, counterpart, position)


def _compared(
    own: tuple[Statement, ...], chunk: Chunk, counterpart: Counterpart
) -> FunctionDifference | None:
    function = counterpart.function
    name = function.symbol.rpartition(".")[2]
    theirs = statements(function.text, function.language, name)
    return difference(
        _without_moved_imports(theirs, function.text, chunk.imports),
        function.text,
        _without_moved_imports(own, chunk.text, function.imports),
        chunk.text,
    )


# An assertion that a type checker asks for.
_FOR_TYPES = lazy(r"assert (?:isinstance\(|[\w.]+ is not None\b(?! and| or))")


def lost_protections(before: Chunk, after: Chunk) -> Iterator[StatementChange]:
    """Yield the changes by which a function lost a check or a protection, places counted in its text.

    What it has as often as before, in whatever place, is not lost; a function that was rewritten is not compared.
    """
    then, now = (
        statements(part.text, part.language, part.symbol.rpartition(".")[2]) for part in (before, after)
    )
    found = difference(then, before.text, now, after.text)
    if found is None or found.replaced > MOST_REPLACED or found.added > MOST_ADDED:
        return
    body = [item for item in then if item.key[0] not in ("@", "async", "def")]
    if all(item.key[0] in LEAVING or item.key[0][-1:] in "\"'" for item in body):
        return  # it never returned anything, as one that others are to define
    words = [Counter(word for item in side for word in item.key) for side in (then, now)]
    lost, new = words[0] - words[1], words[1] - words[0]
    if (LEAVING | PROTECTING) & lost.keys() or WEAK & new.keys() or _switched_off(then, now):
        yield from (
            item
            for item in found.changes
            if item.weight is ChangeWeight.PROTECTION
            and item.was
            # Where a handler goes, what it translated is raised all the same.
            and (item.now or not item.was.startswith("except"))
            and _FOR_TYPES.match(item.was) is None
        )


def _switched_off(then: Sequence[Statement], now: Sequence[Statement]) -> bool:
    """Return whether a protecting argument was given another value than one that switches it off."""
    values = [keywords(side) for side in (then, now)]
    return any(
        values[0][name] not in _OFF and values[1].get(name) in _OFF for name in values[0].keys() & PROTECTING
    )


def _without_moved_imports(
    found: tuple[Statement, ...], text: str, elsewhere: tuple[str, ...]
) -> tuple[Statement, ...]:
    """Drop imports inside a function whose names the other function's module imports."""
    places = [
        (item, bound)
        for item in found
        if item.tokens[0].text in ("import", "from") and (bound := _bindings(text[item.start : item.end]))
    ]
    if not places:
        return found
    known = frozenset[tuple[str, str]]().union(*map(_bindings, elsewhere))
    moved = {id(item) for item, bound in places if bound <= known}
    return tuple(item for item in found if id(item) not in moved)


def _bindings(statement: str) -> frozenset[tuple[str, str]]:
    """Return the names that an import statement binds and what they refer to; empty for other statements."""
    try:
        body = ast.parse(statement.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    match body:
        case [ast.Import(names=names)]:
            prefix = ""
        case [ast.ImportFrom(module=module, level=level, names=names)]:
            prefix = "." * level + (module or "") + ":"
        case _:
            return frozenset()
    return frozenset((alias.asname or alias.name, prefix + alias.name) for alias in names)


def _is_copy(counterpart: Counterpart, found: FunctionDifference, chunk: Chunk) -> bool:
    """Return whether the functions agree so much that one is an edited copy of the other."""
    if (
        found.size < LEAST_TOKENS
        or not found.mostly_equal
        or found.replaced > MOST_REPLACED
        or found.added > MOST_ADDED
    ):
        return False
    own, other = chunk.symbol.rpartition("."), counterpart.function.symbol.rpartition(".")
    named = counterpart.named and (own[0] == other[0] or found.size >= LEAST_COMMON_TOKENS)
    if named:
        return found.share <= NAMED_SHARE
    return found.size >= LEAST_COMMON_TOKENS and found.share <= UNNAMED_SHARE


def _match(change: StatementChange, counterpart: Counterpart, position: int) -> Match:
    shown = f"{change.what} beside {counterpart.function.symbol} ({counterpart.function.origin})"
    lines = f"trusted: {change.was or 'nothing'}; here: {change.now or 'nothing'}"
    rules = {ChangeWeight.PROTECTION: "removed-check", ChangeWeight.CHANGE: "changed-line"}
    return Match(
        rules.get(change.weight, "changed-message"),
        position + change.start,
        position + change.end,
        f"{shown}; {lines}",
        measurements={
            "trusted_line": counterpart.function.line,
            "likeness": round(counterpart.likeness, 2),
            "tokens": change.tokens,
        },
    )


SIGNAL = FileSignal(
    "near_copy",
    "copies of trusted functions with a changed line",
    tuple(rules_of(__file__).values()),
    _inspect,
    intent=True,
    compares=True,
)
