"""The computation of all-MiniLM-L6-v2, written as an ONNX file over the tensors of its weights file.

BERT (Devlin et al., 2019) with six layers, mean pooling and a unit length at
the end, as sentence-transformers runs it. Every text of a batch has the same
number of tokens, so there is no padding, no attention mask, and nothing
that one text could do to another. Operators are those of plain ONNX, opset
20; the tensors keep the names and the layout of the file.

The `onnx` package would write the file, too, but it costs 0.2 s to import, on every query from
a cold shell, and it is the one package that Chroma does not bring already.
Field numbers are those of onnx.proto3 (ONNX 1.17, IR version 9); the wire
format is protocol buffers'. The tests run onnx's own checker over the result.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

GRAPH_VERSION = 1  # raise it whenever a result may change by more than rounding
LAYERS, HIDDEN, HEADS = 6, 384, 12
HEAD = HIDDEN // HEADS
EPSILON = 1e-12
OPSET = 20
SCALE = "codeguard.scale"
FLOAT, INT64 = 1, 7  # TensorProto.DataType
IR_VERSION = 9
_VARINT, _LENGTH, _FIXED32 = 0, 2, 5

Attribute = tuple[str, int | float | list[int]]


def build_graph(
    weights: Mapping[str, NDArray[np.float32]],
) -> tuple[bytes, dict[str, NDArray[np.float32]]]:
    """Return an ONNX file: `input_ids`, int64 (batch, length), to `embedding`, float32 (batch, 384).

    With it come the tensors that have to be handed over by name when it is
    loaded: views of the weights. KeyError where the weights lack one.
    """
    tensors = {**weights, SCALE: np.full(1, 1 / math.sqrt(HEAD), dtype=np.float32)}
    graph = _Graph(tensors)
    tokens = graph.embed()
    for layer in range(LAYERS):
        tokens = graph.layer(tokens, f"encoder.layer.{layer}.")
    graph.pool(tokens)
    return graph.finish(), {name: tensors[name] for name in graph.used if name in tensors}


class _Graph:
    """Collects nodes; a value is known by its name. Tokens of a batch lie in one matrix (tokens, 384)."""

    def __init__(self, tensors: Mapping[str, NDArray[np.float32]]) -> None:
        self._tensors = tensors
        self.used: dict[str, bytes] = {}
        self._nodes: list[bytes] = []

    def add(self, operator: str, inputs: list[str], *attributes: Attribute, output: str = "") -> str:
        """Add an operation with a single output (NodeProto)."""
        name = output or f"{operator.lower()}.{len(self._nodes)}"
        parts = [_block(1, item) for item in inputs]
        parts += [_block(2, name), _block(3, name), _block(4, operator)]
        self._nodes.append(b"".join(parts + [_block(5, _attribute(*item)) for item in attributes]))
        return name

    def weight(self, name: str) -> str:
        """Use a float32 tensor whose data is handed over when the graph is loaded (TensorProto)."""
        place = _block(1, "location") + _block(2, "weights")
        described = _number(2, FLOAT) + _block(8, name) + _block(13, place) + _number(14, 1)
        self.used[name] = b"".join(_number(1, size) for size in self._tensors[name].shape) + described
        return name

    def constant(self, *values: int, scalar: bool = False) -> str:
        """Use a constant int64 tensor (TensorProto)."""
        name = "int" + "_".join(str(value) for value in values) + ("s" if scalar else "")
        shape = b"" if scalar else _number(1, len(values))
        raw = struct.pack(f"<{len(values)}q", *values)
        self.used[name] = shape + _number(2, INT64) + _block(8, name) + _block(9, raw)
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
        return self.normalise(self._flat(total), "embeddings.LayerNorm")

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
        shares = self.add("Softmax", [self.add("MatMul", [query, key])], ("axis", -1))
        mixed = self.add("MatMul", [shares, held])
        return self._flat(self.add("Transpose", [mixed], ("perm", [0, 2, 1, 3])))

    def _split(self, tokens: str, order: list[int]) -> str:
        """Cut rows into heads and put the axes (batch, length, head, 32) into that order."""
        return self.add("Transpose", [self.add("Reshape", [tokens, self._heads])], ("perm", order))

    def _flat(self, value: str) -> str:
        return self.add("Reshape", [value, self.constant(-1, HIDDEN)])

    def pool(self, tokens: str) -> None:
        texts = self.add("Reshape", [tokens, self._texts])
        mean = self.add("ReduceMean", [texts, self.constant(1)], ("keepdims", 0))
        self.add("LpNormalization", [mean], ("axis", -1), ("p", 2), output="embedding")

    def finish(self) -> bytes:
        """Return the file (ModelProto)."""
        graph = [_block(1, part) for part in self._nodes]
        graph.append(_block(2, "all-MiniLM-L6-v2"))
        graph += [_block(5, part) for part in self.used.values()]
        graph.append(_block(11, _value("input_ids", INT64, ["batch", "length"])))
        graph.append(_block(12, _value("embedding", FLOAT, ["batch", HIDDEN])))
        head = _number(1, IR_VERSION) + _block(2, "codeguard")
        return head + _block(7, b"".join(graph)) + _block(8, _block(1, "") + _number(2, OPSET))


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _block(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | _LENGTH) + _varint(len(raw)) + raw


def _attribute(name: str, value: float | Sequence[int]) -> bytes:
    if isinstance(value, int):
        typed = _number(3, value) + _number(20, 2)
    elif isinstance(value, float):
        typed = _varint(2 << 3 | _FIXED32) + struct.pack("<f", value) + _number(20, 1)
    else:
        typed = b"".join(_number(8, item) for item in value) + _number(20, 7)
    return _block(1, name) + typed


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    """Return a graph's input or output; a size that varies is given by name (ValueInfoProto)."""
    sizes = b"".join(
        _block(1, _block(2, size) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    return _block(1, name) + _block(2, _block(1, _number(1, kind) + _block(2, sizes)))
