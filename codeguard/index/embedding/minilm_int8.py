"""MiniLM in 8 bits: half the processor time where the processor has instructions for it (VNNI, AMX)."""

from __future__ import annotations

from codeguard.index.embedding.base import EmbeddingKind
from codeguard.index.embedding.minilm import MiniLMEmbedding
from codeguard.index.embedding.weights import state_of_weights

KIND = EmbeddingKind(
    "minilm-int8",
    open=lambda options: MiniLMEmbedding.open(options.model_dir, quantized=True),
    state=lambda options: state_of_weights(options.model_dir, "onnxruntime", "minilm"),
    by_workers=True,
)
