"""Resolve names in a Python file to dotted names, through aliases and indirection.

`subprocess.run` is recognised however it is reached: an import under another name, an alias,
`getattr(subprocess, "r" + "un")`, `importlib.import_module("subprocess").run`,
`vars(subprocess)["run"]`. Conventions for resolved names:

- a builtin has no module: `eval`, `open`;
- `name()` is the result of calling `name`, and its attributes are written without the parentheses:
  `s = requests.Session()` is `requests.Session()` and `s.get` is `requests.Session.get`;
- names that the file defines start with a colon: `:helper`, `:Class.method`;
- a relative import keeps its dots: `..models.User`;
- a name that the file does not bind stands for itself, because snippets often lack their imports.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from codeguard.syntax.constants import Folder, LiteralTexts, UnknownValueError
from codeguard.syntax.scopes import FUNCTIONS, Binding, BindingKind, FunctionNode, Scope, Scopes, defaults_of
from codeguard.syntax.unread import Unread

DEEPEST = 40
MOST_NAMES = 256  # names per expression
MOST_PARTS = 256  # values per expression: returned values, elements, values of an attribute
STEPS_PER_FILE = 500_000
STEPS_PER_NODE = 2
_TOO_LONG = "what names stand for was not worked out any further: it takes too many steps"
_TOO_DEEP = f"a name was not followed through more than {DEEPEST} others"
_TOO_MANY = f"more than {MOST_NAMES} meanings of one expression were not looked at"
Choice = TypeVar("Choice")
Parents = Mapping[ast.AST, ast.AST]


def dotted_name(node: ast.expr) -> str:
    """Return a name, an attribute or what a call calls as it is written; "" for anything else."""
    if isinstance(node, ast.Call):
        return dotted_name(node.func)
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


class Names:
    """Resolves the expressions of one file."""

    def __init__(
        self, tree: ast.Module, nodes: Sequence[ast.AST], parents: Parents, unread: Unread | None = None
    ) -> None:
        self.unread = unread or Unread()
        self.scopes = Scopes(tree, nodes, parents, self.unread)
        self._parents = parents
        self._folder = Folder(self, STEPS_PER_NODE * len(nodes), self.unread)
        self._memo: dict[ast.AST, tuple[str, ...]] = {}
        self._returned: dict[ast.AST, list[ast.expr]] | None = None
        self._nodes = nodes
        self._steps = STEPS_PER_FILE + STEPS_PER_NODE * len(nodes)

    @cached_property
    def imported(self) -> frozenset[str]:
        """The dotted names that imports of the file bind."""
        bound = (item for scope in self.scopes.all for several in scope.bindings.values() for item in several)
        imports = [item for item in bound if item.kind is BindingKind.MODULE]
        whole = (
            alias.name for item in imports if isinstance(item.node, ast.Import) for alias in item.node.names
        )
        return frozenset([*whole, *(item.name for item in imports)])

    def resolve(self, node: ast.expr) -> str:
        """Return the most likely dotted name of an expression, or ""."""
        found = self.names_of(node)
        return found[-1] if found else ""

    def called(self, call: ast.Call) -> str:
        """Return the dotted name of the called function, or ""."""
        found = self.names_of(call.func)  # same as `resolve`; the most frequent call
        return found[-1] if found else ""

    def constant(self, node: ast.expr | None, default: object = None) -> object:
        """Return the value of a constant expression, or `default` if it is missing or not constant."""
        if node is None:
            return default
        if isinstance(node, ast.Constant):
            return node.value
        try:
            return self._folder.fold(node)
        except UnknownValueError:
            return default

    def text(self, node: ast.expr | None) -> str | None:
        """Return the text of a constant expression, or None."""
        value = self.constant(node)
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        return value if isinstance(value, str) else None

    @cached_property
    def literal(self) -> LiteralTexts:
        """The reader of texts that the file puts together."""
        return LiteralTexts(self, STEPS_PER_NODE * len(self._nodes), self.unread)

    def definition(self, name: str) -> FunctionNode | ast.ClassDef | None:
        """Return the definition of a name of the file (`:helper`, `:Class.method`), or None.

        Methods are also looked up in the bases that the file defines.
        """
        if not name.startswith(":"):
            return None
        symbol = name[1:].removesuffix("()")
        found = self.scopes.definitions.get(symbol)
        owner, _, attribute = symbol.rpartition(".")
        for base in self._bases(owner, 0) if owner and found is None else ():
            if base.startswith(":"):
                found = found or self.scopes.definitions.get(f"{base[1:]}.{attribute}")
        return found

    def symbol(self, node: ast.AST) -> str:
        """Return the qualified name of a function or class of the file."""
        return self.scopes.symbols.get(node, "")

    def bases(self, node: ast.ClassDef) -> tuple[str, ...]:
        """Return the resolved bases of a class, followed by the bases of those in the file."""
        return tuple(self._bases(self.symbol(node), 0))

    def function_of(self, node: ast.AST) -> FunctionNode | None:
        """Return the innermost function in which a node is evaluated."""
        return self._around(node, FUNCTIONS)  # type: ignore[return-value]

    def omitted(self, node: ast.expr) -> ast.expr:
        """Return the default of the parameter that a name stands for; the node itself if it stands for none."""
        if (
            not isinstance(node, ast.Name)
            or (function := self.function_of(node)) is None
            or self.values_of(node)
        ):
            return node
        return defaults_of(function.args).get(node.id, node)

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """Return the innermost class around a node."""
        return self._around(node, (ast.ClassDef,))  # type: ignore[return-value]

    def _around(self, node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> ast.AST | None:
        at: Scope | None = self.scopes.scope_of(node)
        while at is not None and not isinstance(at.node, kinds):
            at = at.parent
        return None if at is None else at.node

    def names_of(self, node: ast.expr, depth: int = 0) -> tuple[str, ...]:
        """Return every dotted name that an expression may stand for, at most `MOST_NAMES`."""
        known = self._memo.get(node)
        if known is not None:
            return known
        resolve = _RESOLVERS.get(type(node))
        self._steps -= 1
        if resolve is None:
            return ()
        if depth > DEEPEST or self._steps < 0:
            self.unread.note(_TOO_DEEP if self._steps >= 0 else _TOO_LONG, getattr(node, "lineno", 0))
            return ()
        self._memo[node] = ()  # ends a cycle of aliases
        found = tuple(dict.fromkeys(resolve(self, node, depth + 1)))
        if len(found) > MOST_NAMES:
            self.unread.note(_TOO_MANY, getattr(node, "lineno", 0))
            found = found[-MOST_NAMES:]
        self._memo[node] = found
        return found

    def _of_all(self, parts: Sequence[ast.expr], node: ast.AST, depth: int) -> list[str]:
        """Return the names of the parts that are followed: the most likely ones, which come last."""
        if len(parts) > MOST_PARTS:
            self.unread.note(_TOO_MANY, getattr(node, "lineno", 0))
        return [name for part in parts[-MOST_PARTS:] for name in self.names_of(part, depth)]

    def values_of(self, node: ast.expr, depth: int = 0) -> list[ast.expr]:
        """Return the expressions that a name, or an attribute of `self`, is bound to.

        Empty if any of its bindings is not an expression of the file.
        """
        bindings: list[Binding] = []
        if isinstance(node, ast.Name):
            bindings = self._bindings(node)
        elif isinstance(node, ast.Attribute) and depth <= DEEPEST:
            for base in self.names_of(node.value, depth + 1):
                bindings += self._attribute_bindings(base, node.attr)
        values = [item.value for item in bindings if item.kind is not BindingKind.PARAMETER and item.value]
        return values if len(values) == len(bindings) else []

    def is_imported(self, node: ast.Name) -> bool:
        """Return whether nothing but imports of this file gives a name its value."""
        bindings = self._bindings(node)
        from_all = bool(self.scopes.module.stars) and node.id not in _BUILTINS
        return all(item.kind is BindingKind.MODULE for item in bindings) if bindings else from_all

    def _bindings(self, node: ast.Name) -> list[Binding]:
        scope = self.scopes.scope_of(node)
        found = self.scopes.find(node.id, scope)
        return [] if found is None else self.scopes.reaching(node, scope, *found)

    def _attribute_bindings(self, base: str, attribute: str) -> list[Binding]:
        definition = (
            self.scopes.definitions.get(base[1:].removesuffix("()")) if base.startswith(":") else None
        )
        scope = None if definition is None else self.scopes.of(definition)
        if scope is None or not isinstance(definition, ast.ClassDef):
            return []
        return scope.attributes.get(attribute, []) + scope.bindings.get(attribute, [])

    def _name(self, node: ast.Name, depth: int) -> Iterable[str]:
        scope = self.scopes.scope_of(node)
        found = self.scopes.find(node.id, scope)
        if found is None:
            stars = self.scopes.module.stars
            if stars and node.id not in _BUILTINS:
                return (f"{star}.{node.id}" for star in stars)
            return (node.id,)
        names: list[str] = []
        parent = self._parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        for item in self.scopes.reaching(node, scope, *found):
            if called and isinstance(item.default, ast.Name | ast.Attribute):
                names += self.names_of(item.default, depth)
            names += self._of_binding(item, depth)
        return names

    def _of_binding(self, item: Binding, depth: int) -> Iterable[str]:
        if item.kind is BindingKind.PARAMETER:
            # Other values are often replaced.
            made = item.default if isinstance(item.default, ast.Call) else None
            annotated = [f"{name}()" for name in self._annotation(item.value, depth) if name]
            return [*(self.names_of(made, depth) if made else ()), *annotated]
        if item.kind is BindingKind.VALUE and item.value is not None:
            return self.names_of(item.value, depth)
        return (item.name,) if item.name else ()

    def _annotation(self, node: ast.expr | None, depth: int) -> Iterable[str]:
        """Return the class in an annotation, also within Optional, Annotated or a union with None."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            node = ast.copy_location(ast.Name(node.value, ast.Load()), node)
            return self._name(node, depth)
        if isinstance(node, ast.BinOp):
            return (*self._annotation(node.left, depth), *self._annotation(node.right, depth))
        if isinstance(node, ast.Subscript):
            outer = self.names_of(node.value, depth)
            if outer and outer[-1].rpartition(".")[2] in ("Optional", "Annotated"):
                inner = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
                return self._annotation(inner, depth)
            return outer
        return () if node is None or isinstance(node, ast.Constant) else self.names_of(node, depth)

    def _attribute(self, node: ast.Attribute, depth: int) -> Iterable[str]:
        return self._members(node.value, node.attr, depth)

    def _members(self, holder: ast.expr, attribute: str, depth: int) -> list[str]:
        return [
            name for base in self.names_of(holder, depth) for name in self._member(base, attribute, depth)
        ]

    def _member(self, base: str, attribute: str, depth: int) -> Iterable[str]:
        if base in ("builtins", "__builtins__"):
            return (attribute,)
        if base.startswith(_LIBRARIES):
            return (f"libc.{attribute}",)  # a function of C, whichever library is asked for it
        if not base.startswith(":"):
            name = f"{base.removesuffix('()')}.{attribute}"
            return (_OF_NOTEBOOKS.get(name.removeprefix("IPython."), name),)
        symbol = base[1:].removesuffix("()")
        definition = self.scopes.definitions.get(f"{symbol}.{attribute}")
        if definition is not None:
            return (f":{symbol}.{attribute}",)
        bound = self._attribute_bindings(base, attribute)
        if bound:
            if len(bound) > MOST_PARTS:
                self.unread.note(_TOO_MANY, getattr(bound[0].node, "lineno", 0))
            return [name for item in bound[-MOST_PARTS:] for name in self._of_binding(item, depth)]
        inherited: list[str] = []
        for parent in self._bases(symbol, depth):
            if parent.startswith(":"):
                if f"{parent[1:]}.{attribute}" in self.scopes.definitions:
                    return (f"{parent}.{attribute}",)
            elif parent != "object":
                inherited.append(f"{parent}.{attribute}")
        return inherited or (f":{symbol}.{attribute}",)

    def _bases(self, symbol: str, depth: int) -> list[str]:
        found: list[str] = []
        waiting = [symbol]
        while waiting and len(found) < MOST_NAMES:
            node = self.scopes.definitions.get(waiting.pop(0))
            for base in node.bases if isinstance(node, ast.ClassDef) else ():
                expression = base.value if isinstance(base, ast.Subscript) else base
                for name in self.names_of(expression, depth + 1):
                    if name not in found:
                        found.append(name)
                        waiting.append(name[1:] if name.startswith(":") else "")
        return found

    def _subscript(self, node: ast.Subscript, depth: int) -> Iterable[str]:
        key = self.constant(node.slice)
        for base in self.names_of(node.value, depth):
            if not isinstance(key, str):
                break
            if base in ("globals()", "locals()", "vars()"):
                return self._name(ast.Name(key, ast.Load(), lineno=_AT_THE_END, col_offset=0), depth)
            if base in ("sys.modules", "__builtins__", "builtins.__dict__"):
                return (key,)
            if base.endswith(".__dict__"):
                return self._member(base.removesuffix(".__dict__"), key, depth)
        values = self.values_of(node.value, depth)
        held = values[0] if len(values) == 1 else node.value
        if isinstance(held, ast.Dict | ast.List | ast.Tuple):
            return self._element(held, key, depth)
        return (f"{name.removesuffix('()')}[]()" for name in self.names_of(node.value, depth))

    def _element(self, held: ast.expr, key: object, depth: int) -> Iterable[str]:
        chosen: list[ast.expr] = getattr(held, "elts", [])
        if isinstance(held, ast.Dict):
            pairs = zip(held.keys, held.values, strict=True)
            chosen = [value for each, value in pairs if each and (key is None or self.constant(each) == key)]
        elif isinstance(key, int) and -len(chosen) <= key < len(chosen):
            chosen = [chosen[key]]
        return self._of_all(chosen, held, depth)

    def _call(self, node: ast.Call, depth: int) -> Iterable[str]:
        functions = self.names_of(node.func, depth)
        return [name for function in functions for name in self._result(function, node, depth)]

    def _result(self, function: str, node: ast.Call, depth: int) -> Iterable[str]:
        first = node.args[0] if node.args else None
        if function == "getattr" and len(node.args) >= 2 and first is not None:
            attribute = self.text(self.omitted(node.args[1]))
            if attribute is None:
                return ("getattr()",)
            return self._members(first, attribute, depth)
        if function in _IMPORTING and first is not None:
            module = self.text(first)
            return (f"{function}()",) if module is None else (module,)
        # The result of `partial(f, …)`, decorators and the like is named like the wrapped function.
        if function in _WRAPPING and first is not None:
            return self.names_of(first, depth)
        if function == "vars" and first is not None:
            return (f"{base}.__dict__" for base in self.names_of(first, depth))
        # `super()` is an instance of each base, where its methods are looked up.
        if function == "super" and not node.args:
            owner = self.class_of(node)
            return () if owner is None else (f"{base}()" for base in self._bases(self.symbol(owner), depth))
        if function == "operator.attrgetter()" and first is not None:
            return self._got(node, first, depth)
        definition = self.definition(function)
        if isinstance(definition, FUNCTIONS):
            return self._returns(definition, depth) or (f"{function}()",)
        return (f"{function.removesuffix('()')}()",)

    def _got(self, node: ast.Call, holder: ast.expr, depth: int) -> Iterable[str]:
        """Resolve `operator.attrgetter("system")(os)`."""
        getter = node.func
        if isinstance(getter, ast.Name):
            values = self.values_of(getter, depth)
            getter = values[0] if len(values) == 1 else getter
        attribute = self.text(getter.args[0]) if isinstance(getter, ast.Call) and getter.args else None
        if attribute is None:
            return ()
        return (f"{base.removesuffix('()')}.{attribute}" for base in self.names_of(holder, depth))

    def _returns(self, function: FunctionNode, depth: int) -> list[str]:
        if self._returned is None:
            self._returned = {}
            for node in self._nodes:
                if isinstance(node, ast.Return) and node.value is not None:
                    owner = self.function_of(node)
                    if owner is not None:
                        self._returned.setdefault(owner, []).append(node.value)
        values = self._returned.get(function, [])
        return self._of_all([item for item in values if not isinstance(item, ast.Constant)], function, depth)

    def _either(self, node: ast.IfExp | ast.BoolOp, depth: int) -> Iterable[str]:
        parts = node.values if isinstance(node, ast.BoolOp) else [node.orelse, node.body]
        return self._of_all(parts, node, depth)

    def _through(self, node: ast.Await | ast.NamedExpr, depth: int) -> Iterable[str]:
        return self.names_of(node.value, depth)

    def _constant(self, node: ast.Constant, depth: int) -> Iterable[str]:
        return (f"{type(node.value).__name__}()",) if isinstance(node.value, str | bytes) else ()


