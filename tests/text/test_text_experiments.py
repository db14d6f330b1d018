import json
import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from codeguard.index.embedding import LexicalEmbedding
from experiments.text import filterrag
from experiments.text.common import bootstrap
from experiments.text.label_flip import run

pytestmark = pytest.mark.ci

DATA = os.environ.get("CODEGUARD_DATA", "")


def test_a_bootstrap_interval_holds_the_mean_and_says_nan_for_nothing() -> None:
    low, high = bootstrap([0.1, 0.2, 0.3, 0.4])
    assert 0.1 <= low < 0.25 < high <= 0.4
    assert np.isnan(bootstrap([])).all()


def test_the_published_protocol_runs_on_any_folder_of_that_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "poisonedrag_towns"
    folder.mkdir()
    names = [f"Town{number}" for number in range(20)]
    records = {
        name: {
            "question": f"which river flows through {name}",
            "correct answer": f"Right{number}",
            "incorrect answer": f"Wrong{number}",
            "adv_texts": [f"Wrong{number} is the river of {name}, guide {copy} says" for copy in range(5)],
        }
        for number, name in enumerate(names)
    }
    (folder / "towns.json").write_text(json.dumps(records))
    golden = [f"{name} is a town on the river Right{number}" for number, name in enumerate(names)]
    (folder / "golden_towns.txt").write_text("\n".join(golden))

    class Peer:
        """In the place of the package: removes the first of the passages."""

        def __init__(self, embedder: filterrag.RAGDefender, **options: object) -> None:
            self.embedder = embedder

        def defend(
            self, query: str, passages: list[str], return_indices: bool
        ) -> tuple[list[str], list[int]]:
            assert len(passages) == filterrag.TOP
            return passages[1:], [0]

    peer = types.ModuleType("ragdefender")
    peer.__spec__ = types.SimpleNamespace()  # type: ignore[assignment]
    peer.RAGDefender = Peer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ragdefender", peer)
    result = filterrag.run(tmp_path, LexicalEmbedding(), ("plain",), "poisonedrag_towns")
    passed = {row["defense"]: (row["poison passed"], row["clean kept"]) for row in result["rows"]}
    assert result["rounds"] == 2
    assert [share["value"] for share in passed["no defense"]] == [1, 1]
    ours, theirs = passed["ML-FilterRAG, all features"], passed["RAGDefender, single_hop"]
    assert ours[0]["value"] < 0.2
    assert ours[1]["value"] > 0.8
    assert theirs[0]["value"] + theirs[1]["value"] == pytest.approx(1.5)  # one of four is removed


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="CODEGUARD_DATA is not set: SMS Spam Collection not here")
def test_label_flips_are_found_with_the_lexical_embedding() -> None:
    result = run(Path(DATA), LexicalEmbedding(), seeds=1)
    assert result["messages"] > 5000
    row = next(
        row
        for row in result["rows"]
        if (row["flipped"], row["detector"], row["level"]) == ("40 % of all", "knn", "entry")
    )
    assert row["found"]["value"] > 0.9
    assert row["right labels rejected"]["value"] < 0.05
