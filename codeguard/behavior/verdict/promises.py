"""What a function promises by its name, description and annotation, and any right implementation keeps.

Where nothing trusted does the same, this is all that says what a function should do: sorting gives the same items in
order, a described result depends on what the function takes. The promises are rows (`promises.toml`). A function is run
on inputs that it accepts; our own code judges the results in a child of its own. A broken promise demotes and never
convicts, and a promise that holds earns nothing.
"""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from codeguard.analysis.python.counterparts import FILLER_WORDS, WORD
from codeguard.behavior.inputs.discovery import guesses, related_guesses
from codeguard.behavior.inputs.generation import Arguments
from codeguard.behavior.matching.stubs import describes_result
from codeguard.behavior.source.definitions import Definition, unparse
from codeguard.behavior.verdict.differential import CandidateSession
from codeguard.behavior.verdict.reports import row_report
from codeguard.behavior.verdict.running import Batch, Steps
from codeguard.behavior.verdict.table import named
from codeguard.models import CheckReport
from codeguard.sandbox.model import Call, CallResult, Iteration, Job, JobResult, Level, Outcome, Status, Tier

TABLE = Path(__file__).with_name("promises.toml")
MAX_GROUPS = 60  # kinds of input to try
MAX_DESCRIPTION, MAX_SHOWN = 400, 300  # characters
LEAST, LEAST_EVERY = 2, 5  # calls
PROMISED = "what its name and description promise"
# What a name says besides, before or after what the function does; of the second kind one word at its end.
_LINKING = "of in the a an with values find return from"
_KINDS = "list array arr string str text lst seq sequence numbers nums elements items number num value"
_LINKS, _KIND = FILLER_WORDS | frozenset(_LINKING.split()), frozenset(_KINDS.split())
_READS_ALL = frozenset({"locals", "vars", "eval", "exec", "NotImplemented", "NotImplementedError"})
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
Answered = tuple[list[object], object, list[object]]
"""The arguments of a call, its result, and the arguments afterwards."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A row of the table, which explains the fields."""

    says: str
    holds: str
    when: str = "True"
    names: str = ""
    described: str = r"(?!)"
    gives: str = r"(?!)"
    unless: str = r"(?!)"
    every: bool = False

    def is_made_by(self, definition: Definition) -> bool:
        """Return whether a function makes this promise."""
        words = [word.lower() for word in WORD.findall(definition.name) if not word.isdigit()]
        described = definition.docstring[:MAX_DESCRIPTION].partition(">>>")[0].lower()
        if re.search(self.unless, f"{' '.join(words)}: {described}"):
            return False
        gives = "" if definition.node.returns is None else unparse(definition.node.returns)
        said = set(self.names.replace("\n", "").split("|")) - {""}
        return bool(
            said & {" ".join(words), *_essence(words)}
            or re.search(self.described, described)
            or re.fullmatch(self.gives, gives)
        )

    def is_broken(self, judged: Sequence[object]) -> bool:
        """Return whether calls break the promise: False for one that does, True for one that does not."""
        broken = judged.count(False)
        if self.every:
            return LEAST_EVERY <= broken == len(judged)
        return LEAST <= len(judged) - judged.count(None) <= 2 * broken


def _essence(words: Sequence[str]) -> tuple[str, str]:
    """Return what a name says, with and without the kind of value at its end."""
    start = next((place for place, word in enumerate(words) if word not in _LINKS), len(words))
    last = len(words)
    while last > start and words[last - 1] in _LINKS:
        last -= 1
    short = last - 1 if last - start > 1 and words[last - 1] in _KIND else last
    while short > start and words[short - 1] in _LINKS:
        short -= 1
    return " ".join(words[start:last]), " ".join(words[start:short])


@cache
def _table() -> tuple[str, tuple[Promise, ...]]:
    """Return the source that judges results, a function for each promise, and the promises."""
    data = tomllib.loads(TABLE.read_text("utf-8"))
    promises = tuple(Promise(**row) for row in data["promise"])
    made = [
        f"def promise_{place}(a, r, after):\n"
        f"    x, y = (*a, None, None)[:2]\n"
        f"    return bool({row.holds}) if ({row.when}) else None\n"
        for place, row in enumerate(promises)
    ]
    return "\n\n".join([data["prelude"], *made]), promises


