"""The description of the API: committed, complete, and true under random requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import schemathesis
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, settings

from recollect.server.access import administering, authorize, reading, writing
from recollect.server.app import ROUTERS, create_app
from recollect.server.describe import text
from recollect.testing import open_fake

COMMITTED = Path(__file__).parents[2] / "docs" / "openapi.json"
ROUTES = [r for module in ROUTERS for r in module.router.routes if isinstance(r, APIRoute)]
EXAMPLES = 12
CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
]
OPEN = {"/", "/health", "/health/live", "/health/ready", "/version"}


def test_the_committed_description_is_what_the_server_says() -> None:
    assert COMMITTED.read_text() == text(), (
        "write it anew: python -m recollect.server.describe docs/openapi.json"
    )


def test_operation_ids_are_given_and_differ() -> None:
    ids = [r.operation_id for r in ROUTES if r.include_in_schema]
    assert None not in ids
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    "route", [r for r in ROUTES if r.include_in_schema and r.path not in OPEN], ids=lambda r: r.path
)
def test_every_route_asks_who_may(route: APIRoute) -> None:
    asks = {d.dependency for d in route.dependencies}
    guarded = asks & {d.dependency for d in (reading, writing, administering)}
    assert guarded or authorize.__name__ in route.endpoint.__code__.co_names


# --- under random requests -------------------------------------------------------------------


@schemathesis.serializer("application/x-ndjson")
def lines(_: schemathesis.SerializationContext, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


class Asked:
    """The whole API over a store with a little in it, in this process; made when first asked."""

    app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":  # the client would end the server after every operation
            for phase in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{phase}.complete"})
            return
        await self.app(scope, receive, send)


asked = Asked()
API = schemathesis.openapi.from_dict(orjson.loads(COMMITTED.read_bytes()))
API.app = asked


@pytest.fixture(scope="module", autouse=True)
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with open_fake(tmp_path_factory.mktemp("fuzz") / "m.db", rate_limit=0.0) as memory:
        memory.retain("b", [{"text": "Alice met Bob.", "document_id": "d", "tags": ["t"]}])
        asked.app = create_app(memory)
        asked.app.state.serving.warm = True
        yield


def test_a_stream_is_as_described() -> None:
    """Which a random request seldom asks for rightly."""
    operation = API["/v1/default/banks/{bank_id}/memories/recall/stream"]["POST"]
    asked_well = {"body": {"query": "Who met Bob?"}, "media_type": "application/json"}
    answer = operation.Case(path_parameters={"bank_id": "b"}, **asked_well).call_and_validate(
        checks=CHECKS
    )
    assert answer.content.startswith(b"event: stage")


@API.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_breaks_it_and_answers_are_as_described(case: schemathesis.Case) -> None:
    case.call_and_validate(checks=CHECKS)
