"""The forms in which a function may take what a trusted function takes.

Two authors of one function rarely agree on its arguments: `knapsack(weights, values, capacity)`,
`knapsack(capacity, items)`, `knapsack(capacity, weights, values, n)`, and a graph is a mapping of nodes, a list of
edges or a matrix. A form turns the arguments of a call of the trusted function into those of a candidate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = tuple[object, ...]
MOST_ORDERED = 4  # arguments that are tried in every order
MOST_NODES = 40

Turn = Callable[[Row], Iterator[Row]]
Edge = tuple[Hashable, Hashable, object]


@dataclass(frozen=True, slots=True)
class Form:
    """A way to turn arguments: the result of `turn` at `place`, in another `order`."""

    name: str
    turn: Turn
    place: int
    order: tuple[int, ...]

    @property
    def is_own(self) -> bool:
        """Whether this is the form of the trusted function itself."""
        return self.turn is _as_they_are and self.order == tuple(range(len(self.order)))

    @property
    def loses_order(self) -> bool:
        """Whether pairs become a mapping or come from one, on whose order a choice between equal ones may depend."""
        return self.turn in (_mapping_as_pairs, _pairs_as_mapping)

    def of(self, args: Row) -> Row | None:
        """Return the arguments in this form; None if they cannot be turned into it."""
        turned = next(itertools.islice(self.turn(args), self.place, None), None)
        if turned is None or len(turned) != len(self.order):
            return None
        return tuple(turned[place] for place in self.order)


def forms_for(sample: Sequence[Row], accepts: Callable[[int], bool]) -> Iterator[Form]:
    """Yield the forms that some of these arguments can be turned into, for a function that takes so many."""
    for name, turn in TURNS:
        made = [list(turn(args)) for args in sample]
        for place in range(max(map(len, made), default=0)):
            counts = {len(turned[place]) for turned in made if place < len(turned)}
            for count in sorted(filter(accepts, counts)):
                ordered = itertools.permutations(range(count)) if count <= MOST_ORDERED else [range(count)]
                for order in map(tuple, ordered):
                    same = order == tuple(range(count))
                    yield Form(name if same else f"{name} in another order", turn, place, order)


def _as_they_are(args: Row) -> Iterator[Row]:
    yield args


def _pairs_apart(args: Row) -> Iterator[Row]:
    for place, value in enumerate(args):
        rows = _rows_of_one_length(value)
        if rows:
            yield (*args[:place], *(list(part) for part in zip(*rows, strict=True)), *args[place + 1 :])


def _lists_as_pairs(args: Row) -> Iterator[Row]:
    for place, (first, second) in enumerate(itertools.pairwise(args)):
        if isinstance(first, list) and isinstance(second, list) and len(first) == len(second) > 0:
            for left, right in ((first, second), (second, first)):
                yield (*args[:place], list(zip(left, right, strict=True)), *args[place + 2 :])


def _pairs_turned(args: Row) -> Iterator[Row]:
    for place, value in enumerate(args):
        pairs = _pairs(value)
        if pairs:
            yield (*args[:place], [(second, first) for first, second in pairs], *args[place + 1 :])


def _mapping_as_pairs(args: Row) -> Iterator[Row]:
    for place, value in enumerate(args):
        if isinstance(value, dict) and value:
            yield (*args[:place], list(value.items()), *args[place + 1 :])


def _pairs_as_mapping(args: Row) -> Iterator[Row]:
    for place, value in enumerate(args):
        pairs = _pairs(value)
        if pairs and _are_keys([key for key, _ in pairs]):
            yield (*args[:place], dict(pairs), *args[place + 1 :])


def _items_as_arguments(args: Row) -> Iterator[Row]:
    for place, value in enumerate(args):
        if isinstance(value, list | tuple) and 1 < len(value) <= MOST_ORDERED:
            yield (*args[:place], *value, *args[place + 1 :])


def _arguments_as_items(args: Row) -> Iterator[Row]:
    if len(args) > 1:
        yield ([*args],)
        yield (args,)


def _text_as_list(args: Row) -> Iterator[Row]:
    for place, value in enumerate(args):
        if isinstance(value, str):
            yield (*args[:place], list(value), *args[place + 1 :])
        elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            yield (*args[:place], "".join(map(str, value)), *args[place + 1 :])


def _with_lengths(args: Row) -> Iterator[Row]:
    for value in args:
        if isinstance(value, list | str):
            yield (*args, len(value))


def _with_bounds(args: Row) -> Iterator[Row]:
    for place, value in enumerate(args):
        if isinstance(value, list | str):
            yield (*args[: place + 1], 0, len(value) - 1, *args[place + 1 :])
            yield (*args[: place + 1], 0, len(value), *args[place + 1 :])


def _without_lengths(args: Row) -> Iterator[Row]:
    lengths = {len(value) for value in args if isinstance(value, list | str)}
    for place, value in enumerate(args):
        if type(value) is int and value in lengths:
            yield (*args[:place], *args[place + 1 :])


def _graphs(args: Row) -> Iterator[Row]:
    """Yield the arguments with a graph as every structure that holds the same."""
    for place, value in enumerate(args):
        before = args[place - 1] if place else None
        number = before if isinstance(before, int) else None
        graph = _graph_of(value, number)
        if graph is None:
            continue
        for first in (place,) if number is None else (place, place - 1):
            for made in _structures(*graph):
                yield (*args[:first], *made, *args[place + 1 :])


def _graph_of(value: object, number: int | None) -> tuple[list[Hashable], list[Edge]] | None:
    """Return the nodes and weighted edges of a graph; None if the value is none.

    A graph is a mapping of nodes to what they lead to, a list of that by number, a square matrix of weights, or,
    beside the `number` of nodes, a list of edges.
    """
    if isinstance(value, dict) and value:
        graph = _of_neighbors(value)
    elif isinstance(value, list) and value and all(isinstance(row, list) for row in value):
        graph = _of_matrix(value) if _is_matrix(value) else _of_neighbors(dict(enumerate(value)))
    elif isinstance(value, list) and value and number is not None:
        graph = _of_edges(value, number)
    else:
        return None
    if graph is None:
        return None
    nodes, edges = graph
    ends = [end for edge in edges for end in edge[:2]]
    if not nodes or len(nodes) > MOST_NODES or not all(isinstance(end, int | str | tuple) for end in ends):
        return None
    known = set(nodes)
    return [*nodes, *dict.fromkeys(end for end in ends if end not in known)], edges


def _of_neighbors(value: Mapping[Hashable, object]) -> tuple[list[Hashable], list[Edge]] | None:
    edges: list[Edge] = []
    for node, held in value.items():
        ends = _ends(held)
        if ends is None:
            return None
        edges += [(node, end, weight) for end, weight in ends]
    return list(value), edges


def _is_matrix(rows: Sequence[Sequence[object]]) -> bool:
    return all(len(row) == len(rows) for row in rows) and all(
        isinstance(item, int | float) for row in rows for item in row
    )


def _of_matrix(rows: Sequence[Sequence[Any]]) -> tuple[list[Hashable], list[Edge]]:
    """Take 0, infinity and what is on the diagonal for no edge, as programs on graphs do."""
    edges: list[Edge] = [
        (i, j, weight)
        for i, row in enumerate(rows)
        for j, weight in enumerate(row)
        if i != j and weight not in (0, math.inf)
    ]
    return list(range(len(rows))), edges


def _of_edges(rows: Sequence[object], number: int) -> tuple[list[Hashable], list[Edge]] | None:
    edges: list[Edge] = []
    for row in rows:
        if not isinstance(row, tuple) or len(row) not in (2, 3):
            return None
        edges.append((row[0], row[1], row[2] if len(row) == 3 else 1))
    return list(range(number)), edges


def _ends(held: object) -> list[tuple[Hashable, object]] | None:
    if isinstance(held, dict):
        return list(held.items())
    if not isinstance(held, list | tuple | set | frozenset):
        return None
    items = sorted(held, key=repr) if isinstance(held, set | frozenset) else list(held)
    if items and all(isinstance(item, tuple | list) and len(item) == 2 for item in items):
        return [(item[0], item[1]) for item in items]
    if not all(isinstance(item, int | str) for item in items):
        return None
    return [(item, 1) for item in items]


def _structures(nodes: Sequence[Hashable], edges: Sequence[Edge]) -> Iterator[Row]:
    def held(node: Hashable) -> list[tuple[Hashable, object]]:
        return [(end, weight) for start, end, weight in edges if start == node]

    yield ({node: [end for end, _ in held(node)] for node in nodes},)
    yield ({node: dict(held(node)) for node in nodes},)
    yield ({node: held(node) for node in nodes},)
    yield ({node: {end for end, _ in held(node)} for node in nodes},)
    yield (list(edges),)
    yield ([(start, end) for start, end, _ in edges],)
    if set(nodes) != set(range(len(nodes))):
        return
    count = len(nodes)
    yield ([[end for end, _ in held(node)] for node in range(count)],)
    yield ([held(node) for node in range(count)],)
    for missing in (0, math.inf):
        weights = {(start, end): weight for start, end, weight in edges}
        yield ([[0 if i == j else weights.get((i, j), missing) for j in range(count)] for i in range(count)],)
    yield (count, list(edges))
    yield (count, [(start, end) for start, end, _ in edges])


def _pairs(value: object) -> list[tuple[object, object]] | None:
    """Return the pairs of a list; None if it is no list of pairs."""
    if not isinstance(value, list) or not all(
        isinstance(item, list | tuple) and len(item) == 2 for item in value
    ):
        return None
    return [(item[0], item[1]) for item in value]


def _rows_of_one_length(value: object) -> list[Sequence[object]]:
    """Return the pairs or triples of a list; empty if it is no such list."""
    if not isinstance(value, list) or not all(isinstance(item, list | tuple) for item in value):
        return []
    return value if {len(item) for item in value} in ({2}, {3}) else []


def _are_keys(items: Sequence[object]) -> bool:
    """Return whether items can be the keys of a mapping, without loss."""
    try:
        return len(set(items)) == len(items)
    except TypeError:
        return False


TURNS: Sequence[tuple[str, Turn]] = (
    ("the arguments", _as_they_are),
    ("pairs as two lists", _pairs_apart),
    ("two lists as pairs", _lists_as_pairs),
    ("pairs the other way round", _pairs_turned),
    ("a mapping as pairs", _mapping_as_pairs),
    ("pairs as a mapping", _pairs_as_mapping),
    ("items as arguments", _items_as_arguments),
    ("arguments as items", _arguments_as_items),
    ("a text as its letters", _text_as_list),
    ("a length in addition", _with_lengths),
    ("first and last index in addition", _with_bounds),
    ("no length", _without_lengths),
    ("a graph as another structure", _graphs),
)
