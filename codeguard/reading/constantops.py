"""The operations on constants that folding knows: each with its size known before it is done."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
import operator
import re
import zlib
from collections.abc import Callable, Iterable, Mapping

from codeguard.reading.patterns import lazy

LARGEST = 1 << 20  # characters or bytes of a value, elements of a sequence
_LARGEST_INTEGER = 1 << 128
_WIDE = lazy(r"\d{4}|\*|\{[^{}]*\{")


class UnknownValueError(Exception):
    """The expression does not come to a constant, or not within the bounds."""


class TooLargeError(UnknownValueError):
    """What is decoded is larger than what is looked at."""


def plain(value: object) -> object:
    """Return a value that `str` may be applied to."""
    if isinstance(value, tuple):
        raise UnknownValueError
    return value


def bounded(value: object) -> object:
    """Return a value that is within the bounds."""
    if value is Ellipsis:
        raise UnknownValueError
    if isinstance(value, str | bytes | tuple) and len(value) > LARGEST:
        raise UnknownValueError
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        raise UnknownValueError
    return value


def times(left: object, right: object) -> object:
    """Return a product, of numbers or of a sequence and a number."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left * right
    if isinstance(left, int):
        left, right = right, left
    if not isinstance(left, str | bytes | tuple) or not isinstance(right, int) or len(left) * right > LARGEST:
        raise UnknownValueError
    return left * right


def percent(template: str | bytes, values: object) -> object:
    """Return a text filled in with `%`."""
    if isinstance(template, bytes) or _WIDE.search(template):
        raise UnknownValueError
    _fitting(template, template.count("%"), values if isinstance(values, tuple) else (values,))
    return template % values


def _fitting(template: str, places: int, values: Iterable[object]) -> None:
    """Raise where a template that is filled in with some values might become too large."""
    longest = 0
    for value in values:
        if isinstance(value, str | bytes):
            longest = max(longest, 4 * len(value))  # as much as quoting makes of it
        elif isinstance(value, tuple):
            raise UnknownValueError
    if len(template) + places * (longest + 50) > 8 * LARGEST:
        raise UnknownValueError


def _format(template: str | bytes, *values: object, **named: object) -> object:
    # No attribute of a value is read: the fields are plain or numbered.
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
}
