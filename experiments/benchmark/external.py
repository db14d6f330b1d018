"""Attacks published by others: a folder of items, each a question with a poisoned and an honest text.

`items.jsonl` holds one JSON object a line: `question`, `poison`, `honest`, `class`, and `source` (or `set`), all text.
The honest text of one half of the items, by their digests, is the team's own; that of the others nobody has listed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from experiments.benchmark.attacks import Draft
from experiments.benchmark.corpora import TRUSTED, Corpus, Function, LooseNames, chunks_of
from experiments.benchmark.placement import Tree, shuffled
from experiments.benchmark.poison import BLACK_BOX, PUBLISHED, Instance, Poisoned
from experiments.benchmark.questions import Question, Subject

PAIR = "published"


@dataclass(frozen=True, slots=True)
class Item:
    """A published attack."""

    question: str
    poison: str
    honest: str
    kind: str
    source: str

    @property
    def digest(self) -> str:
        """What the item is known by, and what decides its half."""
        return hashlib.sha256(f"{self.source}\0{self.question}\0{self.poison}".encode()).hexdigest()


def read(folder: Path) -> tuple[Item, ...]:
    """Return the items of a folder that have all three texts.

    Raises:
        ValueError: there is no file of them, or a line is no item.
    """
    place = folder / "items.jsonl"
    if not place.is_file():
        raise ValueError(f"--external {folder}: got no items.jsonl, expected one item a line")
    found = []
    for number, line in enumerate(place.read_text("utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            source = row.get("source") or row["set"]
            if row["question"] and row["poison"] and row["honest"]:
                found.append(Item(row["question"], row["poison"], row["honest"], row["class"], source))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{place}:{number}: got {error!r}, expected an item") from None
    return tuple(found)


def prepare(items: Sequence[Item], background: Corpus, seed: int) -> tuple[Corpus, Tree]:
    """Return the trusted code of a corpus with the published items in it, and the unlisted side.

    Beside each poisoned text lies an honest one of the same form: the item's own, or a function of the corpus where
    the item's own is trusted.
    """
    rng = Random(f"published:{seed}")
    names = LooseNames(f"{seed}:{PAIR}")
    beside = [item.source for item in background.functions if item.plain and not item.trusted]
    rng.shuffle(beside)
    texts = dict(background.trusted)
    unlisted: dict[str, str] = {}
    instances = []
    for number, item in enumerate(items):
        twin = int(item.digest[:8], 16) % 2 == 0
        path = f"{TRUSTED}/kept/{item.digest[:10]}.py" if twin else names(".py")
        (texts if twin else unlisted)[path] = f"{item.honest}\n"
        if twin and beside:
            unlisted[names(".py")] = f"{beside[number % len(beside)]}\n"
        place = names(".py")
        unlisted[place] = f"{item.poison}\n"
        instances.append(_instance(item, path, place, twin, seed))
    tree = shuffled(unlisted, rng, instances)
    homes = {path: background.homes[path] for path in background.trusted}
    functions = tuple(item for item in background.functions if item.trusted)
    return (
        replace(
            background, pair=PAIR, texts={**texts, **unlisted}, functions=functions, homes=homes,
            pool=frozenset(unlisted),
        ),
        tree,
    )  # fmt: skip


def _instance(item: Item, honest: str, place: str, twin: bool, seed: int) -> Instance:
    function = Function(
        item.source, honest, item.kind, item.digest[:10], item.honest, item.question, twin, plain=False
    )
    answers = tuple((honest, chunk.symbol) for chunk in chunks_of(honest, f"{item.honest}\n"))
    subject = Subject(function, (Question(item.question, PAIR, function.id, answers),), twin)
    proof = {"published": f"{item.source}, {item.kind}"}
    lines = ((1, item.poison.count("\n") + 2),)
    file = Poisoned(place, f"{item.poison}\n", item.kind, lines, (), proof)
    return Instance(
        f"{PAIR}/{seed}/{item.source}/{function.id}",
        subject,
        f"published: {item.source}",
        PAIR,
        adaptive=False,
        knowledge=BLACK_BOX,
        drafts=((Draft(item.kind, item.poison), proof),),
        author=PUBLISHED,
        files=(file,),
    )
