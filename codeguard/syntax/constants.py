"""Fold constant expressions; the size of each result is known before the operation is carried out."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import operator
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from codeguard.corpus.patterns import lazy
from codeguard.syntax.unread import Unread

LARGEST = 1 << 20  # characters or bytes of a value, elements of a sequence
_LARGEST_INTEGER = 1 << 128
_WIDE = lazy(r"\d{4}|\*|\{[^{}]*\{")


class UnknownValueError(Exception):
    """The expression is not constant, or its value exceeds the limits."""


class TooLargeError(UnknownValueError):
    """Decoded data exceeds the limit."""


def text_safe(value: object) -> object:
    """Return a value if `str` can safely be applied to it."""
    if isinstance(value, tuple):
        raise UnknownValueError
    return value


def within_limits(value: object) -> object:
    """Return a value if it is within the limits."""
    if value is Ellipsis:
        raise UnknownValueError
    if isinstance(value, str | bytes | tuple) and len(value) > LARGEST:
        raise UnknownValueError
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        raise UnknownValueError
    return value


def times(left: object, right: object) -> object:
    """Return a product of numbers, or of a sequence and a number."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left * right
    if isinstance(left, int):
        left, right = right, left
    if not isinstance(left, str | bytes | tuple) or not isinstance(right, int) or len(left) * right > LARGEST:
        raise UnknownValueError
    return left * right


def percent(template: str | bytes, values: object) -> object:
    """Return a text formatted with `%`."""
    if isinstance(template, bytes) or _WIDE.search(template):
        raise UnknownValueError
    _fitting(template, template.count("%"), values if isinstance(values, tuple) else (values,))
    return template % values


def _fitting(template: str, places: int, values: Iterable[object]) -> None:
    """Raise if formatting a template with some values might exceed the limits."""
    longest = 0
    for value in values:
        if isinstance(value, str | bytes):
            longest = max(longest, 4 * len(value))  # the maximum size after quoting
        elif isinstance(value, tuple):
            raise UnknownValueError
    if len(template) + places * (longest + 50) > 8 * LARGEST:
        raise UnknownValueError


def _format(template: str | bytes, *values: object, **named: object) -> object:
    # Fields are plain or numbered, so no attribute of a value is read.
    if isinstance(template, bytes) or _WIDE.search(template) or re.search(r"\{\w*[.\[]", template):
        raise UnknownValueError
    _fitting(template, template.count("{"), (*values, *named.values()))
    return template.format(*values, **named)


def _join(separator: str | bytes, parts: object) -> object:
    if isinstance(parts, str | bytes):
        parts = tuple(parts)
    if not isinstance(parts, tuple) or not all(type(part) is type(separator) for part in parts):
        raise UnknownValueError
    if sum(len(part) for part in parts) + len(separator) * len(parts) > LARGEST:
        raise UnknownValueError
    return separator.join(parts)


def _replace(text: str | bytes, old: object, new: object, *_: object) -> object:
    if not isinstance(old, str | bytes) or type(text) is not type(old) or type(new) is not type(old):
        raise UnknownValueError
    assert isinstance(new, str | bytes)
    if (len(text) + 1) * max(1, len(new)) > LARGEST:
        raise UnknownValueError
    return text.replace(old, new)  # type: ignore[arg-type]


def _decode(text: str | bytes, encoding: object = "utf-8", errors: object = "strict") -> object:
    if isinstance(text, bytes) and encoding in _TEXT_CODECS:
        return text.decode(str(encoding), "replace" if errors != "strict" else "strict")
    return _codec(text, encoding, errors)


def _encode(text: str | bytes, encoding: object = "utf-8", errors: object = "strict") -> object:
    if isinstance(text, str) and encoding in _TEXT_CODECS:
        return text.encode(str(encoding), "replace" if errors != "strict" else "strict")
    raise UnknownValueError


