"""What nobody expected, and a store that has gone away: answered like any other problem."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from recollect.errors import StoreUnavailable
from recollect.server import keys
from recollect.server.app import create_app
from recollect.server.routes import health
from recollect.testing import open_fake
from recollect.types import ApiKey


@pytest.fixture
def app(tmp_path: Path) -> FastAPI:
    made = create_app(open_fake(str(tmp_path / "memory.db")))

    async def breaks() -> None:
        raise RuntimeError("a secret of the inside")

    made.add_api_route("/breaks", breaks)
    return made


@pytest.fixture
def asked(app: FastAPI) -> Iterator[TestClient]:
    # It would raise what leaves the application, as uvicorn would hang up on it.
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=True) as client:
        yield client


def test_what_breaks_is_a_problem_that_tells_nothing_of_the_inside(asked: TestClient) -> None:
    answer = asked.get("/breaks")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert "secret" not in answer.text


def test_what_breaks_has_its_request_id_and_the_security_headers(asked: TestClient) -> None:
    answer = asked.get("/breaks", headers={"X-Request-Id": "mine"})
    assert answer.headers["x-request-id"] == "mine"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_what_breaks_is_logged_once_with_its_cause(
    asked: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[logging.LogRecord] = []
    # Heard at the logger itself: whether it passes on what it says is for a server to decide.
    monkeypatch.setattr(logging.getLogger("recollect.server"), "handle", told.append)
    asked.get("/breaks")
    assert [r.getMessage() for r in told if r.exc_info] == ["GET /breaks failed"]


# --- a store that has gone away ------------------------------------------------------------------


class Away:
    """A key ring whose store does not answer, and how often it was asked on which thread."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def all(self) -> list[ApiKey]:
        self.asked.append(threading.current_thread().name)
        raise StoreUnavailable("no connection", hint="later")


@pytest.fixture
def ring(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Away:
    away = Away()
    monkeypatch.setattr(keys, "REMEMBERED_S", 600.0)  # however slowly the test goes on
    monkeypatch.setattr(app.state.serving.gate, "_ring", away)
    return away


def test_without_the_store_nobody_passes_and_it_is_said_so(asked: TestClient, ring: Away) -> None:
    answer = asked.get("/v1/default/banks")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert asked.post("/v1/default/banks/b/memories", json={"items": []}).status_code == 503


def test_the_store_is_waited_for_on_a_thread_and_once(asked: TestClient, ring: Away) -> None:
    for _ in range(3):
        asked.post("/v1/default/banks/b/memories", json={"items": []})
    assert len(ring.asked) == 1
    assert ring.asked[0].startswith("asyncio_")


def test_who_asks_whether_it_lives_waits_for_no_store(asked: TestClient, ring: Away) -> None:
    assert asked.get("/health/live").status_code == 200
    assert ring.asked == []


def test_a_store_that_does_not_answer_is_not_ready(
    app: FastAPI, asked: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(health, "PATIENCE_S", 0.01)
    monkeypatch.setattr(type(app.state.serving.memory), "banks", lambda _: answers.wait(60))
    status = asked.get("/health").status_code
    answers.set()
    assert status == 503
