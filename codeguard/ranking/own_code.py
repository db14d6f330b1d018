"""What the team's own code among the candidates changes in the place of a candidate of unknown origin.

Own code that says the same answers as well and is known: a look-alike of unknown origin, which nobody has shown to
behave the same, is only a risk beside it, and stands well behind. Where nothing of the team's own is like a function,
there is nothing that it could pass for, and an honest file that nobody listed should not lose to own code that fits
less well: if no evidence speaks against it, its origin hardly counts. Neither changes a penalty, what is dropped,
demoted or convicted, nor the order "penalty".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codeguard.models import (
    DETECTOR_ERROR,
    NOT_FULLY_READ,
    NOT_YET,
    Chunk,
    ChunkKind,
    Evidence,
    Trust,
    Verdict,
)
from codeguard.ranking.scoring import is_lexical

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOOKALIKE = 2.0  # standard deviations that are added to a look-alike of own code
RELIEF = 0.9  # share of the cost of its origin that is taken off where no own code is like it
# Cosine from which two texts are alike, by the kind of embedding.
ALIKE, ALIKE_LEXICAL = 0.75, 0.68

_COMPARED = frozenset({Verdict.PASS.value, Verdict.DIFFERS.value})
_CODE = frozenset({ChunkKind.FUNCTION, ChunkKind.METHOD, ChunkKind.CLASS})
_OF_RETRIEVAL = frozenset({"provenance", "distance"})
_UNKNOWN = frozenset({NOT_YET, NOT_FULLY_READ, DETECTOR_ERROR})


@dataclass(frozen=True, slots=True)
class OwnCode:
    """The own candidate that is most like one of unknown origin: its cosine, and where it is."""

    cosine: float
    alike: bool
    symbol: str
    place: str


def nearest_own(
    vectors: Mapping[str, NDArray[np.float32]],
    chunks: Mapping[str, Chunk],
    own: Sequence[str],
    embedding: str,
) -> dict[str, OwnCode]:
    """Return for each other candidate the trusted one that is most like it; none without a vector of both.

    Args:
        vectors: by id, each of shape (dimension,) and length 1.
        chunks: the candidates, by id.
        own: the ids that the manifest lists.
        embedding: the identity of the vectors' embedding.
    """
    import numpy as np  # not part of the base install, which has the signals

    trusted = set(own)
    listed = [id_ for id_ in own if id_ in vectors]
    others = [id_ for id_ in chunks if id_ in vectors and id_ not in trusted]
    if not listed or not others:
        return {}
    near = np.stack([vectors[id_] for id_ in others]) @ np.stack([vectors[id_] for id_ in listed]).T
    least = ALIKE_LEXICAL if is_lexical(embedding) else ALIKE
    found = {}
    for id_, row in zip(others, near, strict=True):
        best = int(row.argmax())
        chunk = chunks[listed[best]]
        found[id_] = OwnCode(
            round(float(row[best]), 6),
            bool(row[best] >= least),
            chunk.symbol,
            f"{chunk.path}:{chunk.start_line}",
        )
    return found


def beside_own(
    chunk: Chunk, trust: Trust, own: OwnCode | None, evidence: Sequence[Evidence], origin: float | None
) -> float:
    """Return what is added to the score of a candidate, in standard deviations.

    Nothing is added where it is the team's own, a copy or a change of that, where no vector tells what is like it,
    where a check has compared it with own code, or where evidence convicts or demotes it: then that decides.

    Args:
        origin: what unknown origin costs it against own code: its penalty and the bonus of trusted text; None
            where origin does not count.
    """
    if origin is None or own is None or trust is not Trust.UNLISTED or any(map(_decides, evidence)):
        return 0.0
    if own.alike:
        return LOOKALIKE
    if chunk.kind not in _CODE or any(map(_speaks_against, evidence)):
        return 0.0
    return -RELIEF * max(0.0, origin)


def _decides(evidence: Evidence) -> bool:
    compared = evidence.signal == "behavior" and evidence.measurements.get("verdict") in _COMPARED
    return compared or evidence.convicts or evidence.demotes


def _speaks_against(evidence: Evidence) -> bool:
    """Return whether evidence costs something, or is missing: what is not known is not clean."""
    return (evidence.penalty > 0 and evidence.signal not in _OF_RETRIEVAL) or evidence.id in _UNKNOWN
