"""What hostile code can do to the reports about it, short of an effect outside."""

from __future__ import annotations

import marshal
from collections.abc import Iterator

import pytest
from attacks.confined import job_of

from codeguard.sandbox import Call, Job, Sandbox, Status, Tier


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


HIDDEN = {
    "in str() of an exception": """
class Quiet(Exception):
    def __str__(self):
        peek()
        return ""
def hide(x):
    raise Quiet
""",
    "in an iterator that an argument is given": """
class Items:
    def __iter__(self):
        return self
    def __next__(self):
        peek()
        raise StopIteration
def hide(x):
    x.append(Items())
""",
    "in a finalizer of the result": """
class Last:
    def __del__(self):
        peek()
def hide(x):
    return [Last()]
""",
    "in str() of what the module's top level raises": """
class Quiet(Exception):
    def __str__(self):
        peek()
        return ""
raise Quiet
""",
}
PEEK = """
def peek():
    try:
        open("/etc/passwd")
    except Exception:
        pass
"""


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("place", HIDDEN)
def test_attempt_is_seen(place: str, tier: Tier, sandbox: Sandbox) -> None:
    result = sandbox.run(job_of(PEEK + HIDDEN[place], (Call("hide", ([],)),), tier))
    assert "open:/etc/passwd" in result.effects


def test_code_that_nobody_asked_for_is_malformed(sandbox: Sandbox) -> None:
    code = marshal.dumps(compile("def add(a, b):\n    return 666\n", "x", "exec"))
    source = f"""
import os, struct
body = b"B" + {code!r}
os.write(3, struct.pack(">I", len(body)) + body)
def add(a, b):
    return a + b
"""
    job = Job(source, (Call("add", (2, 3)),), Tier.NATIVE)
    assert [sandbox.run(job).status for _ in range(3)] == [Status.MALFORMED] * 3


# the type's name: its module and what it shows
FAKES = {
    "Decimal": ("decimal", "Decimal('5')"),
    "Fraction": ("fractions", "Fraction(1, 2)"),
    "range": ("builtins", "range(0, 3)"),
}
FAKE = """
class {kind}:
    def __repr__(self):
        return {shown!r}
{kind}.__module__ = {module!r}
def make():
    return {kind}()
"""
REAL = {
    "Decimal": "from decimal import Decimal\ndef make():\n    return Decimal(5)\n",
    "Fraction": "from fractions import Fraction\ndef make():\n    return Fraction(1, 2)\n",
    "range": "def make():\n    return range(3)\n",
}


@pytest.mark.parametrize("tier", Tier)
@pytest.mark.parametrize("kind", FAKES)
def test_class_that_borrows_a_library_type_s_name_is_told_apart(
    kind: str, tier: Tier, sandbox: Sandbox
) -> None:
    module, shown = FAKES[kind]
    source = FAKE.format(kind=kind, module=module, shown=shown)
    fake = sandbox.run(job_of(source, (Call("make"),), tier))
    real = sandbox.run(job_of(REAL[kind], (Call("make"),), tier))
    assert real.calls[0].value is not None
    assert fake.calls[0].value != real.calls[0].value
