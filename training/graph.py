"""Build ONNX graphs of BERT encoders by hand, from named numpy weights.

Writing the graph ourselves, instead of tracing a torch module, keeps in our hands what decides
speed and determinism on short texts:

* the inputs of the matrices are quantised with steps measured beforehand on training texts
  (`calibrate.py`), one a channel: outliers live in few channels, and a step a channel is finer than
  one a token, found while running, and costs two passes instead of seven. The usual dynamic quantisation
  (`DynamicQuantizeLinear`) takes one scale for the whole batch tensor, so that a text's
  vector depends on its neighbours in the batch; here it does not;
* after Gelu a few tokens, not channels, are large: there the step is taken per token, as it runs;
* weights have one scale per output channel. 8 bits cost nothing measurable; 7 bits, which rule
  out that CPUs without VNNI saturate in their 16-bit sums, cost 1.4 points of NDCG on FriendsQA;
* of the cross-encoder's last layer only the first token is computed, which is all that is read;
* the word embeddings, half of the parameters, are int8 with one scale a row;
* token vectors leave the graph as int8, ready to be stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

Array = NDArray[np.float32]
Weights = Mapping[str, Array]
OPSET = 20
WEIGHT_MAX = 127
# Gelu never goes below -0.17. With zero at code 24 a row whose largest value is 1.6 or more, which
# nearly all have, keeps that floor within its codes.
GELU_ZERO, GELU_LEAST = 24, 1.6
MICROSOFT = "com.microsoft"
WORDS_FILE = "words.bin"


@dataclass(frozen=True, slots=True)
class Step:
    """How the input of a matrix is quantised: `round(x / channels / scale) + zero`, a byte."""

    channels: Array
    scale: float
    zero: int


Steps = Mapping[str, Step]  # by the name of the matrix


@dataclass(frozen=True, slots=True)
class Shape:
    """The hyper-parameters of a BERT encoder that its weights do not spell out."""

    layers: int
    heads: int = 12
    epsilon: float = 1e-12


@dataclass(slots=True)
class Builder:
    """Nodes and initializers of one graph, with fresh names for values.

    Without steps the graph is fp32. It then notes the matrices that can be quantised and their inputs.
    """

    steps: Steps | None = None
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    matrices: dict[str, Array] = field(default_factory=dict)
    tokens: dict[bool, tuple[str, str]] = field(default_factory=dict)
    count: int = 0

    def constant(self, array: NDArray[np.generic] | list[int]) -> str:
        value = np.asarray(array, dtype=np.int64) if isinstance(array, list) else np.asarray(array)
        self.count += 1
        name = f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def op(
        self, kind: str, *inputs: str, outputs: int = 1, domain: str = "", **attrs: object
    ) -> str:
        return self.ops(kind, *inputs, outputs=outputs, domain=domain, **attrs)[0]

    def ops(
        self, kind: str, *inputs: str, outputs: int = 1, domain: str = "", **attrs: object
    ) -> list[str]:
        self.count += 1
        names = [f"v{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attrs))
        return names

    def linear(self, x: str, name: str, weight: Array, bias: Array, *, scaled: bool = False) -> str:
        """`x @ weight.T + bias` with torch's (out, in) weight. What is `scaled` comes in divided by
        the channels of its step."""
        if self.steps is None:
            self.inputs[name], self.matrices[name] = x, weight
            product = self.op("MatMul", x, self.constant(weight.T.astype(np.float32)))
            return self.add(product, bias)
        step = self.steps[name]
        codes = self.quantise(x, step, scaled=scaled)
        return self.product(codes, weight * step.channels, bias, step.scale, step.zero)

    def quantise(self, x: str, step: Step, *, scaled: bool = False) -> str:
        # QuantizeLinear takes a scale a channel too, and is forty times slower with it.
        if not scaled:
            x = self.op("Mul", x, self.constant((1 / step.channels).astype(np.float32)))
        scale = self.constant(np.array(step.scale, dtype=np.float32))
        return self.op("QuantizeLinear", x, scale, self.constant(np.array(step.zero, np.uint8)))

    def product(
        self, codes: str, weight: Array, bias: Array | None, scale: float, zero: int
    ) -> str:
        matrix, scales = quantise_channels(weight)
        given = [
            codes,
            self.constant(np.ascontiguousarray(matrix.T)),
            self.constant(np.array(scale, dtype=np.float32)),
            self.constant(scales),
            self.constant(np.array(zero, dtype=np.uint8)),
        ]
        if bias is not None:
            given += ["", self.constant(bias.astype(np.float32))]
        return self.op("MatMulIntegerToFloat", *given, domain=MICROSOFT)

    def after_gelu(self, x: str, weight: Array, bias: Array, *, first: bool = False) -> str:
        """The same, with a step per token: after Gelu a few of them are ten times as large."""
        if self.steps is None:
            product = self.op("MatMul", x, self.constant(weight.T.astype(np.float32)))
            return self.add(product, bias)
        rows = self.op("Reshape", x, self.constant([-1, weight.shape[1]]))
        peak = self.op("ReduceMax", rows, self.constant([1]), keepdims=0)
        peak = self.op("Max", peak, self.constant(np.array(GELU_LEAST, dtype=np.float32)))
        step = self.constant(np.array(1 / (255 - GELU_ZERO), dtype=np.float32))
        scale = self.op("Mul", peak, step)
        zeros, shape = self.zeros(x, scale, first)
        codes = self.op("QuantizeLinear", rows, scale, zeros, axis=0)
        product = self.product(codes, weight, None, 1.0, GELU_ZERO)
        product = self.op("Mul", product, self.op("Unsqueeze", scale, self.constant([1])))
        return self.op("Reshape", self.add(product, bias), shape)

    def zeros(self, x: str, scale: str, first: bool) -> tuple[str, str]:
        """A zero point a token, and the shape of texts; made once for all layers alike."""
        if first not in self.tokens:
            value = numpy_helper.from_array(np.array([GELU_ZERO], dtype=np.uint8))
            zeros = self.op("ConstantOfShape", self.op("Shape", scale), value=value)
            shape = self.op("Concat", self.op("Shape", x, end=2), self.constant([-1]), axis=0)
            self.tokens[first] = zeros, shape
        return self.tokens[first]

    def add(self, x: str, bias: Array) -> str:
        return self.op("Add", x, self.constant(bias.astype(np.float32)))

    def add_norm(self, x: str, rest: str, weights: Weights, at: str, epsilon: float) -> str:
        """LayerNorm of `x + rest`. (`SkipLayerNormalization` does it in one pass, and takes five
        times as long.)"""
        return self.layer_norm(self.op("Add", x, rest), weights, at, epsilon)

    def layer_norm(self, x: str, weights: Weights, prefix: str, epsilon: float) -> str:
        scale = self.constant(weights[f"{prefix}.weight"].astype(np.float32))
        shift = self.constant(weights[f"{prefix}.bias"].astype(np.float32))
        return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)

    def embed(self, table: Array, ids: str) -> str:
        """Rows of a table, stored as int8 with a scale per row."""
        if self.steps is None:
            return self.op("Gather", self.constant(table.astype(np.float32)), ids)
        scale = np.maximum(np.abs(table).max(axis=1, keepdims=True), 1e-8) / 127
        codes = np.clip(np.round(table / scale), -127, 127).astype(np.int8)
        rows = self.op("Cast", self.op("Gather", self.constant(codes), ids), to=TensorProto.FLOAT)
        scales = self.op("Gather", self.constant(scale.astype(np.float32)), ids)
        return self.op("Mul", rows, scales)


def quantise_channels(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """Codes of `WEIGHT_MAX` and a scale per output channel, clipped where that errs least."""
    weight = weight.astype(np.float32)
    peak = np.maximum(np.abs(weight).max(axis=1), 1e-8)
    best = np.full(len(peak), np.inf, dtype=np.float32)
    scales = (peak / WEIGHT_MAX).astype(np.float32)
    for share in np.linspace(0.5, 1.0, 21):
        trial = (peak * share / WEIGHT_MAX).astype(np.float32)
        codes = np.clip(np.round(weight / trial[:, None]), -WEIGHT_MAX, WEIGHT_MAX)
        error = ((codes * trial[:, None] - weight) ** 2).sum(axis=1)
        scales = np.where(error < best, trial, scales)
        best = np.minimum(error, best)
    codes = np.clip(np.round(weight / scales[:, None]), -WEIGHT_MAX, WEIGHT_MAX)
    return codes.astype(np.int8), scales


def _embeddings(b: Builder, weights: Weights, shape: Shape, segments: bool) -> str:
    words = b.embed(weights["embeddings.word_embeddings.weight"], "input_ids")
    positions = weights["embeddings.position_embeddings.weight"].astype(np.float32)
    types = weights["embeddings.token_type_embeddings.weight"].astype(np.float32)
    length = b.op("Slice", b.op("Shape", "input_ids"), b.constant([1]), b.constant([2]))
    if segments:
        placed = b.op("Slice", b.constant(positions), b.constant([0]), length, b.constant([0]))
        placed = b.op("Add", b.op("Gather", b.constant(types), "token_type_ids"), placed)
    else:
        table = b.constant(positions + types[0])
        placed = b.op("Slice", table, b.constant([0]), length, b.constant([0]))
    total = b.op("Add", words, placed)
    return b.layer_norm(total, weights, "embeddings.LayerNorm", shape.epsilon)


def _attention(
    b: Builder, x: str, weights: Weights, at: str, heads: int, *, first: bool = False
) -> str:
    """Attention of all tokens, or of the first alone, to all; the values come in the steps of
    the matrix after it."""
    parts = ("query", "key", "value")
    matrices = [weights[f"{at}.self.{part}.weight"] for part in parts]
    biases = [weights[f"{at}.self.{part}.bias"] for part in parts]
    if b.steps is None:
        b.inputs[f"{at}.self"], b.matrices[f"{at}.self"] = x, np.concatenate(matrices)
        asking = [_first(b, x) if first else x, x, x]
        made = [
            b.add(b.op("MatMul", rows, b.constant(matrix.T.astype(np.float32))), bias)
            for rows, matrix, bias in zip(asking, matrices, biases, strict=True)
        ]
    else:
        step, after = b.steps[f"{at}.self"], b.steps[f"{at}.output.dense"]
        matrices[2], biases[2] = matrices[2] / after.channels[:, None], biases[2] / after.channels
        codes = b.quantise(x, step)
        if not first:
            return _quantised_attention(b, codes, step, matrices, biases, heads)
        asking = [_first(b, codes), codes, codes]
        made = [
            b.product(rows, matrix * step.channels, bias, step.scale, step.zero)
            for rows, matrix, bias in zip(asking, matrices, biases, strict=True)
        ]
    return b.op("MultiHeadAttention", *made, "", "key_mask", domain=MICROSOFT, num_heads=heads)


def _quantised_attention(
    b: Builder, codes: str, step: Step, matrices: list[Array], biases: list[Array], heads: int
) -> str:
    """In one node, which splits and transposes less than a product before MultiHeadAttention."""
    joined, scales = quantise_channels(np.concatenate(matrices) * step.channels)
    return b.op(
        "QAttention",
        codes,
        b.constant(np.ascontiguousarray(joined.T)),
        b.constant(np.concatenate(biases).astype(np.float32)),
        b.constant(np.array(step.scale, dtype=np.float32)),
        b.constant(scales),
        "key_mask",
        b.constant(np.array(step.zero, dtype=np.uint8)),
        b.constant(np.zeros(len(scales), dtype=np.int8)),
        domain=MICROSOFT,
        num_heads=heads,
    )


def _first(b: Builder, x: str) -> str:
    return b.op("Gather", x, b.constant([0]), axis=1)


def encoder(b: Builder, weights: Weights, shape: Shape, *, cross: bool = False) -> str:
    """The hidden states of the last layer; of a cross-encoder the first token's alone."""
    hidden = _embeddings(b, weights, shape, cross)
    b.nodes.append(helper.make_node("Cast", ["attention_mask"], ["key_mask"], to=TensorProto.INT32))
    for layer in range(shape.layers):
        at = f"encoder.layer.{layer}"
        first = cross and layer == shape.layers - 1

        def part(name: str, at: str = at) -> tuple[Array, Array]:
            return weights[f"{at}.{name}.weight"], weights[f"{at}.{name}.bias"]

        mixed = _attention(b, hidden, weights, f"{at}.attention", shape.heads, first=first)
        hidden = _first(b, hidden) if first else hidden
        name = f"{at}.attention.output.dense"
        out = b.linear(mixed, name, *part("attention.output.dense"), scaled=True)
        norm = f"{at}.attention.output.LayerNorm"
        hidden = b.add_norm(out, hidden, weights, norm, shape.epsilon)
        wide = b.linear(hidden, f"{at}.intermediate.dense", *part("intermediate.dense"))
        wide = b.op("Gelu", wide, domain=MICROSOFT)
        narrow = b.after_gelu(wide, *part("output.dense"), first=first)
        hidden = b.add_norm(narrow, hidden, weights, f"{at}.output.LayerNorm", shape.epsilon)
    return hidden


