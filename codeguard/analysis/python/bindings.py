"""What an importer of a module gets under a name, decided from its syntax.

The text of a function is what an importer gets only if nothing else in the file binds its name, and nothing that the
file runs on import writes to its namespace in another way. A second binding, or a write of that very name to this very
module, is certain; whatever reaches a namespace and may write any name is only possible. What other modules change
when they import this one is not examined.
"""

from __future__ import annotations

import ast
import contextlib
import sys
import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from codeguard.corpus import syntax
from codeguard.models import Chunk, SourceFile, Trust
from codeguard.syntax.constants import COMPARISONS
from codeguard.syntax.names import Names, dotted_name

if TYPE_CHECKING:
    from codeguard.trust.verified import VerifiedManifest

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
MOST_CHARACTERS = 2_000_000
UNPARSED = "a part of the file does not parse"
_PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
_MAIN = "'__main__'"
_RUNNING = {"sys.version_info": tuple(sys.version_info), "sys.platform": sys.platform}
_TYPES_ONLY = frozenset({"typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"})
_OVERLOADS = frozenset({"typing.overload", "typing_extensions.overload"})
_RECEIVERS = frozenset({"self", "cls"})
_STAR = "a star import"
# Names whose mention alone may change any name: they run text as code or reach any object.
_ANY = frozenset(
    """
    exec eval runpy.run_path runpy.run_module code.interact ctypes.cast ctypes.memmove ctypes.memset ctypes.py_object
    ctypes.pythonapi gc.get_objects gc.get_referents gc.get_referrers
    """.split()  # noqa: SIM905 - words read better as words
)
# Functions that are called to reach a namespace; under another name they may do so anywhere.
_CALLED = frozenset("setattr delattr globals locals vars __import__ importlib.import_module".split())  # noqa: SIM905
_POWERFUL = frozenset({"builtins", "ctypes", "gc", "importlib", "inspect", "runpy", "sys"})
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
_READERS = ("get", "keys", "copy", "items", "values")  # the last three hand on what a table of modules holds
_READING = frozenset(
    "dict dir frozenset getattr hasattr id isinstance issubclass len list repr set sorted str tuple type vars".split()  # noqa: SIM905
)


