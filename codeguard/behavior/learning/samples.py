"""Turn recorded calls into examples of trusted functions, without those that look like secrets."""

from __future__ import annotations

import ast
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codeguard.behavior.source.definitions import PARSE_ERRORS, Definition
from codeguard.behavior.specs.calls import NotPlainError, positional, read_literal
from codeguard.behavior.specs.examples import Example, Expected, Raises, Returns
from codeguard.corpus.secrets import entropy, find_secrets
from codeguard.syntax.names import dotted_name

MAX_LINE = 100_000
MAX_SETUP_LINES = 12
# Minimum length of a value that is a secret because of its parameter's or variable's name.
LEAST_SECRET = 8
_MADE, _OBJECT = re.compile(r"made(\d+)_"), re.compile(r"made\d+$")
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
            path, name, target, args, kwargs, imports, setup, *rest = ast.literal_eval(line.decode("ascii"))
            outcome, shown, kind, at, changed = rest
            named = tuple((str(module), str(what)) for module, what in imports)
            texts = [tuple(map(str, part)) for part in (args, kwargs, setup)]
            yield Sample(
                str(path), str(name), str(target), texts[0], texts[1], named, texts[2],
                str(outcome), str(shown), str(kind), int(at), bool(changed),
            )  # fmt: skip
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
    binding, is_new = definition.binding, definition.name == "__new__"
    args, kwargs, target, lines = list(sample.args), sample.kwargs, sample.target, list(sample.setup)
    if (binding == "class" or is_new) and args[:1] != [owner]:
        return None  # the object is of a subclass
    args = args[1:] if binding == "class" or is_new else args
    expected: Expected = None
    try:
        if sample.outcome == "returned" and sample.shown:
            expected = Returns(read_literal(sample.shown))
        elif sample.outcome == "raised" and sample.shown:
            expected = Raises(sample.shown)
    except NotPlainError:
        return None
    is_built = sample.outcome == "built" or definition.name == "__init__"
    is_plain = not (lines or sample.imports or sample.changed or is_new or is_built or binding == "instance")
    plain = _plain_arguments(args, kwargs, definition) if is_plain else None
    if plain is not None:
        return SampledExample(Example(*plain, expected), sample)
    watched: list[str] = []
    if sample.changed:  # what the call changed is part of its result
        expected = None
        for place, text in enumerate([target, *args]):
            if text[:1] in ("[", "{") or _OBJECT.match(text) or (not place and text):
                name = text if text.isidentifier() else f"given{place}"
                lines += [f"{name} = {text}"] if name != text else []
                watched.append(name)
                target, *args = [name if at == place else item for at, item in enumerate([target, *args])]
        if not watched:
            return None
    call = f"({', '.join((*args, *kwargs))})"
    if binding == "instance" and not is_built:
        is_property = _is_property(definition)
        if not target or (is_property and (args or kwargs)):
            return None  # no object is known, or a property was assigned
        expression = f"{target}.{definition.name}{'' if is_property else call}"
    else:
        names = [owner, "" if is_built else definition.name]
        expression = f"{'.'.join(filter(None, names))}{call}"
    if watched:
        expression = f"({expression}, {', '.join(dict.fromkeys(watched))})"
    if len(lines) > MAX_SETUP_LINES:
        return None
    imports = [
        f"from {module} import {name}" if name else f"import {module}"
        for module, name in sorted(set(sample.imports))
        if name != (owner or definition.name)
    ]
    text = "".join(f"{line}\n" for line in (*imports, *lines))
    return SampledExample(
        Example(None, {}, expected, "", expression, text, definition.qualified_name), sample
    )


def _plain_arguments(
    args: Sequence[str], kwargs: Sequence[str], definition: Definition
) -> tuple[tuple[object, ...], dict[str, object]] | None:
    try:
        values = [read_literal(text) for text in args]
        named = {name: read_literal(text) for name, _, text in (item.partition("=") for item in kwargs)}
    except NotPlainError:
        return None
    return positional(values, named, definition.parameters)


def _is_property(definition: Definition) -> bool:
    names = {dotted_name(decorator).rpartition(".")[2] for decorator in definition.node.decorator_list}
    return bool(names & {"property", "cached_property"})


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
