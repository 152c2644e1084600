"""What a deletion takes along, inside one write transaction.

A memory goes with its text wherever that stands (its own row and earlier wordings, further
mentions, the chunks it was read from), its terms, vectors and links, the names that only it
gave an entity, and the observations made from it alone. What it had replaced is current again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import orjson

from recollect.language.dates import from_micros
from recollect.language.tokens import count_tokens
from recollect.storage.sqlite.index import KEY_MASK
from recollect.storage.sqlite.record import postings
from recollect.storage.sqlite.rows import BankRows
from recollect.types import Memory, State

Holders = Callable[[int], Sequence[int]]  # entity → keys of the memories that name it
_PAGE = 500


class Forgetting:
    """`gone` are keys that no longer exist, `moved` those whose wording changed on the way;
    `next_key` is the first number nobody uses yet."""

    def __init__(self, rows: BankRows, holders: Holders, next_key: int) -> None:
        self._rows = rows
        self._db = rows.db
        self._number = rows.number
        self._holders = holders
        self.next_key = next_key
        self.gone: set[int] = set()
        self.moved: dict[int, int] = {}
        self._texts: list[str] = []  # what went, to know which names went with it
        self._named: set[int] = set()

    def key(self, key: int) -> int | None:
        """Where a memory is now, None when it is gone."""
        key = self.moved.get(key, key)
        return None if key in self.gone else key

    # --- documents ---------------------------------------------------------------------------

    def document(self, document_id: str, kept: frozenset[int], *, replaced: bool) -> None:
        """The document, its chunks, and every memory that nothing else speaks for. A memory
        with evidence from elsewhere stays, and is ascribed to that."""
        db, bank = self._db, self._number
        mentioned = db.execute(
            "SELECT DISTINCT key FROM evidence WHERE bank=? AND document_id=?", (bank, document_id)
        ).fetchall()
        removed = {
            key: db.execute(
                "DELETE FROM evidence WHERE bank=? AND document_id=? AND key=?",
                (bank, document_id, key),
            ).rowcount
            for (key,) in mentioned
        }
        rows = db.execute(
            "SELECT n FROM memories WHERE bank=? AND document_id=? AND state <> 'revised'",
            (bank, document_id),
        ).fetchall()
        leaving = [n & KEY_MASK for (n,) in rows if n & KEY_MASK not in kept]
        for key, count in removed.items():
            if key not in leaving:
                self._fewer_proofs(key, count)
        self.memories([key for key in leaving if not self._ascribed(key, removed.get(key, 0))])
        db.execute("DELETE FROM chunks WHERE bank=? AND document_id=?", (bank, document_id))
        if not replaced:  # the row of a replaced one keeps the day it was first given
            db.execute("DELETE FROM documents WHERE bank=? AND id=?", (bank, document_id))

    def _fewer_proofs(self, key: int, count: int) -> None:
        memory = self._rows.load(key)
        (last,) = self._db.execute(
            "SELECT max(at) FROM evidence WHERE bank=? AND key=?", (self._number, key)
        ).fetchone()
        told = [t for t in (memory.mentioned_at, last and from_micros(last)) if t is not None]
        self._rows.rewrite(
            key,
            replace(
                memory,
                proof_count=max(1, memory.proof_count - count),
                last_mentioned_at=max(told, default=None),
            ),
        )

    def _ascribed(self, key: int, removed: int) -> bool:
        """Hand a memory over to the next who said it, in their words. Its vector stays: they
        said nearly the same, that is what made it evidence."""
        db, bank = self._db, self._number
        other = db.execute(
            """SELECT rowid, document_id, chunk_id, text, at FROM evidence WHERE bank=? AND key=?
            ORDER BY rowid LIMIT 1""",
            (bank, key),
        ).fetchone()
        if other is None:
            return False
        rowid, document_id, chunk_id, text, at = other
        db.execute("DELETE FROM evidence WHERE rowid=?", (rowid,))
        memory = self._rows.load(key)
        told = None if at is None else from_micros(at)
        self._rows.rewrite(
            key, replace(memory, document_id=document_id, chunk_id=chunk_id, mentioned_at=told)
        )
        db.execute("UPDATE memories SET mentioned_at=? WHERE n=?", (at, self._rows.n(key)))
        if text != memory.text:
            self._texts.append(memory.text)
            key = self._reword(key, text)
        self._fewer_proofs(key, removed + 1)
        self._drop_revisions(memory.id)
        return True

    def _reword(self, key: int, text: str) -> int:
        """Under a new key, because whoever holds the old one holds its terms as well."""
        db, bank, new = self._db, self._number, self.next_key
        self.next_key += 1
        self.moved[key] = new
        at, to = self._rows.n(key), self._rows.n(new)
        memory = replace(self._rows.load(key), text=text, tokens=count_tokens(text))
        db.execute(
            "UPDATE memories SET n=?, text=?, tokens=? WHERE n=?", (to, text, memory.tokens, at)
        )
        db.execute("UPDATE tokens SET n=? WHERE n=?", (to, at))
        db.execute(
            "UPDATE features SET n=?, seq=?, terms=? WHERE n=?",
            (to, self._rows.seq, postings(memory), at),
        )
        for table, column in (
            ("links", "source"), ("links", "target"), ("evidence", "key"), ("sources", "key"),
            ("sources", "source"),
        ):  # fmt: skip
            db.execute(
                f"UPDATE {table} SET {column}=? WHERE bank=? AND {column}=?", (new, bank, key)
            )
        self._tombstone(key)
        return new

    # --- memories ----------------------------------------------------------------------------

    def memories(self, keys: Iterable[int]) -> None:
        pending = list(dict.fromkeys(keys))
        while pending:
            key = pending.pop()
            if key in self.gone:
                continue
            pending.extend(self._orphaned_observations(key))
            self._memory(key)

    def _orphaned_observations(self, key: int) -> list[int]:
        """Observations made from `key`: those with nothing left go too, the others count anew."""
        db, bank = self._db, self._number
        rows = db.execute(
            "SELECT key FROM sources WHERE bank=? AND source=?", (bank, key)
        ).fetchall()
        db.execute("DELETE FROM sources WHERE bank=? AND source=?", (bank, key))
        (gone,) = db.execute("SELECT id FROM memories WHERE n=?", (self._rows.n(key),)).fetchone()
        orphans: list[int] = []
        for (observation,) in rows:
            memory = self._rows.load(observation)
            left = tuple(i for i in memory.source_ids if i != gone)
            if not left:
                orphans.append(observation)
                continue
            proof = max(len(left), memory.proof_count - 1)
            self._rows.rewrite(observation, replace(memory, source_ids=left, proof_count=proof))
        return orphans

    def _memory(self, key: int) -> None:
        memory = self._rows.load(key)
        self._redact(key, memory)
        self._reinstate(memory)
        self._drop_revisions(memory.id)
        self._drop_rows(key)

    def _drop_revisions(self, memory_id: str) -> None:
        rows = self._db.execute(
            "SELECT n FROM memories WHERE bank=? AND id=? AND state='revised'",
            (self._number, memory_id),
        ).fetchall()
        for (n,) in rows:
            self._redact(n & KEY_MASK, self._rows.load(n & KEY_MASK))
            self._drop_rows(n & KEY_MASK)

    def _drop_rows(self, key: int) -> None:
        db, bank, n = self._db, self._number, self._rows.n(key)
        (blob,) = db.execute("SELECT entities FROM features WHERE n=?", (n,)).fetchone()
        self._named.update(np.frombuffer(blob, "<i8").tolist() if blob else ())
        for table in ("memories", "features", "tokens", "staged"):
            db.execute(f"DELETE FROM {table} WHERE n=?", (n,))
        db.execute("DELETE FROM links WHERE bank=? AND source=?", (bank, key))
        db.execute("DELETE FROM links WHERE bank=? AND target=?", (bank, key))
        db.execute("DELETE FROM evidence WHERE bank=? AND key=?", (bank, key))
        db.execute("DELETE FROM sources WHERE bank=? AND key=?", (bank, key))
        self._tombstone(key)
        self.gone.add(key)

    def _tombstone(self, key: int) -> None:
        self._db.execute(
            "INSERT OR IGNORE INTO tombstones VALUES (?,?,?)", (self._number, self._rows.seq, key)
        )

    def _reinstate(self, memory: Memory) -> None:
        """What this one had replaced: the latest of each attribute is current again, unless a
        still newer value is known."""
        rows = self._db.execute(
            "SELECT n FROM memories WHERE bank=? AND superseded_by=? AND state='superseded'",
            (self._number, memory.id),
        ).fetchall()
        found = [(n & KEY_MASK, self._rows.load(n & KEY_MASK)) for (n,) in rows]
        found.sort(key=lambda pair: (_told(pair[1]), pair[0]), reverse=True)
        heirs: dict[int, str] = {}
        for key, old in found:
            slot = self._rows.unseen(key).slot
            heir = memory.superseded_by or heirs.get(slot)
            if heir is None:
                self._rows.rewrite(key, replace(old, state=State.ACTIVE, superseded_by=None))
                if slot:
                    heirs[slot] = old.id
            else:
                self._rows.rewrite(key, replace(old, superseded_by=heir))

    # --- source text -------------------------------------------------------------------------

    def _redact(self, key: int, memory: Memory) -> None:
        """Cut the statement out of every chunk it was read from."""
        self._texts += [memory.text, memory.speaker or "", memory.context or ""]
        rows = self._db.execute(
            "SELECT document_id, chunk_id, text FROM evidence WHERE bank=? AND key=?",
            (self._number, key),
        ).fetchall()
        for document_id, chunk_id, text in [
            (memory.document_id, memory.chunk_id, memory.text),
            *rows,
        ]:
            if document_id is not None and chunk_id is not None:
                self._cut(document_id, chunk_id, text, memory.speaker)

    def _cut(self, document_id: str, chunk_id: str, text: str, speaker: str | None) -> None:
        db, bank = self._db, self._number
        row = db.execute(
            "SELECT text FROM chunks WHERE bank=? AND id=?", (bank, chunk_id)
        ).fetchone()
        if row is None:
            return
        left, found = _without(row[0], text, speaker)
        if not found:  # reworded since: only what other memories still say is safe to keep
            others = db.execute(
                "SELECT text FROM memories WHERE bank=? AND document_id=? AND chunk_id=? AND text<>? ORDER BY n",
                (bank, document_id, chunk_id, text),
            ).fetchall()
            left = "\n".join(t for (t,) in others)
        db.execute("UPDATE chunks SET text=? WHERE bank=? AND id=?", (left, bank, chunk_id))
        # Given again, it is to be read again.
        db.execute("UPDATE documents SET hash=x'' WHERE bank=? AND id=?", (bank, document_id))

    # --- entities ----------------------------------------------------------------------------

    def finish(self) -> None:
        """Entities that nothing names any more go, and of the others the names that only the
        forgotten texts used."""
        lost = "\n".join(self._texts).casefold()
        for entity in sorted(self._named):
            left = [k for k in (self.key(k) for k in self._holders(entity)) if k is not None]
            if not left:
                self._db.execute(
                    "DELETE FROM entities WHERE bank=? AND id=?", (self._number, entity)
                )
                continue
            self._shorten(entity, left, lost)

    def _shorten(self, entity: int, left: Sequence[int], lost: str) -> None:
        row = self._db.execute(
            "SELECT name, aliases FROM entities WHERE bank=? AND id=?", (self._number, entity)
        ).fetchone()
        if row is None:
            return
        names: list[str] = [row[0], *orjson.loads(row[1])]
        doubtful = {n for n in names if n.casefold() in lost}
        kept = [n for n in names if n not in self._unsaid(doubtful, left)] or names[:1]
        name = row[0] if row[0] in kept else max(kept, key=len)
        self._db.execute(
            "UPDATE entities SET name=?, aliases=?, mentions=?, seq=? WHERE bank=? AND id=?",
            (
                name,
                orjson.dumps([n for n in kept if n != name]).decode(),
                len(left),
                self._rows.seq,
                self._number,
                entity,
            ),
        )

    def _unsaid(self, names: set[str], keys: Sequence[int]) -> set[str]:
        """Those of `names` that no memory of `keys` says; the newest are asked first."""
        open_ = set(names)
        for at in range(len(keys), 0, -_PAGE):
            if not open_:
                break
            page = [self._rows.n(k) for k in keys[max(0, at - _PAGE) : at]]
            marks = ",".join("?" * len(page))
            for said in self._db.execute(
                f"SELECT text, speaker, context FROM memories WHERE n IN ({marks})", page
            ):
                text = "\n".join(part for part in said if part).casefold()
                open_ = {n for n in open_ if n.casefold() not in text}
        return open_


def _told(memory: Memory) -> Any:
    return memory.last_mentioned_at or memory.mentioned_at or memory.created_at


def _without(chunk: str, text: str, speaker: str | None) -> tuple[str, bool]:
    """The chunk less one statement, and whether it was found at all."""
    words = r"\s+".join(re.escape(w) for w in text.split())
    label = rf"(?:{re.escape(speaker)}\s*:\s*)?" if speaker else ""
    left, count = re.subn(rf"[ \t]*{label}{words}", "", chunk)
    return re.sub(r"\n{2,}", "\n", left).strip(), bool(count)