def _codec(text: object, encoding: object = "utf-8", _errors: object = "strict") -> object:
    if isinstance(text, bytes) and encoding in _TEXT_CODECS:
        return text.decode(str(encoding))
    if isinstance(text, str) and encoding in ("rot13", "rot_13"):
        return codecs.decode(text, "rot13")
    if encoding in ("hex", "hex_codec"):
        return binascii.unhexlify(_raw(text))
    if encoding in ("base64", "base64_codec"):
        return base64.b64decode(_raw(text))
    if encoding in ("zlib", "zlib_codec", "zip"):
        return _inflate(text)
    raise UnknownValueError


def _raw(text: object) -> bytes:
    if isinstance(text, bytes):
        return text
    if isinstance(text, str):
        return text.encode("ascii")
    if isinstance(text, tuple):
        return bytes(text)
    raise UnknownValueError


def _inflate(data: object, *_: object) -> bytes:
    engine = zlib.decompressobj(zlib.MAX_WBITS | 32)
    result = engine.decompress(_raw(data), LARGEST)
    if engine.unconsumed_tail:
        raise TooLargeError
    return result


def _bytes(value: object = b"", encoding: object = None) -> bytes:
    if isinstance(value, str) and encoding in _TEXT_CODECS:
        return value.encode(str(encoding))
    if isinstance(value, tuple):
        return bytes(value)
    if isinstance(value, bytes):
        return value
    raise UnknownValueError


def _integer(value: object, base: object = 10) -> int:
    if isinstance(value, str) and isinstance(base, int) and len(value) < 40:
        return int(value, base)
    if isinstance(value, int | float):
        return int(value)
    raise UnknownValueError


def _unpadded(text: object) -> bytes:
    data = _raw(text)
    return base64.b64decode(data + b"=" * (-len(data) % 4))


def _reversed(value: object) -> object:
    if isinstance(value, str | bytes | tuple):
        return tuple(reversed(value))
    raise UnknownValueError


def _text(value: object = "", *rest: object) -> str:
    if isinstance(value, bytes) and rest:
        return str(_decode(value, *rest))
    if isinstance(value, bytes | tuple):
        raise UnknownValueError
    return str(value)


def _elements(value: object) -> object:
    if isinstance(value, str | bytes | tuple):
        return tuple(value)
    raise UnknownValueError


def _range(*ends: object) -> object:
    if not all(isinstance(end, int) for end in ends):
        raise UnknownValueError
    numbers = range(*ends)  # type: ignore[call-overload]
    if len(numbers) > LARGEST:
        raise UnknownValueError
    return tuple(numbers)


def _map(function: Callable[[object], object], values: object) -> object:
    if not isinstance(values, str | bytes | tuple):
        raise UnknownValueError
    return tuple(function(value) for value in values)


def _path_join(*parts: object) -> object:
    if not all(isinstance(part, str) for part in parts):
        raise UnknownValueError
    return "/".join(str(part).rstrip("/") for part in parts)


def _chr(value: object) -> str:
    if not isinstance(value, int):
        raise UnknownValueError
    return chr(value)


def _ord(value: object) -> int:
    if not isinstance(value, str | bytes) or len(value) != 1:
        raise UnknownValueError
    return ord(value)


