"""Other names for what a top-level statement takes from its module, so that two modules can be put into one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Mapping, Set
from weakref import WeakKeyDictionary

from codeguard.analysis.python.bindings import bindings, name_bound_by
from codeguard.behavior.source.definitions import Function
from codeguard.behavior.source.names import names_used_on_execution

Names = Mapping[str, str]
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_mentioned: WeakKeyDictionary[ast.stmt, frozenset[str]] = WeakKeyDictionary()
_made: WeakKeyDictionary[ast.stmt, dict[frozenset[tuple[str, str]], ast.stmt]] = WeakKeyDictionary()


class RenamingError(ValueError):
    """A name cannot be replaced without changing what the code does."""


def mentioned_names(statement: ast.stmt) -> frozenset[str]:
    """Return all names that a statement binds or uses in any scope, without attributes and parameters."""
    if statement not in _mentioned:
        _mentioned[statement] = frozenset(
            name for node in ast.walk(statement) for name in _names_of(node) if name
        )
    return _mentioned[statement]


def _names_of(node: ast.AST) -> Iterable[str | None]:
    match node:
        case ast.Name():
            return (node.id,)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.ExceptHandler():
            return (node.name,)
        case ast.MatchAs() | ast.MatchStar():
            return (node.name,)
        case ast.MatchMapping():
            return (node.rest,)
        case ast.alias():
            return (name_bound_by(node),)
        case ast.Global():
            return node.names
    return ()


def renamed(statement: ast.stmt, names: Names) -> ast.stmt:
    """Return a top-level statement with names of its module replaced; the same statement each time.

    A name that a function or a comprehension binds itself is another one and stays, as attributes, parameters
    and keywords do.

    Raises:
        RenamingError: a name means two things in a class, an import cannot be given another name, or the
            statement is nested too deeply.
    """
    key = frozenset((name, names[name]) for name in mentioned_names(statement) & names.keys())
    if not key:
        return statement
    made = _made.setdefault(statement, {})
    if key not in made:
        try:
            changed = _Renamer(dict(key)).of(statement, dict(key), dict(key))
        except RecursionError:
            raise RenamingError("nested too deeply") from None
        assert isinstance(changed, ast.stmt)
        # Another object in any case: a dictionary with weak keys must not hold its own key.
        made[key] = changed if changed is not statement else copy.copy(statement)
    return made[key]


class _Renamer:
    """Makes trees with other names, scope by scope; what stays as it is belongs to both trees."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def of(self, node: ast.AST, here: Names, inner: Names) -> ast.AST:
        """Return a node with other names: those of `here`, and in the functions inside of it those of `inner`.

        They differ in the body of a class, whose own names its methods do not see.
        """
        match node:
            case ast.Name(id=name):
                return _with(node, id=here[name]) if name in here else node
            case ast.alias():
                return self._of_alias(node, here)
            case ast.Global(names=names):
                return _with(node, names=[self._names.get(name, name) for name in names])
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                return self._of_function(node, here, inner)
            case ast.ClassDef():
                return self._of_class(node, here, inner)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return self._of_comprehension(node, here, inner)
        made = _with_children(node, lambda child: self.of(child, here, inner))
        match node:
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                return _with(made, name=here[name]) if name in here else made
            case ast.MatchMapping(rest=str(name)):
                return _with(made, rest=here[name]) if name in here else made
        return made

    def _of_alias(self, node: ast.alias, here: Names) -> ast.AST:
        bound = name_bound_by(node)
        if bound not in here:
            return node
        if "." in node.name and not node.asname:
            raise RenamingError(node.name)
        return _with(node, asname=here[bound])

    def _of_function(self, node: Function | ast.Lambda, here: Names, inner: Names) -> ast.AST:
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
        found = bindings(body)
        parameters = {item.arg for item in ast.walk(node.args) if isinstance(item, ast.arg)}
        own = _without(inner, (found.bound - found.declared_global) | parameters)
        own.update((name, self._names[name]) for name in found.declared_global & self._names.keys())
        inside = {id(item) for item in body}
        made = _with_children(
            node,
            lambda child: self.of(child, own, own) if id(child) in inside else self.of(child, here, inner),
        )
        name = getattr(node, "name", "")
        return _with(made, name=here[name]) if name in here else made

    def _of_class(self, node: ast.ClassDef, here: Names, inner: Names) -> ast.AST:
        """Return a class with other names: what its statements use is the module's until they bind it."""
        inside: dict[int, ast.AST] = {}
        free = inner
        for item in node.body:
            bound = bindings([item]).bound
            rest = _without(free, bound)
            if isinstance(item, ast.Assign | ast.AnnAssign):
                inside[id(item)] = self._of_assignment(item, free, rest, inner)
            elif clash := bound & names_used_on_execution(item) & free.keys():
                raise RenamingError(min(clash))
            else:
                inside[id(item)] = self.of(item, rest, inner)
            free = rest
        made = _with_children(node, lambda child: inside.get(id(child)) or self.of(child, here, inner))
        return _with(made, name=here[node.name]) if node.name in here else made

    def _of_assignment(
        self, node: ast.Assign | ast.AnnAssign, used: Names, bound: Names, inner: Names
    ) -> ast.AST:
        return _with_children(
            node, lambda child: self.of(child, used if child is node.value else bound, inner)
        )

    def _of_comprehension(self, node: Comprehension, here: Names, inner: Names) -> ast.AST:
        targets = [item for loop in node.generators for item in ast.walk(loop.target)]
        own = _without(inner, {item.id for item in targets if isinstance(item, ast.Name)})
        first = node.generators[0].iter

        def of_part(child: ast.AST) -> ast.AST:
            if isinstance(child, ast.comprehension):
                return _with_children(child, of_part)
            return self.of(child, here, inner) if child is first else self.of(child, own, own)

        return _with_children(node, of_part)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    made = type(node).__new__(type(node))
    made.__dict__.update(node.__dict__, **fields)
    return made


def _with_children(node: ast.AST, of: Callable[[ast.AST], ast.AST]) -> ast.AST:
    """Return a node with other children, or the node itself if none of them is another one."""
    changed: dict[str, object] = {}
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            made = of(value)
            if made is not value:
                changed[name] = made
        elif isinstance(value, list):
            items = [of(item) if isinstance(item, ast.AST) else item for item in value]
            if any(new is not old for new, old in zip(items, value, strict=True)):
                changed[name] = items
    return _with(node, **changed) if changed else node


def _without(names: Names, hidden: Set[str]) -> dict[str, str]:
    return {name: new for name, new in names.items() if name not in hidden}
