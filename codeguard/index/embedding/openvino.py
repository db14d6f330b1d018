"""MiniLM through OpenVINO, in bfloat16 where the processor computes that faster (extra `openvino`)."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codeguard.errors import MissingExtraError
from codeguard.index.embedding.base import EmbeddingKind
from codeguard.index.embedding.bert import GRAPH_VERSION, build_graph
from codeguard.index.embedding.minilm import (
    BEYOND,
    Ids,
    MiniLMEmbedding,
    Run,
    first_loaded,
    lanes_for,
    open_tokenizer,
)
from codeguard.index.embedding.weights import state_of_weights

BATCH_TOKENS = 1024  # what it computes in bfloat16 takes half the room
# It compiles its steps anew for every shape, which costs 10 ms: for the 200 lengths of a few hundred texts a
# third of the whole time. Padding costs 7 % of the tokens.
MULTIPLE = 16


def open_openvino(folder: Path | None = None) -> MiniLMEmbedding:
    """Open MiniLM on OpenVINO; its identity says in which precision it computes.

    Vectors in bfloat16 have a cosine of about 0.9999 to those in float32,
    and an index made with the one refuses the other. MissingExtraError or
    EmbeddingError where something is missing.
    """
    try:
        import openvino
    except ImportError as error:
        raise MissingExtraError("openvino is not installed", extra="openvino") from error
    loaded = first_loaded(folder)
    core = openvino.Core()
    precision = "bf16" if "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES") else "f32"
    graph, _ = build_graph(loaded.tensors, whole=True, padded=True)
    lanes = lanes_for()
    settings = {
        "INFERENCE_PRECISION_HINT": precision,
        "PERFORMANCE_HINT": "THROUGHPUT",
        "NUM_STREAMS": lanes,
        "INFERENCE_NUM_THREADS": lanes,
    }
    model = core.compile_model(core.read_model(graph), "CPU", settings)
    identity = f"minilm-l6-v2@{loaded.digest[:12]}/graph{GRAPH_VERSION}/{precision}"
    tokenizer = open_tokenizer(loaded.tokenizer)
    return MiniLMEmbedding(
        tokenizer, _run(model), identity, batch_tokens=BATCH_TOKENS, multiple=MULTIPLE, lanes=lanes
    )


def _run(model: Any) -> Run:
    local = threading.local()

    def run(ids: Ids) -> NDArray[np.float32]:
        # A request holds the buffers of one computation, so each thread has its own.
        if not hasattr(local, "request"):
            local.request = model.create_infer_request()
        present = ids != BEYOND
        local.request.infer({"input_ids": ids * present, "mask": present.astype(np.float32)})
        rows: NDArray[np.float32] = local.request.get_output_tensor(0).data.copy()
        return rows

    return run


KIND = EmbeddingKind(
    "openvino",
    open=lambda options: open_openvino(options.model_dir),
    state=lambda options: state_of_weights(options.model_dir, "openvino", "openvino"),
    by_workers=True,
)
