"""The inputs that a trusted function is for, learned from its examples.

Likely invariants in the manner of Daikon (Ernst et al., Science of Computer
Programming 69, 2007): what holds for every example and would hardly hold by
chance is taken for a condition. An input that breaks one of them may be
nonsense to the function, so no difference there convicts anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codeguard.behavior.learning import learn
from codeguard.behavior.relations import RELATIONS, Relation, believable
from codeguard.behavior.shapes import Bounds, Shape


@dataclass(frozen=True, slots=True)
class Domain:
    """The inputs of a function: a shape for every argument, and relations between them."""

    shapes: tuple[Shape, ...]
    keywords: Mapping[str, Shape]
    relations: tuple[Relation, ...]
    counts: frozenset[int]

    def admits(self, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
        """Say whether a call is like the examples."""
        if len(args) not in self.counts or not self.keywords.keys() >= kwargs.keys():
            return False
        if not all(shape.admits(value) for shape, value in zip(self.shapes, args, strict=False)):
            return False
        if not all(self.keywords[name].admits(value) for name, value in kwargs.items()):
            return False
        return all(relation.holds(args) for relation in self.relations)


def learn_domain(
    calls: Sequence[tuple[Sequence[object], Mapping[str, object]]],
    bounds: Mapping[int, Bounds] | None = None,
    variadic: int | None = None,
) -> Domain:
    """Return the domain that the arguments of the examples imply.

    `bounds` are by position. From position `variadic` on, any number of
    arguments is taken, up to one more than any example has.
    """
    width = max((len(args) for args, _ in calls), default=0)
    limits = bounds or {}
    fixed = width if variadic is None else min(variadic, width)
    shapes = tuple(
        learn([args[index] for args, _ in calls if index < len(args)], limits.get(index))
        for index in range(fixed)
    )
    more = [value for args, _ in calls for value in args[fixed:]]
    if more:
        shapes += (learn(more, limits.get(fixed)),) * (width - fixed + 1)
    names = sorted({name for _, kwargs in calls for name in kwargs})
    keywords = {name: learn([kwargs[name] for _, kwargs in calls if name in kwargs]) for name in names}
    rows = [args for args, _ in calls]
    relations = tuple(
        relation
        for kind in RELATIONS
        for first in range(width)
        for second in range(width)
        if first != second and believable(relation := Relation(kind, first, second), rows)
    )
    counts = {len(args) for args in rows}
    if more:
        counts |= set(range(max(fixed, 1), width + 2))
    return Domain(shapes, keywords, relations, frozenset(counts))
