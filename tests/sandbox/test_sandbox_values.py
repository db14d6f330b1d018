"""What crosses the border: values come back with their exact types."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeguard.sandbox import decoding
from codeguard.sandbox.inside import wire
from codeguard.sandbox.inside.codec import Encoder, TooLargeError, types_by_repr
from codeguard.sandbox.model import Iteration, Opaque

pytestmark = pytest.mark.ci

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**4000), 2**4000),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters(exclude_categories=())),
    st.binary(),
)
HASHABLE = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.text(), st.binary()), lambda inner: st.lists(inner).map(tuple)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(HASHABLE, inner),
        st.sets(HASHABLE),
        st.frozensets(HASHABLE),
    ),
    max_leaves=20,
)


def there_and_back(value: object) -> object:
    return decoding.value(json.loads(json.dumps(Encoder(1 << 20, types_by_repr()).encode(value))))


def same(left: object, right: object) -> bool:
    """Equal, of the same exact types all the way down, dict order included, nan equal to nan."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))  # type: ignore[arg-type]
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))  # type: ignore[attr-defined]
    if isinstance(left, float):
        return repr(left) == repr(right)
    if isinstance(left, complex):
        return repr(left) == repr(right)
    if isinstance(left, set | frozenset):
        return left == right and sorted(map(repr, left)) == sorted(map(repr, right))  # type: ignore[arg-type]
    return left == right


@pytest.mark.slow
@given(VALUES)
def test_plain_values_survive_exactly(value: object) -> None:
    assert same(there_and_back(value), value)


class Point:
    __slots__ = ("_hidden", "x")

    def __init__(self, x: object) -> None:
        self.x = x
        self._hidden = 1


class Words(list[str]):
    pass


def squares() -> object:
    yield from (1, 4)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Point(1), Opaque("Point", (("x", 1),))),
        (Words(["a"]), Opaque("Words", (("", ["a"]),))),
        (range(3), Opaque("range", (("repr", "range(0, 3)"),))),
        (int, Opaque("type", (("name", "int"),))),
        (len, Opaque("builtin_function_or_method", (("name", "len"),))),
        (ValueError("no"), Opaque("ValueError", (("args", ("no",)),))),
        ({1: 2}.keys(), Opaque("dict_keys", (("", [1]),))),
        (squares(), Iteration("generator", (1, 4))),
        (iter([1]), Iteration("list_iterator", (1,))),
        (bytearray(b"a"), Opaque("bytearray", (("", b"a"),))),
        ({Point}, Opaque("set", (("", [Opaque("type", (("name", "Point"),))]),))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_values_are_shown_by_type_and_public_fields(value: object, expected: object) -> None:
    assert there_and_back(value) == expected


def test_an_endless_iterator_ends_at_the_cap() -> None:
    import itertools

    found = there_and_back(itertools.repeat(1))
    assert isinstance(found, Iteration)
    assert len(found.items) == wire.MAX_ITEMS
    assert not found.exhausted


def test_a_value_within_itself_is_a_cycle() -> None:
    value: list[object] = []
    value.append(value)
    assert there_and_back(value) == [Opaque("<cycle>")]


@pytest.mark.parametrize("value", [list(range(100)), "x" * 2000, b"x" * 1000, 1 << 10000, {"k": "v" * 900}])
def test_a_value_beyond_the_budget_is_refused(value: object) -> None:
    with pytest.raises(TooLargeError):
        Encoder(500, types_by_repr()).encode(value)


@pytest.mark.parametrize(
    ("value", "is_plain"),
    [
        (None, True),
        ([1, ({2: b"x"},)], True),
        (math.nan, True),
        (object(), False),
        ([object()], False),
        ({1: len}, False),
    ],
)
def test_only_plain_arguments_go_in(value: object, is_plain: bool) -> None:
    assert decoding.allowed_as_argument(value) is is_plain


def test_an_argument_that_contains_itself_is_not_plain() -> None:
    value: list[object] = []
    value.append(value)
    assert not decoding.allowed_as_argument(value)


def test_values_are_written_as_a_reader_would_and_never_as_a_terminal_acts_on_them() -> None:
    point = Opaque("Point", (("x", 1), ("y", Opaque("Decimal", (("repr", "Decimal('1.5')"),)))))
    assert repr([point]) == "[Point(x=1, y=Decimal('1.5'))]"
    assert repr(Iteration("map", (1, 2), exhausted=False)) == "map of [1, 2, ...]"
    for shown in (
        Opaque("a\x1b[2J"),
        Opaque("a", (("repr", "\n\u202e"),)),
        Opaque("a", (("b\r", 1),)),
        Iteration("\x00", ()),
    ):
        assert repr(shown).isprintable()
