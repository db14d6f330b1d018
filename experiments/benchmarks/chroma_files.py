"""Lay out MiniLM the way Chroma's own embedding function wants it, from the same weights, offline."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from codeguard.index.embedding.bert import build_graph
from codeguard.index.embedding.weights import WeightFiles

OTHER_FILES = ("config.json", "special_tokens_map.json", "tokenizer_config.json", "vocab.txt")


def padded_graph(loaded: WeightFiles) -> bytes:
    """Return the graph with padding: three inputs, an attention mask, and the token rows as output."""
    raw, tensors = build_graph(loaded.tensors)
    model = onnx.load_model_from_string(raw)
    graph = model.graph
    for tensor in graph.initializer:
        if tensor.name in tensors:
            tensor.CopyFrom(numpy_helper.from_array(np.array(tensors[tensor.name]), tensor.name))
    graph.initializer.extend(
        [
            numpy_helper.from_array(np.ones(1, dtype=np.float32), "one"),
            numpy_helper.from_array(np.full(1, 1e9, dtype=np.float32), "far"),
            numpy_helper.from_array(np.array([1, 2]), "axes"),
        ]
    )
    mask = [
        helper.make_node("Cast", ["attention_mask"], ["mask.float"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask.float", "axes"], ["mask.wide"]),
        helper.make_node("Sub", ["mask.wide", "one"], ["mask.less"]),
        helper.make_node("Mul", ["mask.less", "far"], ["mask.bias"]),
    ]
    nodes = []
    for node in graph.node:
        if node.op_type == "Softmax":
            biased = f"{node.output[0]}.biased"
            nodes.append(helper.make_node("Add", [node.input[0], "mask.bias"], [biased]))
            node.input[0] = biased
        nodes.append(node)
    pool = next(node for node in graph.node if node.op_type == "ReduceMean")
    nodes = [node for node in nodes if node.op_type not in {"ReduceMean", "LpNormalization"}]
    rows = helper.make_tensor_value_info(pool.input[0], TensorProto.FLOAT, ["batch", "length", 384])
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    for field, values in (("node", [*mask, *nodes]), ("input", inputs), ("output", [rows])):
        graph.ClearField(field)
        getattr(graph, field).extend(values)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def place(loaded: WeightFiles, home: Path) -> Path:
    """Write the files under `home` where Chroma looks for them, and return the folder of its model.

    The files that Chroma wants to see but never reads stay empty.
    """
    model = home / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2"
    folder = model / "onnx"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(padded_graph(loaded))
    (folder / "tokenizer.json").write_bytes(loaded.tokenizer)
    for name in OTHER_FILES:
        (folder / name).touch()
    return model
