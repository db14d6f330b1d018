"""Find trusted functions that behave like a function, regardless of its name, by results on probes.

For each kind of arguments there is one set of calls: those in the trusted code's examples, some
plain ones, and variations of both. Each trusted function is run once on the sets of the kinds that
it accepts. A candidate is tried on each kind and run on the sets that it accepts. It matches a
trusted function if enough of the results agree. Results that many functions return (True, 0, None)
are weak evidence and have little weight.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from codeguard.behavior.inputs.discovery import LISTS, MAPS, NESTED, NUMBERS, REALS, TEXT_LISTS, TEXTS
from codeguard.behavior.inputs.generation import Arguments, generate, magnitude
from codeguard.behavior.matching.claims import Features, is_private
from codeguard.behavior.specs.contract import learn_domain
from codeguard.behavior.specs.examples import Example, Returns, written
from codeguard.models import parts_digest, text_digest
from codeguard.sandbox.model import CallResult, Iteration, Opaque, Outcome

if TYPE_CHECKING:
    from codeguard.behavior.specs.references import Reference

MOST_ARGUMENTS = 3
MOST_REFERENCES = 1_200  # trusted functions to run; those with examples come first
MOST_SHOWN = 40  # calls of a kind taken from examples
MOST_MADE = 16  # calls of a kind generated from those
MOST_SHOWN_EACH = 4  # calls taken from the examples of one trusted function
MOST_KINDS = 6  # kinds that one function is run on
TRIED = 3  # calls of each kind that decide whether a function accepts it
LEAST_AGREED = 3  # equal results
LEAST_DISTINCT = 2
LEAST_SHARE = 0.4  # minimum weight of the equal results, relative to all results
LEAST_WEIGHT = 1.5  # minimum weight of the equal results
COMMON = 0.3  # weight of a common result, relative to any other
MOST_FOUND = 2
MOST_WRITTEN = 80  # characters of an answer
LEAST_BODY = 5  # tokens; smaller bodies do next to nothing
SHORT_BODY = 17  # tokens; the results of smaller ones are one edit away from those of many functions
_COMMON = frozenset(("set()", *map(repr, (True, False, None, 0.0, 1.0, -1.0, "", [], {}))))
_POOLS = (NUMBERS, REALS, TEXTS, LISTS, TEXT_LISTS, MAPS, NESTED)
_PAIRS = ((NUMBERS, NUMBERS), (TEXTS, TEXTS), (LISTS, LISTS), (LISTS, NUMBERS), (TEXTS, NUMBERS))
Kinds = tuple[str, ...]
Calls = tuple[tuple[object, ...], ...]


@dataclass(slots=True)
class _Group:
    """The calls of one kind of arguments; for each call, the functions that gave each result.

    Functions are given by their index in the library.
    """

    calls: Calls
    answers: list[dict[str, set[int]]] = field(default_factory=list)


class FingerprintIndex:
    """The probes of a library by kind of arguments, with the trusted functions' results."""

    def __init__(self, references: Sequence[Reference]) -> None:
        probed = [
            place
            for place, reference in enumerate(references)
            if worth_probing(reference.features) and not is_private(reference.features)
        ]
        self.places = sorted(probed, key=lambda place: not references[place].has_examples)[:MOST_REFERENCES]
        shown: dict[Kinds, dict[str, tuple[object, ...]]] = {}
        self.kinds: dict[int, list[Kinds]] = {}  # by trusted function, if its examples show them
        for place in sorted(self.places):
            for args in _example_calls(references[place]):
                kinds = tuple(map(argument_kind, args))
                key = result_text(args)
                shown.setdefault(kinds, {}).setdefault(key, args)
                if kinds not in self.kinds.setdefault(place, []):
                    self.kinds[place].append(kinds)
        for args in _plain_calls():
            shown.setdefault(tuple(map(argument_kind, args)), {}).setdefault(result_text(args), args)
        self._shown = Counter(kinds for own in self.kinds.values() for kinds in own)
        self._groups = {kinds: _Group(_calls(rows)) for kinds, rows in sorted(shown.items())}
        self._views: dict[tuple[Kinds, ...], str] = {}
        self._rows: dict[int, dict[Kinds, Sequence[str | None]]] = {}  # by trusted function

    def calls(self, kinds: Kinds) -> Calls:
        """Return the calls of a kind."""
        return self._groups[kinds].calls

    def trials(self, wanted: Features) -> dict[Kinds, Calls]:
        """Return the first calls of each kind that a function may accept by its number of arguments."""
        return {
            kinds: group.calls[:TRIED] for kinds, group in self._groups.items() if wanted.accepts(len(kinds))
        }

    def view(self, place: int, wanted: Features) -> str:
        """Return a digest of the calls that a trusted function may be run on, and of what decides among their kinds."""
        kinds = (*self.trials(wanted), *self.kinds.get(place, ()))
        if kinds not in self._views:
            rows = [(own, self._groups[own].calls, self._shown[own]) for own in kinds]
            self._views[kinds] = parts_digest(*map(written, rows))
        return self._views[kinds]

    def informative_kinds(self, tried: Mapping[Kinds, Sequence[str | None]]) -> list[Kinds]:
        """Return the kinds to run a function on, given its results for the trials, most informative first.

        Python code accepts many kinds of arguments that it was not made for, so those of most trusted functions count.
        """
        taken = [kinds for kinds, answers in tried.items() if any(answer is not None for answer in answers)]
        return sorted(taken, key=lambda kinds: (-self._shown[kinds], -len(set(tried[kinds]))))[:MOST_KINDS]

    def add(self, place: int, kinds: Kinds, answers: Sequence[str | None]) -> None:
        """Record a trusted function's results for the calls of a kind."""
        group = self._groups[kinds]
        self._rows.setdefault(place, {})[kinds] = answers
        group.answers = group.answers or [{} for _ in group.calls]
        for known, answer in zip(group.answers, answers, strict=True):
            if answer is not None:
                known.setdefault(answer, set()).add(place)

    def matches(self, answered: Mapping[Kinds, Sequence[str | None]]) -> list[int]:
        """Return the trusted functions with the same results, best match first."""
        agreed: dict[int, list[tuple[str, float]]] = {}
        for kinds, answers in answered.items():
            for call, known, answer in self._beside(kinds, answers):
                if answer is not None and answer in known and not returns_first_argument(call, answer):
                    weight = weight_of(answer, known[answer])
                    for place in known[answer]:
                        agreed.setdefault(place, []).append((answer, weight))
        found: list[tuple[float, int]] = []
        for place, same in agreed.items():
            weight = sum(part for _, part in same)
            shown = len(same) >= LEAST_AGREED and len({result for result, _ in same}) >= LEAST_DISTINCT
            if shown and weight >= LEAST_WEIGHT and weight >= LEAST_SHARE * (of := self._of(place, answered)):
                found.append((-weight / of, place))
        return [place for _, place in sorted(found)[:MOST_FOUND]]

    def _of(self, place: int, answered: Mapping[Kinds, Sequence[str | None]]) -> float:
        """Return the weight of a trusted function's results for the same calls."""
        own, total = self._rows[place], 0.0
        for kinds, answers in answered.items():
            for (call, known, answer), result in zip(
                self._beside(kinds, answers), own.get(kinds, ()), strict=False
            ):
                same = result == answer and returns_first_argument(call, answer or "")
                if result is not None and not same:
                    total += weight_of(result, known[result])
        return total

    def _beside(
        self, kinds: Kinds, answers: Sequence[str | None]
    ) -> Iterator[tuple[tuple[object, ...], dict[str, set[int]], str | None]]:
        """Yield the calls of a kind, each with the trusted functions by result, and with one of these answers."""
        group = self._groups[kinds]
        return zip(group.calls, group.answers, answers, strict=False)

    def most_distinguishing(self, kinds: Kinds, count: int) -> list[int]:
        """Return the indices of a few calls of a kind, those that most results distinguish."""
        answers = self._groups[kinds].answers
        return sorted(range(len(answers)), key=lambda place: -len(answers[place]))[:count]

    def functions_by_result(self, kinds: Kinds, place: int) -> Mapping[str, set[int]]:
        """Return the trusted functions by their result for one call of a kind."""
        answers = self._groups[kinds].answers
        return answers[place] if answers else {}

    def common_kinds(self, wanted: Features) -> list[Kinds]:
        """Return the kinds that a function may accept by its number of arguments, most common first."""
        taken = (kinds for kinds in self._groups if wanted.accepts(len(kinds)))
        return sorted(taken, key=lambda kinds: -self._shown[kinds])


