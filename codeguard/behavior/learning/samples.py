"""Turn recorded calls into examples of trusted functions, without those that look like secrets."""

from __future__ import annotations

import ast
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codeguard.behavior.source.definitions import PARSE_ERRORS, Definition
from codeguard.behavior.specs.calls import NotPlainError, example_of, read_literal
from codeguard.behavior.specs.examples import Example, Returns
from codeguard.corpus.secrets import entropy, find_secrets
from codeguard.syntax.names import dotted_name

MAX_LINE = 100_000
MAX_SETUP_LINES = 12
# Minimum length of a value that is a secret because of its parameter's or variable's name.
LEAST_SECRET = 8
_MADE = re.compile(r"made\d+_")
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

    `args` and `kwargs` are source text. `target` is the source of the object that a method was called on, or "".
    `shown` is the result as source text, or "" if it cannot be written; `kind` is the name of the result's type, "" if
    the call raised an exception. `line` is where the call ended.
    """

    path: str
    name: str
    target: str
    args: tuple[str, ...]
    kwargs: tuple[str, ...]
    imports: tuple[tuple[str, str], ...]
    setup: tuple[str, ...]
    shown: str
    kind: str
    line: int

    @property
    def text(self) -> str:
        """Everything in it that would be written to the file."""
        return "\n".join((*self.setup, self.target, *self.args, *self.kwargs, self.shown))


def samples_of(lines: Iterable[bytes]) -> Iterator[Sample]:
    """Yield the samples in the lines of a recording; other lines are skipped."""
    for line in lines:
        if not line or len(line) > MAX_LINE:
            continue
        try:
            path, name, target, args, kwargs, imports, *rest = ast.literal_eval(
                _numbered(line.decode("ascii"))
            )
            setup, shown, kind, at = rest
            texts = [tuple(map(str, part)) for part in (args, kwargs, setup)]
            named = tuple((str(module), str(what)) for module, what in imports)
            yield Sample(
                str(path),
                str(name),
                str(target),
                texts[0],
                texts[1],
                named,
                texts[2],
                str(shown),
                str(kind),
                int(at),
            )
        except (*PARSE_ERRORS, TypeError):
            continue


def _numbered(line: str) -> str:
    """Number the objects of a sample in order of appearance; the recorder counts over the whole run."""
    names = sorted(set(_MADE.findall(line)), key=lambda name: int(name[4:-1]))
    places = {name: f"made{place}" for place, name in enumerate(names, 1)}
    return _MADE.sub(lambda match: places[match[0]], line)


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


def example_of_sample(sample: Sample, definition: Definition) -> Example | None:
    """Return the example that a sample makes, without what an exception has to be; None if it cannot be written."""
    owner, name = "" if definition.owner is None else definition.owner.name, definition.name
    args, target = sample.args, sample.target
    if definition.binding == "class":
        if args[:1] != (owner,):
            return None  # it was called on a subclass
        args = args[1:]
    call = f"({', '.join((*args, *sample.kwargs))})"
    if definition.binding == "instance":
        decorators = {dotted_name(item).rpartition(".")[2] for item in definition.node.decorator_list}
        is_property = bool(decorators & {"property", "cached_property"})
        if not target or sample.shown == "None" or (is_property and call != "()"):
            return None  # no object is known, nothing shows, or a property was assigned
        call = "" if is_property else call
    imports = [
        f"from {module} import {what}" if what else f"import {module}"
        for module, what in sample.imports
        if what != (owner or name)
    ]
    lines = [*imports, *sample.setup]
    if len(lines) > MAX_SETUP_LINES:
        return None
    try:
        node = ast.parse(f"{'.'.join(filter(None, (target or owner, name)))}{call}", mode="eval").body
        expected = Returns(read_literal(sample.shown)) if sample.shown else None
    except (*PARSE_ERRORS, NotPlainError):
        return None
    setup = "".join(f"{line}\n" for line in lines)
    return example_of(node, name, definition.parameters, expected, "", setup, owner=owner)
