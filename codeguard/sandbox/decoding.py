"""Decode a child's output, every byte of which may be hostile.

Only exact builtin types, `Opaque` and `Iteration` are returned; any deviation from the protocol raises
MalformedError.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from codeguard.sandbox.inside import wire
from codeguard.sandbox.model import CallResult, Iteration, LineCoverage, Opaque, Outcome

_MAX_INT_DIGITS = 20  # longer ones are encoded as hexadecimal
_MAX_COLLIDING = 1000
_MAX_LINES = 100_000
_MAX_ARGUMENT_PARTS = 1_000_000  # also bounds a value that contains itself


class MalformedError(Exception):
    """The bytes break the protocol."""


def complete_frames(output: bytes) -> list[bytes]:
    """Split the output into the bodies of complete frames; drop an incomplete last one."""
    bodies = []
    at = 0
    while at + wire.LENGTH.size <= len(output):
        (length,) = wire.LENGTH.unpack_from(output, at)
        at += wire.LENGTH.size
        if at + length > len(output):
            break
        bodies.append(output[at : at + length])
        at += length
    return bodies


def _int(digits: str) -> int:
    if len(digits) > _MAX_INT_DIGITS:
        raise MalformedError("an integer too long for its form")
    return int(digits)


def _refuse(word: str) -> None:
    raise MalformedError(f"{word} is not JSON")


_decoder = json.JSONDecoder(parse_int=_int, parse_constant=_refuse)


def body(frame: bytes) -> list[Any]:
    """Parse one frame's JSON array; raise MalformedError if it is not one."""
    try:
        found = _decoder.decode(frame.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise MalformedError(str(error)) from None
    if not isinstance(found, list) or not found:
        raise MalformedError("a frame has to be an array")
    return found


def value(found: Any, depth: int = 0) -> object:
    """Return the value of a tagged form."""
    kind = type(found)  # of what the JSON decoder makes, which has no subclasses
    if kind in _PLAIN:
        return found
    if kind is float:
        if found - found != 0.0:
            raise MalformedError("a float that is not finite")
        return found
    if depth > 2 * wire.MAX_DEPTH or kind is not list or not found:
        raise MalformedError("not a tagged value")
    tag, *rest = found
    try:
        if tag in _MANY:
            items = [value(item, depth + 1) for item in rest]
            return _MANY[tag](items if tag in "lt" else _spread(items))
        if tag == "d":
            parts = [value(item, depth + 1) for item in rest]
            made = dict(zip(_spread(parts[::2]), parts[1::2], strict=True))
            if 2 * len(made) != len(parts):
                raise MalformedError("a dict with a key twice")
            return made
        return _tagged(tag, rest, depth)
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise MalformedError(f"tag {str(tag)[:20]!r}: {error}") from None


def _spread(keys: list[object]) -> list[object]:
    """Return the keys; refuse them if most collide, which would make hashing quadratic."""
    if len(keys) > _MAX_COLLIDING and 4 * len(set(map(hash, keys))) < len(keys):
        raise MalformedError("keys that collide")
    return keys


_PLAIN = frozenset({type(None), bool, int, str})
_MANY: dict[Any, Any] = {"l": list, "t": tuple, "s": set, "z": frozenset}
_SCALARS = frozenset({type(None), bool, int, float, complex, str, bytes})
_ROWS = frozenset({list, tuple, set, frozenset})
_OUTCOMES: dict[Any, Outcome] = {outcome.value: outcome for outcome in Outcome}
_ODD_FLOATS = {"nan", "inf", "-inf"}


def _tagged(tag: object, rest: list[Any], depth: int) -> object:
    if tag == "o":
        name, *parts = rest
        names, values = parts[::2], [value(item, depth + 1) for item in parts[1::2]]
        return Opaque(_text(name), tuple(zip(map(_text, names), values, strict=True)))
    if tag == "g":
        name, exhausted, *items = rest
        if not isinstance(exhausted, bool) or len(items) > wire.MAX_ITEMS:
            raise MalformedError("not an iterator's items")
        return Iteration(_text(name), tuple(value(item, depth + 1) for item in items), exhausted)
    if tag == "c":
        real, imaginary = (value(item, depth + 1) for item in rest)
        if not isinstance(real, float) or not isinstance(imaginary, float):
            raise MalformedError("not a complex number")
        return complex(real, imaginary)
    (text,) = rest
    text = _text(text)
    if tag == "i":
        return int(text, 16)
    if tag == "f" and text in _ODD_FLOATS:
        return float(text)
    if tag == "b":
        return bytes.fromhex(text)
    if tag == "u":
        return bytes.fromhex(text).decode("utf-8", "surrogatepass")
    raise MalformedError("unknown tag")


def _text(found: object) -> str:
    if type(found) is str:
        return found
    if isinstance(found, list) and len(found) == 2 and found[0] == "u":
        found = value(found)
    if not isinstance(found, str):
        raise MalformedError("not a text")
    return found


def call_result(found: list[Any], given: tuple[object, ...] | None) -> CallResult:
    """Return the result in a call's frame; `given` are the arguments as they went in."""
    try:
        _, outcome, returned, after, names, message, stdout, files = found
        kind = _OUTCOMES[outcome]
        if kind is Outcome.NOT_RUN or not isinstance(names, list):
            raise MalformedError("not an outcome of a child")
        arguments = given if after is None else value(after)
        if arguments is not None and not isinstance(arguments, tuple):
            raise MalformedError("arguments have to be a tuple")
        return CallResult(
            outcome=kind,
            value=value(returned),
            args_after=arguments,
            exception=tuple(map(_text, names)) if names else (),
            message=_text(message)[: wire.MAX_TEXT],
            stdout=_text(stdout)[: wire.MAX_STDOUT],
            files=tuple((_text(path), _content(content)) for path, content in files) if files else (),
        )
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise MalformedError(str(error)) from None


def _content(found: Any) -> bytes | str | None:
    content = value(found)
    if content is not None and not isinstance(content, bytes | str):
        raise MalformedError("not what a file holds")
    return content


def end_frame(found: list[Any]) -> tuple[str, str, tuple[str, ...], LineCoverage | None]:
    """Return status, detail, effects (those after `wire.CALLS` of the calls) and coverage of the last frame."""
    try:
        _, status, detail, effects, coverage = found
        shown = tuple(_text(effect)[: wire.MAX_EFFECT] for effect in effects[: 2 * wire.MAX_EFFECTS + 1])
        return _text(status), _text(detail)[: wire.MAX_TEXT], shown, _coverage(coverage)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise MalformedError(str(error)) from None


def _coverage(found: Any) -> LineCoverage | None:
    if found is None:
        return None
    executable, reached, arcs = found
    if max(len(executable), len(reached), len(arcs)) > _MAX_LINES:
        raise MalformedError("too many lines")
    return LineCoverage(
        frozenset(map(_line, executable)),
        frozenset(map(_line, reached)),
        frozenset((_line(start), _line(end)) for start, end in arcs),
    )


def _line(found: Any) -> int:
    if type(found) is not int:
        raise MalformedError("not a line number")
    return found


def allowed_as_argument(found: object) -> bool:
    """Return whether a value consists only of types allowed in a call's arguments."""
    stack: list[Any] = [found]
    seen = 0
    while stack:
        one = stack.pop()
        seen += 1
        if seen > _MAX_ARGUMENT_PARTS:
            return False
        kind = type(one)
        if kind in _SCALARS:
            continue
        if kind in _ROWS:
            stack.extend(one)
        elif kind is dict:
            for pair in one.items():
                stack.extend(pair)
        else:
            return False
    return True


def calls_and_end(
    bodies: Sequence[bytes], given: Sequence[tuple[object, ...] | None]
) -> tuple[list[CallResult], Any]:
    """Return the calls' results in order, and the end frame's content or None if there is none."""
    results: list[CallResult] = []
    for index, frame in enumerate(bodies):
        found = body(frame)
        if found[0] == "end" and index == len(bodies) - 1:
            return results, end_frame(found)
        if found[0] != "call" or len(results) >= len(given):
            raise MalformedError("a frame out of its place")
        results.append(call_result(found, given[len(results)]))
    return results, None
