"""The function itself is right; what it leans on is poisoned."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from experiments.attacks.base import PoisonFile, TargetFunction
from experiments.attacks.craft import distortions, echo, poison_file, rng_for, split
from experiments.attacks.editing import with_docstring, with_prologue
from experiments.attacks.shape import parameters

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


class HelperPoison:
    """A poisoned helper, a shadowed builtin or a post-processing step beside correct text."""

    name: ClassVar[str] = "helper_poison"
    summary: ClassVar[str] = "poison hidden in a helper"
    adaptive: ClassVar[bool] = True

    def generate(self, target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
        """Return a verbatim copy among shadowed builtins, poisoned preparation, poisoned finishing."""
        rng = rng_for(self.name, target, seed)
        source = with_docstring(target.source, echo(target, rng))
        called = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
        found = []
        for builtin in sorted(called & set(SHADOWS)):
            for variant, text in (("shadow-verbatim", target.source), ("shadow", source)):
                parts = [SHADOWS[builtin], text]
                imports = ["import builtins as _builtins"]
                file = poison_file(
                    self.name, variant, target, parts, imports=imports, poisoned=[target.name, builtin]
                )
                found.append(file)
        for parameter in parameters(target):
            if parameter.kind in PREPARED and not parameter.keyword_only:
                helper, name = PREPARED[parameter.kind]
                part = with_prologue(source, [f"{parameter.name} = {name}({parameter.name})"])
                poisoned = [target.name, name]
                found.append(poison_file(self.name, "preparation", target, [part, helper], poisoned=poisoned))
        for wrong in distortions(target):
            finish = f"def _finished(result):\n    return {wrong}"
            parts = [*split(target, source, f"_{target.name}_raw", ["return _finished({call})"]), finish]
            file = poison_file(self.name, "finishing", target, parts, poisoned=[target.name, "_finished"])
            found.append(file)
        rng.shuffle(found)
        return found


ATTACK = HelperPoison()
