"""No request reaches another bank's data: whatever path, id or filter it names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import orjson
import pytest
from fastapi.routing import APIRoute
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Recollect
from recollect.server.app import ROUTERS, create_app
from recollect.server.keys import create_key
from recollect.testing import open_fake
from recollect.types import Scope

SECRET = "zanzibar"
ROUTES = sorted(
    (method, route.path)
    for module in ROUTERS
    for route in module.router.routes
    if isinstance(route, APIRoute) and route.path.startswith("/v1/")
    for method in route.methods
)
BANKS = ("mine", "theirs", "%74heirs", "mine%2F..%2Ftheirs", "theirs%00", "theirs%2F", "THEIRS")
BODIES: tuple[dict[str, Any], ...] = (
    {"query": SECRET},
    {"query": SECRET, "memory_id": "THEIR_MEMORY"},
    {"query": SECRET, "include": {"chunks": {}, "entities": {}, "source_facts": {}}, "trace": True},
    {"items": [{"text": "Mine.", "document_id": "THEIR_DOCUMENT", "update_mode": "append"}]},
    {"items": [{"text": "Mine.", "type": "observation", "source_ids": ["THEIR_MEMORY"]}]},
    {"text": "changed", "state": "superseded", "superseded_by": "THEIR_MEMORY"},
    {"state": "invalidated"},
    {"tags": ["x"]},
    {"updates": {"name": "x"}},
    {"links": {"THEIR_MEMORY": {"THEIR_MEMORY": 1.0}, "m": {"THEIR_MEMORY": 1.0}}},
    {"ids": ["THEIR_MEMORY"]},
    {},
)
QUERIES = ("", "q=z", "limit=1000", "entity_id=1", "document_id=THEIR_DOCUMENT", "tags=t&limit=9")


@dataclass
class Setting:
    app: Any
    memory: Recollect
    key: str
    ids: dict[str, str]
    before: bytes
    loop: asyncio.AbstractEventLoop

    def ask(self, method: str, path: str, query: str, body: Any) -> tuple[int, bytes]:
        return self.loop.run_until_complete(_ask(self.app, method, path, query, body, self.key))


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Setting]:
    with open_fake(tmp_path_factory.mktemp("banks") / "m.db", rate_limit=0.0) as memory:
        memory.retain("mine", [{"text": "Alice sails.", "document_id": "own", "tags": ["t"]}])
        made = memory.retain(
            "theirs",
            {
                "content": f"The {SECRET} treaty was signed by {SECRET.title()} Ltd.",
                "document_id": f"{SECRET}-1",
                "tags": [SECRET],
                "metadata": {"n": SECRET},
            },
        )
        _, key = create_key(memory.store.keys, "mine", list(Scope), banks=["mine"])
        ids = {"THEIR_MEMORY": made.ids[0], "THEIR_DOCUMENT": f"{SECRET}-1"}
        loop = asyncio.new_event_loop()
        yield Setting(create_app(memory), memory, key, ids, _exported(memory), loop)
        loop.close()


def _exported(memory: Recollect) -> bytes:
    return orjson.dumps(list(memory.export("theirs")))


async def _ask(
    app: Any, method: str, path: str, query: str, body: Any, key: str
) -> tuple[int, bytes]:
    """One request, its path exactly as given."""
    content = orjson.dumps(body)
    headers = [(b"authorization", f"Bearer {key}".encode()), (b"content-type", b"application/json")]
    headers += [(b"content-length", str(len(content)).encode())]
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "headers": headers, "http_version": "1.1",
        "scheme": "http", "server": ("testserver", 80), "client": ("127.0.0.1", 1), "root_path": "",
    }  # fmt: skip
    sent: list[dict[str, Any]] = []
    given = [{"type": "http.request", "body": content, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if given:
            return given.pop()
        await asyncio.sleep(3600)  # nobody hangs up
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], b"".join(m.get("body", b"") for m in sent[1:])


@given(
    st.sampled_from(ROUTES),
    st.sampled_from(BANKS),
    st.sampled_from(["THEIR_MEMORY", "THEIR_DOCUMENT", "THEIR_DOCUMENT%230", "1", "2"]),
    st.sampled_from(QUERIES),
    st.sampled_from(BODIES),
)
@settings(max_examples=400, deadline=None)
def test_a_key_for_one_bank_sees_and_changes_nothing_of_another(
    setting: Setting,
    route: tuple[str, str],
    bank: str,
    name: str,
    query: str,
    body: dict[str, Any],
) -> None:
    def named(text: str) -> str:
        for placeholder, own in setting.ids.items():
            text = text.replace(placeholder, own)
        return text

    method, path = route
    if bank == "mine" and method in ("PUT", "DELETE") and path.endswith("{bank_id}"):
        return  # its own bank it may delete
    parts = [
        bank if p == "{bank_id}" else named(name) if p.startswith("{") else p
        for p in path.split("/")
    ]
    asked = orjson.loads(named(orjson.dumps(body).decode()))
    status, answer = setting.ask(method, "/".join(parts), named(query), asked)
    told = answer.decode(errors="replace").lower().replace(named(name).lower(), "")
    echoed = {named(q.partition("=")[2]).lower() for q in query.split("&") if "=" in q}
    for text in (*echoed, *(v.lower() for v in setting.ids.values())):
        told = told.replace(text, "")  # an answer may repeat what it was asked
    assert SECRET not in told
    if bank != "mine" and "{bank_id}" in path:
        assert status in (401, 403, 404, 405, 422, 501)
    assert _exported(setting.memory) == setting.before


def test_a_listing_of_banks_shows_only_ones_own(setting: Setting) -> None:
    status, answer = setting.ask("GET", "/v1/default/banks", "", {})
    assert status == 200
    assert [b["bank_id"] for b in orjson.loads(answer)["banks"]] == ["mine"]


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/metrics", "/v1/default/banks"])
def test_without_a_key_nobody_gets_in(setting: Setting, path: str) -> None:
    stranger = replace(setting, key="rk_nobody_nothing")
    assert stranger.ask("POST" if "mcp" in path else "GET", path, "", {})[0] == 401


def test_a_key_for_one_bank_may_not_see_the_whole_servers_metrics(setting: Setting) -> None:
    assert setting.ask("GET", "/metrics", "", {})[0] == 403