def promises_of(definition: Definition) -> list[int]:
    """Return the places in the table of the promises that a function makes, none for a method."""
    rows = () if definition.owner is not None else _table()[1]
    return [place for place, row in enumerate(rows) if row.is_made_by(definition)]


def ignored_parameters(definition: Definition) -> list[str]:
    """Return the parameters that a function never reads, if these are at least half and it describes a result.

    Functions that are there to be overridden or called by a framework say so, or are methods or decorated.
    """
    taken = [item.name for item in definition.parameters if item.kind in ("positional", "keyword")]
    body = definition.node.body
    if (
        len(taken) < 2
        or isinstance(body[min(1, len(body) - 1)], ast.Raise)
        or not describes_result(definition)
    ):
        return []
    nodes = [node for statement in body for node in ast.walk(statement)]
    read = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    read |= {
        node.target.id
        for node in nodes
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    ignored = [name for name in taken if name not in read and not name.startswith("_")]
    return [] if read & _READS_ALL or 2 * len(ignored) < len(taken) else ignored


def makes_promises(definition: Definition) -> bool:
    """Return whether a function makes a promise that can be looked at."""
    return bool(ignored_parameters(definition) or promises_of(definition))


def broken_promise(session: CandidateSession) -> Steps[CheckReport | None]:
    """Report a function that breaks a promise of its name, description or annotation; None if none is shown."""
    definition = session.candidate.definition
    ignored = ignored_parameters(definition)
    if ignored:
        idle = JobResult(Status.NO_SIGNAL, session.level, session.runner.tier)
        said: dict[str, object] = {"ignored": " and ".join(ignored[:3])}
        return row_report(named("ignores-arguments"), session, idle, said, claims=PROMISED)
    made = promises_of(definition)
    answered = (yield from _answered(session)) if made else []
    if not answered:
        return None
    source, promises = _table()
    calls = tuple(Call(f"promise_{place}", row) for place in made for row in answered)
    (result,) = yield (
        Job(source, calls, tier=Tier.NATIVE if session.level >= Level.L2 else Tier.RESTRICTED),
    )
    values = [item.value if item.outcome is Outcome.RETURNED else None for item in result.calls]
    for number, place in enumerate(made):
        judged = values[number * len(answered) : (number + 1) * len(answered)]
        if promises[place].is_broken(judged):
            broken = [row for row, kept in zip(answered, judged, strict=True) if kept is False]
            args, value, _ = min(broken, key=lambda row: len(repr(row)))
            call = f"{definition.name}({', '.join(map(repr, args))}) == {value!r}"
            texts = {"shown": call[:MAX_SHOWN], "says": promises[place].says}
            return row_report(named("broken-promise"), session, result, texts, claims=PROMISED)
    return None


def _answered(session: CandidateSession) -> Steps[list[Answered]]:
    """Return the calls of kinds that a function accepts."""
    definition, target = session.candidate.definition, session.candidate.runnable.target
    made = itertools.chain(guesses(definition), related_guesses(definition))
    groups = list(itertools.islice(made, MAX_GROUPS))
    rows = {repr(args): args for group in groups for args, _ in group}
    if not rows:
        return []
    session.calls += len(rows)
    calls = tuple(Call(target, tuple(args)) for args in rows.values())
    (result,) = yield from session.runner.run(Batch(calls))
    answers = dict(zip(rows, result.calls, strict=False))
    found: dict[str, Answered] = {}
    for args, _ in (row for group in groups if _is_accepted(group, answers) for row in group):
        answer = answers[repr(args)]
        value = answer.value
        if isinstance(value, Iteration) and value.exhausted:
            value = list(value.items)
        after = list(args if answer.args_after is None else answer.args_after)
        if answer.outcome is Outcome.RETURNED and _is_plain([value, after]):
            found[repr(args)] = list(args), value, after
    return list(found.values())


def _is_accepted(group: Sequence[Arguments], answers: Mapping[str, CallResult]) -> bool:
    """Return whether a function returns from nearly all calls of a group."""
    given = [answers.get(repr(args)) for args, _ in group]
    returned = sum(item is not None and item.outcome is Outcome.RETURNED for item in given)
    return None not in given and returned * 4 >= len(group) * 3


def _is_plain(value: object) -> bool:
    """Return whether a value can be handed to a child."""
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(_is_plain(item) for pair in value.items() for item in pair)
    return type(value) in _PLAIN
