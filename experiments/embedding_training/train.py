"""Train the vectors of the `static` embedding and write them as the package has them.

    python -m experiments.embedding_training.train FUNCTIONS.jsonl OUT.npz [--steps N] [--device cuda]

FUNCTIONS is what `experiments.embedding_training.functions` wrote. Packages
named in HELD_OUT are not learned from: the mean reciprocal rank of their
summaries among the functions of their package is printed now and then, and
settings were chosen by it. A pass with a graphics card takes minutes, so
torch is needed beside the development environment.

The loss is InfoNCE (van den Oord et al., 2018) over a batch, in both
directions: each question has to tell its own answer from all others of the
batch, most of which come in groups from one package.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard.index.embedding.minilm import first_loaded
from codeguard.index.embedding.static import MOST_PIECES, UNKNOWN, WORD, Pieces
from experiments.embedding_training.questions import Kind, Question, questions

HELD_OUT = (
    "peewee", "fabric-3", "paramiko", "dulwich", "beautifulsoup4", "rope-", "commander", "ws-", "yargs", "leaflet",
    "beets", "luigi", "golang-golang-x-tools", "ruby-nokogiri", "php-symfony-console",
)  # fmt: skip
WEIGHTS = {
    Kind.SUMMARY: 1.0,
    Kind.NAMELESS: 0.5,
    Kind.SENTENCE: 0.4,
    Kind.COMMENT: 0.7,
    Kind.MESSAGE: 0.5,
    Kind.NAME: 0.3,
    Kind.LINES: 0.5,
    Kind.MODULE: 0.3,
}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]")
VOCABULARY = 26_000
IN_ONE_FILE = 20  # times that a word counts at most in one file
DIMENSION = 256
QUESTION_PIECES = 64
PLACES, COUNTS = 9, 6  # doublings that have a weight of their own
BATCH = 2_048
GROUPED = 0.8  # share of a batch that comes in groups of one package
GROUP = 256
DROPPED = 0.2  # share of a text's pieces that are left out, each time others
RATE = 7e-4
TEMPERATURE = 0.05
LANGUAGE_POWER = 0.3  # 0: every language as it is; 1: all alike
SEED = 1
SLICE = 20_000  # texts that a process cuts into pieces at once

Numbers = NDArray[np.int64]


def word_counts(files: Sequence[dict[str, Any]]) -> Counter[str]:
    """Return how often words occur, those of one file `IN_ONE_FILE` times at most."""
    counts: Counter[str] = Counter()
    for file in files:
        here: Counter[str] = Counter()
        for item in file["functions"]:
            text = f"{item['symbol']} {item['code']} {item['documentation']}"
            here.update(word.lower() for word in WORD.findall(text))
        for word, count in here.items():
            counts[word] += min(count, IN_ONE_FILE)
    return counts


def vocabulary(counts: Counter[str], size: int = VOCABULARY) -> list[str]:
    """Return pieces as WordPiece learns them; a word that is frequent counts less than in proportion."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    learned = Tokenizer(models.WordPiece(unk_token=SPECIAL[UNKNOWN]))
    learned.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        min_frequency=2,
        limit_alphabet=400,
        show_progress=False,
    )
    lines = (
        word for word, count in counts.items() if count >= 8 for _ in range(max(1, int(count**0.75 / 8)))
    )
    learned.train_from_iterator(lines, trainer)
    numbers = learned.get_vocab()
    return sorted(numbers, key=lambda piece: numbers[piece])


@dataclass(frozen=True, slots=True)
class Bags:
    """Texts as their pieces: numbers of different pieces, and the doublings of their places and counts.

    Shape (texts, most pieces of a text); 0 is no piece.
    """

    pieces: NDArray[np.int32]
    places: NDArray[np.int8]
    counts: NDArray[np.int8]

    @classmethod
    def of(cls, texts: Sequence[str], pieces: Pieces, most: int = MOST_PIECES) -> Bags:
        """Cut texts into pieces."""
        found = [
            np.unique(pieces.numbers(text, most), return_index=True, return_counts=True) for text in texts
        ]
        result = cls(*(np.zeros((len(texts), most), kind) for kind in (np.int32, np.int8, np.int8)))
        for row, (numbers, first, count) in enumerate(found):
            result.pieces[row, : len(numbers)] = numbers
            result.places[row, : len(numbers)] = np.minimum(np.log2(first + 1), PLACES - 1)
            result.counts[row, : len(numbers)] = np.minimum(np.log2(count), COUNTS - 1)
        return result

    @classmethod
    def of_many(cls, texts: Sequence[str], pieces: Pieces, most: int = MOST_PIECES) -> Bags:
        """Cut texts into pieces, by every core."""
        slices = [texts[start : start + SLICE] for start in range(0, len(texts), SLICE)]
        with ProcessPoolExecutor() as pool:
            parts = list(pool.map(partial(cls.of, pieces=pieces, most=most), slices))
        return cls(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)))


