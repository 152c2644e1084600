"""Score the candidates of every evaluation and calibration query with trained models.

    python training/dump.py OUT.npz [share of tuned weights, default 1.0 ...]

Candidates are the best 300 of BM25 and the embedder by RRF. Writes, per set and model, the
candidates with their BM25, cosine and MaxSim scores and the cross-encoders' logits on the best
100, so that mixes can be tried without a GPU (evaluate.py).
"""

from __future__ import annotations

import gzip
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import ship
from bert import CrossEncoder, Embedder
from lists import CLS, SEP, pad, short_date
from train import CACHE, DEVICE, TOKEN_DIMENSIONS, autocast, load_tokenizer
from weights import Arrays, unpack

CANDIDATES, CROSSED, RRF_K = 300, 100, 60
QUERY_MOST, PASSAGE_MOST, PAIR_MOST = 128, 254, 320


def load_sets() -> dict[str, list[dict[str, Any]]]:
    with gzip.open(CACHE / "data" / "eval.json.gz", "rt", encoding="utf-8") as file:
        sets = json.load(file)
    with gzip.open(CACHE / "data" / "train.json.gz", "rt", encoding="utf-8") as file:
        passages = json.load(file)["passages"]
    for name, collections in sets.items():
        for c in collections if name.startswith("cal-") else []:
            c["units"] = [
                {
                    "id": pid,
                    "text": passages[int(pid)][1],
                    "date": passages[int(pid)][2],
                    "speaker": passages[int(pid)][3],
                    "previous": None
                    if passages[int(pid)][4] is None
                    else str(passages[int(pid)][4]),
                }
                for pid in c["units"]
            ]
    return sets


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
    def __init__(self, embedder: Embedder, cross: CrossEncoder | None) -> None:
        self.embedder, self.cross = embedder.eval(), cross.eval() if cross else None
        self.tokenizer = load_tokenizer()
        self.skip = torch.zeros(30522, dtype=torch.bool, device=DEVICE)
        self.skip[ship.skip_tokens(self.tokenizer)] = True

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

    @torch.no_grad()
    def logits(self, query: list[int], passages: list[list[int]]) -> NDArray[np.float16]:
        assert self.cross is not None
        room = PAIR_MOST - len(query) - 3
        pairs = [[CLS, *query, SEP, *p[:room], SEP] for p in passages]
        types = [[0] * (len(query) + 2) + [1] * (len(p[:room]) + 1) for p in passages]
        ids, kinds = (torch.from_numpy(pad(x)).long().to(DEVICE) for x in (pairs, types))
        with autocast():
            found = self.cross(ids, kinds)
        return torch.stack(found, 1).half().cpu().numpy()


