"""No request reaches another bank's data: whatever path, id or filter it names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest
from fastapi.routing import APIRoute
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Recollect
from recollect.server.app import ROUTERS, create_app
from recollect.server.keys import create_key
from recollect.server.routes import unserved
from recollect.testing import open_fake
from recollect.types import Scope

SECRET = "zanzibar"
ASKED = "Who signed the treaty?"  # finds the secret, and does not hold it


def _routes(modules: Iterable[ModuleType]) -> list[tuple[str, str]]:
    return sorted(
        (method, route.path)
        for module in modules
        for route in module.router.routes
        if isinstance(route, APIRoute) and route.path.startswith("/v1/")
        for method in route.methods
    )


ROUTES = _routes(ROUTERS)
SERVED = _routes(module for module in ROUTERS if module is not unserved)
BANKS = ("mine", "theirs", "%74heirs", "mine%2F..%2Ftheirs", "theirs%00", "theirs%2F", "THEIRS")
BODIES: tuple[dict[str, Any], ...] = (
    {"query": ASKED},
    {"query": ASKED, "memory_id": "THEIR_MEMORY"},
    {"query": ASKED, "include": {"chunks": {}, "entities": {}, "source_facts": {}}, "trace": True},
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
                "document_id": "their-1",
                "tags": [SECRET],
                "metadata": {"n": SECRET},
            },
        )
        _, key = create_key(memory.store.keys, "mine", list(Scope), banks=["mine"])
        ids = {"THEIR_MEMORY": made.ids[0], "THEIR_DOCUMENT": "their-1"}
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


def test_every_path_of_the_api_is_asked_below() -> None:
    described = orjson.loads((Path(__file__).parents[2] / "docs/openapi.json").read_bytes())
    known = {
        (method.upper(), path)
        for path, methods in described["paths"].items()
        for method in methods
        if path.startswith("/v1/")
    }
    assert known <= set(ROUTES)
    assert set(SERVED) <= known


def test_what_is_not_served_is_served_to_nobody(setting: Setting) -> None:
    for method, path in set(ROUTES) - set(SERVED):
        for bank in ("mine", "theirs"):
            where = path.replace("{bank_id}", bank).replace("{rest:path}", "x")
            assert setting.ask(method, where, "", {})[0] in (403, 404, 405, 422, 501)


@pytest.mark.parametrize("route", SERVED, ids=" ".join)
@given(
    st.sampled_from(BANKS),
    st.sampled_from(["THEIR_MEMORY", "THEIR_DOCUMENT", "THEIR_DOCUMENT%230", "1", "2"]),
    st.sampled_from(QUERIES),
    st.sampled_from(BODIES),
)
@settings(max_examples=20, deadline=None)
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
    assert SECRET not in answer.decode(errors="replace").lower()  # which no request holds
    if bank != "mine" and "{bank_id}" in path:
        assert status in (401, 403, 404, 405, 422, 501)
    assert _exported(setting.memory) == setting.before


def test_a_listing_of_banks_shows_only_ones_own(setting: Setting) -> None:
    status, answer = setting.ask("GET", "/v1/default/banks", "", {})
    assert status == 200
    assert [b["bank_id"] for b in orjson.loads(answer)["banks"]] == ["mine"]


@pytest.mark.parametrize("scope", [Scope.READ, Scope.WRITE])
@pytest.mark.parametrize("route", SERVED, ids=" ".join)
def test_a_key_changes_only_what_its_scope_allows(
    setting: Setting, route: tuple[str, str], scope: Scope
) -> None:
    """Reading changes nothing, writing makes, configures and deletes no bank."""
    method, path = route
    _, key = create_key(setting.memory.store.keys, "limited", [scope], banks=["mine"])
    limited = replace(setting, key=key)
    (own, *_) = setting.memory.retain("mine", "Alice sails.").ids
    where = path.replace("{bank_id}", "mine").replace("{memory_id}", own)
    before = _changeable(setting.memory, scope)
    for body in BODIES:
        limited.ask(method, where, "", body)
    assert _changeable(setting.memory, scope) == before


def _changeable(memory: Recollect, scope: Scope) -> Any:
    """What nobody with this scope may change."""
    kept = [(b.id, b.config, b.created_at) for b in memory.banks()]
    return (kept, list(memory.export("mine"))) if scope is Scope.READ else kept


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/metrics", "/v1/default/banks"])
def test_without_a_key_nobody_gets_in(setting: Setting, path: str) -> None:
    stranger = replace(setting, key="rk_nobody_nothing")
    assert stranger.ask("POST" if "mcp" in path else "GET", path, "", {})[0] == 401


def test_a_key_for_one_bank_may_not_see_the_whole_servers_metrics(setting: Setting) -> None:
    assert setting.ask("GET", "/metrics", "", {})[0] == 403
