from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from recollect.models import Embedder, load_embedder, load_reranker
from recollect.models.base import Reranker
from recollect.models.registry import shipped_models


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    if not shipped_models():
        pytest.skip("the shipped weights are not in the tree")
    return load_embedder()


@pytest.fixture(scope="session")
def reranker() -> Reranker:
    found = load_reranker()
    if found is None:
        pytest.skip("no reranker is shipped")
    return found


@dataclass
class Service:
    """A model service on loopback: speaks the protocols, counts requests, can misbehave."""

    url: str = ""
    requests: list[tuple[str, dict[str, Any], str | None]] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    retry_after: str | None = None  # what it says with a failure
    cut: int = 0  # so many answers break off
    instead: Callable[[BaseHTTPRequestHandler], None] | None = None  # answers in its place
    most: int | None = None  # texts it takes at once
    longest: int | None = None  # characters of a text that it takes, and
    together: int | None = None  # of all texts of a request, and
    too_long: str = ""  # what it says of more
    delay: threading.Event | None = None
    raw: bytes | None = None
    facts: Callable[[dict[str, Any]], list[dict[str, Any]]] | None = None  # of what it was told
    schemas: bool = True  # whether it can hold an answer to a schema
    finish_reason: str = "stop"

    def answer(self, path: str, body: dict[str, Any]) -> Any:
        path = path.partition("?")[0]
        if path == "/v1/chat/completions":
            return self._chat(body)
        if path == "/embed":
            return [_vector(text) for text in body["inputs"]]
        if path == "/v1/embeddings":
            data = [
                {"index": i, "embedding": _vector(text)} for i, text in enumerate(body["input"])
            ]
            return {"data": data[::-1]}
        if path == "/rerank":
            scores = [_overlap(body["query"], text) for text in body["texts"]]
            order = np.argsort(scores)[::-1]
            return [{"index": int(i), "score": scores[i]} for i in order]
        scores = [1 / (1 + np.exp(-_overlap(body["query"], d))) for d in body["documents"]]
        order = np.argsort(scores)[::-1]
        return {"results": [{"index": int(i), "relevance_score": float(scores[i])} for i in order]}

    def _chat(self, body: dict[str, Any]) -> Any:
        assert self.facts is not None
        told = json.loads(body["messages"][-1]["content"])
        content = json.dumps({"facts": self.facts(told)})
        if body["response_format"]["type"] != "json_schema":
            content = f"```json\n{content}\n```"  # what models like to do when nothing holds them
        message = {"role": "assistant", "content": content}
        return {"choices": [{"message": message, "finish_reason": self.finish_reason}]}


def _texts(body: dict[str, Any]) -> list[str]:
    return next(body[key] for key in ("inputs", "input", "texts", "documents") if key in body)


def _vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, 2.0]


def _overlap(query: str, text: str) -> float:
    return float(len(set(query.lower().split()) & set(text.lower().split()))) - 1.0


@pytest.fixture
def service() -> Iterator[Service]:
    state = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append((self.path, body, self.headers.get("Authorization")))
            if state.instead is not None:
                state.instead(self)
                return
            if state.delay is not None:
                state.delay.wait(60)
            status = state.failures.pop(0) if state.failures else 200
            if state.most is not None and len(body.get("inputs") or body["texts"]) > state.most:
                status = 422
            if state.longest is not None and state.longest < max(map(len, _texts(body))):
                status = 400
            if state.together is not None and state.together < sum(map(len, _texts(body))):
                status = 400
            if not state.schemas and "json_schema" in str(body.get("response_format")):
                status = 400
            content = state.raw
            if content is None:
                told = {"error": (status == 400 and state.too_long) or "busy"}
                value = state.answer(self.path, body) if status == 200 else told
                content = json.dumps(value).encode()
            breaks_off, state.cut = state.cut > 0, max(state.cut - 1, 0)
            self.send_response(status)
            if status != 200 and state.retry_after is not None:
                self.send_header("Retry-After", state.retry_after)
            self.send_header("Content-Length", str(len(content) + breaks_off))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        if state.delay is not None:
            state.delay.set()
        server.shutdown()
        server.server_close()
        thread.join()
