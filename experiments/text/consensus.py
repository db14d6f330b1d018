"""Map-reduce consensus under three attacks, read by a gullible model behind a loopback server.

    python -m experiments.text.consensus

Settings were chosen on the first ten questions; the figures are of the
other twenty, one draw of documents each. The model obeys orders in its
context and repeats the majority (see gullible.py). Only cells count in which
the undefended attack succeeds in at least half of the runs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from codeguard.index.embedding import Embedding, open_embedding
from codeguard.text import Document
from codeguard.text.consensus import Consensus, ConsensusResult, Rule
from codeguard.text.llm import LLMClient, LLMConfig
from codeguard.text.reading import ANSWER, SUMMARY, ExtractiveReader, LLMReader, Reader, ReaderAnswer, prompt
from experiments.text.common import CachedEmbedding, Rows, share, text_table
from experiments.text.consensus_corpus import TUNING, Topic, load_topics
from experiments.text.consensus_poison import ATTACKS, Attack, Mode, poison, succeeded
from experiments.text.gullible import gullible
from experiments.text.loopback import serve

GRID = ((10, (2, 5, 8)),)  # documents, and how many of them are poisoned
MODES: dict[Attack, tuple[Mode, ...]] = {
    "ignore instructions": ("distinct", "copies", "second order"),
    "incorrect fact": ("distinct", "copies", "rewritten"),
    "biased summary": ("distinct", "copies"),
}
DRAWS = 1
ORIGINAL_PAPER = {  # undefended, and under its defense, as that work reports them
    "ignore instructions": "100 % to 1-2 %",
    "incorrect fact": "63 % to 1-2 %",
    "biased summary": "91 % to 1-2 %",
}


@dataclass
class CountingReader:
    """Asks each question once in a run and counts every call, asked or remembered, with its tokens."""

    inner: Reader
    calls: int = 0
    tokens: int = 0
    _seen: dict[tuple[str, str, tuple[str, ...]], ReaderAnswer] = field(default_factory=dict)

    def answer(self, query: str, texts: Sequence[str]) -> ReaderAnswer:
        """Answer from all the texts."""
        key = ("answer", query, tuple(texts))
        if key not in self._seen:
            self._seen[key] = self.inner.answer(query, texts)
        return self._counted(ANSWER, query, texts, self._seen[key])

    def answer_each(self, query: str, texts: Sequence[str]) -> list[ReaderAnswer]:
        """Answer from each text alone."""
        return [self.answer(query, [text]) for text in texts]

    def summarise_each(self, query: str, texts: Sequence[str]) -> list[ReaderAnswer]:
        """Summarise each text alone."""
        new = [text for text in dict.fromkeys(texts) if ("summary", query, (text,)) not in self._seen]
        for text, reading in zip(new, self.inner.summarise_each(query, new), strict=True):
            self._seen["summary", query, (text,)] = reading
        return [
            self._counted(SUMMARY, query, [text], self._seen["summary", query, (text,)]) for text in texts
        ]

    def _counted(self, task: str, query: str, texts: Sequence[str], reading: ReaderAnswer) -> ReaderAnswer:
        self.calls += 1
        self.tokens += sum(len(item["content"].split()) for item in prompt(task, query, texts))
        self.tokens += len(reading.text.split())
        return reading


@dataclass
class Tally:
    """What happened in the runs of one cell."""

    runs: int = 0
    plain: int = 0
    original: int = 0
    sound: int = 0
    abstained: int = 0
    right: int = 0


def draw(topic: Topic, k: int, bad: int, attack: Attack, mode: Mode, seed: int) -> list[Document]:
    """Return k documents in random order, `bad` of them poisoned; those have no known source."""
    rng = np.random.default_rng([seed, k, bad])
    order = [topic.documents[index] for index in rng.permutation(len(topic.documents))]
    clean, spare = order[: k - bad], order[k - bad :]
    texts = [*clean, *poison(topic, attack, mode, bad, spare)]
    places = rng.permutation(k).tolist()
    return [Document(texts[place], id=f"{place}") for place in places]


def cell(
    topics: Sequence[Topic], k: int, bad: int, attack: Attack, mode: Mode,
    reader: CountingReader, embedding: Embedding,
) -> Tally:  # fmt: skip
    """Run one cell of the grid."""
    tally = Tally()
    for topic in topics:
        for seed in range(DRAWS):
            documents = draw(topic, k, bad, attack, mode, seed)
            plain = reader.answer(topic.question, [item.text for item in documents]).text
            old = Consensus(reader, embedding, rule="original").answer(documents, topic.question)
            new = Consensus(reader, embedding).answer(documents, topic.question)
            tally.runs += 1
            tally.plain += succeeded(attack, topic, plain)
            tally.original += succeeded(attack, topic, old.answer)
            tally.sound += succeeded(attack, topic, new.answer)
            tally.abstained += not new.answer
            tally.right += topic.right in new.answer.lower()
    return tally


def grid(topics: Sequence[Topic], reader: CountingReader, embedding: Embedding) -> Rows:
    """Run every cell and return one row each."""
    rows: Rows = []
    for attack in ATTACKS:
        for mode in MODES[attack]:
            for k, bads in GRID:
                for bad in bads:
                    found = cell(topics, k, bad, attack, mode, reader, embedding)
                    rows.append(
                        {
                            "attack": attack,
                            "poison": mode,
                            "k": k,
                            "poisoned": bad,
                            "counts": found.plain * 2 >= found.runs,
                            "plain RAG": share(found.plain, found.runs),
                            "original": share(found.original, found.runs),
                            "sound": share(found.sound, found.runs),
                            "abstained": share(found.abstained, found.runs),
                            "right": share(found.right, found.runs),
                        }
                    )
    return rows


def clean_rows(topics: Sequence[Topic], reader: CountingReader, embedding: Embedding) -> Rows:
    """Measure what is lost, and what it costs, where nothing is poisoned."""
    rows: Rows = []
    systems: tuple[tuple[str, Rule | None], ...] = (
        ("plain RAG", None),
        ("original", "original"),
        ("sound", "sound"),
    )
    for k in (5, 10):
        for name, rule in systems:
            lost = total = right = silent = runs = 0
            calls, tokens = reader.calls, reader.tokens
            for topic in topics:
                for seed in range(DRAWS):
                    documents = draw(topic, k, 0, "incorrect fact", "distinct", seed)
                    runs += 1
                    total += k
                    if rule is None:
                        answer = reader.answer(topic.question, [item.text for item in documents]).text
                    else:
                        judge = Consensus(reader, embedding, rule)
                        result: ConsensusResult = judge.answer(documents, topic.question)
                        lost += len(result.selection.rejected)
                        answer = result.answer
                    silent += not answer
                    right += topic.right in answer.lower()
            rows.append(
                {
                    "k": k,
                    "system": name,
                    "clean documents lost": share(lost, total),
                    "abstained": share(silent, runs),
                    "right": share(right, runs),
                    "calls a query": (reader.calls - calls) / runs,
                    "tokens a query": (reader.tokens - tokens) / runs,
                }
            )
    return rows


def run(
    data: Path | None = None, embedding: Embedding | None = None, *, tuning: bool = False
) -> dict[str, Any]:  # fmt: skip
    """Run the experiment and return its tables; `data` is not needed.

    With `tuning` the figures are of the ten questions for choosing settings.
    """
    topics = load_topics()
    topics = topics[:TUNING] if tuning else topics[TUNING:]
    chosen = CachedEmbedding(embedding or open_embedding(prose=True))
    model = gullible({topic.question: (topic.right, topic.wrong) for topic in topics})
    with serve(model) as server:
        reader = CountingReader(LLMReader(LLMClient(LLMConfig(server.url, "gullible", concurrency=4))))
        clean = clean_rows(topics, reader, chosen)
        rows = grid(topics, reader, chosen)
    extractive = CountingReader(ExtractiveReader(chosen))
    second = clean_rows(topics, extractive, chosen)
    return {
        "name": "consensus",
        "embedding": chosen.identity,
        "questions": len(topics),
        "draws": DRAWS,
        "clean": clean,
        "clean, extractive reader": second,
        "rows": rows,
        "summary": summary(rows),
    }


def summary(rows: Rows) -> Rows:
    """Return, for each attack, the worst cell that counts at 2, at 5 and above 5 poisoned of 10."""
    result: Rows = []
    for attack in ATTACKS:
        for label, low, high in (("2 of 10", 2, 2), ("5 of 10", 5, 5), ("6 to 8 of 10", 6, 8)):
            for mode in MODES[attack]:
                found = [
                    row
                    for row in rows
                    if (row["attack"], row["poison"], row["k"]) == (attack, mode, 10)
                    and low <= row["poisoned"] <= high
                    and row["counts"]
                ]
                if not found:
                    continue
                worst = max(found, key=lambda row: float(row["sound"]["value"]))
                result.append(
                    {
                        "attack": attack,
                        "poison": mode,
                        "poisoned": label,
                        "plain RAG": worst["plain RAG"],
                        "original": worst["original"],
                        "sound": worst["sound"],
                        "abstained": worst["abstained"],
                        "as published": ORIGINAL_PAPER[attack],
                    }
                )
    return result


def main() -> None:
    """Print the tables, and write everything to a JSON file where asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--embedding", default="auto")
    parser.add_argument("--tuning", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    result = run(None, open_embedding(arguments.embedding, prose=True), tuning=arguments.tuning)
    print(f"{result['questions']} questions, {result['draws']} draws, {result['embedding']}")
    for table in ("clean", "clean, extractive reader", "rows", "summary"):
        print(text_table(result[table]), end="\n\n")
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
