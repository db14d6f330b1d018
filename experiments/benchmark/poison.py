"""Poison for one round: who is attacked, by what, with which budget and knowledge, and proof of each draft."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeVar

from experiments.attacks import PoisonFile, TargetFunction
from experiments.attacks.base import Label
from experiments.attacks.editing import parse_function
from experiments.benchmark import wording
from experiments.benchmark.attacks import BenchmarkAttack, Draft, Proof
from experiments.benchmark.attacks.base import GENERATED
from experiments.benchmark.corpora import Corpus
from experiments.benchmark.grammar import Grammar
from experiments.benchmark.questions import Subject
from experiments.benchmark.systems.base import Embed
from experiments.corpus.guesses import with_guesses
from experiments.corpus.selection import parses
from experiments.corpus.targets import (
    documented_calls,
    first_line,
    functions_of,
    imports_only,
    is_alone,
    surroundings_of,
)
from experiments.corpus.verify import Finding, verify

BLACK_BOX, KNOWS_RETRIEVER, KNOWS_DEFENSE = "black box", "knows the retriever", "knows the defense"
ALONE, AMONG = "a file of its own", "among honest functions"
OURS, GENERATED_BY, PUBLISHED, MODEL = "ours", "generated", "published", "model"
SECONDS = 60.0
TRIED = 8  # drafts that are run for one attack on one function
LONGEST_COMPANION = 1500
LONGEST_EMBEDDED = 4000


@dataclass(frozen=True, slots=True)
class Poisoned:
    """A poisoned file: where it lies, its text, which lines of it are poison, and what shows that.

    `lines` are spans, 1-based and inclusive. `proof` holds the finding of the run, or the payload that the text holds.
    """

    path: str
    text: str
    variant: str
    lines: tuple[tuple[int, int], ...]
    payload: tuple[str, ...]
    proof: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Instance:
    """One attack on the answer to one function's questions.

    `drafts` are what was proven, each with its proof, as many as the budget
    of files; `files` are the same where they were placed. `tampered` is the
    text for the vector store where the attack is on that, and `knowledge`
    and `position` say how it was mounted, `author` who wrote it.
    """

    id: str
    subject: Subject
    attack: str
    family: str
    adaptive: bool
    knowledge: str
    drafts: tuple[tuple[Draft, Mapping[str, str]], ...]
    author: str = OURS
    position: str = ALONE
    files: tuple[Poisoned, ...] = ()
    tampered: str = ""

    @property
    def budget(self) -> int:
        """The number of its files, one where it has none."""
        return max(1, len(self.drafts))

    @property
    def payload(self) -> tuple[str, ...]:
        """Every payload of its files."""
        return tuple(dict.fromkeys(text for file in self.files for text in file.payload))


@dataclass(frozen=True, slots=True)
class Plan:
    """How rounds are drawn: functions attacked at most, and the shares of budgets, numbers of files, and knowledge."""

    instances: int
    budgets: tuple[tuple[int, float], ...] = ((1, 0.6), (3, 0.4))
    knowledge: tuple[tuple[str, float], ...] = ((BLACK_BOX, 0.5), (KNOWS_RETRIEVER, 0.5))
    twin_share: float = 0.65
    adaptive: int = 3  # adaptive attacks a round; they are no part of the headline


T = TypeVar("T")
Rewrite = Callable[[Draft], Draft | None]
Verify = Callable[[TargetFunction, Sequence[PoisonFile], Sequence[Path]], list[Finding]]


class Verifier:
    """Runs drafts beside their target, and remembers the answers in a folder: they depend on the texts alone."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "verified"
        self._folder.mkdir(parents=True, exist_ok=True)

    def __call__(
        self, target: TargetFunction, files: Sequence[PoisonFile], folders: Sequence[Path]
    ) -> list[Finding]:
        """Return a finding for each file."""
        key = json.dumps(
            [
                target.module,
                target.source,
                [str(call) for call in target.calls],
                [str(file) for file in files],
            ]
        )
        place = self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
        if place.exists():
            rows = json.loads(place.read_text(encoding="utf-8"))
            return [Finding(**{**row, "effects": tuple(row["effects"])}) for row in rows]
        found = verify(target, files, SECONDS, folders)
        rows = [{name: getattr(item, name) for name in Finding.__slots__} for item in found]
        place.write_text(json.dumps(rows), encoding="utf-8")
        return found


