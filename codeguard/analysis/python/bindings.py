"""What an importer of a module gets under a name, decided from its syntax.

The text of a function is what an importer gets only if nothing else in the file binds its name, and nothing that the
file runs on import writes to its namespace in another way. A second binding, or a write of that very name to this very
module, is certain; whatever reaches a namespace and may write any name is only possible. What other modules change
when they import this one is not examined.
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
from functools import lru_cache
from typing import Any, NamedTuple

from codeguard.corpus import syntax
from codeguard.syntax.names import Names, dotted_name

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
MOST_CHARACTERS = 2_000_000
UNPARSED = "a part of the file does not parse"
_PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
_MAIN = "'__main__'"
_RUNNING = {"sys.version_info": tuple(sys.version_info), "sys.platform": sys.platform, "os.name": os.name}
_TYPES_ONLY = frozenset({"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"})
_OVERLOADS = frozenset({"typing.overload", "typing_extensions.overload"})
_PROPERTIES = frozenset({"property", "functools.cached_property", "abc.abstractproperty"})
_RECEIVERS = frozenset({"self", "cls", "mcs", "mcls", "metacls"})
_BUILTINS = frozenset(dir(builtins))


def _rows(rows: Mapping[str, str]) -> Mapping[str, str]:
    return {name: what for what, names in rows.items() for name in names.split()}


# Names whose mention alone may change any name, with the reason.
_ANY = _rows(
    {
        "runs text as code": "exec eval runpy.run_path runpy.run_module code.interact",
        "reaches any object": """
            ctypes.cast ctypes.memmove ctypes.memset ctypes.py_object ctypes.pythonapi gc.get_objects gc.get_referents
            gc.get_referrers
        """,
    }
)
# Functions that are called to reach a namespace; under another name they may do so anywhere.
_CALLED = frozenset("setattr delattr globals locals vars __import__ importlib.import_module".split())  # noqa: SIM905
# With the number of their arguments.
_SETTERS = {"setattr": 3, "delattr": 2, "__setattr__": 3, "__delattr__": 2}
_IMPORTING = ("__import__", "importlib.import_module", "importlib.__import__")
_OWN = frozenset({"globals()", "vars()", "locals()"})
_NAMESPACES = frozenset({"__builtins__", "__globals__", "f_builtins", "f_globals", "f_locals"})
# Attributes that decide what a function, a class or a module does.
_DECIDING = _NAMESPACES | frozenset(
    """
    __bases__ __call__ __class__ __code__ __closure__ __defaults__ __dict__ __getattr__ __getattribute__
    __kwdefaults__
    """.split()  # noqa: SIM905 - words read better as words
)
# The last three hand on what the table of modules holds.
_READERS = ("get", "keys", "copy", "items", "values")
_READING = frozenset(
    "dict dir frozenset getattr hasattr id isinstance issubclass len list repr set sorted str tuple type vars".split()  # noqa: SIM905
)
_POWERFUL = frozenset({"builtins", "ctypes", "gc", "importlib", "inspect", "runpy", "sys"})


class BoundNames(NamedTuple):
    """The names that code binds in its scope, and those that it declares to be the module's."""

    bound: set[str]
    declared_global: set[str]


def bindings(nodes: Iterable[ast.AST]) -> BoundNames:
    """Return the names that these nodes bind in the scope in which they stand."""
    found = BoundNames(set(), set())
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
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                yield name, node
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name, node
            case ast.Global(names=names):
                declared.update(names)
        pending.extend(children)


def name_bound_by(alias: ast.alias) -> str:
    """Return the name that a part of an import binds; `*` for all."""
    return alias.asname or alias.name.partition(".")[0]


def is_main_test(test: ast.expr) -> bool:
    """Return whether an expression compares the name of the module with that of the program."""
    return isinstance(test, ast.Compare) and {
        ast.unparse(test.left),
        *map(ast.unparse, test.comparators),
    } == {"__name__", _MAIN}


def is_main_guard(statement: ast.stmt) -> bool:
    """Return whether a statement runs only if its file is the program, and nothing else if it is not."""
    if not isinstance(statement, ast.If) or statement.orelse or not is_main_test(statement.test):
        return False
    return isinstance(statement.test, ast.Compare) and isinstance(statement.test.ops[0], ast.Eq)


class Doubt(NamedTuple):
    """Why an importer may get something else than a text, and whether that is certain."""

    reason: str
    certain: bool = False


