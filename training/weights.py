"""Pack base weights compactly for the training machine, and read them back.

    python training/weights.py gte-small.onnx OUT_FOLDER

Word embeddings travel as int8 with a scale per row, which is also how they ship (they stay
frozen in training); everything else as fp16.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

Arrays = dict[str, NDArray[np.float32]]
WORDS = "embeddings.word_embeddings.weight"


def pack(weights: Arrays, path: Path) -> None:
    table = weights[WORDS].astype(np.float32)
    scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-8) / 127
    arrays = {k: v.astype(np.float16) for k, v in weights.items() if k != WORDS}
    arrays[WORDS + ":codes"] = np.clip(np.round(table / scale), -127, 127).astype(np.int8)
    arrays[WORDS + ":scale"] = scale.astype(np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)


def unpack(path: Path) -> Arrays:
    with np.load(path) as arrays:
        weights = {k: arrays[k].astype(np.float32) for k in arrays.files if ":" not in k}
        if WORDS + ":codes" in arrays.files:
            weights[WORDS] = arrays[WORDS + ":codes"].astype(np.float32) * arrays[WORDS + ":scale"]
    return weights


def from_onnx(path: Path) -> Arrays:
    """BERT weights of an export whose MatMul inputs lost their names but whose nodes kept them."""
    graph = onnx.load(str(path)).graph
    tensors = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    weights = {k: v for k, v in tensors.items() if re.match(r"(embeddings|encoder)\.", k)}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in tensors:
            parts = node.name.strip("/").split("/")[:-1]
            weights[".".join(parts) + ".weight"] = tensors[node.input[1]].T
    return {k: v.astype(np.float32) for k, v in weights.items() if v.dtype != np.int64}


def thinned(weights: Arrays, layers: Sequence[int]) -> Arrays:
    """Some of the layers, numbered anew; everything else as it is."""
    found: Arrays = {}
    for name, value in weights.items():
        parts = name.split(".")
        if parts[0] == "encoder":
            if int(parts[2]) not in layers:
                continue
            parts[2] = str(layers.index(int(parts[2])))
        found[".".join(parts)] = value
    return found


def main(gte: str, out: str) -> None:
    pack(from_onnx(Path(gte)), Path(out) / "gte" / "weights.npz")


if __name__ == "__main__":
    main(*sys.argv[1:])
