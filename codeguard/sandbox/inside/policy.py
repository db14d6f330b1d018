"""The policy of the restricted tier: ordinary Python without introspection.

RestrictedPython is defense in depth, never the boundary: whatever it lets through faces the operating
system's layers. Its own defaults refuse ordinary code (augmented assignment to items, nonlocal, match, names
with an underscore), so this policy keeps its closed list of syntax and replaces its per-access guards by a
check of the names in the source. Names that no ordinary code needs and that lead to the interpreter's insides
are refused when compiled; the few whose danger depends on the object (`format`, `obj`, `__dict__`) go through
a guard when run, and so do getattr and its like.
"""

from __future__ import annotations

import ast
import builtins
import enum
import string
import types
import typing
from collections import UserString
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from RestrictedPython.transformer import INSPECT_ATTRIBUTES, RestrictingNodeTransformer

from . import words
from .allowed import OPEN_DUNDERS, withheld

_GUARDED = frozenset(
    {"format", "format_map", "vformat", "get_field", "obj", "evaluate", "__dict__", "__getstate__", "__get__"}
)
# the last two evaluate a text, and make an enumeration of a module's globals
_REFUSED_ATTRIBUTES = INSPECT_ATTRIBUTES | {
    *("mro", "f_trace_lines", "gi_suspended", "cr_suspended"),
    *("_evaluate", "_convert_"),
}
_REFUSED_NAMES = frozenset(
    {"eval", "exec", "compile", "globals", "locals", "breakpoint", "__import__", "__builtins__"}
)


_UNBINDABLE = frozenset({"__import__", "__builtins__", "_getattr_", "_refuse_", "_withheld_"})
_FIXED = frozenset({"__class__", "__dict__", "__code__"})


def attribute_allowed(name: str) -> bool:
    """Return whether the policy allows access to an attribute of this name."""
    if name.startswith("__"):
        return not name.endswith("__") or name in OPEN_DUNDERS
    return name not in _REFUSED_ATTRIBUTES and not name.endswith("__roles__")


# Of these, a pattern with one position is the whole object. The builtins alone, and no class of the same name.
_WHOLE = frozenset(words("bool bytearray bytes dict float frozenset int list set str tuple"))


def _has_positions(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.MatchClass) and node.patterns for node in ast.walk(tree))


