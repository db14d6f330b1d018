"""MiniLM: the vectors of sentence-transformers, weights that are verified."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeguard.errors import EmbeddingError
from codeguard.index.embedding import minilm as model
from codeguard.index.embedding import open_embedding
from codeguard.index.embedding.minilm import MiniLMEmbedding, first_loaded

pytestmark = pytest.mark.ci

DATA = Path(__file__).parent / "data"


def missing() -> str:
    """Say why MiniLM cannot be tested here; empty where it can."""
    if importlib.util.find_spec("tokenizers") is None:
        return "tokenizers is not installed"
    try:
        first_loaded()
    except EmbeddingError as error:
        return str(error)
    return ""


REASON = missing()
needs_weights = pytest.mark.skipif(bool(REASON), reason=f"MiniLM: {REASON}")


@pytest.fixture(scope="module")
def minilm() -> MiniLMEmbedding:
    return MiniLMEmbedding()


@needs_weights
def test_vectors_are_those_of_sentence_transformers(minilm: MiniLMEmbedding) -> None:
    """The references were made by sentence-transformers 6.2.0 and torch 2.13.0 on a CPU."""
    texts = json.loads((DATA / "minilm_texts.json").read_text("utf-8"))
    with np.load(DATA / "minilm_reference.npz", allow_pickle=False) as stored:
        reference = stored["vectors"]
    got = minilm.embed(texts)
    assert got.shape == reference.shape == (len(texts), 384)
    assert ((got * reference).sum(axis=1) >= 0.9999).all()
    assert np.abs(got - reference).max() < 1e-5


@needs_weights
def test_a_row_does_not_depend_on_its_neighbours(minilm: MiniLMEmbedding) -> None:
    texts = json.loads((DATA / "minilm_texts.json").read_text("utf-8"))[:12]
    together = minilm.embed([*texts, *reversed(texts)])
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    assert np.abs(together[:12] - alone).max() < 1e-6
    assert np.abs(together[12:][::-1] - alone).max() < 1e-6


@needs_weights
@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        ("word " * 300, "word " * 300_000),
        ("x" * 200, "x" * 500_000),
        ("gap", " " * 100_000 + "gap"),
        ("?", "\ud800"),
    ],
    ids=["cut at 256 tokens", "a blob is one unknown word", "blanks are no tokens", "lone surrogate"],
)
def test_texts_with_the_same_tokens(minilm: MiniLMEmbedding, text: str, same_as: str) -> None:
    assert np.abs(minilm.embed([text]) - minilm.embed([same_as])).max() < 1e-6


def test_a_folder_with_other_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    monkeypatch.setenv("CODEGUARD_MODEL_DIR", str(tmp_path))
    with pytest.raises(EmbeddingError, match="is not the published file") as caught:
        open_embedding("minilm")
    assert hashlib.sha256(b"{}").hexdigest() in str(caught.value)
    assert model.INSTALL in str(caught.value)


@needs_weights
def test_one_changed_byte_of_the_weights_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, folder = next(model.places())
    shutil.copy(folder / "tokenizer.json", tmp_path)
    shutil.copy(folder / "model.safetensors", tmp_path)
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.seek(-1, io.SEEK_END)
        last = file.read(1)
        file.seek(-1, io.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    monkeypatch.setenv("CODEGUARD_MODEL_DIR", str(tmp_path))
    with pytest.raises(EmbeddingError, match="is not the published file"):
        open_embedding("minilm")


def test_a_folder_given_is_the_only_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEGUARD_MODEL_DIR", str(tmp_path / "none"))
    assert [path for _, path in model.places()] == [tmp_path / "none"]
    with pytest.raises(EmbeddingError, match="cannot read the MiniLM weights"):
        open_embedding("minilm")
    assert open_embedding(prose=True).identity.startswith("lexical@")
    assert model.INSTALL in open_embedding(prose=True).note


def test_places_are_searched_in_the_stated_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEGUARD_MODEL_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    snapshot = tmp_path / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / "0"
    snapshot.mkdir(parents=True)
    package = [path for _, path in model.places()]
    for file in (snapshot / "model.safetensors", snapshot / "tokenizer.json"):
        file.touch()
    assert [path for _, path in model.places()] == [*package, snapshot]


@given(st.binary(max_size=200))
def test_a_malformed_safetensors_file_raises_no_other_error(raw: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        model.read_safetensors(np.frombuffer(raw, dtype=np.uint8))
