"""Banks from a file to PostgreSQL and back: lossless, resumable, and they rank the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import given, settings

import recollect
from recollect.testing import open_fake
from storage.histories import BANK, LIFE, answers, live


@pytest.fixture
def there(postgres: str, schema: str) -> Iterator[recollect.Recollect]:
    with open_fake(postgres, pg_schema=schema) as memory:
        yield memory


def exported(memory: recollect.Recollect, bank: str = BANK) -> list[bytes]:
    lines = (orjson.dumps(line, option=orjson.OPT_SORT_KEYS) for line in memory.export(bank))
    return list(lines)


def test_there_and_back_is_the_same_bank(there: recollect.Recollect) -> None:
    @settings(max_examples=15, deadline=None)
    @given(LIFE)
    def holds(steps) -> None:
        with TemporaryDirectory() as folder, open_fake(Path(folder) / "one.db") as here:
            live(here, steps)
            try:
                assert here.copy(BANK, there).same
                assert exported(there) == exported(here)
                assert answers(there) == answers(here)
                assert there.copy(BANK, here, name="back").same
                assert exported(here, "back")[1:] == exported(here)[1:]
            finally:
                there.delete_bank(BANK)

    holds()


def test_what_was_copied_goes_on_as_before(there: recollect.Recollect, db: Path) -> None:
    with open_fake(db) as here:
        here.retain(BANK, {"text": "Alice works at Google", "timestamp": "2024-01-01"})
        here.copy(BANK, there)
        for memory in (here, there):
            made = memory.retain(BANK, {"text": "Alice works at Meta", "timestamp": "2025-01-01"})
            assert len(made.superseded) == 1
        assert [h.text for h in here.recall(BANK, "Where does Alice work?")] == [
            h.text for h in there.recall(BANK, "Where does Alice work?")
        ]


def test_a_bank_born_in_postgresql_is_the_same_in_a_file(
    there: recollect.Recollect, db: Path
) -> None:
    live(there, [("retain", [{"text": "Alice met Bob in Rome", "document_id": "d1"}])])
    first = there.memories(BANK)[0].id
    there.update(BANK, first, text="Alice met Bob in Oslo")
    there.retain(BANK, {"text": "Bob drinks tea", "type": "observation", "source_ids": [first]})
    with open_fake(db) as here:
        assert there.copy(BANK, here).same
        assert exported(here) == exported(there)
        assert answers(here) == answers(there)


def test_killed_again_and_again_the_copy_gets_there(
    there: recollect.Recollect, postgres: str, schema: str, db: Path
) -> None:
    with open_fake(db) as here:
        facts = [{"text": f"Person{n % 97} bought {n} apples"} for n in range(1200)]
        here.retain(BANK, {"facts": facts, "document_id": "d"})
        whole = exported(here)
    moments = random.Random(5)
    command = [sys.executable, "-m", "recollect.cli", "copy", str(db), postgres, "--json"]
    environment = {**os.environ, "RECOLLECT_PG_SCHEMA": schema}
    for number in range(5):
        running = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            running.communicate(timeout=moments.uniform(0.5, 1.0 + number / 2))
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.communicate()
        for bank in there.banks():
            assert exported(there, bank.id) == whole
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert orjson.loads(done.stdout)[0]["same"]
    assert exported(there) == whole
