"""Poison in the default value of a parameter."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from experiments.attacks.base import PoisonFile, TargetFunction, Trigger
from experiments.attacks.craft import echo, poison_file, rng_for, split
from experiments.attacks.editing import Edit, Positions, apply_edits, parse_function, with_docstring
from experiments.attacks.shape import result_kind

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


class DefaultArgument:
    """The body is right for every caller who passes what nobody passes."""

    name: ClassVar[str] = "default_argument"
    summary: ClassVar[str] = "poison hidden in a default argument"
    adaptive: ClassVar[bool] = True

    def generate(self, target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
        """Return a wrong extra default, a changed default, one that remembers, one that acts when defined."""
        rng = rng_for(self.name, target, seed)
        source = with_docstring(target.source, echo(target, rng))
        found = _changed(target, source)
        default, wrong = EXTRA[result_kind(target)]
        core = f"_{target.name}_base"
        impl, public = split(target, source, core, ["result = {call}", f"return {wrong}"])
        found += _with_default(target, "extra", [impl], public, default)
        lines = ["result = {call}", "_memory.append(result)", "return _memory[0]"]
        impl, public = split(target, source, core, lines)
        found += _with_default(target, "remembering", [impl], public, "_memory=[]")
        expression = '_host=__import__("os").environ.get("HOSTNAME")'
        found += _with_default(target, "acting", [], source, expression, Trigger(effect=True))
        rng.shuffle(found)
        return found


def _with_default(
    target: TargetFunction,
    variant: str,
    parts: list[str],
    public: str,
    default: str,
    trigger: Trigger | None = None,
) -> list[PoisonFile]:
    arguments = parse_function(public).args
    if arguments.vararg or arguments.kwonlyargs or arguments.kwarg or not arguments.args:
        return []
    positions = Positions(public)
    nodes: list[ast.arg | ast.expr] = [*arguments.args, *arguments.defaults]
    end = max(positions.end(node) for node in nodes)
    opened = apply_edits(public, [Edit(end, end, f", {default}")])
    return [poison_file(DefaultArgument.name, variant, target, [*parts, opened], trigger=trigger)]


def _changed(target: TargetFunction, source: str) -> list[PoisonFile]:
    arguments = parse_function(source).args
    positions = Positions(source)
    found = []
    for node in (*arguments.defaults, *arguments.kw_defaults):
        if not isinstance(node, ast.Constant) or node.value is None:
            continue
        value = node.value
        if isinstance(value, bool):
            text = str(not value)
        elif isinstance(value, int | float):
            text = repr(value + 1)
        elif isinstance(value, str):
            text = repr(value[:-1] or "_")
        else:
            continue
        part = apply_edits(source, [Edit(positions.start(node), positions.end(node), text)])
        found.append(poison_file(DefaultArgument.name, "changed", target, [part]))
    return found


ATTACK = DefaultArgument()