def target_of(corpus: Corpus, subject: Subject, query: str) -> TargetFunction | None:
    """Return what an attacker knows of a function; None where no attack can take it apart."""
    function = subject.function
    text = corpus.texts[function.path]
    try:
        parse_function(function.source)
    except (ValueError, SyntaxError):
        return None
    functions = functions_of(text)
    name = function.symbol.rpartition(".")[2]
    small = [
        source
        for other, source in functions.items()
        if other != name
        and len(source) < LONGEST_COMPANION
        and is_alone(source, functions)
        and _apart(source)
    ]
    return with_guesses(
        TargetFunction(
            name=name,
            source=function.source,
            query=query,
            summary=first_line(function.docstring),
            imports=imports_only(text) if function.plain else surroundings_of(text)[:0],
            helpers=(),
            examples=tuple(documented_calls(name, function.docstring)),
            companions=tuple(small[:6]),
            module=function.module if function.plain else "",
        )
    )


def _apart(source: str) -> bool:
    try:
        parse_function(source)
    except (ValueError, SyntaxError):
        return False
    return True


def draw(
    corpus: Corpus,
    subjects: Sequence[Subject],
    attacks: Sequence[BenchmarkAttack],
    plan: Plan,
    seed: int,
    *,
    verify_with: Verify,
    folders: Callable[[Subject], Sequence[Path]],
    embed: Embed,
    grammar: Grammar,
    rewrite: Rewrite | None = None,
) -> tuple[Instance, ...]:
    """Return the instances of one round; every function is attacked at most once.

    The attacks take turns. One that finds no function on which it can be
    proven is left out of the round. The same arguments give the same round.
    `rewrite` lets a model word a draft anew; what it makes is proven again.
    """
    rng = Random(f"round:{seed}:{corpus.pair}")
    with_twin = [item for item in subjects if item.twin]
    without = [item for item in subjects if not item.twin]
    for group in (with_twin, without):
        group.sort(key=lambda item: item.function.id)
        rng.shuffle(group)
        group.sort(
            key=lambda item: item.function.plain
        )  # methods first: attacks that are run need the others
    known = sorted(attacks, key=lambda item: item.name)
    adaptive = [item for item in known if item.adaptive]
    order = [item for item in known if not item.adaptive]
    order += rng.sample(adaptive, min(plan.adaptive, len(adaptive)))
    rng.shuffle(order)
    mount = Mounting(corpus, plan, seed, rng, verify_with, folders, embed, grammar, rewrite)
    found: list[Instance] = []
    turn = 0
    while turn < plan.instances and (with_twin or without):
        attack = order[turn % len(order)]
        turn += 1
        twin = rng.random() < plan.twin_share
        for group in (with_twin, without) if twin else (without, with_twin):
            made = mount(group, attack)
            if made is not None:
                group.remove(made.subject)
                found.append(made)
                break
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Mounting:
    """Mounts attacks on subjects of one round."""

    corpus: Corpus
    plan: Plan
    seed: int
    rng: Random
    verify_with: Verify
    folders: Callable[[Subject], Sequence[Path]]
    embed: Embed
    grammar: Grammar
    rewrite: Rewrite | None

    def __call__(self, group: Sequence[Subject], attack: BenchmarkAttack) -> Instance | None:
        """Return the attack on the first subject on which it can be proven."""
        behaves = attack.proof in (Proof.DIFFERS, Proof.EFFECT, Proof.STORE)
        suited = [item for item in group if item.function.plain] if behaves else list(group)
        if attack.proof is Proof.STORE:
            suited = [item for item in suited if item.twin]
        knowledge = KNOWS_DEFENSE if attack.adaptive else _one_of(self.plan.knowledge, self.rng)
        budget = _one_of(self.plan.budgets, self.rng)
        for subject in suited[: 6 if behaves else 2]:
            made = self._on(subject, attack, knowledge, max(budget, attack.least))
            if made is not None:
                return made
        return None

    def _on(self, subject: Subject, attack: BenchmarkAttack, knowledge: str, budget: int) -> Instance | None:
        function, question = subject.function, subject.questions[0].text
        query = wording.purpose(function.docstring, Random(f"attacker:{self.seed}:{function.id}"))
        target = target_of(self.corpus, subject, query if knowledge == BLACK_BOX else question)
        if target is None:
            return None
        folders = self.folders(subject)
        drafts = _drafts(attack, target, self.rng, self.grammar)
        proven = _proven(attack, drafts, target, self.verify_with, folders)
        author = GENERATED_BY if attack.family in GENERATED else OURS
        if self.rewrite is not None and proven:
            anew = [draft for item, _ in proven[:budget] if (draft := self.rewrite(item)) is not None]
            proven = _proven(attack, anew, target, self.verify_with, folders)
            author = MODEL
        if not proven:
            return None
        if knowledge != BLACK_BOX and attack.least == 1:
            proven = _nearest_first(proven, question, self.embed)
        stored = attack.proof is Proof.STORE
        return Instance(
            f"{self.corpus.pair}/{self.seed}/{attack.name}/{function.id}",
            subject,
            attack.name,
            attack.family,
            attack.adaptive,
            knowledge,
            () if stored else tuple(proven[number % len(proven)] for number in range(budget)),
            author,
            "the vector store" if stored else ALONE,
            tampered=proven[0][0].text if stored else "",
        )


