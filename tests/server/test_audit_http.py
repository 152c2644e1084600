"""Through the whole application: writes are audited with what they changed, nothing is told of
memories, and what a thread logs knows its request."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from recollect.server.app import create_app
from recollect.server.keys import create_key
from recollect.server.observe import request_id
from recollect.testing import open_fake
from recollect.types import Scope

BANKS = "/v1/default/banks"
ITEM = {"content": "The code is xyzzy42.", "document_id": "d", "tags": ["plugh"]}


@pytest.fixture
def trail(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def client(db: Path, trail: Path) -> Iterator[TestClient]:
    memory = open_fake(db, audit_log=str(trail))
    key, secret = create_key(memory.store.keys, "me", [Scope.ADMIN])
    with TestClient(create_app(memory), headers={"Authorization": f"Bearer {secret}"}) as made:
        made.key_id = key.id  # type: ignore[attr-defined]
        yield made


def lines(trail: Path) -> list[dict]:
    return [json.loads(text) for text in trail.read_text().splitlines()]


def test_every_write_leaves_a_line_with_what_it_changed(client: TestClient, trail: Path) -> None:
    client.post(f"{BANKS}/alice/memories", json={"items": [ITEM]})
    client.post(f"{BANKS}/alice/memories/recall", json={"query": "What is the code?"})
    client.get(f"{BANKS}/alice/memories/list")
    client.post(f"{BANKS}/alice/memories", json={"items": [ITEM], "async": True})
    client.delete(f"{BANKS}/alice/documents/d")
    client.delete(f"{BANKS}/alice")
    told = lines(trail)
    assert [(e["action"], e["bank"], e["key"], e["outcome"]) for e in told] == [
        (action, "alice", client.key_id, "done")  # type: ignore[attr-defined]
        for action in ("retain_memories", "retain_memories", "delete_document", "delete_bank")
    ]
    assert told[0]["counts"] == {"items": 1, "new": 1, "known": 0, "replaced": 0}
    assert told[2]["counts"] == {"deleted": 1, "document": "d"}


def test_no_word_of_a_memory_gets_into_the_trail(client: TestClient, trail: Path) -> None:
    client.post(f"{BANKS}/alice/memories", json={"items": [ITEM]})
    client.post(f"{BANKS}/alice/memories", json={"items": [{"content": "xyzzy42", "plugh": 1}]})
    assert len(lines(trail)) == 2
    assert "xyzzy" not in trail.read_text() and "plugh" not in trail.read_text()


def test_who_was_refused_is_in_the_trail_as_well(client: TestClient, trail: Path) -> None:
    client.delete(f"{BANKS}/alice", headers={"Authorization": "Bearer rk_no_body"})
    (line,) = lines(trail)
    assert (line["outcome"], line["status"], line["key"]) == ("refused", 401, "-")


def test_a_key_that_may_not_is_named_in_the_trail(client: TestClient, trail: Path) -> None:
    ring = client.app.state.serving.memory.store.keys
    key, secret = create_key(ring, "reader", [Scope.READ])
    client.delete(f"{BANKS}/alice", headers={"Authorization": f"Bearer {secret}"})
    (line,) = lines(trail)
    assert (line["outcome"], line["status"], line["key"]) == ("refused", 403, key.id)


def test_a_tool_that_may_not_write_is_refused_in_the_trail(client: TestClient, trail: Path) -> None:
    ring = client.app.state.serving.memory.store.keys
    key, secret = create_key(ring, "reader", [Scope.READ])
    given = {"name": "retain", "arguments": {"content": "Bob swims.", "bank": "alice"}}
    for who in ({}, {"Authorization": f"Bearer {secret}"}):
        _call(client, "tools/call", given, **who)
    assert [
        (e["action"], e["bank"], e["key"], e["outcome"], e["status"]) for e in lines(trail)
    ] == [
        ("mcp", "alice", client.key_id, "done", 200),  # type: ignore[attr-defined]
        ("mcp", "alice", key.id, "refused", 403),
    ]


def test_a_tool_that_fails_has_failed_in_the_trail(
    client: TestClient, trail: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.put(f"{BANKS}/alice", json={})

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the disk is gone")

    _call(client, "tools/call", {"name": "forget", "arguments": {"bank": "alice", "id": "nobody"}})
    monkeypatch.setattr(client.app.state.serving.memory, "retain", broken)
    given = {"name": "retain", "arguments": {"content": "Bob swims.", "bank": "alice"}}
    _call(client, "tools/call", given)
    assert [(e["action"], e["outcome"], e["status"]) for e in lines(trail)[1:]] == [
        ("mcp", "failed", 404),
        ("mcp", "failed", 500),
    ]


def _call(client: TestClient, method: str, params: dict, **headers: str) -> None:
    """As an agent does, by way of a proxy that has another name."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}  # fmt: skip
    headers |= {"Accept": "application/json, text/event-stream", "Host": "memory.example.com"}
    for number, (asked, given) in enumerate((("initialize", hello), (method, params))):
        said = {"jsonrpc": "2.0", "id": number, "method": asked, "params": given}
        answer = client.post("/mcp", json=said, headers=headers)
        assert answer.status_code == 200, answer.text
        headers["Mcp-Session-Id"] = answer.headers.get("mcp-session-id", "")


def test_what_is_logged_on_a_worker_knows_its_request(client: TestClient, monkeypatch) -> None:
    seen: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(request_id.get())

    memory = client.app.state.serving.memory
    real, log = memory.banks, logging.getLogger("recollect.test")
    log.addHandler(Keep())

    def banks():
        log.error("from a thread")
        return real()

    monkeypatch.setattr(memory, "banks", banks)
    client.get(BANKS, headers={"X-Request-Id": "mine"})
    assert seen == ["mine"]


def test_metrics_of_the_application_are_served(client: TestClient) -> None:
    client.post(f"{BANKS}/alice/memories", json={"items": [ITEM]})
    client.post(f"{BANKS}/alice/memories/recall", json={"query": "What is the code?"})
    text = client.get("/metrics").text
    assert (
        'recollect_http_request_seconds_count{operation="recall_memories",status="200"} 1.0' in text
    )
    assert 'recollect_stage_seconds_count{run="recall",stage="pack"} 1.0' in text
    assert 'recollect_operations{state="pending"} 0.0' in text
    assert client.get("/metrics", headers={"Authorization": ""}).status_code == 401
