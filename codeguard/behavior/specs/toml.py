"""Specs as TOML: those written by hand, and the recorded ones that `codeguard learn` writes and reads.

One table per function, and one per call. In a recorded file functions and calls are sorted and every value is on its
own line, so that versions of the file can be compared with diff.
"""

from __future__ import annotations

import json
import posixpath
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from codeguard.behavior.specs.calls import NO_VALUE, value_of
from codeguard.behavior.specs.examples import Example, Expected, Raises, Returns, Spec
from codeguard.behavior.specs.files import RECORDED_NAME, SpecFile
from codeguard.errors import SpecError
from codeguard.models import SourceFile

SPEC = {"name": str, "aliases": list, "summary": str, "case": list, "path": str, "certain": bool}
CALLS = {"args": list, "call": str, "expression": str}
OUTCOMES = {"expected": object, "expected_literal": str, "raises": str}
CASE = {**CALLS, **OUTCOMES, "kwargs": dict, "kwargs_literal": str, "setup": list}
LITERALS = frozenset({"call", "expected_literal", "kwargs_literal"})
HEADER = """\
# Calls of trusted functions and what they gave, recorded by: codeguard learn
# It is evidence like a doctest: anyone who changes this file changes what functions are held to.
"""


def parse_specs(file: SpecFile) -> tuple[Spec, ...]:
    """Return the specs of a TOML file.

    Raises:
        SpecError: the file is malformed.
    """
    path = file.path
    try:
        document = tomllib.loads(file.data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = f"cannot read the spec file {path}: {' '.join(str(error).split())}"
        raise SpecError(why, expected="TOML in UTF-8") from error
    entries = _table(document, {"spec": list}, str(path)).get("spec", [])
    return tuple(_spec(entry, path, number) for number, entry in enumerate(entries, 1))


def recorded_specs(file: SpecFile) -> tuple[Spec, ...]:
    """Return the specs of a file of recorded specs.

    Raises:
        SpecError: the file is malformed, or a path leads out of its folder.
    """
    specs = parse_specs(file)
    for spec in specs:
        if not spec.path or posixpath.isabs(spec.path) or ".." in spec.path.split("/"):
            raise SpecError(
                f"{file.path}: path of {spec.name}",
                got=spec.path or "none",
                expected="the path of its file, relative to this folder",
            )
    return specs


def recorded_examples(files: Iterable[SourceFile]) -> dict[tuple[str, str], tuple[Example, ...]]:
    """Return the recorded examples in trusted files, by path and name of the function.

    A file of recorded specs applies to files in its own folder and below.

    Raises:
        SpecError: a file is malformed.
    """
    found: dict[tuple[str, str], tuple[Example, ...]] = {}
    for file in files:
        folder, name = posixpath.split(file.path)
        if name == RECORDED_NAME:
            for spec in recorded_specs(SpecFile(Path(file.path), file.text.encode("utf-8", "surrogatepass"))):
                key = posixpath.join(folder, spec.path), spec.name
                found[key] = (*found.get(key, ()), *spec.cases)
    return found


def _spec(entry: object, path: Path, number: int) -> Spec:
    where = f"{path}: spec {number}"
    table = _table(entry, SPEC, where)
    name, place = table.get("name", ""), table.get("path", "")
    if not name.strip():
        raise SpecError(f"{where}: name", got=repr(name), expected="a name")
    if not table.get("case"):
        raise SpecError(f"{where} ({name}) has no case", expected="[[spec.case]]")
    origin = f"{'recorded' if place else 'spec'} {name} ({path.name}"
    cases = tuple(
        _case(case, f"{where} ({name}): case", f"{origin}, case {at})", name if place else "")
        for at, case in enumerate(table["case"], 1)
    )
    aliases, certain = tuple(table.get("aliases", ())), table.get("certain", False)
    return Spec(name, aliases, table.get("summary", ""), cases, f"{origin})", place, certain=certain)


def _case(entry: object, where: str, origin: str, callee: str) -> Example:
    """Return a case; `callee` is the function of a recorded case, whose call may be any expression.

    Without an outcome, what a recorded case has to give is what the trusted function gives.
    """
    table = _table(entry, CASE, where)
    call = _only_one(table, CALLS, where)
    expected: Expected = None
    if not callee or any(key in table for key in OUTCOMES):
        outcome = _only_one(table, OUTCOMES, where)
        expected = Raises(table[outcome]) if outcome == "raises" else Returns(table[outcome])
    if not callee and (call == "expression" or "setup" in table):
        raise SpecError(f"{where}: an expression needs the path of its function", got=sorted(table))
    if call == "expression":
        setup = "".join(f"{line}\n" for line in table.get("setup", ()))
        return Example(None, {}, expected, origin, expression=table[call], setup=setup, callee=callee)
    args, kwargs = table[call], table.get("kwargs_literal", table.get("kwargs", {}))
    if not isinstance(args, list | tuple) or not isinstance(kwargs, dict) or not all(map(_is_text, kwargs)):
        raise SpecError(
            f"{where}: arguments", got=repr((args, kwargs))[:80], expected="a list, and a table by name"
        )
    return Example(tuple(args), kwargs, expected, origin)


def _only_one(table: Mapping[str, Any], keys: Iterable[str], where: str) -> str:
    given = [key for key in keys if key in table]
    if len(given) != 1:
        raise SpecError(where, got=given or "none", expected=f"exactly one of {', '.join(keys)}")
    return given[0]


def _table(entry: Any, form: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a table of which every value has the form's type, with literals as their values."""
    if not isinstance(entry, dict):
        raise SpecError(where, got=type(entry).__name__, expected="a table")
    found = dict(entry)
    for key, value in entry.items():
        if key not in form:
            raise SpecError(f"{where}: unknown key", got=key, expected=", ".join(sorted(form)))
        is_list = key in ("aliases", "setup") and isinstance(value, list)
        if not isinstance(value, form[key]) or (is_list and not all(map(_is_text, value))):
            got = "other than text in it" if is_list else type(value).__name__
            raise SpecError(f"{where}: {key}", got=got, expected=form[key].__name__)
        if key in LITERALS:
            found[key] = value_of(value)
            if found[key] is NO_VALUE:
                raise SpecError(f"{where}: {key} is no Python literal", got=value[:80])
    return found


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def recorded_specs_text(specs: Iterable[Spec]) -> str:
    """Return the text of a file of recorded specs; equal specs give equal text."""
    parts = [HEADER]
    for spec in sorted(specs, key=lambda spec: spec.key):
        parts.append(f"\n[[spec]]\nname = {_quoted(spec.name)}\npath = {_quoted(spec.path)}\n")
        parts += sorted(map(_case_text, spec.cases), key=lambda text: (len(text), text))
    return "".join(parts)


def _case_text(example: Example) -> str:
    lines = ["[[spec.case]]"]
    if example.args is None:
        if example.setup:
            lines += ["setup = [", *(f"  {_quoted(line)}," for line in example.setup.splitlines()), "]"]
        lines.append(f"expression = {_quoted(example.expression)}")
    else:
        lines.append(f"call = {_quoted(literal(example.args))}")
        if example.kwargs:
            lines.append(f"kwargs_literal = {_quoted(literal(dict(example.kwargs)))}")
    if isinstance(example.expected, Returns):
        lines.append(f"expected_literal = {_quoted(literal(example.expected.value))}")
    elif isinstance(example.expected, Raises):
        lines.append(f"raises = {_quoted(example.expected.exception)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text as a TOML string on one line, as a literal string if it needs no escapes."""
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    return "".join(
        char if char.isprintable() else f"\\U{ord(char):08x}" for char in json.dumps(text, ensure_ascii=False)
    )


def literal(value: object) -> str:
    """Return a plain value as source text that `codeguard.behavior.specs.calls.literal_value` reads.

    Raises:
        SpecError: the value is not plain.
    """
    kind = type(value)
    if isinstance(value, float) and kind is float and value - value != 0.0:
        return f'float("{value!r}")'
    if isinstance(value, dict) and kind is dict:
        return f"{{{', '.join(f'{literal(key)}: {literal(item)}' for key, item in value.items())}}}"
    if isinstance(value, list | tuple | set | frozenset) and kind in (list, tuple, set, frozenset):
        items = list(map(literal, value))
        items = items if isinstance(value, list | tuple) else sorted(items)
        if kind is frozenset or not items:
            return f"{kind.__name__}([{', '.join(items)}])" if items else _EMPTY[kind]
        text = ", ".join(items)
        return {list: f"[{text}]", tuple: f"({text}{',' * (len(items) == 1)})", set: f"{{{text}}}"}[kind]
    if value is None or kind in (bool, int, float, complex, str, bytes):
        return repr(value)
    raise SpecError("not a plain value", got=kind.__name__)


_EMPTY: Mapping[type, str] = {list: "[]", tuple: "()", set: "set()", frozenset: "frozenset()"}


def merged_specs(before: Sequence[Spec], now: Sequence[Spec], most: int) -> tuple[Spec, ...]:
    """Add the new cases in `now` to the specs in `before`; nothing is removed.

    A function with `most` cases or more gets no new ones.
    """
    found: dict[tuple[str, str], dict[str, Example]] = {}
    for specs, limit in ((before, None), (now, most)):
        for spec in specs:
            cases = found.setdefault(spec.key, {})
            for case in spec.cases:
                if limit is None or len(cases) < limit:
                    key = repr((case.args, sorted(case.kwargs.items()), case.setup, case.expression))
                    cases.setdefault(key, case)
    return tuple(
        Spec(name, (), "", tuple(cases.values()), "recorded", path) for (path, name), cases in found.items()
    )
