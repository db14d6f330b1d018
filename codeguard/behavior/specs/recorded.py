"""Read and write the file of recorded specs that `codeguard learn` makes.

The format is that of hand-written specs (`codeguard.behavior.specs.toml`): one table per function,
which names its file, and one table per call. Functions and calls are sorted and every value is on
its own line, so that versions of the file can be compared with diff.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from pathlib import Path

from codeguard.behavior.specs.examples import Example, Raises, Returns, Spec
from codeguard.behavior.specs.files import RECORDED_NAME, SpecFile
from codeguard.behavior.specs.toml import parse_specs
from codeguard.errors import SpecError
from codeguard.models import SourceFile

HEADER = """\
# Calls of trusted functions and what they gave, recorded by: codeguard learn
# It is evidence like a doctest: anyone who changes this file changes what functions are held to.
"""


def is_recorded_specs(path: str) -> bool:
    """Return whether a trusted file of this name holds recorded specs."""
    return path.rpartition("/")[2] == RECORDED_NAME


def recorded_examples(files: Iterable[SourceFile]) -> dict[tuple[str, str], tuple[Example, ...]]:
    """Return the recorded examples in trusted files, by path and name of the function.

    A file of recorded specs applies to files in its own folder and below.

    Raises:
        SpecError: a file is malformed.
    """
    found: dict[tuple[str, str], tuple[Example, ...]] = {}
    for file in files:
        if not is_recorded_specs(file.path):
            continue
        folder = posixpath.dirname(file.path)
        for spec in recorded_specs(SpecFile(Path(file.path), file.text.encode("utf-8", "surrogatepass"))):
            key = posixpath.join(folder, spec.path), spec.name
            found[key] = (*found.get(key, ()), *spec.cases)
    return found


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


def recorded_specs_text(specs: Iterable[Spec]) -> str:
    """Return the text of a file of recorded specs; equal specs give equal text."""
    parts = [HEADER]
    for spec in sorted(specs, key=lambda spec: (spec.path, spec.name)):
        parts.append(f"\n[[spec]]\nname = {_quoted(spec.name)}\npath = {_quoted(spec.path)}\n")
        parts.extend(_case(case) for case in sorted(spec.cases, key=_place))
    return "".join(parts)


def _place(example: Example) -> tuple[int, str]:
    text = _case(example)
    return len(text), text


def _case(example: Example) -> str:
    lines = ["[[spec.case]]"]
    if example.args is None:
        if example.setup:
            lines.append("setup = [")
            lines.extend(f"  {_quoted(line)}," for line in example.setup.splitlines())
            lines.append("]")
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


def literal(value: object) -> str:
    """Return a plain value as source text that `codeguard.behavior.specs.calls.literal_value` reads.

    Raises:
        SpecError: the value is not plain.
    """
    kind = type(value)
    if isinstance(value, float) and kind is float:
        return repr(value) if value - value == 0.0 else f'float("{value!r}")'
    if isinstance(value, list) and kind is list:
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, tuple) and kind is tuple:
        return f"({literal(value[0])},)" if len(value) == 1 else f"({', '.join(map(literal, value))})"
    if isinstance(value, dict) and kind is dict:
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, set | frozenset) and kind in (set, frozenset):
        return _literal_set(value, kind is frozenset)
    if value is None or kind in (bool, int, complex, str, bytes):
        return repr(value)
    raise SpecError("not a plain value", got=kind.__name__)


def _literal_set(value: Iterable[object], frozen: bool) -> str:
    items = sorted(map(literal, value))
    if frozen:
        return f"frozenset([{', '.join(items)}])" if items else "frozenset()"
    return f"{{{', '.join(items)}}}" if items else "set()"


def merged_specs(before: Sequence[Spec], now: Sequence[Spec], most: int) -> tuple[Spec, ...]:
    """Add the new cases in `now` to the specs in `before`; nothing is removed.

    A function with `most` cases or more gets no new ones.
    """
    found: dict[tuple[str, str], dict[str, Example]] = {}
    for spec in before:
        cases = found.setdefault((spec.path, spec.name), {})
        cases.update((_call_key(case), case) for case in spec.cases)
    for spec in now:
        cases = found.setdefault((spec.path, spec.name), {})
        for case in spec.cases:
            if len(cases) < most:
                cases.setdefault(_call_key(case), case)
    return tuple(
        Spec(name, (), "", tuple(cases.values()), "recorded", path) for (path, name), cases in found.items()
    )


def _call_key(case: Example) -> str:
    return repr((case.args, sorted(case.kwargs.items()), case.setup, case.expression))


def _quoted(text: str) -> str:
    """Return a text as a TOML string on one line, as a literal string if it needs no escapes."""
    if "'" not in text and text.isprintable():
        return f"'{text}'"
    escaped = "".join(_escaped(char) for char in text)
    return f'"{escaped}"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
