"""FilterRAG: drop retrieved texts that consist mostly of the question and of their answer to it.

From Edemacu et al., "Defending Against Knowledge Poisoning Attacks During Retrieval-Augmented
Generation" (2025). Freq-Density is the sum of Freq(w, d) over the words w of d that match a word of
the question or of the answer, divided by the number of words of d. Each matching word counts once:
the paper's example has the density 8/11.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import ConfigError
from codeguard.index.embedding import Embedding
from codeguard.text.model import Document, Judgment, Selection, TextDefenseError, no_words, reject_all
from codeguard.text.reading import Reader, ReaderAnswer, failures
from codeguard.text.tokens import content_words, sentences, words

SIMILAR = 0.6  # minimum cosine of two matching words, from the paper
LEAST_CAUGHT = 0.8  # share of each kind of imitated poison that a calibrated filter has to catch
LEAST = 1e-4  # replaces a density of 0 before taking the logarithm


@dataclass(frozen=True, slots=True)
class Frequency:
    """Word counts of a text: all words, unique words, unique matching words, occurrences of those."""

    total: int
    unique: int
    matching: int
    occurrences: int

    @property
    def density(self) -> float:
        """Return the Freq-Density, the share of distinct matching words; 0 for a text without words."""
        return self.matching / self.total if self.total else 0.0


def count_matches(text: str, question: str, answer: str, embedding: Embedding | None = None) -> Frequency:
    """Count the words of `text` that match a word of `question` or `answer`.

    With an embedding, words match if their cosine is at least `SIMILAR`, else only if they are equal.
    """
    counts = Counter(words(text))
    wanted = list(dict.fromkeys(words(question) + words(answer)))
    known = set(wanted)
    matching = [word for word in counts if word in known]
    rest = [word for word in counts if word not in known]
    if embedding is not None and rest and wanted:
        near = embedding.embed(rest) @ embedding.embed(wanted).T
        matching += [word for word, row in zip(rest, near, strict=True) if row.max() >= SIMILAR]
    return Frequency(sum(counts.values()), len(counts), len(matching), sum(counts[word] for word in matching))


@dataclass(frozen=True, slots=True)
class LengthThreshold:
    """The density above which a text of a given length is unusual among clean texts.

    The threshold is exp(`level` + `slope` · log(words)), fitted to `pairs` clean texts of
    `shortest` to `longest` words. Short texts on the topic are dense by nature, and one constant
    for all lengths would drop them all. `keep` is the share of clean texts that should pass.
    """

    level: float
    slope: float = 0.0
    pairs: int = 0
    keep: float = 0.0
    shortest: int = 0
    longest: int = 0

    @classmethod
    def constant(cls, density: float) -> LengthThreshold:
        """Return one threshold for all lengths, fitted to nothing; the paper's is 0.2."""
        if not density > 0:
            raise ConfigError("threshold", got=density, expected="above 0")
        return cls(math.log(density))

    def at(self, length: int) -> float:
        """Return the threshold for a text of `length` words."""
        return math.exp(self.level + self.slope * math.log(max(length, 1)))


