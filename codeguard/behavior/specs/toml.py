"""Specs as TOML, written by hand: one table per function, and one per call."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from codeguard.behavior.specs.examples import NO_VALUE, Example, Raises, Returns, Spec, value_of
from codeguard.behavior.specs.files import SpecFile
from codeguard.errors import SpecError

SPEC = {"name": str, "aliases": list, "summary": str, "case": list, "certain": bool}
CALLS = {"args": list, "call": str}
OUTCOMES = {"expected": object, "expected_literal": str, "raises": str}
CASE = {**CALLS, **OUTCOMES, "kwargs": dict, "kwargs_literal": str}
LITERALS = frozenset({"call", "expected_literal", "kwargs_literal"})


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


def _spec(entry: object, path: Path, number: int) -> Spec:
    where = f"{path}: spec {number}"
    table = _table(entry, SPEC, where)
    name = table.get("name", "")
    if not name.strip():
        raise SpecError(f"{where}: name", got=repr(name), expected="a name")
    if not table.get("case"):
        raise SpecError(f"{where} ({name}) has no case", expected="[[spec.case]]")
    origin = f"spec {name} ({path.name}"
    cases = tuple(
        _case(case, f"{where} ({name}): case", f"{origin}, case {at})")
        for at, case in enumerate(table["case"], 1)
    )
    aliases, certain = tuple(table.get("aliases", ())), table.get("certain", False)
    return Spec(name, aliases, table.get("summary", ""), cases, f"{origin})", certain=certain)


def _case(entry: object, where: str, origin: str) -> Example:
    table = _table(entry, CASE, where)
    call, outcome = _only_one(table, CALLS, where), _only_one(table, OUTCOMES, where)
    expected = Raises(table[outcome]) if outcome == "raises" else Returns(table[outcome])
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
        is_list = key == "aliases" and isinstance(value, list)
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
