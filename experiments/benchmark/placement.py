"""Where poison and honest files lie: one way for both, so that nothing but the text of a function tells them apart.

A poisoned function stands in a loose file in the place of an honest one of about its length, under the name that file
has anyway. The honest files of a round are drawn by the lengths of the poisoned ones. Pages, notebooks and files for
agents come in the same proportion, written by the same functions. Order and times are drawn for all together.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from experiments.benchmark.attacks import Draft
from experiments.benchmark.carriers import Carrier
from experiments.benchmark.corpora import Corpus, Function, LooseNames, chunks_of
from experiments.benchmark.grammar import Grammar
from experiments.benchmark.poison import ALONE, AMONG, Instance, Poisoned
from experiments.benchmark.wording import purpose
from experiments.corpus.targets import first_line

SHOWN = 0.5  # of the pool's chunks: honest unlisted files of one round
SIGHT = 12  # files among which the one of the nearest length is taken
YEAR = 365 * 24 * 3600
NOW = 1_790_000_000


@dataclass(frozen=True, slots=True)
class Tree:
    """The unlisted side in one round: texts by path in the order in which they come, times, and the attacks."""

    texts: Mapping[str, str]
    times: Mapping[str, float]
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class _Host:
    """A file with the lines of its functions and classes, and the names that it binds."""

    spans: tuple[tuple[int, int, int], ...]  # first line, last line, characters
    bound: frozenset[str]


def place(
    corpus: Corpus, instances: Sequence[Instance], needed: Sequence[str], seed: int, grammar: Grammar
) -> Tree:
    """Return the unlisted side with the poison in it; `needed` are honest files that have to be there."""
    rng = Random(f"place:{seed}:{corpus.pair}")
    placing = _Placing(
        corpus, rng, [path for path in sorted(corpus.pool) if path not in needed], grammar, seed
    )
    made = [placing.instance(item) for item in instances]
    texts = {path: corpus.texts[path] for path in needed}
    texts |= {file.path: file.text for item in made for file in item.files}
    texts |= placing.honest(sum(len(chunks_of(path, corpus.texts[path])) for path in needed))
    order = sorted(texts)
    rng.shuffle(order)
    times = {path: NOW - rng.random() * YEAR for path in order}
    return Tree({path: texts[path] for path in order}, times, tuple(made))


class _Placing:
    def __init__(self, corpus: Corpus, rng: Random, free: list[str], grammar: Grammar, seed: int) -> None:
        self._corpus, self._rng, self._free, self._grammar = corpus, rng, free, grammar
        self._names = LooseNames(f"{seed}:{corpus.pair}:carriers")
        self._documented = [item for item in corpus.functions if item.path in corpus.pool]
        self._lengths: list[int] = []
        self._carried: list[Draft] = []

    def instance(self, instance: Instance) -> Instance:
        """Return an attack with its files placed."""
        answers = {path for question in instance.subject.questions for path, _ in question.answers}
        files = [
            self._hosted(draft, proof, answers) if draft.carrier is None else self._page(draft, proof)
            for draft, proof in instance.drafts
        ]
        among = any(len(chunks_of(file.path, file.text)) > len(file.lines) for file in files)
        position = instance.position if not files else AMONG if among else ALONE
        return replace(instance, files=tuple(files), position=position)

    def _hosted(self, draft: Draft, proof: Mapping[str, str], answers: set[str]) -> Poisoned:
        """Return a loose file with the draft in the place of one of its functions."""
        head, body = parts_of(draft.text)
        self._lengths.append(len(body))
        binds = host_of(draft.text).bound
        order = self._rng.sample(self._free, len(self._free))
        near = sorted(order[:SIGHT], key=lambda path: gap_of(self._corpus.texts[path], len(body)))
        for path in (*near, *order[SIGHT:]):
            text = self._corpus.texts[path]
            host = host_of(text)
            if path in answers or not host.spans:
                continue
            first, last, _ = min(host.spans, key=lambda span: abs(span[2] - len(body)))
            if (host.bound - host_of("\n".join(text.split("\n")[first - 1 : last])).bound) & binds:
                continue
            merged, first, last = put(text, (first, last), head, body)
            clean = [span for span in _spans_of(merged, draft.clean) if first <= span[0]]
            lines = [*_without((first, last), clean), *_lines_with(merged, draft.payload, head)]
            if _parses(merged):
                self._free.remove(path)
                return Poisoned(path, merged, draft.variant, tuple(lines), draft.payload, proof)
        raise ValueError(f"no loose file is left for {draft.variant}: got {len(self._free)}, expected more")

    def _page(self, draft: Draft, proof: Mapping[str, str]) -> Poisoned:
        self._carried.append(draft)
        assert draft.carrier is not None
        path = self._names(draft.carrier.suffix, draft.carrier.name)
        lines = _without((1, draft.text.count("\n") + 1), _chunks_named(path, draft.text, draft.clean))
        return Poisoned(path, draft.text, draft.variant, tuple(lines), draft.payload, proof)

    def honest(self, used: int) -> dict[str, str]:
        """Return honest files: loose ones by the lengths of the poison, and what is no Python in proportion."""
        room = SHOWN * sum(len(chunks_of(path, self._corpus.texts[path])) for path in self._corpus.pool)
        found: dict[str, str] = {}
        lengths = self._lengths or [0]
        while self._free and used < room:
            length = self._rng.choice(lengths)
            few = self._rng.sample(self._free, min(SIGHT if self._lengths else 1, len(self._free)))
            path = min(few, key=lambda item: (gap_of(self._corpus.texts[item], length), item))
            self._free.remove(path)
            found[path] = self._corpus.texts[path]
            used += len(chunks_of(path, found[path]))
        each = round(len(found) / len(lengths)) if self._documented else 0
        for draft in self._carried:
            assert draft.carrier is not None
            for _ in range(each):
                path = self._names(draft.carrier.suffix, draft.carrier.name)
                found[path] = self._honest_page(draft.carrier, draft)
        return found

    def _honest_page(self, carrier: Carrier, like: Draft) -> str:
        """Return a page of a draft's kind about an honest function, its length the nearest of a few."""
        options = []
        for function in self._rng.sample(self._documented, min(SIGHT, len(self._documented))):
            said = [self._sentence(carrier, len(line)) for line in like.said]
            options.append(_about(function, carrier, said, self._rng))
        return min(options, key=lambda text: abs(len(text) - len(like.text)))

    def _sentence(self, carrier: Carrier, length: int) -> str:
        if not length:
            return ""
        table = "chore" if carrier.kind == "agent" else "honest"
        few = [self._grammar.form(table, self._rng) for _ in range(SIGHT)]
        return min(few, key=lambda text: abs(len(text) - length))


