"""One bank's rows inside a write transaction: read many at a time, written back together.

A statement is a round trip here, so what a deletion will ask of a memory is read for all of them
at once (`expect`), and what goes is deleted in bulk at the end (`flush`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
import orjson

from recollect.storage.base import NO_TIME
from recollect.storage.forget import Said
from recollect.storage.index.record import POSTING, RECORD, STATE_CODE, Unseen, postings, record
from recollect.storage.memory_row import MEMORY_WIDTH, extra_of, memory_from_row, micros
from recollect.storage.postgres.postings import BLOCK_BITS, FIELDS, blocks_of, totals, without
from recollect.storage.postgres.queries import query
from recollect.storage.postgres.session import WriteSession
from recollect.types import Memory, State

_BY_KEYS = (
    "drop_memories", "drop_features", "drop_tokens", "drop_staged", "drop_links_from",
    "drop_links_to", "drop_evidence_of", "drop_sources",
)  # fmt: skip


class BankRows:
    """A bank's rows, at the change sequence that this transaction will have."""

    def __init__(self, session: WriteSession, bank: str, seq: int) -> None:
        self._session = session
        self.bank = bank
        self.seq = seq
        # What the bank's own row counts, and how it moves.
        self.memories = self.documents = self.size = 0
        self.field_length = np.zeros(FIELDS, np.int64)
        self.field_count = np.zeros(FIELDS, np.int64)
        self._memory: dict[int, Memory] = {}
        self._unseen: dict[int, Unseen] = {}
        self._entities: dict[int, list[int]] = {}
        self._mentions: dict[int, list[tuple[int, Said]]] = {}
        self._observations: dict[int, list[int]] = {}
        self._revisions: dict[str, list[int]] = {}
        self._superseded: dict[str, list[int]] = {}
        self._chunks: dict[str, str | None] = {}
        self._cut: dict[str, str] = {}  # chunks with something taken out
        self._unread: set[str] = set()  # documents to be read again when they are given again
        self._gone: list[int] = []
        self._gone_entities: list[int] = []
        self.changed: set[int] = set()  # memories that were there before, and are not as they were

    def fetch(self, name: str, **given: Any) -> list[tuple[Any, ...]]:
        return self._session.fetch(query(name), {"bank": self.bank, **given})

    def run(self, name: str, **given: Any) -> int:
        return self._session.run(query(name), {"bank": self.bank, **given})

    # --- reading -----------------------------------------------------------------------------

    def expect(self, keys: Sequence[int]) -> None:
        new = [k for k in keys if k not in self._mentions]
        if not new:
            return
        self.read(new)
        ids = [self._memory[k].id for k in new]
        for key in new:
            self._mentions[key], self._observations[key] = [], []
        for memory_id in ids:
            self._revisions[memory_id], self._superseded[memory_id] = [], []
        for key, number, *said in self.fetch("evidence_of", keys=new):
            self._mentions[key].append((number, Said(*said)))
        for source, key in self.fetch("observations_of", keys=new):
            self._observations[source].append(key)
        for memory_id, key in self.fetch("revisions_of", ids=ids):
            self._revisions[memory_id].append(key)
        for memory_id, key in self.fetch("superseded_by", ids=ids):
            self._superseded[memory_id].append(key)
        said_in = {self._memory[k].chunk_id for k in new}
        said_in |= {s.chunk_id for k in new for _, s in self._mentions[k]}
        self._read_chunks(c for c in said_in if c is not None)
        self.read([k for i in ids for k in (*self._revisions[i], *self._superseded[i])])

    def read(self, keys: Iterable[int]) -> None:
        """Memories that are about to be asked for."""
        missing = [k for k in dict.fromkeys(keys) if k not in self._memory]
        for row in self.fetch("rows", keys=missing) if missing else ():
            known_from, known_until, statement, slot, previous, entities = row[MEMORY_WIDTH:]
            self._memory[row[0]] = memory_from_row(self.bank, row, ())
            self._unseen[row[0]] = Unseen(statement, slot, previous, known_from, known_until)
            self._entities[row[0]] = list(entities)

    def load(self, key: int) -> Memory:
        self.read([key])
        return self._memory[key]

    def unseen(self, key: int) -> Unseen:
        self.read([key])
        return self._unseen[key]

    def entities(self, key: int) -> Iterable[int]:
        self.read([key])
        return self._entities[key]

    def revisions(self, memory_id: str) -> list[int]:
        if memory_id not in self._revisions:
            self._revisions[memory_id] = [k for _, k in self.fetch("revisions_of", ids=[memory_id])]
        return self._left(self._revisions[memory_id])

    def superseded_by(self, memory_id: str) -> list[int]:
        if memory_id not in self._superseded:
            self._superseded[memory_id] = [
                k for _, k in self.fetch("superseded_by", ids=[memory_id])
            ]
        held = self._left(self._superseded[memory_id])
        # One that was reinstated or handed on meanwhile no longer is.
        return [k for k in held if self.load(k).superseded_by == memory_id]

    def _left(self, keys: Iterable[int]) -> list[int]:
        gone = set(self._gone)
        return [k for k in keys if k not in gone]

    # --- changing one ------------------------------------------------------------------------

    def rewrite(self, key: int, memory: Memory, known_until: int | None = None) -> None:
        """Everything but the wording, which terms and vectors were made of."""
        unseen = self.unseen(key).closed(memory.state, known_until)
        before = self._memory[key]
        self.memories += (before.state is State.REVISED) - (memory.state is State.REVISED)
        if before.superseded_by != memory.superseded_by and memory.superseded_by is not None:
            held = self._superseded.get(memory.superseded_by)
            if held is not None and key not in held:
                held.append(key)
        self._memory[key], self._unseen[key] = memory, unseen
        self.run(
            "rewrite_memory",
            key=key,
            state=memory.state.value,
            last_mentioned_at=micros(memory.last_mentioned_at),
            updated_at=micros(memory.updated_at),
            known_until=unseen.known_until,
            superseded_by=memory.superseded_by,
            proof_count=memory.proof_count,
            confidence=memory.confidence,
            document_id=memory.document_id,
            chunk_id=memory.chunk_id,
            extra=extra_of(memory),
        )
        self._rewrite_features(key, memory, unseen)

    def _rewrite_features(self, key: int, memory: Memory, unseen: Unseen) -> None:
        packed = record(memory, unseen)
        start, end = happened(packed)
        self.changed.add(key)
        self.run(
            "rewrite_features",
            key=key,
            code=STATE_CODE[memory.state],
            happened_from=start,
            happened_until=end,
            known_until=unseen.known_until,
            record=packed,
        )

    def tell(self, key: int, at: int | None) -> None:
        self.changed.add(key)
        self.run("tell", key=key, at=at)

    def reword(self, key: int, new: int, memory: Memory) -> None:
        """The same memory under a new key and in other words."""
        unseen, entities = self.unseen(key), self._entities[key]
        terms = postings(memory)
        self._take_out([key])
        self.changed.add(key)
        moved = {"old": key, "new": new}
        self.run("move_memory", **moved, text=memory.text, tokens=memory.tokens)
        self.run("move_tokens", **moved, terms=terms)
        self.run("move_mentions", **moved, entities=entities)
        for name in ("features", "evidence", "sources", "observation", "links_from", "links_to"):
            self.run(f"move_{name}", **moved)
        self._rewrite_features(new, memory, unseen)
        self.put_in([(new, terms)])
        self._memory[new], self._unseen[new] = memory, unseen
        self._entities[new] = entities
        self._mentions[new] = self._mentions.pop(key, [])
        self._observations[new] = self._observations.pop(key, [])
        for held in self._observations.values():
            held[:] = [new if k == key else k for k in held]

    def drop(self, key: int) -> Iterable[int]:
        self.read([key])
        self._gone.append(key)
        self.changed.add(key)
        self.size -= 1
        self.memories -= self._memory[key].state is not State.REVISED
        return self._entities[key]

    # --- terms -------------------------------------------------------------------------------

    def put_in(self, terms: Sequence[tuple[int, bytes]]) -> None:
        """The terms of new wordings."""
        blocks = blocks_of(terms)
        if blocks:
            self.run(
                "append_postings",
                terms=[t for t, _ in blocks],
                blocks=[b for _, b in blocks],
                data=list(blocks.values()),
            )
        added = totals(terms)
        self.field_length += added.length
        self.field_count += added.having

    def _take_out(self, keys: Sequence[int]) -> None:
        held: list[tuple[int, bytes]] = [(k, t) for k, t in self.fetch("terms_of", keys=keys)]
        taken = totals(held)
        self.field_length -= taken.length
        self.field_count -= taken.having
        places: dict[tuple[int, int], list[int]] = defaultdict(list)
        for key, terms in held:
            for term in np.unique(np.frombuffer(terms, POSTING)["term"]).tolist():
                places[term, key >> BLOCK_BITS].append(key)
        if not places:
            return
        wanted = {"terms": [t for t, _ in places], "blocks": [b for _, b in places]}
        rows = self.fetch("read_postings", **wanted)
        left = {(t, b): without(data, places[t, b]) for t, b, data in rows}
        self.run(
            "replace_postings",
            terms=[t for t, _ in left],
            blocks=[b for _, b in left],
            data=list(left.values()),
        )
        empty = list({t for (t, _), data in left.items() if not data})
        if empty:
            self.run("empty_postings", terms=empty)

    # --- mentions and observations -------------------------------------------------------------

    def take_observations(self, source: int) -> list[int]:
        self.expect([source])
        found, self._observations[source] = self._observations[source], []
        return self._left(found)  # the rows of `sources` go with the memory

    def mentions(self, key: int) -> list[Said]:
        self.expect([key])
        return [said for _, said in self._mentions[key]]

    def last_mention(self, key: int) -> int | None:
        return max((s.at for s in self.mentions(key) if s.at is not None), default=None)

    def take_first_mention(self, key: int, among: Collection[str] | None = None) -> Said | None:
        self.expect([key])
        held = self._mentions[key]
        found = (p for p in held if among is None or p[1].document_id in among)
        first = next(found, None)
        if first is None:
            return None
        held.remove(first)
        number, said = first
        self.run("drop_evidence", number=number)
        return said

    def take_mentions_in(self, document_id: str) -> dict[int, int]:
        rows = self.fetch("take_mentions_in", id=document_id)
        for held in self._mentions.values():
            held[:] = [pair for pair in held if pair[1].document_id != document_id]
        return dict(Counter(key for (key,) in rows))

    # --- documents ---------------------------------------------------------------------------

    def document_keys(self, document_id: str) -> Sequence[int]:
        return self._left(k for (k,) in self.fetch("document_keys", id=document_id))

    def drop_document(self, document_id: str, *, replaced: bool) -> None:
        self.run("drop_chunks", id=document_id)
        for chunk_id in [c for c in self._chunks if c.rpartition("#")[0] == document_id]:
            self._chunks[chunk_id] = None
            self._cut.pop(chunk_id, None)
        if not replaced:
            self.documents -= self.run("drop_document", id=document_id)

    def unread(self, document_id: str) -> None:
        self._unread.add(document_id)

    def _read_chunks(self, ids: Iterable[str]) -> None:
        missing = [c for c in dict.fromkeys(ids) if c not in self._chunks]
        if missing:
            found = {row[0]: row[3] for row in self.fetch("chunks_by_id", ids=missing)}
            self._chunks |= {c: found.get(c) for c in missing}

    def chunk(self, chunk_id: str) -> str | None:
        self._read_chunks([chunk_id])
        return self._chunks[chunk_id]

    def other_texts(self, document_id: str, chunk_id: str, text: str) -> list[str]:
        given = {"document": document_id, "chunk": chunk_id, "text": text, "gone": self._gone}
        return [t for (t,) in self.fetch("other_texts", **given)]

    def cut_chunk(self, document_id: str, chunk_id: str, text: str) -> None:
        self._chunks[chunk_id] = self._cut[chunk_id] = text
        self.unread(document_id)

    # --- entities ----------------------------------------------------------------------------

    def holders(self, entity: int) -> Sequence[int]:
        return self._left(k for (k,) in self.fetch("holders", entity=entity))

    def names(self, entity: int) -> list[str] | None:
        rows = self.fetch("names_of", entity=entity)
        return [rows[0][0], *orjson.loads(rows[0][1])] if rows else None

    def rename(self, entity: int, names: Sequence[str], mentions: int) -> None:
        self.run(
            "rename_entity",
            entity=entity,
            called=names[0],
            aliases=orjson.dumps(names[1:]).decode(),
            mentions=mentions,
            seq=self.seq,
        )

    def drop_entity(self, entity: int) -> None:
        self._gone_entities.append(entity)

    def texts(self, keys: Sequence[int]) -> Iterable[str]:
        for said in self.fetch("texts_of", keys=list(keys)):
            yield "\n".join(part for part in said if part)

    # --- at the end --------------------------------------------------------------------------

    def flush(self) -> None:
        """Delete what was marked as gone."""
        if self._gone:
            self._take_out(self._gone)
            named = sorted({e for k in self._gone for e in self._entities[k]})
            self.run("drop_mentions", keys=self._gone, entities=named)
            for name in _BY_KEYS:
                self.run(name, keys=self._gone)
            self._gone = []
        for chunk_id, text in self._cut.items():
            self.run("cut_chunk", id=chunk_id, text=text)
        self._cut = {}
        if self._unread:
            self.run("unread_documents", ids=sorted(self._unread))
            self._unread = set()
        if self._gone_entities:
            self.run("drop_entities", ids=self._gone_entities)
            self._gone_entities = []


def happened(packed: bytes) -> tuple[int | None, int | None]:
    """When it happened, from and until, as the index for windows stores it."""
    row = np.frombuffer(packed, RECORD)[0]
    start, end = int(row["happened_from"]), int(row["happened_until"])
    return (None, None) if start == NO_TIME else (start, end)