def fit_threshold(densities: Sequence[float], lengths: Sequence[int], keep: float = 0.95) -> LengthThreshold:
    """Fit the threshold that keeps the share `keep` of clean texts, given their densities and word counts.

    The level is the conformal quantile of the residuals (Vovk et al., 2005), each taken from the
    slope that is fitted without its text (jackknife+, Barber et al., 2021): another clean text of
    the same kind passes with about that probability, for any number of texts.

    Raises:
        TextDefenseError: there are fewer than 20 texts, or too few for the share `keep`.
    """
    if not 0 < keep < 1:
        raise ConfigError("keep", got=keep, expected="between 0 and 1")
    least = max(20, math.ceil(keep / (1 - keep)))
    if len(densities) < least:
        raise TextDefenseError(
            "too few clean texts to calibrate on",
            got=len(densities),
            expected=f"{least} or more",
            hint="give more passages or promise a smaller share; a passage of one sentence counts only with its "
            "question",
        )
    y = np.log(np.maximum(np.asarray(densities, dtype=np.float64), LEAST))
    x = np.log(np.maximum(np.asarray(lengths, dtype=np.float64), 1.0))
    middle = float(x.mean())
    x -= middle
    products, squares = x * y, x * x
    slope = float(products.sum() / squares.sum()) if squares.sum() > 1e-9 else 0.0
    # Without a text of the distance x from the middle, the others' sums lose its part and move their own middle.
    rest = len(x) - 1
    spread = squares.sum() - squares - squares / rest
    joint = products.sum() - products + x * (y.sum() - y) / rest
    slopes = np.divide(joint, spread, out=np.zeros_like(x), where=spread > 1e-9)
    level = conformal_quantile(y - slopes * x, keep) - slope * middle
    return LengthThreshold(level, slope, len(densities), keep, min(lengths), max(lengths))


def conformal_quantile(values: NDArray[np.float64], keep: float) -> float:
    """Return the value that another draw does not exceed with probability `keep`; inf for too few values."""
    rank = math.ceil((len(values) + 1) * keep - 1e-9)
    return float(np.sort(values)[rank - 1]) if rank <= len(values) else math.inf


def filter_documents(
    documents: Sequence[Document],
    top: int,
    keep: int,
    judge: Callable[[Sequence[Document]], tuple[list[Judgment], Sequence[ReaderAnswer]]],
) -> Selection:
    """Judge the first `top` documents and keep the first `keep` of those that pass (0: all).

    `judge` returns judgments and the reader's answers. If it fails, everything is rejected.
    """
    try:
        judgments, readings = judge(documents[:top])
    except Exception as error:  # fail closed: an unfiltered context is what the filter is there to prevent
        reason = f"the filter failed, so nothing is handed on: {type(error).__name__}: {error}"
        return reject_all(documents, "detector_error", reason, error=reason)
    result: list[Judgment] = []
    passed = 0
    for judgment in judgments:
        if judgment.kept and keep and passed >= keep:
            reason = f"passed, but {keep} nearer ones did too"
            judgment = replace(judgment, kept=False, rule="beyond_keep", reason=reason)
        passed += judgment.kept
        result.append(judgment)
    for document in documents[top:]:
        result.append(Judgment(document, False, "beyond_top", f"not among the {top} nearest"))
    return Selection(tuple(result), failures=failures(readings))


