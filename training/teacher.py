"""The teacher: a language model that reads query and memory and says how well they fit.

Qwen2.5-Coder-1.5B-Instruct, asked a yes-or-no question; its score is what "Yes" has over "No",
trained further as a cross-encoder on the same lists that its students see.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from qwen import load_model

FROZEN = 8
"""Lower layers that are not trained: they read words, and their gradients cost a fifth."""
READ_MOST = 320


class Reader:
    """Query and passage as the teacher's own tokens, from the word pieces of its students."""

    def __init__(self, pieces: Tokenizer, own: Tokenizer) -> None:
        self.pieces, self.own = pieces, own
        self.head = own.encode("Memory: ").ids
        self.tail = own.encode("\nDoes the memory help to answer? Yes or no:").ids

    def __call__(self, queries: Sequence[list[int]], passages: Sequence[list[int]]) -> np.ndarray:
        """One row a pair, padded on the right; passages come in lists, as many a query."""
        each = len(passages) // len(queries)
        asked = self._ids([f"\nRequest: {q}" for q in self.pieces.decode_batch(list(queries))])
        said = self._ids(self.pieces.decode_batch(list(passages)))
        rows = [
            [*self.head, *said[i][:READ_MOST], *asked[i // each], *self.tail]
            for i in range(len(passages))
        ]
        out = np.full((len(rows), max(map(len, rows))), -1, dtype=np.int32)
        for i, ids in enumerate(rows):
            out[i, : len(ids)] = ids
        return out

    def _ids(self, texts: list[str]) -> list[list[int]]:
        return [e.ids for e in self.own.encode_batch(texts, add_special_tokens=False)]


class Teacher(nn.Module):
    def __init__(self, parts: Path) -> None:
        super().__init__()
        model = load_model(parts)
        own = Tokenizer.from_file(str(parts / "tokenizer.json"))
        yes, no = (own.encode(word).ids[0] for word in (" Yes", " No"))
        table = model.lm_head.weight
        self.out = nn.Parameter((table[yes] - table[no]).detach().float())
        self.body: Any = model.model

    def trained(self) -> list[nn.Parameter]:
        """For training: full precision, and gradients for the upper layers only."""
        self.float()
        self.body.embed_tokens.requires_grad_(False)
        for layer in self.body.layers[:FROZEN]:
            layer.requires_grad_(False)
        return [p for p in self.parameters() if p.requires_grad]

    def forward(self, read: Tensor) -> Tensor:
        """A logit a row. Padding on the right needs no mask: attention looks back only."""
        last = (read >= 0).sum(1) - 1
        hidden = self.body(input_ids=read.clamp(min=0).long(), use_cache=False).last_hidden_state
        ends = hidden[torch.arange(len(read), device=read.device), last].float()
        return (ends * self.out.float()).sum(-1)  # autocast would round a product of matrices
