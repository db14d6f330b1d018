"""Just enough of the ONNX file format to write a graph down.

The `onnx` package would do, but it costs 0.2 s to import, on every query from
a cold shell, and it is the one package that Chroma does not bring already.
Field numbers are those of onnx.proto3 (ONNX 1.17, IR version 9); the wire
format is protocol buffers'. The tests run onnx's own checker over the result.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FLOAT, INT64 = 1, 7  # TensorProto.DataType
IR_VERSION = 9
_VARINT, _LENGTH, _FIXED32 = 0, 2, 5


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


def _attribute(name: str, value: float | str | Sequence[int]) -> bytes:
    if isinstance(value, int):
        typed = _number(3, value) + _number(20, 2)
    elif isinstance(value, float):
        typed = _varint(2 << 3 | _FIXED32) + struct.pack("<f", value) + _number(20, 1)
    elif isinstance(value, str):
        typed = _block(4, value) + _number(20, 3)
    else:
        typed = b"".join(_number(8, item) for item in value) + _number(20, 7)
    return _block(1, name) + typed


def node(
    operator: str,
    inputs: Iterable[str],
    output: str,
    *,
    attributes: Iterable[tuple[str, float | str | Sequence[int]]] = (),
) -> bytes:
    """Return one operation with a single output (NodeProto)."""
    parts = [_block(1, name) for name in inputs]
    parts += [_block(2, output), _block(3, output), _block(4, operator)]
    parts += [_block(5, _attribute(name, value)) for name, value in attributes]
    return b"".join(parts)


def external_tensor(name: str, shape: Sequence[int]) -> bytes:
    """Return a float32 tensor whose data is handed over when the graph is loaded (TensorProto)."""
    place = _block(1, "location") + _block(2, "weights")
    return (
        b"".join(_number(1, size) for size in shape)
        + _number(2, FLOAT)
        + _block(8, name)
        + _block(13, place)
        + _number(14, 1)
    )


def tensor(name: str, data: NDArray[Any]) -> bytes:
    """Return a float32 tensor with its data (TensorProto)."""
    raw = np.ascontiguousarray(data, dtype="<f4").tobytes()
    return (
        b"".join(_number(1, size) for size in data.shape)
        + _number(2, FLOAT)
        + _block(8, name)
        + _block(9, raw)
    )


def integers(name: str, values: Sequence[int], shape: Sequence[int]) -> bytes:
    """Return a constant int64 tensor (TensorProto)."""
    raw = struct.pack(f"<{len(values)}q", *values)
    return b"".join(_number(1, size) for size in shape) + _number(2, INT64) + _block(8, name) + _block(9, raw)


def value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    """Return a graph's input or output; a size that varies is given by name (ValueInfoProto)."""
    sizes = b"".join(
        _block(1, _block(2, size) if isinstance(size, str) else _number(1, size)) for size in shape
    )
    return _block(1, name) + _block(2, _block(1, _number(1, kind) + _block(2, sizes)))


def model(
    name: str,
    nodes: Iterable[bytes],
    tensors: Iterable[bytes],
    inputs: Iterable[bytes],
    outputs: Iterable[bytes],
    operator_sets: Iterable[tuple[str, int]],
) -> bytes:
    """Return the file's bytes (ModelProto)."""
    graph = [_block(1, part) for part in nodes]
    graph.append(_block(2, name))
    graph += [_block(5, part) for part in tensors]
    graph += [_block(11, part) for part in inputs]
    graph += [_block(12, part) for part in outputs]
    sets = [_block(8, _block(1, domain) + _number(2, version)) for domain, version in operator_sets]
    return b"".join([_number(1, IR_VERSION), _block(2, "codeguard"), _block(7, b"".join(graph)), *sets])
