"""Small ONNX models, laid out as exports are: what each token says is looked up in a table."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recollect.models.registry import WEIGHTS

WORDS = 30_522  # of the shipped tokenizer
_FLOAT, _INT64 = 1, 7


def small_model(
    folder: Path,
    output: str,
    table: NDArray[np.float32],
    *,
    mean: bool = False,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
) -> Path:
    """A model whose output has the row of each token, or with `mean` the mean of them."""
    folder.mkdir()
    shutil.copy(WEIGHTS / "tokenizer.json", folder / "tokenizer.json")
    looked_up = "rows" if mean else output
    nodes = [_node("Gather", ["table", "input_ids"], looked_up)]
    if mean:
        axes = _text(1, "axes") + _number(8, 1) + _number(20, 7)
        flat = _text(1, "keepdims") + _number(3, 0) + _number(20, 2)
        nodes.append(_node("ReduceMean", [looked_up], output, axes, flat))
    shape: list[str | int] = ["batch", table.shape[1]] if mean else ["batch", "t", table.shape[1]]
    graph = b"".join(
        [
            *(_part(1, node) for node in nodes),
            _text(2, "graph"),
            _part(5, _tensor("table", table)),
            *(_part(11, _value(name, _INT64, ["batch", "t"])) for name in inputs),
            _part(12, _value(output, _FLOAT, shape)),
        ]
    )
    model = _number(1, 8) + _part(7, graph) + _part(8, _number(2, 13))
    (folder / "model.onnx").write_bytes(model)
    return folder


# --- protocol buffers: as much of onnx.proto as such a model needs ---------------------------------


def _node(kind: str, inputs: Sequence[str], output: str, *attributes: bytes) -> bytes:
    given = b"".join(_text(1, name) for name in inputs)
    return given + _text(2, output) + _text(4, kind) + b"".join(_part(5, a) for a in attributes)


def _tensor(name: str, values: NDArray[np.float32]) -> bytes:
    shape = b"".join(_number(1, size) for size in values.shape)
    return shape + _number(2, _FLOAT) + _text(8, name) + _part(9, values.tobytes())


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = (_number(1, s) if isinstance(s, int) else _text(2, s) for s in shape)
    tensor = _number(1, kind) + _part(2, b"".join(_part(1, size) for size in sizes))
    return _text(1, name) + _part(2, _part(1, tensor))


def _text(field: int, value: str) -> bytes:
    return _part(field, value.encode())


def _part(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])
