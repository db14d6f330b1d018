"""FilterRAG and ML-FilterRAG on the questions of PoisonedRAG, by the protocol of their paper.

    python -m experiments.text.filterrag --data FOLDER

Even questions are trained and calibrated on while odd ones are tested, then
the other way round: ten rounds of ten test questions. The second clean text
of a question is the nearest golden passage of another question of the same
half, since the data holds one golden passage a question. Where RAGDefender is
installed (pip install ragdefender), it runs on the same documents.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from codeguard.index.embedding import Embedding, open_embedding
from codeguard.text import Document, Judgment, Selection, TextDefense
from codeguard.text.filterrag import CleanPair, FilterRAG, calibrate_threshold
from codeguard.text.mlfilter import FEATURES, PAPER_FEATURES, LabelledText, MLFilterRAG, train_filter
from codeguard.text.reading import ExtractiveReader
from experiments.text.common import CachedEmbedding, Rows, data_folder, share, text_table

TOP, KEEP, ROUND = 4, 2, 10
EXTRA = 5  # adversarial texts a question that training sees, and as many clean ones of the top 15
RETRIEVED = 15
SHORT_ANSWER = 5  # words of the answer that Freq-Density is taken with
ATTACKS = ("prefix", "plain", "blind", "garag")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answers, its golden passage, and adversarial texts by attack."""

    text: str
    correct: str
    target: str
    golden: str
    poison: Mapping[str, tuple[str, ...]]


def load_questions(folder: Path) -> list[Question]:
    """Return the questions of a folder `poisonedrag_NAME`."""
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
        questions.append(
            Question(text, record["correct answer"], record["incorrect answer"], passage, poison)
        )
    return questions


