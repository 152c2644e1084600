"""The part of a store's contract that a server rests on: the queue and the keys."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from recollect.errors import Conflict, LeaseLost, NotFound
from recollect.ids import new_id
from recollect.language.dates import from_micros
from recollect.storage.base import Batch, Lease, NewDocument, NewOperation, Step, Store
from recollect.testing.claims import refused
from recollect.testing.reference import BANK
from recollect.types import ApiKey, Entity, Operation, OperationState, Scope

NOW = 1_700_000_000_000_000
SECOND = 1_000_000


def accepted(**changes: Any) -> NewOperation:
    new = NewOperation(
        id=new_id(),
        bank=BANK,
        kind="retain",
        items=2,
        payload={"text": "a secret"},
        fingerprint=b"1",
    )
    return replace(new, **changes)


def lease(until: int = NOW + 30 * SECOND, worker: str = "w") -> Lease:
    return Lease(worker, new_id(), until)


class ServiceContract:
    store: Store

    def _claimed(self, new: NewOperation | None = None) -> tuple[Operation, Lease]:
        self.store.queue.enqueue(new or accepted(), NOW)
        held = lease()
        operation = self.store.queue.claim(BANK, held, NOW)
        assert operation is not None
        return operation, held

    def _state(self, operation_id: str) -> OperationState:
        found = self.store.queue.operation(BANK, operation_id)
        assert found is not None
        return found.state

    # --- accepting ---------------------------------------------------------------------------

    def test_an_accepted_operation_is_there_as_it_was_given(self) -> None:
        new = accepted(items=7)
        given = self.store.queue.enqueue(new, NOW)
        assert given == self.store.queue.operation(BANK, new.id)
        assert (given.id, given.bank, given.kind, given.items) == (new.id, BANK, "retain", 7)
        assert given.state is OperationState.PENDING
        assert given.payload == {"text": "a secret"}
        assert given.created_at == given.updated_at == from_micros(NOW)

    def test_the_same_id_or_request_key_again_is_the_same_operation(self) -> None:
        first = self.store.queue.enqueue(accepted(request_key="k"), NOW)
        again = self.store.queue.enqueue(accepted(request_key="k"), NOW + 1)
        by_id = self.store.queue.enqueue(accepted(id=first.id), NOW + 2)
        assert first == again == by_id
        assert self.store.queue.counts(BANK)[OperationState.PENDING] == 1

    def test_an_id_or_request_key_used_for_something_else_is_refused(self) -> None:
        queue = self.store.queue
        first = queue.enqueue(accepted(request_key="k"), NOW)
        other = accepted(request_key="k", fingerprint=b"2")
        refused(Conflict, lambda: queue.enqueue(other, NOW))
        refused(Conflict, lambda: queue.enqueue(accepted(id=first.id, fingerprint=b"2"), NOW))
        refused(Conflict, lambda: queue.enqueue(accepted(id=first.id, kind="import"), NOW))

    def test_a_request_key_belongs_to_its_bank(self) -> None:
        self.store.create_bank("other")
        here = self.store.queue.enqueue(accepted(request_key="k"), NOW)
        there = self.store.queue.enqueue(accepted(request_key="k", bank="other"), NOW)
        assert here.id != there.id
        assert self.store.queue.operation("other", here.id) is None

    def test_nothing_is_accepted_for_a_bank_that_is_not_there(self) -> None:
        refused(NotFound, lambda: self.store.queue.enqueue(accepted(bank="nope"), NOW))

    def test_one_accepted_with_a_lease_runs_at_once(self) -> None:
        held = lease()
        operation = self.store.queue.enqueue(accepted(), NOW, held)
        assert operation.state is OperationState.RUNNING
        assert operation.attempts == 1
        assert self.store.queue.claim(BANK, lease(), NOW) is None
        self.store.queue.complete(BANK, operation.id, held.token, {"new": 1}, NOW)
        assert self._state(operation.id) is OperationState.DONE

    # --- claiming ----------------------------------------------------------------------------

    def test_a_bank_is_worked_off_in_order_one_at_a_time(self) -> None:
        queue = self.store.queue
        ids = [queue.enqueue(accepted(), NOW).id for _ in range(3)]
        seen: list[str] = []
        for _ in ids:
            held = lease()
            operation = queue.claim(BANK, held, NOW)
            assert operation is not None and operation.payload == {"text": "a secret"}
            assert queue.claim(BANK, lease(), NOW) is None
            queue.complete(BANK, operation.id, held.token, {}, NOW)
            seen.append(operation.id)
        assert seen == ids
        assert queue.claim(BANK, lease(), NOW) is None

    def test_banks_do_not_wait_for_each_other(self) -> None:
        self.store.create_bank("other")
        self._claimed()
        self.store.queue.enqueue(accepted(bank="other"), NOW)
        assert self.store.queue.waiting(NOW) == ["other"]
        assert self.store.queue.claim("other", lease(), NOW) is not None
        assert self.store.queue.waiting(NOW) == []

    def test_one_whose_lease_has_ended_is_claimed_again(self) -> None:
        queue = self.store.queue
        first, _ = self._claimed()
        later = NOW + 31 * SECOND
        assert queue.waiting(NOW) == []
        assert queue.waiting(later) == [BANK]
        again = queue.claim(BANK, lease(later + SECOND), later)
        assert again is not None
        assert (again.id, again.attempts) == (first.id, 2)

    def test_a_renewed_lease_holds(self) -> None:
        operation, held = self._claimed()
        longer = replace(held, until=NOW + 60 * SECOND)
        assert self.store.queue.renew(BANK, operation.id, longer)
        assert self.store.queue.claim(BANK, lease(), NOW + 31 * SECOND) is None

    def test_a_lost_lease_cannot_be_renewed_or_ended(self) -> None:
        queue = self.store.queue
        operation, old = self._claimed()
        queue.claim(BANK, lease(NOW + 90 * SECOND), NOW + 31 * SECOND)
        assert not queue.renew(BANK, operation.id, old)
        self._cannot_end(operation, old)
        assert self._state(operation.id) is OperationState.RUNNING

    def _cannot_end(self, operation: Operation, old: Lease) -> None:
        queue, named = self.store.queue, (BANK, operation.id, old.token)
        refused(LeaseLost, lambda: queue.complete(*named, {}, NOW))
        refused(LeaseLost, lambda: queue.fail(*named, "no", NOW))
        refused(LeaseLost, lambda: queue.defer(*named, "no", NOW, NOW))

    def test_what_a_dead_worker_held_is_open_at_once(self) -> None:
        queue = self.store.queue
        operation, _ = self._claimed()
        assert queue.workers() == ["w"]
        assert queue.abandon("somebody else", NOW) == 0
        assert queue.abandon("w", NOW) == 1
        assert queue.workers() == []
        again = queue.claim(BANK, lease(), NOW)
        assert again is not None and again.id == operation.id

    def test_a_deferred_one_waits_and_so_does_what_stands_behind_it(self) -> None:
        queue = self.store.queue
        operation, held = self._claimed()
        queue.enqueue(accepted(), NOW)
        queue.defer(BANK, operation.id, held.token, "busy", NOW + SECOND, NOW)
        assert queue.due() == NOW + SECOND
        assert queue.claim(BANK, lease(), NOW) is None
        again = queue.claim(BANK, lease(), NOW + SECOND)
        assert again is not None
        assert (again.id, again.attempts, again.error) == (operation.id, 2, "busy")

    def test_due_says_when_to_look_again(self) -> None:
        queue = self.store.queue
        assert queue.due() is None
        queue.enqueue(accepted(), NOW)
        assert queue.due() == 0
        held = lease()
        queue.claim(BANK, held, NOW)
        assert queue.due() == held.until

    def test_many_claim_and_nobody_twice(self) -> None:
        queue = self.store.queue
        banks = [f"b{n}" for n in range(4)]
        for bank in banks:
            self.store.create_bank(bank)
        ids = [queue.enqueue(accepted(bank=b), NOW).id for b in banks for _ in range(5)]

        def work(_: int) -> list[str]:
            done: list[str] = []
            while waiting := queue.waiting(NOW):
                for bank in waiting:
                    held = lease()
                    operation = queue.claim(bank, held, NOW)
                    if operation is not None:
                        queue.complete(bank, operation.id, held.token, {}, NOW)
                        done.append(operation.id)
            return done

        with ThreadPoolExecutor(4) as pool:
            done = [i for found in pool.map(work, range(4)) for i in found]
        assert sorted(done) == sorted(ids)

    # --- ending ------------------------------------------------------------------------------

    def test_a_done_one_has_its_result_and_no_payload(self) -> None:
        operation, held = self._claimed()
        self.store.queue.complete(BANK, operation.id, held.token, {"new": ["a"]}, NOW + 5)
        found = self.store.queue.operation(BANK, operation.id)
        assert found is not None and found.finished
        assert (found.result, found.payload) == ({"new": ["a"]}, None)
        assert found.finished_at == found.updated_at == from_micros(NOW + 5)

    def test_a_failed_one_says_why_and_can_be_retried(self) -> None:
        queue = self.store.queue
        operation, held = self._claimed()
        queue.fail(BANK, operation.id, held.token, "no room", NOW)
        found = queue.operation(BANK, operation.id)
        assert found is not None
        assert (found.state, found.error) == (OperationState.FAILED, "no room")
        again = queue.retry(BANK, operation.id, NOW)
        assert (again.state, again.attempts) == (OperationState.PENDING, 0)
        claimed = queue.claim(BANK, lease(), NOW)
        assert claimed is not None and claimed.payload == {"text": "a secret"}

    def test_forgetting_anything_takes_the_payload_of_what_failed_or_was_cancelled(self) -> None:
        queue = self.store.queue
        failed, held = self._claimed()
        queue.fail(BANK, failed.id, held.token, "no", NOW)
        cancelled = queue.cancel(BANK, queue.enqueue(accepted(), NOW).id, NOW)
        waiting = queue.enqueue(accepted(), NOW)
        self.store.commit(BANK, lambda _: Batch(drop_documents={"any": frozenset()}))
        for ended in (failed, cancelled):
            found = queue.operation(BANK, ended.id)
            assert found is not None and found.payload is None
            refused(Conflict, lambda ended=ended: queue.retry(BANK, ended.id, NOW))
        assert queue.operation(BANK, waiting.id) == waiting

    def test_a_document_given_anew_leaves_what_failed_to_be_retried(self) -> None:
        queue = self.store.queue
        operation, held = self._claimed()
        queue.fail(BANK, operation.id, held.token, "no", NOW)
        page = NewDocument("page", b"1", None, (), {}, ())
        for _ in range(2):
            batch = Batch(documents=[page], drop_documents={"page": frozenset()})
            self.store.commit(BANK, lambda _, b=batch: b)
        assert queue.retry(BANK, operation.id, NOW).payload == {"text": "a secret"}

    def test_a_cancelled_one_is_never_claimed(self) -> None:
        queue = self.store.queue
        cancelled = queue.cancel(BANK, queue.enqueue(accepted(), NOW).id, NOW + 5)
        assert cancelled.state is OperationState.CANCELLED
        assert cancelled.finished_at == from_micros(NOW + 5)
        assert queue.claim(BANK, lease(), NOW + 99 * SECOND) is None
        refused(NotFound, lambda: queue.cancel(BANK, "nope", NOW))

    def test_cancelling_a_running_one_takes_its_claim_away(self) -> None:
        queue = self.store.queue
        running, held = self._claimed()
        behind = queue.enqueue(accepted(), NOW)
        assert queue.cancel(BANK, running.id, NOW).state is OperationState.CANCELLED
        assert not queue.renew(BANK, running.id, held)
        refused(LeaseLost, self._step("Ghost", Step(running.id, held.token, 1, {})))
        self._cannot_end(running, held)
        assert queue.abandon(held.worker, NOW) == 0
        assert self._state(running.id) is OperationState.CANCELLED
        following = queue.claim(BANK, lease(), NOW)
        assert following is not None and following.id == behind.id

    def test_what_was_stored_before_it_was_cancelled_stays(self) -> None:
        queue = self.store.queue
        running, held = self._claimed()
        self._step("Stored", Step(running.id, held.token, 1, {"made": ["a"]}))()
        found = queue.cancel(BANK, running.id, NOW)
        assert (found.steps, found.note) == (1, {"made": ["a"]})
        assert self._names() == ["Stored"]

    def test_what_is_over_is_not_cancelled(self) -> None:
        queue = self.store.queue
        done, held = self._claimed()
        queue.complete(BANK, done.id, held.token, {}, NOW)
        refused(Conflict, lambda: queue.cancel(BANK, done.id, NOW))
        cancelled = queue.enqueue(accepted(), NOW)
        queue.cancel(BANK, cancelled.id, NOW)
        refused(Conflict, lambda: queue.cancel(BANK, cancelled.id, NOW))

    def test_a_cancelled_one_is_retried_from_where_it_stopped(self) -> None:
        queue = self.store.queue
        running, held = self._claimed()
        self._step("Stored", Step(running.id, held.token, 1, {}))()
        queue.cancel(BANK, running.id, NOW)
        again = queue.retry(BANK, running.id, NOW)
        assert (again.state, again.finished_at) == (OperationState.PENDING, None)
        claimed = queue.claim(BANK, lease(), NOW)
        assert claimed is not None
        assert (claimed.steps, claimed.payload) == (1, {"text": "a secret"})

    def test_a_deferred_one_is_retried_at_once(self) -> None:
        queue = self.store.queue
        running, held = self._claimed()
        queue.defer(BANK, running.id, held.token, "busy", NOW + 60 * SECOND, NOW)
        queue.retry(BANK, running.id, NOW)
        claimed = queue.claim(BANK, lease(), NOW)
        assert claimed is not None and claimed.id == running.id

    def test_what_waits_its_turn_runs_or_is_done_is_not_retried(self) -> None:
        queue = self.store.queue
        running, held = self._claimed()
        waiting = queue.enqueue(accepted(), NOW)
        for each in (running, waiting):
            refused(Conflict, lambda each=each: queue.retry(BANK, each.id, NOW))
        queue.complete(BANK, running.id, held.token, {}, NOW)
        refused(Conflict, lambda: queue.retry(BANK, running.id, NOW))
        refused(NotFound, lambda: queue.retry(BANK, "nope", NOW))

    def test_only_a_finished_one_is_deleted(self) -> None:
        queue = self.store.queue
        operation, held = self._claimed()
        refused(Conflict, lambda: queue.delete(BANK, operation.id))
        queue.complete(BANK, operation.id, held.token, {}, NOW)
        queue.delete(BANK, operation.id)
        assert queue.operation(BANK, operation.id) is None
        refused(NotFound, lambda: queue.delete(BANK, operation.id))

    def test_purging_takes_what_was_finished_before(self) -> None:
        queue = self.store.queue
        old, held = self._claimed()
        queue.complete(BANK, old.id, held.token, {}, NOW)
        new, held = self._claimed()
        queue.complete(BANK, new.id, held.token, {}, NOW + SECOND)
        queue.enqueue(accepted(), NOW)
        assert queue.purge(NOW + SECOND) == 1
        assert queue.operation(BANK, old.id) is None
        assert queue.counts()[OperationState.PENDING] == 1

    def test_a_deleted_bank_takes_its_operations_along(self) -> None:
        operation, held = self._claimed()
        assert self.store.delete_bank(BANK)
        self.store.create_bank(BANK)
        queue = self.store.queue
        assert queue.operation(BANK, operation.id) is None
        assert queue.waiting(NOW + 99 * SECOND) == []
        assert sum(queue.counts().values()) == 0
        refused(LeaseLost, lambda: queue.complete(BANK, operation.id, held.token, {}, NOW))

    # --- listing -----------------------------------------------------------------------------

    def test_operations_are_listed_newest_first_page_by_page(self) -> None:
        queue = self.store.queue
        ids = [queue.enqueue(accepted(), NOW).id for _ in range(5)]
        first = queue.operations(BANK, 2, None, {})
        rest = queue.operations(BANK, 10, first[-1].id, {})
        assert [o.id for o in first + rest] == ids[::-1]
        assert all(o.payload is None for o in first + rest)
        refused(NotFound, lambda: queue.operations(BANK, 2, "nope", {}))

    def test_a_listing_can_name_a_state_and_a_kind(self) -> None:
        queue = self.store.queue
        done, held = self._claimed()
        queue.complete(BANK, done.id, held.token, {}, NOW)
        queue.enqueue(accepted(), NOW)
        other = queue.enqueue(accepted(kind="import"), NOW)
        assert [o.id for o in queue.operations(BANK, 9, None, {"state": "done"})] == [done.id]
        found = queue.operations(BANK, 9, None, {"state": "pending", "kind": "import"})
        assert [o.id for o in found] == [other.id]

    def test_states_are_counted_in_a_bank_and_in_all(self) -> None:
        queue = self.store.queue
        self.store.create_bank("other")
        self._claimed()
        queue.enqueue(accepted(), NOW)
        queue.enqueue(accepted(bank="other"), NOW)
        assert queue.counts(BANK)[OperationState.PENDING] == 1
        assert queue.counts()[OperationState.PENDING] == 2
        assert queue.counts()[OperationState.RUNNING] == 1
        assert queue.counts()[OperationState.DONE] == 0

    # --- steps -------------------------------------------------------------------------------

    def _step(self, name: str, step: Step) -> Callable[[], object]:
        batch = Batch(entities=[Entity(1, name, "other", (), 1)], step=step)
        return lambda: self.store.commit(BANK, lambda _: batch)

    def _names(self) -> list[str]:
        return [e.name for e in self.store.entities(BANK, 10)]

    def test_a_step_is_noted_with_its_effect(self) -> None:
        operation, held = self._claimed()
        self._step("First", Step(operation.id, held.token, 1, {"made": ["a"]}))()
        found = self.store.queue.operation(BANK, operation.id)
        assert found is not None
        assert (found.steps, found.note) == (1, {"made": ["a"]})
        assert self._names() == ["First"]

    def test_a_step_takes_effect_once(self) -> None:
        operation, held = self._claimed()
        self._step("First", Step(operation.id, held.token, 1, {}))()
        refused(LeaseLost, self._step("Again", Step(operation.id, held.token, 1, {})))
        assert self._names() == ["First"]

    def test_a_step_under_a_lost_lease_changes_nothing(self) -> None:
        operation, old = self._claimed()
        new = lease(NOW + 90 * SECOND)
        self.store.queue.claim(BANK, new, NOW + 31 * SECOND)
        before = self.store.view(BANK).seq
        refused(LeaseLost, self._step("Ghost", Step(operation.id, old.token, 1, {})))
        assert self._names() == []
        assert self.store.view(BANK).seq == before
        self._step("Real", Step(operation.id, new.token, 1, {}))()
        assert self._names() == ["Real"]

    # --- keys --------------------------------------------------------------------------------

    def test_a_key_is_found_with_its_digest(self) -> None:
        key = ApiKey(
            id="abc",
            name="laptop",
            scopes=(Scope.READ, Scope.WRITE),
            banks=("alice", "bob"),
            created_at=from_micros(NOW),
            expires_at=from_micros(NOW + SECOND),
            rate=0.5,
            max_body=2**40,
        )
        self.store.keys.add(key, b"digest")
        assert self.store.keys.find("abc") == (key, b"digest")
        assert self.store.keys.find("abd") is None

    def test_keys_are_listed_oldest_first(self) -> None:
        for n, name in enumerate(("b", "a", "c")):
            key = ApiKey(id=name, name=name, scopes=(), banks=None, created_at=from_micros(NOW + n))
            self.store.keys.add(key, b"")
        assert [k.id for k in self.store.keys.all()] == ["b", "a", "c"]
        assert all(k.banks is None for k in self.store.keys.all())

    def test_a_key_is_revoked_once_and_for_all(self) -> None:
        key = ApiKey(id="a", name="a", scopes=(), banks=None, created_at=from_micros(NOW))
        self.store.keys.add(key, b"")
        assert self.store.keys.revoke("a", NOW + 1).revoked_at == from_micros(NOW + 1)
        assert self.store.keys.revoke("a", NOW + 2).revoked_at == from_micros(NOW + 1)
        refused(NotFound, lambda: self.store.keys.revoke("nope", NOW))