class _Write(NamedTuple):
    """A place that changes what a name means; the line is 1-based."""

    line: int
    what: str
    certain: bool = False
    in_call: bool = False  # in a function that the import runs
    owner: str = ""  # of an attribute: the class that gets it, "" where that is not known

    def doubt(self, does: str) -> Doubt:
        """Return what it makes doubtful."""
        return Doubt(f"line {self.line} of the file {does}: {self.what}", self.certain)


class ModuleBindings:
    """The bindings of one module, computed once for all of its functions.

    Args:
        statements: the top-level statements.
        whole: whether they are the whole file.
    """

    def __init__(self, statements: Sequence[ast.stmt], *, whole: bool = True) -> None:
        self._whole = whole
        self._body = [item for item in statements if not is_main_guard(item)]
        tree = ast.Module(list(statements), [])
        self._nodes, self._parents = syntax.nodes_and_parents(tree)
        self._names = Names(tree, self._nodes, self._parents)
        self._scopes: dict[ast.ClassDef | None, Mapping[str, list[ast.AST]]] = {}
        self._writes: _Writes | None = None
        self._mentioned: dict[int, set[str]] = defaultdict(set)
        for node in self._nodes:
            if isinstance(node, ast.Name):
                self._mentioned[node.lineno].add(node.id)

    def doubt(
        self, symbol: str, lines: range, used: Collection[str] = (), included: Collection[range] | None = None
    ) -> Doubt | None:
        """Return why an importer may get something else under a name than the text in these lines.

        Args:
            symbol: the qualified name of a function or class; "" for all names that the lines bind.
            lines: the lines of the text, 1-based. What stands in them is part of it.
            used: names that the text needs.
            included: the lines of those top-level statements whose effects on `used` are known. None if the names
                have to be bound once.
        """
        if not self._whole:
            return Doubt(UNPARSED)
        return min(
            self._doubts(symbol, lines, sorted(used), included),
            key=lambda item: not item.certain,
            default=None,
        )

    def _doubts(
        self, symbol: str, lines: range, used: Sequence[str], included: Collection[range] | None
    ) -> Iterator[Doubt]:
        module = self._scope(None)
        writes = self._writes = self._writes or _Writes(self._body, self._names, self._parents)
        parts = (
            symbol.split(".")
            if symbol
            else [name for name in module if any(_line(x) in lines for x in module[name])]
        )
        for place, name in enumerate(parts):
            yield from self._of_name(parts[:place] if symbol else (), name, lines, writes)
        own = {name: node for name in used for node in module.get(name, ()) if isinstance(node, Definition)}
        for name, node in own.items() if included is None else ():
            yield from self._of_name((), name, _lines_of(node), writes)
        for name in used:
            for write in (*writes.names[name], *writes.contents[name]):
                known = not write.in_call and any(write.line in item for item in included or ())
                if write.line not in lines and not known:
                    yield write._replace(certain=False).doubt(f"replaces or changes {name}, which it uses")
        first = min([lines.start, *(_line(node) for node in own.values())])
        for write in writes.any:
            # What a star import binds is replaced by what stands below it.
            if write.line not in lines and not (write.what.startswith(_STAR) and write.line < first):
                yield write.doubt("may replace any name")

    def used_in(self, lines: range) -> frozenset[str]:
        """Return the names that code in these lines mentions."""
        return frozenset(name for line in lines for name in self._mentioned.get(line, ()))

    def _of_name(self, around: Sequence[str], name: str, lines: range, writes: _Writes) -> Iterator[Doubt]:
        """Yield why a name, in the class of the names around it, may not mean the text in these lines."""
        owner: ast.ClassDef | None = None
        for part in around:
            inside = [node for node in self._scope(owner).get(part, ()) if _overlaps(node, lines)]
            if not inside or not isinstance(inside[0], ast.ClassDef):
                return  # in a function, where nobody imports it from
            owner = inside[0]
        bound = self._scope(owner).get(name, [])
        own = next((node for node in bound if _overlaps(node, lines)), None)
        for other in bound:
            if not _overlaps(other, lines) and not self._is_alternative(other, own, owner):
                fails = self._attempt(other)[0] is not None  # perhaps
                certain = own is None or not (fails or self._depends(other, own))
                yield Doubt(f"line {_line(other)} of the file binds {name} as well", certain)
        is_property = isinstance(own, Function) and _PROPERTIES.intersection(
            map(self._dotted, own.decorator_list)
        )
        for write in writes.names[name] if owner is None else writes.attributes[name]:
            of_another = owner is not None and write.owner not in ("", owner.name)
            setter = is_property and not write.owner  # a property's setter is called
            if write.line not in lines and not of_another and not setter:
                yield write.doubt(f"replaces {name}")

    def _scope(self, owner: ast.ClassDef | None) -> Mapping[str, list[ast.AST]]:
        """Return the nodes that bind each name of the module or of a class."""
        if owner not in self._scopes:
            found: dict[str, list[ast.AST]] = defaultdict(list)
            for name, node in _bound(self._taken(self._body if owner is None else owner.body), set()):
                found[name].append(node)
            self._scopes[owner] = found
        return self._scopes[owner]

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
            case ast.Compare(ops=[ast.Eq() | ast.NotEq() as op]) if _MAIN in ast.unparse(test):
                return isinstance(op, ast.NotEq) if is_main_test(test) else None
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant() | ast.Tuple() as right]):
                known = _RUNNING.get(self._dotted(left))
                try:
                    return None if known is None else _COMPARISONS[type(op)](known, ast.literal_eval(right))
                except (KeyError, ValueError, TypeError):
                    return None
        return False if self._dotted(test) in _TYPES_ONLY else None

    def _dotted(self, node: ast.expr) -> str:
        """Return the dotted name of an expression that means one thing alone, or ""."""
        several = self._names.names_of(node)
        root = _root(node)
        bound = self._names.scopes.module.bindings.get(root.id, ()) if root is not None else ()
        # A name that the file binds several times may be another one where the condition is evaluated.
        return several[0] if len(several) == 1 and len({item.name for item in bound}) <= 1 else ""

    def _is_alternative(self, other: ast.AST, own: ast.AST | None, owner: ast.ClassDef | None) -> bool:
        """Return whether another binding leaves a definition what it is: an importer gets the definition still.

        That is a binding before it which always runs, a declaration of types for the same function, an accessor of a
        property, or an import in place of the definition where there is such a module.
        """
        if not isinstance(own, Definition):
            return False
        body = self._body if owner is None else owner.body
        ends_before = (getattr(other, "end_lineno", None) or _line(other)) < _first_line(own)
        if own in body and ends_before and not self._is_lazy(other):
            return True
        decorators = [
            {
                form(item)
                for item in getattr(node, "decorator_list", ())
                for form in (self._dotted, dotted_name)
            }
            for node in (own, other)
        ]
        if _OVERLOADS & decorators[0] or (_OVERLOADS & decorators[1] and _line(other) < _line(own)):
            return True  # declares types, and is not what anybody gets
        accessors = {f"{own.name}.{item}" for item in ("setter", "getter", "deleter")} | _PROPERTIES
        if owner is not None and all(map(accessors.intersection, decorators)):
            return True
        attempt, relative = self._attempt(other)
        return (
            attempt is not None and not relative and any(own in handler.body for handler in attempt.handlers)
        )

    def _is_lazy(self, node: ast.AST) -> bool:
        """Return whether a node runs when a generator is asked for values, which may be at any later place."""
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.GeneratorExp):
            at = self._parents.get(at)
        return at is not None

    def _attempt(self, node: ast.AST) -> tuple[ast.Try | None, bool]:
        """Return the `try` in which an import may fail, and whether the import is a relative one."""
        statement = self._parents.get(node) if isinstance(node, ast.alias) else None
        around = self._parents.get(statement) if statement is not None else None
        found = isinstance(around, ast.Try) and statement in around.body
        return (around if found and isinstance(around, ast.Try) else None), bool(
            getattr(statement, "level", 0)
        )

    def _depends(self, one: ast.AST, other: ast.AST) -> bool:
        """Return whether a condition that is not decided here runs one binding, and perhaps not the other as well."""
        arms = [dict(self._arms(node)) for node in (one, other)]
        return any(
            arms[1].get(at) != arm
            and (at in arms[1] or (isinstance(at, ast.If) and self._decided(at.test) is None))
            for at, arm in arms[0].items()
        )

    def _arms(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        at = self._parents.get(node)
        while at is not None:
            for name in ("body", "orelse", "handlers") if isinstance(at, ast.If | ast.Try) else ():
                if node in getattr(at, name, ()):
                    yield at, name
            node, at = at, self._parents.get(at)


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}
_STAR = "a star import"


