"""Candidates that claim to be the same function and contradict one another, found from answers that reports keep.

Whoever wants to can write a rival, so a contradiction is one on all sides and decides nothing, and agreement shows
nothing. Nothing is run here: candidates of one library answered the same probes when they were checked.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from codeguard.behavior.inputs.generation import Arguments
from codeguard.behavior.matching.claims import NO_FEATURES, Features, Similarity
from codeguard.behavior.matching.fingerprints import FingerprintIndex, Kinds
from codeguard.behavior.specs.contract import learn_domain
from codeguard.behavior.verdict.comparison import LEAST_AGREEMENT

MOST_EACH = 6  # calls of one kind of arguments
MOST_SHOWN = 60  # characters of a call's arguments, and of an answer
LEAST_ANSWERS = 2  # distinct ones
SAME, ALIKE = 0.75, 0.5  # share of the words of a description


def answers_to_keep(
    features: Features, found: Mapping[Kinds, Sequence[str | None]], index: FingerprintIndex
) -> tuple[str, ...]:
    """Return what a function claims by name and description, then calls, each with its answer."""
    kept = [" ".join(features.name), " ".join(sorted(features.doc))]
    for kinds, answers in found.items():
        for args, answer in zip(index.calls(kinds)[:MOST_EACH], answers, strict=False):
            call = repr(args)
            if answer is not None and max(len(call), len(answer)) <= MOST_SHOWN:
                kept += [call, answer]
    return tuple(kept) if len(kept) > 2 else ()


def contradiction(own: Sequence[str], other: Sequence[str]) -> tuple[str, str, str] | None:
    """Return the shortest call on which two candidates that claim the same contradict one another, and both answers.

    What the calls that agree have in common is the contract; under one name and description, all calls if none agree.
    Otherwise most answers have to agree.
    """
    if not {*own[0].split()} & {*other[0].split()}:
        return None
    claims = Similarity(_claim(*own[:2]), _claim(*other[:2]))
    described = claims.doc
    same = claims.name == 1.0 and (described or 0.0) >= SAME
    alike = claims.name == 1.0 and (described is None or described >= ALIKE)
    if claims.opposed or not (same or alike or (claims.name >= ALIKE and (described or 0.0) >= SAME)):
        return None
    mine, theirs = (dict(zip(kept[2::2], kept[3::2], strict=True)) for kept in (own, other))
    both = [call for call in mine if call in theirs]
    differing = [call for call in both if mine[call] != theirs[call]]
    every, wrong = (Counter(mine[call] for call in calls) for calls in (both, differing))
    if not differing or len(every) < LEAST_ANSWERS:
        return None
    agreement = sum(1 - wrong[answer] / count for answer, count in every.items()) / len(every)
    shared: list[Arguments] = [(ast.literal_eval(call), {}) for call in both if mine[call] == theirs[call]]
    if shared:
        domain = learn_domain(shared)
        differing = [call for call in differing if domain.admits(ast.literal_eval(call), {})]
    if not differing or not (same or agreement >= LEAST_AGREEMENT):
        return None
    call = min(differing, key=lambda call: (len(call), call))
    return call, mine[call], theirs[call]


@lru_cache(maxsize=256)
def _claim(name: str, doc: str) -> Features:
    words = frozenset(doc.split())
    return replace(NO_FEATURES, name=tuple(name.split()), doc=words, words=words)
