"""What an importer of a module gets under a name, decided from its syntax.

The text of a function is what an importer gets only if nothing else in the file binds its name, and nothing that
the file runs on import can write to its namespace in another way: through `globals()`, `sys.modules`, `exec`,
`setattr`, a function's `__code__`. Where that is not certain, there is a reason instead of an answer. What other
modules change when they import this one is not examined.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import os
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from codeguard.corpus import syntax

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
MOST_CHARACTERS = 2_000_000
UNPARSED = "a part of the file does not parse"
_PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
_MAIN_TESTS = ("__name__ == '__main__'", "'__main__' == __name__")
_RUNNING = {"sys.version_info": tuple(sys.version_info), "sys.platform": sys.platform, "os.name": os.name}
_TYPES_ONLY = frozenset({"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"})
_OVERLOADS = frozenset({"typing.overload", "typing_extensions.overload"})
_ACCESSORS = frozenset({"setter", "getter", "deleter"})
_PROPERTIES = frozenset({"property", "functools.cached_property", "abc.abstractproperty"})
_RECEIVERS = frozenset({"self", "cls", "mcs", "mcls", "metacls"})
# Attributes that decide what a function, a class or a module does.
_DECIDING = frozenset(
    """
    __bases__ __builtins__ __call__ __class__ __code__ __closure__ __defaults__ __dict__ __getattr__
    __getattribute__ __globals__ __kwdefaults__ f_builtins f_globals f_locals
    """.split()  # noqa: SIM905 - words read better as words
)
_NAMESPACES = frozenset({"__builtins__", "__globals__", "f_builtins", "f_globals", "f_locals"})
_READERS = frozenset({"copy", "get", "items", "keys", "values"})
_MEMORY = frozenset(
    {"ctypes.cast", "ctypes.memmove", "ctypes.memset", "ctypes.py_object", "ctypes.pythonapi"}
    | {"gc.get_objects", "gc.get_referents", "gc.get_referrers"}
)
_POWERFUL = frozenset({"builtins", "ctypes", "gc", "importlib", "inspect", "runpy", "sys"})
_POWERS = frozenset(
    "__dict__ __import__ _getframe eval exec globals import_module locals modules setattr vars".split()  # noqa: SIM905
)
_SETTERS = frozenset({"setattr", "delattr"})
_UNBOUND_SETTERS = {
    "__setattr__": 3,
    "__delattr__": 2,
}  # with the number of arguments where no object is bound
_CODE = frozenset({"exec", "eval", "runpy.run_path", "runpy.run_module", "code.interact"})
_INSPECTING = frozenset({"dir", "getattr", "hasattr", "id", "isinstance", "repr", "str", "type"})
_IMPORTING = frozenset({"__import__", "importlib.import_module", "importlib.__import__"})
_BUILTINS = frozenset(dir(builtins))
_TYPE_TESTS = frozenset({"isinstance", "issubclass"})


class Names(NamedTuple):
    """The names that code binds in its scope, and those that it declares to be the module's."""

    bound: set[str]
    declared_global: set[str]


def bindings(nodes: Iterable[ast.AST]) -> Names:
    """Return the names that these nodes bind in the scope in which they stand."""
    found = Names(set(), set())
    for name, _ in _bound(nodes, found.declared_global):
        found.bound.add(name)
    return found


def _bound(nodes: Iterable[ast.AST], declared: set[str]) -> Iterator[tuple[str, ast.AST]]:
    """Yield each name that these nodes bind, with the node that does; add what they declare to be the module's."""
    pending = list(nodes)
    while pending:
        node = pending.pop()
        children: Iterable[ast.AST] = ast.iter_child_nodes(node)
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node
                children = [item for item in children if not isinstance(item, ast.stmt)]
            case ast.Lambda():
                children = [node.args]
            case ast.comprehension():
                children = [node.iter, *node.ifs]  # the targets are its own
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name, node
            case ast.alias():
                yield name_bound_by(node), node
            case (
                ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ):
                yield name, node
            case ast.MatchMapping(rest=str(name)):
                yield name, node
            case ast.Global(names=names):
                declared.update(names)
        pending.extend(children)


