import os
from pathlib import Path

import numpy as np
import pytest

from codeguard.index.embedding import LexicalEmbedding
from experiments.text.common import (
    bootstrap,
)
from experiments.text.label_flip import run

pytestmark = pytest.mark.ci

DATA = os.environ.get("CODEGUARD_DATA", "")


def test_a_bootstrap_interval_holds_the_mean_and_says_nan_for_nothing() -> None:
    low, high = bootstrap([0.1, 0.2, 0.3, 0.4])
    assert 0.1 <= low < 0.25 < high <= 0.4
    assert np.isnan(bootstrap([])).all()


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
