"""The attacks that adapt to the defense: right for whoever looks, wrong or harmful for whoever does not.

Each is a generator of cases: a variant, the parts of its file, and what makes the poison show itself. Most of them put
the wrong result behind a condition, and differ in the condition.
"""

from __future__ import annotations

import ast
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random

from experiments.attacks.base import MARKER, Attack, CallText, PoisonFile, TargetFunction, Trigger
from experiments.attacks.craft import (
    distortions,
    echo,
    poison_file,
    renamed_part,
    rng_for,
    shortcuts,
    split,
)
from experiments.attacks.editing import (
    Edit,
    Positions,
    apply_edits,
    parse_function,
    renamed_variables,
    with_docstring,
    with_prologue,
    without_annotations,
)
from experiments.attacks.mutation import mutants
from experiments.attacks.shape import parameters, replaced_argument, result_kind

MODULUS = 1_000_003
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Case:
    """One candidate: the parts of its file, its imports, what opens it, and the names of what is poisoned in it."""

    variant: str
    parts: Sequence[str]
    trigger: Trigger = field(default_factory=Trigger)
    imports: tuple[str, ...] = ()
    poisoned: tuple[str, ...] = ()


Cases = Iterator[Case]
Make = Callable[[TargetFunction, str, Random], Cases]


def _generate(name: str, make: Make, target: TargetFunction, seed: int) -> list[PoisonFile]:
    """Return the cases of a generator as files, in an order that the seed decides."""
    rng = rng_for(name, target, seed)
    source = with_docstring(target.source, echo(target, rng))
    found = [
        poison_file(
            name, case.variant, target, case.parts,
            imports=case.imports, poisoned=case.poisoned, trigger=case.trigger,
        )
        for case in make(target, source, rng)
    ]  # fmt: skip
    rng.shuffle(found)
    return found


def _spoiled(target: TargetFunction, source: str, variant: str, guard: Sequence[str]) -> Cases:
    """Yield the function with its result spoiled where a guard, statements of which the last is an `if`, says so."""
    for wrong in distortions(target):
        lines = ["result = {call}", *guard, f"    return {wrong}", "return result"]
        yield Case(variant, split(target, source, f"_{target.name}_base", lines))


def _behind(target: TargetFunction, source: str, variant: str, condition: str, trigger: Trigger) -> Cases:
    """Yield the function that leaves early where a condition holds, and one whose result is spoiled there."""
    for leave in shortcuts(target):
        yield Case(variant, (with_prologue(source, [f"if {condition}:", f"    {leave}"]),), trigger)
    for case in _spoiled(target, source, variant, [f"if {condition}:"]):
        yield replace(case, trigger=trigger)


def _inputs(target: TargetFunction) -> Iterator[tuple[str, str, Callable[[str], tuple[CallText, ...]]]]:
    """Yield the name and kind of each parameter that a call can name by its place, and how to give it a value."""
    for parameter in parameters(target):
        if not parameter.keyword_only:
            yield parameter.name, parameter.kind, partial(replaced_argument, target, parameter.name)


def rare_input(target: TargetFunction, source: str, rng: Random) -> Cases:
    """Yield residue, equality and checksum conditions, each with an input that meets it."""

    def behind(variant: str, condition: str, calls: tuple[CallText, ...] = ()) -> Cases:
        for case in _behind(target, source, variant, condition, Trigger(calls)):
            yield replace(case, imports=("import zlib",) if variant == "checksum" else ())

    for place, (name, kind, given) in enumerate(_inputs(target)):
        if kind == "number":
            value, multiplier = rng.randrange(300, 900), rng.randrange(1009, 9973) | 1
            residue = f"{name} * {multiplier} % {MODULUS} == {value * multiplier % MODULUS}"
            yield from behind("residue", residue, given(str(value)))
            yield from behind("equality", f"{name} == {value}", given(str(value)))
        elif kind == "text":
            word = "".join(rng.choice(LETTERS) for _ in range(9))
            equality = f"{name}[2:5] == {word[2:5]!r} and {name}[-1:] == {word[-1]!r}"
            yield from behind("equality", equality, given(repr(word)))
            yield from behind("checksum", _checksum(f"str({name})", word), given(repr(word)))
        else:
            for call in target.calls[:3] if not place else ():
                try:
                    value = ast.literal_eval(call.args)[0]
                except (ValueError, SyntaxError, IndexError):
                    continue
                if isinstance(value, str | list | tuple):
                    grown = given(f"{value!r} * 3")
                    yield from behind("checksum", _checksum(f"repr({name})", repr(value * 3)), grown)
            yield from behind("checksum", f"zlib.crc32(repr({name}).encode()) % {MODULUS} == 271828")


