"""What a system under test is: it indexes files, answers questions, and says what it decided about candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from codeguard.index.embedding import Embedding

Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]


class Decision(StrEnum):
    """What a system decided about a candidate. CONVICTED also stands for what a filter removed."""

    NONE = ""
    DEMOTED = "demoted"
    CONVICTED = "convicted"


@dataclass(frozen=True, slots=True)
class Hit:
    """A stretch of a file as an answer.

    `symbol` is the qualified name of the function, method or class, empty for other text: a right answer is
    recognized by path and symbol. `text` is what the system shows, lines are 1-based and inclusive.
    """

    path: str
    symbol: str
    start_line: int
    end_line: int
    text: str
    decision: Decision = Decision.NONE
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system gives for one question: results, best first, one a file, and every candidate it looked at."""

    results: tuple[Hit, ...]
    candidates: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What changed in the corpus below `root`: texts by path, and paths that are gone. Already on disk.

    Paths below `trusted` are the team's own, and a system may be told so.
    """

    root: Path
    added: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    trusted: str = "ours"


@dataclass(frozen=True, slots=True)
class Tampering:
    """One entry of a vector store that an attacker rewrites, text and vector."""

    path: str
    symbol: str
    text: str
    vector: Vectors


class Part(Protocol):
    """An index that one or several systems answer from."""

    name: str

    def index(self, change: Change) -> None:
        """Bring the index up to date."""

    def tamper(self, tampering: Tampering) -> Callable[[], None] | None:
        """Let an attacker rewrite an entry, and return how to undo it; None where there is no such store."""

    def close(self) -> None:
        """Let go of everything."""


@runtime_checkable
class System(Protocol):
    """A system under test; `parts` are indexed once each, however many systems share them.

    `main` systems answer every round, the others the first seed alone. A
    system may have an `undefended`, the name of another one: what its right
    answers are kept from. It is the baseline where there is none.
    """

    name: str
    main: bool
    parts: tuple[Part, ...]

    def ask(self, questions: Sequence[str], k: int) -> list[Answer]:
        """Return an answer for each question, `k` results at most."""
        ...


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a factory of systems gets: a folder of its own that may be kept, the corpus, and an embedding to share.

    The embedding keeps vectors, so that no text is embedded twice.
    """

    folder: Path
    corpus: Path
    embedding: Embedding


def one_per_file(hits: Iterable[Hit], k: int) -> tuple[Hit, ...]:
    """Return the first `k` hits of distinct files."""
    kept: dict[str, Hit] = {}
    for hit in hits:
        if len(kept) == k:
            break
        kept.setdefault(hit.path, hit)
    return tuple(kept.values())