@lru_cache(maxsize=8)
def module_bindings(text: str) -> ModuleBindings:
    """Return the bindings of a file of Python; nothing is settled in one that does not parse."""
    text = text.removeprefix("\ufeff")
    for source in (text, textwrap.dedent(text)) if len(text) <= MOST_CHARACTERS else ():
        with contextlib.suppress(*_PARSE_ERRORS):
            return ModuleBindings(syntax.parse(source).body)
    return ModuleBindings((), whole=False)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _first_line(node: ast.AST) -> int:
    return min([_line(node), *(_line(item) for item in getattr(node, "decorator_list", ()))])


def _lines_of(node: ast.AST) -> range:
    return range(_first_line(node), (getattr(node, "end_lineno", None) or _line(node)) + 1)


def _overlaps(node: ast.AST, lines: range) -> bool:
    own = _lines_of(node)
    return own.start < lines.stop and lines.start < own.stop


def _root(node: ast.AST) -> ast.Name | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None


class _Writes:
    """Collects the places of a module that write to namespaces in other ways than by a binding of its top level.

    `any` may write any name, `names` write a name of the module, `attributes` one of a class or an object; `contents`
    may change what the value of a name contains.
    """

    def __init__(self, body: Sequence[ast.stmt], names: Names, parents: Mapping[ast.AST, ast.AST]) -> None:
        self._names = names
        self._parents = parents
        self.any: list[_Write] = []
        self.names: dict[str, list[_Write]] = defaultdict(list)
        self.attributes: dict[str, list[_Write]] = defaultdict(list)
        self.contents: dict[str, list[_Write]] = defaultdict(list)
        self._imported = names.imported
        self._mutable = {
            name
            for name, node in _bound(body, set())
            if not isinstance(node, Definition | ast.alias)
            and not _is_fixed(getattr(parents.get(node), "value", None))
        }
        self._in_call = False
        run = dict(self._run_on_import(body))
        for node, in_call in run.items():
            self._in_call = in_call
            self._examine(node)
        for node in parents:
            for name in node.names if isinstance(node, ast.Global) else ():
                self._note(self.names[name], node, "a function declares it global", node in run)

    def _run_on_import(self, body: Sequence[ast.stmt]) -> Iterator[tuple[ast.AST, bool]]:
        """Yield the nodes that may run when the module is imported, each with whether it is in a function.

        A function runs if what runs mentions its name, outside of annotations. So do the special methods of a class,
        and its other methods if what runs takes an attribute of their name from anything.
        """
        by_name: dict[str, list[ast.AST]] = defaultdict(list)
        for node in self._names.scopes.symbols:
            by_name[node.name].append(node)  # type: ignore[attr-defined]
        methods: dict[str, list[ast.AST]] = defaultdict(list)  # of classes that are in use
        attributes: set[str] = set()
        seen: set[ast.AST] = set()
        pending: list[ast.AST] = [ast.Module(list(body), [])]
        while pending:
            function = pending.pop()
            if function in seen:
                continue
            seen.add(function)
            waiting = list(reversed(function.body))  # type: ignore[attr-defined]
            while waiting:
                node = waiting.pop()
                yield node, not isinstance(function, ast.Module)
                # Decorators, defaults and annotations run where the definition stands.
                waiting += [
                    child
                    for child in ast.iter_child_nodes(node)
                    if not (isinstance(node, Function) and isinstance(child, ast.stmt))
                ]
                if isinstance(node, ast.Attribute):
                    attributes.add(node.attr)
                    pending += methods[node.attr]
                for found in (
                    by_name[node.id] if isinstance(node, ast.Name) and not self._only_named(node) else ()
                ):
                    pending += [found] if isinstance(found, Function) else []
                    for item in found.body if isinstance(found, ast.ClassDef) else ():
                        if isinstance(item, Function):
                            methods[item.name].append(item)
                            special = item.name.startswith("__") and not isinstance(
                                self._parents.get(node), ast.Attribute
                            )
                            pending += [item] if special or item.name in attributes else []

    def _only_named(self, node: ast.Name) -> bool:
        """Return whether a name stands where nothing calls it: in an annotation, as a base, in `except`."""
        at: ast.AST = node
        parent = self._parents.get(at)
        while isinstance(parent, ast.Attribute | ast.Subscript | ast.BinOp | ast.Tuple | ast.List):
            at, parent = parent, self._parents.get(parent)
        match parent:
            case ast.ClassDef(bases=bases):
                hooks = (f"{node.id}.__init_subclass__", f"{node.id}.__new__")
                return at in bases and not any(hook in self._names.scopes.definitions for hook in hooks)
            case (
                ast.AnnAssign(annotation=inner)
                | ast.FunctionDef(returns=inner)
                | ast.AsyncFunctionDef(returns=inner)
            ):
                return at is inner
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=args):
                return at in args
        return isinstance(parent, ast.arg | ast.ExceptHandler)

    def _note(
        self, to: list[_Write], node: ast.AST, what: str, certain: bool = False, owner: str = ""
    ) -> None:
        to.append(_Write(_line(node), what, certain, self._in_call, owner))

    def _examine(self, node: ast.AST) -> None:
        """Note what a node that runs may write."""
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                self._note(self.any, node, f"{_STAR} of {node.module or '.'}")
            case ast.AugAssign(target=target) if self._namespace_of(target):
                self._note(self.any, node, "a namespace is merged with another")
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                self._attribute(node, node.value, node.attr)
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                self._key(node, node.slice, self._namespace_of(node.value))
            case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
                self._mention(node)
        if isinstance(node, ast.Call):
            self._call(node)

    def _mention(self, node: ast.expr) -> None:
        """Note what the mention of something that reaches a namespace, or of a value, may change."""
        at, parent = self._outermost(node)
        called = isinstance(parent, ast.Call) and parent.func is at
        reads = isinstance(parent, ast.Call) and not called and self._names.called(parent) in _READING
        handed = isinstance(parent, ast.Call | ast.Return | ast.arguments) and not called and not reads
        for name in self._names.names_of(node):
            if name in _ANY:
                self._note(self.any, node, f"{name} {_ANY[name]}")
            elif at is node and ((name in _CALLED and not called) or (name in _POWERFUL and handed)):
                self._note(self.any, node, f"{name} is handed on, or under another name")
            elif name == "getattr()" and (at is not node or (called and self._computes_of_module(node))):
                self._note(self.any, node, "an attribute with a computed name is called or changed")
        namespace = self._namespace_of(node)
        if at is node and handed and (namespace or self._may_be_own(node)):
            self._note(self.any, node, f"{namespace or 'a module of the table of modules'} is handed on")
        above = self._parents.get(node)
        if namespace and isinstance(above, ast.Attribute):
            self._method(above, namespace)
        if isinstance(node, ast.Name) and node.id in self._mutable and isinstance(node.ctx, ast.Load):
            scope = self._names.scopes.find(node.id, self._names.scopes.scope_of(node))
            stored = isinstance(at, ast.Attribute | ast.Subscript) and not isinstance(at.ctx, ast.Load)
            method = called and at is not node
            changes = stored or method or handed or isinstance(parent, ast.Assign | ast.NamedExpr)
            if changes and scope is not None and scope[0] is self._names.scopes.module:
                self._note(self.contents[node.id], node, "it is changed, handed on or gets another name")

    def _computes_of_module(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self._is_module(node.args[0])

    def _outermost(self, node: ast.expr) -> tuple[ast.AST, ast.AST | None]:
        """Return the access to parts of an expression, and what is done with it, through displays that hold it."""
        at: ast.AST = node
        parent = self._parents.get(at)
        while isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is at:
            at, parent = parent, self._parents.get(parent)
        while isinstance(parent, ast.keyword | ast.Tuple | ast.List | ast.Dict | ast.Starred):
            parent = self._parents.get(parent)
        return at, parent

    def _method(self, method: ast.Attribute, namespace: str) -> None:
        """Note what a method of a namespace writes."""
        call = self._parents.get(method)
        arguments = call.args if isinstance(call, ast.Call) else []
        if method.attr in (_READERS[:2] if namespace == "sys.modules" else _READERS):
            return
        if method.attr == "update" and isinstance(call, ast.Call) and not arguments:
            for keyword in call.keywords:
                self._key(call, ast.Constant(keyword.arg), namespace)
        elif method.attr in ("pop", "setdefault", "__setitem__", "__delitem__") and arguments:
            self._key(method, arguments[0], namespace)
        else:
            self._note(self.any, method, f"{namespace} is changed")

    def _namespace_of(self, node: ast.expr) -> str:
        """Return the name of the namespace that an expression is, "" if it is none."""
        for name in self._names.names_of(node):
            base, _, last = name.rpartition(".")
            own = name == "globals()" or (name in _OWN and self._names.function_of(node) is None)
            if own or name == "sys.modules" or last in _NAMESPACES:
                return name
            if last == "__dict__" and (not base or self._is_module_name(base)):
                return name
        return ""

    def _is_module_name(self, name: str) -> bool:
        return name in self._imported or name.startswith("sys.modules") or name in _IMPORTING

    def _is_module(self, node: ast.expr) -> bool:
        """Return whether an expression may be a module."""
        names = self._names.names_of(node)
        return self._may_be_own(node) or any(self._is_module_name(name.removesuffix("()")) for name in names)

    def _may_be_own(self, node: ast.expr, certainly: bool = False) -> bool:
        """Return whether an expression takes this module, or maybe another, from the table of modules."""
        for value in self._names.values_of(node) if isinstance(node, ast.Name) else [node]:
            match value:
                case ast.Subscript(value=table, slice=key) if self._names.resolve(table) == "sys.modules":
                    fixed = False
                case ast.Call(args=[key, *_]) if self._names.called(value) in (
                    "sys.modules.get",
                    *_IMPORTING,
                ):
                    fixed = isinstance(key, ast.Constant)
                case _:
                    continue
            if (isinstance(key, ast.Name) and key.id == "__name__") or not (certainly or fixed):
                return True
        return False

    def _key(self, node: ast.AST, key: ast.expr, namespace: str) -> None:
        """Note a write under a key of a namespace."""
        text = self._names.text(key)
        if namespace and text is None:
            self._note(self.any, node, f"{namespace} is changed under a computed name")
        elif namespace and text is not None:
            certain = namespace in _OWN or namespace.startswith("sys.modules[]")
            self._note(self.names[text], node, f"through {namespace}", certain)
            self._note(self.attributes[text], node, f"through {namespace}")

    def _attribute(self, node: ast.AST, holder: ast.expr, name: str | None) -> None:
        """Note a write of an attribute, of any one if the name is None."""
        found = self._names.names_of(holder)
        around = self._names.class_of(node)
        root = _root(holder)
        if root is not None and root.id in _RECEIVERS and around is not None:
            if name is not None and holder is root:
                self._note(
                    self.attributes[name], node, "an object's attribute is assigned", owner=around.name
                )
        elif name is None or name in _DECIDING:
            self._note(self.any, node, f"{name or 'an attribute with a computed name'} is assigned")
        else:
            classes = [item[1:].rpartition(".")[2] for item in found if item[:1] == ":" and item[-2:] != "()"]
            owner = classes[0] if classes else ""
            self._note(self.attributes[name], node, "an attribute is assigned", bool(owner), owner)
            if self._is_module(holder):
                certain = self._may_be_own(holder, certainly=True)
                self._note(self.names[name], node, "an attribute of a module is assigned", certain)

    def _call(self, node: ast.Call) -> None:
        """Note what a call sets, and which functions it hands to other packages."""
        name = self._names.called(node)
        last = name.rpartition(".")[2]
        if _SETTERS.get(last) == len(node.args):
            self._attribute(node, node.args[0], self._names.text(node.args[1]))
        elif name in _SETTERS:
            self._note(self.any, node, f"{name} with unknown arguments")
        root = _root(node.func)
        is_foreign = name.partition(".")[0] not in sys.stdlib_module_names
        if root is None or not is_foreign or not self._names.is_imported(root):
            return
        for argument in (*node.args, *(item.value for item in node.keywords)):
            for part in argument.elts if isinstance(argument, ast.Tuple | ast.List) else [argument]:
                for found in self._names.names_of(part) if isinstance(part, ast.Name) else ():
                    self._note(self.names[found.removeprefix(":")], node, f"it is handed to {last}")


def _is_fixed(node: object) -> bool:
    """Return whether the value of an expression cannot be changed in place."""
    match node:
        case ast.Tuple(elts=parts):
            return all(map(_is_fixed, parts))
        case ast.UnaryOp(operand=part):
            return _is_fixed(part)
        case ast.BinOp(left=left, right=right):
            return _is_fixed(left) and _is_fixed(right)
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.Compare)
