"""Accepted work and the real server process: killed, stopped, and several at once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest
from hindsight_client import Hindsight
from hindsight_client_api.exceptions import ApiException

import recollect
from recollect.errors import Conflict
from recollect.language.dates import now_micros
from recollect.retain.pipeline import GROUP
from recollect.testing import open_fake
from recollect.types import Operation, OperationState

BANK = "alice"
PATIENCE_S = 180
FACTS = [{"text": f"Fact {n} is about {n * n}"} for n in range(600)]
MANY = [{"text": f"Fact {n} is about {n * n}"} for n in range(10 * GROUP)]


@dataclass
class Process:
    url: str
    popen: subprocess.Popen[str]

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()


@contextmanager
def serving(db: Path, *options: str) -> Iterator[Process]:
    command = [sys.executable, "-m", "recollect.cli", "--db", str(db), "--json", "serve"]
    popen = subprocess.Popen(
        [*command, "--port", "0", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert popen.stdout is not None
        yield Process(json.loads(popen.stdout.readline())["url"], popen)
    finally:
        popen.terminate()
        popen.wait(PATIENCE_S)


@pytest.fixture
def look(db: Path) -> Iterator[recollect.Recollect]:
    """The store, looked at from outside of the server."""
    with open_fake(db) as memory:
        yield memory


def wait_for(look: recollect.Recollect, operation_id: str, steps: int | None = None):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        found = look.store.queue.operation(BANK, operation_id)
        assert found is not None
        if found.finished or (steps is not None and found.steps >= steps):
            return found
        time.sleep(0.002)
    raise AssertionError(f"nothing happened for {PATIENCE_S} s")


def test_an_accepted_retain_survives_the_server_and_takes_effect_once(
    db: Path, look: recollect.Recollect
) -> None:
    with serving(db) as server, recollect.connect(server.url) as client:
        operation = client.submit(BANK, FACTS)
        assert not wait_for(look, operation.id, steps=1).finished
        server.kill()
    with serving(db) as server, recollect.connect(server.url) as client:
        assert wait_for(look, operation.id).state is OperationState.DONE
        found = client.memories(BANK, limit=1000)
        assert sorted(m.text for m in found) == sorted(f["text"] for f in FACTS)
        assert {m.proof_count for m in found} == {1}
        assert client.submit(BANK, FACTS, operation_id=operation.id).state is OperationState.DONE
        assert client.stats(BANK).memories == len(FACTS)


def test_a_keyed_retain_cut_off_by_a_crash_is_answered_after_it_and_retained_once(
    db: Path, look: recollect.Recollect
) -> None:
    asked = {
        "json": {"items": FACTS},
        "headers": {"Idempotency-Key": "once"},
        "timeout": PATIENCE_S,
    }
    where = f"/v1/default/banks/{BANK}/memories"
    with serving(db) as server, ThreadPoolExecutor(1) as caller:
        answer = caller.submit(httpx2.post, server.url + where, **asked)
        until = time.monotonic() + PATIENCE_S
        while not (held := look.store.queue.operations(BANK, 1, None, {})) or not held[0].steps:
            assert time.monotonic() < until
            time.sleep(0.002)
        server.kill()
        with pytest.raises(httpx2.TransportError):
            answer.result()
    with serving(db) as server:
        first, again = (httpx2.post(server.url + where, **asked).json() for _ in range(2))
    assert first == again
    assert len(first["new"]) == len(FACTS)
    found = look.memories(BANK, limit=1000)
    assert (len(found), {m.proof_count for m in found}) == (len(FACTS), {1})


def test_stopping_finishes_the_one_at_hand_and_keeps_the_rest(
    db: Path, look: recollect.Recollect
) -> None:
    queue = look.store.queue
    with serving(db) as server, recollect.connect(server.url) as client:
        given = [
            client.submit(BANK, [{"text": f"Day {day}: {fact['text']}"} for fact in FACTS[:300]])
            for day in range(6)
        ]
        wait_for(look, given[0].id, steps=1)
        server.popen.send_signal(signal.SIGTERM)
        assert server.popen.wait(PATIENCE_S) == 0
    states = [found.state for o in given if (found := queue.operation(BANK, o.id))]
    done = states.count(OperationState.DONE)
    assert 1 <= done < len(given)
    assert states[done:] == [OperationState.PENDING] * (len(given) - done)
    with serving(db):
        assert wait_for(look, given[done].id).state is OperationState.DONE


def held(client: recollect.Client, operation: Operation) -> int:
    """How many facts of a retain are stored; where they are, they are whole parts of it."""
    found = client.operation(BANK, operation.id)
    stored = {m.text for m in client.memories(BANK, limit=10_000)}
    count = sum(fact["text"] in stored for fact in MANY)
    assert count == min(found.steps * GROUP, len(MANY))
    return count


def test_of_what_a_client_cancels_nothing_more_is_stored_whichever_worker_is_at_it(
    db: Path, look: recollect.Recollect
) -> None:
    with serving(db, "--workers", "2") as server, recollect.connect(server.url) as client:
        operation = client.submit(BANK, MANY)
        assert not wait_for(look, operation.id, steps=1).finished
        cancelled = client.cancel(BANK, operation.id)
        assert cancelled.state is OperationState.CANCELLED
        stored = held(client, operation)
        assert 0 < stored < len(MANY)
        behind = client.submit(BANK, {"text": "What stands behind it"})
        assert wait_for(look, behind.id).state is OperationState.DONE
        assert held(client, operation) == stored
        with pytest.raises(Conflict, match="cancelled"):
            client.cancel(BANK, operation.id)


async def test_hindsights_client_cancels_what_runs_and_takes_it_up_again(
    db: Path, look: recollect.Recollect
) -> None:
    given = [{"content": fact["text"]} for fact in MANY]
    with serving(db) as server:
        client = Hindsight(base_url=server.url)
        own = (await client.aretain_batch(BANK, given, retain_async=True)).operation_id
        assert not wait_for(look, own, steps=1).finished
        assert (await client.operations.cancel_operation(BANK, own)).success
        status = await client.operations.get_operation_status(BANK, own)
        assert (status.status, status.completed_at is not None) == ("cancelled", True)
        assert 0 < status.progress.processed < status.progress.total == len(MANY)
        with pytest.raises(ApiException) as refused:
            await client.operations.cancel_operation(BANK, own)
        assert refused.value.status == 409
        assert (await client.operations.retry_operation(BANK, own)).success
        wait_for(look, own)
        status = await client.operations.get_operation_status(BANK, own)
        assert (status.status, status.progress.processed) == ("completed", len(MANY))
        await client.aclose()
    assert len(look.memories(BANK, limit=10_000)) == len(MANY)


def test_what_was_cancelled_before_a_crash_stays_so_after_it(
    db: Path, look: recollect.Recollect
) -> None:
    with serving(db) as server, recollect.connect(server.url) as client:
        operation = client.submit(BANK, MANY)
        assert not wait_for(look, operation.id, steps=1).finished
        client.cancel(BANK, operation.id)
        server.kill()
    with serving(db) as server, recollect.connect(server.url) as client:
        stored = held(client, operation)
        assert 0 < stored < len(MANY)
        behind = client.submit(BANK, {"text": "What stands behind it"})
        assert wait_for(look, behind.id).state is OperationState.DONE
        assert client.operation(BANK, operation.id).state is OperationState.CANCELLED
        assert held(client, operation) == stored


def test_what_a_dead_worker_left_can_be_cancelled(db: Path, look: recollect.Recollect) -> None:
    with serving(db) as server, recollect.connect(server.url) as client:
        operation = client.submit(BANK, MANY)
        assert not wait_for(look, operation.id, steps=1).finished
        server.kill()
    assert look.store.queue.cancel(BANK, operation.id, now_micros()).steps > 0
    with serving(db) as server, recollect.connect(server.url) as client:
        behind = client.submit(BANK, {"text": "What stands behind it"})
        assert wait_for(look, behind.id).state is OperationState.DONE
        assert 0 < held(client, operation) < len(MANY)


def test_two_servers_share_one_queue(db: Path, look: recollect.Recollect) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(db)) for _ in range(2)]
        clients = [stack.enter_context(recollect.connect(s.url)) for s in servers]
        given = [
            clients[n % 2].submit(f"bank-{n % 3}", {"text": f"Fact {n} is about {n * n}"})
            for n in range(24)
        ]
        until = time.monotonic() + PATIENCE_S
        while look.store.queue.counts()[OperationState.DONE] < len(given):
            assert time.monotonic() < until
            time.sleep(0.02)
        texts = sorted(m.text for n in range(3) for m in clients[0].memories(f"bank-{n}"))
    assert texts == sorted(f"Fact {n} is about {n * n}" for n in range(24))
