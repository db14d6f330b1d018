"""MiniLM in 8 bits: half the processor time where the processor has instructions for it."""

from __future__ import annotations

import platform
from pathlib import Path

from codeguard.index.embedding.base import EmbeddingKind
from codeguard.index.embedding.minilm import MiniLMEmbedding, gpu_provider
from codeguard.index.embedding.weights import state_of_weights

INSTRUCTIONS = ("avx512_vnni", "avx_vnni", "amx_int8")  # as Linux names them
CPUINFO = Path("/proc/cpuinfo")


def is_faster(cpuinfo: Path = CPUINFO) -> bool:
    """Return whether computing in 8 bits is known to be faster here; MissingExtraError without onnxruntime.

    Known are processors of x86-64 under Linux, which lists their instructions.
    Elsewhere it may be slower than float32, and beside a GPU it is.
    """
    if gpu_provider() is not None:
        return False
    if platform.machine() not in {"x86_64", "AMD64"}:
        return False
    try:
        with cpuinfo.open(encoding="ascii", errors="replace") as lines:
            flags = next((line for line in lines if line.startswith("flags")), "")
    except OSError:
        return False
    return not set(INSTRUCTIONS).isdisjoint(flags.split())


KIND = EmbeddingKind(
    "minilm-int8",
    open=lambda options: MiniLMEmbedding.open(options.model_dir, quantized=True),
    state=lambda options: state_of_weights(options.model_dir, "onnxruntime", "minilm"),
    by_workers=True,
)