def weight_of(answer: str, places: Collection[int]) -> float:
    """Return the weight of a result that these trusted functions return."""
    return (COMMON if answer in _COMMON else 1.0) / math.sqrt(len(places))


def _plain_calls() -> Iterator[tuple[object, ...]]:
    for pool in _POOLS:
        yield from ((value,) for value in pool[:6])
    for first, second in _PAIRS:
        yield from itertools.islice(itertools.product(first[:3], second[::-1][:3]), 9)


def _calls(shown: Mapping[str, tuple[object, ...]]) -> Calls:
    """Return the calls of one kind: examples in the order of their digests, and calls made from them."""
    ordered = sorted(shown, key=lambda key: hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest())
    chosen = [shown[key] for key in ordered[:MOST_SHOWN]]
    bases: list[Arguments] = [(args, {}) for args in chosen[:8]]
    made = generate(bases, learn_domain(bases), Random(0), 2 * MOST_MADE)
    # Every function that takes the kind is run on them, also one whose time grows with the number.
    largest = max(map(magnitude, chosen))
    fitting = (
        tuple(args)
        for args, kwargs in made
        if not kwargs and len(args) == len(chosen[0]) and magnitude(args) <= largest
    )
    return (*chosen, *itertools.islice(fitting, MOST_MADE))


