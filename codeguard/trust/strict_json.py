"""Read untrusted JSON strictly: size, depth, duplicate keys and types are checked, with one-line errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

from codeguard.errors import ManifestError
from codeguard.trust.escape import shown

MAX_BYTES = 128 * 1024 * 1024
MAX_INTEGER = 2**53 - 1  # exact in every JSON reader (RFC 8259, section 6)

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_HEXADECIMAL = re.compile(r"[0-9a-f]*", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


def parse_json(data: bytes, what: str) -> Any:
    """Return the value of a JSON text in UTF-8.

    Raises ManifestError if the text is larger than `MAX_BYTES`, nests
    deeper than Python's parser goes (about a thousand levels), names a key
    twice in one object, or holds a number that is not an integer of at most
    53 bits.
    """
    if len(data) > MAX_BYTES:
        raise ManifestError(f"{what} is too large", got=f"{len(data)} bytes", expected=f"at most {MAX_BYTES}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ManifestError(f"{what} is not UTF-8", got=f"byte {error.start}", expected="UTF-8") from None
    try:
        return json.loads(
            text,
            object_pairs_hook=lambda pairs: _object(pairs, what),
            parse_float=lambda literal: _bad_number(literal, what),
            parse_constant=lambda literal: _bad_number(literal, what),
            parse_int=lambda literal: _integer(literal, what),
        )
    except json.JSONDecodeError as error:
        raise ManifestError(
            f"{what} is not JSON",
            got=f"{error.msg} at line {error.lineno}, column {error.colno}",
            expected="one JSON object",
        ) from None
    except RecursionError:
        raise ManifestError(
            f"{what} nests too deeply", got="more levels than can be read", expected="a few"
        ) from None


def _object(pairs: list[tuple[str, Any]], what: str) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ManifestError(
                    f"{what} names a key twice", got=f"{shown(key)} again", expected="every key once"
                )
            seen.add(key)
    return value


def _bad_number(literal: str, what: str) -> NoReturn:
    raise ManifestError(f"{what} holds a number of the wrong kind", got=shown(literal), expected="an integer")


def _integer(literal: str, what: str) -> int:
    if len(literal) > 17 or abs(int(literal)) > MAX_INTEGER:
        raise ManifestError(
            f"{what} holds too large a number", got=shown(literal), expected="at most 53 bits"
        )
    return int(literal)


class ObjectReader:
    """One JSON object whose members are read by name and type.

    `where` names the object in messages. Every method raises ManifestError
    with got and expected.
    """

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise ManifestError(f"{where} has the wrong type", got=kind(value), expected="an object")
        self._value: Mapping[str, Any] = value
        self.where = where

    def only(self, names: Sequence[str]) -> None:
        """Refuse members with other names."""
        unknown = sorted(set(self._value) - set(names))
        if unknown:
            raise ManifestError(
                f"{self.where} has an unknown member", got=shown(unknown[0]), expected=", ".join(names)
            )

    def take(self, name: str) -> Any:
        """Return a required member."""
        if name not in self._value:
            raise ManifestError(f"{self.where} lacks a member", got="none", expected=name)
        return self._value[name]

    def text(self, name: str, *, max_length: int = 4096) -> str:
        """Return a string of at most `max_length` characters without lone surrogates."""
        return checked_text(self.take(name), f"{name} of {self.where}", max_length)

    def integer(self, name: str, *, least: int = 0) -> int:
        """Return an integer of at least `least`."""
        value = self.take(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ManifestError(
                f"{name} of {self.where} has the wrong type", got=kind(value), expected="an integer"
            )
        if value < least:
            raise ManifestError(
                f"{name} of {self.where} is too small", got=value, expected=f"at least {least}"
            )
        return value

    def moment(self, name: str) -> datetime:
        """Return a UTC time written as 2026-01-31T12:00:00Z."""
        return checked_moment(self.text(name), f"{name} of {self.where}")

    def items(self, name: str, *, most: int) -> list[Any]:
        """Return a list of at most `most` items."""
        value = self.take(name)
        if not isinstance(value, list):
            raise ManifestError(
                f"{name} of {self.where} has the wrong type", got=kind(value), expected="a list"
            )
        if len(value) > most:
            raise ManifestError(
                f"{name} of {self.where} is too long", got=f"{len(value)} items", expected=f"at most {most}"
            )
        return value

    def texts(self, name: str, *, most: int) -> tuple[str, ...]:
        """Return a list of strings."""
        where = f"an item of {name} of {self.where}"
        return tuple(checked_text(item, where) for item in self.items(name, most=most))

    def objects(self, name: str, *, most: int) -> list[ObjectReader]:
        """Return a list of objects, each as a reader."""
        where = f"item {{}} of {name} of {self.where}"
        return [
            ObjectReader(item, where.format(number))
            for number, item in enumerate(self.items(name, most=most), 1)
        ]

    def child(self, name: str) -> ObjectReader:
        """Return an object member as a reader."""
        return ObjectReader(self.take(name), f"{name} of {self.where}")

    def members(self, *, most: int) -> Mapping[str, Any]:
        """Return all members, at most `most`."""
        if len(self._value) > most:
            raise ManifestError(
                f"{self.where} has too many members", got=len(self._value), expected=f"at most {most}"
            )
        return self._value

    def __contains__(self, name: str) -> bool:
        return name in self._value


def checked_text(value: object, where: str, max_length: int = 4096) -> str:
    """Return `value` if it is a string of at most `max_length` characters; raise ManifestError otherwise."""
    if not isinstance(value, str):
        raise ManifestError(f"{where} has the wrong type", got=kind(value), expected="a string")
    if len(value) > max_length:
        raise ManifestError(
            f"{where} is too long", got=f"{len(value)} characters", expected=f"at most {max_length}"
        )
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ManifestError(
            f"{where} is not Unicode text", got="a lone surrogate", expected="whole characters"
        )
    return value


def checked_sha256(value: object, where: str) -> str:
    """Return `value` if it is 64 lower-case hexadecimal digits; raise ManifestError otherwise."""
    text = checked_text(value, where, 1024)
    if not _SHA256.fullmatch(text):
        raise ManifestError(f"{where} is no sha256", got=shown(text), expected="64 digits of 0-9a-f")
    return text


def checked_sha256s(values: Sequence[object], where: str) -> tuple[str, ...]:
    """Return `values` if each passes `checked_sha256`; raise ManifestError otherwise."""
    try:
        # Check all of them at once: a manifest of a large tree holds a hundred thousand.
        joined = "".join(values)  # type: ignore[arg-type]
    except TypeError:
        joined = None
    if joined is not None and set(map(len, values)) <= {64} and _HEXADECIMAL.fullmatch(joined):  # type: ignore[arg-type]
        return tuple(str(value) for value in values)
    return tuple(checked_sha256(value, where) for value in values)


def checked_moment(text: str, where: str) -> datetime:
    """Return the UTC time of a text such as 2026-01-31T12:00:00Z; raise ManifestError otherwise."""
    if _TIME.fullmatch(text):
        try:
            return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        except ValueError:
            pass
    raise ManifestError(f"{where} is no time", got=shown(text), expected="UTC as 2026-01-31T12:00:00Z")


def kind(value: object) -> str:
    """Return the JSON name of a value's type, for messages."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "an integer"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
