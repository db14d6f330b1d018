"""FilterRAG: drop retrieved texts that consist mostly of the question and of their answer to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from codeguard.errors import ConfigError
from codeguard.text.frequency import Frequency, LengthThreshold, WordMatcher, fit_threshold
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, no_words, reject_all
from codeguard.text.reading import Reader, failures
from codeguard.text.tokens import content_words, sentences, words

PAPER_THRESHOLD = 0.2
LEAST_CAUGHT = 0.8  # share of each kind of imitated poison that a calibrated filter has to catch


@dataclass(frozen=True, slots=True)
class FilterConfig:
    """`top` retrieved texts are judged, and the first `keep` of those that pass are returned (0: all).

    `threshold` is one density for all lengths (0.2 in the paper), or a fit by length from
    `calibrate_threshold`.
    """

    top: int = 4
    keep: int = 2
    threshold: float | LengthThreshold = PAPER_THRESHOLD

    def __post_init__(self) -> None:
        if self.top < 1 or self.keep < 0:
            raise ConfigError("top and keep", got=f"{self.top}, {self.keep}", expected="top >= 1, keep >= 0")
        if isinstance(self.threshold, float) and not self.threshold > 0:
            raise ConfigError("threshold", got=self.threshold, expected="above 0")


@dataclass(frozen=True, slots=True)
class FilterRAG:
    """Sorts the retrieved texts of a query, nearest first, by their Freq-Density."""

    reader: Reader
    matcher: WordMatcher
    config: FilterConfig = FilterConfig()

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Judge retrieved documents; one without an answer is rejected, and a failure rejects all."""
        judged_documents = documents[: self.config.top]
        try:
            answers = self.reader.answer_each(query, [document.text for document in judged_documents])
            judgments = [
                self._judge(document, query, answer.text, answer.error)
                for document, answer in zip(judged_documents, answers, strict=True)
            ]
        except (
            Exception
        ) as error:  # fail closed: an unfiltered context is what the filter is there to prevent
            reason = f"the filter failed, so nothing is handed on: {type(error).__name__}: {error}"
            return reject_all(documents, "detector_error", reason, error=reason)
        selection = finish(judgments, documents, self.config.top, self.config.keep, failures(answers))
        return replace(selection, notes=self._notes(judged_documents))

    def _notes(self, documents: Sequence[Document]) -> tuple[str, ...]:
        limit = self.config.threshold
        if not isinstance(limit, LengthThreshold):
            return (
                f"warning: the threshold {limit:g} is not calibrated: how many clean texts it drops depends on "
                "their length; learn one from clean passages of your own",
            )
        outside = sum(not limit.covers(len(words(document.text))) for document in documents)
        if not outside:
            return ()
        return (
            f"{outside} of {len(documents)} texts are shorter or longer than the {limit.shortest} to "
            f"{limit.longest} words that were calibrated on: nothing is promised for them",
        )

    def _judge(self, document: Document, query: str, answer: str, error: str) -> Judgment:
        if not words(document.text):
            return no_words(document)
        if error:
            return Judgment(document, False, "no_answer", f"no answer could be had from the text: {error}")
        frequency = self.matcher.count(document.text, query, answer)
        density = frequency.density
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


@dataclass(frozen=True, slots=True)
class CleanPair:
    """A clean passage with a question that it answers."""

    query: str
    text: str


