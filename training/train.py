"""Train an embedder (`finder`) or a cross-encoder (`reader`) on one GPU.

    python training/train.py finder --rate 1e-4 --budget 196608 --seconds 1180 --dropout 0.1 --compile
    python training/train.py reader --resume --rate 6e-5 --budget 196608 --seconds 1080 --dropout 0.1 --compile

Reads `data/` (from prepare.py), `gte/` (from weights.py) and `start/` (from recover.py) under training/.cache, and
`state/`, where it writes: to train what ships further, copy it from `start`. Budgets are wall-clock seconds: the schedule
follows the clock.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterator
from datetime import date

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader

from bert import Bert, CrossEncoder, Embedder, late_list_scores, late_scores
from lists import CLS, LIST, SEP, Batches, Corpus, pad
from states import (
    CACHE,
    DEVICE,
    FINDER_LAYERS,
    TOKEN_DIMENSIONS,
    VOCABULARY,
    autocast,
    load_blended,
    load_cross,
    load_embedder,
    load_tokenizer,
    save,
    skipped,
)
from weights import Arrays, thinned, unpack

READER_DEPTHS = (8, 12)
FINDER_ROUNDS = 3  # of mining: misses that are near to the student as it is by then
# Scales of cosines in the losses. What they push apart decides what a cosine means, to links, floors and duplicates.
SENTENCE_SCALE, LATE_SCALE = 3.30, 3.54
MINED = 24
LAST_DAY = date.max.toordinal()
LOG_EVERY = 200
SAVED_EVERY = 0.2  # of a run
PARTS = 4  # of a batch, by length: filled up to the longest, more than half of it was nothing
BINARY = 0.6  # weight of "does it answer?" beside "which answers best?", of a cross-encoder


def load_corpus(limit: int = 0) -> Corpus:
    with gzip.open(CACHE / "data" / "train.json.gz", "rt", encoding="utf-8") as file:
        value = json.load(file)
    if limit:
        # A trial run: little data, texts of the smallest sources only.
        rows, days = value["rows"], value["asked"]
        trial = [i for i, row in enumerate(rows) if row[0] in ("friends", "quail", "realmem")]
        trial = trial[:: max(1, len(trial) // limit)]
        value["rows"] = [rows[i] for i in trial]
        value["asked"] = {n: days[str(i)] for n, i in enumerate(trial) if str(i) in days}
        kept = {row[1] for row in value["rows"]} | {"friends"}
        value["passages"] = [p if p[0] in kept else [p[0], "", *p[2:]] for p in value["passages"]]
    return Corpus(value, load_tokenizer())


@torch.no_grad()
def sentence_vectors(bert: Bert, texts: list[list[int]]) -> Tensor:
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    out = torch.zeros(len(texts), 384, device=DEVICE)
    for start in range(0, len(order), 1024):
        places = order[start : start + 1024]
        ids = torch.from_numpy(pad([texts[i] for i in places])).long().to(DEVICE)
        with autocast():
            hidden = bert(ids)[-1].float()
        mask = (ids != 0).float().unsqueeze(-1)
        out[places] = F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
    return out


def impacts(texts: list[list[int]], vocabulary: int) -> Tensor:
    """BM25 impacts of word pieces as a dense matrix: small enough for a GPU, and fast there."""
    counts = torch.zeros(len(texts), vocabulary, dtype=torch.float16, device=DEVICE)
    rows = np.repeat(np.arange(len(texts)), [len(t) for t in texts])
    columns = np.concatenate([np.array(t, dtype=np.int64) for t in texts])
    at = torch.from_numpy(rows).to(DEVICE), torch.from_numpy(columns).to(DEVICE)
    counts.index_put_(
        at, torch.ones(len(rows), dtype=torch.float16, device=DEVICE), accumulate=True
    )
    lengths = counts.sum(1, dtype=torch.float32)
    norm = (1.2 * (0.25 + 0.75 * lengths / lengths.mean())).half()
    found = (counts > 0).sum(0).float()
    idf = torch.log(1 + (len(texts) - found + 0.5) / (found + 0.5)).half()
    return idf * counts * 2.2 / (counts + norm[:, None])


def mine(corpus: Corpus, bert: Bert) -> None:
    """Give every row the near misses of BM25 and of the embedder within its group."""
    started = time.time()
    bert.eval()
    named = [corpus.said(passage) for passage in corpus.passages]
    vectors = sentence_vectors(bert, [[CLS, *ids[:126], SEP] for ids in named])
    queries = [[i for i in row.query if i is not None] for row in corpus.rows]
    asked = sentence_vectors(bert, [[CLS, *q[:126], SEP] for q in queries])
    by_group: dict[str, list[int]] = {}
    for i, row in enumerate(corpus.rows):
        by_group.setdefault(row.group, []).append(i)
    for group, rows in by_group.items():
        members = corpus.groups[group]
        own = vectors[members]
        days = torch.tensor([day_of(corpus.passages[pid].date, 0) for pid in members])
        # What shares words with a question does not change as the student learns.
        texts = [named[pid][:200] for pid in members]
        weights = None if corpus.rows[rows[0]].wordy else impacts(texts, VOCABULARY)
        for start in range(0, len(rows), 2048):
            part = rows[start : start + 2048]
            until = [day_of(corpus.rows[row].asked, LAST_DAY) for row in part]
            later = (days[None, :] > torch.tensor(until)[:, None]).to(DEVICE)
            if weights is not None:
                bag = torch.zeros(len(part), VOCABULARY, dtype=torch.float16, device=DEVICE)
                for i, row in enumerate(part):
                    bag[i, queries[row]] = 1
                for row, places in zip(part, nearest(bag @ weights.T, later), strict=True):
                    corpus.rows[row].wordy = [members[j] for j in places]
            near = nearest(asked[part] @ own.T, later)
            for row, places in zip((corpus.rows[i] for i in part), near, strict=True):
                mixed = (
                    pid
                    for pair in zip((members[j] for j in places), row.wordy, strict=True)
                    for pid in pair
                )
                row.hard = [pid for pid in dict.fromkeys(mixed) if corpus.misses(row, pid)]
        del weights
    print(f"mined in {time.time() - started:.0f} s", flush=True)


def nearest(scores: Tensor, later: Tensor) -> list[list[int]]:
    """The best places of every row, none of what was told after it was asked."""
    k = min(MINED, scores.shape[1])
    return scores.masked_fill(later, -1e4).topk(k).indices.cpu().tolist()


def day_of(day: date | None, otherwise: int) -> int:
    return otherwise if day is None else day.toordinal()


def loader(corpus: Corpus, budget: int, seed: int, workers: int) -> Iterator[dict[str, Tensor]]:
    made = DataLoader(
        Batches(corpus, budget, seed),
        batch_size=None,
        num_workers=workers,
        prefetch_factor=8 if workers else None,
        pin_memory=DEVICE == "cuda",
    )
    for batch in made:
        yield {k: v.to(DEVICE, non_blocking=True) for k, v in batch.items()}


def optimiser(model: nn.Module, rate: float) -> torch.optim.AdamW:
    body = [p for n, p in model.named_parameters() if "bert.p" in n and p.requires_grad]
    heads = [p for n, p in model.named_parameters() if "bert.p" not in n and p.requires_grad]
    groups = [
        {"params": body, "lr": rate, "top": rate},
        {"params": heads, "lr": rate * 8, "top": rate * 8},
    ]
    return torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98), fused=DEVICE == "cuda")


def set_rate(opt: torch.optim.Optimizer, progress: float) -> None:
    share = min(progress / 0.06, 1.0) * max(1.0 - progress, 0.0)
    for group in opt.param_groups:
        group["lr"] = group["top"] * share


def learn(opt: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step."""
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_([p for group in opt.param_groups for p in group["params"]], 1.0)
    opt.step()


