"""The queue on PostgreSQL: killed again and again, accepted work takes effect once."""

from __future__ import annotations

import subprocess
import sys
import time
from uuid import uuid4

import psycopg
from psycopg import sql

from recollect.server.operations import Operations
from recollect.testing import open_fake
from recollect.types import OperationState

BANK = "alice"
FACTS = [{"text": f"Fact {n} is about {n * n}"} for n in range(1000)]
WORKER = """
import sys
from recollect.server.operations import Operations
from recollect.testing import open_fake
with open_fake(sys.argv[1], pg_schema=sys.argv[2]) as memory, Operations(memory):
    sys.stdin.read()
"""


def kill_during(postgres: str, schema: str, operations: Operations, operation_id: str, steps: int):
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, postgres, schema], stdin=subprocess.PIPE
    )
    until = time.monotonic() + 60
    while (found := operations.operation(BANK, operation_id)) is not None and found.steps < steps:
        assert not found.finished and time.monotonic() < until
        time.sleep(0.005)
    worker.kill()
    worker.communicate()


def test_killed_again_and_again_it_takes_effect_exactly_once(postgres: str) -> None:
    schema = f"test_{uuid4().hex[:12]}"
    try:
        with open_fake(postgres, pg_schema=schema) as memory:
            operations = Operations(memory)
            operation = operations.submit_retain(BANK, FACTS)
            for steps in (1, 2):
                kill_during(postgres, schema, operations, operation.id, steps)
            operations.take_over()
            operations.work_off()
            done = operations.operation(BANK, operation.id)
            assert done is not None and done.state is OperationState.DONE
            found = memory.memories(BANK, limit=10_000)
            assert sorted(m.text for m in found) == sorted(f["text"] for f in FACTS)
            assert {m.proof_count for m in found} == {1}
    finally:
        with psycopg.connect(postgres, autocommit=True) as db:
            db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))
