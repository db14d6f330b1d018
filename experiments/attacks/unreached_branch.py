"""Correct in tests, harmful in a branch that tests do not reach."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import ClassVar

from experiments.attacks.base import MARKER, CallText, PoisonFile, TargetFunction, Trigger
from experiments.attacks.craft import echo, guarded, poison_file, rng_for, shortcuts
from experiments.attacks.editing import (
    Edit,
    Positions,
    apply_edits,
    parse_function,
    with_docstring,
    with_prologue,
)
from experiments.attacks.shape import parameters

CONNECT = (
    "    import socket",
    "",
    "    try:",
    '        with socket.create_connection(("127.0.0.1", 9), timeout=0.1) as link:',
    f'            link.sendall(b"{MARKER}")',
    "    except OSError:",
    "        pass",
)


class UnreachedBranch:
    """Harm behind an environment variable, an extra keyword or an unusual type."""

    name: ClassVar[str] = "unreached_branch"
    summary: ClassVar[str] = "correct in tests, harmful in an unreached branch"
    adaptive: ClassVar[bool] = True

    def generate(self, target: TargetFunction, seed: int) -> Sequence[PoisonFile]:
        """Return the three kinds of branch, each with what opens it."""
        rng = rng_for(self.name, target, seed)
        source = with_docstring(target.source, echo(target, rng))
        found = []
        variable = rng.choice(["DEPLOY_ENV", "APP_STAGE", "SERVICE_TIER"])
        opened = Trigger(environment={variable: "production"})
        gate = f'os.environ.get("{variable}") == "production"'
        for leave in shortcuts(target):
            part = guarded(target, source, gate, leave)
            found.append(
                poison_file(self.name, "environment", target, [part], imports=["import os"], trigger=opened)
            )
        part = with_prologue(source, [f"if {gate}:", *CONNECT])
        found.append(
            poison_file(
                self.name,
                "beacon",
                target,
                [part],
                imports=["import os"],
                trigger=Trigger(environment=opened.environment, effect=True),
            )
        )
        found += _keyword(target, source)
        found += _type(target, source)
        rng.shuffle(found)
        return found


def _keyword(target: TargetFunction, source: str) -> list[PoisonFile]:
    arguments = parse_function(source).args
    if arguments.kwarg or arguments.vararg or not (arguments.args or arguments.kwonlyargs):
        return []
    everything = arguments.posonlyargs + arguments.args
    star = "" if arguments.kwonlyargs else "*, "
    nodes: list[ast.arg | ast.expr] = [*everything, *arguments.kwonlyargs]
    nodes += [node for node in (*arguments.defaults, *arguments.kw_defaults) if node is not None]
    positions = Positions(source)
    end = max(positions.end(node) for node in nodes)
    opened = apply_edits(source, [Edit(end, end, f", {star}turbo=False")])
    return [
        poison_file(
            UnreachedBranch.name,
            "keyword",
            target,
            [guarded(target, opened, "turbo", leave)],
            trigger=Trigger(extra='{"turbo": True}'),
        )
        for leave in shortcuts(target)
    ]


def _type(target: TargetFunction, source: str) -> list[PoisonFile]:
    found = []
    for parameter in parameters(target):
        if parameter.kind in ("number", "text", "sequence") and not parameter.keyword_only:
            usual = {"number": "(int, float)", "text": "(str,)", "sequence": "(list, tuple, str)"}[
                parameter.kind
            ]
            condition = f"type({parameter.name}) not in {usual}"
            part = with_prologue(source, [f"if {condition}:", *CONNECT])
            found.append(
                poison_file(UnreachedBranch.name, "unusual-type", target, [part], trigger=_unusual(target))
            )
            break
    return found


def _unusual(target: TargetFunction) -> Trigger:
    calls = []
    for call in target.calls:
        wrapped = (
            f"tuple(type('Odd', (type(a),), {{}})(a) if type(a) is not bool else a for a in {call.args})"
        )
        calls.append(CallText(wrapped, call.kwargs))
    return Trigger(tuple(calls), effect=True)


ATTACK = UnreachedBranch()