def list_loss(
    logits: Tensor,
    answered: Tensor,
    drop: Tensor | None = None,
    likely: Tensor | None = None,
) -> Tensor:
    """Softmax over the list, the answer first where there is one, plus some binary loss, so that a
    logit means the same whatever was asked. `likely` says how likely each answers, where that is known."""
    labels = torch.zeros_like(logits) if likely is None else likely.clone()
    labels *= answered[:, None]
    labels[:, 0] = answered.float()
    if drop is not None:
        logits, labels = logits.masked_fill(drop, -1e4), labels.masked_fill(drop, 0.0)
    target = torch.zeros(len(logits), dtype=torch.long, device=logits.device)
    listed = F.cross_entropy(logits, target, reduction="none") * answered
    each = F.binary_cross_entropy_with_logits(logits.clamp(-30, 30), labels)
    return listed.sum() / answered.sum().clamp(min=1) + BINARY * each


def distil(student: Tensor, teacher: Tensor) -> Tensor:
    return F.kl_div(F.log_softmax(student, -1), F.softmax(teacher, -1), reduction="batchmean")


def prepared(model: nn.Module, args: argparse.Namespace) -> nn.Module:
    """To be trained on: with dropout, and compiled where that was asked for (a minute, then twice as fast)."""
    model.train()
    model.bert.dropout = args.dropout
    return torch.compile(model, dynamic=True) if args.compile else model


