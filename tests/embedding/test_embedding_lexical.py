"""The lexical embedding: how words are split, and what a row promises."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codeguard.index.embedding import LexicalEmbedding


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=4))
def test_rows_are_unit_and_do_not_depend_on_their_neighbours(texts: list[str]) -> None:
    together = LexicalEmbedding().embed(texts)
    assert together.shape == (len(texts), 512)
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-5)
    for text, row in zip(texts, together, strict=True):
        assert LexicalEmbedding().embed([text])[0].tolist() == row.tolist()


def test_a_blob_costs_no_more_than_its_words() -> None:
    blob = "x" + "QUJD" * 200_000
    row = LexicalEmbedding().embed([blob])[0]
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)


def test_importing_loads_no_model_library() -> None:
    libraries = "chromadb onnxruntime onnx tokenizers safetensors torch openvino"
    code = f"import sys, codeguard.index.embedding; print([m for m in '{libraries}'.split() if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "[]"
