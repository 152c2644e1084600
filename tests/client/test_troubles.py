"""What a client does when a server is slow, busy, strict, or not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
import pytest

import recollect
from recollect import errors
from recollect.client import waiting, wire
from recollect.client.call import error_of, kind_of
from recollect.discretion import told
from recollect.errors import (
    Conflict,
    InvalidInput,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    RecollectError,
    ServerError,
    StoreFull,
    TooLarge,
    TooManyRequests,
)
from recollect.server.keys import create_key
from recollect.server.problems import of_error
from recollect.testing import open_fake
from recollect.types import OperationState, Scope

BANK = "alice"
RETAINED = {
    "bank_id": BANK, "items": [], "new": [], "known": [], "superseded": [], "replaced": 0, "timings": {},
}  # fmt: skip


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it would have waited."""
    made: list[float] = []
    monkeypatch.setattr(waiting.time, "sleep", made.append)
    return made


def answered(*outcomes: object) -> tuple[recollect.Client, list[httpx2.Request]]:
    """A client whose server behaves like this, one after the other."""
    seen: list[httpx2.Request] = []
    waiting: Iterator[object] = iter(outcomes)

    def handle(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        outcome = next(waiting)
        if isinstance(outcome, Exception):
            raise outcome
        assert isinstance(outcome, httpx2.Response)
        return outcome

    client = recollect.connect("http://memory.test")
    options = client._server.options()
    client._http = httpx2.Client(transport=httpx2.MockTransport(handle), **options)
    return client, seen


def test_a_retain_cut_off_is_sent_again_with_the_same_key(waits) -> None:
    client, seen = answered(httpx2.ReadError("gone"), httpx2.Response(200, json=RETAINED))
    client.retain(BANK, "Alice runs.")
    first, again = (r.headers["idempotency-key"] for r in seen)
    assert first == again
    assert seen[0].content == seen[1].content


def test_every_retain_has_a_key_of_its_own(waits) -> None:
    client, seen = answered(*(httpx2.Response(200, json=RETAINED) for _ in range(2)))
    for _ in range(2):
        client.retain(BANK, "Alice runs.")
    assert len({r.headers["idempotency-key"] for r in seen}) == 2


def test_a_deletion_cut_off_is_not_sent_again(waits) -> None:
    client, seen = answered(httpx2.ReadError("gone"))
    with pytest.raises(ServerError):
        client.forget(BANK, "m1")
    assert len(seen) == 1


def test_a_deletion_that_a_proxy_lost_is_not_sent_again(waits) -> None:
    client, seen = answered(httpx2.Response(502))
    with pytest.raises(ServerError):
        client.forget(BANK, "m1")
    assert len(seen) == 1


def test_a_deletion_that_never_left_is_sent_again(waits) -> None:
    done = httpx2.Response(200, json={"deleted_count": 1})
    client, seen = answered(httpx2.ConnectError("refused"), done)
    assert client.forget(BANK, "m1") == 1
    assert len(seen) == 2


def test_it_waits_as_long_as_the_server_says(waits) -> None:
    busy = httpx2.Response(429, headers={"Retry-After": "3"})
    client, _ = answered(busy, httpx2.Response(200, json={"banks": []}))
    assert client.banks() == []
    assert waits == [3.0]


def test_it_gives_up_when_it_would_have_to_wait_for_long(waits) -> None:
    client, seen = answered(httpx2.Response(429, headers={"Retry-After": "3600"}, json={}))
    with pytest.raises(TooManyRequests) as raised:
        client.banks()
    assert raised.value.retry_after == 3600
    assert (len(seen), waits) == (1, [])


def test_it_gives_up_after_some_tries(waits) -> None:
    client, seen = answered(*(httpx2.Response(503) for _ in range(9)))
    with pytest.raises(ServerError):
        client.banks()
    assert len(seen) == 1 + wire.RETRIES


def test_a_server_that_is_not_there_is_named() -> None:
    with (
        recollect.connect("http://127.0.0.1:9", retries=0) as client,
        pytest.raises(ServerError, match=r"127\.0\.0\.1:9") as raised,
    ):
        client.banks()
    assert "recollect serve" in (raised.value.hint or "")


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no address"):
        recollect.connect("memory.db")


def _all(kind: type[RecollectError]) -> Iterator[type[RecollectError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _all(below)


@pytest.mark.parametrize("kind", list(_all(RecollectError)), ids=kind_of)
def test_every_error_comes_back_as_itself(kind: type[RecollectError]) -> None:
    given = {"retry_after": 7.0} if kind is TooManyRequests else {}
    had = kind("what happened", hint="the way out", **given)
    answer = of_error(had)
    made = error_of(answer.status_code, bytes(answer.body), answer.headers.get("retry-after"))
    assert type(made) is kind
    assert (made.message, made.hint) == told(had)


@pytest.mark.parametrize(
    ("status", "kind"), [(401, NotAuthenticated), (409, Conflict), (413, TooLarge), (507, StoreFull), (418, ServerError), (502, ServerError)]
)  # fmt: skip
def test_an_answer_of_something_in_between_is_an_error_of_ours(status: int, kind: type) -> None:
    assert type(error_of(status, b"<html>nginx</html>")) is kind


@pytest.mark.parametrize(
    "outcome",
    [
        httpx2.Response(308, headers={"location": "https://memory.test/v1/default/banks"}),
        httpx2.Response(302, headers={"location": "/login"}, text="<html>Sign in</html>"),
        httpx2.Response(200, text="<html>Sign in</html>"),
    ],
)
def test_an_answer_that_is_not_of_a_server_of_ours_is_said_to_be_none(outcome) -> None:
    client, _ = answered(outcome, outcome)
    with pytest.raises(ServerError) as raised:
        client.banks()
    assert raised.value.hint
    if outcome.is_redirect:
        assert outcome.headers["location"] in raised.value.message
        with pytest.raises(ServerError):
            list(client.export(BANK))


# --- a real server that asks for keys ------------------------------------------------------------


@pytest.fixture
def keyed(serve, tmp_path) -> Callable[..., recollect.Client]:
    db = tmp_path / "keyed.db"
    with open_fake(db) as memory:
        memory.retain(BANK, "Alice runs.")
        memory.retain("bob", "Bob swims.")
        secrets = {
            name: create_key(memory.store.keys, name, scopes, banks)[1]
            for name, scopes, banks in (
                ("reader", [Scope.READ], [BANK]),
                ("writer", [Scope.WRITE], [BANK]),
                ("admin", [Scope.ADMIN], None),
            )
        }
    url = serve(db, rate_limit=0.0)

    def connect(name: str | None) -> recollect.Client:
        return recollect.connect(url, api_key=None if name is None else secrets[name], retries=0)

    return connect


def test_without_a_key_nothing_is_told(keyed) -> None:
    with keyed(None) as client:
        for call in (client.banks, lambda: client.recall(BANK, "Who?"), lambda: client.bank(BANK)):
            with pytest.raises(NotAuthenticated):
                call()


def test_a_key_does_what_it_may_and_nothing_else(keyed) -> None:
    with keyed("reader") as reader, keyed("writer") as writer, keyed("admin") as admin:
        assert [h.text for h in reader.recall(BANK, "Who runs?")] == ["Alice runs."]
        assert [b.id for b in reader.banks()] == [BANK]
        for refused in (
            lambda: reader.retain(BANK, "x"),
            lambda: reader.recall("bob", "Who swims?"),
            lambda: list(reader.export("bob")),
            lambda: writer.recall(BANK, "Who runs?"),
            lambda: writer.retain("bob", "x"),
            lambda: writer.delete_bank(BANK),
            lambda: reader.import_bank([{"recollect": 1, "bank": "new"}]),
        ):
            with pytest.raises(NotAllowed):
                refused()
        writer.retain(BANK, "Alice sails.")
        assert {b.id for b in admin.banks()} == {BANK, "bob"}
        assert [h.text for h in admin.recall("bob", "Who swims?")] == ["Bob swims."]


def test_a_body_over_the_limit_is_refused(serve) -> None:
    with (
        recollect.connect(serve(body_limit=1000)) as client,
        pytest.raises(TooLarge, match="1,000 bytes"),
    ):
        client.retain(BANK, "word " * 1000)


def test_too_many_requests_are_waited_for(serve, tmp_path, waits) -> None:
    db = tmp_path / "slow.db"
    with open_fake(db) as memory:
        _, secret = create_key(memory.store.keys, "busy", [Scope.READ])
    with recollect.connect(serve(db, rate_limit=0.5, rate_burst=3), api_key=secret) as client:
        with pytest.raises(TooManyRequests):
            for _ in range(9):
                client.banks()
        assert waits and all(wait >= 1 for wait in waits)


# --- accepted work -----------------------------------------------------------------------------


def test_what_is_submitted_is_done_soon(serve) -> None:
    import time

    with recollect.connect(serve()) as client:
        operation = client.submit(BANK, "Alice runs.")
        until = time.monotonic() + 60
        while not operation.finished and time.monotonic() < until:
            operation = client.operation(BANK, operation.id)
        assert operation.state is OperationState.DONE
        assert [m.text for m in client.memories(BANK)] == ["Alice runs."]
        assert [o.id for o in client.operations(BANK)] == [operation.id]
        with pytest.raises(NotFound):
            client.operation(BANK, "nobody")
        with pytest.raises(Conflict):
            client.cancel(BANK, operation.id)