def clock(seconds: float) -> Callable[[], float]:
    started = time.time()
    return lambda: (time.time() - started) / seconds


class Course:
    """A model in training: it is shown batches while there is time, and saved every now and then."""

    def __init__(self, name: str, model: CrossEncoder | Embedder, args: argparse.Namespace) -> None:
        self.progress = clock(args.seconds)
        self._name, self._model, self._args = name, model, args
        self._opt = optimiser(model, args.rate)
        self._seen, self._saved = 0, 0.0

    def batches(
        self, corpus: Corpus, seed: int, until: float = 1.0
    ) -> Iterator[tuple[int, dict[str, Tensor]]]:
        """With their numbers, until so much of the time is gone."""
        shown = loader(corpus, self._args.budget, seed, self._args.workers)
        for step, batch in enumerate(shown):
            if self.progress() >= until:
                return
            set_rate(self._opt, self.progress())
            yield step, batch

    def learn(self, loss: Tensor, rows: int) -> None:
        learn(self._opt, loss)
        self._seen += rows
        if self.progress() - self._saved > SAVED_EVERY:
            self._saved = self.progress()
            self.save()

    def tell(self, step: int, says: str) -> None:
        print(
            f"{self._name} {self.progress():.3f} step {step} rows {self._seen} {says}", flush=True
        )

    def save(self) -> None:
        save(self._model.arrays(), self._name)


