"""The same vault on a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from recollect import Recollect
from recollect.testing import open_fake
from recollect.types import State
from recollect.vault import sync

from .conftest import BANK


@pytest.fixture
def served(postgres: str) -> Iterator[Recollect]:
    psycopg = pytest.importorskip("psycopg")
    schema = f"vault_{uuid4().hex[:12]}"
    with open_fake(postgres, pg_schema=schema) as opened:
        yield opened
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def test_a_deleted_note_leaves_to_another_what_both_say(served: Recollect, vault: Path) -> None:
    said = [f"Person{n} moved to the town of Place{n} for work." for n in range(60)]
    for name in ("a.md", "b.md"):
        (vault / name).write_text("\n\n".join([*said, f"Only {name} says so."]))
        sync(served, BANK, vault)
    (vault / "a.md").unlink()
    sync(served, BANK, vault)
    held = served.memories(BANK, state="active", limit=1000)
    assert sorted(m.text for m in held) == sorted([*said, "Only b.md says so."])
    assert not sync(served, BANK, vault).changed


def test_a_vault_is_kept_in_step_with_a_server(served: Recollect, bastra: Path) -> None:
    sync(served, BANK, bastra)
    assert served.load(BANK, "storage-json-files").state is State.SUPERSEDED
    assert not sync(served, BANK, bastra).changed
    served.update(BANK, "storage-sqlite", scope="everywhere")
    served.retain(BANK, {"text": "Priya prefers tea.", "id": "tea"})
    path = bastra / "css-effects-do-not-stack.md"
    path.write_text(path.read_text().replace("Every layer", "Each layer"))
    report = sync(served, BANK, bastra)
    assert (report.updated, report.edited) == ([path.name], ["storage-sqlite.md"])
    assert report.written == ["memories/Priya prefers tea.md"]
    assert "Each layer" in served.load(BANK, "css-effects-do-not-stack").text
    assert served.due(BANK, state="expired")[0].memory.id == "tailwind-layer-order"
    assert not sync(served, BANK, bastra).changed
