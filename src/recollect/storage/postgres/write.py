"""The rows of one `Batch`, on the server: new ones in bulk, by COPY."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import orjson
from pgvector import HalfVector

from recollect.language.dates import now_micros
from recollect.storage.base import Batch, KeyLink, NewDocument, NewEvidence, NewMemory
from recollect.storage.forget import Forgetting
from recollect.storage.index.record import STATE_CODE, TYPE_CODE, Unseen, postings, record
from recollect.storage.memory_row import extra_of, told, weighed
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.queue import take_step
from recollect.storage.postgres.rows import BankRows, happened
from recollect.storage.postgres.session import Head, WriteSession
from recollect.storage.write import BatchWriter
from recollect.types import Entity, LinkKind, State

MEMORIES = {
    "bank_id": "text", "key": "int8", "id": "text", "type": "text", "state": "text",
    "text": "text", "context": "text", "speaker": "text", "document_id": "text",
    "chunk_id": "text", "occurred_start": "int8", "occurred_end": "int8",
    "occurred_grain": "text", "mentioned_at": "int8", "last_mentioned_at": "int8",
    "created_at": "int8", "updated_at": "int8", "superseded_by": "text", "proof_count": "int4",
    "confidence": "float8", "tokens": "int4", "extra": "text", "known_from": "int8",
    "known_until": "int8", "entities": "int8[]",
}  # fmt: skip
FEATURES = {
    "bank_id": "text", "key": "int8", "type": "int2", "state": "int2", "happened_from": "int8",
    "happened_until": "int8", "known_from": "int8", "known_until": "int8", "statement": "int8",
    "slot": "int8", "previous": "int8", "tags": "text[]",
    "record": "bytea", "vector": "halfvec",
}  # fmt: skip
TOKENS = {"bank_id": "text", "key": "int8", "terms": "bytea", "data": "bytea"}
MENTIONS = {"bank_id": "text", "entity": "int8", "key": "int8"}
SOURCES = {"bank_id": "text", "key": "int8", "source": "int8"}
CHUNKS = {
    "bank_id": "text",
    "document_id": "text",
    "position": "int4",
    "id": "text",
    "text": "text",
}
EVIDENCE = {
    "bank_id": "text", "number": "int8", "key": "int8", "at": "int8", "document_id": "text",
    "chunk_id": "text", "text": "text",
}  # fmt: skip


REACH = 1024  # commits whose changes are kept, for whoever holds a bank to catch up by
REMEMBERED = 32  # commits a bank's row names, to tell whether one that was cut off got through


def write(
    session: WriteSession, bank: str, head: Head, batch: Batch, commit: UUID
) -> tuple[Head, int]:
    """A batch, and the bank's own row; gives that row as far as it is known to be after it, and how
    many memories went."""
    seq, now = head.seq + 1, now_micros()
    if batch.step is not None:
        take_step(session, bank, batch.step, now)
    rows = BankRows(session, bank, seq)
    forgetting = Forgetting(rows, max(head.next_key, batch.free_key))
    writer = Writer(session, rows, forgetting, head.next_evidence, now)
    writer.apply(batch)
    if batch.forgets:
        session.run(query("drop_ended_payloads"), {"bank": bank})
    given = {
        "bank": bank,
        "seq": seq,
        "changes_since": _put_changes(session, rows, head.next_key),
        "forgot_seq": seq if batch.takes_away else head.forgot_seq,
        "next_key": forgetting.next_key,
        "next_entity": batch.free_entity,
        "next_evidence": writer.next_evidence,
        "memories": rows.memories,
        "documents": rows.documents,
        "size": rows.size,
        "field_length": (rows.field_length + head.field_length).tolist(),
        "field_count": (rows.field_count + head.field_count).tolist(),
        "commits": [*head.commits[1 - REMEMBERED :], commit],
        "now": now,
    }
    session.run(query("advance_bank"), given)
    after = head._replace(seq=seq, next_key=forgetting.next_key, size=head.size + rows.size)
    return after, forgetting.count


def _put_changes(session: WriteSession, rows: BankRows, next_key: int) -> int:
    """Note what was there before and is not as it was; gives since when such notes are kept."""
    changed = sorted(key for key in rows.changed if key < next_key)
    if not changed:
        return 0
    session.run(query("drop_changes"), {"bank": rows.bank, "upto": rows.seq - REACH})
    session.run(query("put_changes"), {"bank": rows.bank, "seq": rows.seq, "keys": changed})
    return rows.seq - REACH


class Writer(BatchWriter[BankRows]):
    def __init__(
        self,
        session: WriteSession,
        rows: BankRows,
        forgetting: Forgetting,
        next_evidence: int,
        now: int,
    ) -> None:
        super().__init__(rows, forgetting, now)
        self._session = session
        self._bank = rows.bank
        self.next_evidence = next_evidence

    def _documents(self, documents: Sequence[NewDocument]) -> None:
        if not documents:
            return
        ids = [d.id for d in documents]
        held = {i for (i,) in self._rows.fetch("known_documents", ids=ids)}
        self._rows.documents += len(set(ids) - held)
        for d in documents:
            self._rows.run(
                "put_document",
                id=d.id,
                hash=d.hash,
                context=d.context,
                tags=orjson.dumps(d.tags).decode(),
                metadata=orjson.dumps(d.metadata).decode(),
                created_at=self._now if d.created_at is None else d.created_at,
                updated_at=self._now if d.updated_at is None else d.updated_at,
            )
        chunks = {c.id: c for d in documents for c in d.chunks}
        self._rows.run("clear_chunks", ids=list(chunks))
        self._copy(
            "chunks", CHUNKS, [(c.document_id, c.position, c.id, c.text) for c in chunks.values()]
        )

    def _memories(self, memories: Sequence[NewMemory]) -> None:
        if not memories:
            return
        terms = [(new.key, postings(new.memory)) for new in memories]
        self._copy("memories", MEMORIES, [_memory_row(new) for new in memories])
        self._copy("features", FEATURES, [_features_row(new) for new in memories])
        self._copy(
            "tokens",
            TOKENS,
            [
                (key, held, None if new.tokens is None else new.tokens.tobytes())
                for (key, held), new in zip(terms, memories, strict=True)
            ],
        )
        self._copy(
            "mentions", MENTIONS, [(e, new.key) for new in memories for e in set(new.entity_ids)]
        )
        self._rows.put_in(terms)
        self._rows.size += len(memories)
        self._rows.memories += sum(new.memory.state is not State.REVISED for new in memories)
        for new in memories:
            if new.replaces is not None:
                self._inherit(new, new.replaces)
        self._copy(
            "sources",
            SOURCES,
            [(new.key, s) for new in memories for s in self._present(new.sources)],
        )

    def _copy(
        self, table: str, columns: Mapping[str, str], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        self._session.copy(table, columns, [(self._bank, *row) for row in rows])

    def _inherit(self, new: NewMemory, old: int) -> None:
        pair = {"old": old, "new": new.key}
        same, over = new.vector is None, new.memory.state is State.REVISED
        self._rows.run("inherit_links_from", **pair, same=same, over=over)
        self._rows.run("inherit_links_to", **pair, same=same, over=over)
        if not over:
            self._rows.run("clear_sources", key=old)
            self._rows.run("move_evidence", **pair)
            self._rows.run("move_sources", **pair)
        if same:
            self._rows.run("inherit_vector", **pair)
            self._rows.run("inherit_tokens", **pair)

    def _links_among(self, keys: Sequence[int]) -> Sequence[KeyLink]:
        rows = self._rows.fetch("links_among", keys=list(keys))
        return [KeyLink(s, t, LinkKind(kind), weight) for s, t, kind, weight in rows]

    def _mentions(self, mentions: Sequence[NewEvidence]) -> None:
        first = self.next_evidence
        self.next_evidence += len(mentions)
        rows = [
            (first + n, m.key, m.at, m.document_id, m.chunk_id, m.text)
            for n, m in enumerate(mentions)
        ]
        self._copy("evidence", EVIDENCE, rows)

    def _links(self, batch: Batch) -> None:
        if batch.unlink:
            self._rows.run("unlink", keys=self._present(batch.unlink))
        best: dict[tuple[int, int, str], float] = {}
        for link in batch.links:
            source, target = self._ends(link)
            if source is not None and target is not None:
                place = (source, target, link.kind.value)
                best[place] = max(link.weight, best.get(place, 0.0))
        if best:
            self._rows.run(
                "put_links",
                sources=[s for s, _, _ in best],
                targets=[t for _, t, _ in best],
                kinds=[k for _, _, k in best],
                weights=[float(w) for w in best.values()],
            )

    def _ends(self, link: KeyLink) -> tuple[int | None, int | None]:
        return self._forgetting.key(link.source), self._forgetting.key(link.target)

    def _entities(self, entities: Sequence[Entity]) -> None:
        last = {e.id: e for e in entities}
        if last:
            self._rows.run(
                "put_entities",
                seq=self._rows.seq,
                ids=list(last),
                names=[e.name for e in last.values()],
                kinds=[e.kind for e in last.values()],
                aliases=[orjson.dumps(e.aliases).decode() for e in last.values()],
                mentions=[e.mentions for e in last.values()],
            )

    def _put_sources(self, key: int, ids: Sequence[str]) -> None:
        self._rows.run("clear_sources", key=key)
        self._rows.run("put_sources", key=key, ids=list(ids))


def _memory_row(new: NewMemory) -> tuple[Any, ...]:
    rest = extra_of(new.memory), new.known_from, new.known_until, sorted(set(new.entity_ids))
    return new.key, *told(new.memory), *weighed(new.memory), *rest


def _features_row(new: NewMemory) -> tuple[Any, ...]:
    m = new.memory
    packed = record(m, Unseen(new.statement, new.slot, new.before, new.known_from, new.known_until))
    return (
        new.key,
        TYPE_CODE[m.type],
        STATE_CODE[m.state],
        *happened(packed),
        new.known_from,
        new.known_until,
        new.statement,
        new.slot,
        new.before,
        list(m.tags),
        packed,
        None if new.vector is None else HalfVector(new.vector),
    )
