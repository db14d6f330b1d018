"""Parse specs from TOML files, hand-written ones and those recorded by `codeguard learn`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from codeguard.behavior.specs.calls import NotPlainError, read_literal
from codeguard.behavior.specs.examples import Example, Expected, Raises, Returns, Spec
from codeguard.behavior.specs.files import SpecFile
from codeguard.errors import SpecError

SPEC_KEYS = frozenset({"name", "aliases", "summary", "case", "path", "certain"})
CALL_KEYS = ("args", "call", "expression")
CASE_KEYS = frozenset(
    {*CALL_KEYS, "kwargs", "kwargs_literal", "setup", "expected", "expected_literal", "raises"}
)
OUTCOME_KEYS = ("expected", "expected_literal", "raises")


def parse_specs(file: SpecFile) -> tuple[Spec, ...]:
    """Return the specs of a TOML file.

    Raises:
        SpecError: the file is malformed.
    """
    path = file.path
    try:
        text = file.data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        document = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = f"cannot read the spec file {path}: {_one_line(error)}"
        raise SpecError(why, expected="TOML in UTF-8") from error
    unknown = set(document) - {"spec"}
    if unknown:
        raise SpecError(f"{path}: unknown table", got=sorted(unknown)[0], expected="[[spec]]")
    entries = document.get("spec", [])
    if not isinstance(entries, list):
        raise SpecError(f"{path}: spec is not a list of tables", expected="[[spec]]")
    lines = _Lines(text, entries)
    return tuple(_spec(entry, path, number, lines) for number, entry in enumerate(entries, 1))


class _Lines:
    """The line numbers of a file's tables, in order, which the TOML parser does not report."""

    def __init__(self, text: str, entries: Sequence[object]) -> None:
        numbered = [(line.split("#")[0].strip(), number) for number, line in enumerate(text.split("\n"), 1)]
        specs = [number for line, number in numbered if line == "[[spec]]"]
        cases = [number for line, number in numbered if line == "[[spec.case]]"]
        counted = sum(_count(entry) for entry in entries)
        # Inline tables have no header. No line number is better than a wrong one.
        plain = len(specs) == len(entries) and len(cases) == counted
        self._specs, self._cases = iter(specs if plain else ()), iter(cases if plain else ())

    def spec(self) -> str:
        """Return the line of the next spec as a suffix for the file's name."""
        return self._next(self._specs)

    def case(self) -> str:
        """Return the line of the next case."""
        return self._next(self._cases)

    @staticmethod
    def _next(lines: Iterator[int]) -> str:
        number = next(lines, None)
        return "" if number is None else f":{number}"


def _count(entry: object) -> int:
    cases = entry.get("case") if isinstance(entry, dict) else None
    return len(cases) if isinstance(cases, list) else 0


def _spec(entry: object, path: Path, number: int, lines: _Lines) -> Spec:
    where = f"{path}: spec {number}"
    table = _table(entry, SPEC_KEYS, where)
    name = _text(table.get("name"), f"{where}: name")
    aliases = table.get("aliases", [])
    if not isinstance(aliases, list):
        raise SpecError(f"{where}: aliases", got=type(aliases).__name__, expected="a list of names")
    cases = table.get("case", [])
    if not isinstance(cases, list) or not cases:
        raise SpecError(f"{where} ({name}) has no case", expected="[[spec.case]]")
    kind = "recorded" if "path" in table else "spec"
    callee = name if "path" in table else ""
    origin = f"{kind} {name} ({path.name}{lines.spec()})"
    return Spec(
        name=name,
        aliases=tuple(_text(alias, f"{where}: alias") for alias in aliases),
        summary=str(table.get("summary", "")),
        cases=tuple(
            _case(case, f"{where} ({name})", f"{kind} {name} ({path.name}{lines.case()})", callee)
            for case in cases
        ),
        origin=origin,
        path=_text(table["path"], f"{where}: path") if "path" in table else "",
        certain=table.get("certain") is True,
    )


def _case(entry: object, where: str, origin: str, callee: str) -> Example:
    """Return a case; `callee` is the function of a recorded case, whose call may be any expression."""
    table = _table(entry, CASE_KEYS, f"{where}: case")
    calls = [key for key in CALL_KEYS if key in table]
    if len(calls) != 1:
        raise SpecError(f"{where}: a case needs one of {', '.join(CALL_KEYS)}", got=sorted(table))
    if not callee and ("expression" in table or "setup" in table):
        raise SpecError(f"{where}: an expression needs the path of its function", got=sorted(table))
    expected = _expected(table, where, needed=not callee)
    if "expression" in table:
        setup = table.get("setup", [])
        if not isinstance(setup, list) or not all(isinstance(line, str) for line in setup):
            raise SpecError(f"{where}: setup", got=type(setup).__name__, expected="a list of lines")
        text = _text(table["expression"], f"{where}: expression")
        lines = "".join(f"{line}\n" for line in setup)
        return Example(None, {}, expected, origin, expression=text, setup=lines, callee=callee)
    args = table["args"] if "args" in table else _literal(table["call"], f"{where}: call")
    if not isinstance(args, list | tuple):
        raise SpecError(f"{where}: arguments", got=type(args).__name__, expected="a list")
    kwargs = table.get("kwargs", {})
    if "kwargs_literal" in table:
        kwargs = _literal(table["kwargs_literal"], f"{where}: kwargs_literal")
    if not isinstance(kwargs, dict):
        raise SpecError(f"{where}: kwargs", got=type(kwargs).__name__, expected="a table")
    return Example(tuple(args), dict(kwargs), expected, origin)


def _expected(table: Mapping[str, Any], where: str, needed: bool) -> Expected:
    given = [key for key in OUTCOME_KEYS if key in table]
    if not given and not needed:
        return None  # the trusted function determines the expected result
    if len(given) != 1:
        raise SpecError(
            f"{where}: a case needs exactly one outcome", got=given, expected=" or ".join(OUTCOME_KEYS)
        )
    value = table[given[0]]
    if given[0] == "raises":
        return Raises(_text(value, f"{where}: raises"))
    if given[0] == "expected_literal":
        return Returns(_literal(value, f"{where}: expected_literal"))
    return Returns(value)


def _table(entry: object, keys: frozenset[str], where: str) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise SpecError(where, got=type(entry).__name__, expected="a table")
    for key in entry:
        if key not in keys:
            raise SpecError(f"{where}: unknown key", got=key, expected=", ".join(sorted(keys)))
    return entry


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SpecError(where, got=repr(value), expected="a name")
    return value


def _literal(text: object, where: str) -> object:
    if not isinstance(text, str):
        raise SpecError(where, got=type(text).__name__, expected="a Python literal as text")
    try:
        return read_literal(text)
    except NotPlainError as error:
        raise SpecError(f"{where}: not a Python literal", got=text[:80]) from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
