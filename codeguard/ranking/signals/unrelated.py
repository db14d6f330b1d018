"""Whether a function's code has to do with what its name and description say.

A search finds a function by its name and description, and whoever wants to be found writes these to suit. The shipped
embedding was trained to bring a description near the code that it stands in, so a body that does something else is far
from them. Names that the body takes over from the description bring it nearer: nearness proves nothing. A plain
function that ignores most of its parameters, and any that ignores one that its description names, is not what it says.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from codeguard.analysis.python.sketches import description_of, words_of_code
from codeguard.analysis.rules.base import rules_of
from codeguard.models import Chunk, Evidence, SourceFile, Trust
from codeguard.ranking.signals.base import Signal, SignalContext, Subject, evidence_of

if TYPE_CHECKING:
    from codeguard.index.embedding.static import StaticEmbedding

_RULES = rules_of(__file__)

LEAST_NEAR = 0.16  # cosine
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
    summary = words[described].split("\n\n")[0]
    says = " ".join([*words[words.index("def") + 1 : described], *summary.split()])
    said, done = model.embed([says, " ".join(words[described + 1 :])])
    near = round(float(said @ done), 6)
    if near < LEAST_NEAR:
        reason = "its code has little to do with its name and description:"
        reason += f" nearness {near:.2f}, 99 of 100 honest functions have {LEAST_NEAR} or more"
    elif ignored := _ignored(chunk, subject.file, summary):
        reason = f"it is described by parameters that it ignores: {', '.join(ignored)}"
    else:
        return
    weight, measured = context.weights["unrelated.body"], {"near": near}
    yield evidence_of("unrelated", _RULES["body"], weight, reason, span=chunk.span, measurements=measured)


def _ignored(chunk: Chunk, file: SourceFile, described: str) -> list[str]:
    """Return the parameters without use that a function's description names, or, of a plain one, if they are most."""
    from codeguard.behavior.source.definitions import parse_or_none  # a list of the rules needs none of it

    # A long function is cut into chunks, and the first of them uses fewer parameters.
    after = (item for item in file.chunks if item.span.start_byte >= chunk.span.start_byte)
    tree = parse_or_none(textwrap.dedent("".join(item.text for item in after if item.symbol == chunk.symbol)))
    function = tree.body[0] if tree is not None and tree.body else None
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    own = [item.arg for item in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    is_method = own[:1] in (["self"], ["cls"])  # whose parameters may be asked for by a class above
    own = [name for name in own if name not in ("self", "cls") and name[0] != "_"]
    used = {node.id for part in function.body for node in ast.walk(part) if isinstance(node, ast.Name)}
    ignored = [name for name in own if name not in used]
    named = [name for name in ignored if re.search(rf"\b{name}\b", described)]
    return named or (ignored if len(own) > 1 and 2 * len(ignored) > len(own) and not is_method else [])


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
