"""Whatever happens to a bank: bounded links at every moment, and nothing left when all is gone."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings

import recollect
from recollect.language.dates import to_micros
from recollect.storage.base import Filter
from recollect.testing import open_fake

from .histories import BANK, LIFE, live

TABLES = [
    "memories",
    "features",
    "tokens",
    "documents",
    "chunks",
    "entities",
    "links",
    "evidence",
    "sources",
]


def rows(db: Path, sql: str) -> list[tuple[int, ...]]:
    connection = sqlite3.connect(db)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def outgoing(memory: recollect.Recollect, db: Path, allowed: Filter) -> list[int]:
    """How many semantic links lead from each visible memory to visible ones."""
    links = np.array(rows(db, "SELECT source, target FROM links WHERE kind = 'semantic'"), np.int64)
    if not len(links):
        return []
    view = memory._store.view(BANK)
    seen = view.allows(links[:, 0], allowed) & view.allows(links[:, 1], allowed)
    return np.unique(links[seen, 0], return_counts=True)[1].tolist()


@settings(max_examples=25)
@given(LIFE)
def test_links_are_bounded_at_every_moment(steps) -> None:
    with TemporaryDirectory() as folder, open_fake(Path(folder) / "m.db") as memory:
        memory.create_bank(BANK)
        moments: list[datetime] = []
        for step in steps:
            live(memory, [step])
            moments.append(datetime.now(UTC))
        db = Path(folder) / "m.db"
        filters = [Filter(), *(Filter(as_of=to_micros(m)) for m in moments)]
        for allowed in filters:
            assert max(outgoing(memory, db, allowed), default=0) <= 5


@settings(max_examples=25)
@given(LIFE)
def test_no_link_leads_to_what_is_gone(steps) -> None:
    with TemporaryDirectory() as folder, open_fake(Path(folder) / "m.db") as memory:
        live(memory, steps)
        loose = """SELECT count(*) FROM links l WHERE NOT EXISTS
          (SELECT 1 FROM memories m WHERE m.n = (l.bank << 40 | l.source)) OR NOT EXISTS
          (SELECT 1 FROM memories m WHERE m.n = (l.bank << 40 | l.target))"""
        assert rows(Path(folder) / "m.db", loose) == [(0,)]


@settings(max_examples=25)
@given(LIFE)
def test_when_all_is_forgotten_nothing_is_left(steps) -> None:
    with TemporaryDirectory() as folder, open_fake(Path(folder) / "m.db") as memory:
        live(memory, steps)
        for document in memory.documents(BANK):
            memory.forget(BANK, document_id=document.id)
        while held := memory.memories(BANK, limit=1):
            memory.forget(BANK, held[0].id)
        left = {t: rows(Path(folder) / "m.db", f"SELECT count(*) FROM {t}")[0][0] for t in TABLES}
        assert left == dict.fromkeys(TABLES, 0)
