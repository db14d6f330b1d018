"""Whether a function's code has to do with what its name and description say.

A search finds a function by its name and description, and whoever wants to be found writes these to suit. The shipped
embedding was trained to bring a description near the code that it stands in, so a body that does something else is far
from them. Names that the body takes over from the description bring it nearer: nearness proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from codeguard.analysis.python.sketches import description_of, words_of_code
from codeguard.analysis.rules.base import Rule, rules_of
from codeguard.models import Confidence, Evidence, Trust
from codeguard.ranking.signals.base import Moment, SignalContext, Subject

if TYPE_CHECKING:
    from codeguard.index.embedding.static import StaticEmbedding

_RULES = rules_of(__file__)

LEAST_NEAR = 0.2  # cosine; below it are 1.1 % of 9,737 honest functions, with another one's body 69 %
LEAST_WORDS = 10  # of the body: of fewer, twice as many honest functions are far from their descriptions


class UnrelatedSignal:
    """Flags functions whose code is far from their name, parameters and description."""

    name: ClassVar[str] = "unrelated"
    summary: ClassVar[str] = "code that does something else than its name and description say"
    moment: ClassVar[Moment] = Moment.INDEX
    needs: ClassVar[frozenset[str]] = frozenset()
    rules: ClassVar[tuple[Rule, ...]] = (_RULES["body"],)

    def examine(self, subject: Subject, context: SignalContext) -> Iterable[Evidence]:
        """Yield evidence if a Python function of unknown origin has a description that its code is far from."""
        chunk = subject.chunk
        if chunk.language != "python" or subject.trust in (Trust.TRUSTED, Trust.COPY):
            return
        words = words_of_code(chunk.text, chunk.language)
        described = description_of(words) if "def" in words else None
        if described is None or len(words) - described <= LEAST_WORDS or (model := _embedding()) is None:
            return
        says = " ".join(
            [*words[words.index("def") + 1 : described], *words[described].split("\n\n")[0].split()]
        )
        said, done = model.embed([says, " ".join(words[described + 1 :])])
        near = round(float(said @ done), 6)
        if near >= LEAST_NEAR:
            return
        yield Evidence(
            signal=self.name,
            id="body",
            penalty=context.weights["unrelated.body"],
            reason="its code has little to do with its name and description:"
            f" nearness {near:.2f}, 99 of 100 honest functions have {LEAST_NEAR} or more",
            confidence=Confidence.LOW,
            span=chunk.span,
            measurements={"near": near},
        )


@lru_cache(maxsize=1)
def _embedding() -> StaticEmbedding | None:
    try:
        from codeguard.index.embedding.static import StaticEmbedding
    except ImportError:  # the base install has no numpy
        return None
    return StaticEmbedding()


SIGNAL = UnrelatedSignal()
