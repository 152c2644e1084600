"""A language model as the teacher: Qwen2.5-Coder-1.5B, trained to say how well a memory answers.

    python training/judge.py --seconds 420

Reads what train.py reads and `llm/` (qwen.py's parts) under training/.cache; writes
`judged.npz`: for questions about conversations, what it makes of their answers and near misses.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

import qwen
from lists import LIST, SPEAKER, Corpus, short_date
from states import CACHE, DEVICE, load_blended, load_tokenizer
from train import clock, learn, list_loss, mine, set_rate

QUERY_MOST, PASSAGE_MOST, BEFORE_MOST = 100, 400, 60
# What it learns from: conversations first, and enough else to stay general.
SHARES = {
    "chats": 0.55,
    "untold": 0.05,
    "friends": 0.06,
    "realmem": 0.06,
    "lifebench": 0.05,
    "told": 0.08,
    "cosmosqa": 0.06,
    "squad_sent": 0.05,
    "mocha": 0.04,
    "iirc": 0.04,
    "timeqa": 0.03,
    "projects": 0.03,
    "notes": 0.05,
    "records": 0.04,
    "articles": 0.05,
}
JUDGED_MOST = 12  # near misses of a question
JUDGED = ("chats", "friends", "realmem", "lifebench", "notes", "records", "articles")


class Judge(nn.Module):
    """The model without its output layer, and one number read off the last token."""

    def __init__(self, weights: dict[str, Tensor], shape: qwen.Shape, first: Tensor) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Parameter(weights["output.weight"], requires_grad=False)
        kept = {k.replace(".", "/"): v for k, v in weights.items() if k != "output.weight"}
        self.p = nn.ParameterDict({k: nn.Parameter(v.float()) for k, v in kept.items()})
        self.out = nn.Parameter(first.float())

    def linear(self, x: Tensor, name: str, *, bias: bool = False) -> Tensor:
        return F.linear(
            x,
            self.p[name + "/weight"].to(x.dtype),
            self.p[name + "/bias"].to(x.dtype) if bias else None,
        )

    def norm(self, x: Tensor, name: str) -> Tensor:
        return F.rms_norm(x.float(), x.shape[-1:], self.p[name + "/weight"].float(), 1e-6).to(
            x.dtype
        )

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Padding stands after the last token, where a causal mask hides it."""
        s = self.shape
        rows, count = ids.shape
        half = torch.arange(0, s.width, 2, device=ids.device) / s.width
        turn = torch.arange(count, device=ids.device)[:, None].float() / s.base**half
        cos, sin = (
            torch.cat([f(turn)] * 2, -1).to(self.words.dtype) for f in (torch.cos, torch.sin)
        )
        x = self.words[ids]
        for i in range(s.layers):
            x = self._block(x, f"blk/{i}/", cos, sin)
        last = self.norm(x[torch.arange(rows, device=ids.device), lengths - 1], "output_norm")
        return last.float() @ self.out.float()

    def _block(self, x: Tensor, at: str, cos: Tensor, sin: Tensor) -> Tensor:
        s, (rows, count, _) = self.shape, x.shape
        h = self.norm(x, at + "attn_norm")
        q, k, v = (
            self.linear(h, f"{at}attn_{part}", bias=True)
            .view(rows, count, -1, s.width)
            .transpose(1, 2)
            for part in "qkv"
        )
        q, k = (
            y * cos + torch.cat([-y[..., s.width // 2 :], y[..., : s.width // 2]], -1) * sin
            for y in (q, k)
        )
        k, v = (y.repeat_interleave(s.heads // s.groups, 1) for y in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.linear(mixed.transpose(1, 2).reshape(rows, count, -1), at + "attn_output")
        h = self.norm(x, at + "ffn_norm")
        wide = F.silu(self.linear(h, at + "ffn_gate")) * self.linear(h, at + "ffn_up")
        return x + self.linear(wide, at + "ffn_down")


class Reader:
    """Pairs of a question and a memory as the model's tokens."""

    def __init__(self, value: dict[str, Any], corpus: Corpus, tokenizer: Tokenizer) -> None:
        self.passages, self.rows = value["passages"], value["rows"]
        self.corpus, self.tokenizer = corpus, tokenizer
        self._ids: dict[str, list[int]] = {}

    def ids(self, text: str, most: int = 1000) -> list[int]:
        found = self._ids.get(text)
        if found is None:
            found = self._ids[text] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return found[:most]

    def pair(self, row: int, pid: int) -> list[int]:
        _, text, day, speaker, before = self.passages[pid]
        query = self.rows[row][2].replace(SPEAKER, "the writer")
        memory = self.ids("\nMemory: ")
        if day:
            memory = memory + self.ids(short_date(self.corpus.passages[pid].date) + " ")  # type: ignore[arg-type]
        memory = memory + self.before(before, 2)
        memory = (
            memory
            + (self.ids(f"{speaker}:") if speaker else [])
            + self.ids(" " + text[:4000], PASSAGE_MOST)
        )
        return (
            self.ids("Query: ")
            + self.ids(query, QUERY_MOST)
            + memory
            + self.ids("\nDoes the memory give the answer, or a part of it? Answer:")
        )

    def before(self, pid: int | None, turns: int) -> list[int]:
        """What was said before, the last turn last: who "she" is often stands there."""
        if pid is None or turns == 0:
            return []
        _, text, _, speaker, previous = self.passages[pid]
        said = self.ids(f"previous turn: {speaker}:") + self.ids(" " + text[:600], BEFORE_MOST)
        return self.before(previous, turns - 1) + said + self.ids("\n")

    def misses(self, row: int, rng: random.Random) -> list[int]:
        known = self.corpus.rows[row]
        near = rng.sample(known.hard[:12], min(4, len(known.hard[:12])))
        far = rng.sample(known.hard[12:], min(3, len(known.hard[12:])))
        return near + far


def padded(pairs: list[list[int]]) -> tuple[Tensor, Tensor]:
    lengths = torch.tensor([len(p) for p in pairs])
    ids = torch.zeros(len(pairs), -(-int(lengths.max()) // 8) * 8, dtype=torch.long)
    for i, pair in enumerate(pairs):
        ids[i, : len(pair)] = torch.tensor(pair)
    return ids.to(DEVICE), lengths.to(DEVICE)


class Drawn(NamedTuple):
    """A question's list; nobody answers what was never told."""

    pairs: list[list[int]]
    answered: bool


def lists(reader: Reader, budget: int, seed: int) -> Iterator[list[Drawn]]:
    """Endless batches of lists, the answer first, of about `budget` tokens."""
    rng = random.Random(seed)
    families = [f for f in SHARES if f in reader.corpus.families]
    while True:
        drawn: list[Drawn] = []
        for family in rng.choices(families, [SHARES[f] for f in families], k=256):
            row = rng.choice(reader.corpus.families[family])
            known = reader.corpus.rows[row]
            first = rng.choice(known.gold or known.hard[:4])
            pids = [first, *(pid for pid in reader.misses(row, rng) if pid != first)]
            if len(pids) >= LIST - (not known.gold):
                pids += [rng.choice(known.hard)] * (LIST - len(pids))
                pairs = [reader.pair(row, pid) for pid in pids]
                drawn.append(Drawn(pairs, bool(known.gold)))
        drawn.sort(key=lambda made: max(map(len, made.pairs)))
        batches, batch = list[list[Drawn]](), list[Drawn]()
        for made in drawn:
            if batch and max(map(len, made.pairs)) * LIST * (len(batch) + 1) > budget:
                batches.append(batch)
                batch = []
            batch.append(made)
        rng.shuffle(batches)
        yield from batches


def train(judge: Judge, reader: Reader, seconds: float, budget: int, rate: float) -> None:
    weights = [p for p in judge.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(
        weights, lr=rate, betas=(0.9, 0.98), weight_decay=0.01, fused=DEVICE == "cuda"
    )
    opt.param_groups[0]["top"] = rate
    progress, rights, seen = clock(seconds), list[float](), 0
    for step, batch in enumerate(lists(reader, budget, 5)):
        if progress() >= 1:
            break
        set_rate(opt, progress())
        ids, lengths = padded([pair for made in batch for pair in made.pairs])
        logits = judge(ids, lengths).view(-1, LIST)
        answered = torch.tensor([made.answered for made in batch], device=logits.device)
        loss = list_loss(logits, answered)
        learn(opt, loss)
        seen += len(batch)
        rights.append((logits.argmax(1) == 0)[answered].float().mean().item())
        if not math.isfinite(loss.item()) or step % 25 == 0:
            print(f"judge {progress():.2f} step {step} lists {seen} loss {loss.item():.3f} top1 {np.nanmean(rights[-25:]):.3f}", flush=True)  # fmt: skip


@torch.no_grad()
def score(
    judge: Judge, reader: Reader, asked: list[int], budget: int, seconds: float
) -> dict[str, Any]:
    """Logits of each question's answers, of what follows them and of the near misses; of as many
    questions as there is time for."""
    judge.to(torch.bfloat16)
    progress, found = clock(seconds), list[tuple[int, int, float]]()
    for start in range(0, len(asked), 512):
        if progress() >= 1:
            break
        pairs = [p for row in asked[start : start + 512] for p in _pairs(reader, row)]
        pairs.sort(key=lambda pair: len(pair[2]))
        at = 0
        while at < len(pairs):
            size = max(1, budget // (len(pairs[min(at + 512, len(pairs) - 1)][2]) + 8))
            part = pairs[at : at + size]
            logits = judge(*padded([p for *_, p in part])).float().tolist()
            found += [(row, pid, x) for (row, pid, _), x in zip(part, logits, strict=True)]
            at += len(part)
    print(f"{start} of {len(asked)} questions", flush=True)
    rows, pids, logits = zip(*found, strict=True)
    return {
        "row": np.array(rows, dtype=np.int32),
        "pid": np.array(pids, dtype=np.int32),
        "logit": np.array(logits, dtype=np.float16),
    }


def _pairs(reader: Reader, row: int) -> Iterator[tuple[int, int, list[int]]]:
    known = reader.corpus.rows[row]
    after = [reader.corpus.following[g] for g in known.gold if g in reader.corpus.following]
    for pid in dict.fromkeys([*known.gold, *after, *known.hard[:JUDGED_MOST]]):
        yield row, pid, reader.pair(row, pid)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--score-seconds", type=float, default=260)
    parser.add_argument("--rate", type=float, default=1.2e-5)
    parser.add_argument("--budget", type=int, default=24576, help="tokens a batch")
    args = parser.parse_args()
    torch.manual_seed(4)
    started = time.time()
    with gzip.open(CACHE / "data" / "train.json.gz", "rt", encoding="utf-8") as file:
        value = json.load(file)
    corpus = Corpus(value, load_tokenizer())
    mine(corpus, load_blended(1.0).bert)
    tokenizer = Tokenizer.from_file(str(CACHE / "llm" / "tokenizer.json"))
    reader = Reader(value, corpus, tokenizer)
    weights = qwen.load_weights(CACHE / "llm")
    yes, no = (tokenizer.encode(word).ids[0] for word in (" Yes", " No"))
    judge = Judge(
        weights, qwen.Shape(), weights["output.weight"][yes] - weights["output.weight"][no]
    ).to(DEVICE)
    print(f"ready after {time.time() - started:.0f} s", flush=True)
    train(judge, reader, args.seconds, args.budget, args.rate)
    torch.cuda.empty_cache()
    asked = [i for source in JUDGED for i in corpus.families.get(source, [])]
    random.Random(6).shuffle(asked)  # the time may not suffice for all
    judged = score(judge.eval(), reader, asked, 8 * args.budget, args.score_seconds)
    np.savez(CACHE / "judged.npz", **judged)
    print(f"judged {len(judged['row'])} pairs of {len(asked)} questions after {time.time() - started:.0f} s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
