"""Accepted work: durable, in order, once in effect, whatever crashes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from recollect.errors import Conflict, InvalidInput, ModelError, StoreLocked
from recollect.memory import Recollect
from recollect.retain.pipeline import GROUP
from recollect.server import operations as module
from recollect.server.operations import SECOND, Operations, QueueRules
from recollect.storage.base import Lease
from recollect.testing import open_fake
from recollect.types import OperationState

BANK = "alice"
HASTY = QueueRules(look_s=0.02, back_off_s=0.01)
PATIENCE_S = 60


@pytest.fixture
def operations(memory: Recollect) -> Iterator[Operations]:
    made = Operations(memory, HASTY)
    yield made
    made.stop()


def finished(operations: Operations, operation_id: str):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        found = operations.operation(BANK, operation_id)
        assert found is not None
        if found.finished:
            return found
        time.sleep(0.005)
    raise AssertionError(f"still {found.state} after {PATIENCE_S} s")


def texts(memory: Recollect) -> list[str]:
    return sorted(m.text for m in memory.memories(BANK, limit=100_000))


# --- accepting ---------------------------------------------------------------------------------


def test_an_accepted_retain_is_done_by_the_worker(
    memory: Recollect, operations: Operations
) -> None:
    operations.start()
    operation = operations.submit_retain(BANK, [{"content": "Alice runs."}])
    done = finished(operations, operation.id)
    assert done.state is OperationState.DONE
    assert done.result is not None and len(done.result["new"]) == 1
    assert [h.text for h in memory.recall(BANK, "Who runs?")] == ["Alice runs."]


def test_what_was_accepted_before_the_worker_began_is_done(
    memory: Recollect, operations: Operations
) -> None:
    operation = operations.submit_retain(BANK, [{"content": "Alice runs."}])
    assert texts(memory) == []
    operations.start()
    assert finished(operations, operation.id).state is OperationState.DONE


def test_yesterday_is_the_day_before_it_was_accepted(
    memory: Recollect, operations: Operations
) -> None:
    operation = operations.submit_retain(BANK, [{"content": "Alice ran yesterday."}])
    operations.work_off()
    (found,) = memory.memories(BANK)
    assert operation.payload is not None and found.occurred_start is not None
    accepted = datetime.fromisoformat(operation.payload["now"])
    assert found.mentioned_at == accepted
    assert found.occurred_start.date() == accepted.date() - timedelta(days=1)


def test_what_cannot_be_read_is_refused_when_it_is_given(operations: Operations) -> None:
    with pytest.raises(InvalidInput):
        operations.submit_retain(BANK, [{"contents": "a typing error"}])


def test_the_payload_is_gone_from_the_file_once_it_is_forgotten(db: Path) -> None:
    with open_fake(db) as memory:
        operations = Operations(memory)
        operations.submit_retain(BANK, [{"content": "The code is xyzzy42.", "document_id": "d"}])
        assert b"xyzzy42" in b"".join(p.read_bytes() for p in db.parent.glob("memory.db*"))
        operations.work_off()
        memory.forget(BANK, document_id="d")
        assert b"xyzzy42" not in b"".join(p.read_bytes() for p in db.parent.glob("memory.db*"))


# --- order, failures, cancelling ---------------------------------------------------------------


def test_the_last_version_of_a_document_wins(memory: Recollect, operations: Operations) -> None:
    given = [
        operations.submit_retain(BANK, [{"content": f"Version {n}.", "document_id": "d"}])
        for n in range(8)
    ]
    others = [Operations(memory, HASTY) for _ in range(3)]
    for worker in others:
        worker.start()
    states = [finished(operations, operation.id).state for operation in given]
    for worker in others:
        worker.stop()
    assert states == [OperationState.DONE] * 8
    assert texts(memory) == ["Version 7."]


def test_a_passing_failure_is_tried_again(
    memory: Recollect, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = memory.retain_accepted, iter([StoreLocked("busy"), ModelError("late")])

    def sometimes(operation, token, lost):
        for failure in failures:
            raise failure
        return real(operation, token, lost)

    monkeypatch.setattr(memory, "retain_accepted", sometimes)
    operations.start()
    done = finished(operations, operations.submit_retain(BANK, [{"content": "A fact."}]).id)
    assert (done.state, done.attempts, done.error) == (OperationState.DONE, 3, None)


def test_what_keeps_failing_ends_with_its_error(
    memory: Recollect, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(operation, token, lost):
        raise ModelError("no model today")

    monkeypatch.setattr(memory, "retain_accepted", never)
    operations.start()
    failed = finished(operations, operations.submit_retain(BANK, [{"content": "A fact."}]).id)
    assert failed.state is OperationState.FAILED
    assert (failed.attempts, failed.error) == (HASTY.attempts, "no model today")
    monkeypatch.undo()
    operations.retry(BANK, failed.id)
    assert finished(operations, failed.id).state is OperationState.DONE


def test_what_no_other_try_would_help_fails_at_once(operations: Operations) -> None:
    unknown = {"text": "It rained.", "causal_relations": [{"target": "nobody"}]}
    operation = operations.submit_retain(BANK, [unknown])
    operations.work_off()
    failed = operations.operation(BANK, operation.id)
    assert failed is not None
    assert (failed.state, failed.attempts) == (OperationState.FAILED, 1)
    assert "nobody" in (failed.error or "")


def test_what_ends_its_worker_again_and_again_is_given_up(
    memory: Recollect, operations: Operations
) -> None:
    operation = operations.submit_retain(BANK, [{"content": "A fact."}])
    for n in range(HASTY.crashes):  # workers that claim it and are never seen again
        assert memory.store.queue.claim(BANK, Lease("gone", str(n), 0), 10**15 * 2) is not None
    operations.work_off()
    failed = operations.operation(BANK, operation.id)
    assert failed is not None and failed.state is OperationState.FAILED
    assert "given up" in (failed.error or "")


def test_a_cancelled_one_is_never_done(memory: Recollect, operations: Operations) -> None:
    operation = operations.submit_retain(BANK, [{"content": "A fact."}])
    operations.cancel(BANK, operation.id)
    operations.work_off()
    assert texts(memory) == []


def test_of_one_that_is_cancelled_no_further_part_is_stored(
    memory: Recollect, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = [{"text": f"Fact {n} is about {n * n}"} for n in range(2 * GROUP)]
    operation = operations.submit_retain(BANK, facts)
    behind = operations.submit_retain(BANK, [{"text": "What stands behind it"}])
    commit = memory.store.commit

    def cancelled_after(bank, plan):
        done = commit(bank, plan)
        if memory.store.queue.operation(BANK, operation.id).steps == 1:
            monkeypatch.undo()
            operations.cancel(BANK, operation.id)
        return done

    monkeypatch.setattr(memory.store, "commit", cancelled_after)
    operations.work_off()
    found = operations.operation(BANK, operation.id)
    assert found is not None
    assert (found.state, found.steps) == (OperationState.CANCELLED, 1)
    assert finished(operations, behind.id).state is OperationState.DONE
    assert len(texts(memory)) == GROUP + 1
    operations.retry(BANK, operation.id)
    operations.work_off()
    assert texts(memory) == sorted([f["text"] for f in facts] + ["What stands behind it"])


def test_a_keyed_retain_that_is_cancelled_says_so(
    memory: Recollect, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = memory.retain_accepted

    def cancelled_before(operation, token, lost):
        operations.cancel(BANK, operation.id)
        return real(operation, token, lost)

    monkeypatch.setattr(memory, "retain_accepted", cancelled_before)
    with pytest.raises(Conflict, match="cancelled"):
        operations.retain(BANK, [{"text": "Bob likes tea"}], request_key="k")
    assert texts(memory) == []


def test_a_bank_deleted_meanwhile_stops_nobody(memory: Recollect, operations: Operations) -> None:
    operations.submit_retain(BANK, [{"content": "A fact."}])
    memory.delete_bank(BANK)
    operations.start()
    operation = operations.submit_retain(BANK, [{"content": "Another fact."}])
    assert finished(operations, operation.id).state is OperationState.DONE
    assert texts(memory) == ["Another fact."]


def test_stopping_finishes_the_one_at_hand_and_leaves_the_rest(
    memory: Recollect, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, begun, go_on = memory.retain_accepted, threading.Event(), threading.Event()

    def slow(operation, token, lost):
        begun.set()
        go_on.wait(PATIENCE_S)
        return real(operation, token, lost)

    monkeypatch.setattr(memory, "retain_accepted", slow)
    first, second = (operations.submit_retain(BANK, [{"content": f"Fact {n}."}]) for n in (1, 2))
    operations.start()
    assert begun.wait(PATIENCE_S)
    stopping = threading.Thread(target=operations.stop)
    stopping.start()
    assert operations._stopping.wait(PATIENCE_S)
    go_on.set()
    stopping.join()
    states = [operations.operation(BANK, o.id).state for o in (first, second)]
    assert states == [OperationState.DONE, OperationState.PENDING]


def test_a_store_that_is_away_for_a_while_is_waited_for(
    memory: Recollect, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, away = memory.store.queue, threading.Event()
    real = queue.waiting

    def waiting(now: int):
        if not away.is_set():
            away.set()
            raise StoreLocked("away")
        return real(now)

    monkeypatch.setattr(queue, "waiting", waiting)
    operations.start()
    operation = operations.submit_retain(BANK, [{"content": "A fact."}])
    assert finished(operations, operation.id).state is OperationState.DONE
    assert away.is_set()


def test_a_long_one_keeps_its_lease(memory: Recollect, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on when the lease has been renewed, however slow the machine is."""
    rules = QueueRules(lease_s=0.1, look_s=0.02)
    clock, queue, renewed = [time.time_ns() // 1000], memory.store.queue, threading.Semaphore(0)
    real, renew = memory.retain_accepted, queue.renew

    def renewing(*given):
        kept = renew(*given)
        renewed.release()
        return kept

    def long(operation, token, lost):
        for _ in range(9):
            clock[0] += int(rules.lease_s * SECOND / 3)
            for _ in range(2):  # one may have begun before the clock went on
                assert renewed.acquire(timeout=PATIENCE_S)
        return real(operation, token, lost)

    monkeypatch.setattr(module, "now_micros", lambda: clock[0])
    monkeypatch.setattr(queue, "renew", renewing)
    monkeypatch.setattr(memory, "retain_accepted", long)
    with Operations(memory, rules) as one, Operations(memory, rules):
        done = finished(one, one.submit_retain(BANK, [{"content": "A fact."}]).id)
    assert (done.state, done.attempts) == (OperationState.DONE, 1)


# --- once in effect ----------------------------------------------------------------------------


def test_the_same_request_key_retains_once_and_answers_the_same(
    memory: Recollect, operations: Operations
) -> None:
    given = [{"text": "Bob likes tea", "document_id": "d", "update_mode": "append"}]
    first = operations.retain(BANK, given, request_key="k")
    again = operations.retain(BANK, given, request_key="k")
    assert first == again
    assert len(first.new) == 1
    (found,) = memory.memories(BANK)
    assert found.proof_count == 1


def test_a_request_key_with_other_content_is_refused(operations: Operations) -> None:
    operations.retain(BANK, [{"text": "Bob likes tea"}], request_key="k")
    with pytest.raises(Conflict):
        operations.retain(BANK, [{"text": "Bob likes coffee"}], request_key="k")


def test_a_request_key_is_free_again_when_nothing_was_stored(
    memory: Recollect, operations: Operations, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(operation, token, lost):
        raise StoreLocked("busy")

    with monkeypatch.context() as patch:
        patch.setattr(memory, "retain_accepted", never)
        with pytest.raises(StoreLocked):
            operations.retain(BANK, [{"text": "Bob likes tea"}], request_key="k")
    assert len(operations.retain(BANK, [{"text": "Bob likes tea"}], request_key="k").new) == 1


def test_two_at_once_with_one_request_key_get_one_answer(
    memory: Recollect, operations: Operations
) -> None:
    answers: list[object] = []

    def ask() -> None:
        answers.append(operations.retain(BANK, [{"text": "Bob likes tea"}], request_key="k"))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4 and all(a == answers[0] for a in answers)
    (found,) = memory.memories(BANK)
    assert found.proof_count == 1


# However late the kill comes, not all of it is done then.
CRASHING = """
import sys, threading
from recollect.server.operations import Operations
from recollect.testing import open_fake
db, bank, operation, last = sys.argv[1:]
with open_fake(db) as memory:
    commit = memory.store.commit
    def commit_some(*given):
        if memory.store.queue.operation(bank, operation).steps >= int(last):
            threading.Event().wait()
        return commit(*given)
    memory.store.commit = commit_some
    Operations(memory).start()
    sys.stdin.read()
"""


def kill_during(db: Path, operations: Operations, operation_id: str, steps: int) -> None:
    """A worker process, killed -9 once so many parts are committed."""
    process = subprocess.Popen(
        [sys.executable, "-c", CRASHING, str(db), BANK, operation_id, str(steps + 1)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    until = time.monotonic() + PATIENCE_S
    while (found := operations.operation(BANK, operation_id)).steps < steps:
        assert not found.finished and time.monotonic() < until
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def test_killed_again_and_again_it_takes_effect_exactly_once(db: Path) -> None:
    facts = [{"text": f"Fact {n} is about {n * n}"} for n in range(2000)]
    with open_fake(db) as memory:
        operations = Operations(memory)
        operation = operations.submit_retain(BANK, facts)
        for steps in (1, 3, 5):
            kill_during(db, operations, operation.id, steps)
        before = operations.operation(BANK, operation.id)
        assert before is not None and 5 <= before.steps <= 6  # it had not come to the end
        operations.take_over()
        operations.work_off()
        done = operations.operation(BANK, operation.id)
        assert done is not None and done.state is OperationState.DONE
        assert texts(memory) == sorted(f["text"] for f in facts)
        found = memory.memories(BANK, limit=10_000)
        assert {m.proof_count for m in found} == {1}
        assert done.result is not None
        assert [i["memory_ids"] for i in done.result["items"]] == [
            [m.id] for m in sorted(found, key=lambda m: int(m.text.split()[1]))
        ]
