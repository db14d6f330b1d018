"""Whether a function's code has to do with what its name and description say.

A search finds a function by its name and description, and whoever wants to be found writes these to suit. The shipped
embedding was trained to bring a description near the code that it stands in, so a body that does something else is far
from them. Names that the body takes over from the description bring it nearer: nearness proves nothing. One that
has no use for a parameter of its own is held to more.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from codeguard.analysis.python.sketches import description_of, words_of_code
from codeguard.analysis.rules.base import rules_of
from codeguard.models import Evidence, Trust
from codeguard.ranking.signals.base import Signal, SignalContext, Subject, evidence_of

if TYPE_CHECKING:
    from codeguard.index.embedding.static import StaticEmbedding

_RULES = rules_of(__file__)

LEAST_NEAR, NEARER = 0.16, 0.28  # cosine, and what is asked of a function that ignores a parameter of its own
LEAST_WORDS = 10  # of the body: of fewer, twice as many honest functions are far from their descriptions


def _examine(subject: Subject, context: SignalContext) -> Iterable[Evidence]:
    """Yield evidence if a Python function of unknown origin has a description that its code is far from."""
    chunk = subject.chunk
    if chunk.language != "python" or subject.trust in (Trust.TRUSTED, Trust.COPY):
        return
    words = words_of_code(chunk.text, chunk.language)
    described = description_of(words) if "def" in words else None
    if described is None or len(words) - described <= LEAST_WORDS or (model := _embedding()) is None:
        return
    says = " ".join([*words[words.index("def") + 1 : described], *words[described].split("\n\n")[0].split()])
    said, done = model.embed([says, " ".join(words[described + 1 :])])
    near = round(float(said @ done), 6)
    if near >= LEAST_NEAR and (near >= NEARER or not _ignores_a_parameter(chunk.text)):
        return
    reason = (
        f"its code has little to do with its name and description: nearness {near:.2f}, 99 of 100 honest"
        f" functions have {LEAST_NEAR} or more, and {NEARER} if they ignore a parameter"
    )
    weight, measured = context.weights["unrelated.body"], {"near": near}
    yield evidence_of("unrelated", _RULES["body"], weight, reason, span=chunk.span, measurements=measured)


def _ignores_a_parameter(text: str) -> bool:
    from codeguard.behavior.source.definitions import parse_or_none  # a list of the rules needs none of it

    tree = parse_or_none(textwrap.dedent(text))
    function = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    own = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    used = {node.id for part in function.body for node in ast.walk(part) if isinstance(node, ast.Name)}
    return any(item.arg not in used for item in own if item.arg not in ("self", "cls") and item.arg[0] != "_")


@lru_cache(maxsize=1)
def _embedding() -> StaticEmbedding | None:
    try:
        from codeguard.index.embedding.static import StaticEmbedding
    except ImportError:  # the base install has no numpy
        return None
    return StaticEmbedding()


SIGNAL = Signal(
    "unrelated",
    "code that does something else than its name and description say",
    tuple(_RULES.values()),
    _examine,
)