def first_vectors(pieces: Sequence[str]) -> NDArray[np.float32]:
    """Return MiniLM's vector of each piece, alone as a text, on the axes where they differ most."""
    from codeguard.index.embedding import open_embedding

    known = json.loads(first_loaded().tokenizer)["model"]["vocab"]
    plain = [piece.removeprefix("##") if len(piece) > 2 else piece for piece in pieces]
    rows = open_embedding("minilm").embed(plain)
    has = np.array([piece not in SPECIAL and any(char in known for char in piece) for piece in pieces])
    rows -= rows[has].mean(axis=0)
    _, _, axes = np.linalg.svd(rows[has][::2], full_matrices=False)
    result: NDArray[np.float32] = rows @ axes[:DIMENSION].T
    result *= 0.8 / np.linalg.norm(result[has], axis=1).mean()
    result[~has] = np.random.default_rng(0).normal(size=(int((~has).sum()), DIMENSION)) * 0.05
    return result


class Batches:
    """Draws questions: a part from anywhere, the rest in groups of one package, whose functions are near each other."""

    def __init__(self, weights: NDArray[np.float64], packages: Numbers) -> None:
        self._chance = np.random.default_rng(SEED)
        self._upto = np.cumsum(weights / weights.sum())
        self._packages = packages
        self._weights = weights
        self._order = np.argsort(packages, kind="stable")
        self._starts = np.searchsorted(packages[self._order], np.arange(packages.max() + 2))

    def __iter__(self) -> Iterator[Numbers]:
        while True:
            drawn = [self._anywhere(int(BATCH * (1 - GROUPED)))]
            for _ in range(-(-int(BATCH * GROUPED) // GROUP)):
                package = self._packages[self._anywhere(1)[0]]
                same = self._order[self._starts[package] : self._starts[package + 1]]
                share = self._weights[same] / self._weights[same].sum()
                drawn.append(self._chance.choice(same, GROUP, p=share))
            yield np.unique(np.concatenate(drawn))

    def _anywhere(self, count: int) -> Numbers:
        return np.minimum(np.searchsorted(self._upto, self._chance.random(count)), len(self._upto) - 1)


def train(
    asked: Bags,
    answers: Bags,
    batches: Batches,
    start: NDArray[np.float32],
    held: Held,
    steps: int,
    device: str,
) -> dict[str, NDArray[Any]]:
    """Return the trained vectors, and the logarithms of the weights of places and counts."""
    import torch
    from torch.nn import functional

    torch.manual_seed(SEED)
    vectors = torch.nn.Parameter(torch.from_numpy(start).to(device))
    of_place = torch.nn.Parameter(torch.zeros(PLACES, device=device))
    of_count = torch.nn.Parameter(torch.linspace(0, 1.7, COUNTS, device=device))
    scale = torch.nn.Parameter(torch.tensor(math.log(1 / TEMPERATURE), device=device))

    def doublings(values: NDArray[np.int8], number: int) -> Any:
        return functional.one_hot(torch.from_numpy(values).to(device).long(), number).float()

    def rows(bags: Bags, chosen: Any, dropped: float = 0.0) -> Any:
        pieces = torch.from_numpy(bags.pieces[chosen]).to(device).long()
        # As products: indexing adds up the gradients of a few weights, and of frequent pieces, one by one.
        logarithms = doublings(bags.places[chosen], PLACES) @ of_place
        logarithms = logarithms + doublings(bags.counts[chosen], COUNTS) @ of_count
        weights = torch.exp(logarithms) * (pieces > 0)
        if dropped:
            weights = weights * (torch.rand_like(weights) > dropped)
        bag = torch.zeros(len(pieces), len(vectors), device=device).scatter(1, pieces, weights)
        return functional.normalize(bag @ vectors, dim=1)

    optimizer = torch.optim.Adam([vectors, of_place, of_count, scale], lr=RATE, betas=(0.9, 0.98))
    for step, chosen in zip(range(steps), batches, strict=False):
        if step % 400 == 0:
            with torch.no_grad():
                print(
                    step,
                    f"held out: {held.reciprocal_rank(lambda *at: rows(*at).cpu().numpy()):.3f}",
                    flush=True,
                )
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 200) * (1 + math.cos(math.pi * step / steps)) / 2
        near = scale.exp().clamp(max=60) * (rows(asked, chosen, DROPPED) @ rows(answers, chosen, DROPPED).T)
        own = torch.arange(len(chosen), device=device)
        loss = (functional.cross_entropy(near, own) + functional.cross_entropy(near.T, own)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(steps, f"held out: {held.reciprocal_rank(lambda *at: rows(*at).cpu().numpy()):.3f}", flush=True)
    learned = {"vectors": vectors, "places": of_place, "counts": of_count}
    return {name: value.detach().cpu().numpy() for name, value in learned.items()}


@dataclass(frozen=True, slots=True)
class Held:
    """Summaries of packages that nothing is learned from."""

    asked: Bags
    answers: Bags
    packages: Numbers

    def reciprocal_rank(self, rows: Any) -> float:
        """Return the mean over packages of the mean 1/rank of each function among those of its package."""
        means = []
        for package in np.unique(self.packages):
            chosen = np.flatnonzero(self.packages == package)
            if len(chosen) >= 30:
                near = rows(self.asked, chosen) @ rows(self.answers, chosen).T
                better = (near > np.diag(near)[:, None]).sum(axis=1)
                means.append(float((1 / (1 + better)).mean()))
        return sum(means) / len(means) if means else math.nan


def write(path: Path, pieces: Sequence[str], learned: dict[str, NDArray[Any]]) -> None:
    """Write the vectors in 8 bits, a scale for each, in the form that `StaticEmbedding` reads."""
    scales = np.maximum(np.abs(learned["vectors"]).max(axis=1, keepdims=True) / 127, 1e-9)
    np.savez(
        path,
        vocabulary=np.frombuffer("\n".join(pieces).encode(), np.uint8),
        vectors=np.rint(learned["vectors"] / scales).astype(np.int8),
        scales=scales.astype("<f2"),
        places=learned["places"].astype("<f4"),
        counts=learned["counts"].astype("<f4"),
    )


def main() -> None:
    """Read functions, make questions and pieces, train and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("functions", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=1_600)
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    with arguments.functions.open(encoding="utf-8") as lines:
        files = [json.loads(line) for line in lines]
    learned_pieces = vocabulary(word_counts(files))
    asked: dict[Question, tuple[str, str]] = {}
    held: dict[Question, tuple[str, str]] = {}
    for file in files:
        is_held = file["package"].startswith(HELD_OUT)
        for question in questions(file):
            (held if is_held else asked).setdefault(question, (file["package"], file["language"]))
    print(f"{len(files)} files, {len(asked)} questions, {len(learned_pieces)} pieces", flush=True)
    pieces = Pieces(learned_pieces)
    summaries = {question: about for question, about in held.items() if question.kind is Kind.SUMMARY}
    learned = train(
        *_bags(list(asked), pieces),
        Batches(_weights(asked), _as_numbers([package for package, _ in asked.values()])),
        first_vectors(learned_pieces),
        Held(*_bags(list(summaries), pieces), _as_numbers([package for package, _ in summaries.values()])),
        arguments.steps,
        arguments.device,
    )
    write(arguments.out, learned_pieces, learned)


def _bags(asked: Sequence[Question], pieces: Pieces) -> tuple[Bags, Bags]:
    return (
        Bags.of_many([item.question for item in asked], pieces, QUESTION_PIECES),
        Bags.of_many([item.answer for item in asked], pieces),
    )


def _weights(asked: dict[Question, tuple[str, str]]) -> NDArray[np.float64]:
    """Return how often each question is drawn, by its kind and by how rare its language is."""
    languages = Counter(language for _, language in asked.values())
    most = max(languages.values())
    return np.array(
        [
            WEIGHTS[question.kind] * (most / languages[language]) ** LANGUAGE_POWER
            for question, (_, language) in asked.items()
        ]
    )


def _as_numbers(names: Sequence[str]) -> Numbers:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], dtype=np.int64)


if __name__ == "__main__":
    main()
