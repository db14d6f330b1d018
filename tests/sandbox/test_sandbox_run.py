"""What a job gives, in both tiers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from codeguard.sandbox import (
    Call,
    Iteration,
    Job,
    Level,
    Limits,
    Opaque,
    Outcome,
    Sandbox,
    Status,
    Tier,
    World,
)

TIERS = pytest.mark.parametrize("tier", [Tier.RESTRICTED, Tier.NATIVE])


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Level.L1) as made:
        yield made


MODULE = """
import collections, dataclasses, enum
from typing import Optional

@dataclasses.dataclass
class Point:
    x: int
    y: "str" = "a"
    _hidden: int = 3

class Color(enum.Enum):
    RED = 1

class MineError(ValueError):
    pass

Pair = collections.namedtuple("Pair", "left right")
count: int = 0

def add(a, b): return a + b
def append(items): items.append(1)
def key(): raise KeyError("k")
def mine(): raise MineError("m")
def leave(): raise SystemExit(3)
def say(text): print(text); return len(text)
def ask(): return input()
def upto(n):
    for i in range(n):
        yield i
def forever():
    while True:
        yield 1
def step():
    global count
    count += 1
    return count
def aug(d):
    d["k"] += 2
    return d
def outer():
    n = 0
    def inner():
        nonlocal n
        n += 1
        return n
    inner()
    return inner()
def shape(x):
    match x:
        case {"a": a, **rest}: return ("map", a, rest)
        case [first, *others]: return ("seq", first, others)
        case Point(x=1): return "point"
        case _: return None
def deep(): return deep()
def show(): return "{0.real:>3}|{k!r}".format(2, k="v")
def __private(): return 1
class Counter:
    def __init__(self): self.__n = 0; self._m = 1; self.total = 0
    def add(self): self.__n += 1; self.total += self.__n + self._m; return self
if __name__ == "__main__":
    raise SystemExit
"""

# The restricted tier has no dataclasses: they execute texts made of names.
PLAIN = """
class Point:
    def __init__(self, x, y="a"):
        self.x, self.y, self._hidden = x, y, 3
