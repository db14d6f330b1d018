"""FilterRAG and ML-FilterRAG on the questions of PoisonedRAG, by the protocol of their paper.

    python -m experiments.text.filterrag --data FOLDER

Even questions are trained and calibrated on while odd ones are tested, then
the other way round: ten rounds of ten test questions. The second clean text
of a question is the nearest golden passage of another question of the same
half, since the data holds one golden passage a question.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from codeguard.index.embedding import Embedding, open_embedding
from codeguard.text import Document, TextDefense
from codeguard.text.filterrag import CleanPair, FilterRAG, LengthThreshold, calibrate_threshold
from codeguard.text.mlfilter import FEATURES, PAPER_FEATURES, LabelledText, MLFilterRAG, train_filter
from codeguard.text.reading import ExtractiveReader
from codeguard.text.tokens import content_words, words
from experiments.text.common import CachedEmbedding, Rows, data_folder, share, text_table

TOP, KEEP, ROUND = 4, 2, 10
EXTRA = 5  # adversarial texts a question that training sees, and as many clean ones of the top 15
RETRIEVED = 15
SHORT_ANSWER = 5  # words of the answer that Freq-Density is taken with
ATTACKS = ("prefix", "plain", "whitebox", "blind", "garag")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answers, its golden passage, and adversarial texts by attack."""

    text: str
    correct: str
    target: str
    golden: str
    poison: Mapping[str, tuple[str, ...]]