def name_bound_by(alias: ast.alias) -> str:
    """Return the name that a part of an import binds; `*` for all."""
    return alias.asname or alias.name.partition(".")[0]


def is_main_guard(statement: ast.stmt) -> bool:
    """Return whether a statement runs only if its file is the program, and nothing else if it is not."""
    return (
        isinstance(statement, ast.If)
        and not statement.orelse
        and isinstance(statement.test, ast.Compare)
        and ast.unparse(statement.test).replace('"', "'") in _MAIN_TESTS
    )


@dataclass(frozen=True, slots=True)
class Write:
    """A place that changes what a name means, or may change what any name means; lines are 1-based."""

    line: int
    what: str
    of_receiver: bool = False  # `self.name = ...`: of objects of the class around it alone
    is_star: bool = False
    in_call: bool = False  # in a function that runs when the module is imported
    of_object: bool = False  # of no class as far as the text shows, so that a property's setter is called

    def outside(self, lines: range) -> bool:
        """Return whether it is not in these lines."""
        return self.line not in lines


class ModuleBindings:
    """The bindings of one module, computed once for all of its functions.

    Args:
        statements: the top-level statements.
        whole: whether they are the whole file.
    """

    def __init__(self, statements: Sequence[ast.stmt], *, whole: bool = True) -> None:
        self._whole = whole
        self._all = statements
        self._meanings: Mapping[str, str] | None = None
        self._imports = _imported(statements)
        self._statements = [item for item in statements if not is_main_guard(item)]
        self._scopes: dict[int, Mapping[str, list[ast.AST]]] = {}
        self._writes: _Writes | None = None

    def why_unsettled(
        self, symbol: str, lines: range, used: Collection[str] = (), included: Collection[range] | None = None
    ) -> str:
        """Return why an importer may get something else under a name than the text in these lines; "" if not.

        Args:
            symbol: the qualified name of a function or class; "" for all names that the lines bind.
            lines: the lines of the text, 1-based. What stands in them is part of it.
            used: names that the text needs.
            included: the lines of those top-level statements whose effects on `used` are known. None if the names
                have to be bound once.
        """
        if not self._whole:
            return UNPARSED
        writes = self._writes = self._writes or _Writes(self._statements, self._imports)
        first = min(
            [
                lines.start,
                *(_line(node) for name in used for node in self._scope(None).get(name, ()) if _defines(node)),
            ]
        )
        for write in writes.anywhere:
            if write.outside(lines) and not (write.is_star and write.line < first):
                return _said("may replace any name", write)
        parts = symbol.split(".") if symbol else self._names_in(lines)
        for place, name in enumerate(parts):
            reason = self._of_name(parts[:place] if symbol else (), name, lines, writes)
            if reason:
                return reason
        if included is None:
            for name in sorted(used):
                own = next((node for node in self._scope(None).get(name, ()) if _defines(node)), None)
                reason = "" if own is None else self._of_name((), name, _lines_of(own), writes)
                if reason:
                    return reason
            included = ()
        for name in sorted(used):
            for write in (*writes.of_names[name], *writes.of_contents[name]):
                known = not write.in_call and any(write.line in item for item in included)
                if write.outside(lines) and not known:
                    return _said(f"replaces or changes {name}, which it uses", write)
        return ""

    def used_in(self, lines: range) -> frozenset[str]:
        """Return the names that code in these lines mentions."""
        nodes = (
            node
            for statement in self._statements
            if _overlaps(statement, lines)
            for node in ast.walk(statement)
        )
        return frozenset(node.id for node in nodes if isinstance(node, ast.Name) and node.lineno in lines)

    def _names_in(self, lines: range) -> list[str]:
        found = self._scope(None)
        return sorted(name for name, nodes in found.items() if any(_line(node) in lines for node in nodes))

    def _of_name(self, around: Sequence[str], name: str, lines: range, writes: _Writes) -> str:
        """Return why a name, in the class of the names around it, is not certain to mean the text in these lines."""
        owner: ast.ClassDef | None = None
        for part in around:
            inside = [node for node in self._scope(owner).get(part, ()) if _overlaps(node, lines)]
            if not inside or not isinstance(inside[0], ast.ClassDef):
                return ""  # in a function, where nobody imports it from
            owner = inside[0]
        nodes = self._scope(owner).get(name, [])
        own = [node for node in nodes if _overlaps(node, lines)]
        others = [node for node in nodes if not _overlaps(node, lines)]
        for other in others:
            if not self._is_alternative(other, own, owner):
                return _said(f"binds {name} as well", Write(_line(other), ""))
        found = (
            [*writes.of_names[name], *writes.of_keys[name]] if owner is None else writes.of_attributes[name]
        )
        for write in found:
            elsewhere = write.of_receiver and owner is not None and not _holds(owner, write.line)
            setter = write.of_object and any(
                isinstance(node, Function) and _PROPERTIES.intersection(map(self.dotted, node.decorator_list))
                for node in own
            )
            if write.outside(lines) and not elsewhere and not setter:
                return _said(f"replaces {name}", write)
        return ""

    def _scope(self, owner: ast.ClassDef | None) -> Mapping[str, list[ast.AST]]:
        """Return the nodes that bind each name of the module or of a class."""
        key = id(owner)
        if key not in self._scopes:
            found: dict[str, list[ast.AST]] = defaultdict(list)
            body = self._statements if owner is None else owner.body
            for name, node in _bound(self._taken(body), set()):
                found[name].append(node)
            self._scopes[key] = found
        return self._scopes[key]

    def _taken(self, body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
        """Yield what runs of a body: conditions on the interpreter's version and platform are decided."""
        for statement in body:
            if isinstance(statement, ast.If) and (decided := self._decided(statement.test)) is not None:
                yield from self._taken(statement.body if decided else statement.orelse)
            elif not (isinstance(statement, ast.AnnAssign) and statement.value is None):
                yield statement

    def _decided(self, test: ast.expr) -> bool | None:
        match test:
            case ast.Constant(value=value):
                return bool(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._decided(operand)
                return None if inner is None else not inner
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant() | ast.Tuple() as right]):
                known = _RUNNING.get(self._sure(left))
                try:
                    return None if known is None else _COMPARISONS[type(op)](known, ast.literal_eval(right))
                except (KeyError, ValueError, TypeError):
                    return None
        return False if self._sure(test) in _TYPES_ONLY else None

    def _sure(self, node: ast.expr) -> str:
        """Return the dotted name of an expression whose first name means one thing in the whole file, or ""."""
        if self._meanings is None:
            found: dict[str, set[str]] = defaultdict(set)
            for statement in self._all:
                for part in ast.walk(statement):
                    match part:
                        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                            found[name].add("")
                        case (
                            ast.FunctionDef(name=name)
                            | ast.AsyncFunctionDef(name=name)
                            | ast.ClassDef(name=name)
                        ):
                            found[name].add("")
                for name, dotted in _imports_of(statement):
                    found[name].add(dotted)
            self._meanings = {name: min(several) for name, several in found.items() if len(several) == 1}
        return _dotted(node, self._meanings) if _root(node) in self._meanings else ""

    def dotted(self, node: ast.expr) -> str:
        """Return the dotted name of an expression, with what imports of this file call it; "" for anything else."""
        return _dotted(node, self._imports)

    def _is_alternative(self, other: ast.AST, own: Sequence[ast.AST], owner: ast.ClassDef | None) -> bool:
        """Return whether another binding leaves a definition what it is.

        That is a declaration of types for the same function, an accessor of a property, or an import in place of
        the definition where there is such a module.
        """
        definition = next((node for node in own if isinstance(node, Definition)), None)
        if definition is None:
            return False
        if isinstance(definition, Function) and _OVERLOADS.intersection(
            map(self.dotted, definition.decorator_list)
        ):
            return True  # declares types, and is not what anybody gets
        if isinstance(other, Function):
            decorators = [self.dotted(item) for item in other.decorator_list]
            if _line(other) < _line(definition) and _OVERLOADS.intersection(decorators):
                return True
            accessors = {f"{other.name}.{item}" for item in _ACCESSORS}
            pair = [other, definition]
            return owner is not None and all(
                isinstance(item, Function)
                and (accessors | _PROPERTIES).intersection(map(self.dotted, item.decorator_list))
                for item in pair
            )
        return any(
            isinstance(statement, ast.Try) and _replaces_import(statement, other, definition)
            for statement in (self._statements if owner is None else owner.body)
        )


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}