def _unit(b: Builder, x: str) -> str:
    norm = b.op("ReduceL2", x, b.constant([-1]), keepdims=1)
    floor = b.constant(np.array(1e-9, dtype=np.float32))
    return b.op("Div", x, b.op("Max", norm, floor))


def _named(b: Builder, value: str, name: str) -> None:
    b.nodes.append(helper.make_node("Identity", [value], [name]))


def embedder(
    weights: Weights,
    shape: Shape,
    projection: Array | None,
    weigh: tuple[Array, Array] | None = None,
    steps: Steps | None = None,
) -> Graph:
    """Mean-pooled unit sentence vectors and, with a projection, int8 unit token vectors.

    `weigh` adds an output with the weight of each token when the text is a query. Without steps
    it is fp32.
    """
    b = Builder(steps=steps)
    hidden = encoder(b, weights, shape)
    mask = b.op("Unsqueeze", b.op("Cast", "attention_mask", to=TensorProto.FLOAT), b.constant([1]))
    # The sum points where the mean does.
    total = b.op("Squeeze", b.op("MatMul", mask, hidden), b.constant([1]))
    _named(b, _unit(b, total), "sentence")
    width = weights["embeddings.word_embeddings.weight"].shape[1]
    outputs = [helper.make_tensor_value_info("sentence", TensorProto.FLOAT, ["batch", width])]
    if projection is not None:
        # A sixtieth of the work: in eight bits it would save nothing, and cost precision.
        matrix = b.constant(projection.T.astype(np.float32))
        vectors = _unit(b, b.op("MatMul", hidden, matrix))
        scaled = b.op("Mul", vectors, b.constant(np.array(127, dtype=np.float32)))
        _named(b, b.op("Cast", b.op("Round", scaled), to=TensorProto.INT8), "tokens")
        size = projection.shape[0]
        outputs.append(
            helper.make_tensor_value_info("tokens", TensorProto.INT8, ["batch", "length", size])
        )
    if weigh is not None:
        raw = b.op("MatMul", hidden, b.constant(weigh[0].astype(np.float32).reshape(-1)))
        _named(b, b.op("Sigmoid", b.add(raw, weigh[1])), "weights")
        outputs.append(
            helper.make_tensor_value_info("weights", TensorProto.FLOAT, ["batch", "length"])
        )
    return _graph(b, ["input_ids", "attention_mask"], outputs)


