"""What a bank holds, listed and counted: documents, memories, entities, links."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from recollect.storage.bank_row import document_from_row
from recollect.storage.base import BankStats, DocumentAxis, Listing
from recollect.storage.counting import link_counts, total_links
from recollect.storage.entities import entity_from_row
from recollect.storage.index.record import KEY_BITS, KEY_MASK
from recollect.storage.memory_row import MEMORY_COLUMNS, memory_from_row
from recollect.storage.refusals import nothing_to_go_on_from, unknown_bank
from recollect.storage.sqlite.listing import beyond, conditions, order
from recollect.storage.sqlite.read import SqliteView
from recollect.storage.sqlite.rows import row_span
from recollect.types import Chunk, Document, Entity, Link, LinkKind, Memory


class Lists(ABC):
    """The part of the store that only reads rows."""

    @abstractmethod
    def _execute(self, sql: str, arguments: Sequence[Any] = ()) -> list[Any]: ...

    @abstractmethod
    def _held(self, bank: str) -> SqliteView: ...

    def _number(self, bank: str) -> int:
        rows = self._execute("SELECT bank FROM banks WHERE id = ? AND arriving IS NULL", (bank,))
        if not rows:
            raise unknown_bank(bank)
        return rows[0][0]

    def documents(
        self,
        bank: str,
        limit: int,
        after: tuple[int, str] | None = None,
        axis: DocumentAxis = "updated_at",
    ) -> list[Document]:
        further, given = "", ()
        if after is not None:
            further, given = f" AND {axis} <= ? AND ({axis}, id) < (?, ?)", (after[0], *after)
        order = f"ORDER BY {axis} DESC, id DESC"
        return self._documents(bank, f"{further} {order} LIMIT ?", (*given, limit), order)

    def document(self, bank: str, document_id: str) -> Document | None:
        found = self._documents(bank, " AND id = ?", (document_id,))
        return found[0] if found else None

    def _documents(
        self, bank: str, which: str, arguments: Sequence[Any], order: str = ""
    ) -> list[Document]:
        # Which is settled inside: only of these the chunks and memories are counted.
        rows = self._execute(
            f"""SELECT d.id, d.tags, d.metadata, d.context, d.created_at, d.updated_at,
            (SELECT count(*) FROM chunks c WHERE c.bank = d.bank AND c.document_id = d.id),
            (SELECT count(*) FROM memories m WHERE m.bank = d.bank AND m.document_id = d.id
               AND m.state <> 'revised'),
            (SELECT coalesce(sum(length(c.text)), 0) FROM chunks c
               WHERE c.bank = d.bank AND c.document_id = d.id)
            FROM (SELECT * FROM documents WHERE bank = ?{which}) d {order}""",
            (self._number(bank), *arguments),
        )
        return [document_from_row(bank, row) for row in rows]

    def document_chunks(self, bank: str, document_id: str) -> list[Chunk]:
        rows = self._execute(
            "SELECT id, document_id, position, text FROM chunks WHERE bank = ? AND document_id = ? ORDER BY position",
            (self._number(bank), document_id),
        )
        return [Chunk(*row) for row in rows]

    def memories(
        self, bank: str, where: Listing, limit: int, after: str | None = None, skip: int = 0
    ) -> list[Memory]:
        """`after` is the last id seen of this listing."""
        number = self._number(bank)
        view = self._held(bank)
        below = view.key_of(after) if after else None
        if after and below is None:
            raise nothing_to_go_on_from(bank, after)
        clauses, arguments = conditions(where, number)
        if below is not None:
            further, given = beyond(where, number << KEY_BITS | below)
            clauses, arguments = f"{clauses} AND {further}", [*arguments, *given]
        rows = self._execute(
            f"""SELECT n & {KEY_MASK} FROM memories WHERE {clauses}
            ORDER BY {order(where)} LIMIT ? OFFSET ?""",
            (*arguments, limit, skip),
        )
        return list(view.load([k for (k,) in rows]).values())

    def count(self, bank: str, where: Listing) -> int:
        clauses, arguments = conditions(where, self._number(bank))
        ((found,),) = self._execute(f"SELECT count(*) FROM memories WHERE {clauses}", arguments)
        return found

    def tags(self, bank: str) -> Mapping[str, int]:
        return dict(
            self._execute(
                """SELECT t.value, count(*) FROM memories, json_each(memories.extra, '$.tags') t
                WHERE n >= ? AND n < ? AND state IN ('active', 'superseded') GROUP BY 1
                ORDER BY 2 DESC, 1""",
                row_span(self._number(bank)),
            )
        )

    def revisions(self, bank: str, memory_id: str) -> list[Memory]:
        rows = self._execute(
            f"SELECT {MEMORY_COLUMNS} FROM memories m WHERE bank = ? AND id = ? AND state = 'revised' ORDER BY n",
            (self._number(bank), memory_id),
        )
        return [memory_from_row(bank, row, ()) for row in rows]

    def entities(self, bank: str, limit: int) -> list[Entity]:
        rows = self._execute(
            """SELECT id, name, kind, aliases, mentions FROM entities WHERE bank = ?
            ORDER BY mentions DESC, name LIMIT ?""",
            (self._number(bank), limit),
        )
        return [entity_from_row(row) for row in rows]

    def links(self, bank: str, memory_id: str) -> list[Link]:
        number = self._number(bank)
        rows = self._execute(
            """SELECT a.id, b.id, l.kind, l.weight FROM memories m
            JOIN links l ON l.bank = ?1 AND (l.source = (m.n & ?4) OR l.target = (m.n & ?4))
            JOIN memories a ON a.n = (?1 << ?2 | l.source) AND a.state <> 'revised'
            JOIN memories b ON b.n = (?1 << ?2 | l.target) AND b.state <> 'revised'
            WHERE m.bank = ?1 AND m.id = ?3 AND m.state <> 'revised'
            ORDER BY l.weight DESC, a.id, b.id""",
            (number, KEY_BITS, memory_id, KEY_MASK),
        )
        return [Link(a, b, LinkKind(kind), weight) for a, b, kind, weight in rows]

    def stats(self, bank: str) -> BankStats:
        number = self._number(bank)
        inside = row_span(number)
        groups = {
            column: dict(
                self._execute(
                    f"SELECT {column}, count(*) FROM memories WHERE n >= ? AND n < ?{only} GROUP BY 1",
                    inside,
                )
            )
            for column, only in (("type", " AND state <> 'revised'"), ("state", ""))
        }
        (documents,), (chunks,), (entities,) = (
            self._execute(f"SELECT count(*) FROM {t} WHERE bank = ?", (number,))[0]
            for t in ("documents", "chunks", "entities")
        )
        # Counted for each memory first: its row is looked up once, not for every link.
        links = link_counts(
            self._execute(
                """SELECT m.type, l.kind, sum(l.count) FROM
                (SELECT source, kind, count(*) AS count FROM links WHERE bank = ? GROUP BY 1, 2) l
                JOIN memories m ON m.n = ? + l.source GROUP BY 1, 2""",
                (number, inside[0]),
            )
        )
        (pages,), (page_size,) = (
            self._execute(f"PRAGMA {p}")[0] for p in ("page_count", "page_size")
        )
        return BankStats(
            sum(v for k, v in groups["state"].items() if k != "revised"),
            groups["type"],
            groups["state"],
            documents,
            chunks,
            entities,
            total_links(links),
            pages * page_size,
            links,
        )
