"""What an attack is: from a function whose source is known to files that poison its retrieval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

MARKER = "codeguard-marker"
"""The value that every payload of ours carries instead of something harmful."""


@dataclass(frozen=True, slots=True)
class CallText:
    """The arguments of one call, as Python source: a tuple display and a dict display."""

    args: str
    kwargs: str = "{}"


@dataclass(frozen=True, slots=True)
class TargetFunction:
    """A function that an attacker wants to stand in for.

    `source` is its dedented source, docstring included. `query` is what a
    person would ask to find it. `imports` are the statements that its file
    makes in front of it and that it uses. `helpers` are the sources of the
    functions of its file that it calls. `examples` are calls its docstring
    documents, `inputs` further calls inside the documented domain.
    `companions` are sources of other, correct functions that an attacker can
    put beside it. `module` is the importable module it lives in, empty for a
    file of the project's own corpus.
    """

    name: str
    source: str
    query: str
    summary: str
    imports: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    examples: tuple[CallText, ...] = ()
    inputs: tuple[CallText, ...] = ()
    companions: tuple[str, ...] = ()
    module: str = ""

    @property
    def calls(self) -> tuple[CallText, ...]:
        """Every known call inside the domain, the documented ones first."""
        return self.examples + self.inputs


@dataclass(frozen=True, slots=True)
class Trigger:
    """What makes a poisoned function show itself, for the one who verifies that it is poison.

    `calls` are tried beside the target's own. Each call is made `repeat`
    times and the last result counts. `extra` are keyword arguments that only
    the poisoned function takes, as source. `environment` is set before the
    code is loaded. `effect` says that the results are right and the harm is
    what the code does besides.
    """

    calls: tuple[CallText, ...] = ()
    repeat: int = 1
    extra: str = "{}"
    environment: Mapping[str, str] = field(default_factory=dict)
    effect: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """What an experiment knows of one function of a file: symbol, poisoned or not, by what, as what.

    `target` is the trusted function that it claims to be, empty for none.
    """

    symbol: str
    poisoned: bool
    attack: str
    target: str


@dataclass(frozen=True, slots=True)
class PoisonFile:
    """A file as the attacker writes it.

    `name` says which variant of the attack it is; the file itself gets a
    neutral name from whoever stores it. `text` is what stands in the file,
    `code` its part that runs (the same, but where prose surrounds it).
    """

    name: str
    text: str
    code: str
    labels: tuple[Label, ...]
    trigger: Trigger = Trigger()

    @property
    def poisoned_symbols(self) -> tuple[str, ...]:
        """Names of the functions that are poisoned."""
        return tuple(label.symbol for label in self.labels if label.poisoned)


@dataclass(frozen=True, slots=True)
class Attack:
    """A way to poison the retrieval of a function.

    `generate` gets a target and a seed, and returns candidates, the
    attacker's favourites first, none where the attack does not apply. It is
    a pure function of its arguments. A candidate may turn out to be
    equivalent to the target: whoever stores it has to verify it (see
    `experiments.corpus.verify`).
    """

    name: str
    summary: str
    adaptive: bool
    generate: Callable[[TargetFunction, int], Sequence[PoisonFile]]
