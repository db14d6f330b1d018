"""Frames that a hostile child may write: the host reads them all and believes none too much."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeguard.sandbox import decoding
from codeguard.sandbox.inside import wire

MERSENNE = 2**61 - 1  # integers that differ by it have the same hash


def call(value: object) -> list[object]:
    return ["call", "returned", value, None, [], "", "", []]


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = ["l", value]
    return value


def read(frame: object) -> object:
    body = frame if isinstance(frame, bytes) else json.dumps(frame).encode()
    return decoding.calls_and_end([body], [(1,)])


HOSTILE = {
    "not JSON": b"\xff",
    "not an array": {"a": 1},
    "a number": 7,
    "empty": [],
    "unknown frame": ["surprise"],
    "tag of a list": call([["l"], 5]),
    "tag unknown": call(["?", 5]),
    "object where a value stands": call({"a": 1}),
    "set of lists": call(["s", ["l"]]),
    "set of an instance with a list": call(["s", ["o", "x", "field", ["l"]]]),
    "dict with a key twice": call(["d", 1, 1, 1, 2]),
    "dict without a value": call(["d", 1]),
    "dict with a list as a key": call(["d", ["l"], 3]),
    "call without its end": ["call", "returned", 1],
    "files without content": ["call", "returned", 1, None, [], "", "", [["a"]]],
    "files that hold numbers": ["call", "returned", 1, None, [], "", "", [["a", 1]]],
    "arguments that are no tuple": ["call", "returned", 1, 5, [], "", "", []],
    "outcome unknown": ["call", "believed", 1, None, [], "", "", []],
    "outcome of the host": ["call", "not_run", None, None, [], "", "", []],
    "outcome that cannot be hashed": ["call", [], 1, None, [], "", "", []],
    "names of an exception that are no texts": ["call", "raised", None, None, [1], "", "", []],
    "text of broken utf-8": call(["u", "ff"]),
    "odd hexadecimal": call(["b", "abc"]),
    "infinite float as a number": b'["call","returned",1e999,null,[],"","",[]]',
    "NaN as a number": b'["call","returned",NaN,null,[],"","",[]]',
    "integer longer than its form": b'["call","returned",' + b"9" * 5000 + b',null,[],"","",[]]',
    "deeper than the limit": call(nested(400)),
    "brackets without end": b"[" * 200_000,
    "iterator with too many items": call(["g", "x", True, *[1] * 5000]),
    "end without its end": ["end", "completed"],
    "end with effects as a number": ["end", "completed", "", 7, None],
    "end with arcs of one": ["end", "completed", "", [], [[1], [2], [3]]],
    "end with effects as an object": ["end", "completed", "", {"a": 1}, None],
    "end with coverage as an object": ["end", "completed", "", [], {"a": 1}],
    "end with lines that are texts": ["end", "completed", "", [], [["a"], [], []]],
    "end with arcs of three": ["end", "completed", "", [], [[], [], [[1, 2, 3]]]],
    "integers that collide": call(["s", *(["i", hex(k * MERSENNE)] for k in range(1, 5000))]),
    "complex keys that collide": call(
        ["d", *(x for k in range(5000) for x in (["c", -1000003.0 * k, float(k)], 1))]
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_frame_against_the_protocol_is_malformed(name: str) -> None:
    with pytest.raises(decoding.MalformedError):
        read(HOSTILE[name])


def test_deep_value_is_malformed_where_the_application_left_little_stack() -> None:
    body = json.dumps(call(nested(120))).encode()

    def sink(depth: int) -> object:
        return read(body) if depth == 0 else sink(depth - 1)

    def lowest(depth: int) -> int:
        try:
            return lowest(depth + 1)
        except RecursionError:
            return depth

    with pytest.raises(decoding.MalformedError):
        sink(lowest(0) - 100)


def test_second_answer_to_a_call_is_malformed() -> None:
    body = json.dumps(call(1)).encode()
    with pytest.raises(decoding.MalformedError):
        decoding.calls_and_end([body, body], [(1,)])


def test_frame_after_the_end_is_malformed() -> None:
    end = json.dumps(["end", "completed", "", [], None]).encode()
    with pytest.raises(decoding.MalformedError):
        decoding.calls_and_end([end, end], [])


def test_length_beyond_the_output_leaves_the_frame_out() -> None:
    assert decoding.complete_frames(b"\xff\xff\xff\xff1") == []
    assert decoding.complete_frames(wire.frame(b"1") + b"\0\0\0\5abc") == [b"1"]


def test_colliding_keys_are_refused_before_they_cost_quadratic_time() -> None:
    values = call(["s", *(["i", hex(k * MERSENNE)] for k in range(1, 200_000))])
    body = json.dumps(values).encode()
    # putting these into a set would take minutes
    with pytest.raises(decoding.MalformedError):
        decoding.calls_and_end([body], [(1,)])


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(list("ltszdogcifbu")),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=30,
)


@pytest.mark.slow
@given(JSON, JSON, JSON, JSON)
def test_no_frame_raises_anything_else(first: object, second: object, third: object, fourth: object) -> None:
    for frame in (
        [first, second, third, fourth],
        call(first),
        ["call", "raised", first, second, third, fourth, "", []],
        ["call", "returned", 1, None, [], "", "", first],
        ["end", "completed", first, second, third],
    ):
        try:
            read(frame)
        except decoding.MalformedError:
            continue


@given(st.binary())
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    for body in [data, *decoding.complete_frames(data)]:
        try:
            decoding.calls_and_end([body], [(1,)])
        except decoding.MalformedError:
            continue
