"""Read untrusted JSON by its form: size, nesting, repeated keys, types and members, with errors of one line.

A form is a function from a value, and what messages call it, to what the value means; it raises ManifestError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from codeguard.errors import ManifestError
from codeguard.escaping import shown

Form = Callable[[Any, str], Any]

MAX_BYTES = 128 * 1024 * 1024
MAX_INTEGER = 2**53 - 1  # exact in every JSON reader (RFC 8259, section 6)

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_HEXADECIMAL = re.compile(r"[0-9a-f]*", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "an integer"}


def parse_json(data: bytes, what: str) -> Any:
    """Return the value of a JSON text in UTF-8.

    Raises ManifestError if the text is larger than `MAX_BYTES`, nests
    deeper than Python's parser goes (about a thousand levels), names a key
    twice in one object, or holds a number that is not an integer of at most
    53 bits.
    """
    if len(data) > MAX_BYTES:
        raise ManifestError(f"{what} is too large", got=f"{len(data)} bytes", expected=f"at most {MAX_BYTES}")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            keys = [key for key, _ in pairs]
            again = next(key for at, key in enumerate(keys) if key in keys[:at])
            _refuse(f"{what} names a key twice", f"{shown(again)} again", "every key once")
        return value

    def bad(literal: str) -> NoReturn:
        _refuse(f"{what} holds a number of the wrong kind", shown(literal), "an integer")

    def exact(literal: str) -> int:
        if len(literal) > 17 or abs(int(literal)) > MAX_INTEGER:
            _refuse(f"{what} holds too large a number", shown(literal), "at most 53 bits")
        return int(literal)

    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=once,
            parse_float=bad,
            parse_constant=bad,
            parse_int=exact,
        )
    except UnicodeDecodeError as error:
        _refuse(f"{what} is not UTF-8", f"byte {error.start}", "UTF-8")
    except json.JSONDecodeError as error:
        place = f"{error.msg} at line {error.lineno}, column {error.colno}"
        _refuse(f"{what} is not JSON", place, "one JSON object")
    except RecursionError:
        _refuse(f"{what} nests too deeply", "more levels than can be read", "a few")


def text(longest: int = 4096) -> Form:
    """Return the form of a string of at most so many characters, without lone surrogates."""

    def read(value: Any, where: str) -> str:
        _typed(value, str, where)
        if len(value) > longest:
            _refuse(f"{where} is too long", f"{len(value)} characters", f"at most {longest}")
        if any("\ud800" <= character <= "\udfff" for character in value):
            _refuse(f"{where} is not Unicode text", "a lone surrogate", "whole characters")
        return str(value)

    return read


def integer(least: int) -> Form:
    """Return the form of an integer of at least `least`."""

    def read(value: Any, where: str) -> int:
        _typed(value, int, where)
        if value < least:
            _refuse(f"{where} is too small", value, f"at least {least}")
        return int(value)

    return read


def flag(value: Any, where: str) -> bool:
    """Read true or false."""
    _typed(value, bool, where)
    return bool(value)


def sha256(value: Any, where: str) -> str:
    """Read 64 lower-case hexadecimal digits."""
    digest: str = text(1024)(value, where)
    if not _SHA256.fullmatch(digest):
        _refuse(f"{where} is no sha256", shown(digest), "64 digits of 0-9a-f")
    return digest


def sha256s(most: int) -> Form:
    """Return the form of a list of at most so many digests."""

    def read(value: Any, where: str) -> tuple[str, ...]:
        _counted(value, most, where)
        # All of them at once: a manifest of a large tree holds a hundred thousand.
        plain = all(type(digest) is str and len(digest) == 64 for digest in value)
        if not plain or not _HEXADECIMAL.fullmatch("".join(value)):
            return tuple(sha256(digest, f"an item of {where}") for digest in value)
        return tuple(value)

    return read


def moment(value: Any, where: str) -> datetime:
    """Read a UTC time such as 2026-01-31T12:00:00Z."""
    written: str = text()(value, where)
    if _TIME.fullmatch(written):
        try:
            return datetime.strptime(written, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        except ValueError:
            pass
    _refuse(f"{where} is no time", shown(written), "UTC as 2026-01-31T12:00:00Z")


def or_null(form: Form) -> Form:
    """Return the form of a value that may be null."""
    return lambda value, where: None if value is None else form(value, where)


def items(form: Form, most: int) -> Form:
    """Return the form of a list of at most so many values of one form."""

    def read(value: Any, where: str) -> tuple[Any, ...]:
        _counted(value, most, where)
        return tuple(form(item, f"item {number} of {where}") for number, item in enumerate(value, 1))

    return read


def members(forms: Mapping[str, Form], *, optional: Sequence[str] = (), others: bool = False) -> Form:
    """Return the form of an object with these members; with `others`, members of other names are ignored."""

    def read(value: Any, where: str) -> dict[str, Any]:
        _typed(value, dict, where)
        if not others and (unknown := value.keys() - forms.keys()):
            _refuse(f"{where} has an unknown member", shown(min(unknown)), ", ".join(forms))
        for name in forms:
            if name not in value and name not in optional:
                _refuse(f"{where} lacks a member", "none", name)
        return {
            name: form(value[name], f"{name} of {where}") for name, form in forms.items() if name in value
        }

    return read


def _counted(value: Any, most: int, where: str) -> None:
    _typed(value, list, where)
    if len(value) > most:
        _refuse(f"{where} is too long", f"{len(value)} items", f"at most {most}")


def _typed(value: Any, kind: type, where: str) -> None:
    if type(value) is not kind:
        got = "null" if value is None else _KINDS.get(type(value), type(value).__name__)
        _refuse(f"{where} has the wrong type", got, _KINDS[kind])


def _refuse(what: str, got: object, expected: object) -> NoReturn:
    raise ManifestError(what, got=got, expected=expected) from None
