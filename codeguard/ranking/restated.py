"""Texts of unknown origin that stand right behind another one of which they are an edit.

Nothing shows here which of two such texts is right. But what one adds to the other are words that were written to be
found, and being found is all that they show: the plainer one stands before it. It has to describe itself, so that
nobody moves an answer back by a text without words. A page that says what a function says of itself stands behind it:
who asks for code gets the code. A stub stands behind the function whose name it has. Of two near
copies the one that lacks a check or a protecting call of the other is the riskier one, whoever wrote them; otherwise
the one that is the other with something put in: what a copy adds, nobody asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from codeguard.analysis.python.sketches import resemblance, sketch, words_of_code
from codeguard.analysis.python.statements import statements
from codeguard.analysis.reading import PROSE
from codeguard.analysis.rules.near_copy import LEAVING, PROTECTING, WEAK, lost_protections
from codeguard.corpus.patterns import lazy
from codeguard.index.lexical import index_words, query_words
from codeguard.models import Chunk, ChunkKind

LEAST_SUMMARY = 4  # words of a description that another one repeats in their order
NEAR_COPY = 0.7  # resemblance of the code, or share of its words, from which one of two texts is an edit
MOST_COMPARED, LONGEST = 20, 400  # texts whose protections are compared, the nearest; tokens of an edit
LEAST_CODE = 16  # hashes of a sketch, or tokens: short functions resemble each other anyway
LEAST_NAMED = 8  # tokens of functions of one name
MOST_ADDED = 2  # times the tokens of what something was put into
SURPLUS = 2  # words of the question that only one of them has: siblings of one library differ in less
BEHIND = 1e-6
MOST_REMEMBERED = 1_000  # texts that one was compared with
_STRONG = LEAVING | PROTECTING
_GUARDS = _STRONG | WEAK
_COMPARED = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD, ChunkKind.MODULE})
_HEADER = lazy(r"\bdef \w{1,200}\(([^)]{0,2000})\)")
_PARAMETER = lazy(r"(?:^|,)\s{0,80}\*{0,2}(\w{1,200})")
_STUB = lazy(r"(?:pass|\. \. \.|return(?: \w{1,200})?|raise \w{1,200}(?: \( [^()]{0,400}\))?)?")


class _Pair(NamedTuple):
    """What holds of a text beside another one, whatever is asked."""

    stub: bool | None  # whether it is a stub of what the other one does; None where both or neither may be
    repeats: bool  # says the same
    adds: bool
    is_near: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Text:
    """The words of a text, the first line of its description, name, parameters, a sketch and words of its code.

    `compared` are the texts that it was compared with, `related` those of them of which anything holds.
    """

    words: str
    summary: str
    name: str
    parameters: tuple[str, ...]
    code: tuple[int, ...]
    tokens: frozenset[str]
    normal: tuple[str, ...]  # its tokens without names of variables, of a function alone
    is_stub: bool
    is_page: bool
    said: frozenset[str]
    compared: set[_Text] = field(default_factory=set)
    related: dict[_Text, _Pair] = field(default_factory=dict)

    def compare(self, others: Set[_Text]) -> None:
        """Compare it with the others that it was not compared with yet."""
        if len(self.compared) > MOST_REMEMBERED:
            self.compared.clear()
            self.related.clear()
        for other in others - self.compared:
            pair = self._beside(other)
            if any(pair) and other is not self:
                self.related[other] = pair
        self.compared.update(others)

    def _beside(self, other: _Text) -> _Pair:
        named = self.is_named_like(other)
        both, sizes = len({*self.code}.intersection(other.code)), (len(self.code), len(other.code))
        may_be = min(sizes) >= LEAST_CODE and both >= NEAR_COPY * max(sizes)  # takes less time than to say it
        repeats = bool(other.summary and other.name and (self.name or self.is_page)) and (
            named
            or other.summary in self.words
            or (may_be and resemblance(self.code, other.code) >= NEAR_COPY)
        )
        stub = self.is_stub if self.is_stub is not other.is_stub and named else None
        return _Pair(stub, repeats, self.adds_to(other), self.is_near(other))

    def stands_behind(self, other: _Text, surplus: int) -> bool:
        """Return whether it says the same in more words of the question, or is a stub of what the other one does."""
        pair = self.related.get(other)
        if pair is None or pair.stub is not None:
            return pair is not None and bool(pair.stub)
        return surplus >= SURPLUS and pair.repeats

    def is_named_like(self, other: _Text) -> bool:
        """Return whether its name is or has the other's, and its parameters are the same."""
        named = other.name in self.name and (other.name == self.name or "_" in other.name)
        return named and other.parameters == self.parameters

    def adds_to(self, other: _Text) -> bool:
        """Return whether its code is the other's with something put in that protects nothing."""
        least = LEAST_NAMED if self.is_named_like(other) else LEAST_CODE
        if not least <= len(other.normal) < len(self.normal) <= MOST_ADDED * len(other.normal):
            return False
        rest = iter(self.normal)
        return all(word in rest for word in other.normal) and sum(
            word in _STRONG for word in self.normal
        ) <= sum(word in _STRONG for word in other.normal)

    def is_near(self, other: _Text) -> bool:
        """Return whether one may be an edit of the other in which what protects it was changed."""
        least = NEAR_COPY * max(len(self.tokens), len(other.tokens))
        return (
            min(len(self.tokens), len(other.tokens)) >= least
            and not (_GUARDS.isdisjoint(self.tokens) and _GUARDS.isdisjoint(other.tokens))
            and len(self.tokens & other.tokens) >= least
        )


