"""Turn recorded calls into examples of trusted functions, without those that look like secrets."""

from __future__ import annotations

import ast
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from codeguard.behavior.source.definitions import PARSE_ERRORS, Definition, unparse
from codeguard.behavior.specs.calls import NotPlainError, positional, read_literal
from codeguard.behavior.specs.examples import Example, Expected, Raises, Returns
from codeguard.corpus.secrets import entropy, find_secrets
from codeguard.syntax.names import dotted_name

MAX_LINE = 100_000
MAX_SETUP_LINES = 12
# Minimum length of a value that is a secret because of its parameter's or variable's name.
LEAST_SECRET = 8
_MADE = re.compile(r"made(\d+)_")
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}", re.ASCII)
_SECRET_NAME = re.compile(
    r"pass(?:wd|word|phrase)?(?:$|_)|pwd|secret|token|(?:api|auth|access|private|signing|encryption)_?key|"
    r"credential|^auth$|^key$|bearer|cookie|session_?id|salt|nonce|otp",
    re.IGNORECASE,
)
_RUN = re.compile(r"[A-Za-z0-9+/=_-]{20,}")
_RANDOM_BITS = 3.6  # bits of entropy per character; above this, a long run of letters and digits is a token


@dataclass(frozen=True, slots=True)
class Sample:
    """One recorded call.

    `args` and `kwargs` are source text. `target` is the source of the object that a method was
    called on, or "". `outcome` is returned, raised or built. `shown` is the result as source text
    or the name of the exception, or "" if it cannot be written; `kind` is the name of the result's
    type. `changed` means that the call changed one of its arguments.
    """

    path: str
    name: str
    target: str
    args: tuple[str, ...]
    kwargs: tuple[str, ...]
    imports: tuple[tuple[str, str], ...]
    setup: tuple[str, ...]
    outcome: str
    shown: str
    kind: str
    line: int
    changed: bool

    @property
    def text(self) -> str:
        """Everything in it that would be written to the file."""
        return "\n".join((*self.setup, self.target, *self.args, *self.kwargs, self.shown))


@dataclass(frozen=True, slots=True)
class SampledExample:
    """An example that still has to hold in the sandbox, and the sample it was made from."""

    example: Example
    sample: Sample


def samples_of(lines: Iterable[bytes]) -> Iterator[Sample]:
    """Yield the samples in the lines of a recording; other lines are skipped."""
    for line in lines:
        if not line or len(line) > MAX_LINE:
            continue
        try:
            row = ast.literal_eval(line.decode("ascii"))
            path, name, _, target, args, kwargs, imports, setup, outcome, shown, kind, at, changed = row
            yield Sample(
                str(path),
                str(name),
                _with_lambdas(str(target)),
                tuple(_with_lambdas(str(text)) for text in args),
                tuple(_with_lambdas(str(text)) for text in kwargs),
                tuple((str(module), str(what)) for module, what in imports),
                tuple(_with_lambdas(str(text)) for text in setup),
                str(outcome),
                str(shown),
                str(kind),
                int(at),
                bool(changed),
            )
        except (*PARSE_ERRORS, TypeError):
            continue


class Privacy:
    """Decides which samples may not be written: secrets, mail addresses, and local paths."""

    def __init__(self, environment: Mapping[str, str], places: Iterable[Path]) -> None:
        self._values = {
            value
            for name, value in environment.items()
            if len(value) >= LEAST_SECRET and _SECRET_NAME.search(name)
        }
        home = str(Path("~").expanduser())
        self._places = {str(place) for place in places if len(str(place)) > 1}
        self._places |= {home} if len(home) > 1 else set()
        self._places.add(f"{tempfile.gettempdir()}/pytest-")

    def refuses(self, sample: Sample, parameters: Sequence[str]) -> bool:
        """Return whether a sample is private; `parameters` are the names of the positional ones."""
        return self._by_name(sample, parameters) or self.refuses_text(sample.text)

    def refuses_text(self, text: str) -> bool:
        """Return whether a text is private."""
        if any(value in text for value in self._values) or any(place in text for place in self._places):
            return True
        if "@" in text and _MAIL.search(text):
            return True
        return any(_is_random(run) for run in _RUN.findall(text)) or bool(find_secrets(text))

    def _by_name(self, sample: Sample, parameters: Sequence[str]) -> bool:
        rows = [*zip(parameters, sample.args, strict=False), *(item.split("=", 1) for item in sample.kwargs)]
        return any(
            _SECRET_NAME.search(name) and len(value) >= LEAST_SECRET and ("'" in value or '"' in value)
            for name, value in rows
        )


def _is_random(run: str) -> bool:
    """Return whether a long run of characters resembles a token more than words or a name."""
    kinds = sum(any(test(char) for char in run) for test in (str.islower, str.isupper, str.isdigit))
    return kinds >= 2 and any(map(str.isdigit, run)) and entropy(run) > _RANDOM_BITS