def bindings(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that these nodes bind in the scope in which they stand."""
    return {name for name, _ in _bound(nodes)}


def _bound(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Yield each name that these nodes bind, with the node that does."""
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
        pending.extend(children)


def name_bound_by(alias: ast.alias) -> str:
    """Return the name that a part of an import binds; `*` for all."""
    return alias.asname or alias.name.partition(".")[0]


def is_main_guard(statement: ast.stmt) -> bool:
    """Return whether a statement runs only if its file is the program, and nothing else if it is not."""
    return isinstance(statement, ast.If) and not statement.orelse and _as_program(statement.test) is True


def _as_program(test: ast.expr) -> bool | None:
    """Return whether a test holds for the program alone (True), or for anything else (False); None for other tests."""
    match test:
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
            if {ast.unparse(test.left), ast.unparse(right)} == {"__name__", _MAIN}:
                return isinstance(op, ast.Eq)
    return None


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
        doubts = self._doubts(symbol, lines, sorted(used), included)
        return min(doubts, key=lambda item: not item.certain, default=None)

    def used_in(self, lines: range) -> frozenset[str]:
        """Return the names that code in these lines mentions."""
        return frozenset(name for line in lines for name in self._mentioned.get(line, ()))

    def _doubts(
        self, symbol: str, lines: range, used: Sequence[str], included: Collection[range] | None
    ) -> Iterator[Doubt]:
        module = self._scope(None)
        writes = self._writes = self._writes or _Writes(self._body, self._names, self._parents)
        parts = symbol.split(".") if symbol else []
        for place, name in enumerate(parts):
            yield from self._of_name(parts[:place], name, lines, writes)
        for name in module if not symbol else ():
            if any(_line(node) in lines for node in module[name]):
                yield from self._of_name((), name, lines, writes)
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
                yield Doubt(
                    f"line {_line(other)} of the file binds {name} as well", self._certainly(other, own)
                )
        for write in writes.names[name] if owner is None else writes.attributes[name]:
            if write.line not in lines:
                yield write.doubt(f"replaces {name}")

    def _scope(self, owner: ast.ClassDef | None) -> Mapping[str, list[ast.AST]]:
        """Return the nodes that bind each name of the module or of a class."""
        if owner not in self._scopes:
            found: dict[str, list[ast.AST]] = defaultdict(list)
            for name, node in _bound(self._taken(self._body if owner is None else owner.body)):
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
        program = _as_program(test)
        if program is not None:
            return not program
        match test:
            case ast.Constant(value=value):
                return bool(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self._decided(operand)
                return None if inner is None else not inner
            case ast.Compare(left=left, ops=[op], comparators=[ast.Constant() | ast.Tuple() as right]):
                with contextlib.suppress(KeyError, ValueError, TypeError):
                    known = _RUNNING[self._dotted(left)]
                    return bool(COMPARISONS[type(op)](known, ast.literal_eval(right)))
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
        ends_before = (getattr(other, "end_lineno", None) or _line(other)) < _lines_of(own).start
        # A binding in an expression may run when a generator is asked for values.
        if own in body and ends_before and not isinstance(self._parents.get(other), ast.NamedExpr):
            return True
        mine, theirs = (
            {
                form(item)
                for item in getattr(node, "decorator_list", ())
                for form in (self._dotted, dotted_name)
            }
            for node in (own, other)
        )
        if _OVERLOADS & mine or (_OVERLOADS & theirs and _line(other) < _line(own)):
            return True  # declares types, and is not what anybody gets
        accessors = {f"{own.name}.setter", f"{own.name}.deleter", "property"}
        if owner is not None and mine & accessors and theirs & accessors:
            return True
        statement = self._parents.get(other)
        around = self._parents.get(statement) if isinstance(statement, ast.Import | ast.ImportFrom) else None
        relative = getattr(statement, "level", 0)
        return isinstance(around, ast.Try) and not relative and any(own in x.body for x in around.handlers)

    def _certainly(self, other: ast.AST, own: ast.AST | None) -> bool:
        """Return whether no condition, and no import that may fail, decides which of two bindings runs."""
        if own is None:
            return True
        arms, others = dict(self._arms(own)), dict(self._arms(other))
        fails = isinstance(other, ast.alias) and any(isinstance(at, ast.Try) for at in others)
        return not fails and all(
            arms.get(at) == arm or (at not in arms and not isinstance(at, ast.If))
            for at, arm in others.items()
        )

    def _arms(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        """Yield the statements around a node that may not run it, each with the part in which it stands."""
        at = self._parents.get(node)
        while at is not None:
            if isinstance(at, ast.Try) or (isinstance(at, ast.If) and self._decided(at.test) is None):
                for name in ("body", "orelse", "handlers"):
                    if node in getattr(at, name, ()):
                        yield at, name
            node, at = at, self._parents.get(at)


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


def _lines_of(node: ast.AST) -> range:
    first = min([_line(node), *map(_line, getattr(node, "decorator_list", ()))])
    return range(first, (getattr(node, "end_lineno", None) or _line(node)) + 1)


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
        self._mutable = {
            name
            for name, node in _bound(body)
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

        A function runs if what runs mentions its name. So do the special methods of a class, and its other methods if
        what runs takes an attribute of their name from anything.
        """
        defined: dict[str, list[ast.AST]] = defaultdict(list)
        for found in self._names.scopes.symbols:
            defined[found.name].append(found)  # type: ignore[attr-defined]
        methods: dict[str, list[ast.AST]] = defaultdict(list)  # of classes that are in use
        attributes: set[str] = set()
        seen: set[ast.AST] = set()
        waiting: list[tuple[ast.AST, bool]] = [(item, False) for item in body]
        for node, in_call in waiting:  # grows
            yield node, in_call
            # Decorators, defaults and annotations run where the definition stands.
            waiting += [
                (child, in_call)
                for child in ast.iter_child_nodes(node)
                if not (isinstance(node, Function) and isinstance(child, ast.stmt))
            ]
            run: list[ast.AST] = []
            if isinstance(node, ast.Attribute):
                attributes.add(node.attr)
                run += methods[node.attr]
            elif isinstance(node, ast.Name) and node.id in defined and not self._only_named(node):
                for found in defined[node.id]:
                    run += [found] if isinstance(found, Function) else []
                    for item in found.body if isinstance(found, ast.ClassDef) else ():
                        if isinstance(item, Function):
                            methods[item.name].append(item)
                            special = item.name.startswith("__")
                            run += [item] if special or item.name in attributes else []
            new = [item for item in dict.fromkeys(run) if item not in seen]
            seen.update(new)
            waiting += [(child, True) for item in new for child in item.body]  # type: ignore[attr-defined]

    def _only_named(self, node: ast.Name) -> bool:
        """Return whether a name stands where nothing calls it: as an annotation, as a base, in `except`."""
        parent = self._parents.get(node)
        if isinstance(parent, ast.ClassDef):
            hooks = (f"{node.id}.__init_subclass__", f"{node.id}.__new__")
            return node in parent.bases and self._names.scopes.definitions.keys().isdisjoint(hooks)
        annotates = node in (getattr(parent, "annotation", None), getattr(parent, "returns", None))
        return annotates or isinstance(parent, ast.ExceptHandler)

    def _note(self, to: list[_Write], node: ast.AST, what: str, certain: bool = False) -> None:
        to.append(_Write(_line(node), what, certain, self._in_call))

    def _examine(self, node: ast.AST) -> None:
        match node:
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                self._note(self.any, node, f"{_STAR} of {node.module or '.'}")
            case ast.AugAssign(target=target) if self._namespace_of(target):
                self._note(self.any, node, "a namespace is merged with another")
            case ast.Attribute(ctx=ast.Store() | ast.Del()):
                self._attribute(node, node.value, node.attr)
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                self._key(node, self._names.text(node.slice), self._namespace_of(node.value))
            case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
                self._mention(node)
        if isinstance(node, ast.Call):
            self._call(node)

    def _mention(self, node: ast.expr) -> None:
        """Note what the mention of something that reaches a namespace, or of a value, may change."""
        at: ast.AST = node
        parent = self._parents.get(at)
        while isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is at:
            at, parent = parent, self._parents.get(parent)
        while isinstance(parent, ast.keyword | ast.Tuple | ast.List | ast.Dict | ast.Starred):
            parent = self._parents.get(parent)
        called = isinstance(parent, ast.Call) and parent.func is at
        reads = isinstance(parent, ast.Call) and not called and self._names.called(parent) in _READING
        handed = isinstance(parent, ast.Call | ast.Return | ast.arguments) and not called and not reads
        for name in self._names.names_of(node):
            if name in _ANY:
                self._note(self.any, node, f"{name} runs text as code, or reaches any object")
            elif at is node and ((name in _CALLED and not called) or (name in _POWERFUL and handed)):
                self._note(self.any, node, f"{name} is handed on, or under another name")
            elif name == "getattr()" and (at is not node or called):
                self._note(self.any, node, "an attribute with a computed name is called or changed")
        namespace = self._namespace_of(node)
        if at is node and handed and (namespace or self._own_module(node) is not None):
            self._note(self.any, node, f"{namespace or 'a module of the table of modules'} is handed on")
        above = self._parents.get(node)
        readers = _READERS[:2] if namespace == "sys.modules" else _READERS
        if namespace and isinstance(above, ast.Attribute) and above.attr not in readers:
            call = self._parents.get(above)
            keys = [self._names.text(item) for item in getattr(call, "args", ())[:1]]
            for key in [*keys, *(item.arg for item in getattr(call, "keywords", ()))] or [None]:
                self._key(node, key, namespace)
        if isinstance(node, ast.Name) and node.id in self._mutable and isinstance(node.ctx, ast.Load):
            scope = self._names.scopes.find(node.id, self._names.scopes.scope_of(node))
            stored = isinstance(at, ast.Attribute | ast.Subscript) and not isinstance(at.ctx, ast.Load)
            method = called and at is not node
            changes = stored or method or handed or isinstance(parent, ast.Assign | ast.NamedExpr)
            if changes and scope is not None and scope[0] is self._names.scopes.module:
                self._note(self.contents[node.id], node, "it is changed, handed on or gets another name")

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
        return name in self._names.imported or name.startswith("sys.modules") or name in _IMPORTING

    def _own_module(self, node: ast.expr) -> bool | None:
        """Return whether an expression takes this module from the table of modules; False: maybe, None: no."""
        found: bool | None = None
        for value in self._names.values_of(node) if isinstance(node, ast.Name) else [node]:
            match value:
                case ast.Subscript(value=table, slice=key) if self._names.resolve(table) == "sys.modules":
                    found = found or ast.unparse(key) == "__name__"
                case ast.Call(args=[key, *_]) if not isinstance(key, ast.Constant):
                    if self._names.called(value) in ("sys.modules.get", *_IMPORTING):
                        found = found or ast.unparse(key) == "__name__"
        return found

    def _key(self, node: ast.AST, key: str | None, namespace: str) -> None:
        """Note a write under a key of a namespace, under any one if it is None."""
        if namespace and key is None:
            self._note(self.any, node, f"{namespace} is changed")
        elif namespace and key is not None:
            certain = namespace in _OWN or namespace.startswith("sys.modules[]")
            self._note(self.names[key], node, f"through {namespace}", certain)
            self._note(self.attributes[key], node, f"through {namespace}")

    def _attribute(self, node: ast.AST, holder: ast.expr, name: str | None) -> None:
        """Note a write of an attribute, of any one if the name is None."""
        root = _root(holder)
        own = root is not None and root.id in _RECEIVERS and self._names.class_of(node) is not None
        if name is not None and name not in _DECIDING:
            self._note(self.attributes[name], node, "an attribute is assigned")
        elif not own:
            self._note(self.any, node, f"{name or 'an attribute with a computed name'} is assigned")
        module = self._own_module(holder)
        names = (item.removesuffix("()") for item in self._names.names_of(holder))
        if name is not None and (module is not None or any(map(self._is_module_name, names))):
            self._note(self.names[name], node, "an attribute of a module is assigned", module is True)

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


def trust_in_file(manifest: VerifiedManifest | None, chunk: Chunk, file: SourceFile) -> Trust:
    """Return what a manifest says of a chunk, which counts only if an importer of its file gets that text.

    In a file that is listed as a whole, under any path, the text is what the trusted file has. Anywhere else a name
    may be bound again below the text, and then it is no copy, nor trusted because its path is.
    """
    if manifest is None:
        return Trust.UNLISTED
    found = manifest.trust_of(chunk.path, chunk.sha256)
    if found not in (Trust.TRUSTED, Trust.COPY) or chunk.language != "python" or manifest.lists(file.sha256):
        return found
    first, last = file.lines_of(chunk)
    lines = range(first, last + 1)
    known = module_bindings(file.text)
    doubt = known.doubt(chunk.symbol, lines, known.used_in(lines))
    if doubt is None:
        return found
    return Trust.MODIFIED if doubt.certain and chunk.path in manifest.files else Trust.UNLISTED
