"""Work that was accepted, done in its turn: a durable queue and the thread that works it off.

An accepted retain is in the store before it is acknowledged. A worker claims it under a lease
and keeps the lease alive; every part of the retain is noted in the transaction that stores it,
so after a crash another worker goes on where it stopped and nothing takes effect twice. Whoever
cancels takes the claim away: no part is stored after that, by whichever process.

Any number of processes may work on one store: in each bank operations run in the order they
were accepted, one at a time.
"""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import orjson

from recollect.errors import (
    ConfigError,
    Conflict,
    InvalidInput,
    LeaseLost,
    NotFound,
    RecollectError,
    ServerError,
)
from recollect.ids import new_id
from recollect.language.dates import now_micros
from recollect.memory import Recollect, check_bank_name
from recollect.memory.checks import checked
from recollect.retain.items import items as read_items
from recollect.storage.base import Lease, NewOperation
from recollect.types import Operation, OperationState, RetainResult

log = logging.getLogger("recollect.operations")
SECOND = 1_000_000  # the store's times are microseconds
RETAIN = "retain"  # the one kind of operation there is
HINDSIGHT_NAMES = {  # how Hindsight's contract calls the states
    OperationState.PENDING: "pending",
    OperationState.RUNNING: "processing",
    OperationState.DONE: "completed",
    OperationState.FAILED: "failed",
    OperationState.CANCELLED: "cancelled",
}


@dataclass(frozen=True, slots=True)
class QueueRules:
    lease_s: float = 30.0  # how long a claim outlives a worker that nobody can ask
    look_s: float = 2.0  # how often work of other processes is looked for
    attempts: int = 5  # that end in an error
    crashes: int = 25  # attempts that end the worker: whoever does that so often is given up
    back_off_s: float = 1.0  # doubled with every attempt
    back_off_limit_s: float = 60.0
    kept_s: float = 7 * 86_400.0  # how long finished operations can be asked about


