"""Qwen2.5-Coder-1.5B-Instruct, from its quantised file to sampled text on one GPU.

The file is cut into parts small enough to travel; on the other side they are put together and
dequantised. Sampling is a plain loop over whole batches.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

PART = 60_000_000
VOCABULARY, FIRST_SPECIAL = 151_936, 151_643


def pack(model: str, out: str) -> None:
    """Split the quantised model into files that travel; the output matrix serves as input too."""
    from gguf import GGUFReader

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    reader, entries, blob = GGUFReader(model), list[dict[str, Any]](), bytearray()
    for t in reader.tensors:
        if t.name == "token_embd.weight":  # tied: output.weight holds the same rows, finer
            continue
        raw = np.ascontiguousarray(t.data).tobytes()
        entries.append({"name": t.name, "type": int(t.tensor_type), "shape": [int(n) for n in t.shape][::-1],
                        "raw": list(t.data.shape), "dtype": str(t.data.dtype), "at": len(blob), "size": len(raw)})  # fmt: skip
        blob += raw
    for i in range(0, len(blob), PART):
        (folder / f"part{i // PART:02}").mkdir(exist_ok=True)
        (folder / f"part{i // PART:02}" / "bytes").write_bytes(blob[i : i + PART])
    fields = reader.fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = fields["tokenizer.ggml.merges"].contents()
    (folder / "tensors.json").write_text(json.dumps(entries))
    write_tokenizer(tokens, merges, folder / "tokenizer.json")
    print(len(blob), "bytes in", -(-len(blob) // PART), "parts")


def write_tokenizer(tokens: list[str], merges: list[str], path: Path) -> None:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    special = FIRST_SPECIAL
    vocabulary = {t: i for i, t in enumerate(tokens[:special])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(m.split(" ")) for m in merges]))
    split = Regex(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(split, "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(path))


@dataclass(frozen=True)
class Shape:
    layers: int = 28
    heads: int = 12
    groups: int = 2  # of heads that share keys and values
    width: int = 128  # of a head
    base: float = 1e6  # of the rotation


def load_weights(folder: Path) -> dict[str, Any]:
    """All matrices by the names of the file they came from, in bf16 on the GPU."""
    from concurrent.futures import ThreadPoolExecutor

    import torch
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize

    blob = b"".join((p / "bytes").read_bytes() for p in sorted(folder.glob("part*")))
    entries = json.loads((folder / "tensors.json").read_text())

    def tensor(entry: dict[str, Any]) -> tuple[str, Any]:
        raw = np.frombuffer(
            blob,
            entry["dtype"],
            offset=entry["at"],
            count=entry["size"] // np.dtype(entry["dtype"]).itemsize,
        )
        full = dequantize(raw.reshape(entry["raw"]), GGMLQuantizationType(entry["type"])).reshape(
            entry["shape"]
        )
        return entry["name"], torch.from_numpy(np.ascontiguousarray(full, np.float32)).to(
            "cuda", torch.bfloat16
        )

    with ThreadPoolExecutor(16) as pool:
        return dict(pool.map(tensor, entries))


def load_model(folder: Path) -> Any:
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    found = load_weights(folder)
    config = Qwen2Config(vocab_size=VOCABULARY, hidden_size=1536, intermediate_size=8960, num_hidden_layers=28,
                         num_attention_heads=12, num_key_value_heads=2, rms_norm_eps=1e-6, rope_theta=1e6,
                         rope_parameters={"rope_type": "default", "rope_theta": 1e6},
                         max_position_embeddings=4096, tie_word_embeddings=True)  # fmt: skip
    with torch.device("cuda"):
        model = Qwen2ForCausalLM(config).to(torch.bfloat16).eval()
    parts = {"attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
             "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm",
             "ffn_norm": "post_attention_layernorm"}  # fmt: skip
    state: dict[str, Any] = {}
    for name, value in found.items():
        if name.startswith("blk."):
            _, i, part, kind = name.split(".")
            state[f"model.layers.{i}.{parts[part]}.{kind}"] = value
    state["model.norm.weight"] = found["output_norm.weight"]
    state["model.embed_tokens.weight"] = state["lm_head.weight"] = found["output.weight"]
    missing = model.load_state_dict(state, strict=False)
    print("missing", missing, flush=True)
    return model


def sample(model: Any, prompts: list[list[int]], most: int, stop: Any) -> list[list[int]]:
    """Nucleus sampling of a whole batch, prompts padded on the left."""
    import torch

    width = max(map(len, prompts))
    ids = torch.zeros(len(prompts), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, p in enumerate(prompts):
        ids[row, width - len(p) :] = torch.tensor(p)
        mask[row, width - len(p) :] = 1
    ids, mask = ids.cuda(), mask.cuda()
    done = torch.zeros(len(prompts), dtype=torch.bool, device="cuda")
    said: list[Any] = []
    cache, step = None, ids
    position = (mask.cumsum(1) - 1).clamp(min=0)
    with torch.inference_mode():
        for _ in range(most):
            seen = model(input_ids=step, attention_mask=mask, position_ids=position, past_key_values=cache,
                         use_cache=True, logits_to_keep=1)  # fmt: skip
            cache = seen.past_key_values
            top, where = (seen.logits[:, -1].float() / 0.75).topk(40)
            odds = top.softmax(-1)
            odds = odds.masked_fill(odds.cumsum(-1) - odds > 0.92, 0)
            token = where.gather(1, torch.multinomial(odds, 1))
            done |= stop[token[:, 0]]
            said.append(token.masked_fill(done[:, None], -1))
            if bool(done.all()):
                break
            step = token
            position = position[:, -1:] + 1
            mask = torch.cat([mask, torch.ones_like(token)], 1)
    rows = torch.cat(said, 1).cpu().tolist()
    return [[t for t in row if t >= 0] for row in rows]
