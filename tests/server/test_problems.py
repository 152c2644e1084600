"""What nobody expected: said once, answered like any other problem."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from recollect.server.app import create_app
from recollect.testing import open_fake


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
