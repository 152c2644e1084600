"""Products of many short codes with many others: whole numbers, exact.

numpy multiplies bytes one by one, and simsimd a pair of rows at a time. onnxruntime, which is here for
the models, does it by blocks that stay in registers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.models.runtime import onnxruntime

# What a component of `columns` may be, either way. Processors without instructions for products of
# bytes add two of them in 16 bits: 2 x 255 x 64 still fits.
SMALL = 64
_ZERO = np.array(128, np.uint8)  # rows are taken as bytes from 0 to 255, and this as their zero
_BYTE, _SIGNED, _INTEGER = 2, 3, 6  # types, in ONNX


def products(rows: NDArray[np.int8], columns: NDArray[np.int8]) -> NDArray[np.int32]:
    """`rows @ columns`, of rows by numbers and numbers by columns; no column above `SMALL`."""
    shifted = np.bitwise_xor(rows.view(np.uint8), _ZERO)
    return _session().run(None, {"rows": shifted, "columns": columns, "zero": _ZERO})[0]


@cache
def _session() -> Any:
    ort = onnxruntime()
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(_graph(), options, providers=["CPUExecutionProvider"])


def _graph() -> bytes:
    """A model of one operation, as ONNX writes it: fields of protocol buffers, each by its number."""
    inputs = (("rows", _BYTE, "nk"), ("columns", _SIGNED, "km"), ("zero", _BYTE, ""))
    names = b"".join(_field(1, name.encode()) for name, _, _ in inputs)
    node = names + _field(2, b"dots") + _field(4, b"MatMulInteger")
    graph = _field(1, node) + _field(2, b"products")
    graph += b"".join(_field(11, _tensor(*one)) for one in inputs)
    graph += _field(12, _tensor("dots", _INTEGER, "nm"))
    version, operations = _number(1, 8), _field(8, _number(2, 13))
    return version + _field(7, graph) + operations


def _tensor(name: str, kind: int, shape: str) -> bytes:
    sizes = b"".join(_field(1, _field(2, size.encode())) for size in shape)
    return _field(1, name.encode()) + _field(2, _field(1, _number(1, kind) + _field(2, sizes)))


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _number(number: int, value: int) -> bytes:
    return bytes([number << 3]) + _varint(value)


def _varint(value: int) -> bytes:
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])
