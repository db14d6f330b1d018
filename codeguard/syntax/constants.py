"""Fold constant expressions and texts with holes; the size of a result is known before the operation is done."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import operator
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol

from codeguard.corpus.patterns import lazy
from codeguard.corpus.syntax import chained
from codeguard.syntax.unread import Unread

LARGEST = 1 << 20  # characters or bytes of a value, elements of a sequence
_LARGEST_INTEGER = 1 << 128
_LONGEST_NUMBER = 40  # digits that are read
_WIDE = lazy(r"\d{4}|\*|\{[^{}]*\{")
_FIELD_OF_VALUE = lazy(r"\{\w*[.\[]")
DEEPEST = 60
STEPS_PER_FILE = 400_000
CHARACTERS_PER_FILE = 32_000_000  # of long values
LONG = 1_000
HOLE = "\0"  # in place of what is not known in a text
_TOO_LONG = "what constants come to was not worked out any further: it takes too many steps or too much text"
_TOO_DEEP = f"a constant put together in more than {DEEPEST} levels was not worked out"
_TOO_LARGE = f"a decoded constant of more than {LARGEST:,} characters was not worked out"


class UnknownValueError(Exception):
    """The expression is not constant, or its value exceeds the limits."""


class TooLargeError(UnknownValueError):
    """Decoded data exceeds the limit."""


# What an operation raises for operands that it does not take.
_REFUSALS = (
    UnknownValueError, ValueError, TypeError, LookupError, ArithmeticError, zlib.error, AttributeError,
)  # fmt: skip


def _fits(size: int) -> None:
    if size > LARGEST:
        raise UnknownValueError


def _within_limits(value: object) -> object:
    if isinstance(value, str | bytes | tuple | list):
        _fits(len(value))
    if value is Ellipsis or (isinstance(value, int) and abs(value) > _LARGEST_INTEGER):
        raise UnknownValueError
    return value


def _text_safe(value: object) -> object:
    """Return a value if `str` can safely be applied to it."""
    if isinstance(value, tuple | list | set | dict):
        raise UnknownValueError
    return value


def _times(left: Any, right: Any) -> object:
    if isinstance(left, int):
        left, right = right, left
    if not isinstance(left, int | float):
        if not isinstance(right, int):
            raise UnknownValueError
        _fits(len(left) * right)
    return left * right


def _power(left: Any, right: Any) -> object:
    if abs(left) > 1024 or not 0 <= right <= 12:
        raise UnknownValueError
    return left**right


def _shifted(left: Any, right: Any) -> object:
    if right > 64:
        raise UnknownValueError
    return left << right


def _percent(template: str, values: object) -> object:
    _fitting(template, "%", values if isinstance(values, tuple) else (values,))
    return template % values


def _format(template: str, *values: object, **named: object) -> object:
    if _FIELD_OF_VALUE.search(template):  # fields are plain or numbered, so no attribute of a value is read
        raise UnknownValueError
    _fitting(template, "{", (*values, *named.values()))
    return template.format(*values, **named)


def _fitting(template: str, mark: str, values: Iterable[object]) -> None:
    """Raise if formatting a template with some values might exceed the limits."""
    if _WIDE.search(template):
        raise UnknownValueError
    # Four times is the maximum size after quoting.
    longest = max(
        (4 * len(item) for item in map(_text_safe, values) if isinstance(item, str | bytes)), default=0
    )
    _fits((len(template) + template.count(mark) * (longest + 50)) // 8)


def _join(separator: Any, parts: Any) -> object:
    _fits(sum(map(len, parts)) + len(separator) * len(parts))
    return separator.join(parts)


def _replace(text: Any, old: Any, new: Any, *_: object) -> object:
    _fits((len(text) + 1) * max(1, len(new)))
    return text.replace(old, new)


def _decode(text: object, encoding: object = "utf-8", errors: object = "strict") -> object:
    if isinstance(text, bytes) and encoding in _TEXT_CODECS:
        return text.decode(str(encoding), "replace" if errors != "strict" else "strict")
    if isinstance(text, str) and encoding in ("rot13", "rot_13"):
        return codecs.decode(text, "rot13")
    return _CODECS[str(encoding).removesuffix("_codec")](_raw(text))


def _encode(text: str, encoding: object = "utf-8", errors: object = "strict") -> object:
    if encoding not in _TEXT_CODECS:
        raise UnknownValueError
    return text.encode(str(encoding), "replace" if errors != "strict" else "strict")


def _raw(text: object) -> bytes:
    if isinstance(text, str):
        return text.encode("ascii")
    if not isinstance(text, bytes | tuple | list):
        raise UnknownValueError
    return bytes(text)


def _inflate(data: object, *_: object) -> bytes:
    engine = zlib.decompressobj(zlib.MAX_WBITS | 32)
    result = engine.decompress(_raw(data), LARGEST)
    if engine.unconsumed_tail:
        raise TooLargeError
    return result


def _bytes(value: object = b"", encoding: object = None) -> object:
    return _encode(value, encoding) if isinstance(value, str) else _raw(value)


def _integer(value: Any, base: Any = 10) -> int:
    if isinstance(value, str) and len(value) < _LONGEST_NUMBER:
        return int(value, base)
    return int(value + 0)  # of numbers alone


def _unpadded(text: object) -> bytes:
    """Decode as other languages do, which take text without its padding."""
    data = _raw(text)
    return base64.b64decode(data + b"=" * (-len(data) % 4))


def _text(value: object = "", *rest: object) -> str:
    if isinstance(value, bytes):
        value = _decode(value, *rest) if rest else ()
    return str(_text_safe(value))


def _range(*ends: Any) -> object:
    numbers = range(*ends)
    _fits(len(numbers))
    return tuple(numbers)


def _decoder(name: str) -> Callable[..., object]:
    module, _, function = name.partition(".")
    decode = getattr({"base64": base64, "binascii": binascii}[module], function)
    return lambda text, *_: decode(_raw(text))


_TEXT_CODECS = frozenset({"utf-8", "utf8", "ascii", "latin-1", "latin1", "utf-16", "utf-16-le", "utf-32"})
_CODECS: Mapping[str, Callable[[bytes], bytes]] = {
    "hex": binascii.unhexlify, "base64": base64.b64decode, "zlib": _inflate, "zip": _inflate,
}  # fmt: skip
_ARITHMETIC: Mapping[type[ast.operator], Callable[..., object]] = {
    ast.Sub: operator.sub, ast.BitXor: operator.xor, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.LShift: _shifted, ast.RShift: operator.rshift, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Div: operator.truediv, ast.Pow: _power,
}  # fmt: skip
COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
# Methods whose result is no longer than the text, but for the case of some letters.
_PLAIN_METHODS = frozenset(
    {"lower", "upper", "title", "swapcase", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "split"}
)  # fmt: skip
_METHODS: Mapping[str, Callable[..., object]] = {
    "format": _format, "join": _join, "replace": _replace, "decode": _decode, "encode": _encode,
}  # fmt: skip
_DECODERS = (
    "base64.b64decode", "base64.decodebytes", "base64.standard_b64decode", "base64.urlsafe_b64decode",
    "base64.b32decode", "base64.b16decode", "base64.b85decode", "base64.a85decode", "binascii.unhexlify",
    "binascii.a2b_hex", "binascii.a2b_base64",
)  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: _decoder(name) for name in _DECODERS},
    **dict.fromkeys(("bytes.fromhex", "bytearray.fromhex"), bytes.fromhex),
    **dict.fromkeys(("bytes", "bytearray"), _bytes),
    **dict.fromkeys(("list", "tuple"), tuple),
    **dict.fromkeys(("zlib.decompress", "gzip.decompress"), _inflate),
    **dict.fromkeys(("atob", "Base64.decode64", "base64_decode"), _unpadded),
    "Buffer.from": lambda text, encoding: (
        _unpadded(text) if encoding == "base64" else _decode(text, encoding)
    ),
    "codecs.decode": _decode,
    "str": _text,
    "int": _integer,
    "chr": chr,
    "ord": ord,
    "map": lambda function, values: tuple(map(function, values)),
    "range": _range,
    "reversed": lambda value: tuple(reversed(value)),
    "os.path.join": lambda *parts: "/".join(part.rstrip("/") for part in parts),
    "String.fromCharCode": lambda *codes: "".join(map(chr, codes)),
}
Locals = Mapping[str, object] | None
_NOTHING: Final = object()


class Lookup(Protocol):
    """The interface of name resolution that folding needs."""

    def names_of(self, node: ast.expr, depth: int) -> Sequence[str]:
        """Return the dotted names that an expression may stand for."""
        ...

    def values_of(self, node: ast.expr, depth: int) -> Sequence[ast.expr]:
        """Return the expressions that a name or attribute is bound to; empty if unknown."""
        ...


class Folder:
    """Folds the expressions of one file. `fold` raises `UnknownValueError`.

    All calls together take at most `STEPS_PER_FILE` steps plus those granted; `unread` is notified
    if that is not enough.
    """

    def __init__(self, names: Lookup, granted: int = 0, unread: Unread | None = None) -> None:
        self._names = names
        self._unread = unread or Unread()
        self._steps = STEPS_PER_FILE + granted
        self._characters = CHARACTERS_PER_FILE
        self._memo: dict[ast.AST, object] = {}

    def fold(self, node: ast.expr, depth: int = 0, local: Locals = None) -> object:
        """Return the value of a constant expression."""
        if isinstance(node, ast.Constant):
            return _within_limits(node.value)
        if local is None and node in self._memo:
            known = self._memo[node]
            if known is _NOTHING:
                raise UnknownValueError
            return known
        self._steps -= 1
        fold = self.folds.get(type(node))
        if depth > DEEPEST or self._steps < 0 or self._characters < 0:
            if fold is not None:
                self._unread.note(_TOO_DEEP if depth > DEEPEST else _TOO_LONG, node.lineno)
            raise UnknownValueError
        value: object = _NOTHING
        if local is None:
            self._memo[node] = _NOTHING  # ends for a name that is bound to itself
        try:
            if fold is not None:
                value = _within_limits(fold(self, node, depth + 1, local))
                if isinstance(value, str | bytes | tuple) and len(value) > LONG:
                    self._characters -= len(value)
        except TooLargeError:
            self._unread.note(_TOO_LARGE, node.lineno)
        except _REFUSALS:
            pass
        if local is None:
            self._memo[node] = value
        if value is _NOTHING:
            raise UnknownValueError
        return value

    def _all(self, nodes: Iterable[ast.expr], depth: int, local: Locals) -> list[Any]:
        return [self.fold(node, depth, local) for node in nodes]

    def _bound(self, node: ast.Name | ast.Attribute, depth: int, local: Locals) -> object:
        if local and isinstance(node, ast.Name) and node.id in local:
            return local[node.id]
        (value,) = self._names.values_of(node, depth)
        return self.fold(value, depth)

    def _sequence(self, node: ast.Tuple | ast.List, depth: int, local: Locals) -> object:
        return tuple(self._all(node.elts[:LARGEST], depth, local))

    def _joined(self, node: ast.JoinedStr, depth: int, local: Locals) -> object:
        parts: list[str] = []
        size = 0
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if part.format_spec is not None:
                    raise UnknownValueError
                value = _text_safe(self.fold(part.value, depth, local))
                parts.append(repr(value) if part.conversion == ord("r") and value != HOLE else str(value))
            else:
                parts.append(str(self.fold(part, depth, local)))
            size += len(parts[-1])
            _fits(size)
        return "".join(parts)

    def _binary(self, node: ast.BinOp, depth: int, local: Locals) -> object:
        kind = type(node.op)
        if kind is ast.Add:
            return self._sum(node, depth, local)
        left, right = self._all((node.left, node.right), depth, local)
        if kind is ast.Mod and isinstance(left, str):
            return _percent(left, right)
        if kind is ast.Mult:
            return _times(left, right)
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise UnknownValueError
        return _ARITHMETIC[kind](left, right)

    def _sum(self, node: ast.BinOp, depth: int, local: Locals) -> object:
        """Return the sum of a chain, which nests to the left, without a level for each part."""
        first, *rest = chained(node)
        total: Any = self.fold(first, depth, local)
        for part in rest:
            total = _within_limits(total + self.fold(part, depth, local))
        return total

    def _compare(self, node: ast.Compare, depth: int, local: Locals) -> object:
        values = self._all((node.left, *node.comparators), depth, local)
        pairs = zip(values, node.ops, values[1:], strict=False)
        return all(COMPARISONS[type(op)](left, right) for left, op, right in pairs)

    def _unary(self, node: ast.UnaryOp, depth: int, local: Locals) -> object:
        value: Any = self.fold(node.operand, depth, local)
        if isinstance(node.op, ast.Not):
            return not value
        if isinstance(node.op, ast.Invert):
            return ~value
        return -value if isinstance(node.op, ast.USub) else +value

    def _subscript(self, node: ast.Subscript, depth: int, local: Locals) -> object:
        if isinstance(node.value, ast.Dict):
            key = self.fold(node.slice, depth, local)
            for each, value in zip(node.value.keys, node.value.values, strict=True):
                if each is not None and self.fold(each, depth, local) == key:
                    return self.fold(value, depth, local)
            raise UnknownValueError
        base: Any = self.fold(node.value, depth, local)
        if isinstance(node.slice, ast.Slice):
            bounds = (node.slice.lower, node.slice.upper, node.slice.step)
            return base[slice(*(part and self.fold(part, depth, local) for part in bounds))]
        return base[self.fold(node.slice, depth, local)]

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, depth: int, local: Locals) -> object:
        (loop,) = node.generators
        if loop.ifs or not isinstance(loop.target, ast.Name):
            raise UnknownValueError
        values: Any = self.fold(loop.iter, depth, local)
        return tuple(self.fold(node.elt, depth, {**(local or {}), loop.target.id: value}) for value in values)

    def _choice(self, node: ast.IfExp, depth: int, local: Locals) -> object:
        return self.fold(node.body if self.fold(node.test, depth, local) else node.orelse, depth, local)

    def _named(self, node: ast.NamedExpr, depth: int, local: Locals) -> object:
        return self.fold(node.value, depth, local)

    def _call(self, node: ast.Call, depth: int, local: Locals) -> object:
        keywords = {item.arg: self.fold(item.value, depth, local) for item in node.keywords if item.arg}
        called = node.func
        if isinstance(called, ast.Attribute) and (called.attr in _METHODS or called.attr in _PLAIN_METHODS):
            try:
                base = self.fold(called.value, depth, local)
            except UnknownValueError:
                base = None
            if isinstance(base, str | bytes):
                method = _METHODS.get(called.attr)
                arguments = self._all(node.args, depth, local)
                if method is not None:
                    return method(base, *arguments, **keywords)
                made = getattr(base, called.attr)(*arguments, **keywords)
                return tuple(made) if isinstance(made, list) else made
        for name in self._names.names_of(called, depth):
            if name == "map":
                function, values = node.args
                (mapped,) = {"chr", "ord", "str", "int"}.intersection(self._names.names_of(function, depth))
                return _FUNCTIONS[name](_FUNCTIONS[mapped], self.fold(values, depth, local))
            if name in _FUNCTIONS:
                return _FUNCTIONS[name](*self._all(node.args, depth, local), **keywords)
        raise UnknownValueError

    folds: ClassVar[Mapping[type[ast.AST], Callable[..., object]]] = {
        ast.Name: _bound,
        ast.Attribute: _bound,
        ast.Tuple: _sequence,
        ast.List: _sequence,
        ast.JoinedStr: _joined,
        ast.BinOp: _binary,
        ast.Compare: _compare,
        ast.UnaryOp: _unary,
        ast.Subscript: _subscript,
        ast.ListComp: _comprehension,
        ast.GeneratorExp: _comprehension,
        ast.IfExp: _choice,
        ast.NamedExpr: _named,
        ast.Call: _call,
    }


_LONGEST_TEXT = 2_000
# Methods of a text whose result is read as the text itself where their arguments are not known.
_KEEPING = frozenset({*_METHODS, *_PLAIN_METHODS, "format_map", "substitute", "safe_substitute"})


class LiteralTexts(Folder):
    """Folds texts as far as the file determines them, with `HOLE` for each unknown part.

    For a name with several values, it is the first text among them; a template whose values do not fit stays as it is.
    """

    def text(self, node: ast.expr) -> str:
        """Return the text of an expression, `HOLE` if nothing is known of it; long texts are cut."""
        value = self.fold(node)
        return value[:_LONGEST_TEXT] if isinstance(value, str) else HOLE

    def fold(self, node: ast.expr, depth: int = 0, local: Locals = None) -> object:
        """Return the value of an expression, `HOLE` instead of raising an exception."""
        try:
            return super().fold(node, depth, local)
        except UnknownValueError:
            value = HOLE if depth > DEEPEST or self._steps < 0 else self._known_part(node, depth + 1, local)
        if local is None:
            self._memo[node] = value
        return value

    def _known_part(self, node: ast.expr, depth: int, local: Locals) -> str:
        parts: Sequence[ast.expr] = ()
        match node:
            case ast.JoinedStr(values=parts):
                pass
            case ast.FormattedValue(value=kept) | ast.BinOp(left=kept, op=ast.Mod()):
                parts = (kept,)
            case ast.Call(func=ast.Attribute(value=kept, attr=method)) if method in _KEEPING:
                made = [kept, *self._names.values_of(kept, depth)]
                calls = [item for item in made if isinstance(item, ast.Call) and item.args]
                templates = [
                    item.args[0]
                    for item in calls
                    if "string.Template" in self._names.names_of(item.func, depth)
                ]
                parts = templates or (kept,)
            case ast.Name() | ast.Attribute():
                values = (self.fold(value, depth) for value in self._names.values_of(node, depth))
                return next((item for item in values if isinstance(item, str) and item.strip(HOLE)), HOLE)
        found = (self.fold(part, depth, local) for part in parts)
        return "".join(item if isinstance(item, str) else HOLE for item in found)[:_LONGEST_TEXT] or HOLE
