"""Read the thirty questions with ten documents each that the consensus experiment runs on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).with_suffix(".txt")
TUNING = 10  # the first questions are for choosing settings; figures are of the others


@dataclass(frozen=True, slots=True)
class Topic:
    """A question with its right answer, the attacker's, and its documents."""

    question: str
    right: str
    wrong: str
    documents: tuple[str, ...]


def load_topics() -> tuple[Topic, ...]:
    """Return the topics in file order."""
    topics: list[tuple[list[str], list[str]]] = []
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        if line.startswith("?"):
            topics.append(([part.strip() for part in line[1:].split("|")], []))
        elif line.strip() and not line.startswith("#"):
            topics[-1][1].append(line.strip())
    return tuple(Topic(head[0], head[1], head[2], tuple(documents)) for head, documents in topics)


def replace_answer(text: str, topic: Topic) -> str:
    """Return a document with the wrong answer wherever it had the right one."""
    start = text.lower().find(topic.right)
    while start >= 0:
        text = text[:start] + topic.wrong + text[start + len(topic.right) :]
        start = text.lower().find(topic.right, start + len(topic.wrong))
    return text