def _replaces_import(statement: ast.Try, other: ast.AST, definition: ast.AST) -> bool:
    """Return whether a definition stands in an exception handler for what cannot be imported."""
    imports = [
        item
        for item in statement.body
        if isinstance(item, ast.Import | ast.ImportFrom) and other in item.names
    ]
    relative = any(isinstance(item, ast.ImportFrom) and item.level for item in imports)
    inside = any(definition in handler.body for handler in statement.handlers)
    return bool(imports) and inside and not relative


@lru_cache(maxsize=8)
def module_bindings(text: str) -> ModuleBindings:
    """Return the bindings of a file of Python; nothing is settled in one that does not parse."""
    text = text.removeprefix("\ufeff")
    for source in (text, textwrap.dedent(text)) if len(text) <= MOST_CHARACTERS else ():
        with contextlib.suppress(*_PARSE_ERRORS):
            return ModuleBindings(syntax.parse(source).body)
    return ModuleBindings((), whole=False)


def _said(what: str, write: Write) -> str:
    detail = f": {write.what}" if write.what else ""
    return f"line {write.line} of the file {what}{detail}"


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _overlaps(node: ast.AST, lines: range) -> bool:
    first = min([_line(node), *(_line(item) for item in getattr(node, "decorator_list", ()))])
    last = getattr(node, "end_lineno", None) or first
    return first < lines.stop and lines.start <= last