def candidates(
    cosine: NDArray[np.float32], order: NDArray[np.int16], allowed: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """The best by reciprocal rank fusion of the embedder and BM25, of those allowed."""
    total = np.zeros(len(cosine))
    ranked = np.argsort(-cosine, kind="stable")
    ranked = ranked[allowed[ranked]][:CANDIDATES]
    keyword = order[allowed[order]]
    total[ranked] += 1 / (RRF_K + 1 + np.arange(len(ranked)))
    total[keyword] += 1 / (RRF_K + 1 + np.arange(len(keyword)))
    best = np.argsort(-total, kind="stable")[:CANDIDATES]
    return best[total[best] > 0]


def dump_collection(
    scorer: Scorer, c: dict[str, Any], keyword: tuple[Any, Any], context: bool
) -> dict[str, Any]:
    by_id = {u["id"]: u for u in c["units"]}
    place = {u["id"]: i for i, u in enumerate(c["units"])}
    texts = scorer.ids([passage_text(u, by_id, context=context) for u in c["units"]], PASSAGE_MOST)
    asked = scorer.ids([q["text"] for q in c["queries"]], QUERY_MOST)
    vectors, tokens, _, keep = scorer.encode(texts)
    queries, query_tokens, weights, _ = scorer.encode(asked)
    cosine = (queries @ vectors.T).cpu().numpy()
    rows: dict[str, list[Any]] = {
        "candidate": [],
        "cosine": [],
        "bm25": [],
        "late": [],
        "gold": [],
        "golds": [],
        "cross": [],
        "crossed": [],
    }
    for i, q in enumerate(c["queries"]):
        allowed = np.array(
            [not (q["asked"] and u["date"] and u["date"] > q["asked"]) for u in c["units"]]
        )
        gold = {place[g] for g in q["gold"]}
        found = candidates(cosine[i], keyword[0][i], allowed)
        score = dict(zip(keyword[0][i].tolist(), keyword[1][i].tolist(), strict=True))
        late = scorer.late(query_tokens[i], weights[i], tokens[found], keep[found])
        bm25 = np.array([score.get(int(d), 0.0) for d in found])
        mixed = _standard(late) + 0.5 * _standard(cosine[i][found]) + 0.3 * _standard(bm25)
        top = np.argsort(-mixed)[:CROSSED]
        rows["candidate"].append(_fixed(found, -1, np.int16))
        rows["cosine"].append(_fixed(cosine[i][found], 0, np.float16))
        rows["bm25"].append(_fixed(bm25, 0, np.float16))
        rows["late"].append(_fixed(late, 0, np.float16))
        rows["gold"].append(_fixed(np.array([d in gold for d in found]), 0, np.int8))
        rows["golds"].append(len(gold))
        if scorer.cross is not None:
            logits = scorer.logits(asked[i], [texts[found[j]] for j in top])
            rows["crossed"].append(_fixed(top, -1, np.int16, CROSSED))
            rows["cross"].append(np.pad(logits, ((0, CROSSED - len(logits)), (0, 0))))
    return {k: np.array(v) for k, v in rows.items() if v}


def _standard(x: NDArray[Any]) -> NDArray[np.float32]:
    x = x.astype(np.float32)
    return (x - x.mean()) / (x.std() + 1e-6)


def _fixed(x: NDArray[Any], fill: int, kind: Any, size: int = CANDIDATES) -> NDArray[Any]:
    out = np.full(size, fill, dtype=kind)
    out[: len(x)] = x
    return out


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


def load_cross(tuned: Arrays, original: Arrays, depths: tuple[int, ...] = ()) -> CrossEncoder:
    """With heads at the given depths, or where the trained one has some."""
    trained = tuple(sorted(int(k[4:].split(".")[0]) for k in tuned if k.endswith(".out.bias")))
    model = CrossEncoder(original | tuned, depths or trained)
    for depth, dense, out in zip(model.depths, model.dense, model.out, strict=True):
        for part, layer in (("dense", dense), ("out", out)) if depth in trained else ():
            layer.weight.data = torch.tensor(tuned[f"head{depth}.{part}.weight"])
            layer.bias.data = torch.tensor(tuned[f"head{depth}.{part}.bias"])
    return model.to(DEVICE)


def main(out: str, *shares: str) -> None:
    original = unpack(CACHE / "minilm" / "weights.npz")
    tuned = {k: v.astype(np.float32) for k, v in np.load(CACHE / "state" / "embedder.npz").items()}
    crossed = {k: v.astype(np.float32) for k, v in np.load(CACHE / "state" / "cross.npz").items()}
    cross = load_cross(crossed, original)
    sets, found = load_sets(), dict[str, Any]()
    with np.load(CACHE / "data" / "bm25.npz") as keyword:
        for number, share in enumerate(map(float, shares or ("1.0",))):
            embedder = load_embedder(tuned, original, share)
            scorer = Scorer(embedder, cross if number == 0 else None)
            for name, collections in sets.items():
                if number and name.startswith("cal-"):
                    continue
                for c in collections:
                    key = f"{name}|{c['name']}"
                    at = keyword[f"{key}|order"], keyword[f"{key}|score"]
                    forms = (False, True) if name in ("friends", "cal-friends") else (False,)
                    if name == "cal-synthetic":
                        forms = (True,)
                    for context in forms:
                        rows = dump_collection(scorer, c, at, context)
                        label = f"{share}|{name}{'+previous' if context else ''}|{c['name']}"
                        found |= {f"{label}|{k}": v for k, v in rows.items()}
                _summary(found, f"{share}|{name}")
    np.savez_compressed(Path(out), **found)


def _summary(found: dict[str, Any], prefix: str) -> None:
    """NDCG@10 of the plain orders, to see at once how training went."""
    for label in sorted({k.rsplit("|", 2)[0] for k in found if k.startswith(prefix)}):
        keys = sorted({k.rsplit("|", 1)[0] for k in found if k.startswith(label + "|")})
        line: list[str] = []
        for score in ("cosine", "late", "cross"):
            values = [v for k in keys for v in _ndcg(found, k, score)]
            line.append(f"{score} {100 * float(np.mean(values)):.1f}" if values else "")
        print(label, *line, flush=True)


def _ndcg(found: dict[str, Any], key: str, score: str) -> list[float]:
    values: list[float] = []
    for i in range(len(found[f"{key}|golds"])):
        gold, count = found[f"{key}|gold"][i], int(found[f"{key}|golds"][i])
        if score == "cross":
            if f"{key}|cross" not in found:
                return []
            top = found[f"{key}|crossed"][i]
            top = top[top >= 0]
            order = top[np.argsort(-found[f"{key}|cross"][i][: len(top), -1], kind="stable")]
        else:
            valid = found[f"{key}|candidate"][i] >= 0
            order = np.argsort(-found[f"{key}|{score}"][i][valid], kind="stable")
        gains = gold[order[:10]] / np.log2(np.arange(2, 2 + len(order[:10])))
        values.append(float(gains.sum() / (1 / np.log2(np.arange(2, 2 + min(10, count)))).sum()))
    return values


if __name__ == "__main__":
    main(*sys.argv[1:])
