"""Teach fewer layers to read queries as the embedder does (`export.py` puts them beside it).

    python training/query.py --seconds 200      # one GPU
    python training/query.py --resume --rows 256 --seconds 900    # from `start/query.npz`; a CPU will do

A memory is read once, a query at every recall: where nothing reranks what the first search finds, half of the layers
do nearly as well for half the cost. The student starts from some of the embedder's own layers and learns its sentence
vectors (and to be as near to the same passages), token vectors and weights, on the queries and on pieces of the
passages that trained it. Its sentence vectors are what ships. Memories are read as before, so banks stay as they are.
"""

from __future__ import annotations

import argparse
import random

import torch
import torch.nn.functional as F
from torch import Tensor

from bert import Embedder
from export import QUERY_DEPTH, SHARE
from lists import CLS, SEP, Corpus, pad
from states import CACHE, DEVICE, TOKEN_DIMENSIONS, autocast, load_blended, save
from train import LOG_EVERY, clock, learn, load_corpus, optimiser, sentence_vectors, set_rate
from weights import WORDS, Arrays, thinned, unpack

LAYERS = (0, 3, 7)  # of the embedder, from which a student starts
ROWS, NEAR, HELD = 2048, 8192, 2048
SAID = 16_384  # passages that are near or far
SHARPNESS = 20.0  # of the order of passages
ASKED = 0.6  # the rest are pieces of passages
PIECE = (3, 28)  # tokens


def beginning(embedder: Embedder, before: Arrays | None) -> Embedder:
    """Some layers of the embedder, or those that skimmed for the one before it, and the embedder's heads."""
    words = embedder.bert.words.weight.cpu().numpy()
    chosen = thinned(embedder.arrays(), LAYERS) | (before or {}) | {WORDS: words}
    student = Embedder(chosen, QUERY_DEPTH, TOKEN_DIMENSIONS)
    student.project.weight.data = torch.tensor(chosen["project.weight"])
    student.weigh.weight.data = torch.tensor(chosen["weigh.weight"])
    student.weigh.bias.data = torch.tensor(chosen["weigh.bias"])
    return student.to(DEVICE)


class Texts:
    """What the student reads: queries, some of them held, and pieces of passages."""

    def __init__(self, corpus: Corpus) -> None:
        self.chance = random.Random(7)
        asked = sorted({tuple(i for i in row.query if i is not None)[:60] for row in corpus.rows})
        self.chance.shuffle(asked)
        few = min(HELD, len(asked) // 4)
        self.held, self.queries = asked[:few], asked[few:]
        self.passages = [corpus.said(passage) for passage in corpus.passages]
        self.long = [ids for ids in self.passages if len(ids) > 2 * PIECE[0]]

    def batch(self, rows: int) -> Tensor:
        return padded([self._text() for _ in range(rows)])

    def _text(self) -> list[int]:
        if self.chance.random() < ASKED:
            return list(self.chance.choice(self.queries))
        whole, size = self.chance.choice(self.long), self.chance.randint(*PIECE)
        start = self.chance.randrange(max(1, len(whole) - size))
        return whole[start : start + size]


def padded(texts: list[list[int]]) -> Tensor:
    return torch.from_numpy(pad([[CLS, *ids, SEP] for ids in texts])).long().to(DEVICE)


def losses(teacher: Embedder, student: Embedder, ids: Tensor, near: Tensor) -> list[Tensor]:
    """How far the student is from its teacher: in the order of some passages, in the sentence vector, in the
    token vectors where they weigh, and in the weights."""
    with torch.no_grad(), autocast():
        sentence, tokens, weights = teacher(ids)
    with autocast():
        mine, my_tokens, my_weights = student(ids)
    mask = (ids != 0).float()
    wanted = F.softmax(sentence.float() @ near.T * SHARPNESS, -1)
    found = F.log_softmax(mine.float() @ near.T * SHARPNESS, -1)
    apart = 1 - (my_tokens * tokens).sum(-1)
    return [
        F.kl_div(found, wanted, reduction="batchmean"),
        1 - (mine * sentence).sum(-1).mean(),
        (apart * weights * mask).sum() / (weights * mask).sum(),
        ((my_weights - weights).square() * mask).sum() / mask.sum(),
    ]


def train(args: argparse.Namespace) -> None:
    torch.manual_seed(7)
    torch.backends.cuda.matmul.allow_tf32 = True
    texts = Texts(load_corpus(args.limit))
    teacher = load_blended(args.share).eval().requires_grad_(False)
    before = unpack(CACHE / "start" / "query.npz") if args.resume else None
    student = beginning(teacher, before)
    passages = texts.chance.sample(texts.passages, min(SAID, len(texts.passages)))
    said = sentence_vectors(teacher.bert, [[CLS, *ids[:126], SEP] for ids in passages])
    held = padded([list(ids) for ids in texts.held])
    opt = optimiser(student, args.rate)
    for group in opt.param_groups:
        group["top"] = args.rate  # no head is new
    progress, step = clock(args.seconds), 0
    while progress() < 1:
        set_rate(opt, progress())
        near = said[torch.randint(len(said), (NEAR,), device=DEVICE)]
        order, far, apart, weighed = losses(teacher, student, texts.batch(args.rows), near)
        learn(opt, order + 5 * far + 3 * apart + 10 * weighed)
        if step % LOG_EVERY == 0:
            with torch.no_grad():
                found = [
                    f"{x.item():.4f}" for x in losses(teacher, student, held, said[: 2 * NEAR])
                ]
            print(
                f"query {progress():.3f} step {step} held order/far/tokens/weights {found}",
                flush=True,
            )
        step += 1
    save(student.arrays(), "query")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument(
        "--share", type=float, default=SHARE, help="of the tuned embedder in the one that ships"
    )
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--limit", type=int, default=0, help="rows, for a trial run")
    train(parser.parse_args())


if __name__ == "__main__":
    main()
