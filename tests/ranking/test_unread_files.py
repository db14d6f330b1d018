"""A file of which a detector failed or a part was not read ranks behind the others, and mode drop leaves it out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest
from lexical_settings import lexical_settings
from marker import Marker

from codeguard.analysis import Reading
from codeguard.analysis.rules import DetectorContext, Match, Rule
from codeguard.api import CodeGuard
from codeguard.corpus.chunking import chunk_file
from codeguard.index.static_evidence import StaticEvidence
from codeguard.models import DETECTOR_ERROR, Confidence, Severity, Trust
from codeguard.ranking.reranking import Ranked, rank
from codeguard.weights import Weights

SAVE = 'def save_note(text, place):\n    """Save a note to a place."""\n    place.write(text)\n'
OTHER = (
    'def keep_note(words, where):\n    """Save a note to a place, somewhere."""\n'
    "    where.append(words)\n    return where\n"
)
QUERY = "save a note to a place"
UNREAD = {
    "lines that do not parse": f"{SAVE}\n\ndef f(:\n    x = = 1\n",
    "a limit on names": "import os\na0 = os.system\n"
    + "".join(f"a{n} = a{n - 1}\n" for n in range(1, 60))
    + f"a59('true')\n\n\n{SAVE}",
    "a NUL byte far behind": f"{SAVE}\n\n{'# padding' * 1_000}\nx = '\0'\n",
}


def ranked(folder: Path, mode: str) -> tuple[list[str], list[str], list[str]]:
    """Return the files before the defense and after it, and those that were left out."""
    with CodeGuard.open(settings=lexical_settings(folder, folder.parent / f"store-{mode}")) as guard:
        guard.index([folder])
        ranking = guard.query(QUERY, k=5, mode=mode)
    before, after, dropped = (
        list(dict.fromkeys(item.chunk.path for item in items))
        for items in (ranking.baseline, ranking.ranking, ranking.dropped)
    )
    return before, after, dropped


@pytest.mark.parametrize("text", UNREAD.values(), ids=UNREAD)
def test_a_part_that_was_not_read(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "near.py").write_text(text)
    (folder / "far.py").write_text(OTHER)
    before, after, _ = ranked(folder, "rerank")
    assert (before[0], after[0]) == ("near.py", "far.py")
    _, after, dropped = ranked(folder, "drop")
    assert (after, dropped) == (["far.py"], ["near.py"])


class Fragile(Marker):
    """Has one rule that raises, beside one that finds MARK."""

    RULES: ClassVar[tuple[Rule, ...]] = (Rule("mark", "MARK", Severity.MEDIUM, Confidence.LOW),)

    def marks(self, reading: Reading, context: DetectorContext) -> Iterable[Match]:
        yield from super().marks(reading, context)
        with reading.unread.alone("fragile-rule"):
            raise ValueError("x")


@pytest.mark.parametrize("trust", [Trust.UNLISTED, Trust.COPY, Trust.MODIFIED])
def test_a_rule_that_failed(trust: Trust) -> None:
    file = chunk_file("m.py", b"def f():\n    return 'MARK'\n\n\ndef g():\n    return 2\n")
    static = StaticEvidence(Weights({"marker.mark": 0.1}), file_signals=[Fragile()])
    judged = [
        Ranked(chunk.symbol, chunk, trust, 0.1, 0.0, static(chunk, file, trust))
        for chunk in file.chunks
        if chunk.symbol
    ]
    assert {item.id for item in judged[0].evidence} == {"mark", DETECTOR_ERROR}
    retained, _, _ = rank(judged, mode="rerank")
    assert [item.demoted for item in retained] == [True, True]
    retained, dropped, _ = rank(judged, mode="drop")
    assert (len(retained), len(dropped)) == (0, 2)
