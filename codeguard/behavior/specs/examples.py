"""What is known of one call: how it is made, what it has to give, and who says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from codeguard.models import text_digest


@dataclass(frozen=True, slots=True)
class Returns:
    """The call returns this value; `strict` is False where the text may be sloppy about types."""

    value: object


@dataclass(frozen=True, slots=True)
class Raises:
    """The call raises this type of exception, by name, or one derived from it."""

    exception: str


@dataclass(frozen=True, slots=True)
class Prints:
    """The call writes this to standard output."""

    text: str


Expected = Returns | Raises | Prints | None
"""None: the text shows the call, and what the trusted function gives is what it has to give."""


@dataclass(frozen=True, slots=True)
class Example:
    """One call with what it has to give.

    With `args` the function is called on plain values. With `args` None,
    `expression` is evaluated after `setup`, and `callee` is the name that
    stands for the function in both: `name`, or `Class.name` of a method, where
    both parts stand for the candidate's own. `origin` says where it is written.
    `around` are statements of the trusted files that go before `setup` where the candidate comes without them.
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
        """Return a text that differs where the call or the expectation differs."""
        parts = (self.args, sorted(self.kwargs.items()), self.expected, self.expression, self.setup)
        return repr((*parts, *self.around))


@dataclass(frozen=True, slots=True)
class Spec:
    """An expectation: a function by its names, and its cases; `shipped` where it came with codeguard.

    With `path` it is the recorded evidence of the one trusted function of
    that name (`function`, `Class.method`) in that file, relative to the folder
    of the file of specs; without, it is held against every function so named.
    """

    name: str
    aliases: tuple[str, ...]
    summary: str
    cases: tuple[Example, ...]
    origin: str
    path: str = ""
    shipped: bool = False

    @property
    def digest(self) -> str:
        """Return a digest that changes when a name or a case changes."""
        text = repr((self.name, self.path, self.aliases, [case.fingerprint() for case in self.cases]))
        return text_digest(text)
