"""Trained weights as models again, and what an embedder in training says of texts."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer

import ship
from bert import CrossEncoder, Embedder
from lists import CLS, SEP, pad, short_date
from weights import Arrays, thinned, unpack

CACHE = Path(__file__).parent / ".cache"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TOKEN_DIMENSIONS, VOCABULARY = 64, 30522
# Of gte-small's twelve layers: before any training these find as much as all, and the first eight nothing (docs/why.md).
FINDER_LAYERS = (0, 1, 2, 4, 6, 8, 9, 10)


def load_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(CACHE / "data" / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def skipped(tokenizer: Tokenizer) -> torch.Tensor:
    """Which tokens of passages have no vector."""
    skip = torch.zeros(VOCABULARY, dtype=torch.bool, device=DEVICE)
    skip[ship.skip_tokens(tokenizer)] = True
    return skip


def autocast() -> Any:
    return torch.autocast(DEVICE, dtype=torch.bfloat16)


def passage_text(unit: dict[str, Any], by_id: dict[str, Any], *, context: bool) -> str:
    """The form recall gives a memory to a model in."""
    parts: list[str] = []
    if unit["date"]:
        parts.append(short_date(date.fromisoformat(unit["date"])))
    if context and unit["previous"] is not None:
        before = by_id[unit["previous"]]
        parts.append(f"previous turn: {before['speaker']}: {before['text'][:200]}:")
    if unit["speaker"]:
        parts.append(f"{unit['speaker']}:")
    return " ".join([*parts, unit["text"]])


class Scorer:
    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder.eval()
        self.tokenizer = load_tokenizer()
        self.skip = skipped(self.tokenizer)

    def ids(self, texts: list[str], most: int) -> list[list[int]]:
        found = self.tokenizer.encode_batch([t[:8000] for t in texts], add_special_tokens=False)
        return [e.ids[:most] for e in found]

    @torch.no_grad()
    def encode(
        self, texts: list[list[int]]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sentence vectors, padded token vectors, query weights and the tokens that count."""
        longest = -(-(max(map(len, texts)) + 2) // 8) * 8
        vectors = torch.zeros(len(texts), 384, device=DEVICE)
        tokens = torch.zeros(
            len(texts), longest, TOKEN_DIMENSIONS, dtype=torch.float16, device=DEVICE
        )
        weights = torch.zeros(len(texts), longest, device=DEVICE)
        keep = torch.zeros(len(texts), longest, dtype=torch.bool, device=DEVICE)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for start in range(0, len(order), 256):
            places = order[start : start + 256]
            ids = torch.from_numpy(pad([[CLS, *texts[i], SEP] for i in places])).long().to(DEVICE)
            with autocast():
                a, b, c = self.embedder(ids)
            size = ids.shape[1]
            vectors[places] = a.float()
            tokens[places, :size] = b.half()
            weights[places, :size] = (c.float() * (ids != 0)).float()
            kept = (ids != 0) & ~self.skip[ids]
            kept[:, 0] = True
            keep[places, :size] = kept
        return vectors, tokens, weights, keep

    @torch.no_grad()
    def late(
        self, query: torch.Tensor, weight: torch.Tensor, tokens: torch.Tensor, keep: torch.Tensor
    ) -> NDArray[np.float16]:
        used = weight > 0
        similarity = torch.einsum("id,kjd->kij", query[used].half(), tokens)
        best = similarity.masked_fill(~keep[:, None, :], -1.0).amax(-1).float()
        return ((best * weight[used]).sum(-1) / weight.sum()).half().cpu().numpy()


def blend(tuned: Arrays, original: Arrays, share: float) -> Arrays:
    """Weights between the original and the tuned ones; heads are the tuned ones' own."""
    return {
        k: share * v + (1 - share) * original[k] if k in original else v for k, v in tuned.items()
    }


def depth(weights: Arrays) -> int:
    return 1 + max(int(k.split(".")[2]) for k in weights if k.startswith("encoder."))


def load_embedder(tuned: Arrays, original: Arrays, share: float) -> Embedder:
    mixed = original | blend(tuned, original, share)
    model = Embedder(mixed, depth(tuned), TOKEN_DIMENSIONS)
    model.project.weight.data = torch.tensor(tuned["project.weight"])
    model.weigh.weight.data = torch.tensor(tuned["weigh.weight"])
    model.weigh.bias.data = torch.tensor(tuned["weigh.bias"])
    return model.to(DEVICE)


def load_cross(tuned: Arrays, original: Arrays) -> CrossEncoder:
    """With heads where the trained one has some."""
    depths = tuple(sorted(int(k[4:].split(".")[0]) for k in tuned if k.endswith(".out.bias")))
    model = CrossEncoder(original | tuned, depths)
    for depth, dense, out in zip(model.depths, model.dense, model.out, strict=True):
        for part, layer in (("dense", dense), ("out", out)):
            layer.weight.data = torch.tensor(tuned[f"head{depth}.{part}.weight"])
            layer.bias.data = torch.tensor(tuned[f"head{depth}.{part}.bias"])
    return model.to(DEVICE)


def finder_base() -> Arrays:
    """What a trained embedder is averaged with: what it was trained from, or the layers of gte-small."""
    gte, start = unpack(CACHE / "gte" / "weights.npz"), CACHE / "start" / "finder.npz"
    return gte | unpack(start) if start.exists() else thinned(gte, FINDER_LAYERS)


def load_blended(share: float) -> Embedder:
    return load_embedder(unpack(CACHE / "state" / "finder.npz"), finder_base(), share)


def save(arrays: Arrays, name: str) -> None:
    bad = [k for k, v in arrays.items() if not np.isfinite(v).all()]
    if bad:
        raise SystemExit(f"{name} has values that are not finite: {bad[:5]}")
    (CACHE / "state").mkdir(exist_ok=True)
    np.savez(
        CACHE / "state" / f"{name}.npz", **{k: v.astype(np.float16) for k, v in arrays.items()}
    )
