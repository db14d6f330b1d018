"""Functions of unknown origin that repeat what another one says, with more of the question's words.

Nothing shows here which of two such texts is right. But what one adds to the other are words that were written to be
found, and being found is all that they show: the plainer one stands before it. It has to describe itself, so that
nobody moves an answer back by a text without words. A stub stands behind the function whose name it has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from codeguard.analysis.python.sketches import resemblance, sketch, words_of_code
from codeguard.corpus.patterns import lazy
from codeguard.index.lexical import index_words, query_words
from codeguard.models import Chunk, ChunkKind

LEAST_SUMMARY = 4  # words of a description that another one repeats in their order
NEAR_COPY = 0.7  # resemblance of the code from which one of two functions is an edit of the other
LEAST_CODE = 16  # hashes of a sketch: short functions resemble each other anyway
SURPLUS = 2  # words of the question that only one of them has: siblings of one library differ in less
BEHIND = 1e-6
_CODE = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD})
_HEADER = lazy(r"\bdef \w{1,200}\(([^)]{0,2000})\)")
_PARAMETER = lazy(r"(?:^|,)\s{0,80}\*{0,2}(\w{1,200})")
_STUB = lazy(r"(?:pass|\. \. \.|return(?: None)?|raise \w{1,200}(?: \( [^()]{0,400}\))?)?")


@dataclass(frozen=True)
class _Text:
    """A function, its words, the first paragraph of its description, its name and parameters."""

    chunk: Chunk
    words: frozenset[str]
    in_order: str
    summary: str
    name: str
    parameters: tuple[str, ...]
    is_stub: bool

    @cached_property
    def code(self) -> tuple[int, ...]:
        """A sketch of its code, which few questions need."""
        return sketch(words_of_code(self.chunk.text, self.chunk.language))

    def stands_behind(self, other: _Text, surplus: int) -> bool:
        """Return whether it says the same in more words of the question, or is a stub of what the other one does."""
        named = other.name in self.name and (other.name == self.name or "_" in other.name)
        named = named and other.parameters == self.parameters
        if self.is_stub is not other.is_stub and named:
            return self.is_stub
        if surplus < SURPLUS or not other.summary:
            return False
        if named or other.summary in self.in_order:
            return True
        is_long = min(len(self.code), len(other.code)) >= LEAST_CODE
        return is_long and resemblance(self.code, other.code) >= NEAR_COPY


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
    texts = {id_: _text(chunks[id_]) for id_ in foreign if chunks[id_].kind in _CODE}
    fit = {id_: len(asked & text.words) for id_, text in texts.items()}
    for id_ in sorted(texts, key=lambda id_: (texts[id_].is_stub, fit[id_], id_)):
        plainer = [
            other
            for other, said in texts.items()
            if texts[id_].is_stub or fit[id_] - fit[other] >= SURPLUS  # most pairs end here
            if chunks[other].path != chunks[id_].path
            if texts[id_].stands_behind(said, fit[id_] - fit[other])
        ]
        best = min(plainer, key=lambda other: (found[other], other), default=None)
        if best is not None and found[id_] <= found[best]:
            found[id_], behind[id_] = found[best] + BEHIND, best
    return found, behind


@lru_cache(maxsize=1 << 13)
def _text(chunk: Chunk) -> _Text:
    code, header = words_of_code(chunk.text, chunk.language), _HEADER.search(chunk.text)
    body = _body(code)
    described = body.pop(0) if body and body[0][-1] in "\"'" else ""
    summary = described.lstrip("rRbBuUfF").strip("\"' \t\r\n").replace("\r\n", "\n").partition("\n\n")[0]
    words = index_words(summary)
    own = index_words(chunk.text)
    return _Text(
        chunk,
        frozenset(own),
        f" {' '.join(own)} ",
        f" {' '.join(words)} " if len(words) >= LEAST_SUMMARY else "",
        chunk.symbol.rpartition(".")[2],
        tuple(_PARAMETER.findall(header[1])) if header is not None else (),
        # One with a decorator is an overload or abstract: its implementation stands elsewhere.
        code[:1] in (["def"], ["async"]) and _STUB.fullmatch(" ".join(body)) is not None,
    )


def _body(code: Sequence[str]) -> list[str]:
    """Return the tokens of a Python function behind its header."""
    depth = 0
    start = code.index("def") if "def" in code else len(code)
    for place, word in enumerate(code[start:], start):
        depth += (word in "([{") - (word in ")]}")
        if word == ":" and not depth:
            return list(code[place + 1 :])
    return []
