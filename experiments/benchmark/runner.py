"""Go through pairs and rounds: index, poison, ask every system, note what each gave."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from codeguard import __version__
from codeguard.index.embedding import open_embedding
from codeguard.sandbox import Level, Sandbox
from experiments.benchmark import VERSION, external, measures, placement, questions
from experiments.benchmark.attacks import ALL, BenchmarkAttack
from experiments.benchmark.attacks.base import GENERATED
from experiments.benchmark.corpora import TRUSTED, Corpus, build, chunks_of, symbols_of
from experiments.benchmark.grammar import Grammar
from experiments.benchmark.measures import Row
from experiments.benchmark.models import Model, reworded, written
from experiments.benchmark.packages import Pair, unpack
from experiments.benchmark.poison import Instance, Plan, Rewrite, Verifier, draw
from experiments.benchmark.questions import Question, Subject
from experiments.benchmark.readers import obeys
from experiments.benchmark.systems import BASELINE, DEFENDED, built_in, plugged_in
from experiments.benchmark.systems.base import (
    Answer,
    Change,
    Decision,
    Hit,
    Part,
    Surroundings,
    System,
    Tampering,
    Vectors,
)
from experiments.benchmark.systems.filters import guarddog_version
from experiments.benchmark.systems.guarded import UNDEFENDED
from experiments.benchmarks.processor import processor_seconds

K = 10
READ = (DEFENDED, UNDEFENDED, BASELINE)  # systems whose results a model reads
USEFUL = 0.9  # right answers that a system has to keep to be held against another
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run does. `size` is the number of chunks a pair, None for all; `rounds` the number of seeds."""

    name: str
    size: int | None
    rounds: int
    plan: Plan
    part: str = "test"
    seed: int = questions.FROZEN_SEED
    large: bool = False
    unattacked: int = 12  # questions a round about functions that nobody attacks
    clean: int | None = None  # questions a pair without any poison, all where None
    attacks: tuple[str, ...] = ()  # by name or family, all where empty
    systems: tuple[str, ...] = ()  # by name, all where empty
    plugins: tuple[str, ...] = ()
    scanners: tuple[str, ...] = ()
    rules: Path | None = None  # for semgrep
    ablations: bool = True
    external: Path | None = None  # a folder of published items
    attacker: tuple[str, str] | None = None  # endpoint and model that words attacks anew
    reader: tuple[str, str] | None = None  # endpoint and model that reads results
    embedding: str = "auto"


SMALL = Setting("small", 1000, 3, Plan(34), clean=60)
LARGE = Setting("large", None, 6, Plan(200), large=True, unattacked=100)


@dataclass(slots=True)
class Cost:
    """Wall and processor seconds of an index and of the questions to a system."""

    seconds: float = 0.0
    cpu: float = 0.0
    chunks: int = 0
    questions: int = 0

    @contextmanager
    def measured(self) -> Iterator[None]:
        """Add what happens inside."""
        start, cpu = time.monotonic(), processor_seconds()
        yield
        self.seconds += time.monotonic() - start
        self.cpu += processor_seconds() - cpu