def _defines(node: ast.AST) -> bool:
    return isinstance(node, Definition)


def _lines_of(node: ast.AST) -> range:
    return range(_line(node), (getattr(node, "end_lineno", None) or _line(node)) + 1)


def _holds(owner: ast.ClassDef, line: int) -> bool:
    return owner.lineno <= line <= (owner.end_lineno or owner.lineno)


def _imports_of(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield each name that imports in a statement bind, with the dotted name of what it means."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield name_bound_by(alias), alias.name if alias.asname else name_bound_by(alias)
        elif isinstance(node, ast.ImportFrom):
            prefix = "." * node.level + (node.module or "")
            for alias in node.names:
                yield name_bound_by(alias), f"{prefix}.{alias.name}"


def _imported(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """Return the dotted name of what imports and plain assignments of them call it, anywhere in a file.

    Of several meanings of one name, the more powerful one counts.
    """
    found: dict[str, str] = {}

    def add(name: str, dotted: str) -> None:
        if found.get(name, "").partition(".")[0] not in _POWERFUL:
            found[name] = dotted

    for statement in statements:
        for name, dotted in _imports_of(statement):
            add(name, dotted)
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute):
            for target in node.targets:
                if isinstance(target, ast.Name) and _root(node.value) in found:
                    add(target.id, _dotted(node.value, found))
    return found


def _dotted(node: ast.expr, imports: Mapping[str, str]) -> str:
    if isinstance(node, ast.Call):
        return _dotted(node.func, imports)
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    name = ".".join([imports.get(node.id, node.id), *reversed(parts)])
    return name.removeprefix("builtins.")


class _Writes:
    """Collects the places of a module that write to namespaces in other ways than by a binding of its top level.

    `anywhere` may write any name. `of_names` write a name of the module, `of_keys` a key of that name of something,
    `of_attributes` an attribute; `of_contents` may change what the value of a name contains.
    """

    def __init__(self, statements: Sequence[ast.stmt], imports: Mapping[str, str]) -> None:
        self._imports = imports
        self._parents: dict[ast.AST, ast.AST] = {}
        self._functions: dict[ast.AST, ast.AST | None] = {}  # the innermost function around each node
        self.anywhere: list[Write] = []
        self.of_names: dict[str, list[Write]] = defaultdict(list)
        self.of_keys: dict[str, list[Write]] = defaultdict(list)
        self.of_attributes: dict[str, list[Write]] = defaultdict(list)
        self.of_contents: dict[str, list[Write]] = defaultdict(list)
        self._by_name: dict[str, list[Definition]] = defaultdict(list)
        self._assigned: set[str] = set()
        self._locals: dict[ast.AST, set[str]] = {}
        nodes = list(self._walked(statements))
        fixed = {
            id(target)
            for node in nodes
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and node.value is not None
            and _is_fixed(node.value)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        }
        for name, node in _bound(statements, set()):
            if not isinstance(node, Definition | ast.alias) and id(node) not in fixed:
                self._assigned.add(name)  # to what may be changed in place
        self._values = _constant_values(nodes)
        self._modules_held = {name for node in nodes for name in self._held(node)}
        self._run = self._run_on_import(nodes)
        for node in nodes:
            self._examine(node)

    def _walked(self, statements: Sequence[ast.stmt]) -> Iterator[ast.AST]:
        pending: list[tuple[ast.AST, ast.AST | None]] = [(item, None) for item in reversed(statements)]
        while pending:
            node, function = pending.pop()
            self._functions[node] = function
            yield node
            if isinstance(node, Definition):
                self._by_name[node.name].append(node)
            inner = node if isinstance(node, Function) else function
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
                # Decorators, defaults and annotations run where the definition stands.
                pending.append((child, inner if isinstance(child, ast.stmt) else function))

    def _run_on_import(self, nodes: Sequence[ast.AST]) -> set[ast.AST | None]:
        """Return the functions that may run when the module is imported; None stands for its own statements.

        A function runs if what runs mentions its name, outside of annotations. So do the special methods of a class,
        and its other methods if what runs takes an attribute of their name from anything.
        """
        by_function: dict[ast.AST | None, list[ast.AST]] = defaultdict(list)
        for node in nodes:
            by_function[self._functions[node]].append(node)
        found: set[ast.AST | None] = set()
        methods: dict[str, list[Function]] = defaultdict(list)  # of classes that are in use
        attributes: set[str] = set()
        pending: list[ast.AST | None] = [None]
        while pending:
            function = pending.pop()
            if function in found:
                continue
            found.add(function)
            for node in by_function[function]:
                if isinstance(node, ast.Attribute):
                    attributes.add(node.attr)
                    pending += methods[node.attr]
                elif isinstance(node, ast.Name) and node.id in self._by_name and not self._only_named(node):
                    for definition in self._by_name[node.id]:
                        if isinstance(definition, Function):
                            pending.append(definition)
                            continue
                        for item in definition.body:
                            if isinstance(item, Function):
                                methods[item.name].append(item)
                                special = item.name.startswith("__") and not isinstance(
                                    self._parents.get(node), ast.Attribute
                                )
                                if item.name in attributes or special:
                                    pending.append(item)
        return found

    def _only_named(self, node: ast.AST) -> bool:
        """Return whether a name stands where nothing calls it: in an annotation, as a base, in `except`."""
        parent = self._parents.get(node)
        while isinstance(parent, ast.Attribute | ast.Subscript | ast.BinOp | ast.Tuple | ast.List):
            node, parent = parent, self._parents.get(parent)
        if isinstance(parent, ast.ClassDef):
            return node in parent.bases and not any(
                isinstance(item, Function) and item.name in ("__init_subclass__", "__new__")
                for name in ([node.id] if isinstance(node, ast.Name) else [])
                for definition in self._by_name[name]
                for item in definition.body
            )
        return (
            isinstance(parent, ast.arg | ast.ExceptHandler)
            or (isinstance(parent, ast.AnnAssign) and node is parent.annotation)
            or (isinstance(parent, Function) and node is parent.returns)
            or (isinstance(parent, ast.Call) and node in parent.args and _called(parent) in _TYPE_TESTS)
        )

    def _runs(self, node: ast.AST) -> bool:
        """Return whether a node may run when the module is imported."""
        at: ast.AST | None = self._functions[node]
        while at is not None:
            if at not in self._run:
                return False
            at = self._functions[at]
        return True

    def _examine(self, node: ast.AST) -> None:
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                if self._runs(node):
                    what = f"a star import of {node.module or '.'}"
                    self.anywhere.append(Write(_line(node), what, is_star=True))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found = bindings(node.body)
                for name in found.bound & found.declared_global:
                    self.of_names[name].append(self._write(node, f"{node.name} declares it global"))
            case ast.Name(ctx=ast.Load()):
                self._name(node)
            case ast.Attribute():
                self._attribute(node)
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                self._content(node, node.value)
            case ast.Call():
                self._call(node)

    def _held(self, node: ast.AST) -> Iterator[str]:
        """Yield the names to which a statement gives what may be a module of the table of modules."""
        match node:
            case ast.Assign(targets=targets, value=value):
                if self._may_be_module(value):
                    yield from (item.id for item in targets if isinstance(item, ast.Name))
            case ast.NamedExpr(target=ast.Name(id=name), value=value):
                if self._may_be_module(value):
                    yield name
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                if any(
                    _dotted(item, self._imports) == "sys.modules"
                    for item in ast.walk(value)
                    if isinstance(item, ast.expr)
                ):
                    yield from (item.id for item in ast.walk(target) if isinstance(item, ast.Name))

    def _may_be_module(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Subscript):
            return _dotted(node.value, self._imports) == "sys.modules"
        return isinstance(node, ast.Call) and _dotted(node.func, self._imports) in (
            "sys.modules.get",
            *_IMPORTING,
        )

    def _is_module(self, root: str) -> bool:
        return root in self._imports or root in self._modules_held

    def _write(self, node: ast.AST, what: str) -> Write:
        within = node if isinstance(node, Function) else self._functions[node]
        return Write(_line(node), what, in_call=within is not None and within in self._run)

    def _any(self, node: ast.AST, what: str) -> None:
        if self._runs(node):
            self.anywhere.append(self._write(node, what))

    def _name(self, node: ast.Name) -> None:
        parent = self._parents.get(node)
        name = _dotted(node, self._imports)
        called = isinstance(parent, ast.Call) and parent.func is node
        if name == node.id and name in _BUILTINS and self._is_local_variable(node):
            return
        if name in _CODE:
            self._any(node, f"{name} runs text as code")
        elif name == "sys.modules":
            self._modules(node)
        elif name == "__builtins__":
            self._namespace(node, name)
        elif name in _POWERFUL and (
            isinstance(parent, ast.List | ast.Tuple | ast.Dict | ast.arguments)
            or (isinstance(parent, ast.Call) and _called(parent) not in _INSPECTING)
        ):
            self._any(node, f"{name} is handed on")
        elif name in (*_SETTERS, *_IMPORTING, "globals", "locals", "vars") and not called:
            self._any(node, f"{name} under another name")
        elif (
            isinstance(parent, ast.Assign | ast.NamedExpr) and node.id in self._assigned and self._runs(node)
        ):
            self.of_contents[node.id].append(self._write(node, "another name for it"))

    def _attribute(self, node: ast.Attribute) -> None:
        name = _dotted(node, self._imports)
        root = _root(node)
        known = self._is_module(root)
        if name == "sys.modules":
            self._modules(node)
        elif name in _CODE:
            self._any(node, f"{name} runs text as code")
        elif name in _MEMORY:
            self._any(node, f"{name} reaches any object")
        elif isinstance(node.ctx, ast.Load):
            if node.attr in _NAMESPACES or (node.attr == "__dict__" and known):
                self._namespace(node, node.attr)
        elif node.attr in _DECIDING and root not in _RECEIVERS and not (node.attr == "__bases__" and known):
            self._any(node, f"{node.attr} is assigned")
        else:
            self._stored(node, root, node.attr)
            self._content(node, node.value)

    def _stored(self, node: ast.AST, root: str, attribute: str) -> None:
        """Note that an attribute of something is assigned."""
        what = "an attribute of that name is assigned"
        of_receiver = root in _RECEIVERS
        of_class = self._is_module(root) or any(
            isinstance(item, ast.ClassDef) for item in self._by_name.get(root, ())
        )
        self.of_attributes[attribute].append(
            replace(self._write(node, what), of_receiver=of_receiver, of_object=not of_class)
        )
        if self._runs(node) and not of_receiver:
            self.of_keys[attribute].append(self._write(node, what))
        # An attribute of another module, such as a builtin; this module itself is one as well.
        if self._is_module(root) and self._runs(node):
            self.of_names[attribute].append(self._write(node, f"an attribute of {root} is assigned"))

    def _content(self, node: ast.AST, value: ast.expr) -> None:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and self._runs(node):
            # What is no namespace here may be one that was taken from somewhere.
            self.of_keys[str(node.slice.value)].append(self._write(node, "assigned as a key"))
        root = _root(value)
        if root and self._runs(node):
            self.of_contents[root].append(self._write(node, "a part of it is assigned"))

    def _modules(self, node: ast.expr) -> None:
        """Note what is done with the table of all modules: one that is taken from it may be this one."""
        parent = self._parents.get(node)
        taken = parent
        if isinstance(parent, ast.Attribute) and parent.attr == "get":
            taken = self._parents.get(parent)
        elif isinstance(parent, ast.Compare | ast.For | ast.comprehension) or (
            isinstance(parent, ast.Attribute) and parent.attr in _READERS
        ):
            return
        elif not (isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Load)):
            self._any(node, "the table of modules is changed or handed on")
            return
        if taken is not None:
            self._module(taken)

    def _module(self, node: ast.AST) -> None:
        """Note what is done with an expression that may be this module."""
        parent = self._parents.get(node)
        if isinstance(parent, ast.Attribute):
            if parent.attr == "__dict__":
                self._namespace(parent, "the module's __dict__")
            elif not isinstance(parent.ctx, ast.Load):
                self.of_names[parent.attr].append(self._write(node, "an attribute of the module is assigned"))
        elif isinstance(parent, ast.Call) and parent.args[:1] == [node] and _called(parent) in _SETTERS:
            self._set(parent, module=True)
        elif isinstance(parent, ast.Call) and _called(parent) == "vars":
            self._namespace(parent, "vars() of the module")
        elif not (
            isinstance(parent, ast.Compare | ast.Expr)
            or (isinstance(parent, ast.Call) and _called(parent) in _INSPECTING)
            or (isinstance(parent, ast.Assign) and all(isinstance(item, ast.Name) for item in parent.targets))
            or isinstance(parent, ast.NamedExpr)
        ):
            self._any(node, "a module is taken from the table of modules")

    def _namespace(self, node: ast.expr, what: str) -> None:
        """Note what is done with the dictionary of a module's names."""
        parent = self._parents.get(node)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            if isinstance(parent.ctx, ast.Load):
                return
            self._key(parent, parent.slice, what)
        elif isinstance(parent, ast.Attribute):
            above = self._parents.get(parent)
            if parent.attr in _READERS:
                return
            if parent.attr == "update" and isinstance(above, ast.Call) and not above.args:
                for keyword in above.keywords:
                    self._key(above, ast.Constant(keyword.arg), what)
            elif parent.attr in ("pop", "setdefault") and isinstance(above, ast.Call) and above.args:
                self._key(above, above.args[0], what)
            else:
                self._any(node, f"{what} is changed")
        elif isinstance(parent, ast.Compare | ast.For | ast.comprehension | ast.Expr) or (
            isinstance(parent, ast.Call)
            and _called(parent) in ("dict", "dir", "id", "len", "list", "set", "sorted")
        ):
            return
        else:
            self._any(node, f"{what} is handed on")

    def _key(self, node: ast.AST, key: ast.expr, what: str) -> None:
        texts = self._texts(key)
        for text in texts:
            self.of_names[text].append(self._write(node, f"through {what}"))
            self.of_attributes[text].append(self._write(node, f"through {what}"))
        if not texts:
            self._any(node, f"{what} is changed under a computed name")

    def _set(self, call: ast.Call, *, module: bool = False) -> None:
        """Note what `setattr(holder, name, value)` or `delattr` changes."""
        if len(call.args) < 2 or any(isinstance(item, ast.Starred) for item in call.args):
            self._any(call, "setattr with unknown arguments")
            return
        holder, key = call.args[:2]
        root = _root(holder)
        texts = self._texts(key)
        for text in texts:
            if text in _DECIDING and root not in _RECEIVERS:
                self._any(call, f"{text} is assigned")
            self._stored(call, root, text)
            if module:
                self.of_names[text].append(self._write(call, "an attribute of the module is assigned"))
        if not texts and (module or root not in _RECEIVERS):
            self._any(call, "setattr with a computed name")

    def _texts(self, node: ast.expr) -> list[str]:
        """Return the texts that an expression may stand for; none if they are not all constants of the file."""
        if isinstance(node, ast.Constant):
            return [node.value] if isinstance(node.value, str) else []
        values = self._values.get(node.id) if isinstance(node, ast.Name) else None
        if not values or not all(isinstance(item, ast.Constant) for item in values):
            return []
        texts = [item.value for item in values if isinstance(item, ast.Constant)]
        return (
            [item for item in texts if isinstance(item, str)]
            if all(isinstance(x, str) for x in texts)
            else []
        )

    def _call(self, node: ast.Call) -> None:
        name = _dotted(node.func, self._imports) if isinstance(node.func, ast.Name | ast.Attribute) else ""
        plain = name.rpartition(".")[2]
        function = self._functions[node]
        if name in _SETTERS or _UNBOUND_SETTERS.get(plain) == len(node.args):
            self._set(node)
        elif name == "globals" or (name in ("vars", "locals") and not node.args and function is None):
            self._namespace(node, f"{name}()")
        elif name == "vars" and node.args and self._is_module(_root(node.args[0])):
            self._namespace(node, "vars() of a module")
        elif name in _IMPORTING:
            if not (node.args and isinstance(node.args[0], ast.Constant)):
                self._module(node)
        elif name == "getattr" and _POWERS.intersection(*map(self._texts, node.args[1:2])):
            if self._imports.get(_root(node.args[0]), "") in _POWERFUL:
                self._any(node, "getattr reaches namespaces")
        elif name == "getattr" and len(node.args) > 1 and not self._texts(node.args[1]):
            above = self._parents.get(node)
            called = (
                isinstance(above, ast.Call) and above.func is node and self._is_module(_root(node.args[0]))
            )
            called |= self._imports.get(_root(node.args[0]), "") in _POWERFUL
            if called or isinstance(above, ast.Subscript | ast.Attribute):
                self._any(node, "an attribute with a computed name is called or changed")
        if not self._runs(node):
            return
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            owner = node.func.value.id
            if owner in self._assigned:
                self.of_contents[owner].append(self._write(node, f"{owner}.{node.func.attr} is called"))
        origin = name.partition(".")[0]
        if origin in _BUILTINS and "." not in name and origin not in self._by_name:
            return
        root = _root(node.func)
        foreign = root in self._imports and origin not in sys.stdlib_module_names
        for argument in (*node.args, *(item.value for item in node.keywords)):
            for part in argument.elts if isinstance(argument, ast.Tuple | ast.List) else [argument]:
                if isinstance(part, ast.Name) and part.id in self._modules_held and name not in _INSPECTING:
                    self._any(node, "a module of the table of modules is handed on")
                elif isinstance(part, ast.Name):
                    handed = self._write(node, f"it is handed to {plain or 'a call'}")
                    if part.id in self._assigned:
                        self.of_contents[part.id].append(handed)
                    elif foreign and any(
                        isinstance(item, Function) for item in self._by_name.get(part.id, ())
                    ):
                        self.of_names[part.id].append(handed)

    def _is_local_variable(self, node: ast.Name) -> bool:
        """Return whether a function around a name binds it."""
        function = self._functions[node]
        while isinstance(function, Function):
            if function not in self._locals:
                arguments = {item.arg for item in ast.walk(function.args) if isinstance(item, ast.arg)}
                self._locals[function] = arguments | bindings(function.body).bound
            if node.id in self._locals[function]:
                return True
            function = self._functions[function]
        return False


def _constant_values(nodes: Iterable[ast.AST]) -> Mapping[str, Sequence[ast.expr]]:
    """Return the values of each name that the file binds once, to an expression or as a loop's variable."""
    found: dict[str, Sequence[ast.expr]] = {}
    count: dict[str, int] = defaultdict(int)
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                count[name] += 1
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = [value]
            case ast.For(target=ast.Name(id=name), iter=ast.Tuple(elts=values) | ast.List(elts=values)):
                found[name] = values
    return {name: values for name, values in found.items() if count[name] == 1}


def _is_fixed(node: ast.expr) -> bool:
    """Return whether the value of an expression cannot be changed in place."""
    if isinstance(node, ast.Tuple):
        return all(map(_is_fixed, node.elts))
    if isinstance(node, ast.UnaryOp):
        return _is_fixed(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_fixed(node.left) and _is_fixed(node.right)
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.Compare)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""
