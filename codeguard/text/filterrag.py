"""FilterRAG: drop retrieved texts that are made of the question and of their own answer to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codeguard.errors import ConfigError
from codeguard.text.frequency import DensityReading, LengthThreshold, WordMatcher
from codeguard.text.model import Document, Judgment, Selection, reject_all
from codeguard.text.reading import Reader

PAPER_THRESHOLD = 0.2


@dataclass(frozen=True, slots=True)
class FilterConfig:
    """`top` retrieved texts are looked at, `keep` of those that pass are handed on (0: all).

    `threshold` is one density for all lengths (the paper's is 0.2), or a fit
    by length.
    """

    top: int = 4
    keep: int = 2
    threshold: float | LengthThreshold = PAPER_THRESHOLD
    reading: DensityReading = "distinct"

    def __post_init__(self) -> None:
        if self.top < 1 or self.keep < 0:
            raise ConfigError("top and keep", got=f"{self.top}, {self.keep}", expected="top >= 1, keep >= 0")
        if isinstance(self.threshold, float) and not self.threshold > 0:
            raise ConfigError("threshold", got=self.threshold, expected="above 0")


@dataclass(frozen=True, slots=True)
class FilterRAG:
    """Sorts the retrieved texts of a query, the nearest first, by their Freq-Density."""

    reader: Reader
    matcher: WordMatcher
    config: FilterConfig = FilterConfig()

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Judge retrieved documents; one whose answer cannot be had is rejected."""
        looked_at = documents[: self.config.top]
        try:
            answers = self.reader.answer_each(query, [document.text for document in looked_at])
            judgments = [
                self._judge(document, query, answer.text, answer.error)
                for document, answer in zip(looked_at, answers, strict=True)
            ]
        except (
            Exception
        ) as error:  # fail closed: an unfiltered context is what the filter is there to prevent
            reason = f"the filter failed, so nothing is handed on: {type(error).__name__}: {error}"
            return reject_all(documents, "detector_error", reason, error=reason)
        return finish(judgments, documents, self.config.top, self.config.keep)

    def _judge(self, document: Document, query: str, answer: str, error: str) -> Judgment:
        if error:
            return Judgment(document, False, "no_answer", f"no answer could be had from the text: {error}")
        frequency = self.matcher.count(document.text, query, answer)
        density = frequency.density(self.config.reading)
        limit = self.config.threshold
        limit = limit.at(frequency.total) if isinstance(limit, LengthThreshold) else limit
        over = density > limit
        return Judgment(
            document,
            not over,
            "dense" if over else "density_ok",
            f"Freq-Density {density:.3f}, {'above' if over else 'within'} {limit:.3f} "
            f"for {frequency.total} words",
            {"density": density, "threshold": limit},
        )


def finish(judgments: Sequence[Judgment], documents: Sequence[Document], top: int, keep: int) -> Selection:
    """Hand on the first `keep` that passed (0: all); what comes later, or was not looked at, is left out."""
    result: list[Judgment] = []
    passed = 0
    for judgment in judgments:
        if judgment.kept and keep and passed >= keep:
            judgment = Judgment(
                judgment.document,
                False,
                "beyond_keep",
                f"passed, but {keep} nearer ones did too",
                judgment.scores,
            )
        passed += judgment.kept
        result.append(judgment)
    for document in documents[top:]:
        result.append(Judgment(document, False, "beyond_top", f"not among the {top} nearest"))
    return Selection(tuple(result))