@dataclass(slots=True)
class Collected:
    """Everything that a run noted."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    clean: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)  # system, pair, place
    reasons: dict[str, dict[str, list[str]]] = field(default_factory=dict)  # system, place
    index: dict[str, Cost] = field(default_factory=dict)
    queries: dict[str, Cost] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)
    lost: list[dict[str, Any]] = field(default_factory=list)
    pairs: dict[str, dict[str, Any]] = field(default_factory=dict)
    instances: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class CachedEmbedding:
    """An embedding whose vectors are kept by the digest of their text: all systems embed the same texts.

    `seconds` and `cpu` are what the `misses` took.
    """

    def __init__(self, folder: Path, name: str = "auto") -> None:
        self._inner = open_embedding(name)
        self.identity, self.dimension, self.note = (
            self._inner.identity,
            self._inner.dimension,
            self._inner.note,
        )
        self.cost = Cost()
        self._db = sqlite3.connect(folder / "vectors.sqlite3")
        self._db.execute("CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB)")
        self.misses = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a row for each text."""
        keys = [hashlib.sha256(f"{self.identity}\0{text}".encode()).hexdigest() for text in texts]
        known: dict[str, Vectors] = {}
        for key in set(keys):
            row = self._db.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
            if row is not None:
                known[key] = np.frombuffer(row[0], dtype=np.float32)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if new:
            with self.cost.measured():
                made = self._inner.embed(list(new.values()))
            self.misses += len(new)
            with self._db:
                self._db.executemany(
                    "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                    [(key, row.astype(np.float32).tobytes()) for key, row in zip(new, made, strict=True)],
                )
            known |= dict(zip(new, made, strict=True))
        return np.stack([known[key] for key in keys]) if keys else np.zeros((0, self.dimension), np.float32)


class Judge:
    """What the labels say of a result; no system ever sees it."""

    def __init__(self, corpus: Corpus, instances: Sequence[Instance] = ()) -> None:
        self._files = {file.path: (instance, file) for instance in instances for file in instance.files}
        self._tampered = {
            (instance.subject.function.path, instance.subject.function.symbol): instance
            for instance in instances
            if instance.tampered
        }
        self._originals = {
            place: chunk.text
            for path in {path for path, _ in self._tampered}
            for place, chunk in (
                ((path, name), chunk) for name, chunk in symbols_of(path, corpus.texts[path]).items()
            )
        }
        self._corpus = corpus

    def labels(self, results: Sequence[Hit], question: Question) -> str:
        """Return a letter for each result; see `measures`."""
        return "".join(self.label(hit, question) for hit in results)

    def label(self, hit: Hit, question: Question) -> str:
        """Return the letter of one result."""
        place = (hit.path, hit.symbol)
        tampered = self._tampered.get(place)
        if tampered is not None and hit.text != self._originals.get(place, hit.text):
            return "p" if tampered.subject.function.id == question.function else "q"
        known = self._files.get(hit.path)
        if known is not None and self.poisoned(hit):
            return "p" if known[0].subject.function.id == question.function else "q"
        if place in question.answers or hit.text in self._right(question):
            return "r"
        return "t" if hit.path.startswith(f"{TRUSTED}/") else "c"

    @lru_cache(maxsize=1 << 10)  # noqa: B019 - a judge lives as long as its round
    def _right(self, question: Question) -> frozenset[str]:
        """Return the texts of the functions that answer: one of them in another file, the team's own too, answers."""
        texts = self._corpus.texts
        found = (symbols_of(path, texts[path]).get(name) for path, name in question.answers if path in texts)
        return frozenset(chunk.text for chunk in found if chunk is not None)

    def poisoned(self, hit: Hit) -> bool:
        """Return whether a result holds a line of poison."""
        known = self._files.get(hit.path)
        return known is not None and any(
            first <= hit.end_line and hit.start_line <= last for first, last in known[1].lines
        )

    def beside_poison(self, path: str) -> bool:
        """Return whether a file holds poison anywhere."""
        return path in self._files


@dataclass(frozen=True, slots=True)
class Session:
    """A corpus on disk with the systems that have indexed it.

    `folders` says where a function is imported from, `unlisted` what the last round shows: the next one takes out
    and changes what differs.
    """

    corpus: Corpus
    asked: tuple[Subject, ...]
    folders: Callable[[Subject], Sequence[Path]]
    systems: tuple[System, ...]
    parts: tuple[Part, ...]
    tree: Path
    unlisted: dict[str, str] = field(default_factory=dict)


