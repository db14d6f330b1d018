"""Finds the trusted functions that a function behaves like, whatever it is called: by their results on shared probes.

For every kind of arguments there is one set of calls: those that the trusted code's own examples show, a few plain
ones, and variations of both. A trusted function is run on the sets of the kinds that it takes, once. A function of
unknown origin is tried on each kind, and run on the sets that it takes. It is like a trusted function where it
answers enough of the calls alike; an answer that many functions give (True, 0, nothing) tells little, and counts so.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from codeguard.behavior.inputs.discovery import LISTS, MAPS, NESTED, NUMBERS, REALS, TEXT_LISTS, TEXTS
from codeguard.behavior.inputs.domain import learn_domain
from codeguard.behavior.inputs.generation import generate
from codeguard.behavior.inputs.pools import Arguments
from codeguard.behavior.matching.claims import Features
from codeguard.behavior.specs.examples import Example, Returns
from codeguard.behavior.specs.references import Reference
from codeguard.sandbox.model import CallResult, Iteration, Opaque, Outcome

MOST_ARGUMENTS = 3
MOST_REFERENCES = 1_200  # that are run for their fingerprints; those with examples come first
MOST_SHOWN = 40  # calls of a kind that examples show
MOST_MADE = 16  # and calls of it that are made from them
MOST_SHOWN_EACH = 4  # of one trusted function
MOST_KINDS = 6  # that one function is run on
TRIED = 3  # calls of each kind that show whether a function takes it
LEAST_AGREED = 3  # answers
LEAST_DISTINCT = 2
LEAST_SHARE = 0.4  # of what the calls tell
LEAST_TOLD = 1.5
COMMON = 0.3  # what a common answer tells, where any other tells 1
MOST_FOUND = 2
LEAST_BODY = 4  # nodes of a body; less does next to nothing
_COMMON = frozenset(("set()", *map(repr, (True, False, None, 0.0, 1.0, -1.0, "", [], {}))))
_POOLS = (NUMBERS, REALS, TEXTS, LISTS, TEXT_LISTS, MAPS, NESTED)
_PAIRS = ((NUMBERS, NUMBERS), (TEXTS, TEXTS), (LISTS, LISTS), (LISTS, NUMBERS), (TEXTS, NUMBERS))
Kinds = tuple[str, ...]
Calls = tuple[tuple[object, ...], ...]


@dataclass(slots=True)
class _Group:
    """The calls of one kind of arguments, and who answers what: by call, places of functions by their answer."""

    calls: Calls
    answers: list[dict[str, set[int]]] = field(default_factory=list)

    @property
    def takers(self) -> set[int]:
        """The places of the functions that answer any of the calls."""
        return {place for known in self.answers for places in known.values() for place in places}

    def add(self, place: int, answers: Sequence[str | None]) -> None:
        if not self.answers:
            self.answers = [{} for _ in self.calls]
        for known, answer in zip(self.answers, answers, strict=True):
            if answer is not None:
                known.setdefault(answer, set()).add(place)


class FingerprintIndex:
    """The probes of a library by kinds of arguments, and the trusted functions' answers once they were run."""

    def __init__(self, references: Sequence[Reference]) -> None:
        shown: dict[Kinds, dict[str, tuple[object, ...]]] = {}
        self.kinds: dict[int, list[Kinds]] = {}  # of trusted functions, by place, where examples show them
        digest = hashlib.sha256()
        for place, reference in enumerate(references):
            digest.update(reference.definition.text.encode("utf-8", "surrogatepass"))
            for args in _shown(reference):
                kinds = tuple(map(kind_of, args))
                key = written(args)
                shown.setdefault(kinds, {}).setdefault(key, args)
                if kinds not in self.kinds.setdefault(place, []):
                    self.kinds[place].append(kinds)
                digest.update(key.encode("utf-8", "surrogatepass"))
        for args in _plain():
            shown.setdefault(tuple(map(kind_of, args)), {}).setdefault(written(args), args)
        self.digest = digest.hexdigest()
        self._run: dict[int, list[Kinds]] = {}
        self._groups = {kinds: _Group(_calls(rows)) for kinds, rows in sorted(shown.items())}
        ordered = sorted(range(len(references)), key=lambda place: (place not in self.kinds, place))
        self.places = [place for place in ordered if worth_probing(references[place].features)][
            :MOST_REFERENCES
        ]

    def calls(self, kinds: Kinds) -> Calls:
        """Return the calls of a kind."""
        return self._groups[kinds].calls

    def trials(self, wanted: Features) -> dict[Kinds, Calls]:
        """Return a few calls of each kind that a function may take by its number of arguments."""
        return {
            kinds: group.calls[:TRIED] for kinds, group in self._groups.items() if wanted.takes(len(kinds))
        }

    def telling(self, tried: Mapping[Kinds, Sequence[str | None]]) -> list[Kinds]:
        """Return the kinds to run a function on, by its answers to their trials: those that may tell most first.

        Code that looks at its arguments as little as Python does takes many kinds that it was not made for. So come
        first those on which a trusted function answers as it does, then those that most of them are made for.
        """
        shown = Counter(kinds for own in self.kinds.values() for kinds in own)
        taken = [kinds for kinds, answers in tried.items() if any(answer is not None for answer in answers)]
        ordered = sorted(
            taken,
            key=lambda kinds: (-self._agreement(kinds, tried[kinds]), -shown[kinds], -len(set(tried[kinds]))),
        )
        return ordered[:MOST_KINDS]

    def _agreement(self, kinds: Kinds, answers: Sequence[str | None]) -> float:
        """Return how much the answers to the first calls of a kind tell of what trusted functions answer to them."""
        group = self._groups[kinds]
        return sum(
            weight_of(answer, known[answer])
            for call, known, answer in zip(group.calls, group.answers, answers, strict=False)
            if answer is not None and answer in known and not handed_back(call, answer)
        )

    def add(self, place: int, kinds: Kinds, answers: Sequence[str | None]) -> None:
        """Note what a trusted function answers to the calls of a kind."""
        self._groups[kinds].add(place, answers)
        self._run.setdefault(place, []).append(kinds)

    def alike(self, answered: Mapping[Kinds, Sequence[str | None]]) -> list[int]:
        """Return the places of the trusted functions that answer alike, the likest first."""
        told: dict[int, float] = {}
        asked: dict[int, float] = {}
        agreed: dict[int, list[str]] = {}
        for kinds, answers in answered.items():
            group = self._groups[kinds]
            for call, known, answer in zip(group.calls, group.answers, answers, strict=False):
                for theirs, places in known.items():
                    if theirs == answer and handed_back(call, answer):
                        continue
                    weight = weight_of(theirs, places)
                    for place in places:
                        asked[place] = asked.get(place, 0.0) + weight
                        if theirs == answer:
                            told[place] = told.get(place, 0.0) + weight
                            agreed.setdefault(place, []).append(theirs)
        found = [
            (-told[place] / asked[place], place)
            for place, answers in agreed.items()
            if len(answers) >= LEAST_AGREED and len(set(answers)) >= LEAST_DISTINCT
            if told[place] >= LEAST_TOLD and told[place] >= LEAST_SHARE * asked[place]
        ]
        return [place for _, place in sorted(found)[:MOST_FOUND]]

    def sharpest(self, kinds: Kinds, count: int) -> list[int]:
        """Return the places of a few calls of a kind whose answers together tell most trusted functions apart."""
        group = self._groups[kinds]
        rest, classes, chosen = list(range(len(group.answers))), [group.takers], list[int]()
        while rest and len(chosen) < count:
            parted = {place: _parted(classes, group.answers[place]) for place in rest}
            best = max(rest, key=lambda place: (len(parted[place]), -place))
            rest.remove(best)
            chosen.append(best)
            classes = parted[best]
        return chosen

    def answered_by(self, kinds: Kinds, place: int) -> Mapping[str, set[int]]:
        """Return the places of the trusted functions by what they answer to one call of a kind."""
        answers = self._groups[kinds].answers
        return answers[place] if answers else {}

    def answers_of(self, place: int) -> Iterator[tuple[tuple[object, ...], str]]:
        """Yield the calls that a trusted function answered, with its answers."""
        for kinds in self._run.get(place, ()):
            group = self._groups[kinds]
            for call, known in zip(group.calls, group.answers, strict=True):
                answer = next((answer for answer, places in known.items() if place in places), None)
                if answer is not None:
                    yield call, answer

    def most_shown(self, wanted: Features) -> list[Kinds]:
        """Return the kinds that a function takes by its number of arguments, those of most trusted functions first."""
        shown = Counter(kinds for own in self.kinds.values() for kinds in own)
        return sorted(
            (kinds for kinds in self._groups if wanted.takes(len(kinds))), key=lambda kinds: -shown[kinds]
        )


