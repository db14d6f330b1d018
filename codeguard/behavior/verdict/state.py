"""Check whether a function is still right when it is called repeatedly and in other orders.

Poisoned code can count its calls and turn wrong after the tests. A counter can be hidden in more
places than a list of names could cover. So every candidate is repeated unless its source has nowhere to keep
anything.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Sequence

from codeguard.behavior.source.definitions import parse_or_none
from codeguard.behavior.verdict.comparison import CaseResult, compare_results, wrong_results
from codeguard.behavior.verdict.profiles import random_for
from codeguard.behavior.verdict.running import Batch, CallRunner, Steps

# Of the built-in names, those that reach what is outside of a call; an address shows how much was allocated before.
_REACHING = """
breakpoint compile delattr eval exec exit getattr globals help id input locals open print quit setattr vars
__import__ __loader__ __build_class__ __debug__
"""
_COMPUTING = frozenset(dir(builtins)) - frozenset(_REACHING.split())
_PLAIN = (str, bytes, int, float, complex, list, tuple, dict, set, frozenset)
_METHODS = frozenset(name for kind in _PLAIN for name in dir(kind) if not name.startswith("_"))
_OUTWARD = (
    *(ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Await, ast.With),
)
COMPUTING_MODULES = frozenset({"itertools", "math"})  # compiled ones, which lead to no other module
REPEATS = 4_000
SHUFFLED = 400  # repetitions of all calls, each in another order
NAMED = 3  # the smallest calls, repeated for the rest of the budget


def changed_by_repetition(
    runner: CallRunner, agreed: Sequence[CaseResult], seed: bytes
) -> Steps[list[CaseResult]]:
    """Return the results that become wrong when agreeing calls are repeated in fresh processes.

    Empty if the source is known to keep no state between calls. Calls that exceed the time limit of
    one child are left out.
    """
    # The sandbox keeps only so much output of one process, so that what prints is not compared.
    chosen = sorted((item for item in agreed if not item.answer.stdout), key=lambda item: item.size)
    if not chosen or is_self_contained(runner.runnable.source):
        return []
    named = chosen[:NAMED] * ((REPEATS - SHUFFLED) // min(NAMED, len(chosen)))
    mixed = chosen * (SHUFFLED // len(chosen) + 1)
    random_for(seed, "repeated", runner.runnable.source).shuffle(mixed)
    batches = [Batch(tuple(item.case.call for item in items)) for items in (mixed, named)]
    results = yield from runner.run(*batches, patient=False)
    answers = (answer for result in results for answer in result.calls)
    # Comparing four thousand answers takes seconds; nearly all are what they were.
    changed = [
        (item.case, answer)
        for item, answer in zip((*mixed, *named), answers, strict=True)
        if answer != item.answer
    ]
    return wrong_results(compare_results([case for case, _ in changed], [answer for _, answer in changed]))


def is_self_contained(source: str) -> bool:
    """Return whether a source can read nothing but its arguments and has no place that outlives a call.

    It consists of functions over plain values, immutable constants and imports of modules that compute. Nothing in it
    can tell a test from any other call, or reach what records its coverage.
    """
    tree = parse_or_none(source)
    if tree is None:
        return False
    functions: list[ast.FunctionDef] = []
    known: set[str] = set()
    modules: set[str] = set()
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(decorator_list=[]):
                functions.append(statement)
                known.add(statement.name)
            case ast.Import(listed) if all(item.name in COMPUTING_MODULES for item in listed):
                modules.update(item.asname or item.name for item in listed)
            case ast.ImportFrom(module=name, level=0) if name in COMPUTING_MODULES:
                known.update(item.asname or item.name for item in statement.names)
            case ast.ImportFrom(module="__future__") | ast.Expr(ast.Constant()):
                pass
            case ast.Assign([ast.Name(name)], value) if _is_immutable(value):
                known.add(name)
            case _:
                return False
    return all(_only_computes(function, known, modules) for function in functions)


def _only_computes(function: ast.FunctionDef, known: Collection[str], modules: Collection[str]) -> bool:
    """Return whether a function uses plain values, `known` names and what it reads of `modules`, and nothing else.

    Such a function calls none of its arguments, imports nothing and yields nothing.
    """
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    bound = {item.arg for item in ast.walk(function) if isinstance(item, ast.arg)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}

    def fits(node: ast.AST) -> bool:
        match node:
            case ast.Name(name):
                return name in bound or name in _COMPUTING or name in known or name in modules
            case ast.Attribute(ast.Name(name), ctx=ast.Load()) if name in modules:
                return True
            case ast.Attribute(_, attribute, ctx):
                return isinstance(ctx, ast.Load) and attribute in _METHODS
            case ast.Call(ast.Name(name)):
                return name not in bound
            case ast.Assert(test):  # python -O leaves it out with what it does
                return not any(isinstance(part, ast.NamedExpr | ast.Attribute) for part in ast.walk(test))
        return not isinstance(node, _OUTWARD)

    defaults = (*function.args.defaults, *function.args.kw_defaults)
    return all(map(fits, nodes)) and all(item is None or _is_immutable(item) for item in defaults)


def _is_immutable(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return all(map(_is_immutable, node.elts))
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
    )