class Run:
    """One run of the benchmark."""

    def __init__(self, setting: Setting, cache: Path, work: Path, tell: Tell) -> None:
        self.setting, self._cache, self._work, self._tell = setting, cache, work, tell
        self._embedding = CachedEmbedding(cache, setting.embedding)
        self._verify = Verifier(cache)
        self._grammar = Grammar(setting.part)
        self._attacker, self._reader = (
            Model(*chosen) if chosen else None for chosen in (setting.attacker, setting.reader)
        )
        self._rewrite: Rewrite | None = partial(reworded, self._attacker) if self._attacker else None
        self._started = time.monotonic(), processor_seconds()
        self.collected = Collected()

    def all_pairs(self, chosen: Sequence[Pair], done: Callable[[], None]) -> None:
        """Go through corpus pairs, round by round over all of them; `done` is called after each."""
        with ExitStack() as stack:
            opened: dict[str, Session] = {}
            for number in range(self.setting.rounds):
                for pair in chosen:
                    if pair.name not in opened:
                        opened[pair.name] = self._open(stack, *self._of_pair(pair))
                    self._round(opened[pair.name], self.setting.seed + number)
                    done()

    def corpus(
        self, corpus: Corpus, asked: Sequence[Subject], folders: Callable[[Subject], Sequence[Path]]
    ) -> None:
        """Go through the rounds of one corpus."""
        with ExitStack() as stack:
            session = self._open(stack, corpus, asked, folders)
            for number in range(self.setting.rounds):
                self._round(session, self.setting.seed + number)

    def external(self, pair: Pair, folder: Path) -> None:
        """Ask the questions of published attacks, once; the trusted code of a pair is what lies beside."""
        items = external.read(folder)
        background = build(pair, self._cache, self.setting.size, large=False)
        corpus, tree = external.prepare(items, background, self.setting.seed)
        asked = [item.subject for item in tree.instances]
        with ExitStack() as stack:
            session = self._begin(stack, corpus, asked, lambda subject: ())
            self._show(session, tree, clean=True)
            main = [item for item in session.systems if item.main]
            questions_of = [question for item in asked for question in item.questions]
            self._ask(session, main, self.setting.seed, questions_of, tree.instances)
        self.collected.instances += [_told(item) for item in tree.instances]
        self._tell(f"{corpus.pair}: {len(items)} published attacks asked")

    def _of_pair(self, pair: Pair) -> tuple[Corpus, Sequence[Subject], Callable[[Subject], Sequence[Path]]]:
        setting = self.setting
        corpus = build(pair, self._cache, setting.size, large=setting.large)
        packages = {package.label: package for package in (pair.trusted, *pair.unknown)}

        def folders(subject: Subject) -> Sequence[Path]:
            home = corpus.homes[subject.function.path]
            return [unpack(packages[home.label], pair.needs, self._cache)]

        return corpus, questions.subjects(corpus, setting.part, setting.seed), folders

    def _open(
        self,
        stack: ExitStack,
        corpus: Corpus,
        asked: Sequence[Subject],
        folders: Callable[[Subject], Sequence[Path]],
    ) -> Session:
        """Index a corpus and ask the questions without poison."""
        session = self._begin(stack, corpus, asked, folders)
        calm = placement.place(corpus, (), (), 0, self._grammar)
        self._show(session, calm, clean=True)
        self._tell(f"{corpus.pair}: indexed")
        everything = [
            question
            for subject in asked
            if subject.twin or subject.function.path in calm.texts
            for question in subject.questions
        ]
        count = len(everything) if self.setting.clean is None else min(self.setting.clean, len(everything))
        sampled = Random(f"clean:{corpus.pair}").sample(everything, count)
        self._ask(session, [item for item in session.systems if item.main], 0, sampled, ())
        self._tell(f"{corpus.pair}: {len(sampled)} questions without poison asked")
        return session

    def _begin(
        self,
        stack: ExitStack,
        corpus: Corpus,
        asked: Sequence[Subject],
        folders: Callable[[Subject], Sequence[Path]],
    ) -> Session:
        """Open the systems on a corpus whose trusted files are on disk."""
        home = self._work / corpus.pair
        tree = home / "corpus"
        if tree.exists():
            shutil.rmtree(tree)
        _write(tree, corpus.trusted)
        systems = self._systems(Surroundings(home, tree, self._embedding))
        parts = tuple({id(part): part for system in systems for part in system.parts}.values())
        for part in parts:
            stack.callback(part.close)
        session = Session(corpus, tuple(asked), folders, tuple(systems), parts, tree)
        self._note_corpus(corpus, asked)
        return session

    def _systems(self, around: Surroundings) -> list[System]:
        setting = self.setting
        found = built_in(around, scanners=setting.scanners, rules=setting.rules, ablations=setting.ablations)
        for name in setting.plugins:
            found += plugged_in(name, around)
        chosen = {item.name for item in found if not setting.systems or item.name in setting.systems}
        chosen |= {BASELINE, *(_undefended(item) for item in found if item.name in chosen)}
        return [item for item in found if item.name in chosen]

    def _attacks(self) -> list[BenchmarkAttack]:
        chosen = self.setting.attacks
        return [item for item in ALL.values() if not chosen or item.name in chosen or item.family in chosen]

    def _note_corpus(self, corpus: Corpus, asked: Sequence[Subject]) -> None:
        sides = {True: 0, False: 0}
        for path, text in corpus.texts.items():
            sides[path.startswith(f"{TRUSTED}/")] += len(chunks_of(path, text))
        digests = {"questions": questions.digest(asked), "corpus": corpus.digest()}
        frozen = questions.frozen(self.setting.name, corpus.pair)
        standard = self.setting.part == "test" and self.setting.seed == questions.FROZEN_SEED
        changed = [name for name, digest in digests.items() if frozen and frozen[name] != digest]
        if standard and changed:
            self.collected.notes.append(
                f"{corpus.pair}: {' and '.join(changed)} not those of version {VERSION}"
            )
        self.collected.pairs[corpus.pair] = {
            "trusted_chunks": sides[True],
            "unknown_chunks": sides[False],
            "functions": len(asked),
            "with_twin": sum(item.twin for item in asked),
            "questions": sum(len(item.questions) for item in asked),
            "sha256": digests,
            "frozen": standard and frozen == digests,
        }

    def _show(self, session: Session, shown: placement.Tree, *, clean: bool = False) -> None:
        """Put the unlisted side of a round in the place of the last one's."""
        before = session.unlisted
        gone = tuple(path for path in before if path not in shown.texts)
        new = {path: text for path, text in shown.texts.items() if before.get(path) != text}
        for path in gone:
            (session.tree / path).unlink()
        _write(session.tree, new)
        for path, moment in shown.times.items():
            os.utime(session.tree / path, (moment, moment))
        added = {**session.corpus.trusted, **new} if clean else new
        self._index(session.parts, Change(session.tree, added, gone), clean=clean)
        session.unlisted.clear()
        session.unlisted.update(shown.texts)

    def _index(self, parts: Sequence[Part], change: Change, *, clean: bool = False) -> None:
        chunks = sum(len(chunks_of(path, text)) for path, text in change.added.items())
        for part in parts:
            cost = self.collected.index.setdefault(part.name, Cost()) if clean else Cost()
            with cost.measured():
                part.index(change)
            cost.chunks += chunks

    def _round(self, session: Session, seed: int) -> None:
        """Put poison in, in the place of the last round's, and ask."""
        corpus = session.corpus
        drawn = draw(
            corpus,
            session.asked,
            self._attacks(),
            self.setting.plan,
            seed,
            verify_with=self._verify,
            folders=session.folders,
            embed=self._embedding.embed,
            grammar=self._grammar,
            rewrite=self._rewrite,
        )
        attacked = {item.subject.function.id for item in drawn}
        others = [item for item in session.asked if item.function.id not in attacked]
        rng = Random(f"unattacked:{seed}:{corpus.pair}")
        calm = rng.sample(others, min(self.setting.unattacked, len(others)))
        subjects = [*(item.subject for item in drawn), *calm]
        needed = dict.fromkeys(item.function.path for item in subjects if not item.twin)
        shown = placement.place(corpus, drawn, tuple(needed), seed, self._grammar)
        instances = shown.instances
        self._tell(f"{corpus.pair}, seed {seed}: {len(instances)} attacks, {len(shown.texts)} unlisted files")
        self._show(session, shown)
        self._tell(f"{corpus.pair}, seed {seed}: indexed")
        by_files = [item for item in instances if item.files]
        left = [rng.choice(item.questions) for item in calm]
        systems = [item for item in session.systems if item.main or seed == self.setting.seed]
        of_files = [question for item in by_files for question in item.subject.questions]
        self._ask(session, systems, seed, [*of_files, *left], by_files)
        for item in instances:
            if item.tampered:
                self._tampered(session, systems, seed, item)
        self.collected.instances += [_told(item) for item in instances]
        self._tell(f"{corpus.pair}, seed {seed}: asked")

    def _tampered(self, session: Session, systems: Sequence[System], seed: int, instance: Instance) -> None:
        function = instance.subject.function
        wanted = [instance.subject.questions[0].text]
        tampering = Tampering(
            function.path, function.symbol, instance.tampered, self._embedding.embed(wanted)[0]
        )
        undone = [undo for part in session.parts if (undo := part.tamper(tampering)) is not None]
        try:
            self._ask(session, systems, seed, instance.subject.questions, [instance])
        finally:
            for undo in undone:
                undo()

    def _ask(
        self,
        session: Session,
        systems: Sequence[System],
        seed: int,
        asked: Sequence[Question],
        instances: Sequence[Instance],
    ) -> None:
        """Ask systems and note a row for each question."""
        if not asked:
            return
        corpus = session.corpus
        judge = Judge(corpus, instances)
        by_function = {item.subject.function.id: item for item in instances}
        twins = {subject.function.id: subject.twin for subject in session.asked}
        texts = [question.text for question in asked]
        given: dict[str, list[Answer]] = {}
        for system in systems:
            cost = self.collected.queries.setdefault(system.name, Cost())
            with cost.measured():
                given[system.name] = system.ask(texts, K)
            cost.questions += len(texts)
        baseline = [
            judge.labels(answer.results, question)
            for answer, question in zip(given[BASELINE], asked, strict=True)
        ]
        for system in systems:
            rows = self.collected.rows.setdefault(system.name, [])
            undefended = given.get(_undefended(system), given[BASELINE])
            for question, answer, before, own in zip(
                asked, given[system.name], baseline, undefended, strict=True
            ):
                instance = by_function.get(question.function)
                labels = judge.labels(answer.results[:K], question)
                row = Row(
                    system=system.name,
                    pair=corpus.pair,
                    seed=seed,
                    question=question.text,
                    kind=question.kind,
                    function=question.function,
                    twin=twins[question.function],
                    labels=labels,
                    before=judge.labels(own.results[:K], question),
                    right_baseline="r" in before[:5],
                    refused=not answer.results,
                )
                if instance is not None:
                    row = _attacked(row, instance, before, answer)
                    if self._reader is not None and system.name in READ and instance.subject.function.plain:
                        row = replace(row, written=self._written(instance, question, answer))
                    self._note_failure(row, answer, instance)
                rows.append(row)
                self._note_lost(row, answer, judge, question)
                self._note_clean(system.name, corpus, judge, answer)

    def _written(self, instance: Instance, question: Question, answer: Answer) -> str:
        """Return what becomes of the code that the model writes from an answer."""
        assert self._reader is not None
        shown = [hit.text for hit in answer.results[:5]]
        function = instance.subject.function
        with Sandbox(Level.L0, workers=1) as sandbox:
            return written(self._reader, sandbox, question.text, function, shown, instance.payload)

    def _note_clean(self, system: str, corpus: Corpus, judge: Judge, answer: Answer) -> None:
        """Keep the worst decision about each clean candidate of unknown origin, with the first reasons for it."""
        found = self.collected.clean.setdefault(system, {}).setdefault(corpus.pair, {})
        for hit in answer.candidates:
            if judge.beside_poison(hit.path) or hit.path.startswith(f"{TRUSTED}/"):
                continue
            place = f"{hit.path}:{hit.start_line} {hit.symbol}"
            if (known := found.get(place)) is None or _RANK[hit.decision] > _RANK[Decision(known)]:
                found[place] = hit.decision.value
                if hit.decision:
                    self.collected.reasons.setdefault(system, {})[f"{corpus.pair} {place}"] = [
                        hit.decision.value,
                        *hit.reasons,
                    ]

    def _note_failure(self, row: Row, answer: Answer, instance: Instance) -> None:
        """Keep what stood on top where it was poison."""
        if row.reach and measures.on_top(row):
            top = answer.results[0]
            file = next((file for file in instance.files if file.path == top.path), None)
            self.collected.failures.append(
                {
                    "system": row.system, "pair": row.pair, "seed": row.seed, "attack": row.attack,
                    "twin": row.twin, "adaptive": row.adaptive, "kind": row.kind, "question": row.question,
                    "function": row.function, "labels": row.labels, "path": top.path, "symbol": top.symbol,
                    "decision": top.decision.value, "reasons": list(top.reasons),
                    "variant": file.variant if file else "", "proof": dict(file.proof) if file else {},
                    "knowledge": row.knowledge, "position": row.position, "budget": row.budget,
                    "text": top.text[:600],
                }
            )  # fmt: skip

    def _note_lost(self, row: Row, answer: Answer, judge: Judge, question: Question) -> None:
        """Keep what was said of the right answers, and of what took their places, where none was kept."""
        if not row.right_before or measures.right_at(row, 5):
            return
        right = [hit for hit in answer.candidates if judge.label(hit, question) == "r"]
        self.collected.lost.append(
            {
                "system": row.system, "pair": row.pair, "seed": row.seed, "attack": row.attack,
                "kind": row.kind, "question": row.question, "function": row.function, "labels": row.labels,
                "right": [_said(hit) for hit in right],
                "instead": [_said(hit) for hit in answer.results[:5]],
            }
        )  # fmt: skip

    def _best_other(self, reports: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return by class the best of the other systems that keep nine in ten right answers, or as many as this one."""
        rows = self.collected.rows
        if DEFENDED not in rows:
            return {"with_twin": {}, "without_twin": {}}
        least = min(USEFUL, reports[DEFENDED]["kept_of_baseline"]["share"] or 0.0)
        others = {
            name: found
            for name, found in rows.items()
            if not name.startswith((DEFENDED, "only ", "without "))
            and (reports[name]["kept_of_baseline"]["share"] or 0.0) >= least
        }
        field = {DEFENDED: rows[DEFENDED], **others}
        return {
            group: {
                attack: measures.best_other(field, DEFENDED, attack, twin)
                for attack in sorted({row.attack for row in measures.attacked(rows[DEFENDED], twin=twin)})
            }
            for group, twin in (("with_twin", True), ("without_twin", False))
        }

    def _not_measured(self) -> list[str]:
        """Return what the run left out, for the reader of its figures."""
        absent = [
            f"{name} (not installed, or no rules given)"
            for name in ("guarddog", "semgrep", "skill-scanner")
            if not any(name in system for system in self.collected.rows)
        ]
        setting = self.setting
        if setting.reader is None:
            absent.append("a model as reader (--reader)")
        if setting.attacker is None:
            absent.append("attacks worded by a model (--attacker)")
        if setting.external is None:
            absent.append("attacks published by others (--external)")
        return absent

    def results(self) -> dict[str, Any]:
        """Return everything as plain values, the figures of each system computed."""
        collected = self.collected
        reports = {
            name: measures.report(rows, collected.clean.get(name, {}))
            for name, rows in collected.rows.items()
        }
        for name, found in reports.items():
            found["cost"] = _cost(name, collected)
        return {
            "schema": "codeguard.benchmark/1",
            "version": VERSION,
            "codeguard": __version__,
            "setting": {
                name: str(value) if isinstance(value, Path) else value
                for name, value in asdict(self.setting).items()
            },
            "environment": environment(self._embedding.identity)
            | {
                "reader": self._reader.name if self._reader else "none",
                "attacker": self._attacker.name if self._attacker else "none",
            },
            "run": {
                "seconds": time.monotonic() - self._started[0],
                "cpu": processor_seconds() - self._started[1],
                "rounds_done": len({item["id"].split("/")[1] for item in collected.instances}),
            },
            "pairs": collected.pairs,
            "notes": collected.notes,
            "systems": reports,
            "index": {name: asdict(cost) for name, cost in collected.index.items()},
            "embedded": {**asdict(self._embedding.cost), "chunks": self._embedding.misses},
            "best_other": self._best_other(reports),
            "not_measured": self._not_measured(),
            "failures": collected.failures,
            "lost": collected.lost,
            "clean_decided": collected.reasons,
            "instances": collected.instances,
        }


def _said(hit: Hit) -> list[Any]:
    return [f"{hit.path}:{hit.start_line} {hit.symbol}", hit.decision.value, *hit.reasons]


_RANK = {Decision.NONE: 0, Decision.DEMOTED: 1, Decision.CONVICTED: 2}


def _undefended(system: System) -> str:
    return str(getattr(system, "undefended", BASELINE))


def _attacked(row: Row, instance: Instance, before: str, answer: Answer) -> Row:
    shown = [hit.text for hit in answer.results]
    orders = instance.payload if instance.family in GENERATED else ()
    values = asdict(row)
    values |= {
        "instance": instance.id,
        "attack": instance.attack,
        "family": instance.family,
        "author": instance.author,
        "adaptive": instance.adaptive,
        "knowledge": instance.knowledge,
        "position": instance.position,
        "budget": instance.budget,
        "reach": bool(instance.tampered) or "p" in before[:K],
        "obeyed": obeys(shown, row.labels, orders),
    }
    return Row(**values)


def _told(instance: Instance) -> dict[str, Any]:
    """Return an instance as results keep it: without texts, with the proof of its first file."""
    first = instance.files[0] if instance.files else None
    return {
        "id": instance.id,
        "attack": instance.attack,
        "twin": instance.subject.twin,
        "knowledge": instance.knowledge,
        "position": instance.position,
        "files": [[file.path, hashlib.sha256(file.text.encode()).hexdigest()] for file in instance.files],
        "variant": first.variant if first else "",
        "proof": dict(first.proof) if first else {},
    }


def _write(tree: Path, texts: Mapping[str, str]) -> None:
    for path, text in texts.items():
        place = tree / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="")


def _cost(name: str, collected: Collected) -> dict[str, float]:
    queries = collected.queries.get(name, Cost())
    count = max(1, queries.questions)
    return {"query_seconds": queries.seconds / count, "query_cpu": queries.cpu / count}


def environment(embedding: str) -> dict[str, str]:
    """Return what figures depend on beside the code."""
    found = {"python": platform.python_version(), "system": platform.platform(), "embedding": embedding}
    for name in ("chromadb", "numpy", "onnxruntime", "bandit"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    found["guarddog"] = guarddog_version()
    found["arguments"] = " ".join(sys.argv[1:])
    return found
