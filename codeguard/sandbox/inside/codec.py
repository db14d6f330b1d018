"""Encode a value as JSON with type tags, inside the child.

None, True, False, floats that are finite, int below 2**53 and plain text
stand for themselves. Everything else is an array whose first item is a tag:

    ["i", "hex"]            int                ["f", "nan"]         float, not finite
    ["u", "hex of utf-8"]   text with lone surrogates
    ["b", "hex"]            bytes              ["c", re, im]        complex (two tagged floats)
    ["l", ...] list         ["t", ...] tuple   ["s", ...] set       ["z", ...] frozenset
    ["d", k, v, k, v, ...]  dict, in order
    ["o", type, name, value, ...]              an instance: its public fields
    ["g", type, exhausted, ...]                an iterator: what it gave

Only exact builtin types are plain. An instance of a subclass is an "o" whose
first field, named "", is its value as the builtin type; so is numpy's array or scalar.
"""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from . import words
from .table import Absent
from .wire import MAX_DEPTH, MAX_ITEMS

_SAFE_INT = 1 << 53
_BUILTIN_BASES = (bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
# shown by their repr: value types of the standard library, whose repr is their value
_BY_REPR = words(
    "builtins.range builtins.slice decimal.Decimal fractions.Fraction datetime.datetime datetime.date datetime.time",
    "datetime.timedelta datetime.timezone uuid.UUID array.array collections.deque re.Pattern re.Match",
    "pathlib.PosixPath pathlib.PurePosixPath ipaddress.IPv4Address ipaddress.IPv6Address",
)


def types_by_repr() -> frozenset[type]:
    """Return the type objects: a class of the code under test can copy their name and module."""
    split = (name.rpartition(".") for name in _BY_REPR)
    named = (getattr(sys.modules.get(module), name, None) for module, _, name in split)
    kinds = {kind for kind in named if isinstance(kind, type)} | {type(...), type(NotImplemented)}
    # the class below the one that has the world's clock
    below = {kind.__mro__[1] for kind in kinds if kind.__name__ == "datetime"}
    return frozenset(kinds | below)


def array_types() -> frozenset[type]:
    """Return numpy's arrays and scalars; empty if it is not loaded."""
    numpy = sys.modules.get("numpy")
    return frozenset() if numpy is None else frozenset({numpy.ndarray, *numpy.sctypeDict.values()})


class TooLargeError(Exception):
    """A value does not fit into the frame."""


class Encoder:
    """Encodes the values of one job; `budget` is roughly the remaining number of bytes of JSON."""

    def __init__(self, budget: int, by_repr: frozenset[type], arrays: frozenset[type] = frozenset()) -> None:
        self.budget = budget
        self._open: set[int] = set()
        self._by_repr = by_repr
        self._arrays = arrays

    def encode(self, value: object, depth: int = 0) -> Any:
        """Return the JSON form of a value; raise TooLargeError if it is too long or too deep."""
        kind = type(value)
        if value is None or kind is bool:
            self._spend(6)
            return value
        if kind is int:
            return self._int(value)  # type: ignore[arg-type]
        if kind is str:
            return self._text(value)  # type: ignore[arg-type]
        if kind is float:
            return self._float(value)  # type: ignore[arg-type]
        if depth > MAX_DEPTH:
            raise TooLargeError(f"nested deeper than {MAX_DEPTH}")
        if kind is bytes:
            self._spend(2 * len(value) + 8)  # type: ignore[arg-type]
            return ["b", value.hex()]  # type: ignore[attr-defined]
        if kind is complex:
            return ["c", self._float(value.real), self._float(value.imag)]  # type: ignore[attr-defined]
        if id(value) in self._open:
            return ["o", "<cycle>"]
        self._open.add(id(value))
        try:
            return self._container(value, kind, depth + 1)
        finally:
            self._open.discard(id(value))

    def _spend(self, size: int) -> None:
        self.budget -= size
        if self.budget < 0:
            raise TooLargeError("larger than the frame")

    def _int(self, value: int) -> Any:
        if -_SAFE_INT < value < _SAFE_INT:
            self._spend(17)
            return value
        self._spend(value.bit_length() // 4 + 12)
        return ["i", hex(value)]

    def _float(self, value: float) -> Any:
        self._spend(24)
        if value - value == 0.0:
            return value
        return ["f", float.__repr__(value)]

    def _text(self, value: str) -> Any:
        if value.isascii():
            self._spend(len(value) + 2)
            return value
        self._spend(6 * len(value) + 8)
        try:
            value.encode()
        except UnicodeEncodeError:
            return ["u", value.encode("utf-8", "surrogatepass").hex()]
        return value

    def _many(self, head: list[Any], values: Iterable[object], depth: int) -> list[Any]:
        self._spend(8)
        encode = self.encode
        head.extend(encode(value, depth) for value in values)
        return head

    def _container(self, value: Any, kind: type, depth: int) -> Any:
        if kind is Absent:
            value.refuse()
        if kind is list:
            return self._many(["l"], value, depth)
        if kind is tuple:
            return self._many(["t"], value, depth)
        if kind is dict:
            return self._keyed(value, depth)
        if kind is set or kind is frozenset:
            if all(map(_hashable_plain, value)):
                return self._many(["s" if kind is set else "z"], value, depth)
            return ["o", kind.__name__, "", self._many(["l"], value, depth)]
        if hasattr(kind, "__next__") and hasattr(kind, "__iter__"):
            items = list(itertools.islice(value, MAX_ITEMS + 1))
            shown = self._many([], items[:MAX_ITEMS], depth)
            return ["g", _name(kind), len(items) <= MAX_ITEMS, *shown]
        return self._instance(value, kind, depth)

    def _keyed(self, value: dict[Any, Any], depth: int) -> Any:
        pairs = [part for pair in dict.items(value) for part in pair]
        if all(map(_hashable_plain, value)):
            return self._many(["d"], pairs, depth)
        return ["o", "dict", "", self._many(["l"], pairs, depth)]

    def _instance(self, value: Any, kind: type, depth: int) -> Any:
        name = _name(kind)
        self._spend(len(name) + 8)
        if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType | types.MethodType):
            return ["o", name, "name", self._text(str(getattr(value, "__qualname__", "")))]
        if isinstance(value, types.ModuleType):
            return ["o", "module", "name", self._text(str(value.__name__))]
        if kind in self._by_repr:
            return ["o", name, "repr", self._text(repr(value))]
        shown: list[Any] = ["o", name]
        if kind in self._arrays:
            self._spend(8 * value.size)  # before creating a list of them
            return [*shown, "", self.encode(value.tolist(), depth)]
        if kind in _VIEWS:
            return [*shown, "", self._many(["l"], value, depth)]
        for base in _BUILTIN_BASES:
            if issubclass(kind, base):
                plain: Any = _as_builtin(value, base)
                shown += ["", self.encode(plain, depth)]
                break
        if hasattr(kind, "__members__") and hasattr(value, "_value_"):
            return [
                *shown,
                "name",
                self.encode(value._name_, depth),
                "value",
                self.encode(value._value_, depth),
            ]
        if isinstance(value, BaseException):
            shown += ["args", self.encode(value.args, depth)]
        for field, found in _fields(value, kind):
            shown += [self._text(field), self.encode(found, depth)]
        return shown


def _as_builtin(value: Any, base: type) -> object:
    if base is bytearray:
        return bytes(value)
    if base is dict:
        return dict(dict.items(value))
    if base in (list, tuple, set, frozenset):
        iterate: Callable[[Any], Iterable[object]] = base.__iter__
        return base(iterate(value))
    if base is int or base is bool:
        return int.__index__(value)
    if base is str:
        return str.__str__(value)
    if base is float:
        return float.__float__(value)
    return base(value)


def _name(kind: type) -> str:
    return str(kind.__name__)


def _hashable_plain(value: object) -> bool:
    """Return whether the host can hash the decoded value."""
    kind = type(value)
    if kind in (int, str, bytes, float, bool, complex) or value is None:
        return True
    if kind is tuple or kind is frozenset:
        return all(map(_hashable_plain, value))  # type: ignore[call-overload]
    return False


def _fields(value: Any, kind: type) -> list[tuple[str, object]]:
    """Return the public fields: a dataclass's in order, else those of __dict__, then of slots."""
    names: list[str] = list(getattr(kind, "__dataclass_fields__", ()))
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    names += [name for name in own if isinstance(name, str)]
    for base in kind.__mro__:
        slots = base.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    found = []
    for name in dict.fromkeys(names):
        if name.startswith("_"):
            continue
        try:
            found.append((name, own[name] if name in own else object.__getattribute__(value, name)))
        except AttributeError:
            continue
    return found