def observation_of(sample: Sample, definition: Definition) -> SampledExample | None:
    """Return the example that a sample makes; None if it cannot be written as one."""
    sample = _normalised(sample)
    owner = definition.owner.name if definition.owner is not None else ""
    binding = definition.binding
    args: Sequence[str] = sample.args
    is_new = definition.name == "__new__"
    if binding == "class" or is_new:
        if tuple(args[:1]) != (owner,):
            return None  # the object is of a subclass
        args = args[1:]
    kwargs, setup, target = sample.kwargs, sample.setup, sample.target
    expected: Expected = None
    if sample.outcome == "returned" and sample.shown:
        try:
            expected = Returns(read_literal(sample.shown))
        except NotPlainError:
            return None
    if sample.outcome == "raised" and sample.shown:
        expected = Raises(sample.shown)
    plain = None
    if binding != "instance" and not setup and not sample.imports and not sample.changed and not is_new:
        plain = _plain_arguments(args, kwargs, definition)
    if plain is not None and not (owner and sample.outcome == "built"):
        return SampledExample(Example(*plain, expected), sample)
    made = _expression(sample, definition, owner, args, kwargs, setup, target)
    if made is None:
        return None
    expression, lines = made
    imports = list(_imports(sample.imports, owner or definition.name, (*lines, expression)))
    if len(lines) > MAX_SETUP_LINES:
        return None
    text = "".join(f"{line}\n" for line in (*imports, *lines))
    callee = definition.qualified_name
    if sample.changed:
        expected = None
    return SampledExample(Example(None, {}, expected, "", expression, text, callee), sample)


def _plain_arguments(
    args: Sequence[str], kwargs: Sequence[str], definition: Definition
) -> tuple[tuple[object, ...], dict[str, object]] | None:
    try:
        values = [read_literal(text) for text in args]
        named = {name: read_literal(text) for name, _, text in (item.partition("=") for item in kwargs)}
    except NotPlainError:
        return None
    return positional(values, named, definition.parameters)


def _expression(
    sample: Sample,
    definition: Definition,
    owner: str,
    args: Sequence[str],
    kwargs: Sequence[str],
    setup: Sequence[str],
    target: str,
) -> tuple[str, list[str]] | None:
    lines = list(setup)
    shown = list(args)
    if sample.changed:
        # Changes to arguments are part of the result.
        for place, text in enumerate(shown):
            if text[:1] in "[{":
                lines.append(f"given{place + 1} = {text}")
                shown[place] = f"given{place + 1}"
        if target and not target.isidentifier():
            lines.append(f"it = {target}")
            target = "it"
    call = f"({', '.join((*shown, *kwargs))})"
    if sample.outcome == "built" or definition.name == "__init__":
        expression = f"{owner}{call}"
    elif definition.binding == "instance":
        if not target:
            return None
        expression = f"{target}.{definition.name}"
        if not _is_property(definition):
            expression += call
        elif args or kwargs:
            return None  # a property was assigned
    elif owner:
        expression = f"{owner}.{definition.name}{call}"
    else:
        expression = f"{definition.name}{call}"
    if sample.changed:
        names = [name for name in (*shown, target) if name.isidentifier()]
        changed = [name for name in dict.fromkeys(names) if name not in ("None", "True", "False", owner)]
        changed = [name for name in changed if any(line.startswith(f"{name} = ") for line in lines)]
        if not changed:
            return None
        expression = f"({expression}, {', '.join(changed)})"
    return _inlined(expression, lines)


def _is_property(definition: Definition) -> bool:
    names = {dotted_name(decorator).rpartition(".")[2] for decorator in definition.node.decorator_list}
    return bool(names & {"property", "cached_property"})


def _inlined(expression: str, lines: list[str]) -> tuple[str, list[str]]:
    """Move objects that are made and used once to the place of their use."""
    for line in list(lines):
        name, equals, value = line.partition(" = ")
        if not equals or not name.isidentifier() or not name.startswith("made"):
            continue
        others = [other for other in lines if other is not line]
        uses = [re.findall(rf"\b{name}\b", text) for text in (expression, *others)]
        if sum(map(len, uses)) == 1 and uses[0]:
            expression = value.join(re.split(rf"\b{name}\b", expression))
            lines.remove(line)
    return expression, lines


def _imports(wanted: Iterable[tuple[str, str]], own: str, texts: Sequence[str]) -> Iterator[str]:
    used = {word for text in texts for word in re.findall(r"\b[A-Za-z_]\w*\b", text)}
    for name, what in sorted(set(wanted)):
        if not what:
            yield f"import {name}"
        elif what != own and what in used:
            yield f"from {name} import {what}"


def _normalised(sample: Sample) -> Sample:
    """Number the objects of a sample in order of appearance; the recorder counts over the whole run."""
    found: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        return found.setdefault(match[0], f"made{len(found) + 1}")

    texts = [
        [_MADE.sub(numbered, text) for text in part]
        for part in (sample.setup, [sample.target], sample.args, sample.kwargs)
    ]
    setup, (target,), args, kwargs = texts
    return replace(sample, setup=tuple(setup), target=target, args=tuple(args), kwargs=tuple(kwargs))


_LAMBDA = re.compile(r"__lambda__\(('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"), (\d+), (\d+), (\d+), (\d+)\)")


def _with_lambdas(text: str) -> str:
    """Insert the source of lambdas into a text.

    Raises:
        ValueError: the source of a lambda was not found.
    """
    return _LAMBDA.sub(_lambda_source, text) if "__lambda__" in text else text


def _lambda_source(match: re.Match[str]) -> str:
    found = _lambdas(str(ast.literal_eval(match[1]))).get(tuple(map(int, match.groups()[1:])))
    if found is None:
        raise ValueError("no lambda there")
    return f"({found})"


@lru_cache(maxsize=64)
def _lambdas(path: str) -> Mapping[tuple[int, ...], str]:
    """Return the lambdas of a file by the position of their body: first line and column, last line and column."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, *PARSE_ERRORS):
        return {}
    return {
        (node.body.lineno, node.body.col_offset, node.body.end_lineno or 0, node.body.end_col_offset or 0): (
            unparse(node)
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.Lambda)
    }
