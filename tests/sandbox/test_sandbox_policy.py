"""What the restricted tier's compiler accepts and what it refuses, and what its guards do when run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from codeguard.sandbox import Call, Job, Level, Sandbox, Status, Tier
from codeguard.sandbox.inside.policy import compile_restricted

ACCEPTED = [
    "d[k] += 1",
    "self.n -= 2",
    "x: int = 3",
    "def f():\n    n = 0\n    def g():\n        nonlocal n\n        n = 1\n",
    "match x:\n    case {'a': a, **rest}: pass\n    case [b, *c]: pass\n    case int(d) | str(d): pass\n",
    "_private = 1",
    "obj._field",
    "class A:\n    __slots__ = ('a',)\n    def __init__(self): super().__init__()\n    def __add__(self, o): return self\n",  # noqa: E501
    "class A(metaclass=B): pass",
    "def f():\n    yield 1\n    x = yield from g()\n",
    "async def f():\n    async with a as b: await c\n    return [x async for x in y]\n",
    "if __name__ == '__main__': main()",
    "__all__ = ['a']",
    "f'{x!r:>{width}}'",
    "(y := 1)",
    "def f(a, /, b, *, c=1, **k): return lambda *z: z",
    "a, (b, *c) = d",
    "for a, (b, c) in d: pass",
    "with a as (b, c): pass",
    "try:\n    pass\nexcept (A, B) as e:\n    raise C from e\nelse: pass\nfinally: pass\n",
    "print(x, end='')",
    "type(self).__name__",
    "@functools.wraps(f)\ndef g(*a): return a\n",
    "x[1:2, ...]",
    "from math import *",
    "import collections.abc as abc",
    "self.__dict__",
    "{**a, 'b': 1}; [*a]; f(*a, **b)",
    "del d[k], obj.x",
    "global_name = lambda: (yield)",
]

# what a function may contain as long as it is not run
REFUSED_WHEN_RUN = [
    "().__class__.__base__",
    "().__class__.__mro__",
    "x.__subclasses__()",
    "f.__globals__",
    "f.__code__",
    "f.__closure__",
    "print.__self__",
    "f.__builtins__",
    "__builtins__[0]",
    "eval('1')",
    "exec('1')",
    "compile('1', '', 'eval')",
    "__import__('os')",
    "locals()",
    "globals()",
    "breakpoint()",
    "import os.path as p, subprocess; subprocess.run",
    "from subprocess import run; run()",
    "import ctypes; isinstance(1, ctypes)",
    "e.__traceback__.tb_frame",
    "x.__reduce_ex__(2)",
    "object.__getattribute__(x, 'y')",
    "x.__loader__",
    "A.mro()",
    "x.__class__ = 1",
    "x.__globals__ = 1",
    "del f.__code__",
    "g.gi_frame",
    "g.gi_code",
    "c.cr_frame.f_back",
    "f.f_globals",
    "from math import __loader__; __loader__()",
    "import ctypes\nclass A(ctypes): pass",
    "from math import pi as p, __loader__ as q; q.x",
    "object.__getstate__(str)",
    "from contextlib import redirect_stdout",
    "import dataclasses; dataclasses.dataclass",
]

REFUSED_AT_ONCE = [
    "match x:\n    case object(__class__=c): pass\n",
    "match x:\n    case object(_module=c): pass\n",
    "match x:\n    case Point(a, b): pass\n",
    "try:\n    pass\nexcept* ValueError: pass\n",
    "def f(__builtins__): pass",
    "import math as __builtins__",
    "from subprocess import *",
    "_getattr_ = 1",
    "def _refuse_(): pass",
]


@pytest.mark.parametrize("source", ACCEPTED)
def test_ordinary_python_is_accepted(source: str) -> None:
    code, reasons = compile_restricted(source, "<test>")
    assert reasons == []
    assert code is not None


@pytest.mark.parametrize("source", REFUSED_AT_ONCE)
def test_the_interpreters_insides_are_refused_with_a_line(source: str) -> None:
    code, reasons = compile_restricted(source, "<test>")
    assert code is None
    assert all(reason.startswith("Line ") for reason in reasons)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Level.L1) as made:
        yield made


@pytest.mark.parametrize("statements", REFUSED_WHEN_RUN)
def test_a_refused_expression_is_a_policy_verdict_where_it_is_reached(
    sandbox: Sandbox, statements: str
) -> None:
    body = statements.replace("\n", "\n    ")
    names = "x = f = e = g = c = A = None\n"
    source = f"{names}def reached():\n    try:\n        pass\n    finally:\n        pass\n    {body}\ndef other(): return 1\n"  # noqa: E501
    reached, other = (sandbox.run(Job(source, (Call(name),))) for name in ("reached", "other"))
    assert reached.status is Status.POLICY
    assert reached.detail
    assert (other.status, other.calls[0].value) == (Status.COMPLETED, 1)


GUARDED = [
    "'{0.__class__.__mro__}'.format(1)",
    "str.format('{0.__class__.__base__}', 1)",
    "'{x.__globals__}'.format_map({'x': f})",
    "getattr(f, '__globals__')",
    "getattr(f, ''.join(['__glo', 'bals__']))",
    "type('S', (str,), {})('{0.__class__.__mro__}').format(1)",
    "operator.attrgetter('__class__.__mro__')(1)",
    "operator.methodcaller('__subclasses__')(object)",
    "warnings.catch_warnings()._module",
    "type(type).__dict__",
    "vars(object)",
    "vars(enum.Enum)",
    "enum.Enum.__dict__",
    "enum.property",
    "setattr(1, '__class__', int)",
    "string.Formatter()",
    "typing.get_type_hints(f)",
    "sys.modules",
    "os.system",
    "io.open",
    "functools.singledispatch",
    "collections.UserString('{0.__class__.__mro__}').format(1)",
    "collections.UserString.format(collections.UserString('{0.__class__.__mro__}'), 1)",
    "functools.wraps(f, assigned=('__globals__',))(f)",
    "functools.wraps(f, updated=('__globals__',))(f)",
    "functools.wraps(f, assigned=('__class__',))(f)",
    "enum.global_enum",
    "getattr(enum.Enum, '_convert_')",
    "getattr(typing.Optional['x'].__args__[0], '_evaluate')",
]


@pytest.mark.parametrize("expression", GUARDED)
def test_what_the_guards_refuse_when_run_is_a_policy_verdict(sandbox: Sandbox, expression: str) -> None:
    names = "operator, warnings, string, typing, sys, os, io, functools, collections, enum"
    source = f"import {names}\ndef f():\n    return {expression}\n"
    result = sandbox.run(Job(source, (Call("f"),)))
    assert result.status is Status.POLICY, result


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("'{:>3}|{0!r}|{1[a]}'.replace('{:>3}|', '').format(1, {'a': 2})", "1|2"),
        ("'{a}'.format_map({'a': 1})", "1"),
        ("operator.attrgetter('real', 'imag')(1 + 2j)", (1.0, 2.0)),
        ("getattr(1, 'nothing', 5)", 5),
        ("hasattr([], 'append')", True),
        ("sys.maxsize > 0", True),
        ("os.path.join('a', 'b')", "a/b"),
        ("io.StringIO('a').read()", "a"),
        ("type(operator).__name__", "Facade"),
        ("collections.UserString('{}{a[0]}').format(1, a=[2])", "12"),
        ("collections.UserString('{a}').format_map({'a': 1})", "1"),
        ("functools.wraps(len)(lambda x: x).__name__", "len"),
        ("functools.wraps(functools.partial(int, base=2))(lambda x: 5)(1)", 5),
        ("functools.wraps(int)(lambda x: x).__wrapped__('7')", 7),
        ("functools.update_wrapper(lambda x: x, wrapped)('a'), wrapped.tag", ("a", 1)),
        ("functools.wraps(wrapped)(lambda x: x).tag", 1),
        ("functools.cache(int)('7')", 7),
        ("functools.cache(wrapped).tag", 1),
        ("property(lambda s: s).__get__(3)", 3),
        ("staticmethod(len).__get__(None, int)('ab')", 2),
        ("wrapped.__get__(3).__self__ if False else wrapped.__getstate__()", {"tag": 1}),
        ("functools.wraps(wrapped, assigned=['__doc__'])(lambda x: x).__doc__", "says"),
    ],
)
def test_guards_and_facades_do_their_ordinary_work(
    sandbox: Sandbox, expression: str, expected: object
) -> None:
    wrapped = "def wrapped():\n    'says'\nwrapped.tag = 1\n"
    names = "operator, sys, os, io, collections, functools"
    source = f"import {names}\n{wrapped}def f():\n    return {expression}\n"
    result = sandbox.run(Job(source, (Call("f"),)))
    assert result.calls[0].value == expected, result


@pytest.mark.parametrize("statement", ["operator.add = 1", "del operator.add", "operator.new = 1"])
def test_facades_are_frozen(sandbox: Sandbox, statement: str) -> None:
    result = sandbox.run(Job(f"import operator\n{statement}\n", ()))
    assert (result.status, result.detail) == (Status.POLICY, "refused when run: a change of operator")


@pytest.mark.parametrize("statement", ["from .math import pi", "from . import math"])
def test_a_relative_import_finds_no_package(sandbox: Sandbox, statement: str) -> None:
    result = sandbox.run(Job(f"{statement}\n", ()))
    assert result.status is Status.ERROR
    assert "no known parent package" in result.detail


def test_the_native_tier_runs_what_the_policy_refuses(sandbox: Sandbox) -> None:
    source = "def f(): return ().__class__.__base__.__name__"
    restricted, native = (
        sandbox.run(Job(source, (Call("f"),), tier)) for tier in (Tier.RESTRICTED, Tier.NATIVE)
    )
    assert restricted.status is Status.POLICY
    assert native.calls[0].value == "object"


@pytest.mark.parametrize("name", ["posix", "_socket", "_ast", "urllib", "encodings"])
def test_what_a_loaded_module_is_made_of_is_for_the_native_tier(sandbox: Sandbox, name: str) -> None:
    source = f"import {name}\ndef f(): return {name}.__name__"
    restricted, native = (
        sandbox.run(Job(source, (Call("f"),), tier)) for tier in (Tier.RESTRICTED, Tier.NATIVE)
    )
    assert restricted.status is Status.POLICY
    assert native.calls[0].value == name