def restated(
    question: str, costs: Mapping[str, float], chunks: Mapping[str, Chunk], foreign: Collection[str]
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the costs with repeating functions right behind what they repeat, and which those are, by id.

    Args:
        question: the query.
        costs: by id; less is nearer, in any unit.
        chunks: by id.
        foreign: the ids that the manifest does not list.
    """
    asked, found, behind = frozenset(query_words(question)), dict(costs), dict[str, str]()
    said = {
        id_: _text(chunks[id_]) for id_ in foreign if chunks[id_].kind in _COMPARED or _is_prose(chunks[id_])
    }
    texts = {id_: text for id_, text in said.items() if not text.is_page}
    front = set(sorted(texts, key=lambda id_: (costs[id_], id_))[:MOST_COMPARED])
    ids = {text: id_ for id_, text in texts.items()}
    for text in ids:
        text.compare(ids.keys())
    pages = {id_: text for id_, text in said.items() if text.is_page}
    if pages:
        own = (id_ for id_ in chunks.keys() - set(foreign) if chunks[id_].kind in _COMPARED)
        ids |= {_text(chunks[id_]): id_ for id_ in own}
    for text in pages.values():
        text.compare(ids.keys())
    texts |= pages
    fit = {id_: len(asked & text.said) for id_, text in texts.items()}
    for id_ in sorted(texts, key=lambda id_: (texts[id_].is_stub, fit[id_], id_)):
        text = texts[id_]
        plainer = [
            other
            for said, pair in text.related.items()
            if (other := ids.get(said, "")) and chunks[other].path != chunks[id_].path
            if text.stands_behind(said, fit[id_] - fit[other] if other in fit else SURPLUS)
            or (
                (pair.adds or (pair.is_near and {id_, other} <= front and _lost(chunks[id_], chunks[other])))
                and not said.stands_behind(text, fit[other] - fit[id_])
            )
        ]
        best = min(plainer, key=lambda other: (found[other], other), default=None)
        if best is not None and found[id_] <= found[best]:
            found[id_], behind[id_] = found[best] + BEHIND, best
    return found, behind


def relation(chunk: Chunk, other: Chunk) -> tuple[str, str]:
    """Return the rule by which a text stands behind another, and how it differs from that."""
    if statement := lost(chunk, other):
        return "unprotected", f"without what protects that ({statement})"
    if _text(chunk).adds_to(_text(other)):
        return "adds", "with something put in"
    if _text(chunk).is_page:
        return "repeats", "whose description it repeats"
    return "repeats", "and repeats more of the question"


def lost(chunk: Chunk, other: Chunk) -> str:
    """Return the statement that protects a text and that a near copy of it lacks, "" if the copy has one of its own."""
    return _lost(chunk, other) if _text(chunk).is_near(_text(other)) else ""


@lru_cache(maxsize=1 << 13)
def _lost(chunk: Chunk, other: Chunk) -> str:
    found = next(lost_protections(other, chunk), None)
    return "" if found is None or any(lost_protections(chunk, other)) else found.was or found.now


@lru_cache(maxsize=1 << 12)
def _text(chunk: Chunk) -> _Text:
    code, header = words_of_code(chunk.text, chunk.language), _HEADER.search(chunk.text)
    body = _body(code)
    described = body.pop(0) if body and body[0][-1] in "\"'" else ""
    words = index_words(described.lstrip("rRbBuUfF").strip("\"' \t\r\n").partition("\n")[0])
    is_page = not code or _is_prose(chunk)  # comments alone, such as a notebook's cells of prose
    name, is_short = chunk.symbol.rpartition(".")[2], len(code) <= LONGEST and not is_page
    said = index_words(chunk.text)
    return _Text(
        f" {' '.join(said)} ",
        f" {' '.join(words)} " if len(words) >= LEAST_SUMMARY else "",
        name,
        tuple(_PARAMETER.findall(header[1])) if header is not None else (),
        sketch(code),
        frozenset(code) if is_short else frozenset(),
        tuple(word for item in statements(chunk.text, chunk.language, name) for word in item.key)
        if name and body and is_short
        else (),
        # One with a decorator is an overload or abstract: its implementation stands elsewhere.
        code[:1] in (["def"], ["async"]) and _STUB.fullmatch(" ".join(body)) is not None,
        is_page,
        frozenset(said),
    )


def _is_prose(chunk: Chunk) -> bool:
    return chunk.kind is ChunkKind.LINES and chunk.language in PROSE


def _body(code: Sequence[str]) -> list[str]:
    """Return the tokens of a Python function behind its header."""
    depth = 0
    start = code.index("def") if "def" in code else len(code)
    for place, word in enumerate(code[start:], start):
        depth += (word in "([{") - (word in ")]}")
        if word == ":" and not depth:
            return list(code[place + 1 :])
    return []