"""
BEFORE, _, AFTER = MODULE.partition("@dataclasses.dataclass")
MODULES = {Tier.NATIVE: MODULE, Tier.RESTRICTED: BEFORE + PLAIN + AFTER.partition("_hidden: int = 3")[2]}

CASES: list[tuple[Call, object]] = [
    (Call("add", (1, 2)), 3),
    (Call("add", (1,), {"b": 2.5}), 3.5),
    (Call("Point", (1,)), Opaque("Point", (("x", 1), ("y", "a")))),
    (Call("Color.RED", None), Opaque("Color", (("name", "RED"), ("value", 1)))),
    (Call("Pair", (1, 2)), Opaque("Pair", (("", (1, 2)),))),
    (Call("upto", (3,)), Iteration("generator", (0, 1, 2))),
    (Call("[x * x for x in upto(3)]", None), [0, 1, 4]),
    (Call("aug", ({"k": 1},)), {"k": 3}),
    (Call("outer", ()), 2),
    (Call("shape", ({"a": 1, "b": 2},)), ("map", 1, {"b": 2})),
    (Call("shape", ([1, 2, 3],)), ("seq", 1, [2, 3])),
    (Call("shape(Point(1))", None), "point"),
    (Call("show", ()), "  2|'v'"),
    (Call("p.x + n", None, setup="p = Point(4)\nn = 0\nfor i in range(3): n += i"), 7),
    (Call("Counter().add().add().total", None), 5),
    (Call("len", ([1, 2],)), 2),
    (Call("sorted", ([1, 3, 2],), {"reverse": True}), [3, 2, 1]),
    (Call("True", None), True),
    (Call("add", ("\ud800", "x")), "\ud800x"),
    (Call("add", (2**70, 1)), 2**70 + 1),
]


@TIERS
@pytest.mark.parametrize(("call", "expected"), CASES, ids=[case[0].target for case in CASES])
def test_a_call_returns_its_value(sandbox: Sandbox, tier: Tier, call: Call, expected: object) -> None:
    result = sandbox.run(Job(MODULES[tier], (call,), tier))
    assert result.status is Status.COMPLETED, result.detail
    assert result.calls[0].outcome is Outcome.RETURNED
    assert result.calls[0].value == expected
    assert type(result.calls[0].value) is type(expected)


@TIERS
@pytest.mark.parametrize(
    ("target", "names", "message"),
    [
        ("key", ("KeyError", "LookupError", "Exception", "BaseException"), "'k'"),
        ("mine", ("MineError", "ValueError", "Exception", "BaseException"), "m"),
        ("leave", ("SystemExit", "BaseException"), "3"),
        ("ask", ("EOFError", "Exception", "BaseException"), "EOF when reading a line"),
        ("nothing", ("NameError", "Exception", "BaseException"), "name 'nothing' is not defined"),
        ("deep", ("RecursionError", "RuntimeError", "Exception", "BaseException"), None),
    ],
)
def test_an_exception_shows_its_bases(
    sandbox: Sandbox, tier: Tier, target: str, names: tuple[str, ...], message: str | None
) -> None:
    (call,) = sandbox.run(Job(MODULES[tier], (Call(target),), tier)).calls
    assert call.outcome is Outcome.RAISED
    assert call.exception == names
    assert message is None or call.message == message


@TIERS
def test_calls_share_the_module_and_nothing_else(sandbox: Sandbox, tier: Tier) -> None:
    shared: list[object] = []
    calls = (
        Call("step"),
        Call("step"),
        Call("count", None),
        Call("append", (shared,)),
        Call("append", (shared,)),
        Call("own", None, setup="own = 1"),
        Call("own", None),
    )
    result = sandbox.run(Job(MODULES[tier], calls, tier))
    assert [call.value for call in result.calls[:3]] == [1, 2, 2]
    assert [call.args_after for call in result.calls[3:5]] == [([1],), ([1],)]
    assert [call.outcome for call in result.calls[5:]] == [Outcome.RETURNED, Outcome.RAISED]
    assert shared == []


@TIERS
def test_a_job_leaves_nothing_for_the_next(sandbox: Sandbox, tier: Tier) -> None:
    for _ in range(2):
        result = sandbox.run(Job(MODULES[tier], (Call("step"),), tier))
        assert result.calls[0].value == 1


@TIERS
def test_output_is_captured_a_call(sandbox: Sandbox, tier: Tier) -> None:
    result = sandbox.run(Job(MODULES[tier], (Call("say", ("one",)), Call("say", ("two",))), tier))
    assert [call.stdout for call in result.calls] == ["one\n", "two\n"]


@TIERS
@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("def f(:\n", Status.UNSUPPORTED),
        ("(" * 100_000, Status.UNSUPPORTED),
        ("raise ValueError('at import')", Status.ERROR),
        ("import not_there", Status.ERROR),
        ("def f(): return 1\n" + " " * 2_000_000, Status.UNSUPPORTED),
        ("\0", Status.UNSUPPORTED),
        ("def f(): return 'x' * 10**10", Status.MEMORY),
    ],
    ids=["syntax", "nesting", "raises", "missing module", "too long", "null", "memory"],
)
def test_how_a_job_can_end(sandbox: Sandbox, tier: Tier, source: str, status: Status) -> None:
    result = sandbox.run(Job(source, (Call("f"),), tier))
    assert result.status is status
    assert result.detail or status is Status.MEMORY
    assert sandbox.run(Job("def f(): return 1", (Call("f"),), tier)).calls[0].value == 1


@TIERS
def test_a_loop_is_cut_and_earlier_results_stay(sandbox: Sandbox, tier: Tier) -> None:
    source = "def f(n):\n    while n: pass\n    return n\n"
    limits = Limits(wall_s=0.3)
    result = sandbox.run(Job(source, (Call("f", (0,)), Call("f", (1,)), Call("f", (0,))), tier, limits))
    assert result.status is Status.TIMEOUT
    assert [call.outcome for call in result.calls] == [Outcome.RETURNED, Outcome.NOT_RUN, Outcome.NOT_RUN]


def test_cpu_time_has_a_limit_of_its_own(sandbox: Sandbox) -> None:
    limits = Limits(wall_s=20.0, cpu_s=1.0)
    result = sandbox.run(Job("def f():\n    while True: pass\n", (Call("f"),), limits=limits))
    assert result.status is Status.TIMEOUT
    assert "CPU" in result.detail


def test_a_value_beyond_the_frame_spoils_its_own_call_only(sandbox: Sandbox) -> None:
    source = "def f(n): return list(range(n))"
    result = sandbox.run(Job(source, (Call("f", (10**6,)), Call("f", (2,)))))
    assert [call.outcome for call in result.calls] == [Outcome.BADTYPE, Outcome.RETURNED]


def test_ending_the_process_is_no_result(sandbox: Sandbox) -> None:
    result = sandbox.run(Job("import os\ndef f(): os._exit(0)\n", (Call("f"),), Tier.NATIVE))
    assert result.status is Status.NO_SIGNAL
    assert result.calls[0].outcome is Outcome.NOT_RUN


WORLDLY = """
import time, datetime, random, os
def when(): return [time.time(), str(datetime.datetime.now()), str(datetime.date.today()), time.strftime("%Y")]
def chance(): return [random.random(), random.Random().random(), os.urandom(4)]
def place(): return os.environ.get("HOME")
def order(): return list({"alpha", "beta", "gamma", "delta", "epsilon"})
def nap():
    start = time.time()
    time.sleep(1000)
    return time.time() - start