def cross_encoder(weights: Weights, shape: Shape, steps: Steps | None = None) -> Graph:
    """One logit per (query, passage) pair, read from the first token."""
    b = Builder(steps=steps)
    first = b.op("Squeeze", encoder(b, weights, shape, cross=True), b.constant([1]))
    dense = weights["head.dense.weight"], weights["head.dense.bias"]
    pooled = b.op("Tanh", b.linear(first, "head.dense", *dense))
    out = weights["head.out.weight"].astype(np.float32).reshape(-1)
    _named(b, b.add(b.op("MatMul", pooled, b.constant(out)), weights["head.out.bias"]), "logits")
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch"])]
    return _graph(b, ["input_ids", "attention_mask", "token_type_ids"], outputs)


@dataclass(frozen=True, slots=True)
class Graph:
    """A model and, of an fp32 one, the matrices that can be quantised and their inputs, by name."""

    model: onnx.ModelProto
    matrices: Mapping[str, Array]
    inputs: Mapping[str, str]


def _graph(b: Builder, inputs: list[str], outputs: list[onnx.ValueInfoProto]) -> Graph:
    feeds = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in inputs
    ]
    graph = helper.make_graph(b.nodes, "recollect", feeds, outputs, b.constants)
    return Graph(_model(graph), b.matrices, b.inputs)


