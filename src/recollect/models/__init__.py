"""Embedders, rerankers and extractors: what runs here, and what runs elsewhere."""

from recollect.models.base import Embedder, Encoded, ExtractedFact, Extractor, Reranker
from recollect.models.late import maxsim, to_codes
from recollect.models.registry import load_embedder, load_reranker, shipped_models

__all__ = [
    "Embedder",
    "Encoded",
    "ExtractedFact",
    "Extractor",
    "Reranker",
    "load_embedder",
    "load_reranker",
    "maxsim",
    "shipped_models",
    "to_codes",
]