def _parted(classes: Sequence[set[int]], answers: Mapping[str, set[int]]) -> list[set[int]]:
    """Return classes of functions parted by what they answer to one more call."""
    silent = [own - set().union(*answers.values()) for own in classes]
    return [
        part for part in (*(own & places for own in classes for places in answers.values()), *silent) if part
    ]


def weight_of(answer: str, places: Collection[int]) -> float:
    """Return what an answer tells that trusted functions in so many places give."""
    return (COMMON if answer in _COMMON else 1.0) / math.sqrt(len(places))


def _plain() -> Iterator[tuple[object, ...]]:
    for pool in _POOLS:
        yield from ((value,) for value in pool[:6])
    for first, second in _PAIRS:
        yield from itertools.islice(itertools.product(first[:3], second[::-1][:3]), 9)


def _calls(shown: Mapping[str, tuple[object, ...]]) -> Calls:
    """Return calls of one kind: those shown, in an order that nobody chose, and some made from them."""
    ordered = sorted(shown, key=lambda key: hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest())
    chosen = [shown[key] for key in ordered[:MOST_SHOWN]]
    bases: list[Arguments] = [(args, {}) for args in chosen[:8]]
    made = generate(bases, learn_domain(bases), Random(0), MOST_MADE)
    return (*chosen, *(tuple(args) for args, kwargs in made if not kwargs and len(args) == len(chosen[0])))