"""


@TIERS
def test_a_world_repeats_and_another_differs(sandbox: Sandbox, tier: Tier) -> None:
    calls = tuple(Call(name) for name in ("when", "chance", "place", "order", "nap"))
    other = World(now=1e9, environment={"HOME": "/there"}, hash_seed=1, random_seed=1)
    first, again, elsewhere = (
        [call.value for call in sandbox.run(Job(WORLDLY, calls, tier, world=world)).calls]
        for world in (World(), World(), other)
    )
    assert first == again
    assert all(one != another for one, another in zip(first[:4], elsewhere[:4], strict=True))
    assert first[2] is None
    assert elsewhere[2] == "/there"
    assert elsewhere[0][1].startswith("2001-09-09")  # type: ignore[index]
    assert first[4] == elsewhere[4] >= 1000  # type: ignore[operator]


EFFECTS = [
    ("open('/etc/passwd')", "open:/etc/passwd"),
    ("__import__('socket').create_connection(('127.0.0.1', 9))", "resolve:127.0.0.1"),
    ("__import__('socket').socket().connect(('127.0.0.1', 9))", "import:socket"),
    ("__import__('subprocess').run(['true', 'now'])", "exec:true now"),
    ("__import__('os').system('true')", "exec:true"),
    ("__import__('os').fork()", "fork"),
    ("__import__('os').kill(1, 9)", "kill:1"),
    ("__import__('os').environ['SECRET']", "env:SECRET"),
    ("__import__('os').listdir('/')", "list:/"),
    ("__import__('os').remove('/x')", "delete:/x"),
    ("__import__('time').time()", "clock"),
    ("__import__('numpy')", "import:numpy"),
    ("input()", "stdin"),
    ("eval('1')", "exec-code"),
]


@pytest.mark.parametrize(("expression", "effect"), EFFECTS)
def test_an_attempt_is_noted(sandbox: Sandbox, expression: str, effect: str) -> None:
    source = f"def f():\n    try:\n        {expression}\n    except Exception as error:\n        return repr(error)\n"
    result = sandbox.run(Job(source, (Call("f"),), Tier.NATIVE))
    assert effect in result.effects, (result.effects, result.calls)


def test_what_calls_do_is_told_from_what_the_module_does(sandbox: Sandbox) -> None:
    source = "import os\nos.getenv('A')\nos.getenv('B')\ndef f():\n    os.getenv('B')\n    open('x', 'w').close()\n"
    result = sandbox.run(Job(source, (Call("f"),), Tier.NATIVE))
    assert result.called == ("env:B", "write:x")
    assert {"env:A", *result.called} < set(result.effects)


REPLACING = {
    "json.loads = str": "replace:json.loads",
    "builtins.isinstance = builtins.len = str": "replace:builtins.len",
    "sys.modules['hashlib'] = None": "replace:hashlib",
}


@pytest.mark.parametrize("statement", REPLACING)
def test_what_is_replaced_is_noted_and_given_back(sandbox: Sandbox, statement: str) -> None:
    source = f"import builtins, json, sys\ndef f():\n    {statement}\n    return [1]\n"
    result = sandbox.run(Job(source, (Call("f"), Call("f")), Tier.NATIVE))
    assert REPLACING[statement] in result.called


def test_ordinary_code_attempts_nothing(sandbox: Sandbox) -> None:
    result = sandbox.run(Job("def f(x): return sorted(x)\n", (Call("f", ([2, 1],)),), Tier.NATIVE))
    assert result.effects == ()


@TIERS
def test_coverage_of_one_function(sandbox: Sandbox, tier: Tier) -> None:
    source = "def g(): return 1\n\ndef f(x):\n    if x > 1:\n        return 1\n    for i in range(2):\n        x += i\n    return x\n"  # noqa: E501
    result = sandbox.run(Job(source, (Call("f", (1,)), Call("g")), tier, trace="f"))
    assert result.coverage is not None
    assert result.coverage.executable == {4, 5, 6, 7, 8}
    assert result.coverage.reached == {4, 6, 7, 8}
    assert result.coverage.arcs == {(-3, 4), (4, 6), (6, 7), (7, 6), (6, 8), (8, -3)}
    assert sandbox.run(Job(source, (Call("f", (1,)),), tier)).coverage is None


@pytest.mark.parametrize(
    ("job", "word"),
    [
        (Job("", (Call("f", (object(),)),)), "plain"),
        (Job("", (), world=World(hash_seed=-1)), "hash seed"),
        (Job("x = 1", (Call("not (a call"),)), "parse"),
    ],
)
def test_a_job_that_cannot_be_sent_is_unsupported(sandbox: Sandbox, job: Job, word: str) -> None:
    result = sandbox.run(job)
    assert result.status is Status.UNSUPPORTED
    assert word in result.detail
