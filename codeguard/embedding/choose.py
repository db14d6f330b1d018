"""Open an embedding by name, and list which can be opened here."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from codeguard.embedding.base import Embedding, EmbeddingInfo
from codeguard.embedding.lexical import LexicalEmbedding
from codeguard.embedding.weights import INSTALL, load, places
from codeguard.errors import EmbeddingError

NAMES = (
    "auto",
    "minilm",
    "lexical",
    "openvino",
    "chroma",
    "sentence-transformers:MODEL",
    "openai:MODEL",
)


def open_embedding(
    name: str = "auto",
    *,
    model_dir: Path | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
) -> Embedding:
    """Return the embedding of that name; EmbeddingError where it is unknown or cannot be used.

    `auto` is `minilm` where its weights and onnxruntime are found, else
    `lexical` with a note on how to get the other. `model_dir` is a folder
    with MiniLM's model.safetensors and tokenizer.json (see
    `codeguard.embedding.weights`). `base_url` and `api_key` are those of a
    service for `openai:MODEL`; without them the `openai` package's own
    environment variables hold.
    """
    # Each option is imported here because it brings a library of its own.
    kind, _, model = name.partition(":")
    if name == "lexical":
        return LexicalEmbedding()
    if name in {"auto", "minilm"}:
        return _minilm(model_dir, or_lexical=name == "auto")
    if name == "openvino":
        from codeguard.embedding.openvino import open_openvino

        return open_openvino(model_dir)
    if name == "chroma":
        from codeguard.embedding.chroma import ChromaEmbedding

        return ChromaEmbedding()
    if kind == "sentence-transformers" and model:
        from codeguard.embedding.sentence_transformers import (
            SentenceTransformersEmbedding,
        )

        return SentenceTransformersEmbedding(model)
    if kind == "openai" and model:
        from codeguard.embedding.openai import OpenAIEmbedding

        return OpenAIEmbedding(model, base_url=base_url, api_key=api_key)
    raise EmbeddingError("unknown embedding", got=repr(name), expected=f"one of {', '.join(NAMES)}")


def available_embeddings(model_dir: Path | None = None) -> tuple[EmbeddingInfo, ...]:
    """Return every kind of embedding, with where it was found or why it cannot be used.

    MiniLM's files are read and verified for it (90 MB); no model is started.
    """
    weights, detail = _find_weights(model_dir)
    optional = (
        ("chroma", "chromadb", "chromadb", "its own function, which downloads a model when first used"),
        (
            "sentence-transformers:MODEL",
            "sentence_transformers",
            "codeguard[sentence-transformers]",
            "any model",
        ),
        ("openai:MODEL", "openai", "codeguard[llm]", "any OpenAI-compatible service"),
    )
    infos = [
        EmbeddingInfo("minilm", *_with_library(weights, detail, "onnxruntime", "onnxruntime tokenizers")),
        EmbeddingInfo("lexical", True, "built in, needs no model"),
        EmbeddingInfo("openvino", *_with_library(weights, detail, "openvino", "'codeguard[openvino]'")),
    ]
    for name, library, package, what in optional:
        there = find_spec(library) is not None
        infos.append(EmbeddingInfo(name, there, what if there else f"pip install '{package}'"))
    return tuple(infos)


def _minilm(model_dir: Path | None, *, or_lexical: bool) -> Embedding:
    from codeguard.embedding.minilm import MiniLMEmbedding

    try:
        return MiniLMEmbedding.open(model_dir)
    except EmbeddingError as error:
        if not or_lexical:
            raise
        return LexicalEmbedding(note=f"embedding by words alone: {error}")


def _find_weights(model_dir: Path | None) -> tuple[bool, str]:
    refused = ""
    for found in places(model_dir):
        try:
            load(found)
        except EmbeddingError as error:
            refused = refused or str(error)
        else:
            return True, f"weights in {found.place}, {found.path}"
    return False, refused or f"no weights on this machine; {INSTALL}"


def _with_library(weights: bool, detail: str, library: str, package: str) -> tuple[bool, str]:
    if weights and find_spec(library) is None:
        return False, f"{detail}, but {library} is missing; pip install {package}"
    return weights, detail
