"""Models that are not ours: a folder or an ONNX file of any export."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import recollect
from recollect.errors import ModelError
from recollect.models import Embedder, load_embedder, load_reranker
from recollect.models.folder import read_folder
from recollect.models.registry import WEIGHTS

from .exports import WORDS, small_model


@pytest.fixture
def export(embedder: Embedder, tmp_path: Path) -> Path:
    """The shipped embedder the way optimum lays out an export: no manifest."""
    folder = tmp_path / "my-model"
    (folder / "onnx").mkdir(parents=True)
    shutil.copy(WEIGHTS / f"{embedder.name}.onnx", folder / "onnx" / "model.onnx")
    shutil.copy(WEIGHTS / "words.bin", folder / "onnx" / "words.bin")
    shutil.copy(WEIGHTS / "tokenizer.json", folder / "tokenizer.json")
    return folder


def test_a_folder_is_read_by_the_files_that_exports_have(export: Path, embedder: Embedder) -> None:
    found = load_embedder(str(export))
    np.testing.assert_allclose(
        found.encode_queries(["hello there"]).vectors,
        embedder.encode_queries(["hello there"]).vectors,
        atol=1e-6,
    )
    assert found.name == "my-model"


def test_a_bank_opens_with_a_folder_given_as_a_path(export: Path, tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db", embedder=export) as memory:
        memory.retain("a", "Bob has a dog named Rex.")
        assert memory.bank("a").embedder == "my-model"


def test_an_onnx_file_is_read_with_the_tokenizer_above_it(export: Path) -> None:
    assert load_embedder(str(export / "onnx" / "model.onnx")).dimensions == 384


def test_the_length_and_pooling_of_sentence_transformers_are_respected(export: Path) -> None:
    (export / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 64}))
    (export / "1_Pooling").mkdir()
    config = {"pooling_mode_cls_token": True}
    (export / "1_Pooling" / "config.json").write_text(json.dumps(config))
    folder = read_folder(export)
    assert (folder.max_length, folder.pooling) == (64, "cls")


@pytest.mark.parametrize("given", [".", "onnx/model.onnx"])
def test_files_that_lie_beside_the_graph_too_do_not_hide_those_of_the_model(
    export: Path, given: str
) -> None:
    shutil.copy(export / "tokenizer.json", export / "onnx" / "tokenizer.json")
    for folder in (export, export / "onnx"):
        (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 512}))
    (export / "1_Pooling").mkdir()
    (export / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    folder = read_folder(export / given)
    assert (folder.name, folder.pooling) == ("my-model", "cls")


def test_a_folder_may_be_called_as_a_file_is(export: Path) -> None:
    renamed = export.rename(export.with_name("my-model.onnx"))
    assert read_folder(renamed).name == "my-model.onnx"


def test_the_pooling_may_be_named_in_one_word(export: Path) -> None:
    (export / "1_Pooling").mkdir()
    (export / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    assert read_folder(export).pooling == "cls"


def test_a_model_keeps_its_name_wherever_it_is_opened_from(
    export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(export)
    assert read_folder(Path()).name == "my-model"


def test_the_prompts_of_sentence_transformers_are_put_before_the_texts(export: Path) -> None:
    config = {"prompts": {"query": "query: ", "document": "passage: "}}
    (export / "config_sentence_transformers.json").write_text(json.dumps(config))
    folder = read_folder(export)
    assert (folder.query_prefix, folder.passage_prefix) == ("query: ", "passage: ")


# --- a copy of a shipped one -----------------------------------------------------------------------


@pytest.fixture
def copied(embedder: Embedder, tmp_path: Path) -> Path:
    return shutil.copytree(WEIGHTS, tmp_path / "copied") / f"{embedder.name}.json"


@pytest.mark.parametrize("name", ["graph", "skimming", "words.bin", "tokenizer.json"])
def test_a_flipped_bit_in_a_copy_is_found(copied: Path, name: str) -> None:
    file = copied.parent / json.loads(copied.read_text()).get(name, name)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelError, match="is not the file recollect was released with") as raised:
        load_embedder(str(copied))
    assert raised.value.hint


@pytest.mark.parametrize("lost", ["name", "max_length", "files", None])
def test_a_damaged_list_of_hashes_is_named(copied: Path, lost: str | None) -> None:
    stated = {k: v for k, v in json.loads(copied.read_text()).items() if k != lost}
    copied.write_text(json.dumps(stated)[: None if lost else -9])
    with pytest.raises(ModelError, match=rf"{copied.name} is damaged") as raised:
        load_embedder(str(copied))
    assert raised.value.hint


@pytest.mark.parametrize("name", ["graph", "skimming", "tokenizer.json"])
def test_a_file_without_a_hash_is_not_taken_on_trust(copied: Path, name: str) -> None:
    stated = json.loads(copied.read_text())
    del stated["files"][stated.get(name, name)]
    copied.write_text(json.dumps(stated))
    with pytest.raises(ModelError, match=rf"{copied.name} is damaged"):
        load_embedder(str(copied))


# --- what is missing or broken ---------------------------------------------------------------------


def test_a_folder_without_a_model_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="optimum-cli"):
        load_embedder(str(tmp_path))


def test_a_model_without_a_tokenizer_says_what_is_missing(export: Path) -> None:
    (export / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        load_embedder(str(export))


def test_a_broken_graph_is_named(export: Path) -> None:
    (export / "onnx" / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"model\.onnx"):
        load_embedder(str(export))


# --- what is done with token vectors ---------------------------------------------------------------


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    table = np.random.default_rng(0).normal(size=(WORDS, 4)).astype(np.float32)
    return small_model(tmp_path / "hidden", "last_hidden_state", table)


def test_token_vectors_are_pooled_as_the_folder_says(hidden: Path, tmp_path: Path) -> None:
    first = tmp_path / "first"
    shutil.copytree(hidden, first)
    (first / "1_Pooling").mkdir()
    (first / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    a, b = load_embedder(str(first)).encode_queries(["hello there", "good evening"]).vectors
    np.testing.assert_allclose(a, b)  # both begin with the same token
    a, b = load_embedder(str(hidden)).encode_queries(["hello there", "good evening"]).vectors
    assert not np.allclose(a, b)


@pytest.mark.parametrize(("last", "fits"), [("Normalize", True), ("Dense", False)])
def test_a_layer_that_the_graph_has_not_is_not_left_out_silently(
    hidden: Path, last: str, fits: bool
) -> None:
    kinds = ["Transformer", "Pooling", last]
    steps = [{"type": f"sentence_transformers.models.{kind}"} for kind in kinds]
    (hidden / "modules.json").write_text(json.dumps(steps))
    if fits:
        assert load_embedder(str(hidden)).dimensions == 4
    else:
        with pytest.raises(ModelError, match="a Dense layer"):
            load_embedder(str(hidden))


def test_a_graph_that_needs_what_nobody_gives_it_is_refused_when_it_is_loaded(
    tmp_path: Path,
) -> None:
    inputs, table = ("input_ids", "attention_mask", "task_id"), np.zeros((WORDS, 1), np.float32)
    model = small_model(tmp_path / "model", "logits", table, mean=True, inputs=inputs)
    with pytest.raises(ModelError, match="wants to be given task_id"):
        load_reranker(str(model))


# --- cross-encoders --------------------------------------------------------------------------------


PASSAGES = ["the red car", "a blue boat", "a green bicycle with a bell"]


def test_of_two_classes_the_score_is_how_far_the_last_is_ahead(tmp_path: Path) -> None:
    one = np.random.default_rng(0).normal(size=(WORDS, 1)).astype(np.float32)
    both = np.hstack([one, 3 * one])  # so that their difference is twice the one
    single = load_reranker(str(small_model(tmp_path / "one", "logits", one, mean=True)))
    double = load_reranker(str(small_model(tmp_path / "two", "logits", both, mean=True)))
    assert single is not None and double is not None
    np.testing.assert_allclose(
        double.score("a car", PASSAGES), 2 * single.score("a car", PASSAGES), rtol=1e-4
    )


@pytest.mark.parametrize(("classes", "mean"), [(3, True), (1, False)])
def test_a_model_of_other_classes_or_of_tokens_is_no_reranker(
    tmp_path: Path, classes: int, mean: bool
) -> None:
    table = np.zeros((WORDS, classes), np.float32)
    with pytest.raises(ModelError, match="no cross-encoder"):
        load_reranker(str(small_model(tmp_path / "model", "logits", table, mean=mean)))
