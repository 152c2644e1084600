"""A BERT encoder in torch whose parameters keep the names of the weights they came from."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from weights import WORDS, Arrays

HEADS = 12


class Bert(nn.Module):
    """Hidden states of every layer; word embeddings are frozen."""

    def __init__(self, weights: Arrays, layers: int) -> None:
        super().__init__()
        self.layers = layers
        self.dropout = 0.0  # while training
        self.words = nn.Embedding.from_pretrained(torch.tensor(weights[WORDS]), freeze=True)
        kept = {
            name: nn.Parameter(torch.tensor(value))
            for name, value in weights.items()
            if name != WORDS and _belongs(name, layers)
        }
        self.p = nn.ParameterDict({name.replace(".", "/"): value for name, value in kept.items()})

    def linear(self, x: Tensor, name: str) -> Tensor:
        name = name.replace(".", "/")
        return F.linear(x, self.p[name + "/weight"], self.p[name + "/bias"])

    def norm(self, x: Tensor, name: str) -> Tensor:
        name = name.replace(".", "/")
        return F.layer_norm(
            x, x.shape[-1:], self.p[name + "/weight"], self.p[name + "/bias"], 1e-12
        )

    def forward(self, ids: Tensor, types: Tensor | None = None) -> list[Tensor]:
        mask = ids != 0
        position = self.p["embeddings/position_embeddings/weight"][: ids.shape[1]]
        kinds = self.p["embeddings/token_type_embeddings/weight"]
        x = self.words(ids) + position + kinds[0]
        if types is not None:
            # Not `kinds[types]`: the gradient of two rows looked up a hundred thousand times is slow.
            x = x + types.unsqueeze(-1) * (kinds[1] - kinds[0])
        x = self._thin(self.norm(x, "embeddings.LayerNorm"))
        allowed = mask[:, None, None, :]
        states: list[Tensor] = []
        for layer in range(self.layers):
            x = self._layer(x, allowed, f"encoder.layer.{layer}")
            states.append(x)
        return states

    def _layer(self, x: Tensor, allowed: Tensor, at: str) -> Tensor:
        b, t, d = x.shape
        q, k, v = (
            self.linear(x, f"{at}.attention.self.{part}").view(b, t, HEADS, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        mixed = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=allowed.expand(b, 1, t, t),
            dropout_p=self.dropout if self.training else 0.0,
        )
        mixed = mixed.transpose(1, 2).reshape(b, t, d)
        mixed = self._thin(self.linear(mixed, f"{at}.attention.output.dense"))
        x = self.norm(x + mixed, f"{at}.attention.output.LayerNorm")
        wide = F.gelu(self.linear(x, f"{at}.intermediate.dense"))
        wide = self._thin(self.linear(wide, f"{at}.output.dense"))
        return self.norm(x + wide, f"{at}.output.LayerNorm")

    def _thin(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.dropout, self.training) if self.dropout else x

    def arrays(self) -> Arrays:
        return {
            name.replace("/", "."): value.detach().float().cpu().numpy()
            for name, value in self.p.items()
        }


def _belongs(name: str, layers: int) -> bool:
    parts = name.split(".")
    return parts[0] == "embeddings" or (parts[0] == "encoder" and int(parts[2]) < layers)


class CrossEncoder(nn.Module):
    """A logit after each of the given layers, so that one run trains several depths."""

    def __init__(self, weights: Arrays, depths: tuple[int, ...]) -> None:
        super().__init__()
        self.bert = Bert(weights, max(depths))
        self.depths = depths
        width = weights[WORDS].shape[1]
        self.dense = nn.ModuleList([nn.Linear(width, width) for _ in depths])
        self.out = nn.ModuleList([nn.Linear(width, 1) for _ in depths])

    def forward(self, ids: Tensor, types: Tensor) -> list[Tensor]:
        states = self.bert(ids, types)
        logits: list[Tensor] = []
        for depth, dense, out in zip(self.depths, self.dense, self.out, strict=True):
            first = states[depth - 1][:, 0]
            logits.append(out(torch.tanh(dense(first))).squeeze(-1).float())
        return logits

    def arrays(self) -> Arrays:
        found = self.bert.arrays()
        for depth, dense, out in zip(self.depths, self.dense, self.out, strict=True):
            for part, layer in (("dense", dense), ("out", out)):
                for kind, value in layer.state_dict().items():
                    found[f"head{depth}.{part}.{kind}"] = value.float().cpu().numpy()
        return found


class Embedder(nn.Module):
    """Sentence vectors, token vectors and query-token weights from one pass."""

    def __init__(self, weights: Arrays, layers: int, token_dimensions: int) -> None:
        super().__init__()
        self.bert = Bert(weights, layers)
        width = weights[WORDS].shape[1]
        self.project = nn.Linear(width, token_dimensions, bias=False)
        self.weigh = nn.Linear(width, 1)
        nn.init.zeros_(self.weigh.weight)
        nn.init.constant_(self.weigh.bias, 1.0)
        self.sentence_scale = nn.Parameter(torch.tensor(3.0))
        self.late_scale = nn.Parameter(torch.tensor(3.4))

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = self.bert(ids)[-1].float()
        mask = (ids != 0).float().unsqueeze(-1)
        sentence = F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)
        tokens = F.normalize(self.project(hidden), dim=-1)
        return sentence, tokens, torch.sigmoid(self.weigh(hidden)).squeeze(-1)

    def arrays(self) -> Arrays:
        found = self.bert.arrays()
        found["project.weight"] = self.project.weight.detach().float().cpu().numpy()
        found["weigh.weight"] = self.weigh.weight.detach().float().cpu().numpy()
        found["weigh.bias"] = self.weigh.bias.detach().float().cpu().numpy()
        return found


def late_scores(
    query: Tensor, weights: Tensor, query_mask: Tensor, tokens: Tensor, keep: Tensor
) -> Tensor:
    """Weighted mean over query tokens of the best match: (b, i, d) x (k, j, d) -> (b, k)."""
    similarity = torch.einsum("bid,kjd->bkij", query, tokens)
    best = similarity.masked_fill(~keep[None, :, None, :], -1.0).amax(-1)
    weights = weights * query_mask
    return (best * weights[:, None, :]).sum(-1) / weights.sum(-1)[:, None]


def late_list_scores(
    query: Tensor, weights: Tensor, query_mask: Tensor, tokens: Tensor, keep: Tensor
) -> Tensor:
    """As `late_scores` for each query's own list: (b, i, d) x (b, k, j, d) -> (b, k)."""
    similarity = torch.einsum("bid,bkjd->bkij", query, tokens)
    best = similarity.masked_fill(~keep[:, :, None, :], -1.0).amax(-1)
    weights = weights * query_mask
    return (best * weights[:, None, :]).sum(-1) / weights.sum(-1)[:, None]
