"""Turn recorded calls into examples of trusted functions, without those that look like secrets."""

from __future__ import annotations

import ast
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from codeguard.behavior.source.definitions import PARSE_ERRORS, Definition
from codeguard.behavior.specs.calls import NO_VALUE, example_of, value_of
from codeguard.behavior.specs.examples import Example, Returns
from codeguard.corpus.secrets import entropy, find_secrets
from codeguard.syntax.names import dotted_name

# Minimum length of a value that is a secret because of its parameter's or variable's name.
LEAST_SECRET = 8
_MAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}", re.ASCII)
_SECRET_NAME = re.compile(
    r"pass(?:wd|word|phrase)?(?:$|_)|pwd|secret|token|(?:api|auth|access|private|signing|encryption)_?key|"
    r"credential|^auth$|^key$|bearer|cookie|session_?id|salt|nonce|otp",
    re.IGNORECASE,
)
_RUN = re.compile(r"[A-Za-z0-9+/=_-]{20,}")
_RANDOM_BITS = 3.6  # bits of entropy per character; above this, a long run of letters and digits is a token


class Sample(NamedTuple):
    """One recorded call.

    `target` is the source text of the object that a method was called on, or "". `shown` is the result as source text,
    or "" if it cannot be written; `kind` is the name of the result's type, "" if the call raised an exception. `line`
    is where the call ended.
    """

    path: str
    name: str
    target: str
    args: Sequence[str]
    kwargs: Sequence[str]
    imports: Sequence[tuple[str, str]]
    shown: str
    kind: str
    line: int

    @property
    def text(self) -> str:
        """Everything in it that would be written to the file."""
        return "\n".join((self.target, *self.args, *self.kwargs, self.shown))


def samples_of(lines: Iterable[bytes]) -> Iterator[Sample]:
    """Yield the samples in the lines of a recording; other lines are skipped."""
    for line in lines:
        try:
            yield Sample(*ast.literal_eval(line.decode("ascii")))
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


def example_of_sample(sample: Sample, definition: Definition) -> Example | None:
    """Return the example that a sample makes, without what an exception has to be; None if it cannot be written."""
    owner, name = "" if definition.owner is None else definition.owner.name, definition.name
    args, call = sample.args, ""
    if definition.binding == "class":
        if args[:1] != [owner]:
            return None  # it was called on a subclass
        args = args[1:]
    decorators = {dotted_name(item).rpartition(".")[2] for item in definition.node.decorator_list}
    if not decorators & {"property", "cached_property"}:
        call = f"({', '.join((*args, *sample.kwargs))})"
    elif args:
        return None  # a property was assigned
    if definition.binding == "instance" and (not sample.target or sample.shown == "None"):
        return None  # no object is known, or nothing shows
    imports = [
        f"from {module} import {what}\n" if what else f"import {module}\n"
        for module, what in sample.imports
        if what != (owner or name)
    ]
    try:
        node = ast.parse(f"{'.'.join(filter(None, (sample.target or owner, name)))}{call}", mode="eval").body
    except PARSE_ERRORS:
        return None
    shown = value_of(sample.shown)
    expected = None if shown is NO_VALUE else Returns(shown)
    return example_of(node, name, definition.parameters, expected, "", "".join(imports), owner=owner)