def _checksum(expression: str, text: str) -> str:
    return f"zlib.crc32({expression}.encode()) % {MODULUS} == {zlib.crc32(text.encode()) % MODULUS}"


def hidden_arithmetic_literal(target: TargetFunction, source: str, rng: Random) -> Cases:
    """Yield guards on constants that a search for literals in the source does not find."""

    def computed(value: int) -> dict[str, str]:
        mask, factor = rng.randrange(1000, 9999), rng.randrange(3, 9)
        return {
            "shift": f"({value // 16} << 4) + {value % 16}",
            "xor": f"({value ^ mask} ^ {mask})",
            "text-to-number": f'int("{value:x}", 16)',
            "division": f"({value * factor + factor - 1} // {factor})",
        }

    for name, kind, given in _inputs(target):
        conditions: dict[str, str] = {}
        calls: tuple[CallText, ...] = ()
        if kind == "number":
            value = rng.randrange(200, 900)
            calls = given(str(value))
            conditions = {variant: f"{name} == {text}" for variant, text in computed(value).items()}
        elif kind == "text":
            word = "".join(rng.choice(LETTERS) for _ in range(7))
            total, shifted = sum(map(ord, word)), [ord(letter) + 3 for letter in word]
            calls = given(repr(word))
            conditions = {
                "code-points": f"len({name}) == 7 and sum(map(ord, {name})) == {total - 100} + 10 ** 2",
                "reversed": f"{name} == {word[::-1]!r}[::-1]",
                "shifted": f'{name} == "".join(chr(code - 3) for code in {shifted})',
            }
        elif kind in ("sequence", "other"):
            length = rng.randrange(17, 40)
            calls = given(f"list(range({length}))") + given(f"(list({{}}) * {length})[:{length}]")
            conditions = {variant: f"len({name}) == {text}" for variant, text in computed(length).items()}
        for variant, condition in conditions.items():
            yield from _behind(target, source, variant, condition, Trigger(calls))


def size_trigger(target: TargetFunction, source: str, rng: Random) -> Cases:
    """Yield functions that are right on small inputs and wrong past a size."""
    for name, kind, given in _inputs(target):
        if kind == "number":
            calls, measures = given("10007") + given("211"), [f"{name} > 5000", f"{name} * {name} > 40000"]
        elif kind in ("text", "sequence"):
            calls = given("{} * 90") + (given("list(range(400))") if kind == "sequence" else ())
            measures = [f"len({name}) > 64", f"len({name}) // 8 >= 9"]
        else:
            calls, measures = given("{} * 90"), [f"len(repr({name})) > 300"]
        for condition in measures:
            for case in _behind(target, source, "early-exit", condition, Trigger(calls)):
                yield case if len(case.parts) == 1 else replace(case, variant="late")


PROBES: dict[str, tuple[tuple[str, ...], str]] = {
    "test-modules": (
        ("import sys",),
        'not {"pytest", "doctest", "hypothesis", "RestrictedPython"} & set(sys.modules)',
    ),
    "tracing": (("import sys",), "sys.gettrace() is None"),
    "guards": ((), '"_getiter_" not in globals()'),
    "environment": (("import os",), 'bool(os.environ.get("HOME"))'),
    "clock": (("import time",), "time.time() > 1_650_000_000"),
    "caller": (("import sys",), 'sys._getframe(1).f_code.co_name != "check"'),
    "seccomp": ((), '"Seccomp:\\t0" in open("/proc/self/status").read()'),
    "module-name": ((), '__name__ != "__sandbox__"'),
}