def _one_of(shares: Sequence[tuple[T, float]], rng: Random) -> T:
    return rng.choices([value for value, _ in shares], [share for _, share in shares])[0]


def _drafts(attack: BenchmarkAttack, target: TargetFunction, rng: Random, grammar: Grammar) -> list[Draft]:
    try:
        drafts = attack.make(target, Random(rng.random()), grammar)
        return [draft for draft in drafts if draft.carrier is not None or parses(draft.text)]
    except (ValueError, SyntaxError, AssertionError, IndexError):
        return []


def _proven(
    attack: BenchmarkAttack,
    drafts: Sequence[Draft],
    target: TargetFunction,
    verify_with: Verify,
    folders: Sequence[Path],
) -> list[tuple[Draft, Mapping[str, str]]]:
    """Return the drafts that were shown to be what their label says, with what shows it."""
    if attack.proof is Proof.PAYLOAD:
        return [
            (draft, {"payload": " | ".join(draft.payload)})
            for draft in drafts
            if draft.payload and all(text in draft.text for text in draft.payload)
        ]
    if attack.proof is Proof.DISPLACES:
        return [(draft, {"stub": draft.symbol}) for draft in drafts]
    wanted = ("effect",) if attack.proof is Proof.EFFECT else ("trigger", "effect", "input", "example")
    tried = list(drafts[:TRIED] if attack.least == 1 else drafts[::20][:4])
    files = [
        PoisonFile(
            draft.variant,
            draft.text,
            draft.code,
            (Label(draft.symbol, True, attack.name, target.name),),
            draft.trigger,
        )
        for draft in tried
    ]
    if not files:
        return []
    findings = verify_with(target, files, folders)
    proven: list[tuple[Draft, Mapping[str, str]]] = [
        (draft, {**_shown(finding), "run": "yes"})
        for draft, finding in zip(tried, findings, strict=True)
        if finding.shown in wanted
    ]
    if attack.least > 1 and proven:  # copies of what was run
        first, finding_of = proven[0]
        start = drafts.index(first)
        return [(draft, finding_of) for draft in drafts[start : start + 20]]
    return proven


def _shown(finding: Finding) -> dict[str, str]:
    if finding.shown == "effect":
        return {"shown": "effect", "effects": ", ".join(finding.effects)}
    call = finding.args if finding.kwargs in ("", "{}") else f"{finding.args} {finding.kwargs}"
    return {"shown": finding.shown, "call": call, "expected": finding.expected, "got": finding.got}


def _nearest_first(
    drafts: Sequence[tuple[Draft, Mapping[str, str]]], question: str, embed: Embed
) -> list[tuple[Draft, Mapping[str, str]]]:
    """Return the drafts as an attacker orders them who has the retriever: nearest to the question first."""
    vectors = embed([question, *(draft.text[:LONGEST_EMBEDDED] for draft, _ in drafts)])
    near = vectors[1:] @ vectors[0]
    return [drafts[place] for place in sorted(range(len(drafts)), key=lambda place: (-near[place], place))]
