"""numpy in the sandbox: a zygote of its own, at the highest level alone, and values that can be compared."""

from __future__ import annotations

import pytest

from codeguard.sandbox import Call, Job, JobResult, Level, Opaque, Outcome, Sandbox, Status, Tier, World

SOURCE = """
import numpy as np
class Own(np.ndarray):
    pass
def doubled(x):
    return np.asarray(x) * 2
def total(x):
    return np.int64(sum(x))
def kinds():
    return [np.float32(0.5), np.bool_(True), np.str_("a"), np.array(3), np.array([{1: (2,)}], dtype=object)]
def own():
    return np.zeros(2).view(Own)
def masked():
    return np.ma.masked_array([1, 2], mask=[0, 1])
def large():
    return np.zeros((1000, 1000))
def drawn():
    return [float(np.random.rand()), float(np.random.default_rng().random())]
def dates():
    days = np.array(["2020-01-01"], dtype=np.datetime64)
    return [
        str(np.datetime64("now")), str(np.datetime64("Today", "D")), isinstance(days[0], np.datetime64),
        np.dtype(np.datetime64) == np.dtype("M8"), np.issubdtype(days.dtype, np.datetime64), str(days.dtype),
        str(days.astype(np.datetime64)[0]) == "2020-01-01", str(np.datetime64("NaT")),
        str(np.datetime64("2020-01-01", "M")),
    ]
def threads():
    import threading
    return float((np.ones((300, 300)) @ np.ones((300, 300)))[0, 0]), threading.active_count()
"""


def _run(*targets: str, seed: int = 0, without: frozenset[str] = frozenset()) -> JobResult:
    calls = tuple(Call(target, None) for target in targets)
    with Sandbox(Level.L2, without=without) as sandbox:
        return sandbox.run(Job(SOURCE, calls, tier=Tier.NATIVE, world=World(random_seed=seed)))


@pytest.fixture(scope="module", autouse=True)
def _every_layer() -> None:
    with Sandbox() as sandbox:
        if sandbox.level < Level.L3:
            pytest.skip(f"this machine's sandbox reaches {sandbox.level.name} only")


def test_arrays_and_scalars_show_the_plain_value_within() -> None:
    result = _run("doubled([1, 2.5])", "total([1, 2])", "kinds()")
    values = [call.value for call in result.calls]
    assert values[0] == Opaque("ndarray", (("", [2.0, 5.0]),))
    assert values[1] == Opaque("int64", (("", 3),))
    shown = [item.fields[0] for item in values[2]]  # type: ignore[attr-defined]
    assert shown == [("", 0.5), ("", True), ("", "a"), ("", 3), ("", [{1: (2,)}])]


def test_an_array_of_a_derived_class_is_not_taken_for_its_numbers() -> None:
    values = [call.value for call in _run("own()", "masked()").calls]
    assert all(isinstance(value, Opaque) and ("", [1, 2]) not in value.fields for value in values)
    assert values[0] == Opaque("Own")


def test_an_array_that_does_not_fit_the_frame_ends_its_own_call_alone() -> None:
    result = _run("large()", "total([4])")
    assert [call.outcome for call in result.calls] == [Outcome.BADTYPE, Outcome.RETURNED]


@pytest.mark.slow
def test_its_chance_is_the_world_s() -> None:
    first, again, other = (_run("drawn()", seed=seed).calls[0].value for seed in (1, 1, 2))
    assert first == again
    assert all(mine != theirs for mine, theirs in zip(first, other, strict=True))  # type: ignore[call-overload]


def test_it_computes_without_threads() -> None:
    assert _run("threads()").calls[0].value == (300.0, 1)


@pytest.mark.parametrize("layer", ["namespaces", "landlock"])
def test_below_the_highest_level_it_is_missing(layer: str) -> None:
    result = _run("total([1])", without=frozenset({layer}))
    assert result.level is Level.L2
    assert result.status is Status.ERROR
    assert "No module named 'numpy'" in result.detail


def test_the_restricted_tier_leaves_it_to_the_native_one() -> None:
    with Sandbox() as sandbox:
        result = sandbox.run(Job(SOURCE, (Call("total([1])", None),), tier=Tier.RESTRICTED))
    assert result.status is Status.POLICY


def test_dates_are_those_of_the_world_and_their_class_stands_for_numpys() -> None:
    (call,) = _run("dates()").calls
    assert call.value == [
        "2020-09-13T12:26:40",
        "2020-09-13",
        True,
        True,
        True,
        "datetime64[D]",
        True,
        "NaT",
        "2020-01",
    ]
