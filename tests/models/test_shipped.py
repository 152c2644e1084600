"""The models in the box: real weights, as recall and retain use them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import ModelError
from recollect.language.passage import passage
from recollect.models import Embedder, Reranker, load_embedder, load_reranker, maxsim, to_codes
from recollect.models.onnx import onnx_embedder
from recollect.models.registry import (
    DEFAULT_EMBEDDER,
    DEFAULT_RERANKER,
    WEIGHTS,
    shipped,
    shipped_models,
)

QUERY = "When did Melanie take her kids to the museum?"
ANSWER = "June 5, 2022: Melanie: We spent Sunday at the dinosaur exhibit!"
OTHERS = [
    "June 5, 2022: Caroline: My new job at the bank starts on Monday.",
    "May 2, 2022: Melanie: I ran five miles before breakfast.",
    "June 9, 2022: Caroline: The lasagna was burnt, we ordered pizza.",
]


def test_a_vector_has_unit_length(embedder: Embedder) -> None:
    vectors = embedder.encode_passages([ANSWER, *OTHERS]).vectors
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_the_sentence_vector_finds_the_answer(embedder: Embedder) -> None:
    passages = embedder.encode_passages([*OTHERS, ANSWER]).vectors
    assert np.argmax(passages @ embedder.encode_queries([QUERY]).vectors[0]) == len(OTHERS)


def test_late_interaction_finds_the_answer(embedder: Embedder) -> None:
    asked = embedder.encode_queries([QUERY]).tokens
    said = embedder.encode_passages([*OTHERS, ANSWER]).tokens
    assert asked is not None and said is not None
    assert np.argmax(maxsim(asked[0], [to_codes(t) for t in said])) == len(OTHERS)


def test_late_interaction_reads_who_said_it(embedder: Embedder) -> None:
    asked = embedder.encode_queries(["Which instrument is Nora learning?"]).tokens
    said = embedder.encode_passages(
        [
            "Peter: Guess who is learning the cello? Me!",
            "Nora: Guess who is learning the cello? Me!",
        ]
    ).tokens
    assert asked is not None and said is not None
    peter, nora = maxsim(asked[0], [to_codes(t) for t in said])
    assert nora > peter


def test_the_cross_encoder_finds_the_answer(reranker: Reranker) -> None:
    assert np.argmax(reranker.score(QUERY, [*OTHERS, ANSWER])) == len(OTHERS)


def test_alone_or_in_a_batch_a_text_has_the_same_vector(embedder: Embedder) -> None:
    texts = ["short", ANSWER, " ".join([ANSWER] * 12), *OTHERS]
    together = embedder.encode_passages(texts).vectors
    alone = np.concatenate([embedder.encode_passages([text]).vectors for text in texts])
    assert (together * alone).sum(axis=1).min() > 1 - 1e-5


def test_alone_or_in_a_batch_a_pair_has_the_same_logit(reranker: Reranker) -> None:
    passages = [ANSWER, " ".join([ANSWER] * 6), *OTHERS]
    together = reranker.score(QUERY, passages)
    alone = np.concatenate([reranker.score(QUERY, [p]) for p in passages])
    np.testing.assert_allclose(together, alone, atol=1e-3)


def test_every_run_gives_the_same_bytes(embedder: Embedder) -> None:
    first, second = (embedder.encode_passages([ANSWER]) for _ in range(2))
    assert first.vectors.tobytes() == second.vectors.tobytes()


def test_many_threads_get_what_one_gets(embedder: Embedder) -> None:
    wanted = embedder.encode_passages(OTHERS).vectors
    found: list[bool] = []

    def work() -> None:
        found.append(np.array_equal(embedder.encode_passages(OTHERS).vectors, wanted))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 6


@pytest.mark.parametrize(
    "text", ["", " ", "\x00", "…", "the of", "日本語", "a" * 100_000, "🎉" * 500]
)
def test_odd_texts_have_finite_vectors(embedder: Embedder, text: str) -> None:
    encoded = embedder.encode_passages([text])
    assert np.isfinite(encoded.vectors).all()
    assert encoded.tokens is not None and len(encoded.tokens[0]) >= 1


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.encode_queries([]).vectors.shape == (0, embedder.dimensions)


def test_no_passages_give_no_logits(reranker: Reranker) -> None:
    assert reranker.score(QUERY, []).shape == (0,)


def test_a_query_longer_than_the_model_reads_still_leaves_room_for_the_passage(
    reranker: Reranker,
) -> None:
    long = QUERY + " please tell me" * 400
    assert len(set(reranker.score(long, [ANSWER, OTHERS[0]]).tolist())) == 2


def test_token_vectors_of_a_turn_stay_within_their_disk_budget(embedder: Embedder) -> None:
    tokens = embedder.encode_passages([ANSWER, *OTHERS]).tokens
    assert tokens is not None
    assert np.mean([to_codes(t).nbytes for t in tokens]) <= 2560


def test_what_stands_at_the_end_of_a_long_text_is_in_its_vector(embedder: Embedder) -> None:
    talk = " ".join(
        f"On day {day} we went on with the usual work at the office." for day in range(60)
    )
    asked = embedder.encode_queries(["Which instrument is Nora learning?"]).vectors[0]
    without, ending = embedder.encode_passages(
        [talk, talk + " Nora is learning the cello."]
    ).vectors
    assert ending @ asked > without @ asked + 0.01


def test_a_long_text_is_the_same_beside_others(embedder: Embedder) -> None:
    talk = " ".join(
        f"On day {day} we went on with the usual work at the office." for day in range(60)
    )
    alone, beside = (
        embedder.encode_passages([talk]),
        embedder.encode_passages([ANSWER, talk, talk[:50]]),
    )
    assert (alone.vectors[0] == beside.vectors[1]).all()
    assert (embedder.encode_passages([ANSWER]).vectors[0] == beside.vectors[0]).all()


def test_who_spoke_is_read_before_every_part_of_a_long_text() -> None:
    talk = " ".join(
        f"On day {day} we went on with the usual work at the office." for day in range(60)
    )
    graph = onnx_embedder(shipped(DEFAULT_EMBEDDER))._graph
    said = passage(talk, speaker="Nora", previous="Peter: How was it?")
    first, *rest = graph.windows(said, "")
    assert rest
    for window in rest:
        assert window.tokens[1:4] == first.tokens[1:4] == ["previous", "turn", ":"]
        assert "nora" in window.tokens[:20]
    read = [w for window in (first, *rest) for w in window.tokens if w.isdigit()]
    assert read == [str(day) for day in range(60)]


def test_token_vectors_of_a_long_text_are_bounded(embedder: Embedder) -> None:
    words = " ".join(f"word{i} thing{i}" for i in range(400))
    tokens = embedder.encode_passages([words]).tokens
    read = json.loads(shipped(embedder.name).read_text())["max_length"]
    assert tokens is not None
    assert len(tokens[0]) <= read


def test_the_same_model_is_loaded_once(embedder: Embedder) -> None:
    assert load_embedder() is embedder


def test_all_weights_together_fit_the_package() -> None:
    size = sum(file.stat().st_size for file in WEIGHTS.iterdir())
    assert size <= 60_000_000


def test_changed_weights_are_refused(embedder: Embedder, tmp_path: Path) -> None:
    folder = shutil.copytree(WEIGHTS, tmp_path / "models")
    with (folder / f"{embedder.name}.onnx").open("ab") as file:
        file.write(b"x")
    with pytest.raises(ModelError, match="sha256"):
        load_embedder(str(folder / f"{embedder.name}.json"))


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(ModelError, match=shipped_models()[0]):
        load_embedder("no-such-model")


def test_an_embedder_is_no_reranker(embedder: Embedder) -> None:
    with pytest.raises(ModelError, match="no cross-encoder"):
        load_reranker(embedder.name)


def test_the_reranker_can_be_turned_off() -> None:
    assert load_reranker("none") is None


def test_importing_recollect_loads_no_runtime() -> None:
    code = "import sys, recollect; print('onnxruntime' in sys.modules, 'tokenizers' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


RETAIN_AND_RECALL = """
import recollect
with recollect.open(":memory:") as memory:
    memory.retain("a", "Bob has a dog.")
    print(len(memory.recall("a", "Who has a dog?").results))
"""


def test_models_run_without_a_word_to_anybody(tmp_path: Path) -> None:
    """onnxruntime reports to its maker where nothing (such as CI) keeps it from it, and leaves an
    identifier in the user's home."""
    quiet = ("CI", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    given = {name: value for name, value in os.environ.items() if name not in quiet}
    done = subprocess.run(
        [sys.executable, "-c", RETAIN_AND_RECALL],
        env=given | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1"]
    assert list(tmp_path.rglob("*")) == []


def test_the_documentation_names_the_models_that_are_loaded_unless_others_are_asked_for() -> None:
    told = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")
    row = next(line for line in told.splitlines() if line.startswith("| nothing, or"))
    assert f"`{DEFAULT_EMBEDDER}`" in row and f"`{DEFAULT_RERANKER}`" in row
