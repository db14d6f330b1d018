"""Real modules in a child: what it imports is looked up in a table, and no other module is to be had through it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from attacks.confined import job_of

from codeguard.sandbox import Call, Job, JobResult, Level, Limits, Outcome, Sandbox, Status, Tier
from codeguard.sandbox.jobs import MOST_CHARACTERS, MOST_MODULES
from codeguard.sandbox.model import Importable, ModuleText

PACKAGE = {
    "shop": ModuleText("from .cart import total\nRATE = 2\n", is_package=True),
    "shop.cart": ModuleText(
        "from . import prices\ndef total(x):\n    return prices.price(x) + prices.EXTRA\n"
    ),
    "shop.prices": ModuleText(
        "import shop\nEXTRA = 1\ndef price(x):\n    from .late import more\n    return shop.RATE * x + more()\n"
    ),
    "shop.late": ModuleText("def more():\n    return 100\n"),
    "shop.broken": ModuleText("def (:\n"),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1) as made:
        if made.level < Level.L2:
            pytest.skip(f"this machine's sandbox reaches {made.level.name} only")
        yield made


def job(
    modules: Mapping[str, ModuleText], name: str, *targets: str, is_trusted: bool = False, source: str = ""
) -> Job:
    """Return a job that imports a module and evaluates expressions among its names."""
    calls = tuple(Call(target, None) for target in targets)
    return Job(source, calls, Tier.IMPORTED, importing=Importable(name, modules, is_trusted))


def with_module(name: str, text: str) -> dict[str, ModuleText]:
    """Return the package with one more module, or another one under the name."""
    return {**PACKAGE, name: ModuleText(text)}


def shown(result: JobResult) -> list[object]:
    """Return the values of the calls, and the names of what was raised."""
    return [call.value if call.outcome is Outcome.RETURNED else call.exception[0] for call in result.calls]


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("from .cart import total\ndef f():\n    return total(3)\n", "f()", 107),
        ("import shop.cart as c\n", "c.total(3)", 107),
        ("from shop import *\n", "total(3)", 107),
        ("import importlib\nf = importlib.import_module('.la' + 'te', __package__).more\n", "f()", 100),
        ("from . import prices\nprices.EXTRA = 5\nfrom .cart import total\n", "total(3)", 111),
        ("globals()['made'] = lambda: 4\n", "made()", 4),
        ("class Base:\n    def f(self):\n        return __name__\n", "Base().f()", "shop.own"),
        ("", "__file__.endswith('/shop/own.py') and __loader__.__class__.__name__", "SourceFileLoader"),
        ("try:\n    from . import broken\nexcept SyntaxError:\n    broken = 'no'\n", "broken", "no"),
        ("import os\nCOUNT = len(os.sched_getaffinity(0))\n", "COUNT", 1),
        ("from typing_extensions import TypeIs\ndef f(x) -> TypeIs[int]:\n    return x\n", "f(4)", 4),
        ("try:\n    from ._fast import f\nexcept ImportError:\n    f = 'slow'\n", "f", "slow"),
    ],
)
def test_a_module_runs_as_its_importer_gets_it(
    text: str, target: str, expected: object, sandbox: Sandbox
) -> None:
    assert shown(sandbox.run(job(with_module("shop.own", text), "shop.own", target))) == [expected]


def test_the_source_of_the_job_is_executed_among_the_names_of_the_module(sandbox: Sandbox) -> None:
    added = "def twice(x):\n    return 2 * total(x)\n"
    assert shown(sandbox.run(job(PACKAGE, "shop.cart", "twice(3)", source=added))) == [214]


ABSENT = """
import nowhere.deep as deep, sys
from nowhere import Base, decorated
from . import _compiled
try:
    import other
except ImportError:
    other = None
@decorated(1)
def g():
    return 1
class A(Base):
    def f(self, x: Base | None = None):
        return 7
class Made(Base):
    pass
made = Made(1, size=2)
made.register(3)
def use():
    return deep.work(1)