class Operations:
    """The queue of one store, and this process's worker on it."""

    def __init__(self, memory: Recollect, rules: QueueRules | None = None) -> None:
        self._memory = memory
        self._queue = memory.store.queue
        self.rules = rules or QueueRules()
        self.worker = f"{socket.gethostname()}:{os.getpid()}:{new_id()[-12:]}"
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._purged = 0.0

    # --- accepting ---------------------------------------------------------------------------

    @checked
    def submit_retain(
        self,
        bank: str,
        content: Sequence[Any],
        shared: Mapping[str, Any] | None = None,
        *,
        operation_id: str | None = None,
        request_key: str | None = None,
    ) -> Operation:
        """Accept a retain: it is durable when this returns, and done soon after. The same
        operation id or request key again gives the same operation."""
        new = self._new(bank, content, shared or {}, operation_id, request_key)
        held = self._queue.enqueue(new, now_micros())
        self._wake.set()
        return held

    @checked
    def retain(
        self,
        bank: str,
        content: Sequence[Any],
        shared: Mapping[str, Any] | None = None,
        *,
        request_key: str,
        patience_s: float = 60.0,
    ) -> RetainResult:
        """Retain now, at most once for this request key, whatever crashes in between: the same
        key again gives the same answer, and with other content a Conflict."""
        new = self._new(bank, content, shared or {}, None, request_key)
        lease = self._lease()
        operation = self._queue.enqueue(new, now_micros(), lease)
        if operation.id == new.id:
            self._run_here(operation, lease)
        return self._answer(bank, operation.id, patience_s)

    def _run_here(self, operation: Operation, lease: Lease) -> None:
        """While the caller waits. An error is the caller's; the key is free again unless a part
        is committed: then the worker does the rest, and the same key gives its answer."""
        bank, operation_id = operation.bank, operation.id
        try:
            self._do(operation, lease)
        except LeaseLost:
            log.warning("operation %s was cancelled, or is in other hands now", operation_id)
        except Exception as error:
            self._queue.fail(bank, operation_id, lease.token, _said(error), now_micros())
            found = self._queue.operation(bank, operation_id)
            if found is not None and found.steps:
                self.retry(bank, operation_id)
            else:
                self._queue.delete(bank, operation_id)
            raise

    def _answer(self, bank: str, operation_id: str, patience_s: float) -> RetainResult:
        """Of an operation that may be in other hands: waits for it."""
        until = time.monotonic() + patience_s
        while True:
            found = self._queue.operation(bank, operation_id)
            if found is not None and found.state is OperationState.DONE and found.result:
                return RetainResult.from_dict(found.result)
            if found is None or found.finished:
                raise _unsuccessful(operation_id, found)
            if time.monotonic() > until:
                raise Conflict(
                    f"the request with this key is still being worked on (operation {operation_id})",
                    hint="ask again later with the same key, or look at the operation",
                )
            time.sleep(0.05)

    def _new(
        self,
        bank: str,
        content: Sequence[Any],
        shared: Mapping[str, Any],
        operation_id: str | None,
        request_key: str | None,
    ) -> NewOperation:
        check_bank_name(bank)
        now = datetime.now(UTC)
        read_items(list(content), shared, now)  # what cannot be read is refused now, not later
        asked = _as_json([content, shared])
        if self._memory.store.bank(bank) is None:
            self._memory.create_bank(bank)
        return NewOperation(
            id=operation_id or new_id(),
            bank=bank,
            kind=RETAIN,
            items=len(content),
            payload={"content": list(content), "shared": dict(shared), "now": now.isoformat()},
            fingerprint=hashlib.sha256(asked).digest(),
            request_key=request_key,
        )

    # --- looking -----------------------------------------------------------------------------

    @checked
    def operation(self, bank: str, operation_id: str) -> Operation | None:
        return self._queue.operation(bank, operation_id)

    @checked
    def operations(
        self,
        bank: str,
        *,
        limit: int = 100,
        after: str | None = None,
        state: OperationState | None = None,
        kind: str | None = None,
    ) -> list[Operation]:
        """Newest first."""
        given = {"state": None if state is None else state.value, "kind": kind}
        where = {name: value for name, value in given.items() if value is not None}
        return self._queue.operations(bank, limit, after, where)

    def counts(self, bank: str | None = None) -> Mapping[OperationState, int]:
        return self._queue.counts(bank)

    @checked
    def cancel(self, bank: str, operation_id: str) -> Operation:
        """From now on nothing more of it is stored; the parts that are stay."""
        return self._queue.cancel(bank, operation_id, now_micros())

    @checked
    def retry(self, bank: str, operation_id: str) -> Operation:
        found = self._queue.retry(bank, operation_id, now_micros())
        self._wake.set()
        return found

    @checked
    def delete(self, bank: str, operation_id: str) -> None:
        self._queue.delete(bank, operation_id)

    # --- the worker --------------------------------------------------------------------------

    def start(self) -> None:
        """Take over what workers left that are known to be gone, and begin."""
        self.take_over()
        self._thread = threading.Thread(target=self._work, name="recollect-worker", daemon=True)
        self._thread.start()

    def stop(self, patience_s: float = 30.0) -> None:
        """Finish the operation at hand and leave the rest in the queue."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(patience_s)
            if self._thread.is_alive():
                log.warning(
                    "still at an operation after %s s; another worker finishes it", patience_s
                )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def take_over(self) -> int:
        """Claims of processes of this machine that no longer live are open at once. Those of
        other machines end with their lease."""
        gone = [w for w in self._queue.workers() if w != self.worker and _is_gone(w)]
        return sum(self._queue.abandon(worker, now_micros()) for worker in gone)

    def _work(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                if not self.work_off():
                    self._wake.wait(self._pause())
            except RecollectError as error:  # a store that is locked, full or away for a while
                log.warning("the queue waits: %s", error.message)
                self._wake.wait(self.rules.look_s)
            except Exception:
                log.exception("the queue cannot be worked on; trying again")
                self._wake.wait(self.rules.look_s)

    def _pause(self) -> float:
        """Until something is due; other processes' work is looked for now and then."""
        due = self._queue.due()
        ahead = self.rules.look_s if due is None else (due - now_micros()) / SECOND
        return min(max(ahead, 0.0), self.rules.look_s)

    def work_off(self) -> int:
        """Everything that can be done now, unless told to stop; gives how many."""
        done = 0
        self._tidy()
        for bank in self._queue.waiting(now_micros()):
            while not self._stopping.is_set():
                lease = self._lease()
                try:
                    operation = self._queue.claim(bank, lease, now_micros())
                except NotFound:  # the bank was deleted meanwhile, and its operations with it
                    break
                if operation is None:
                    break
                self._run(operation, lease)
                done += 1
        return done

    def _tidy(self) -> None:
        if time.monotonic() - self._purged > min(3600.0, self.rules.kept_s):
            self._purged = time.monotonic()
            self._queue.purge(now_micros() - int(self.rules.kept_s * SECOND))

    def _lease(self) -> Lease:
        return Lease(self.worker, new_id(), now_micros() + int(self.rules.lease_s * SECOND))

    def _run(self, operation: Operation, lease: Lease) -> None:
        """One attempt, to its end: done, failed, or back in the queue."""
        try:
            if operation.attempts > self.rules.crashes:
                raise _Exhausted(f"given up: it ended its worker {operation.attempts - 1} times")
            self._do(operation, lease)
        except LeaseLost:
            log.warning("operation %s was cancelled, or is in other hands now", operation.id)
        except Exception as error:
            if not isinstance(error, RecollectError | _Exhausted):
                log.exception("operation %s failed", operation.id)
            self._failed(operation, lease, error)

    def _do(self, operation: Operation, lease: Lease) -> None:
        log.debug("operation %s, attempt %d", operation.id, operation.attempts)
        with self._kept(operation, lease) as lost:
            result = _KINDS[operation.kind](self._memory, operation, lease.token, lost)
        self._queue.complete(operation.bank, operation.id, lease.token, result, now_micros())

    def _failed(self, operation: Operation, lease: Lease, error: Exception) -> None:
        """Back to the queue where another try may help; the error is kept either way."""
        rules, token = self.rules, lease.token
        hopeless = isinstance(error, InvalidInput | NotFound | ConfigError | _Exhausted)
        try:
            if hopeless or operation.attempts >= rules.attempts:
                self._queue.fail(operation.bank, operation.id, token, _said(error), now_micros())
                return
            wait = min(rules.back_off_s * 2 ** (operation.attempts - 1), rules.back_off_limit_s)
            again = now_micros() + int(wait * SECOND)
            self._queue.defer(
                operation.bank, operation.id, token, _said(error), again, now_micros()
            )
        except (LeaseLost, NotFound):  # taken over, or its bank deleted: nothing is left to say
            log.warning("operation %s is no longer ours to end: %s", operation.id, _said(error))

    @contextmanager
    def _kept(self, operation: Operation, lease: Lease) -> Generator[threading.Event]:
        """The lease, renewed while the work lasts; gives what is set once it is found lost."""
        ended, lost = threading.Event(), threading.Event()

        def renew() -> None:
            while not ended.wait(self.rules.lease_s / 3):
                longer = Lease(lease.worker, lease.token, self._lease().until)
                try:
                    if not self._queue.renew(operation.bank, operation.id, longer):
                        lost.set()
                        return
                except RecollectError as error:
                    log.warning("the lease of %s was not renewed: %s", operation.id, error.message)

        thread = threading.Thread(target=renew, name="recollect-lease", daemon=True)
        thread.start()
        try:
            yield lost
        finally:
            ended.set()
            thread.join()