@dataclass(frozen=True, slots=True)
class FilterRAG:
    """Sorts the retrieved texts of a query, nearest first, by their Freq-Density.

    `top` texts are judged, and the first `keep` of those that pass are kept (0: all). With
    `embedding`, words match by meaning.
    """

    reader: Reader
    threshold: LengthThreshold
    embedding: Embedding | None = None
    top: int = 4
    keep: int = 2

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Judge retrieved documents; one without an answer is rejected, and a failure rejects all."""

        def judge(judged: Sequence[Document]) -> tuple[list[Judgment], list[ReaderAnswer]]:
            answers = self.reader.answer_each(query, [document.text for document in judged])
            pairs = zip(judged, answers, strict=True)
            return [self._judge(document, query, answer) for document, answer in pairs], answers

        selection = filter_documents(documents, self.top, self.keep, judge)
        return replace(selection, notes=self._notes(documents[: self.top]))

    def _notes(self, documents: Sequence[Document]) -> tuple[str, ...]:
        limit = self.threshold
        if not limit.pairs:
            return (
                f"warning: the threshold {limit.at(1):g} is not calibrated: how many clean texts it drops depends on "
                "their length; learn one from clean passages of your own",
            )
        outside = sum(not limit.shortest <= len(words(item.text)) <= limit.longest for item in documents)
        if not outside:
            return ()
        return (
            f"{outside} of {len(documents)} texts are shorter or longer than the {limit.shortest} to "
            f"{limit.longest} words that were calibrated on: nothing is promised for them",
        )

    def _judge(self, document: Document, query: str, answer: ReaderAnswer) -> Judgment:
        if not words(document.text):
            return no_words(document)
        if answer.error:
            return Judgment(document, False, "no_answer", f"the text gives no answer: {answer.error}")
        frequency = count_matches(document.text, query, answer.text, self.embedding)
        density, limit = frequency.density, self.threshold.at(frequency.total)
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


def own_questions(texts: Sequence[str]) -> list[CleanPair]:
    """Return passages with their first sentence as the question (inverse cloze task, Lee et al., 2019).

    Passages of a single sentence are left out.
    """
    parts = [sentences(text) for text in texts]
    return [CleanPair(part[0], " ".join(part[1:])) for part in parts if len(part) > 1]


@dataclass(frozen=True, slots=True)
class ThresholdCalibration:
    """A threshold learned from clean passages, and the share of each kind of imitated poison that it catches."""

    threshold: LengthThreshold
    caught: Mapping[str, float]

    @property
    def note(self) -> str:
        """What was learned."""
        fit = self.threshold
        return (
            f"calibrated on {fit.pairs} clean passages of {fit.shortest} to {fit.longest} words: at least "
            f"{fit.keep:.0%} of further ones like them pass; caught of imitated poison: {self._shares()}"
        )

    def require_useful(self) -> None:
        """Raise an error if less than `LEAST_CAUGHT` of some kind of imitated poison is caught.

        Raises:
            TextDefenseError: the filter cannot tell these passages from poison at the promised rate.
        """
        if min(self.caught.values()) < LEAST_CAUGHT:
            raise TextDefenseError(
                "this filter cannot tell these passages from poison",
                got=f"caught of imitated poison: {self._shares()}",
                expected=f"{LEAST_CAUGHT:.0%} of each kind",
                hint="train a filter with labelled examples of this corpus, or promise to keep fewer clean passages",
            )

    def _shares(self) -> str:
        return ", ".join(f"{kind} {share:.0%}" for kind, share in self.caught.items())


def calibrate_threshold(
    pairs: Sequence[CleanPair], reader: Reader, embedding: Embedding | None = None, *, keep: float = 0.95
) -> ThresholdCalibration:
    """Learn a threshold by length from clean passages and measure what it catches.

    Raises:
        TextDefenseError: there are too few passages for the share `keep`, or the reader failed.
    """

    def frequencies(read: Sequence[tuple[CleanPair, str]]) -> list[Frequency]:
        found = [count_matches(pair.text, pair.query, answer, embedding) for pair, answer in read]
        return [frequency for frequency in found if frequency.total]

    read = _answered(pairs, reader)
    clean = frequencies(read)
    fit = fit_threshold([item.density for item in clean], [item.total for item in clean], keep)
    caught = {}
    for kind, poison in imitations(read).items():
        found = frequencies(_answered(poison, reader))
        caught[kind] = sum(item.density > fit.at(item.total) for item in found) / max(1, len(found))
    return ThresholdCalibration(fit, caught)


def _answered(pairs: Sequence[CleanPair], reader: Reader) -> list[tuple[CleanPair, str]]:
    """Return the passages that give an answer, with it."""
    answers = [reader.answer_each(pair.query, [pair.text])[0] for pair in pairs]
    for failure in failures(answers):
        raise TextDefenseError(f"the clean passages cannot be read: {failure}")
    return [(pair, answer.text) for pair, answer in zip(pairs, answers, strict=True) if answer.text]


def imitations(read: Sequence[tuple[CleanPair, str]]) -> dict[str, list[CleanPair]]:
    """Return imitations of poison by kind, made from clean passages and the answers that they give.

    `question in front`: the question and the passage's answer to it. `fluent`: the sentence with the
    answer and the next one, in which the answer's words are those of another passage's answer.
    """
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
