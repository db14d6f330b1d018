"""How a trusted file improves the fit of its chunks to a query: by its name, definitions and other chunks.

The author of an untrusted file chooses its name and symbols, so none of this applies to it: renaming
untrusted files changes no rank. Weights are in standard deviations of the cost that they are subtracted from,
tuned on the questions about four repositories and reported on four others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import PurePosixPath

from codeguard.index.lexical import index_words, query_words
from codeguard.models import Chunk
from codeguard.ranking.scoring import standardise

NAME_WEIGHT = 1.3  # all words of the file's name are in the query
DEFINITION_WEIGHT = 2.0  # the query is the name that the chunk defines
COHERENCE_WEIGHT = 0.5  # of the file's second best chunk; half of it for each one after
COHERENT_CHUNKS = 3
SECONDARY_WEIGHT = 1.0  # subtracted from tests, examples and generated or vendored code

# Files that stand for their folder.
_FOLDER_NAMES = frozenset({"__init__", "__main__", "index", "lib", "main", "mod"})
# Path parts of files that use or mention code rather than define it.
_SECONDARY = frozenset(
    """
    test tests __tests__ testing example examples docs doc benchmark benchmarks locale locales fixtures
    vendor vendored third_party node_modules generated dist build legacy compat deprecated
    """.split()  # noqa: SIM905
)
_TEST_NAME = re.compile(r"(test_.*|.*_test)\.\w+|.*\.(test|spec|min|d)\.\w+")
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*([.:#]+[\w$]+)*(\(\))?")
_LEAST_PREFIX = 4
_ENDING = 2  # letters at the end of a word that may differ: routes and routing
_KEPT = 1 << 14  # paths and pairs of words, from one query to the next


def with_context(
    question: str, costs: Mapping[str, float], chunks: Mapping[str, Chunk], trusted: Sequence[str]
) -> dict[str, float]:
    """Return the standardized costs of all chunks, reduced for trusted ones by their file's context.

    Args:
        question: the query.
        costs: by id; less is nearer, in any unit.
        chunks: by id.
        trusted: the ids that the manifest lists. Without one the costs are returned as they are.
    """
    if not trusted:
        return dict(costs)
    found = dict(zip(costs, standardise(list(costs.values())), strict=True))
    asked = query_words(question)
    symbol = _symbol(question)
    files: dict[str, list[str]] = defaultdict(list)
    for id_ in trusted:
        files[chunks[id_].path].append(id_)
    for path, ids in files.items():
        secondary = SECONDARY_WEIGHT if _secondary(path, asked) else 0.0
        own = secondary - NAME_WEIGHT * _name_fit(asked, path)
        for id_ in ids:
            defines = symbol and chunks[id_].symbol.rpartition(".")[2] == symbol
            found[id_] += own - (DEFINITION_WEIGHT if defines else 0.0)
        best, *others = sorted(ids, key=lambda id_: (found[id_], id_))
        found[best] -= COHERENCE_WEIGHT * sum(
            max(0.0, -found[id_]) / 2**place for place, id_ in enumerate(others[:COHERENT_CHUNKS])
        )
    return {id_: round(cost, 9) for id_, cost in found.items()}


def _symbol(question: str) -> str:
    """Return the last name of a query that is only a symbol, or ""."""
    return (
        re.split(r"[.:#]+", question.strip().removesuffix("()"))[-1]
        if _SYMBOL.fullmatch(question.strip())
        else ""
    )


def _name_fit(asked: Sequence[str], path: str) -> float:
    """Return how well a file's name fits, 0 to 1: less if the name or the query has many other words."""
    own = _named(path)
    hits = sum(any(_akin(word, other) for other in own) for word in asked)
    if not hits or not own:
        return 0.0
    return float(min(1.0, hits / len(own)) ** 0.5 * min(1.0, 2 * hits / len(asked)))


@lru_cache(maxsize=_KEPT)
def _named(path: str) -> tuple[str, ...]:
    """Return the words of a file's name, or of its folder's where the file stands for it."""
    place = PurePosixPath(path)
    named = place.name.partition(".")[0]
    return tuple(index_words(place.parent.name if named.lower() in _FOLDER_NAMES else named))


@lru_cache(maxsize=_KEPT)
def _akin(one: str, other: str) -> bool:
    """Return whether two words are forms of one, differing at most in their last letters."""
    if one == other:
        return True
    if one[:_LEAST_PREFIX] != other[:_LEAST_PREFIX]:
        return False
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return same >= max(_LEAST_PREFIX, min(len(one), len(other)) - _ENDING)


def _secondary(path: str, asked: Sequence[str]) -> bool:
    """Return whether a file is a test, an example or a copy, unless the query asks for one."""
    parts = _secondary_parts(path)
    return bool(parts) and not any(_akin(word, part) for word in asked for part in parts)


@lru_cache(maxsize=_KEPT)
def _secondary_parts(path: str) -> frozenset[str]:
    """Return what in a path says that the file is a test, an example or a copy."""
    place = PurePosixPath(path)
    parts = {part.lower() for part in place.parts[:-1]} & _SECONDARY
    if _TEST_NAME.fullmatch(place.name.lower()):
        parts.add("test")
    return frozenset(part.strip("_") for part in parts)