def worth_probing(wanted: Features) -> bool:
    """Return whether a function may be met by its results: it takes arguments, and is more than a word or two."""
    least, most = wanted.least_args, wanted.most_args
    possible = least <= MOST_ARGUMENTS and (most is None or most > 0) and not wanted.required_keywords
    return possible and not wanted.bound and wanted.body.total() >= LEAST_BODY


def _shown(reference: Reference) -> Iterator[tuple[object, ...]]:
    if worth_probing(reference.features):
        plain = [item.args for item in reference.written if item.args is not None and _is_plain(item)]
        yield from plain[:MOST_SHOWN_EACH]


def _is_plain(example: Example) -> bool:
    args = example.args
    plain = bool(args) and not example.kwargs and isinstance(example.expected, Returns)
    return plain and args is not None and len(args) <= MOST_ARGUMENTS


def kind_of(value: object) -> str:
    """Return the kind of an argument: its type, of a row with the kinds of its items."""
    name = type(value).__name__
    if isinstance(value, list | tuple | set | frozenset):
        return f"{name}[{','.join(sorted({type(item).__name__ for item in value}))}]"
    return name


def answer_of(result: CallResult, args: Sequence[object]) -> str | None:
    """Return what a call gave as text, alike for what a caller would take for alike; None where it gave nothing."""
    if result.outcome is not Outcome.RETURNED:
        return None
    if result.files:
        return f"{written(result.value)} and files {dict(result.files)}"
    if result.value is None and result.stdout.strip():
        return f"printed {result.stdout.split()}"
    if result.value is None and result.args_after is not None:
        changed = written(result.args_after)
        return f"changed {changed}" if changed != written(args) else written(None)
    return written(result.value)


def handed_back(call: Sequence[object], answer: str) -> bool:
    """Return whether an answer is the call's first argument, which functions that have little in common give alike."""
    return bool(call) and answer == written(call[0])


def written(value: object, depth: int = 0) -> str:
    """Return a result as text: rows of every kind alike, numbers by value, however long they are."""
    if depth > 20:
        return "…"
    if isinstance(value, Opaque):
        name, content = value.fields[0] if value.fields else ("", None)
        return f"{value!r}, an instance" if name or content is None else written(content, depth + 1)
    if isinstance(value, Iteration):
        value = list(value.items)
    if isinstance(value, list | tuple):
        return f"[{', '.join(written(item, depth + 1) for item in value)}]"
    if isinstance(value, set | frozenset):
        return f"set({', '.join(sorted(written(item, depth + 1) for item in value))})"
    if isinstance(value, dict):
        pairs = sorted((written(key, depth + 1), written(item, depth + 1)) for key, item in value.items())
        return repr(dict(pairs))
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 50:
        return repr(round(float(value), 6))
    return hex(value) if isinstance(value, int) and not isinstance(value, bool) else repr(value)