def _bound(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module binds somewhere; `*` may bind any."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield from _WHOLE if node.name == "*" else ((node.asname or node.name).partition(".")[0],)
        else:
            name = getattr(node, "rest", None) or getattr(node, "name", None)
            if isinstance(name, str):
                yield name


class CodePolicy(RestrictingNodeTransformer):
    """RestrictedPython's transformer with a wider, still closed, list of accepted Python."""

    def generic_children(self, node: ast.AST) -> ast.AST:
        """Visit what a node contains."""
        result: ast.AST = self.node_contents_visit(node)
        return result

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        """Refuse names that stand for the interpreter's insides."""
        if name is None:
            return
        if name in _UNBINDABLE or name.endswith("__roles__"):
            self.error(node, f'"{name}" is refused')

    def visit_Name(self, node: ast.Name) -> ast.AST:  # noqa: N802
        """Check a name; print is the ordinary print."""
        if node.id in _REFUSED_NAMES and isinstance(node.ctx, ast.Load):
            return _call("_withheld_", f"Line {node.lineno}: {node.id}", node)
        self.check_name(node, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: N802
        """Check an attribute's name, and guard the few whose danger depends on the object."""
        loaded = isinstance(node.ctx, ast.Load)
        if loaded and not attribute_allowed(node.attr):
            return _call("_refuse_", f"Line {node.lineno}: attribute {node.attr}", node)
        if not loaded and (node.attr in _FIXED or not attribute_allowed(node.attr)):
            node.value = _call("_refuse_", f"Line {node.lineno}: setting attribute {node.attr}", node)
            node.attr = "refused"
            return node
        node.value = self.visit(node.value)
        private = node.attr.startswith("_") and not node.attr.startswith("__")
        return _guarded(node) if loaded and (private or node.attr in _GUARDED) else node

    def binding(self, node: Any) -> ast.AST:
        """Check the names that a definition, its arguments or a pattern bind; metaclasses are ordinary Python."""
        self.check_name(node, getattr(node, "name", None) or getattr(node, "rest", None))
        if hasattr(node, "args"):
            self.check_function_argument_names(node)
        return self.generic_children(node)

    def visit_MatchClass(self, node: Any) -> ast.AST:  # noqa: N802
        """Check the attributes that a class pattern fetches: `case object(__class__=x)`."""
        if node.patterns and not (isinstance(node.cls, ast.Name) and node.cls.id in _WHOLE):
            self.error(node, "a pattern of positions is refused: __match_args__ may name any attribute")
        for name in node.kwd_attrs:
            if not attribute_allowed(name) or name in _GUARDED or name.startswith("_"):
                self.error(node, f'attribute "{name}" is refused in a pattern')
        return self.generic_children(node)

    def check_import_names(self, node: Any) -> Any:
        """Check what an import binds, and bind what is refused to a name that refuses its use.

        So a module that imports more than the function under test needs can
        still be run.
        """
        if getattr(node, "is_lazy", 0):
            self.error(node, "lazy imports are refused")
        source = node.module or "" if isinstance(node, ast.ImportFrom) else None
        kept, statements = [], []
        for alias in node.names:
            bound = alias.asname or (alias.name if source is not None else alias.name.partition(".")[0])
            self.check_name(node, bound)
            if not withheld(source if source is not None else alias.name) and (
                source is None or alias.name == "*" or attribute_allowed(alias.name)
            ):
                kept.append(alias)
            elif alias.name == "*":
                self.error(node, f'importing everything of "{source}" is refused')
            else:
                what = f"Line {node.lineno}: importing {'' if source is None else source + '.'}{alias.name}"
                target = ast.copy_location(ast.Name(bound, ast.Store()), node)
                statements.append(
                    ast.copy_location(ast.Assign([target], _call("_withheld_", what, node)), node)
                )
        if kept:
            node.names = kept
            statements.insert(0, node)
        return statements


def _call(guard: str, what: str, node: ast.expr | ast.stmt) -> ast.Call:
    made = ast.Call(ast.Name(guard, ast.Load()), [ast.Constant(what)], [])
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _guarded(node: ast.Attribute) -> ast.Call:
    made = ast.Call(ast.Name("_getattr_", ast.Load()), [node.value, ast.Constant(node.attr)], [])
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _open_up() -> None:
    """Let the nodes through that are no more than what they contain, and is checked there, and the names they bind."""
    for name in words(
        "AugAssign AnnAssign Assign Nonlocal For comprehension With Module Call Subscript NamedExpr Match",
        "match_case MatchValue MatchSingleton MatchSequence MatchOr AsyncFor AsyncWith Await Interpolation",
        "TemplateStr JoinedStr FormattedValue Set Starred",
    ):
        setattr(CodePolicy, f"visit_{name}", CodePolicy.generic_children)
    for name in words("FunctionDef AsyncFunctionDef ClassDef MatchAs MatchStar MatchMapping"):
        setattr(CodePolicy, f"visit_{name}", CodePolicy.binding)


_open_up()


def compile_restricted(source: str, filename: str) -> tuple[Any, list[str]]:
    """Return the code of a module and no reasons, or None and the reasons for refusing it.

    Raises what `ast.parse` and `compile` raise.
    """
    tree = ast.parse(source, filename)
    errors: list[str] = []
    if "match" in source and _has_positions(tree) and _WHOLE & set(_bound(tree)):
        errors.append("a pattern may take a class of its own for one of the builtins")
    tree = CodePolicy(errors).visit(tree)
    if errors:
        return None, errors
    return compile(tree, filename, "exec", dont_inherit=True), []


refusals: list[str] = []  # of the running child: what the guards refused


def refuse(what: str) -> None:
    """Record that the policy, not the code, causes the following failure."""
    refusals.append(what)


class PolicyRefusedError(BaseException):
    """The policy, and not the code, ends this call; no `except Exception` goes on from here."""


def _refuse(what: str) -> Any:
    """Stand in the place of an expression that the policy refuses."""
    refuse(what)
    raise PolicyRefusedError(f"{what} is refused")


class Withheld:
    """Stands for something that the policy does not give: it can be held, and refuses every use."""

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        object.__setattr__(self, "_what", what)

    def __getattr__(self, name: str) -> Any:
        return _refuse(object.__getattribute__(self, "_what"))

    def _use(self, *_: Any, **__: Any) -> Any:
        return _refuse(object.__getattribute__(self, "_what"))

    __call__ = __mro_entries__ = __instancecheck__ = __subclasscheck__ = __setattr__ = __delattr__ = _use
    __iter__ = __getitem__ = __contains__ = __len__ = __enter__ = __or__ = __ror__ = __str__ = _use


def _refused(what: str) -> AttributeError:
    refuse(what)
    return AttributeError(f"{what} is refused")


def _checked(name: object) -> None:
    if type(name) is str and not attribute_allowed(name):
        raise _refused(f"attribute {name!r}")
    if isinstance(name, str) and type(name) is not str:
        raise TypeError("attribute name must be an exact str")


class _Formatter(string.Formatter):
    """str.format that checks the attributes named in the template."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        first, rest = string._string.formatter_field_name_split(field_name)  # type: ignore[attr-defined]
        found = self.get_value(first, args, kwargs)
        for is_attribute, name in rest:
            found = guarded_getattr(found, name) if is_attribute else found[name]
        return found, first


_formatter = _Formatter()
_missing = object()


def guarded_getattr(target: Any, name: str, default: Any = _missing) -> Any:
    """Fetch an attribute under the policy."""
    _checked(name)
    if name in _GUARDED:
        if name in ("format", "format_map"):  # a template reads attributes by itself: "{0.__class__}"
            found: Any = getattr(target, name, None)
            if isinstance(found, _BOUND) and isinstance(found.__self__, str):
                return _safe_format(name, found.__self__)
            if getattr(found, "__func__", None) in _WRAPPED_FORMATS:
                return _safe_format(name, found.__self__.data)
            if found in _FORMATS:
                return lambda template, *args, **kwargs: _safe_format(name, str(template))(*args, **kwargs)
        if name in ("vformat", "get_field") and _is_formatter(target):
            raise _refused(f"attribute {name!r}")
        if name == "format" and _is_formatter(target):
            return lambda template, *args, **kwargs: _formatter.vformat(template, args, kwargs)
        if name == "evaluate" and isinstance(target, typing.ForwardRef):  # runs its text with `eval`
            raise _refused("attribute 'evaluate'")
        if name == "obj" and isinstance(target, BaseException):  # an AttributeError's: what it was raised for
            raise _refused("attribute 'obj'")
        if name == "__dict__" and not has_plain_dict(target):
            raise _refused("attribute '__dict__'")
        if name == "__getstate__":
            return _guarded_state(target)
        if name == "__get__":
            return _guarded_get(target)
    found = getattr(target, name) if default is _missing else getattr(target, name, default)
    if type(found) is _MODULE:
        raise _refused(f"attribute {name!r}, which is a module,")
    return found


def _guarded_state(target: Any) -> Any:
    """Fetch `__getstate__`, which for a type hands out its dict."""
    found = getattr(target, "__getstate__")  # noqa: B009 - mypy knows no such method
    own = getattr(found, "__self__", None)
    if isinstance(own, type) and not has_plain_dict(own):
        raise _refused("attribute '__getstate__'")
    if found is not _STATE:
        return found

    def state(whose: Any) -> Any:
        if isinstance(whose, type) and not has_plain_dict(whose):
            raise _refused("attribute '__getstate__'")
        return _STATE(whose)

    return state


def _guarded_get(target: Any) -> Any:
    """Fetch `__get__`, which may fetch what a descriptor of a built-in type, or its dict, holds."""
    if isinstance(target, _DESCRIPTORS) and (
        not attribute_allowed(target.__name__) or target.__name__ in _GUARDED
    ):
        raise _refused(f"attribute {target.__name__!r}")
    found = target.__get__

    def get(*args: Any, **named: Any) -> Any:
        instances = (*args[isinstance(target, type) :][:1], named.get("instance"))
        if any(isinstance(one, type) and not has_plain_dict(one) for one in instances):
            raise _refused("attribute '__get__'")
        return found(*args, **named)

    return get


_STATE: Any = getattr(object, "__getstate__", None)  # new in Python 3.11
_DESCRIPTORS = (
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a class statement
_BOUND: Any = type("".format)
_WRAPPED_FORMATS: tuple[Any, ...] = (UserString.format, UserString.format_map)
_FORMATS: tuple[Any, ...] = (str.format, str.format_map, *_WRAPPED_FORMATS)
_MODULE = type(builtins)


def _safe_format(name: str, template: str) -> Callable[..., str]:
    """Stand for a text's format or format_map."""
    if name == "format":
        return lambda *args, **kwargs: _formatter.vformat(template, args, kwargs)
    return lambda mapping: _formatter.vformat(template, (), mapping)


def _is_formatter(target: object) -> bool:
    return isinstance(target, string.Formatter) or (
        isinstance(target, type) and issubclass(target, string.Formatter)
    )


def has_plain_dict(target: object) -> bool:
    """Whether an object's dict holds only what ordinary code put there."""
    kind = type(target)
    if isinstance(target, type):
        # A built-in type's dict has descriptors of its internals; those of an enumeration fetch any attribute by name.
        return bool(target.__flags__ & _HEAP_TYPE) and not isinstance(target, enum.EnumType)
    return hasattr(kind, "__dict__") and kind is not _MODULE


def _guarded_hasattr(target: Any, name: str) -> bool:
    try:
        guarded_getattr(target, name)
    except AttributeError:
        return False
    return True


def guarded_setattr(target: Any, name: str, value: Any) -> None:
    """Set an attribute under the policy."""
    _checked(name)
    if name in _FIXED:
        raise _refused(f"attribute {name!r}")
    setattr(target, name, value)


def _guarded_delattr(target: Any, name: str) -> None:
    _checked(name)
    delattr(target, name)


def _guarded_vars(target: Any = _missing) -> Any:
    if target is _missing:
        raise TypeError("vars() without an argument is refused")
    return guarded_getattr(target, "__dict__")


_WITHHELD = _REFUSED_NAMES.union(words("open input help quit exit copyright credits license"))


def restricted_builtins(replacements: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """Return the builtins of the restricted tier, with `replacements` (open, input, __import__)."""
    kept = {
        name: value
        for name, value in vars(builtins).items()
        if name not in _WITHHELD and (not name.startswith("_") or name == "__build_class__")
    }
    kept.update(
        __name__="builtins",
        getattr=guarded_getattr,
        hasattr=_guarded_hasattr,
        setattr=guarded_setattr,
        delattr=_guarded_delattr,
        vars=_guarded_vars,
        _getattr_=guarded_getattr,
        _refuse_=_refuse,
        _withheld_=Withheld,
        **replacements,
    )
    return kept