class _Exhausted(Exception):
    """An operation that ends its worker again and again."""


def _retain(
    memory: Recollect, operation: Operation, token: str, lost: threading.Event
) -> Mapping[str, Any]:
    return memory.retain_accepted(operation, token, lost.is_set).as_dict()


_Work = Callable[[Recollect, Operation, str, threading.Event], Mapping[str, Any]]
_KINDS: Mapping[str, _Work] = {RETAIN: _retain}


def _said(error: Exception) -> str:
    return (
        error.message if isinstance(error, RecollectError) else f"{type(error).__name__}: {error}"
    )


def _as_json(asked: Any) -> bytes:
    try:
        return orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError as error:
        raise InvalidInput(
            f"what was given cannot be written as JSON: {error}",
            hint="use text, numbers of 64 bits, booleans, lists and dicts with text as keys",
        ) from error


def _unsuccessful(operation_id: str, found: Operation | None) -> RecollectError:
    if found is None or found.state is OperationState.CANCELLED:
        return Conflict(
            f"operation {operation_id!r} was cancelled or deleted; what it had stored by then stays",
            hint="retry the operation, or use a new Idempotency-Key",
        )
    return ServerError(
        f"the retain failed: {found.error}",
        hint=f"operation {operation_id} can be retried, or send it anew with another key",
    )


def _is_gone(worker: str) -> bool:
    """Whether a worker was a process of this machine that no longer runs."""
    host, _, rest = worker.partition(":")
    number = rest.partition(":")[0]
    if host != socket.gethostname() or not number.isdigit():
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return int(number) == os.getpid()  # an earlier life of this very number