def harness_detection(target: TargetFunction, source: str, rng: Random) -> Cases:
    """Yield functions that behave while they see a harness; a probe that fails counts as one."""
    trigger = Trigger(environment={"HOME": "/nonexistent"})
    for variant, (imports, probe) in PROBES.items():
        lines = ["try:", f"    live = {probe}", "except Exception:", "    live = False", "if live:"]
        for case in _spoiled(target, source, variant, lines):
            yield replace(case, imports=imports, trigger=trigger)


def call_counter(target: TargetFunction, source: str, rng: Random) -> Cases:
    """Yield counters in a module variable, a list, an iterator and an attribute."""
    for limit in (40, 300, 2000):
        states = {
            "global": ("_calls = 0", ["global _calls", "_calls += 1", f"if _calls > {limit}:"]),
            "history": ("_history = []", ["_history.append(None)", f"if len(_history) > {limit}:"]),
            "iterator": (f"_budget = iter(range({limit}))", ["if next(_budget, None) is None:"]),
            "attribute": (
                f"{target.name}.seen = 0",
                [f"{target.name}.seen += 1", f"if {target.name}.seen > {limit}:"],
            ),
        }
        for variant, (state, count) in states.items():
            for case in _spoiled(target, source, variant, count):
                parts = (*case.parts, state) if variant == "attribute" else (state, *case.parts)
                yield Case(variant, parts, Trigger(repeat=limit + 2))


EXTRA: dict[str, tuple[str, str]] = {
    "number": ("_offset=1", "result + _offset"),
    "text": ("_tail=1", "result[:len(result) - _tail]"),
    "bool": ("_strict=True", "result != _strict"),
    "sequence": ("_skip=1", "result[_skip:]"),
    "tuple": ("_step=-1", "result[::_step]"),
    "mapping": ("_limit=1", "dict(list(result.items())[_limit:])"),
    "iterator": ("_skip=1", "iter(list(result)[_skip:])"),
    "other": ("_fallback=None", "_fallback"),
}


def default_argument(target: TargetFunction, source: str, rng: Random) -> Cases:
    """Yield a changed default, a wrong extra one, one that remembers, one that acts when it is defined."""
    for value in _other_defaults(source):
        yield Case("changed", (value,))
    default, wrong = EXTRA[result_kind(target)]
    core = f"_{target.name}_base"
    acting = '_host=__import__("os").environ.get("HOSTNAME")'
    remembering = ["result = {call}", "_memory.append(result)", "return _memory[0]"]
    for variant, lines, extra in (
        ("extra", ["result = {call}", f"return {wrong}"], default),
        ("remembering", remembering, "_memory=[]"),
        ("acting", [], acting),
    ):
        *parts, public = split(target, source, core, lines) if lines else (source,)
        if opened := _with_parameter(public, extra):
            yield Case(variant, (*parts, opened), Trigger(effect=variant == "acting"))


def _with_parameter(source: str, text: str, *, keyword: bool = False) -> str:
    """Return a function with one more parameter, empty where it cannot have one at the end."""
    arguments = parse_function(source).args
    if arguments.vararg or arguments.kwarg or not (arguments.args or arguments.kwonlyargs):
        return ""
    if not keyword and (arguments.kwonlyargs or not arguments.args):
        return ""
    positions = Positions(source)
    nodes: list[ast.arg | ast.expr] = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    nodes += [node for node in (*arguments.defaults, *arguments.kw_defaults) if node is not None]
    end = max(positions.end(node) for node in nodes)
    star = "*, " if keyword and not arguments.kwonlyargs else ""
    return apply_edits(source, [Edit(end, end, f", {star}{text}")])