_TEXT_CODECS = frozenset({"utf-8", "utf8", "ascii", "latin-1", "latin1", "utf-16", "utf-16-le", "utf-32"})
OPERATORS: Mapping[type[ast.operator], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
    ast.Pow: lambda left, right: left**right if abs(left) <= 1024 and 0 <= right <= 12 else 1 << 256,
}
COMPARISONS: Mapping[type[ast.cmpop], Callable[[object, object], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,  # type: ignore[dict-item]
    ast.LtE: operator.le,  # type: ignore[dict-item]
    ast.Gt: operator.gt,  # type: ignore[dict-item]
    ast.GtE: operator.ge,  # type: ignore[dict-item]
}
METHODS: Mapping[str, Callable[..., object]] = {
    "format": _format,
    "join": _join,
    "replace": _replace,
    "decode": _decode,
    "encode": _encode,
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "title": lambda text: text.title(),
    "swapcase": lambda text: text.swapcase(),
    "strip": lambda text, *chars: text.strip(*chars),
    "lstrip": lambda text, *chars: text.lstrip(*chars),
    "rstrip": lambda text, *chars: text.rstrip(*chars),
    "split": lambda text, *rest: tuple(text.split(*rest)),
    "removeprefix": lambda text, prefix: text.removeprefix(prefix),
    "removesuffix": lambda text, suffix: text.removesuffix(suffix),
}
FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "base64.b64decode": lambda text, *_: base64.b64decode(_raw(text)),
    "base64.decodebytes": lambda text: base64.b64decode(_raw(text)),
    "base64.standard_b64decode": lambda text: base64.b64decode(_raw(text)),
    "base64.urlsafe_b64decode": lambda text: base64.urlsafe_b64decode(_raw(text)),
    "base64.b32decode": lambda text, *_: base64.b32decode(_raw(text)),
    "base64.b16decode": lambda text, *_: base64.b16decode(_raw(text)),
    "base64.b85decode": lambda text: base64.b85decode(_raw(text)),
    "base64.a85decode": lambda text: base64.a85decode(_raw(text)),
    "binascii.unhexlify": lambda text: binascii.unhexlify(_raw(text)),
    "binascii.a2b_hex": lambda text: binascii.unhexlify(_raw(text)),
    "binascii.a2b_base64": lambda text: binascii.a2b_base64(_raw(text)),
    "bytes.fromhex": bytes.fromhex,
    "bytearray.fromhex": bytes.fromhex,
    "codecs.decode": _codec,
    "zlib.decompress": _inflate,
    "gzip.decompress": _inflate,
    "bytes": _bytes,
    "bytearray": _bytes,
    "str": _text,
    "int": _integer,
    "chr": _chr,
    "ord": _ord,
    "map": _map,
    "range": _range,
    "list": _elements,
    "tuple": _elements,
    "reversed": _reversed,
    "os.path.join": _path_join,
    # What other languages decode with takes text without its padding.
    **dict.fromkeys(("atob", "Base64.decode64", "base64_decode"), _unpadded),
    "Buffer.from": lambda text, encoding: _unpadded(text) if encoding == "base64" else _codec(text, encoding),
    "String.fromCharCode": lambda *codes: "".join(map(_chr, codes)),
}


DEEPEST = 60
STEPS_PER_FILE = 400_000
CHARACTERS_PER_FILE = 32_000_000  # of long values
LONG = 1_000
_TOO_LONG = "what constants come to was not worked out any further: it takes too many steps or too much text"
_TOO_DEEP = f"a constant put together in more than {DEEPEST} levels was not worked out"
_TOO_LARGE = f"a decoded constant of more than {LARGEST:,} characters was not worked out"


class Lookup(Protocol):
    """The interface of name resolution that folding needs."""

    def names_of(self, node: ast.expr, depth: int) -> Sequence[str]:
        """Return the dotted names that an expression may stand for."""
        ...

    def values_of(self, node: ast.expr, depth: int) -> Sequence[ast.expr]:
        """Return the expressions that a name or attribute is bound to; empty if unknown."""
        ...


Locals = Mapping[str, object]


