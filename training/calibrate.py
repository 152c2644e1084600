"""Choose the steps in which a graph quantises what its matrices are given.

Outliers of a BERT live in few channels: the largest value of a layer norm's output is ten times
that of the median channel. Dividing a channel by its own reach, and multiplying the matrix's column by it,
gives all channels the same codes; how far to go (`POWERS`) is a balance between the error of the
activations and that of the weights, tried on training texts for each matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import onnx
import onnxruntime as ort
from numpy.typing import NDArray
from tokenizers import Tokenizer

import graph
from graph import Array

POWERS = (0.5, 0.6, 0.7, 0.8, 1.0)
SHARES = (1.0, 0.85)  # of the largest value seen: a code for it, or finer codes for the rest
EVERY = 8  # token a choice is tried on; the reach of a channel is of all

Text = str | tuple[str, str]
Feeds = dict[str, NDArray[np.int64]]


def feeds(tokenizer: Tokenizer, texts: Sequence[Text], most: int) -> Iterator[Feeds]:
    for text in texts:
        read = tokenizer.encode(*text) if isinstance(text, tuple) else tokenizer.encode(text)
        ids = np.array([read.ids[:most]], dtype=np.int64)
        types = np.array([read.type_ids[:most]], dtype=np.int64)
        yield {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}


def run(model: onnx.ModelProto, given: Iterable[Feeds], names: list[str]) -> Iterator[list[Array]]:
    """The named outputs of one text after the other."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options)
    read = {node.name for node in session.get_inputs()}
    for feed in given:
        yield [np.asarray(out) for out in session.run(names, {k: feed[k] for k in read})]


def steps(full: graph.Graph, given: Iterable[Feeds]) -> dict[str, graph.Step]:
    """The steps of every matrix of an fp32 graph."""
    names = list(full.matrices)
    tried: dict[str, list[Array]] = {name: [] for name in names}
    high: dict[str, Array] = {}
    low: dict[str, Array] = {}
    for number, outputs in enumerate(run(graph.watched(full), given, names)):
        for name, output in zip(names, outputs, strict=True):
            rows = output.reshape(-1, output.shape[-1])
            high[name] = np.maximum(high.get(name, -np.inf), rows.max(axis=0))
            low[name] = np.minimum(low.get(name, np.inf), rows.min(axis=0))
            tried[name].append(rows[number % EVERY :: EVERY] if len(rows) > EVERY else rows)
    return {
        name: choose(np.concatenate(tried[name]), high[name], low[name], full.matrices[name])
        for name in names
    }


def choose(rows: Array, high: Array, low: Array, matrix: Array) -> graph.Step:
    """The step whose product errs least on some rows, with the reach that channels have on all."""
    reach = np.maximum(np.maximum(high, -low), 1e-4)
    weight = np.sqrt((matrix**2).mean(axis=0)) + 1e-8
    wanted = rows @ matrix.T
    tried: list[tuple[float, graph.Step]] = []
    for power in POWERS:
        channels = reach**power / weight ** (1 - power)
        channels = (channels / np.exp(np.log(channels).mean())).astype(np.float32)
        codes, scales = graph.quantise_channels(matrix * channels)
        columns = (codes.astype(np.float32) * scales[:, None]).T
        top, bottom = float((high / channels).max()), float(min((low / channels).min(), 0.0))
        for share in SHARES:
            scale = max(top - bottom, 1e-6) * share / 255
            zero = int(np.clip(round(-bottom * share / scale), 0, 255))
            seen = np.clip(np.round(rows / channels / scale) + zero, 0, 255) - zero
            error = float(((seen * scale @ columns - wanted) ** 2).mean())
            tried.append((error, graph.Step(channels, scale, zero)))
    return min(tried, key=lambda found: found[0])[1]
