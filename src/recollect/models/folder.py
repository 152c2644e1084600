"""What a model folder holds: the graph, the tokenizer, and how to read them.

A model of ours has a manifest that names its files and pins their hashes: `NAME.json` among those that
ship, which share a tokenizer and the embeddings of words, or `recollect.json` in a folder of its own. Any
other sentence-transformers or cross-encoder export is read by the files such exports have.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from recollect.errors import ModelError

_GRAPHS = (
    "model.onnx",
    "onnx/model.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_int8.onnx",
)
_DEFAULT_LENGTH = 512
_WHOLE = "reinstall recollect, or pass the folder of another model"
_STEPS = frozenset({"Transformer", "Pooling", "Normalize", "Dropout"})


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """Where a model lies and what its graph expects and gives."""

    name: str
    graph: Path
    tokenizer: Path
    max_length: int
    pooling: str = "none"  # mean, cls, or what else sentence-transformers has
    # What is done to a vector after that: by sentence-transformers, in no graph.
    unread: tuple[str, ...] = ()
    query_prefix: str = ""
    passage_prefix: str = ""
    # Passage tokens whose vectors are not kept.
    skip_tokens: frozenset[int] = field(default_factory=frozenset[int])
    # Written by training/graph.py: there is nothing left for onnxruntime to simplify, and trying
    # takes a third of the time to load.
    simplified: bool = False
    skimming: Path | None = None  # a graph of fewer layers, for the sentence vectors of queries


def read_folder(path: Path) -> ModelFolder:
    """The model at a folder, an ONNX file or a manifest; its pinned hashes, if any, are checked."""
    if path.suffix == ".json" and path.is_file():
        return _ours(path)
    graph = path if path.suffix == ".onnx" and not path.is_dir() else None
    root = path if graph is None else path.parent
    if (root / "recollect.json").is_file():
        return _ours(root / "recollect.json")
    return _foreign(root, graph)


def _ours(manifest: Path) -> ModelFolder:
    root = manifest.parent
    try:
        stated = _json(manifest)
        small = stated.get("skimming")
        folder = ModelFolder(
            name=str(stated["name"]),
            graph=root / str(stated.get("graph", "model.onnx")),
            tokenizer=root / "tokenizer.json",
            max_length=int(stated["max_length"]),
            skip_tokens=frozenset(int(i) for i in stated.get("skip_tokens", ())),
            simplified=True,
            skimming=None if small is None else root / str(small),
        )
        pinned = dict(cast("Mapping[str, str]", stated["files"]))
        needed = [folder.graph, folder.tokenizer, *([folder.skimming] if folder.skimming else [])]
        if not {file.name for file in needed} <= pinned.keys():
            raise ValueError("a file without a hash")
    except (ModelError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{manifest} is damaged", hint=_WHOLE) from error
    for name, digest in pinned.items():
        _check_hash(folder.name, root / name, digest)
    return folder


def _check_hash(model: str, file: Path, digest: str) -> None:
    if not file.is_file():
        raise ModelError(
            f"the model {model} lacks its file {file.name}",
            hint="reinstall recollect; the models are part of the package",
        )
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != digest:
        raise ModelError(
            f"{file} is not the file recollect was released with (sha256 {found[:12]}…)",
            hint=_WHOLE,
        )


def _foreign(root: Path, graph: Path | None) -> ModelFolder:
    found = graph or next((root / name for name in _GRAPHS if (root / name).is_file()), None)
    if found is None or not found.is_file():
        raise ModelError(
            f"no ONNX model at {root}",
            hint="export one, for example with `optimum-cli export onnx`, so that the folder "
            "holds model.onnx and tokenizer.json",
        )
    home = next((d for d in _homes(found) if _tokenizer(d).is_file()), None)
    if home is None:
        raise ModelError(
            f"no tokenizer.json beside {found}",
            hint="copy the tokenizer.json of the model into the folder",
        )
    prompts = cast(
        "dict[str, str]",
        _optional(home / "config_sentence_transformers.json").get("prompts") or {},
    )
    return ModelFolder(
        name=home.resolve().name,
        graph=found,
        tokenizer=_tokenizer(home),
        max_length=_max_length(home),
        pooling=_pooling(home),
        unread=_unread(home),
        query_prefix=prompts.get("query", ""),
        passage_prefix=prompts.get("document", prompts.get("passage", "")),
    )


def _homes(graph: Path) -> tuple[Path, Path]:
    """Where the files of a model may lie, the likelier place first: beside its graph or above it. A folder
    `onnx` often holds some of them again, but neither the name of the model nor how it is pooled."""
    beside = graph.absolute().parent
    return (beside.parent, beside) if beside.name == "onnx" else (beside, beside.parent)


def _tokenizer(root: Path) -> Path:
    return root / "tokenizer.json"


def _pooling(home: Path) -> str:
    """As sentence-transformers writes it down: a flag for each way there is."""
    config = _optional(home / "1_Pooling" / "config.json")
    flag = "pooling_mode_"
    ways = [name.removeprefix(flag) for name, on in config.items() if on and name.startswith(flag)]
    named = [str(config["pooling_mode"])] if "pooling_mode" in config else ways or ["mean"]
    return " and ".join(way.removesuffix("_tokens").removesuffix("_token") for way in named)


def _unread(home: Path) -> tuple[str, ...]:
    """Steps of sentence-transformers beside those that we take: a dense layer, for example."""
    modules = home / "modules.json"
    if not modules.is_file():
        return ()
    steps = cast("Sequence[Mapping[str, Any]]", _read(modules))
    try:
        kinds = [str(step["type"]).rpartition(".")[2] for step in steps]
    except (TypeError, KeyError) as error:
        raise ModelError(f"{modules} is no list of modules") from error
    return tuple(kind for kind in kinds if kind not in _STEPS)


def _max_length(home: Path) -> int:
    stated = _optional(home / "sentence_bert_config.json").get("max_seq_length")
    positions = _optional(home / "config.json").get("max_position_embeddings")
    limits = [int(n) for n in (stated, positions) if n]
    return min([*limits, _DEFAULT_LENGTH])


def _optional(path: Path) -> Mapping[str, Any]:
    return _json(path) if path.is_file() else {}


def _json(path: Path) -> Mapping[str, Any]:
    value = _read(path)
    if not isinstance(value, dict):
        raise ModelError(f"{path} is not a JSON object")
    return cast("Mapping[str, Any]", value)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read {path}: {error}") from error