def worth_probing(wanted: Features) -> bool:
    """Return whether a function can be matched by its results: it has arguments and a non-trivial body."""
    least, most = wanted.least_args, wanted.most_args
    possible = least <= MOST_ARGUMENTS and (most is None or most > 0) and not wanted.required_keywords
    return possible and not wanted.bound and wanted.text.size >= LEAST_BODY


def is_short(wanted: Features) -> bool:
    """Return whether a function's body is too short to be known by its results after an edit."""
    return wanted.text.size < SHORT_BODY


def _example_calls(reference: Reference) -> Iterator[tuple[object, ...]]:
    plain = [item.args for item in reference.written if item.args is not None and _is_plain(item)]
    yield from plain[:MOST_SHOWN_EACH]


def _is_plain(example: Example) -> bool:
    args = example.args
    plain = bool(args) and not example.kwargs and isinstance(example.expected, Returns)
    return plain and args is not None and len(args) <= MOST_ARGUMENTS


def argument_kind(value: object) -> str:
    """Return the kind of an argument: its type, for a container with the types of its items."""
    name = type(value).__name__
    if isinstance(value, list | tuple | set | frozenset):
        return f"{name}[{','.join(sorted({type(item).__name__ for item in value}))}]"
    return name


def shortened(answer: str) -> str:
    """Return an answer, or the digest of a long one."""
    return answer if len(answer) <= MOST_WRITTEN else text_digest(answer)


def answer_of(result: CallResult, args: Sequence[object]) -> str | None:
    """Return a call's result as text, equal for results that a caller would take for equal, or None."""
    if result.outcome is not Outcome.RETURNED:
        return None
    if result.files:
        return f"{result_text(result.value)} and files {dict(result.files)}"
    if result.value is None and result.stdout.strip():
        return f"printed {result.stdout.split()}"
    if result.value is None and result.args_after is not None:
        changed = result_text(result.args_after)
        return f"changed {changed}" if changed != result_text(args) else result_text(None)
    return result_text(result.value)


def returns_first_argument(call: Sequence[object], answer: str) -> bool:
    """Return whether a result is the call's first argument, which unrelated functions return as well."""
    return bool(call) and shortened(answer) == shortened(result_text(call[0]))


def result_text(value: object, depth: int = 0) -> str:
    """Return a result as text: all sequences alike, and numbers by value."""
    if depth > 20:
        return "…"
    if isinstance(value, Opaque):
        name, content = value.fields[0] if value.fields else ("", None)
        return f"{value!r}, an instance" if name or content is None else result_text(content, depth + 1)
    if isinstance(value, Iteration):
        value = list(value.items)
    if isinstance(value, list | tuple):
        return f"[{', '.join(result_text(item, depth + 1) for item in value)}]"
    if isinstance(value, set | frozenset):
        return f"set({', '.join(sorted(result_text(item, depth + 1) for item in value))})"
    if isinstance(value, dict):
        pairs = sorted(
            (result_text(key, depth + 1), result_text(item, depth + 1)) for key, item in value.items()
        )
        return repr(dict(pairs))
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 50:
        return repr(round(float(value), 6))
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else repr(value)
