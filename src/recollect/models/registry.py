"""From what a user writes in `embedder=`, `reranker=` or `extractor=` to a model."""

from __future__ import annotations

from pathlib import Path

from recollect.errors import ModelError
from recollect.models.base import Embedder, Extractor, Reranker

WEIGHTS = Path(__file__).parent / "weights"
DEFAULT_EMBEDDER = "recollect-embed-6"
DEFAULT_RERANKER: str | None = "recollect-rerank-6"
# Shipped once; banks may still hold their vectors.
RETIRED = frozenset(f"recollect-embed-{number}" for number in range(1, 6))
_OFF = frozenset({"", "none", "off"})


def load_embedder(spec: str | None = None, *, timeout: float = 10.0) -> Embedder:
    """A shipped name, a folder or ONNX file, a `tei+http://` or an OpenAI-compatible URL; `timeout`
    is for one answer of a service."""
    name = spec or DEFAULT_EMBEDDER
    if _is_url(name):
        from recollect.models.remote import RemoteEmbedder

        return RemoteEmbedder(name, timeout)
    from recollect.models.onnx import onnx_embedder

    return onnx_embedder(_locate(name))


def load_reranker(spec: str | None = None, *, timeout: float = 10.0) -> Reranker | None:
    """As `load_embedder`, or a Cohere/Jina-style rerank URL; `none` turns it off."""
    name = DEFAULT_RERANKER if spec is None else spec
    if name is None or name.lower() in _OFF:
        return None
    if _is_url(name):
        from recollect.models.remote import RemoteReranker

        return RemoteReranker(name, timeout)
    from recollect.models.onnx import onnx_reranker

    return onnx_reranker(_locate(name))


def look_for(spec: str | None) -> None:
    """Fails at once, as loading would, where there is no such model in this process's reach."""
    if spec is not None and spec.lower() not in _OFF and not _is_url(spec):
        _locate(spec)


def load_extractor(spec: str | None, *, timeout: float = 60.0) -> Extractor | None:
    """The base URL of an OpenAI-compatible API with the model after `#`; None = rules, no LLM."""
    if spec is None or spec.lower() in _OFF:
        return None
    from recollect.models.chat import RemoteExtractor

    return RemoteExtractor(spec, timeout)


def shipped_models() -> tuple[str, ...]:
    return tuple(sorted(p.stem for p in WEIGHTS.glob("recollect-*.json")))


def shipped(name: str) -> Path:
    """The manifest of a model that ships."""
    return WEIGHTS / f"{name}.json"


def way_back(model: str, bank: str) -> str:
    """What to do about a bank that was embedded with another model. A shipped one can be asked for
    by its name; the name of another is no path and no URL."""
    anew = f"make its vectors anew: recollect reembed {bank}"
    if model in RETIRED:
        return anew
    named = f"embedder={model!r}" if model in shipped_models() else "that model"
    return f"open it with {named}, or {anew}"


def _is_url(spec: str) -> bool:
    return "://" in spec


def _locate(spec: str) -> Path:
    if spec in shipped_models():
        return shipped(spec)
    path = Path(spec).expanduser()
    if path.exists():
        return path
    raise ModelError(
        f"there is no model {spec!r}",
        hint=f"shipped models: {', '.join(shipped_models()) or 'none'}; otherwise pass a folder "
        "with model.onnx and tokenizer.json, or the URL of a service",
    )
