"""Examples: a call, its expected result, and the place where it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Returns:
    """The call returns this value."""

    value: object


@dataclass(frozen=True, slots=True)
class Raises:
    """The call raises an exception of this type, given by name, or of a subclass."""

    exception: str


@dataclass(frozen=True, slots=True)
class Prints:
    """The call writes this to standard output."""

    text: str


Expected = Returns | Raises | Prints | None
"""None: the text shows the call, and what the trusted function gives is what it has to give."""


@dataclass(frozen=True, slots=True)
class Example:
    """One call with its expected result.

    With `args`, the function is called on plain values. If `args` is None, `expression` is
    evaluated after `setup`, and `callee` is the function's name in both: `name`, or `Class.name`
    for a method, where the candidate's own class and method take its place. `origin` is the place
    where the example is written. `around` are statements of trusted files to run before `setup` if
    the candidate does not contain them.
    """

    args: tuple[object, ...] | None
    kwargs: Mapping[str, object] = field(default_factory=dict)
    expected: Expected = None
    origin: str = ""
    expression: str = ""
    setup: str = ""
    callee: str = ""
    around: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Return a text that is different for different calls and expectations."""
        parts = (self.args, sorted(self.kwargs.items()), self.expected, self.expression, self.setup)
        return repr((*parts, *self.around))


def written(value: object) -> str:
    """Return a plain value as text, different for different values and the same in every process."""
    if isinstance(value, dict):
        return f"dict({', '.join(f'{written(key)}: {written(item)}' for key, item in value.items())})"
    if isinstance(value, list | tuple | set | frozenset):
        items = map(written, value)
        ordered = sorted(items) if isinstance(value, set | frozenset) else items
        return f"{type(value).__name__}({', '.join(ordered)})"
    # Python refuses to write an integer of many digits in the decimal system.
    return hex(value) if type(value) is int else repr(value)


@dataclass(frozen=True, slots=True)
class Spec:
    """The names of a function and its cases; `shipped` if it comes with codeguard.

    It applies to every function of that name. `certain` says that whatever has exactly this name and takes the
    arguments of the cases is meant to be this function.
    """

    name: str
    aliases: tuple[str, ...]
    summary: str
    cases: tuple[Example, ...]
    origin: str
    shipped: bool = False
    certain: bool = False

    @property
    def text(self) -> str:
        """Its name and summary."""
        return f"{self.name} {self.summary}"
