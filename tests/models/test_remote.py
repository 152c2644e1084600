"""Models behind a URL, against a real HTTP server on loopback."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import numpy as np
import pytest

import recollect
from recollect.errors import ModelError, OtherModel
from recollect.models import load_embedder, load_reranker
from recollect.models.http import Client
from recollect.models.patience import within
from recollect.models.remote import BATCH, RemoteReranker

from .conftest import Service


def test_tei_embeds_and_the_vectors_have_unit_length(service: Service) -> None:
    vectors = load_embedder(f"tei+{service.url}").encode_passages(["one", "three"]).vectors
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)


def test_openai_answers_are_put_into_the_order_of_the_texts(service: Service) -> None:
    embedder = load_embedder(f"{service.url}/v1#text-embedding-3-small")
    vectors = embedder.encode_queries(["a", "a much longer text"]).vectors
    assert vectors[0, 0] < vectors[1, 0]


def test_the_model_named_in_the_url_is_asked_for(service: Service) -> None:
    embedder = load_embedder(f"{service.url}/v1#some-model")
    embedder.encode_queries(["a"])
    assert service.requests[0][1]["model"] == "some-model"
    assert embedder.name == "some-model"


def test_what_a_url_asks_with_stays_behind_its_path(service: Service) -> None:
    load_embedder(f"{service.url}/v1/?api-version=1#small").encode_queries(["one"])
    reranker = load_reranker(f"{service.url}/v1/rerank?api-version=1#small")
    assert reranker is not None
    reranker.score("one", ["one"])
    asked = [path for path, _, _ in service.requests]
    assert asked == ["/v1/embeddings?api-version=1", "/v1/rerank?api-version=1"]


def test_dimensions_are_learnt_from_the_service(service: Service) -> None:
    embedder = load_embedder(f"tei+{service.url}")
    assert (embedder.dimensions, embedder.token_dimensions) == (3, 0)


def test_many_texts_go_in_batches(service: Service) -> None:
    texts = [f"text {i}" for i in range(2 * BATCH + 1)]
    encoded = load_embedder(f"tei+{service.url}").encode_passages(texts)
    assert len(encoded.vectors) == len(texts)
    assert [len(body["inputs"]) for _, body, _ in service.requests] == [BATCH, BATCH, 1]


def test_a_service_that_takes_fewer_texts_at_once_is_given_fewer(service: Service) -> None:
    service.most = 10
    texts = [f"text {'x' * i}" for i in range(BATCH + 1)]
    vectors = load_embedder(f"tei+{service.url}").encode_passages(texts).vectors
    assert np.all(np.diff(vectors[:, 0]) > 0)
    assert [len(b["inputs"]) for _, b, _ in service.requests] == [32, 16, 8, 8, 8, 8, 1]


def test_so_is_one_that_reranks(service: Service) -> None:
    service.most = 1
    reranker = load_reranker(f"tei+{service.url}")
    assert reranker is not None
    scores = reranker.score("red car", ["a blue boat", "the red car", "a red boat"])
    np.testing.assert_allclose(scores, [-1, 1, 0])


def test_a_text_that_is_refused_by_itself_is_an_error(service: Service) -> None:
    service.most = 0
    with pytest.raises(ModelError, match="refused"):
        load_embedder(f"tei+{service.url}").encode_passages(["a", "b"])
    assert len(service.requests) == 2


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 512 tokens, however you requested 900 tokens",
        "input (900 tokens) is too large to process. increase the physical batch size",
        "the input length exceeds the context length",
    ],
)
def test_of_a_text_that_is_too_long_for_a_service_it_is_given_the_beginning(
    service: Service, said: str
) -> None:
    service.longest, service.too_long = 2000, said
    texts = ["short", "x" * 7000, *["y" * 1900] * BATCH]
    vectors = load_embedder(f"{service.url}/v1#model").encode_passages(texts).vectors
    lengths = np.rint(vectors[:, 0] / vectors[:, 1]).astype(int).tolist()
    assert lengths == [5, 1750, *[1900] * BATCH]


def test_texts_that_are_too_long_together_are_given_whole_and_apart(service: Service) -> None:
    service.together, service.too_long = 3000, "Too many tokens overall, split into more batches"
    texts = ["y" * (900 + i) for i in range(BATCH + 1)]
    vectors = load_embedder(f"{service.url}/v1#model").encode_passages(texts).vectors
    lengths = np.rint(vectors[:, 0] / vectors[:, 1]).astype(int).tolist()
    assert lengths == [900 + i for i in range(BATCH + 1)]


def test_a_passage_that_is_too_long_for_a_service_is_reranked_by_its_beginning(
    service: Service,
) -> None:
    service.longest, service.too_long = 2000, "maximum context length is 512 tokens"
    reranker = load_reranker(f"logits+{service.url}/v1/rerank#model")
    assert reranker is not None
    scores = reranker.score("red car", ["a blue boat", "the red car " * 400])
    assert scores[1] > scores[0]


def test_what_is_refused_for_another_reason_is_not_asked_again_in_part(service: Service) -> None:
    service.longest, service.too_long = 0, "there is no such model"
    with pytest.raises(ModelError, match="no such model"):
        load_embedder(f"{service.url}/v1#model").encode_passages(["x" * 7000])
    assert len(service.requests) == 1


def test_a_service_to_which_every_text_is_too_long_is_an_error(service: Service) -> None:
    service.longest, service.too_long = 0, "maximum context length is 0 tokens"
    with pytest.raises(ModelError, match="context length"):
        load_embedder(f"{service.url}/v1#model").encode_passages(["x" * 7000])


def test_no_texts_need_no_request_but_the_one_for_the_size(service: Service) -> None:
    assert load_embedder(f"tei+{service.url}").encode_queries([]).vectors.shape == (0, 3)


def test_tei_reranks_in_the_order_of_the_passages(service: Service) -> None:
    reranker = load_reranker(f"tei+{service.url}")
    assert reranker is not None
    scores = reranker.score("red car", ["a blue boat", "the red car", "a red boat"])
    np.testing.assert_allclose(scores, [-1, 1, 0])


def test_cohere_probabilities_become_logits(service: Service) -> None:
    reranker = load_reranker(f"{service.url}/v1/rerank#rerank-v3")
    assert reranker is not None
    scores = reranker.score("red car", ["a blue boat", "the red car"])
    np.testing.assert_allclose(scores, [-1, 1], atol=1e-4)


def test_a_service_that_answers_with_logits_has_them_taken_as_such(service: Service) -> None:
    def answer(*scores: float) -> bytes:
        results = [{"index": i, "relevance_score": score} for i, score in enumerate(scores)]
        return json.dumps({"results": results}).encode()

    reranker = RemoteReranker(f"{service.url}/v1/rerank#llama")
    service.raw = answer(7.5, 2.25, -2.5, -11.0)
    assert reranker.score("cat", ["a", "b", "c", "d"]).tolist() == [7.5, 2.25, -2.5, -11.0]
    service.raw = answer(0.75, 0.25)
    assert reranker.score("cat", ["a", "b"]).tolist() == [0.75, 0.25]


def reranked(*scores: float) -> bytes:
    results = [{"index": i, "relevance_score": score} for i, score in enumerate(scores)]
    return json.dumps({"results": results}).encode()


def test_a_service_found_late_to_give_logits_says_so_once(service: Service) -> None:
    reranker = RemoteReranker(f"{service.url}/v1/rerank#llama")
    service.raw = reranked(0.75, 0.25)
    reranker.score("cat", ["a", "b"])
    service.raw = reranked(7.5, -2.5)
    with pytest.raises(ModelError, match="those before were taken for probabilities") as caught:
        reranker.score("cat", ["a", "b"])
    assert f"logits+{service.url}" in (caught.value.hint or "")
    assert reranker.score("cat", ["a", "b"]).tolist() == [7.5, -2.5]


def test_a_recall_during_which_scores_turn_out_to_be_logits_is_degraded(
    service: Service, tmp_path: Path
) -> None:
    with recollect.open(tmp_path / "m.db", reranker=f"{service.url}/v1/rerank#llama") as memory:
        memory.retain("b", ["Alice keeps bees", "Bob sells honey"])
        service.raw = reranked(0.75, 0.25)
        assert not memory.recall("b", "Who keeps bees?").degraded
        service.raw = reranked(7.5, 0.25)
        parts = {d.part: d.reason for d in memory.recall("b", "Who sells honey?").degraded}
        assert "taken for probabilities" in parts["cross-encoder"]
        assert not memory.recall("b", "Who keeps honey?").degraded


def test_a_url_can_say_that_scores_are_logits(service: Service) -> None:
    reranker = load_reranker(f"logits+{service.url}/v1/rerank#llama")
    assert reranker is not None
    service.raw = reranked(0.75, 0.25)
    assert reranker.score("cat", ["a", "b"]).tolist() == [0.75, 0.25]


def test_a_url_can_say_that_scores_are_probabilities(service: Service) -> None:
    reranker = load_reranker(f"probabilities+{service.url}/v1/rerank#rerank-v3")
    assert reranker is not None
    service.raw = reranked(0.5, 1.0)
    assert reranker.score("cat", ["a", "b"])[0] == 0.0
    service.raw = reranked(7.5, -2.5)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"7\.5, which is no probability"):
            reranker.score("cat", ["a", "b"])


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ('"the model is overloaded"', "the model is overloaded"),
        ('{"message": "no such model", "code": 404}', "no such model"),
        ('{"message": "quota exceeded", "type": "limit"}', "quota exceeded"),
        ('["busy"]', "busy"),
    ],
)
@pytest.mark.parametrize("kind", ["tei+%s", "%s/v1#model"])
def test_a_complaint_in_an_answer_with_status_200_is_told(
    service: Service, kind: str, error: str, said: str
) -> None:
    service.raw = b'{"error": %s, "error_type": "x"}' % error.encode()
    with pytest.raises(ModelError, match=said):
        load_embedder(kind % service.url).encode_queries(["a"])


def test_a_complaint_of_a_rerank_service_with_status_200_is_told(service: Service) -> None:
    service.raw = b'{"error": {"message": "invalid key", "code": 401}}'
    with pytest.raises(ModelError, match="invalid key") as caught:
        RemoteReranker(f"{service.url}/v1/rerank#model").score("cat", ["a"])
    assert "API key" in (caught.value.hint or "")


def test_an_error_that_is_none_is_no_complaint(service: Service) -> None:
    service.raw = b'{"error": null, "results": [{"index": 0, "relevance_score": 0.5}]}'
    assert RemoteReranker(f"{service.url}/v1/rerank").score("cat", ["a"]).tolist() == [0.0]


def test_the_api_key_is_sent(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_MODEL_API_KEY", "secret")
    load_embedder(f"tei+{service.url}").encode_queries(["a"])
    assert service.requests[0][2] == "Bearer secret"


def test_a_line_break_at_the_end_of_an_api_key_is_none_of_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_MODEL_API_KEY", "secret\n")
    load_embedder(f"tei+{service.url}").encode_queries(["a"])
    assert service.requests[0][2] == "Bearer secret"


@pytest.mark.parametrize("key", ["two\nlines", "sk–dash"])
def test_an_api_key_that_cannot_be_sent_is_refused_and_not_repeated(
    service: Service, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_MODEL_API_KEY", key)
    with pytest.raises(ModelError, match="RECOLLECT_MODEL_API_KEY") as raised:
        load_embedder(f"tei+{service.url}").encode_queries(["a"])
    assert key not in str(raised.value)


def test_a_short_outage_is_waited_out(service: Service) -> None:
    service.failures = [503, 429]
    assert len(load_embedder(f"tei+{service.url}").encode_queries(["a"]).vectors) == 1
    assert len(service.requests) == 3


def test_a_service_is_left_alone_for_as_long_as_it_asks(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.failures, service.retry_after = [429], "7"
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    assert Client(service.url).post("/embed", {"inputs": ["a"]})
    assert slept == [7]


def test_a_date_from_which_on_it_may_be_asked_is_waited_for(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.failures, service.retry_after = [503], "Sun, 06 Nov 1994 08:49:37 GMT"  # long past
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    assert Client(service.url, pause=0.25).post("/embed", {"inputs": ["a"]})
    assert slept == [0.25]


@pytest.mark.parametrize("said", ["", "soon", "nan", "-3"])
def test_what_is_no_time_to_wait_is_not_heeded(
    service: Service, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.failures, service.retry_after = [503], said
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    assert Client(service.url, pause=0.25).post("/embed", {"inputs": ["a"]})
    assert slept == [0.25]


@pytest.mark.parametrize(("patience", "timeout"), [(500, 999), (999, 500)])
def test_a_service_that_asks_for_more_than_there_is_patience_is_not_asked_again(
    service: Service, patience: float, timeout: float
) -> None:
    service.failures, service.retry_after = [429], "600"
    with within(patience), pytest.raises(ModelError, match="for 600 s"):
        Client(service.url, timeout=timeout).post("/embed", {"inputs": ["a"]})
    assert len(service.requests) == 1


def test_a_bank_that_knows_its_size_does_not_wait_for_the_service_to_say_it(
    service: Service, tmp_path: Path
) -> None:
    db = str(tmp_path / "m.db")
    with recollect.open(db, embedder=f"tei+{service.url}") as memory:
        memory.retain("b", {"text": "Alice keeps bees"})
    service.requests.clear()
    service.failures = [503] * 9
    with recollect.open(db, embedder=f"tei+{service.url}") as memory:
        result = memory.recall("b", "bees", deadline_ms=60_000)
    assert [hit.text for hit in result] == ["Alice keeps bees"]
    assert [d.part for d in result.degraded]
    assert ["size"] not in [body["inputs"] for _, body, _ in service.requests]


def test_a_service_with_a_new_model_is_found_out_by_its_first_answer(
    service: Service, tmp_path: Path
) -> None:
    db = str(tmp_path / "m.db")
    with recollect.open(db, embedder=f"tei+{service.url}") as memory:
        memory.retain("b", {"text": "Alice keeps bees"})
    service.raw = b"[[1.0, 2.0]]"
    with recollect.open(db, embedder=f"tei+{service.url}") as memory:
        first = memory.recall("b", "bees")
        assert "2 dimensions" in " ".join(d.reason for d in first.degraded)
        with pytest.raises(OtherModel):
            memory.recall("b", "honey")


def test_what_to_do_about_a_service_with_a_new_model_helps(
    service: Service, tmp_path: Path
) -> None:
    db, embedder = str(tmp_path / "m.db"), f"tei+{service.url}"
    with recollect.open(db, embedder=embedder) as memory:
        memory.retain("b", {"text": "Alice keeps bees"})
    service.raw = b"[[1.0, 2.0]]"
    with (
        recollect.open(db, embedder=embedder) as memory,
        pytest.raises(ModelError, match="recollect reembed"),
    ):
        memory.retain("b", {"text": "Bob keeps cats"})
    with recollect.open(db, embedder=embedder) as memory:
        memory.reembed("b")
        assert not memory.recall("b", "bees").degraded


def test_a_refusal_is_not_repeated(service: Service) -> None:
    service.failures = [401]
    with pytest.raises(ModelError, match="API key"):
        load_embedder(f"tei+{service.url}").encode_queries(["a"])
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_told_and_not_followed_with_the_api_key(
    service: Service, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", f"{service.url}/elsewhere")
        handler.end_headers()

    monkeypatch.setenv("RECOLLECT_MODEL_API_KEY", "secret")
    service.instead = redirect
    with pytest.raises(ModelError, match=f"it sends to {service.url}/elsewhere"):
        load_embedder(f"tei+{service.url}").encode_queries(["a"])
    assert [path for path, _, _ in service.requests] == ["/embed"]


def test_a_service_that_stays_down_is_named(service: Service) -> None:
    service.failures = [500] * 9
    with pytest.raises(ModelError, match=service.url):
        load_embedder(f"tei+{service.url}").encode_queries(["a"])


def test_a_port_where_nothing_listens_is_a_clear_error() -> None:
    with pytest.raises(ModelError, match="does not answer"):
        Client("http://127.0.0.1:9", attempts=1).post("/embed", {})


def test_a_slow_service_runs_into_the_timeout(service: Service) -> None:
    service.delay = threading.Event()
    with pytest.raises(ModelError, match="timed out"):
        Client(service.url, timeout=0.1, attempts=1).post("/embed", {"inputs": ["a"]})


def test_an_answer_that_comes_byte_by_byte_runs_into_the_timeout(service: Service) -> None:
    ended = threading.Event()

    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: 600\r\n\r\n")
        with suppress(OSError):  # by then nobody reads it
            for _ in range(600):
                handler.wfile.write(b" ")
                if ended.wait(0.05):
                    return

    service.instead = trickle
    with pytest.raises(ModelError, match="timed out"):
        Client(service.url, timeout=0.5, attempts=1).post("/embed", {"inputs": ["a"]})
    ended.set()


@pytest.mark.parametrize(
    "answer",
    [
        *(b"<html>", b"[]", b"[[1, 2]]", b'[["a"], ["b"]]', b"{}", b"[" * 100_000),
        *(b"[[], []]", b"[[NaN], [1]]", b"[[1e300], [1]]", b"[[1%s], [1]]" % (b"0" * 400)),
    ],
)
def test_a_wrong_answer_is_an_error_and_not_a_vector(service: Service, answer: bytes) -> None:
    service.raw = answer
    with pytest.raises(ModelError):
        load_embedder(f"tei+{service.url}").encode_queries(["a", "b"])


def test_a_place_that_is_no_number_is_an_error(service: Service) -> None:
    service.raw = b'{"data": [{"index": Infinity, "embedding": [1.0]}]}'
    with pytest.raises(ModelError, match="one result for each"):
        load_embedder(f"{service.url}/v1#model").encode_queries(["a"])


def test_an_unknown_scheme_is_refused() -> None:
    with pytest.raises(ModelError, match="tei"):
        load_embedder("ftp://host/model")


def test_an_answer_that_breaks_off_is_asked_for_again(service: Service) -> None:
    service.cut = 1
    assert len(load_embedder(f"tei+{service.url}").encode_queries(["a"]).vectors) == 1
    assert len(service.requests) == 2


def test_a_failure_that_breaks_off_is_asked_again(service: Service) -> None:
    def fail(handler: BaseHTTPRequestHandler) -> None:
        service.instead = None
        handler.wfile.write(b"HTTP/1.0 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nbu")

    service.instead = fail
    assert len(load_embedder(f"tei+{service.url}").encode_queries(["a"]).vectors) == 1
    assert len(service.requests) == 2


@pytest.mark.parametrize(
    "url",
    [
        *("http://", "tei+http://", "https:///v1#model", "http://host:port/v1#model"),
        *("http://host:99999/v1#model", "http://host..name/v1#model", "http://[::1/v1#model"),
        *("http://host/v 1#model", "http://host/vö#model"),
    ],
)
def test_a_url_that_cannot_be_asked_is_refused_at_once(url: str) -> None:
    with pytest.raises(ModelError, match="is not the URL"):
        load_embedder(url)


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ModelError, match="RECOLLECT_MODEL_API_KEY") as raised:
        load_embedder("https://me:hunter2@host/v1#model")
    assert "hunter2" not in str(raised.value)
