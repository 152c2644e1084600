"""The queue on PostgreSQL: killed again and again, accepted work takes effect once."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from recollect.retain.pipeline import GROUP
from recollect.server.operations import Operations
from recollect.testing import open_fake
from recollect.types import Operation, OperationState

BANK = "alice"
FACTS = [{"text": f"Fact {n} is about {n * n}"} for n in range(1000)]
WORKER = """
import sys
from recollect.server.operations import Operations
from recollect.testing import open_fake
with open_fake(sys.argv[1], pg_schema=sys.argv[2]) as memory, Operations(memory):
    sys.stdin.read()
"""


@pytest.fixture
def schema(postgres: str) -> Iterator[str]:
    name = f"test_{uuid4().hex[:12]}"
    yield name
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


@contextmanager
def working(postgres: str, schema: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of another process."""
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, postgres, schema], stdin=subprocess.PIPE
    )
    try:
        yield worker
    finally:
        worker.kill()
        worker.communicate()


def wait_until(ready: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not ready():
        assert time.monotonic() < until
        time.sleep(0.005)


def look(operations: Operations, operation_id: str) -> Operation:
    found = operations.operation(BANK, operation_id)
    assert found is not None
    return found


def test_killed_again_and_again_it_takes_effect_exactly_once(postgres: str, schema: str) -> None:
    with open_fake(postgres, pg_schema=schema) as memory:
        operations = Operations(memory)
        operation = operations.submit_retain(BANK, FACTS)
        for steps in (1, 2):
            with working(postgres, schema):
                wait_until(lambda n=steps: look(operations, operation.id).steps >= n)
            assert not look(operations, operation.id).finished
        operations.take_over()
        operations.work_off()
        assert look(operations, operation.id).state is OperationState.DONE
        found = memory.memories(BANK, limit=10_000)
        assert sorted(m.text for m in found) == sorted(f["text"] for f in FACTS)
        assert {m.proof_count for m in found} == {1}


def test_of_what_is_cancelled_no_other_process_stores_more(postgres: str, schema: str) -> None:
    with open_fake(postgres, pg_schema=schema) as memory, working(postgres, schema):
        operations = Operations(memory)
        operation = operations.submit_retain(BANK, FACTS)
        behind = operations.submit_retain(BANK, [{"text": "What stands behind it"}])
        wait_until(lambda: look(operations, operation.id).steps >= 1)
        cancelled = operations.cancel(BANK, operation.id)
        assert cancelled.state is OperationState.CANCELLED
        wait_until(lambda: look(operations, behind.id).finished)
        assert look(operations, operation.id) == cancelled
        found = memory.memories(BANK, limit=10_000)
        assert len(found) == cancelled.steps * GROUP + 1 < len(FACTS)
