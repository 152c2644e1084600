"""Many texts are encoded on several cores, with the vectors that one core gives."""

from __future__ import annotations

import numpy as np
import pytest

from recollect.models import onnx
from recollect.models.registry import load_embedder


def test_texts_encoded_on_several_cores_have_the_same_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedder = load_embedder()
    texts = [f"Alice bought {n} apples" + " on the way home" * (n % 7) for n in range(150)]
    found = []
    for cores in (1, 3):
        monkeypatch.setattr(onnx, "CORES", cores)
        found.append(embedder.encode_passages(texts))
    one, several = found
    assert np.array_equal(one.vectors, several.vectors)
    assert one.tokens is not None and several.tokens is not None
    for a, b in zip(one.tokens, several.tokens, strict=True):
        assert np.array_equal(a, b)