_AT_THE_END = 1 << 30
_IMPORTING = frozenset({"__import__", "importlib.import_module", "importlib.__import__"})
_LIBRARIES = (
    *("ctypes.CDLL()", "ctypes.PyDLL()", "ctypes.WinDLL()", "ctypes.OleDLL()", "cffi.FFI.dlopen()"),
    *("ctypes.cdll.", "ctypes.windll.", "ctypes.oledll.", "ctypes.pydll."),
)
_WRAPPING = frozenset({"functools.partial", "staticmethod", "copy.copy", "inspect.unwrap"})
_DISPLAYS: dict[type[ast.AST], str] = {
    ast.JoinedStr: "str()",
    **dict.fromkeys((ast.Dict, ast.DictComp), "dict()"),
    **dict.fromkeys((ast.List, ast.ListComp), "list()"),
    **dict.fromkeys((ast.Set, ast.SetComp), "set()"),
    ast.Tuple: "tuple()",
}
_RESOLVERS: dict[type[ast.AST], Callable[..., Iterable[str]]] = {
    ast.Name: Names._name,
    ast.Attribute: Names._attribute,
    ast.Subscript: Names._subscript,
    ast.Call: Names._call,
    **dict.fromkeys((ast.IfExp, ast.BoolOp), Names._either),
    **dict.fromkeys((ast.Await, ast.NamedExpr), Names._through),
    ast.Constant: Names._constant,
    **dict.fromkeys(_DISPLAYS, lambda names, node, depth: (_DISPLAYS[type(node)],)),
}
# What a program that runs in IPython calls, by what it comes to.
_OF_NOTEBOOKS = {
    **{f"get_ipython.{name}": "os.system" for name in ("system", "system_piped", "system_raw", "magic")},
    **{f"get_ipython.{name}": "os.popen" for name in ("getoutput", "getoutput_split")},
    **{f"get_ipython.{name}": "exec" for name in ("ex", "run_code", "run_cell")},
    "get_ipython.ev": "eval",
}
_BUILTINS = frozenset(dir(builtins))
