"""The computation of all-MiniLM-L6-v2, written as an ONNX graph over the tensors of its weights file.

BERT (Devlin et al., 2019) with six layers, mean pooling and a unit length at
the end, as sentence-transformers runs it. Every text of a batch has the same
number of tokens, so there is no padding, no attention mask, and nothing
that one text could do to another; a padded graph is for what computes few
shapes faster than many. Operators are those of plain ONNX, opset
20; the tensors keep the names and the layout of the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from codeguard.index.embedding import onnxfile

GRAPH_VERSION = 1  # raise it whenever a result may change by more than rounding
LAYERS, HIDDEN, HEADS = 6, 384, 12
HEAD = HIDDEN // HEADS
EPSILON = 1e-12
OPSET = 20
SCALE, ONE, FAR = "codeguard.scale", "codeguard.one", "codeguard.far"

Attribute = tuple[str, int | float | list[int]]


def build_graph(
    weights: Mapping[str, NDArray[np.float32]],
    *,
    whole: bool = False,
    padded: bool = False,
) -> tuple[bytes, dict[str, NDArray[np.float32]]]:
    """Return an ONNX file: `input_ids`, int64 (batch, length), to `embedding`, float32 (batch, 384).

    With it come the tensors that have to be handed over by name when it is
    loaded: views of the weights. With `whole` the file holds them itself.
    With `padded` a second input `mask`, float32 (batch, length), is 1 where a
    text has a token and 0 behind its end. KeyError where the weights lack one.
    """
    constants = {SCALE: 1 / math.sqrt(HEAD), ONE: 1.0, FAR: 1e4}  # the share of e^-10000 is none
    tensors = {**weights, **{name: np.full(1, value, dtype=np.float32) for name, value in constants.items()}}
    graph = _Graph(tensors, whole, padded)
    tokens = graph.embed()
    for layer in range(LAYERS):
        tokens = graph.layer(tokens, f"encoder.layer.{layer}.")
    graph.pool(tokens)
    return graph.finish(), {name: tensors[name] for name in graph.used if name in tensors}


class _Graph:
    """Collects nodes; a value is known by its name. Tokens of a batch lie in one matrix (tokens, 384)."""

    def __init__(self, tensors: Mapping[str, NDArray[np.float32]], whole: bool, padded: bool) -> None:
        self._tensors = tensors
        self._whole = whole
        self._padded = padded
        self.used: dict[str, bytes] = {}
        self._nodes: list[bytes] = []

    def add(self, operator: str, inputs: list[str], *attributes: Attribute) -> str:
        name = f"{operator.lower()}.{len(self._nodes)}"
        self._nodes.append(onnxfile.node(operator, inputs, name, attributes=attributes))
        return name

    def weight(self, name: str) -> str:
        if name not in self.used:
            data = self._tensors[name]
            self.used[name] = (
                onnxfile.tensor(name, data) if self._whole else onnxfile.external_tensor(name, data.shape)
            )
        return name

    def constant(self, *values: int, scalar: bool = False) -> str:
        name = "int" + "_".join(str(value) for value in values) + ("s" if scalar else "")
        self.used[name] = onnxfile.integers(name, values, [] if scalar else [len(values)])
        return name

    def linear(self, value: str, name: str) -> str:
        return self.add(
            "Gemm", [value, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")], ("transB", 1)
        )

    def normalise(self, value: str, name: str) -> str:
        inputs = [value, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
        return self.add("LayerNormalization", inputs, ("axis", -1), ("epsilon", EPSILON))

    def embed(self) -> str:
        """Sum word, position and segment embeddings; the segment is always the first."""
        shape = self.add("Shape", ["input_ids"])
        length = self.add("Slice", [shape, self.constant(1), self.constant(2)])
        word = self.add("Gather", [self.weight("embeddings.word_embeddings.weight"), "input_ids"])
        table = self.weight("embeddings.position_embeddings.weight")
        position = self.add("Slice", [table, self.constant(0), length])
        segments = self.weight("embeddings.token_type_embeddings.weight")
        segment = self.add("Gather", [segments, self.constant(0, scalar=True)])
        total = self.add("Add", [word, self.add("Add", [position, segment])])
        # (batch, length) and what follows, for going from tokens to texts and back
        self._heads = self.add("Concat", [shape, self.constant(HEADS, HEAD)], ("axis", 0))
        self._texts = self.add("Concat", [shape, self.constant(HIDDEN)], ("axis", 0))
        if self._padded:
            self._hide()
        return self.normalise(self._flat(total), "embeddings.LayerNorm")

    def _hide(self) -> None:
        """Make what takes the share of a padded place to zero, the same for every head and every asking token."""
        absent = self.add("Sub", ["mask", self.weight(ONE)])
        self._hidden = self.add(
            "Unsqueeze", [self.add("Mul", [absent, self.weight(FAR)]), self.constant(1, 2)]
        )
        self._present = self.add("Unsqueeze", ["mask", self.constant(2)])

    def layer(self, tokens: str, name: str) -> str:
        attended = self.linear(
            self._attention(tokens, f"{name}attention.self."), f"{name}attention.output.dense"
        )
        tokens = self.normalise(self.add("Add", [attended, tokens]), f"{name}attention.output.LayerNorm")
        wide = self.add("Gelu", [self.linear(tokens, f"{name}intermediate.dense")])
        narrow = self.linear(wide, f"{name}output.dense")
        return self.normalise(self.add("Add", [narrow, tokens]), f"{name}output.LayerNorm")

    def _attention(self, tokens: str, name: str) -> str:
        query = self.add("Mul", [self.linear(tokens, f"{name}query"), self.weight(SCALE)])
        query = self._split(query, [0, 2, 1, 3])
        key = self._split(self.linear(tokens, f"{name}key"), [0, 2, 3, 1])
        held = self._split(self.linear(tokens, f"{name}value"), [0, 2, 1, 3])
        scores = self.add("MatMul", [query, key])
        if self._padded:
            scores = self.add("Add", [scores, self._hidden])
        shares = self.add("Softmax", [scores], ("axis", -1))
        mixed = self.add("MatMul", [shares, held])
        return self._flat(self.add("Transpose", [mixed], ("perm", [0, 2, 1, 3])))

    def _split(self, tokens: str, order: list[int]) -> str:
        """Cut rows into heads and put the axes (batch, length, head, 32) into that order."""
        return self.add("Transpose", [self.add("Reshape", [tokens, self._heads])], ("perm", order))

    def _flat(self, value: str) -> str:
        return self.add("Reshape", [value, self.constant(-1, HIDDEN)])

    def pool(self, tokens: str) -> None:
        texts = self.add("Reshape", [tokens, self._texts])
        if self._padded:  # the mean is off by a factor then, which the unit length takes out
            texts = self.add("Mul", [texts, self._present])
        mean = self.add("ReduceMean", [texts, self.constant(1)], ("keepdims", 0))
        unit = onnxfile.node("LpNormalization", [mean], "embedding", attributes=[("axis", -1), ("p", 2)])
        self._nodes.append(unit)

    def finish(self) -> bytes:
        return onnxfile.model(
            "all-MiniLM-L6-v2",
            self._nodes,
            self.used.values(),
            [
                onnxfile.value("input_ids", onnxfile.INT64, ["batch", "length"]),
                *([onnxfile.value("mask", onnxfile.FLOAT, ["batch", "length"])] if self._padded else ()),
            ],
            [onnxfile.value("embedding", onnxfile.FLOAT, ["batch", HIDDEN])],
            [("", OPSET)],
        )