"""


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("A().f()", 7),
        ("other", None),
        ("use()", "ModuleNotFoundError"),
        ("Made(1, size=2)", "ModuleNotFoundError"),
        ("g()", "ModuleNotFoundError"),
        ("_compiled.fast(1)", "ModuleNotFoundError"),
        ("isinstance(1, Base)", "ModuleNotFoundError"),
        ("__import__('elsewhere')", "ModuleNotFoundError"),
    ],
)
def test_a_module_that_is_not_to_be_had_can_be_held_and_not_used(
    target: str, expected: object, sandbox: Sandbox
) -> None:
    result = sandbox.run(job(with_module("shop.own", ABSENT), "shop.own", target))
    assert shown(result) == [expected]
    assert {"absent:nowhere", "absent:shop._compiled"} <= {*result.effects}


def test_what_stands_for_a_module_is_no_result(sandbox: Sandbox) -> None:
    result = sandbox.run(job(with_module("shop.own", ABSENT), "shop.own", "[Base]"))
    assert shown(result) == ["ModuleNotFoundError"]


def test_a_module_that_does_not_import_ends_the_job(sandbox: Sandbox) -> None:
    result = sandbox.run(job(with_module("shop.own", "from . import broken\n"), "shop.own", "f()"))
    assert (result.status, result.calls[0].outcome) == (Status.ERROR, Outcome.NOT_RUN)
    assert "invalid syntax" in result.detail


@pytest.mark.parametrize(
    ("name", "modules"),
    [
        ("os", {"os": ModuleText("")}),
        ("encodings.own", {"encodings.own": ModuleText("")}),
        ("numpy", {"numpy": ModuleText("")}),
        ("helper", {"helper": ModuleText("")}),
        ("shop", {**PACKAGE, "email": ModuleText("")}),
        ("shop", {**PACKAGE, "shop..cart": ModuleText("")}),
        ("shop", {**PACKAGE, "../shop": ModuleText("")}),
        ("shop", {**PACKAGE, "shop/cart": ModuleText("")}),
        ("shop", {**PACKAGE, "": ModuleText("")}),
        ("shop", {**PACKAGE, "other.part": ModuleText("")}),
        ("shop", {**PACKAGE, "shop.cart.part": ModuleText("")}),
        ("shop", {**PACKAGE, ".".join(["shop"] * 17): ModuleText("")}),
        ("shop.none", PACKAGE),
        ("shop", {"shop": PACKAGE["shop"], **{f"m{n}": ModuleText("") for n in range(MOST_MODULES)}}),
        ("shop", {"shop": ModuleText("#" * (MOST_CHARACTERS + 1), is_package=True)}),
    ],
)
def test_a_table_that_stands_for_other_modules_or_is_too_large_is_refused(
    name: str, modules: Mapping[str, ModuleText]
) -> None:
    with Sandbox(given=(("helper.py", "VALUE = 1\n"),)) as made:
        assert made.run(job(modules, name, "1")).status is Status.UNSUPPORTED


@pytest.mark.parametrize(("tier", "importing"), [(Tier.IMPORTED, False), (Tier.NATIVE, True)])
def test_only_the_tier_of_imported_modules_imports(tier: Tier, importing: bool, sandbox: Sandbox) -> None:
    asked = Job("", (), tier, importing=Importable("shop", PACKAGE) if importing else None)
    assert sandbox.run(asked).status is Status.UNSUPPORTED


def test_below_level_two_nothing_is_imported() -> None:
    with Sandbox(Level.L0, without=frozenset({"namespaces", "landlock"})) as reduced:
        result = reduced.run(job(PACKAGE, "shop", "total(3)"))
    assert result.status is Status.UNSUPPORTED
    assert "L2 is required" in result.detail


# What code asks of the finder, by any way that there is.
REQUESTS = {
    "a path": "__import__('/etc/passwd')",
    "a path of parts": "__import__('shop.../../../etc/passwd')",
    "a null": "__import__('shop.la\\0te')",
    "a file that is on the disk": "__import__('tabnanny')",
    "an importer of files": "__import__('importlib.machinery').machinery.PathFinder.find_spec('tabnanny').loader",
    "a module outside of the table": "__import__('shop.other')",
    "no text": "[item.find_spec(b'shop.late') for item in sys.meta_path][-1].loader",
    "a text of one's own": "[item.find_spec(type('T', (str,), {})('shop.late')) for item in sys.meta_path][-1].loader",
}


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_request_is_a_key_of_the_table_and_nothing_else(request_: str, sandbox: Sandbox) -> None:
    modules = with_module("shop.own", "import sys\n")
    (value,) = shown(sandbox.run(job(modules, "shop.own", REQUESTS[request_])))
    assert value in ("ModuleNotFoundError", "AttributeError", "ValueError", "TypeError")


def test_a_standard_module_and_a_given_one_come_before_the_table() -> None:
    table = "[item for item in sys.meta_path if type(item).__name__ == 'Table'][0]._modules"
    text = f"import sys\n{table}.update(helper=(False, None, 'VALUE = 2'), math=(False, None, 'pi = 3'))\n"
    with Sandbox(given=(("helper.py", "VALUE = 1\n"),)) as made:
        result = made.run(
            job(
                with_module("shop.own", text),
                "shop.own",
                "__import__('helper').VALUE",
                "__import__('math').pi",
            )
        )
    assert shown(result) == [1, pytest.approx(3.14159, rel=1e-5)]


# What a hostile module does to others in its child, so that the trusted one looks otherwise to the next check.
TAMPERING = {
    "the loaded module": "import shop.prices\nshop.prices.price = lambda x: 0\n",
    "the list of loaded modules": "import sys, types\nsys.modules['shop.prices'] = types.ModuleType('shop.prices')\n",
    "the table": "import sys\nfor one in sys.meta_path:\n    getattr(one, '_modules', {}).clear()\n",
    "the finders": "import sys\nsys.meta_path.clear()\n",
    "what compiles": "import builtins\nbuiltins.compile = lambda *a, **k: None\n",
    "what executes": "import builtins\nbuiltins.exec = lambda *a, **k: None\n",
    "what reads code": "import marshal\nmarshal.loads = lambda *a: None\n",
    "what imports": "import importlib\nimportlib.import_module = lambda *a: None\n",
    "the frames": "import os, marshal, struct\n"
    "body = b'B' + marshal.dumps(compile('def price(x):\\n    return 0\\n', 'x', 'exec'))\n"
    "os.write(3, struct.pack('>I', len(body)) + body)\n",
}


@pytest.mark.parametrize("act", TAMPERING)
def test_what_one_check_does_to_a_module_the_next_does_not_meet(act: str) -> None:
    hostile = with_module("shop.own", f"{TAMPERING[act]}\nfrom .cart import total\n")
    with Sandbox(workers=1) as made:
        for _ in range(2):
            made.run(job(hostile, "shop.own", "total(3)"))
        assert shown(made.run(job(PACKAGE, "shop.cart", "total(3)", is_trusted=True))) == [107]
        assert shown(made.run(job(PACKAGE, "shop.cart", "total(3)"))) == [107]


def test_code_compiled_beside_untrusted_modules_is_not_run_with_trusted_ones_alone() -> None:
    keys = [Importable("shop", PACKAGE, is_trusted).keys for is_trusted in (True, False)]
    assert keys[0].keys() == keys[1].keys() == PACKAGE.keys()
    assert not {*keys[0].values()} & {*keys[1].values()}


@pytest.mark.parametrize(
    "act",
    [
        "while True:\n    del sys.modules['shop.late']\n    import shop.late\n",
        "import shop.own\nfrom shop.own import own\n",
        "def f():\n    del sys.modules[__name__]\n    import shop.own\nf()\n",
        "while True:\n    pass\n",
        "x = [0] * 10**10\n",
        "sys.modules[__name__] = 7\n",
        "import os\nos._exit(0)\n",
    ],
)
def test_what_goes_on_at_import_ends(act: str, sandbox: Sandbox) -> None:
    asked = job(with_module("shop.own", f"import sys, shop.late\n{act}"), "shop.own", "1")
    result = sandbox.run(asked)
    assert result.status in (Status.ERROR, Status.TIMEOUT, Status.MEMORY, Status.NO_SIGNAL)
    assert result.calls[0].outcome is Outcome.NOT_RUN


@pytest.mark.parametrize("place", ["shop", "shop.prices", "shop.own"])
def test_what_a_module_attempts_at_import_is_seen_in_whichever_it_is(place: str, sandbox: Sandbox) -> None:
    peek = "try:\n    open('/etc/passwd')\nexcept OSError:\n    pass\n"
    modules = {**PACKAGE, "shop.own": ModuleText("from . import prices\n")}
    many = "".join(f"import {name}\n" for name in ("json", "csv", "email", "html") * 30)
    text = modules[place].source
    modules[place] = ModuleText(many + peek + text, is_package=place == "shop")
    assert "open:/etc/passwd" in sandbox.run(job(modules, "shop.own", "1")).effects


def test_a_result_that_the_module_writes_itself_is_not_taken(sandbox: Sandbox) -> None:
    text = """
import os, struct
for body in (b'["call","returned",7,null,[],"","",[]]', b'["end","completed","",[],null]'):
    os.write(3, struct.pack(">I", len(body)) + body)
"""
    result = sandbox.run(job(with_module("shop.own", text), "shop.own", "1 + 1", "2 + 2"))
    assert result.status is Status.MALFORMED


def test_a_source_alone_is_a_module_too(sandbox: Sandbox) -> None:
    result = sandbox.run(job_of("def f():\n    return __name__\n", (Call("f"),), Tier.IMPORTED, Limits()))
    assert shown(result) == ["attacked"]