def _model(graph: onnx.GraphProto) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def save_beside(folder: Path, models: Mapping[str, onnx.ModelProto]) -> None:
    """Save embedders of the same words, which are their largest part: kept once, in a file that each graph
    names and onnxruntime maps into memory."""
    held = [_words(model.graph) for model in models.values()]
    first = [constant.raw_data for constant in held[0]]
    assert all([c.raw_data for c in constants] == first for constants in held)
    (folder / WORDS_FILE).write_bytes(b"".join(first))
    for (name, model), constants in zip(models.items(), held, strict=True):
        offset = 0
        for constant in constants:
            size = len(constant.raw_data)
            set_external_data(constant, WORDS_FILE, offset=offset, length=size)
            constant.ClearField("raw_data")
            offset += size
        onnx.save(model, str(folder / name))


def _words(graph: onnx.GraphProto) -> list[onnx.TensorProto]:
    """The codes of the word embeddings and their scales: what is looked up by `input_ids`."""
    looked_up = {
        n.input[0] for n in graph.node if n.op_type == "Gather" and n.input[1] == "input_ids"
    }
    return [constant for constant in graph.initializer if constant.name in looked_up]


def watched(graph: Graph) -> onnx.ModelProto:
    """An fp32 model whose outputs are what its matrices are given, by the matrix's name."""
    model = onnx.ModelProto()
    model.CopyFrom(graph.model)
    for name, value in graph.inputs.items():
        model.graph.node.append(helper.make_node("Identity", [value], [name]))
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    return model
