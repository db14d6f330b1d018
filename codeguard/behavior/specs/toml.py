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

SPEC_KEYS = frozenset({"name", "aliases", "summary", "case", "path", "certain"})
CALL_KEYS = ("args", "call", "expression")
OUTCOME_KEYS = ("expected", "expected_literal", "raises")
CASE_KEYS = frozenset({*CALL_KEYS, *OUTCOME_KEYS, "kwargs", "kwargs_literal", "setup"})
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
    unknown = sorted(set(document) - {"spec"})
    if unknown:
        raise SpecError(f"{path}: unknown table", got=unknown[0], expected="[[spec]]")
    entries = _typed(document.get("spec", []), list, f"{path}: spec", "[[spec]]")
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
    table = _table(entry, SPEC_KEYS, where)
    name = _text(table.get("name"), f"{where}: name")
    aliases = _typed(table.get("aliases", []), list, f"{where}: aliases", "a list of names")
    cases = table.get("case", [])
    if not isinstance(cases, list) or not cases:
        raise SpecError(f"{where} ({name}) has no case", expected="[[spec.case]]")
    is_recorded = "path" in table
    origin = f"{'recorded' if is_recorded else 'spec'} {name} ({path.name}"
    return Spec(
        name=name,
        aliases=tuple(_text(alias, f"{where}: alias") for alias in aliases),
        summary=str(table.get("summary", "")),
        cases=tuple(
            _case(case, f"{where} ({name})", f"{origin}, case {place})", name if is_recorded else "")
            for place, case in enumerate(cases, 1)
        ),
        origin=f"{origin})",
        path=_text(table["path"], f"{where}: path") if is_recorded else "",
        certain=table.get("certain") is True,
    )


def _case(entry: object, where: str, origin: str, callee: str) -> Example:
    """Return a case; `callee` is the function of a recorded case, whose call may be any expression."""
    table = _table(entry, CASE_KEYS, f"{where}: case")
    if len([key for key in CALL_KEYS if key in table]) != 1:
        raise SpecError(f"{where}: a case needs one of {', '.join(CALL_KEYS)}", got=sorted(table))
    if not callee and ("expression" in table or "setup" in table):
        raise SpecError(f"{where}: an expression needs the path of its function", got=sorted(table))
    expected = _expected(table, where, needed=not callee)
    if "expression" in table:
        setup = _typed(table.get("setup", []), list, f"{where}: setup", "a list of lines")
        lines = "".join(f"{_typed(line, str, f'{where}: setup', 'lines')}\n" for line in setup)
        text = _text(table["expression"], f"{where}: expression")
        return Example(None, {}, expected, origin, expression=text, setup=lines, callee=callee)
    args = table["args"] if "args" in table else _literal(table["call"], f"{where}: call")
    kwargs = table.get("kwargs", {})
    if "kwargs_literal" in table:
        kwargs = _literal(table["kwargs_literal"], f"{where}: kwargs_literal")
    _typed(args, (list, tuple), f"{where}: arguments", "a list")
    return Example(tuple(args), dict(_typed(kwargs, dict, f"{where}: kwargs", "a table")), expected, origin)


def _expected(table: Mapping[str, Any], where: str, needed: bool) -> Expected:
    given = [key for key in OUTCOME_KEYS if key in table]
    if not given and not needed:
        return None  # the trusted function determines the expected result
    if len(given) != 1:
        wanted = " or ".join(OUTCOME_KEYS)
        raise SpecError(f"{where}: a case needs exactly one outcome", got=given, expected=wanted)
    value = table[given[0]]
    if given[0] == "raises":
        return Raises(_text(value, f"{where}: raises"))
    return Returns(_literal(value, f"{where}: {given[0]}") if given[0] == "expected_literal" else value)


def _typed(value: Any, kinds: type | tuple[type, ...], where: str, expected: str) -> Any:
    if not isinstance(value, kinds):
        raise SpecError(where, got=type(value).__name__, expected=expected)
    return value


def _table(entry: object, keys: frozenset[str], where: str) -> dict[str, Any]:
    table: dict[str, Any] = _typed(entry, dict, where, "a table")
    unknown = [key for key in table if key not in keys]
    if unknown:
        raise SpecError(f"{where}: unknown key", got=unknown[0], expected=", ".join(sorted(keys)))
    return table


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SpecError(where, got=repr(value), expected="a name")
    return value


def _literal(text: Any, where: str) -> Any:
    _typed(text, str, where, "a Python literal as text")
    value = value_of(text)
    if value is NO_VALUE:
        raise SpecError(f"{where}: not a Python literal", got=text[:80])
    return value


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