def in_parts(ids: Tensor, *more: Tensor) -> Iterator[tuple[Tensor, list[Tensor]]]:
    """Rows of like length together, cut to what they hold, with their places."""
    lengths = (ids != 0).sum(1)
    for places in lengths.argsort().chunk(PARTS):
        width = -(-int(lengths[places].max()) // 8) * 8
        yield places, [x[places, :width] for x in (ids, *more)]


def read_pairs(reader: nn.Module, batch: dict[str, Tensor]) -> list[Tensor]:
    """The logits of every list, by depth."""
    found = [
        (places, reader(*part))
        for places, part in in_parts(batch["pair"].long(), batch["type"].long())
    ]
    back = torch.cat([places for places, _ in found]).argsort()
    by_depth = zip(*(logits for _, logits in found), strict=True)
    return [torch.cat(logits)[back].view(-1, LIST) for logits in by_depth]


def read_passages(embedder: nn.Module, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Sentence vectors, and token vectors filled up to the longest passage."""
    places, sentences, tokens = list[Tensor](), list[Tensor](), list[Tensor]()
    for at, (part,) in in_parts(ids):
        sentence, own, _ = embedder(part)
        places.append(at)
        sentences.append(sentence)
        tokens.append(F.pad(own, (0, 0, 0, ids.shape[1] - own.shape[1])))
    back = torch.cat(places).argsort()
    return torch.cat(sentences)[back], torch.cat(tokens)[back]


def embedder_loss(
    model: Embedder, batch: dict[str, Tensor], teacher: Tensor, drop: Tensor, skip: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Losses of sentence and token vectors; in-batch passages are misses too."""
    query, passage = batch["query"].long(), batch["passage"].long()
    with autocast():
        asked, asked_tokens, weights = model(query)
        said, said_tokens = read_passages(model, passage)
    rows = len(query)
    keep = (passage != 0) & ~skip[passage] & ~batch["muted"]
    keep[:, 0] = True
    own = torch.arange(rows, device=query.device)
    # Known answers among other rows' passages are no misses; one's own list has `drop`.
    known = batch["known"].view(rows, rows, LIST)
    known[own, own] = drop
    near = asked @ said.T * model.sentence_scale.clamp(max=4.6).exp()
    near = near.masked_fill(known.view(rows, -1), -1e4)
    own_near = near.view(rows, rows, LIST)[own, own]
    sentence = F.cross_entropy(near, own * LIST) + 0.7 * distil(
        own_near, teacher.masked_fill(drop, -1e4)
    )
    mask = (query != 0).float()
    scale = model.late_scale.clamp(max=4.6).exp()
    tokens = said_tokens.view(rows, LIST, *said_tokens.shape[1:])
    keep = keep.view(rows, LIST, -1)
    listed = late_list_scores(asked_tokens, weights, mask, tokens, keep) * scale
    others = late_scores(asked_tokens, weights, mask, tokens[:, 0], keep[:, 0]) * scale
    others = others.masked_fill(
        known[:, :, 0] | torch.eye(rows, dtype=torch.bool, device=query.device), -1e4
    )
    joined = torch.cat([listed.masked_fill(drop, -1e4), others], 1)
    late = F.cross_entropy(joined, torch.zeros_like(own)) + distil(listed, teacher)
    return sentence, late, listed


def correct(taught: Tensor) -> tuple[Tensor, Tensor]:
    """What a teacher says of lists, and which of its misses are none."""
    # It ranks them above the answer: more likely unmarked answers than misses.
    drop = taught > taught[:, :1] + 1.0
    # Where it errs, its answer's score is raised to its best: what it says of the rest of the
    # list is still worth learning.
    taught[:, 0] = taught.amax(1)
    return taught, drop


def tops(*lists: Tensor) -> list[str]:
    return [f"{(x.argmax(1) == 0).float().mean().item():.3f}" for x in lists]


def judged(corpus: Corpus) -> None:
    """Give questions what the judge said of their answers and misses, and only such misses."""
    fresh, kept = CACHE / "judged.npz", CACHE / "data" / "judged.npz"
    with np.load(fresh if fresh.exists() else kept) as found:
        for row, pid, logit in zip(
            found["row"].tolist(), found["pid"].tolist(), found["logit"].tolist(), strict=True
        ):
            corpus.rows[row].judged[pid] = logit
    keep_judged(corpus)


def keep_judged(corpus: Corpus) -> None:
    for row in corpus.rows:
        if row.judged:
            known = [pid for pid in row.hard if pid in row.judged]
            rest = [pid for pid in row.judged if pid not in known and corpus.misses(row, pid)]
            row.hard = known + rest


def teach(small: Tensor, judged: Tensor) -> Tensor:
    """The judge's logits where it saw the list, else those of the small teacher. What the judge
    did not see was drawn at random, or made to be a miss."""
    seen = ~judged[:, :1].isnan()
    lowest = judged.nan_to_num(1e4).amin(1, keepdim=True) - 1.0
    return torch.where(seen, torch.where(judged.isnan(), lowest, judged), small)


def reader_loss(
    logits: Tensor, batch: dict[str, Tensor], taught: Tensor, drop: Tensor, heed: Tensor
) -> Tensor:
    """`heed` says how much each list's teacher is listened to."""
    kl = F.kl_div(F.log_softmax(logits, -1), F.softmax(taught, -1), reduction="none").sum(-1)
    # How likely each answers is known only where the judge read it.
    judged = ~batch["judged"][:, :1].isnan()
    likely = torch.where(judged, taught.sigmoid(), torch.zeros_like(taught))
    return list_loss(logits, batch["answered"], drop, likely) + (heed * kl).mean()


def train_reader(args: argparse.Namespace) -> None:
    """A cross-encoder: taught by the judge where it read, by the one before it where that knows
    better, and a little by it elsewhere. Heads in the middle learn from the last one, so that depth can be chosen."""
    torch.manual_seed(8 + args.seed)
    corpus = load_corpus(args.limit)
    teacher = taught_by(load_before(), args)
    reader = load_reader(args.resume)
    student = prepared(reader, args)
    mine(corpus, load_blended(1.0).bert)
    if not args.limit:
        judged(corpus)
    course = Course(args.name, reader, args)
    for step, batch in course.batches(corpus, 81 + args.seed):
        with torch.no_grad(), autocast():
            small = read_pairs(teacher, batch)[-1]
        taught, drop = correct(teach(small, batch["judged"]))
        drop &= ~batch["untaught"][:, None]
        read = ~batch["judged"][:, 0].isnan()
        heed = torch.where(read | batch["heeded"], 1.5, 0.5) * ~batch["untaught"]
        with autocast():
            *middle, last = read_pairs(student, batch)
        losses = [reader_loss(last, batch, taught, drop, heed)]
        for logits in middle:
            losses.append(0.4 * reader_loss(logits, batch, taught, drop, heed))
            losses.append(0.5 * distil(logits, last.detach()))
        course.learn(torch.stack(losses).sum(), len(taught))
        if step % LOG_EVERY == 0:
            right = tops(small, taught, *middle, last)
            course.tell(
                step,
                f"judged {read.float().mean().item():.2f} losses {[x.item() for x in losses]} top1 before/taught/{reader.depths} {right}",
            )
    course.save()


def taught_by(model: nn.Module, args: argparse.Namespace) -> nn.Module:
    """A teacher, which does not learn."""
    model.eval().requires_grad_(False)
    return torch.compile(model, dynamic=True) if args.compile else model


def load_before() -> CrossEncoder:
    """The cross-encoder that shipped before, as recover.py reads it."""
    return load_cross(unpack(CACHE / "start" / "reader.npz"), unpack(CACHE / "gte" / "weights.npz"))


def load_reader(resume: bool) -> CrossEncoder:
    """From gte-small, or as it was saved, with the depths it has."""
    gte = unpack(CACHE / "gte" / "weights.npz")
    if not resume:
        return CrossEncoder(gte, READER_DEPTHS).to(DEVICE)
    return load_cross(unpack(CACHE / "state" / "reader.npz"), gte)


def train_finder(args: argparse.Namespace) -> None:
    """An embedder from gte-small, taught by the judge where it read, and by the cross-encoder elsewhere."""
    torch.manual_seed(10 + args.resume)
    corpus = load_corpus(args.limit)
    finder = load_finder(unpack(CACHE / "gte" / "weights.npz"), args.resume)
    teacher = taught_by(load_reader(resume=True), args)
    student = prepared(finder, args)
    skip = skipped(corpus.tokenizer)
    course = Course("finder", finder, args)
    for part in range(FINDER_ROUNDS):
        mine(corpus, finder.bert)
        if not args.limit:
            judged(corpus) if part == 0 else keep_judged(corpus)
        finder.train()
        seed = 101 + part + FINDER_ROUNDS * args.resume
        for step, batch in course.batches(corpus, seed, (part + 1) / FINDER_ROUNDS):
            if not batch["answered"].all():
                continue  # what nobody told only a cross-encoder can see
            with torch.no_grad(), autocast():
                small = read_pairs(teacher, batch)[-1]
            taught, drop = correct(teach(small, batch["judged"]))
            sentence, late, listed = embedder_loss(student, batch, taught, drop, skip)
            course.learn(sentence + late, len(taught))
            if step % LOG_EVERY == 0:
                right = tops(small, taught, listed)
                course.tell(
                    step,
                    f"losses {sentence.item():.3f} {late.item():.3f} top1 teacher/taught/late {right}",
                )
        course.save()


def load_finder(gte: Arrays, resume: bool) -> Embedder:
    if resume:
        finder = load_embedder(unpack(CACHE / "state" / "finder.npz"), gte, 1.0)
    else:
        finder = Embedder(thinned(gte, FINDER_LAYERS), len(FINDER_LAYERS), TOKEN_DIMENSIONS)
    for scale, value in (
        (finder.sentence_scale, SENTENCE_SCALE),
        (finder.late_scale, LATE_SCALE),
    ):
        scale.data.fill_(value)
        scale.requires_grad_(False)
    return finder.to(DEVICE)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("stage", choices=["reader", "finder"])
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--rate", type=float, default=6e-5)
    parser.add_argument("--resume", action="store_true", help="train what was saved further")
    parser.add_argument("--seed", type=int, default=0, help="of `reader`")
    parser.add_argument("--name", default="reader", help="what `reader` saves its weights as")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--budget", type=int, default=65536, help="pair tokens a batch")
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--limit", type=int, default=0, help="rows, for a trial run")
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    {"reader": train_reader, "finder": train_finder}[args.stage](args)


if __name__ == "__main__":
    main()