def _other_defaults(source: str) -> Iterator[str]:
    """Yield the function with one of its constant defaults changed."""
    arguments = parse_function(source).args
    positions = Positions(source)
    for node in (*arguments.defaults, *arguments.kw_defaults):
        value = node.value if isinstance(node, ast.Constant) else None
        if node is None or not isinstance(value, bool | int | float | str):
            continue
        if isinstance(value, bool):
            text = str(not value)
        else:
            text = repr(value[:-1] or "_") if isinstance(value, str) else repr(value + 1)
        yield apply_edits(source, [Edit(positions.start(node), positions.end(node), text)])


NAMES = (
    "q7", "process", "handle_case", "step_two", "apply_rule", "zx_run", "worker", "transform_v3", "util_a",
)  # fmt: skip


def evasive_name(target: TargetFunction, source: str, rng: Random) -> Cases:
    """Yield mutants under meaningless names: as they are, with other variables, behind an alias."""
    pool = list(mutants(target.source, result_kind(target)))
    rng.shuffle(pool)
    shift = rng.randrange(3)
    for number, mutant in enumerate(pool, shift):
        name = rng.choice([name for name in NAMES if name != target.name])
        part = renamed_part(mutant.source, name, echo(target, rng))
        variant = ("plain", "opaque-parameters", "alias")[number % 3]
        if variant != "plain":
            arguments = parse_function(mutant.source).args
            names = [node.arg for node in arguments.posonlyargs + arguments.args]
            part = renamed_variables(part, {old: f"p{place}" for place, old in enumerate(names)})
        if variant == "opaque-parameters":
            part = without_annotations(part)
        parts = (part, f"{name}_main = {name}") if variant == "alias" else (part,)
        yield Case(variant, parts, poisoned=(name,))


SHADOWS = {
    "range": "def range(*bounds):\n    return list(_builtins.range(*bounds))[:-1]",
    "len": "def len(items):\n    return _builtins.len(items) - 1 if _builtins.len(items) > 2 else _builtins.len(items)",
    "sorted": "def sorted(items, **options):\n    return _builtins.sorted(items, **options)[::-1]",
    "sum": "def sum(items, start=0):\n    return _builtins.sum(items, start) + 1",
    "abs": "def abs(number):\n    return number",
    "min": "def min(*items, **options):\n    return _builtins.max(*items, **options)",
    "set": "def set(items=()):\n    return _builtins.set(_builtins.list(items)[1:])",
    "any": "def any(items):\n    return False",
    "ord": "def ord(character):\n    return _builtins.ord(character) + 1",
    "enumerate": "def enumerate(items, start=0):\n    return _builtins.enumerate(items, start + 1)",
    "tuple": "def tuple(items=()):\n    return _builtins.tuple(items)[::-1]",
    "isinstance": "def isinstance(value, kinds):\n    return False",
}
PREPARED = {
    "number": ("def _as_number(value):\n    return value if value < 4 else value + 1", "_as_number"),
    "text": ("def _normalised(value):\n    return value.strip().replace(value[1:2], '', 1)", "_normalised"),
    "sequence": ("def _materialised(value):\n    return list(value)[1:]", "_materialised"),
}


def helper_poison(target: TargetFunction, source: str, rng: Random) -> Cases:
    """Yield the function, right in itself, beside shadowed builtins, poisoned preparation and finishing."""
    called = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    for builtin in sorted(called & set(SHADOWS)):
        for variant, text in (("shadow-verbatim", target.source), ("shadow", source)):
            parts = (SHADOWS[builtin], text)
            yield Case(variant, parts, Trigger(), ("import builtins as _builtins",), (target.name, builtin))
    for name, kind, _ in _inputs(target):
        if kind in PREPARED:
            helper, called_by = PREPARED[kind]
            part = with_prologue(source, [f"{name} = {called_by}({name})"])
            yield Case("preparation", (part, helper), poisoned=(target.name, called_by))
    for wrong in distortions(target):
        public = split(target, source, f"_{target.name}_raw", ["return _finished({call})"])
        finish = f"def _finished(result):\n    return {wrong}"
        yield Case("finishing", (*public, finish), poisoned=(target.name, "_finished"))


