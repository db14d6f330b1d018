"""First inputs for trusted functions without examples that work on numpy arrays."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from codeguard.behavior.inputs.discovery import NUMBERS, hinted_values
from codeguard.behavior.source.definitions import Definition, Parameter
from codeguard.behavior.specs.examples import Example

Kind = tuple[object, ...]

_VECTORS: Kind = ([1.5, 3.0, 2.25], [4.0, 0.5, 8.5], [-1.0, 2.0, 0.25])
_LONGER: Kind = ([1.5, 3.0, 2.25, 0.5], [4.0, 0.5, 4.0, 8.5], [-1.0, 2.0, 0.25, 7.0])
_WHOLE: Kind = ([3, 1, 2, 0], [0, 2, 1, 1], [5, 4, 5, 9])
_SQUARES: Kind = (
    [[1.5, 2.0, -3.0], [4.0, 0.5, 6.0], [7.0, 8.0, 9.5]],
    [[2.0, 0.0, 1.0], [1.0, 3.0, 2.5], [0.0, 1.0, 4.0]],
)
_POINTS: Kind = ([[1.0, 2.0], [3.5, 4.0], [0.0, -1.0]], [[5.0, 1.5], [2.0, 2.0], [1.0, 0.5]])
_ROWS: Kind = (
    [[1.0, 2.0, -1.0], [3.5, 4.0, 0.5], [0.0, -1.0, 6.0], [2.0, 0.5, 1.5]],
    [[5.0, 1.5, 0.0], [2.0, 2.0, 1.0], [1.0, 0.5, -3.0], [0.0, 1.0, 2.0]],
)
_TRANSFORMS: Kind = (
    [[1.0, 0.0, 0.0, 2.0], [0.0, 0.0, -1.0, 3.0], [0.0, 1.0, 0.0, 4.0], [0.0, 0.0, 0.0, 1.0]],
    [[2.0, 0.0, 1.0, 0.0], [0.0, 3.0, 0.0, 1.0], [1.0, 0.0, 1.0, 5.0], [0.0, 0.0, 0.0, 1.0]],
)
SINGLE = (_VECTORS, _LONGER, _WHOLE, _SQUARES, _POINTS, _ROWS, _TRANSFORMS)
MIXED = ((_ROWS, _VECTORS), (_VECTORS, _ROWS), (_SQUARES, _VECTORS), (_TRANSFORMS, _ROWS))
"""Kinds of the first array of a call and of those after it, beside those of one kind."""
CALLS = 6  # of a kind
MAX_PARAMETERS = 4
_HINTS = frozenset({"ndarray", "NDArray", "ArrayLike"})
_ARRAY: Kind = ()


def array_guesses(definition: Definition, source: str) -> Iterator[list[Example]]:
    """Yield groups of calls with arrays to try on a function whose source uses numpy, one group per kind.

    Arrays are passed for parameters annotated as arrays, and for parameters without an annotation,
    which may be numbers as well.
    """
    needed = [item for item in definition.parameters if item.required]
    if "numpy" not in source or len(needed) > MAX_PARAMETERS:
        return
    if any(item.kind != "positional" for item in needed):
        return
    for roles in itertools.product(*map(_roles, needed)):
        arrays = roles.count(_ARRAY)
        kinds = [(kind, kind) for kind in SINGLE if arrays] + [*MIXED] * (arrays > 1)
        for first, others in kinds:
            yield [_call(definition.name, roles, first, others, row) for row in range(CALLS)]


def _roles(parameter: Parameter) -> list[Kind]:
    """Return the kinds of values that a parameter may take, arrays among them."""
    if _HINTS.intersection(re.findall(r"\w+", parameter.annotation)):
        return [_ARRAY]
    values = hinted_values(parameter) or NUMBERS
    return [values] if parameter.annotation else [_ARRAY, values]


def _call(name: str, roles: Sequence[Kind], first: Kind, others: Kind, row: int) -> Example:
    values = []
    for place, role in enumerate(roles):
        kind = role or (others if _ARRAY in roles[:place] else first)
        value = repr(kind[(row + place) % len(kind)])
        values.append(value if role else f"numpy.array({value})")
    text = f"{name}({', '.join(values)})"
    return Example(None, {}, None, "", expression=text, setup="import numpy", callee=name)
