"""What crosses the border: values come back with their exact types, hostile frames as MALFORMED."""

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


@pytest.mark.slow
@given(st.binary() | VALUES.map(lambda value: json.dumps(repr(value)).encode()))
def test_any_bytes_decode_or_are_malformed(output: bytes) -> None:
    for body in [output, *decoding.complete_frames(output)]:
        try:
            decoding.calls_and_end([body], [None])
        except decoding.MalformedError:
            continue


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)
TAGGED = st.recursive(
    st.sampled_from(
        ["l", "t", "s", "z", "d", "o", "g", "i", "f", "b", "u", "c", "call", "end", None, 1, 1.5, True]
    ),
    lambda inner: st.lists(inner, max_size=8),
)


@pytest.mark.slow
@given(st.one_of(JSON, TAGGED, st.lists(TAGGED, min_size=1).map(lambda rest: ["call", "returned", *rest])))
def test_any_json_decodes_or_is_malformed(found: object) -> None:
    body = json.dumps(found).encode()
    try:
        decoding.calls_and_end([body], [None])
    except decoding.MalformedError:
        return


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
    "form",
    [
        '["call", "returned", ["l", 1e999], null, [], "", ""]',
        '["call", "returned", NaN, null, [], "", ""]',
        '["call", "returned", 123456789012345678901234567890, null, [], "", ""]',
        '["call", "returned", {"a": 1}, null, [], "", ""]',
        '["call", "returned", ["d", 1], null, [], "", ""]',
        '["call", "returned", ["d", 1, 2, 1, 3], null, [], "", ""]',
        '["call", "returned", ["d", ["l"], 3], null, [], "", ""]',
        '["call", "returned", ["q"], null, [], "", ""]',
        '["call", "not_run", null, null, [], "", ""]',
        '["call", "passed", null, null, [], "", ""]',
        '["call", "returned", 1, ["l", 1], [], "", ""]',
        '["call", "returned", 1]',
        '["end", "completed"]',
        '["end", "completed", "", [], [[1], [2], [3]]]',
        '["end", "completed", "", 7, null]',
        "[" * 5000 + "]" * 5000,
        "[]",
        "7",
    ],
)
def test_forms_outside_the_protocol_are_malformed(form: str) -> None:
    with pytest.raises(decoding.MalformedError):
        decoding.calls_and_end([form.encode()], [()])


def test_frames_leaves_an_incomplete_one_out() -> None:
    whole = wire.frame(b"[1]")
    assert decoding.complete_frames(whole + wire.frame(b"[2]")[:-1]) == [b"[1]"]
    assert decoding.complete_frames(b"\xff\xff\xff\xff" + b"x") == []


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