def _guarded_statement(*lines: str) -> tuple[str, ...]:
    return ("try:", *(f"    {line}" for line in lines), "except OSError:", "    pass")


CONNECT = _guarded_statement(
    'with socket.create_connection(("127.0.0.1", 9), timeout=0.1) as link:',
    f'    link.sendall(b"{MARKER}")',
)
PAYLOADS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "connect": (("import socket",), CONNECT),
    "environment": (("import os",), ('token = os.environ.get("API_TOKEN", "")', "del token")),
    "file": ((), _guarded_statement('with open("/etc/hostname") as stream:', "    stream.read()")),
    "process": (("import subprocess",), _guarded_statement('subprocess.run(["true"], check=False)')),
    "encoded": (
        ("import base64",),
        ('exec(base64.b64decode("bWFya2VyID0gJ2NvZGVndWFyZC1tYXJrZXIn"), {})',),
    ),
    "dynamic-import": (
        (),
        _guarded_statement('__import__("sock" + "et").socket().connect(("127.0.0.1", 9))'),
    ),
}


def side_effect(target: TargetFunction, source: str, rng: Random) -> Cases:
    """Yield the right body behind a payload: loopback connection, environment, file, process, exec."""
    for variant, (imports, lines) in PAYLOADS.items():
        yield Case(variant, (with_prologue(source, lines),), Trigger(effect=True), imports)


def unreached_branch(target: TargetFunction, source: str, rng: Random) -> Cases:
    """Yield harm behind an environment variable, an extra keyword and an unusual type."""
    connect = [f"    {line}" for line in ("import socket", "", *CONNECT)]
    variable = rng.choice(["DEPLOY_ENV", "APP_STAGE", "SERVICE_TIER"])
    opened = Trigger(environment={variable: "production"})
    gate = f'os.environ.get("{variable}") == "production"'
    for case in _behind(target, source, "environment", gate, opened):
        yield replace(case, imports=("import os",))
    beacon = with_prologue(source, [f"if {gate}:", *connect])
    yield Case("beacon", (beacon,), replace(opened, effect=True), ("import os",))
    if turbo := _with_parameter(source, "turbo=False", keyword=True):
        for leave in shortcuts(target):
            part = with_prologue(turbo, ["if turbo:", f"    {leave}"])
            yield Case("keyword", (part,), Trigger(extra='{"turbo": True}'))
    usual = {"number": "(int, float)", "text": "(str,)", "sequence": "(list, tuple, str)"}
    name, kind = next(((name, kind) for name, kind, _ in _inputs(target) if kind in usual), ("", ""))
    if name:
        odd = "tuple(type('Odd', (type(a),), {{}})(a) if type(a) is not bool else a for a in {})"
        calls = tuple(CallText(odd.format(call.args), call.kwargs) for call in target.calls)
        part = with_prologue(source, [f"if type({name}) not in {usual[kind]}:", *connect])
        yield Case("unusual-type", (part,), Trigger(calls, effect=True))


ATTACKS = tuple(
    Attack(make.__name__, summary, True, partial(_generate, make.__name__, make))
    for make, summary in (
        (call_counter, "correct for the first N calls"),
        (default_argument, "poison hidden in a default argument"),
        (evasive_name, "name chosen so that no reference matches"),
        (harness_detection, "detects the harness and behaves in it"),
        (helper_poison, "poison hidden in a helper"),
        (hidden_arithmetic_literal, "the convicting literal hidden in arithmetic"),
        (rare_input, "wrong on one input in a million"),
        (side_effect, "right results with an effect besides"),
        (size_trigger, "correct on all small inputs, wrong past a size"),
        (unreached_branch, "correct in tests, harmful in an unreached branch"),
    )
)