class Folder:
    """Folds the expressions of one file. `fold` raises `UnknownValueError`.

    All calls together take at most `STEPS_PER_FILE` steps plus those granted; `unread` is notified
    if that is not enough.
    """

    def __init__(self, lookup: Lookup, granted: int = 0, unread: Unread | None = None) -> None:
        self._lookup = lookup
        self._unread = unread or Unread()
        self._steps = STEPS_PER_FILE + granted
        self._characters = CHARACTERS_PER_FILE
        self._memo: dict[ast.AST, object] = {}

    def fold(self, node: ast.expr, depth: int = 0, local: Locals | None = None) -> object:
        """Return the value of a constant expression."""
        if isinstance(node, ast.Constant):
            return within_limits(node.value)
        if local is None and node in self._memo:
            known = self._memo[node]
            if known is _NOTHING:
                raise UnknownValueError
            return known
        self._steps -= 1
        fold = _FOLDS.get(type(node))
        if depth > DEEPEST or self._steps < 0 or self._characters < 0:
            if fold is not None:
                self._unread.note(_TOO_DEEP if depth > DEEPEST else _TOO_LONG, node.lineno)
            raise UnknownValueError
        value: object = _NOTHING
        if local is None:
            self._memo[node] = _NOTHING  # ends for a name that is bound to itself
        try:
            if fold is not None:
                value = within_limits(fold(self, node, depth + 1, local or {}))
                if isinstance(value, str | bytes | tuple) and len(value) > LONG:
                    self._characters -= len(value)
        except TooLargeError:
            self._unread.note(_TOO_LARGE, node.lineno)
        except (
            UnknownValueError,
            ValueError,
            TypeError,
            LookupError,
            ArithmeticError,
            zlib.error,
            AttributeError,
        ):
            pass
        if local is None:
            self._memo[node] = value
        if value is _NOTHING:
            raise UnknownValueError
        return value

    def _name(self, node: ast.Name, depth: int, local: Locals) -> object:
        if node.id in local:
            return local[node.id]
        return self._bound(node, depth, local)

    def _bound(self, node: ast.expr, depth: int, local: Locals) -> object:
        values = self._lookup.values_of(node, depth)
        if len(values) == 1:
            return self.fold(values[0], depth)
        raise UnknownValueError

    def _sequence(self, node: ast.Tuple | ast.List, depth: int, local: Locals) -> object:
        return tuple(self.fold(element, depth, local or None) for element in node.elts[:LARGEST])

    def _joined(self, node: ast.JoinedStr, depth: int, local: Locals) -> object:
        parts: list[str] = []
        size = 0
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                if part.format_spec is not None:
                    raise UnknownValueError
                value = self.fold(part.value, depth, local or None)
                parts.append(repr(text_safe(value)) if part.conversion == ord("r") else str(text_safe(value)))
            else:
                parts.append(str(text_safe(self.fold(part, depth, local or None))))
            size += len(parts[-1])
            if size > LARGEST:
                raise UnknownValueError
        return "".join(parts)

    def _binary(self, node: ast.BinOp, depth: int, local: Locals) -> object:
        left = self.fold(node.left, depth, local or None)
        right = self.fold(node.right, depth, local or None)
        if isinstance(node.op, ast.Mod) and isinstance(left, str | bytes):
            return percent(left, right)
        if isinstance(node.op, ast.Mult):
            return times(left, right)
        if (
            isinstance(node.op, ast.Add)
            and type(left) is type(right)
            and isinstance(left, str | bytes | tuple)
        ):
            return left + right  # type: ignore[operator]
        operate = OPERATORS.get(type(node.op))
        if operate is None or not isinstance(left, int | float) or not isinstance(right, int | float):
            raise UnknownValueError
        if isinstance(node.op, ast.LShift) and right > 64:
            raise UnknownValueError
        return operate(left, right)

    def _compare(self, node: ast.Compare, depth: int, local: Locals) -> object:
        values = [self.fold(part, depth, local or None) for part in (node.left, *node.comparators)]
        pairs = zip(values, node.ops, values[1:], strict=False)
        return all(COMPARISONS[type(op)](left, right) for left, op, right in pairs)

    def _unary(self, node: ast.UnaryOp, depth: int, local: Locals) -> object:
        value = self.fold(node.operand, depth, local or None)
        if isinstance(node.op, ast.Not):
            return not value
        if not isinstance(value, int | float):
            raise UnknownValueError
        if isinstance(node.op, ast.Invert):
            return ~int(value)
        return -value if isinstance(node.op, ast.USub) else value

    def _subscript(self, node: ast.Subscript, depth: int, local: Locals) -> object:
        if isinstance(node.value, ast.Dict):
            key = self.fold(node.slice, depth, local or None)
            for each, value in zip(node.value.keys, node.value.values, strict=True):
                if each is not None and self.fold(each, depth, local or None) == key:
                    return self.fold(value, depth, local or None)
            raise UnknownValueError
        base = self.fold(node.value, depth, local or None)
        if not isinstance(base, str | bytes | tuple):
            raise UnknownValueError
        if isinstance(node.slice, ast.Slice):
            ends = [
                None if part is None else self.fold(part, depth, local or None)
                for part in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            return base[slice(*ends)]  # type: ignore[arg-type]
        index = self.fold(node.slice, depth, local or None)
        if not isinstance(index, int):
            raise UnknownValueError
        return base[index]

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, depth: int, local: Locals) -> object:
        if len(node.generators) != 1 or node.generators[0].ifs:
            raise UnknownValueError
        target, source = node.generators[0].target, node.generators[0].iter
        if not isinstance(target, ast.Name):
            raise UnknownValueError
        values = self.fold(source, depth, local or None)
        if not isinstance(values, str | bytes | tuple):
            raise UnknownValueError
        return tuple(self.fold(node.elt, depth, {**local, target.id: value}) for value in values)

    def _choice(self, node: ast.IfExp, depth: int, local: Locals) -> object:
        test = self.fold(node.test, depth, local or None)
        return self.fold(node.body if test else node.orelse, depth, local or None)

    def _named(self, node: ast.NamedExpr, depth: int, local: Locals) -> object:
        return self.fold(node.value, depth, local or None)

    def _call(self, node: ast.Call, depth: int, local: Locals) -> object:
        keywords = {
            item.arg: self.fold(item.value, depth, local or None) for item in node.keywords if item.arg
        }
        if isinstance(node.func, ast.Attribute):
            done = self._method(node.func, node.args, keywords, depth, local)
            if done is not _NOTHING:
                return done
        for name in self._lookup.names_of(node.func, depth):
            function = FUNCTIONS.get(name)
            if function is not None:
                return function(*self._arguments(name, node.args, depth, local), **keywords)
        raise UnknownValueError

    def _arguments(self, name: str, nodes: Iterable[ast.expr], depth: int, local: Locals) -> list[object]:
        arguments = list(nodes)
        if name == "map" and len(arguments) == 2:
            for called in self._lookup.names_of(arguments[0], depth):
                if called in ("chr", "ord", "str", "int"):
                    return [FUNCTIONS[called], self.fold(arguments[1], depth, local or None)]
            raise UnknownValueError
        return [self.fold(argument, depth, local or None) for argument in arguments]

    def _method(
        self,
        function: ast.Attribute,
        arguments: Sequence[ast.expr],
        keywords: Mapping[str, object],
        depth: int,
        local: Locals,
    ) -> object:
        method = METHODS.get(function.attr)
        if method is None:
            return _NOTHING
        try:
            base = self.fold(function.value, depth, local or None)
        except UnknownValueError:
            return _NOTHING
        if not isinstance(base, str | bytes):
            return _NOTHING
        return method(base, *(self.fold(each, depth, local or None) for each in arguments), **keywords)


_NOTHING: Final = object()


_FOLDS: Mapping[type[ast.AST], Callable[..., object]] = {
    ast.Name: Folder._name,
    ast.Attribute: Folder._bound,
    ast.Tuple: Folder._sequence,
    ast.List: Folder._sequence,
    ast.JoinedStr: Folder._joined,
    ast.BinOp: Folder._binary,
    ast.Compare: Folder._compare,
    ast.UnaryOp: Folder._unary,
    ast.Subscript: Folder._subscript,
    ast.ListComp: Folder._comprehension,
    ast.GeneratorExp: Folder._comprehension,
    ast.IfExp: Folder._choice,
    ast.NamedExpr: Folder._named,
    ast.Call: Folder._call,
}