@dataclass(frozen=True, slots=True)
class ThresholdCalibration:
    """A threshold learned from clean passages, and the share of each kind of imitated poison that it catches."""

    threshold: LengthThreshold
    caught: Mapping[str, float]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was learned."""
        fit = self.threshold
        return (
            f"calibrated on {fit.pairs} clean passages of {fit.shortest} to {fit.longest} words: at least "
            f"{fit.keep:.0%} of further ones like them pass; caught of imitated poison: {_shares(self.caught)}",
        )

    def require_useful(self) -> None:
        """Raise a TextDefenseError if some kind of imitated poison mostly passes."""
        refuse_weak(self.caught)


def refuse_weak(caught: Mapping[str, float]) -> None:
    """Raise an error if less than `LEAST_CAUGHT` of some kind of imitated poison is caught.

    Raises:
        TextDefenseError: the filter cannot tell these passages from poison at the promised rate.
    """
    if min(caught.values()) < LEAST_CAUGHT:
        raise TextDefenseError(
            "this filter cannot tell these passages from poison",
            got=f"caught of imitated poison: {_shares(caught)}",
            expected=f"{LEAST_CAUGHT:.0%} of each kind",
            hint="train a filter with labelled examples of this corpus, or promise to keep fewer clean passages",
        )


def _shares(caught: Mapping[str, float]) -> str:
    return ", ".join(f"{kind} {share:.0%}" for kind, share in caught.items())


def own_questions(texts: Sequence[str]) -> list[CleanPair]:
    """Return passages with their first sentence as the question (inverse cloze task, Lee et al., 2019).

    Passages of a single sentence are left out.
    """
    parts = [sentences(text) for text in texts]
    return [CleanPair(part[0], " ".join(part[1:])) for part in parts if len(part) > 1]


def imitations(pairs: Sequence[CleanPair], reader: Reader) -> dict[str, list[CleanPair]]:
    """Return imitations of poison by kind, made from clean passages.

    `question in front`: the question and the passage's answer to it. `fluent`: the sentence with the
    answer and the next one, in which the answer's words are those of another passage's answer.

    Raises:
        TextDefenseError: a call of the reader failed.
    """
    answers = [reader.answer_each(pair.query, [pair.text])[0] for pair in pairs]
    for failure in failures(answers):
        raise TextDefenseError(f"the clean passages cannot be read: {failure}")
    read = [(pair, item.text) for pair, item in zip(pairs, answers, strict=True) if item.text]
    prefixed = [CleanPair(pair.query, f"{pair.query} {answer}") for pair, answer in read]
    fluent = []
    for place, (pair, answer) in enumerate(read):
        # Half of the list away, since neighbours may have the same question.
        other = read[(place + len(read) // 2) % len(read)][1]
        fluent.append(CleanPair(pair.query, _with_answer(pair, answer, other)))
    return {"question in front": prefixed, "fluent": fluent}


def _with_answer(pair: CleanPair, answer: str, other: str) -> str:
    asked, wanted = set(content_words(pair.query)), set(content_words(answer))
    parts = sentences(pair.text)
    best = max(range(len(parts)), key=lambda place: len(wanted & set(words(parts[place]))))
    new = iter([word for word in content_words(other) if word not in asked])
    swapped = []
    for token in " ".join(parts[best : best + 2]).split():
        own = words(token)
        if own and own[0] in wanted - asked:
            replacement = next(new, "")
            token = replacement.capitalize() if token[:1].isupper() else replacement
        swapped.append(token)
    return " ".join(filter(None, [*swapped, *new]))


def calibrate_threshold(
    pairs: Sequence[CleanPair],
    reader: Reader,
    matcher: WordMatcher,
    *,
    keep: float = 0.95,
) -> ThresholdCalibration:
    """Learn a threshold by length from clean passages and measure what it catches.

    Raises:
        TextDefenseError: there are too few passages for the share `keep`, or the reader failed.
    """
    clean = _count_frequencies(pairs, reader, matcher)
    fit = fit_threshold([item.density for item in clean], [item.total for item in clean], keep)
    caught = {}
    for kind, poison in imitations(pairs, reader).items():
        found = _count_frequencies(poison, reader, matcher)
        caught[kind] = sum(item.density > fit.at(item.total) for item in found) / max(1, len(found))
    return ThresholdCalibration(fit, caught)


def _count_frequencies(pairs: Sequence[CleanPair], reader: Reader, matcher: WordMatcher) -> list[Frequency]:
    answers = [reader.answer_each(pair.query, [pair.text])[0] for pair in pairs]
    for failure in failures(answers):
        raise TextDefenseError(f"the clean passages cannot be read: {failure}")
    found = [
        matcher.count(pair.text, pair.query, answer.text)
        for pair, answer in zip(pairs, answers, strict=True)
        if answer.text
    ]
    return [frequency for frequency in found if frequency.total]


def finish(
    judgments: Sequence[Judgment],
    documents: Sequence[Document],
    top: int,
    keep: int,
    failed: tuple[str, ...] = (),
) -> Selection:
    """Return a selection with the first `keep` documents that passed (0: all); the rest is rejected.

    `documents` beyond the first `top` were not judged and are rejected as well.
    """
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
    return Selection(tuple(result), failures=failed)
