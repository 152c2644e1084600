"""Read weights back from the graphs that ship, to train them further.

    python training/recover.py STATE_FOLDER

What training writes is not kept; what ships is. The matrices come back to within half a step of
their eight bits. Word embeddings stay what they were: gte-small's (weights.py).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from export import DEPTH, EMBEDDER_DEPTH, GRAPHS, QUERY_DEPTH
from states import CACHE
from weights import Arrays, unpack

SHIPPED = Path(__file__).parents[1] / "src" / "recollect" / "models" / "weights"
PARTS = ("query", "key", "value")


class Reader:
    """The constants of a graph that `graph.py` wrote, in the order it wrote them."""

    def __init__(self, path: Path) -> None:
        graph = onnx.load(str(path)).graph
        self.constants = {c.name: numpy_helper.to_array(c) for c in graph.initializer}
        self.makers: dict[str, Any] = {name: node for node in graph.node for name in node.output}
        self.nodes: Iterator[Any] = iter(graph.node)

    def next(self, *kinds: str) -> Any:
        return next(node for node in self.nodes if node.op_type in kinds)

    def next_with(self, kind: str, shape: tuple[int, ...]) -> Any:
        """The next node of a kind whose second input is a constant of this shape."""
        while True:
            node = self.next(kind)
            if self.constants.get(node.input[1], np.empty(0)).shape == shape:
                return self.constants[node.input[1]]

    def channels(self, codes: str) -> Any:
        """What the input of a matrix was divided by, channel by channel, before it was quantised."""
        while self.makers[codes].op_type == "Gather":
            codes = self.makers[codes].input[0]
        scaled = self.makers.get(self.makers[codes].input[0])
        if scaled is None or scaled.op_type != "Mul" or scaled.input[1] not in self.constants:
            return np.float32(1)
        return 1 / self.constants[scaled.input[1]]

    def product(self) -> tuple[Any, Any]:
        """The next matrix, (out, in), and its bias."""
        node = self.next("MatMulIntegerToFloat")
        codes, scales = self.constants[node.input[1]], self.constants[node.input[3]]
        matrix = (codes * scales).T / self.channels(node.input[0])
        return matrix, self.constants[node.input[6]] if len(node.input) > 6 else None

    def attention(self) -> tuple[Any, Any]:
        node = self.next("QAttention")
        codes, scales = self.constants[node.input[1]], self.constants[node.input[4]]
        matrix = (codes * scales).T / self.channels(node.input[0])
        return matrix, self.constants[node.input[2]]

    def norm(self, at: str) -> Arrays:
        node = self.next("LayerNormalization")
        weight, bias = (self.constants[name] for name in node.input[1:3])
        return {f"{at}.weight": weight, f"{at}.bias": bias}


def encoder(read: Reader, depth: int, *, cross: bool) -> Arrays:
    """The layers. Values come scaled for the matrix after them, which undoes it: one pair of
    matrices of many that compute the same."""
    found = read.norm("embeddings.LayerNorm")
    for layer in range(depth):
        at = f"encoder.layer.{layer}"
        if cross and layer == depth - 1:
            pairs = [read.product() for _ in PARTS]
        else:
            matrix, bias = read.attention()
            pairs = list(zip(np.split(matrix, 3), np.split(bias, 3), strict=True))
        for part, (matrix, bias) in zip(PARTS, pairs, strict=True):
            found[f"{at}.attention.self.{part}.weight"] = matrix
            found[f"{at}.attention.self.{part}.bias"] = bias
        for name, norm in (
            ("attention.output.dense", "attention.output.LayerNorm"),
            ("intermediate.dense", None),
            ("output.dense", "output.LayerNorm"),
        ):
            matrix, bias = read.product()
            # After Gelu the bias is added apart.
            found[f"{at}.{name}.weight"] = matrix
            found[f"{at}.{name}.bias"] = (
                read.next_with("Add", (len(matrix),)) if bias is None else bias
            )
            found |= read.norm(f"{at}.{norm}") if norm else {}
    return found


def tables(read: Reader, original: Arrays, *, cross: bool) -> Arrays:
    """Positions and segments; an embedder has one segment, added to its positions."""
    size = original["embeddings.position_embeddings.weight"].shape
    segments = original["embeddings.token_type_embeddings.weight"]
    positions = next(c for c in read.constants.values() if c.shape == size)
    if cross:
        segments = next(c for c in read.constants.values() if c.shape == segments.shape)
    else:
        positions = positions - segments[0]
    return {
        "embeddings.position_embeddings.weight": positions,
        "embeddings.token_type_embeddings.weight": segments,
    }


def embedder(original: Arrays) -> Arrays:
    read = Reader(SHIPPED / GRAPHS["embedder"])
    body = tables(read, original, cross=False) | encoder(read, EMBEDDER_DEPTH, cross=False)
    width = original["embeddings.LayerNorm.weight"].size
    heads = [c for c in read.constants.values() if c.ndim == 2 and c.shape[0] == width]
    project = next(c for c in heads if c.dtype == np.float32 and c.shape[1] < width)
    weigh, bias = (
        read.next_with(kind, shape) for kind, shape in (("MatMul", (width,)), ("Add", (1,)))
    )
    return body | {"project.weight": project.T, "weigh.weight": weigh[None], "weigh.bias": bias}


def cross_encoder(original: Arrays) -> Arrays:
    read = Reader(SHIPPED / GRAPHS["reranker"])
    found = tables(read, original, cross=True) | encoder(read, DEPTH, cross=True)
    dense, bias = read.product()
    out = read.next_with("MatMul", (len(dense),))
    head = {"dense.weight": dense, "dense.bias": bias, "out.weight": out[None]}
    head["out.bias"] = read.next_with("Add", (1,))
    return found | {f"head{DEPTH}.{k}": v for k, v in head.items()}


def query(original: Arrays) -> Arrays:
    """The layers that skim queries; their heads did not ship."""
    read = Reader(SHIPPED / GRAPHS["skim"])
    return tables(read, original, cross=False) | encoder(read, QUERY_DEPTH, cross=False)


def main(out: str) -> None:
    original = unpack(CACHE / "gte" / "weights.npz")
    Path(out).mkdir(parents=True, exist_ok=True)
    for name, made in (("finder", embedder), ("reader", cross_encoder), ("query", query)):
        arrays = made(original)
        np.savez(Path(out) / f"{name}.npz", **{k: v.astype(np.float16) for k, v in arrays.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
