"""What a model said once is not worked out again while the same queries are asked in many ways."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import recollect
from recollect.eval import Bank, Dataset, Query, Recollect, Unit, ablate, evaluate
from recollect.eval.once import OnceEmbedder, OnceReranker, once
from recollect.eval.report import remarks
from recollect.testing import FakeEmbedder

UNITS = (
    Unit("kayak", "Ana repaired the old kayak in May.", speaker="Ana"),
    Unit("budget", "The quarterly budget was approved on Monday.", speaker="Ben"),
    Unit("lisbon", "Ben moved to Lisbon because of the weather.", speaker="Ben"),
)
QUERIES = (
    Query("q1", "Who repaired the kayak?", ("kayak",)),
    Query("q2", "Where did Ben move to?", ("lisbon",)),
)
BANK = Bank("b", UNITS, QUERIES)


class Reader:
    """A reranker that counts the pairs it reads; a longer passage is better."""

    name = "reader"

    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []

    def score(self, query: str, passages: Sequence[str]) -> NDArray[np.float32]:
        self.read += [(query, passage) for passage in passages]
        return np.array([len(passage) for passage in passages], np.float32)


def test_a_pair_is_read_once_and_scored_the_same() -> None:
    reader = Reader()
    kept = OnceReranker(reader)
    first = kept.score("q", ["a", "bbb"])
    again = kept.score("q", ["bbb", "cc", "bbb", "a"])
    assert first.tolist() == [1.0, 3.0]
    assert again.tolist() == [3.0, 2.0, 3.0, 1.0]
    assert reader.read == [("q", "a"), ("q", "bbb"), ("q", "cc")]


def test_another_query_is_read_anew() -> None:
    reader = Reader()
    kept = OnceReranker(reader)
    kept.score("q", ["a"])
    kept.score("other", ["a"])
    assert len(reader.read) == 2


def test_a_query_is_encoded_as_its_model_would() -> None:
    plain = FakeEmbedder()
    kept = OnceEmbedder(plain)
    for texts in (["kayak"], ["lisbon", "kayak"]):
        mine, theirs = kept.encode_queries(texts), plain.encode_queries(texts)
        assert np.array_equal(mine.vectors, theirs.vectors)
        assert tokens_of(mine) == tokens_of(theirs)


def test_ablations_read_no_pair_twice_and_give_the_models_back(tmp_path: Path) -> None:
    with recollect.open(str(tmp_path / "m.db")) as memory:
        system = Recollect(memory)
        system.index(BANK)
        reader = put_in(memory, Reader())
        before: Any = memory.__dict__["_recalling"]
        dataset = Dataset("d", (BANK,))
        report = evaluate(dataset, system)
        reader.read.clear()
        ablate(report, dataset, system)
        assert reader.read
        assert len(reader.read) == len(set(reader.read))
        assert memory.__dict__["_recalling"] is before


class Service(ThreadingHTTPServer):
    """Reranks until it does not want to any more."""

    open = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/rerank#model"


@pytest.fixture
def service() -> Iterator[Service]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            scores = [{"index": i, "relevance_score": 0.5} for i in range(len(body["documents"]))]
            self.send_response(200 if server.open else 401)
            self.end_headers()
            self.wfile.write(json.dumps({"results": scores}).encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = Service(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_part_that_fails_while_parts_are_left_out_is_told(
    service: Service, tmp_path: Path
) -> None:
    dataset = Dataset("d", (BANK,))
    with recollect.open(str(tmp_path / "m.db"), reranker=service.url) as memory:
        system = Recollect(memory)
        report = evaluate(dataset, system)
        assert remarks(ablate(report, dataset, system)) == []
        service.open = False
        told = remarks(ablate(report, dataset, system))
    assert [remark.rpartition(":")[0] for remark in told] == [
        "recalls of ablations that had to do without cross-encoder"
    ]


def test_recalls_are_the_same_as_without_it(tmp_path: Path) -> None:
    with recollect.open(str(tmp_path / "m.db")) as memory:
        system = Recollect(memory)
        system.index(BANK)
        plain = [system.search(BANK, query).ids for query in QUERIES]
        with once(memory):
            kept = [system.search(BANK, query).ids for query in QUERIES * 2]
    assert kept == plain * 2


def put_in(memory: recollect.Recollect, reader: Reader) -> Reader:
    from dataclasses import replace

    memory.__dict__["_recalling"] = replace(memory._recalling, reranker=lambda: reader)  # pyright: ignore[reportPrivateUsage]
    return reader


def tokens_of(encoded: Any) -> Any:
    return None if encoded.tokens is None else [tokens.tolist() for tokens in encoded.tokens]