def _by_query(path: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for record in json.loads(path.read_text(encoding="utf-8")):
        found.setdefault(record["query"], []).append(record["adversarial_document"])
    return found


def clean_texts(question: Question, pool: Sequence[Question], embedding: Embedding, count: int) -> list[str]:
    """Return the question's golden passage and the nearest ones of other questions of the pool."""
    others = [other for other in pool if other is not question]
    near = embedding.embed([other.golden for other in others]) @ embedding.embed([question.text])[0]
    order = np.argsort(-near, kind="stable")[: count - 1].tolist()
    return [question.golden, *(others[index].golden for index in order)]


def examples_of(train: Sequence[Question], attack: str, embedding: Embedding) -> list[LabelledText]:
    """Return five adversarial texts of a question, and five clean ones drawn from the top 15, as the paper does."""
    found = []
    rng = np.random.default_rng(0)
    for question in train:
        found += [LabelledText(question.text, item, True) for item in question.poison[attack][:EXTRA]]
        top = clean_texts(question, train, embedding, RETRIEVED)
        drawn = rng.permutation(len(top)).tolist()[:EXTRA]
        found += [LabelledText(question.text, top[index], False) for index in drawn]
    return found


def clean_pairs(questions: Sequence[Question], embedding: Embedding, count: int = 2) -> list[CleanPair]:
    """Return what calibration gets: each question with its golden passage and the nearest other ones."""
    return [
        CleanPair(question.text, text)
        for question in questions
        for text in clean_texts(question, questions, embedding, count)
    ]


def measure(
    test: Sequence[Question],
    defense: TextDefense | None,
    attack: str,
    embedding: Embedding,
    reader: ExtractiveReader,
) -> Counter[str]:
    """Count what is handed on, and what the reader makes of it; half of what is retrieved is poisoned."""
    counts: Counter[str] = Counter()
    for question in test:
        clean = clean_texts(question, test, embedding, TOP // 2)
        texts = [*clean, *question.poison[attack][: TOP // 2]]
        near = embedding.embed(texts) @ embedding.embed([question.text])[0]
        documents = [
            Document(texts[index], id=f"{index}", source="poison" if index >= len(clean) else "clean")
            for index in np.argsort(-near, kind="stable").tolist()
        ]
        passed = on = documents
        if defense is not None:
            selection = defense.select(documents, question.text)
            passed = [
                item.document for item in selection.judgments if item.kept or item.rule == "beyond_keep"
            ]
            on = list(selection.kept)
        on = on[:KEEP]
        answer = reader.answer(question.text, [item.text for item in on]).text.lower() if on else ""
        counts.update(f"{item.source} in" for item in documents)
        counts.update(f"{item.source} passed" for item in passed)
        counts.update(f"{item.source} on" for item in on)
        counts.update(
            n=1, correct=question.correct.lower() in answer, target=question.target.lower() in answer
        )
    return counts


def figures(counts: Counter[str]) -> dict[str, Any]:
    """Return the figures of the paper's tables, and the share of texts of each kind that pass the filter."""
    return {
        "ATR": share(counts["poison on"], counts["poison on"] + counts["clean on"]),
        "poison passed": share(counts["poison passed"], counts["poison in"]),
        "clean kept": share(counts["clean passed"], counts["clean in"]),
        "ASR": share(counts["target"], counts["n"]),
        "accuracy": share(counts["correct"], counts["n"]),
    }


class RAGDefender:
    """The published defense of this name (Kim et al., ACSAC 2025) from its own package, over our embedding.

    `task` is the paper's choice for a data set: `single_hop` (NQ, MS MARCO) or `multi_hop` (HotpotQA).
    """

    def __init__(self, embedding: Embedding, task: str) -> None:
        from ragdefender import RAGDefender as Peer  # brings PyTorch

        self._embedding = embedding
        self._peer = Peer(embedder=self, task_type=task, device="cpu")

    def encode(self, texts: Sequence[str], **options: object) -> Any:
        """Return the embeddings as the tensor that the package expects of an embedder."""
        import torch

        return torch.from_numpy(self._embedding.embed(texts))

    def select(self, documents: Sequence[Document], query: str = "") -> Selection:
        """Reject the documents that the package removes."""
        _, removed = self._peer.defend(query, [item.text for item in documents], return_indices=True)
        return Selection(
            tuple(
                Judgment(item, place not in removed, "ragdefender", "")
                for place, item in enumerate(documents)
            )
        )


def defenses_for(
    train: Sequence[Question], attack: str, embedding: Embedding, reader: ExtractiveReader
) -> dict[str, TextDefense | None]:
    """Return every defense under test; the learned ones are trained on this attack."""
    threshold = calibrate_threshold(clean_pairs(train, embedding), reader, embedding).threshold
    found: dict[str, TextDefense | None] = {
        "no defense": None,
        "FilterRAG, calibrated": FilterRAG(reader, threshold, embedding, TOP, KEEP),
    }
    examples = examples_of(train, attack, embedding)
    plans = (("ML-FilterRAG, paper's 4", PAPER_FEATURES), ("ML-FilterRAG, all features", FEATURES))
    for name, features in plans:
        model = train_filter(examples, embedding, reader, features=features)
        found[name] = MLFilterRAG(model, embedding, reader, TOP, KEEP)
    if importlib.util.find_spec("ragdefender"):
        found |= {
            f"RAGDefender, {task}": RAGDefender(embedding, task) for task in ("single_hop", "multi_hop")
        }
    return found


def run(
    data: Path | None = None,
    embedding: Embedding | None = None,
    attacks: Sequence[str] = ATTACKS,
    name: str = "poisonedrag_nq",
) -> dict[str, Any]:
    """Run the experiment, on all attacks or on some, and return its table."""
    chosen = CachedEmbedding(embedding or open_embedding(prose=True))
    reader, short = ExtractiveReader(chosen), ExtractiveReader(chosen, answer_words=SHORT_ANSWER)
    questions = load_questions(data_folder(data, name))
    totals: dict[tuple[str, str], Counter[str]] = {}
    for attack in attacks:
        for train, test in ((questions[0::2], questions[1::2]), (questions[1::2], questions[0::2])):
            defenses = defenses_for(train, attack, chosen, short)
            for start in range(0, len(test), ROUND):
                for system, defense in defenses.items():
                    counts = measure(test[start : start + ROUND], defense, attack, chosen, reader)
                    totals.setdefault((attack, system), Counter()).update(counts)
    rows: Rows = [
        {"attack": attack, "defense": system, **figures(total)} for (attack, system), total in totals.items()
    ]
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