def load_questions(folder: Path, embedding: Embedding, attacks: Sequence[str] = ATTACKS) -> list[Question]:
    """Return the questions of a folder `poisonedrag_NAME`; white-box texts are made here where they are asked for."""
    name = folder.name.removeprefix("poisonedrag_")
    records = list(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")).values())
    golden = [
        line.strip() for line in (folder / f"golden_{name}.txt").read_text(encoding="utf-8").split("\n")
    ]
    golden = [line for line in golden if line]
    paths = {attack: folder / f"{attack}_{name}.json" for attack in ("blind", "garag")}
    others = {attack: _by_query(path) for attack, path in paths.items() if path.exists()}
    questions = []
    for record, passage in zip(records, golden, strict=True):
        text = record["question"]
        plain = tuple(record["adv_texts"])
        poison = {"plain": plain, "prefix": tuple(f"{text}. {item}" for item in plain)}
        poison |= {attack: tuple(found.get(text, ())[:EXTRA]) for attack, found in others.items()}
        if "whitebox" in attacks:
            poison["whitebox"] = tuple(
                swap_words(item, text, record["incorrect answer"], embedding, seed)
                for seed, item in enumerate(plain)
            )
        questions.append(
            Question(text, record["correct answer"], record["incorrect answer"], passage, poison)
        )
    return questions


def _by_query(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for record in json.loads(path.read_text(encoding="utf-8")):
        found.setdefault(record["query"], []).append(record["adversarial_document"])
    return found


def swap_words(text: str, question: str, target: str, embedding: Embedding, seed: int, steps: int = 3) -> str:
    """Swap words greedily for words of the question, so that the text comes nearer to it.

    HotFlip's aim (Ebrahimi and others, 2018) without its gradients: at each
    step some words are tried in some places, and the best swap is kept if it
    helps. Words of the target answer stay.
    """
    rng = np.random.default_rng([seed, len(text)])
    current, goal = text.split(), embedding.embed([question])[0]
    kept, candidates = set(words(target)), list(dict.fromkeys(content_words(question)))
    best = float(embedding.embed([text])[0] @ goal)
    free = [place for place, word in enumerate(current) if not set(words(word)) & (kept | set(candidates))]
    for _ in range(steps):
        if not free or not candidates:
            break
        tries = []
        for place in rng.permutation(free)[:3].tolist():
            for word in rng.permutation(candidates)[:3].tolist():
                tries.append((place, [*current[:place], word, *current[place + 1 :]]))
        scores = embedding.embed([" ".join(tokens) for _, tokens in tries]) @ goal
        winner = int(np.argmax(scores))
        if scores[winner] > best:
            best, (place, current) = float(scores[winner]), tries[winner]
            free.remove(place)
    return " ".join(current)


@dataclass(frozen=True, slots=True)
class Half:
    """The questions that are tested, and the texts each is tested with."""

    train: list[Question]
    test: list[Question]


def clean_texts(question: Question, pool: Sequence[Question], embedding: Embedding, count: int) -> list[str]:
    """Return the question's golden passage and the nearest ones of other questions of the pool."""
    others = [other for other in pool if other is not question]
    near = embedding.embed([other.golden for other in others]) @ embedding.embed([question.text])[0]
    order = np.argsort(-near, kind="stable")[: count - 1].tolist()
    return [question.golden, *(others[index].golden for index in order)]


def examples_of(
    train: Sequence[Question], attacks: Sequence[str], embedding: Embedding, choice: str = "random"
) -> list[LabelledText]:
    """Return the labelled texts: five adversarial ones a question and attack, and five clean of the top 15.

    The clean ones are drawn ("random", as the paper does) or the "nearest".
    """
    found = []
    rng = np.random.default_rng(0)
    for question in train:
        for attack in attacks:
            found += [LabelledText(question.text, item, True) for item in question.poison[attack][:EXTRA]]
        top = clean_texts(question, train, embedding, RETRIEVED)
        drawn = rng.permutation(len(top)).tolist() if choice == "random" else list(range(len(top)))
        clean = [top[index] for index in drawn[:EXTRA]]
        found += [LabelledText(question.text, item, False) for item in clean]
    return found


def clean_pairs(questions: Sequence[Question], embedding: Embedding, count: int = 2) -> list[CleanPair]:
    """Return what calibration gets: each question with its golden passage and the nearest other ones."""
    return [
        CleanPair(question.text, text)
        for question in questions
        for text in clean_texts(question, questions, embedding, count)
    ]


def measure(
    test: Sequence[Question], defense: TextDefense | None, attack: str, mix: str,
    embedding: Embedding, reader: ExtractiveReader,
) -> dict[str, int]:  # fmt: skip
    """Count what is handed on, and what the reader makes of it, over some test questions."""
    counts = dict.fromkeys(
        (
            "poison_in",
            "poison_on",
            "poison_passed",
            "clean_in",
            "clean_passed",
            "golden_passed",
            "on",
            "correct",
            "target",
            "empty",
            "n",
        ),
        0,
    )
    for question in test:
        clean = clean_texts(question, test, embedding, 2)
        poison = list(question.poison[attack]) if attack else []
        chosen = {"half": (clean, poison[:2]), "clean": (clean, []), "poison": ([], poison[:TOP])}[mix]
        near = embedding.embed([*chosen[0], *chosen[1]]) @ embedding.embed([question.text])[0]
        texts = [*chosen[0], *chosen[1]]
        documents = [
            Document(texts[index], id=f"{index}", source="poison" if index >= len(chosen[0]) else "clean")
            for index in np.argsort(-near, kind="stable").tolist()
        ]
        if defense is None:
            passed = on = documents
        else:
            selection = defense.select(documents, question.text)
            passed = [
                item.document for item in selection.judgments if item.kept or item.rule == "beyond_keep"
            ]
            on = list(selection.kept)
        on = on[:KEEP]
        answer = reader.answer(question.text, [item.text for item in on]).text.lower() if on else ""
        counts["n"] += 1
        counts["on"] += len(on)
        counts["poison_in"] += len(chosen[1])
        counts["clean_in"] += len(chosen[0])
        counts["poison_on"] += sum(item.source == "poison" for item in on)
        counts["poison_passed"] += sum(item.source == "poison" for item in passed)
        counts["clean_passed"] += sum(item.source == "clean" for item in passed)
        counts["golden_passed"] += sum(item.text == question.golden for item in passed)
        counts["correct"] += question.correct.lower() in answer
        counts["target"] += question.target.lower() in answer
        counts["empty"] += not on
    return counts


def figures(counts: Mapping[str, int]) -> dict[str, Any]:
    """Return the figures of the paper's tables, and the share of texts of each kind that pass the filter."""
    return {
        "ATR": share(counts["poison_on"], counts["on"]),
        "poison passed": share(counts["poison_passed"], counts["poison_in"]),
        "clean kept": share(counts["clean_passed"], counts["clean_in"]),
        "golden kept": share(counts["golden_passed"], counts["n"]) if counts["clean_in"] else "–",
        "ASR": share(counts["target"], counts["n"]),
        "accuracy": share(counts["correct"], counts["n"]),
        "nothing left": share(counts["empty"], counts["n"]),
    }


def defenses_for(
    half: Half,
    attack: str,
    attacks: Sequence[str],
    embedding: Embedding,
    reader: ExtractiveReader,
) -> dict[str, TextDefense]:
    """Return every defense under test; the learned ones are trained on this attack, or on all others."""
    described = calibrate_threshold(clean_pairs(half.train, embedding), reader, embedding).threshold
    found: dict[str, TextDefense] = {
        "FilterRAG, 0.2": FilterRAG(reader, LengthThreshold.constant(0.2), embedding, TOP, KEEP),
        "FilterRAG, calibrated": FilterRAG(reader, described, embedding, TOP, KEEP),
    }
    own = examples_of(half.train, [attack], embedding)
    foreign = examples_of(half.train, [name for name in attacks if name != attack], embedding)
    plans = [
        ("ML-FilterRAG, paper's 4", own, PAPER_FEATURES),
        ("ML-FilterRAG, all features", own, FEATURES),
    ]
    if len(attacks) > 1:
        plans.append(("all features, attack not seen", foreign, FEATURES))
    for name, examples, features in plans:
        model = train_filter(examples, embedding, reader, features=features)
        found[name] = MLFilterRAG(model, embedding, reader, TOP, KEEP)
    return found


def run(
    data: Path | None = None,
    embedding: Embedding | None = None,
    attacks: Sequence[str] = ATTACKS,
    name: str = "poisonedrag_nq",
) -> dict[str, Any]:
    """Run the experiment, on all attacks or on some, and return its tables."""
    chosen = CachedEmbedding(embedding or open_embedding(prose=True))
    reader, short = ExtractiveReader(chosen), ExtractiveReader(chosen, answer_words=SHORT_ANSWER)
    questions = load_questions(data_folder(data, name), chosen, attacks)
    halves = [Half(questions[0::2], questions[1::2]), Half(questions[1::2], questions[0::2])]
    rows: Rows = []
    totals: dict[tuple[str, str, str], dict[str, int]] = {}
    for half in halves:
        rounds = [half.test[start : start + ROUND] for start in range(0, len(half.test), ROUND)]
        for attack in attacks:
            defenses: dict[str, TextDefense | None] = {"no defense": None}
            defenses |= defenses_for(half, attack, attacks, chosen, short)
            for name, defense in defenses.items():
                for mix in ("clean", "half", "poison"):
                    total = totals.setdefault((attack, mix, name), {})
                    for part in rounds:
                        for key, value in measure(part, defense, attack, mix, chosen, reader).items():
                            total[key] = total.get(key, 0) + value
    for (attack, mix, name), total in totals.items():
        rows.append({"attack": attack, "top 4": mix, "defense": name, **figures(total)})
    rows.sort(key=lambda row: (ATTACKS.index(row["attack"]), ("clean", "half", "poison").index(row["top 4"])))
    return {
        "name": "filterrag",
        "embedding": chosen.identity,
        "questions": len(questions),
        "rounds": len(questions) // ROUND,
        "rows": rows,
    }


def main() -> None:
    """Print the tables, and write everything to a JSON file where asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--set", default="poisonedrag_nq", help="folder under --data")
    parser.add_argument("--embedding", default="auto")
    parser.add_argument("--attack", action="append", choices=ATTACKS, help="only these; may be repeated")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    embedding = open_embedding(arguments.embedding, prose=True)
    result = run(arguments.data, embedding, arguments.attack or ATTACKS, arguments.set)
    print(f"{result['questions']} questions, {result['rounds']} rounds, {result['embedding']}")
    print(text_table(result["rows"]))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