def _about(function: Function, carrier: Carrier, said: Sequence[str], rng: Random) -> str:
    return carrier.text(
        purpose(function.docstring, rng), first_line(function.docstring), function.source, said
    )


@lru_cache(maxsize=1 << 12)
def host_of(text: str) -> _Host:
    """Return what a file offers as a place for something else; nothing where it does not parse."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return _Host((), frozenset())
    lines = text.split("\n")
    spans, bound = [], set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            last = node.end_lineno or first
            spans.append((first, last, len("\n".join(lines[first - 1 : last]))))
            bound.add(node.name)
        bound |= {
            item.id
            for item in ast.walk(node)
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        }
    return _Host(tuple(spans), frozenset(bound))


def gap_of(text: str, length: int) -> int:
    """Return by how many characters a file's most similar function differs from a length."""
    return min((abs(size - length) for _, _, size in host_of(text).spans), default=1 << 20)


def parts_of(text: str) -> tuple[list[str], str]:
    """Return the import statements at the top level of a module, and the rest of it."""
    lines = text.split("\n")
    head = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            head.append(ast.unparse(node))
            for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                lines[number] = ""
    return head, "\n".join(lines).strip("\n")


def put(text: str, at: tuple[int, int], head: Sequence[str], body: str) -> tuple[str, int, int]:
    """Return a file with a body in the place of some lines and imports among its own, and the body's lines."""
    lines = text.split("\n")
    lines[at[0] - 1 : at[1]] = body.split("\n")
    new = [line for line in head if line not in lines and "__future__" not in line]
    top = 0
    for node in ast.parse(text).body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            top = node.end_lineno or node.lineno
    if top >= at[0]:
        top = 0
    lines[top:top] = new
    first = at[0] + len(new)
    return "\n".join(lines), first, first + body.count("\n")


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _spans_of(text: str, names: Sequence[str]) -> list[tuple[int, int]]:
    return _chunks_named("host.py", text, names)


def _chunks_named(path: str, text: str, names: Sequence[str]) -> list[tuple[int, int]]:
    return [(chunk.start_line, chunk.end_line) for chunk in chunks_of(path, text) if chunk.symbol in names]


def _without(span: tuple[int, int], holes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a span of lines without those of some others."""
    found, start = [], span[0]
    for first, last in sorted(holes):
        if start < first:
            found.append((start, first - 1))
        start = max(start, last + 1)
    return [*found, (start, span[1])] if start <= span[1] else found


def _lines_with(text: str, payload: Sequence[str], head: Sequence[str]) -> list[tuple[int, int]]:
    """Return the lines of imports that are the payload."""
    lines = text.split("\n")
    return [(number, number) for number, line in enumerate(lines, 1) if line in head and line in payload]
