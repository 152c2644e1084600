"""Many texts are read on several cores, with what one core gives."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from recollect.models import Reranker, onnx
from recollect.models.base import Shareable
from recollect.models.registry import load_embedder
from recollect.threads import shared

PATIENCE_S = 60  # for what a machine does at once when it has nothing else to do


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


def test_pairs_read_on_several_cores_have_the_same_logits(
    reranker: Reranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "CORES", 3)
    texts = [f"Alice bought {n} apples" + " on the way home" * (n % 9) for n in range(24)]
    assert isinstance(reranker, Shareable)
    with ThreadPoolExecutor(4) as helpers:
        several = reranker.score_with(helpers, "What did Alice buy?", texts)
    assert np.array_equal(several, reranker.score("What did Alice buy?", texts))


def test_work_is_shared_with_whoever_helps() -> None:
    both = threading.Barrier(2)  # broken if one thread has to do both
    with ThreadPoolExecutor(1) as helpers:
        shared(lambda _: both.wait(PATIENCE_S) and None, (1, 2), helpers, 2)


def test_helpers_who_have_other_work_are_not_waited_for() -> None:
    done, go_on = list[int](), threading.Event()
    with ThreadPoolExecutor(1) as helpers:
        busy = helpers.submit(go_on.wait, PATIENCE_S)
        shared(done.append, (1, 2, 3), helpers, 3)
        assert done == [1, 2, 3]
        assert not busy.done()
        go_on.set()


def test_work_is_done_without_helpers_that_are_gone() -> None:
    done, helpers = list[int](), ThreadPoolExecutor(1)
    helpers.shutdown()
    shared(done.append, (1, 2, 3), helpers, 3)
    assert done == [1, 2, 3]


def test_what_fails_with_a_helper_fails_here() -> None:
    here = threading.get_ident()

    def work(both: threading.Barrier) -> None:
        both.wait(PATIENCE_S)
        if threading.get_ident() != here:
            raise ValueError("not here")

    together = threading.Barrier(2)
    with ThreadPoolExecutor(1) as helpers, pytest.raises(ValueError, match="not here"):
        shared(work, (together, together), helpers, 2)
