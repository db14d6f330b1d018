"""Embeddings by their names."""

from __future__ import annotations

import pytest

from codeguard.errors import EmbeddingError
from codeguard.index.embedding import available_embeddings, open_embedding

pytestmark = pytest.mark.ci


@pytest.mark.parametrize("name", ["", "minilm2", "openai", "openai:", "sentence-transformers", "lexical:3"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(
        EmbeddingError, match=r"unknown embedding, got .*expected one of auto, static, minilm, lexical"
    ):
        open_embedding(name)


def test_every_kind_is_listed_with_a_reason_or_a_place() -> None:
    infos = available_embeddings()
    assert [info.name for info in infos] == [
        "static",
        "minilm",
        "lexical",
    ]
    assert all(info.detail for info in infos)
