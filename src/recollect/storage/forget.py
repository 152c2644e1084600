"""What a deletion takes along, inside one write transaction.

A memory goes with its text wherever that stands (its own row and earlier wordings, further
mentions, the chunks it was read from), its terms, vectors and links, the names that only it
gave an entity, and the observations made from it alone. What it had replaced is current again.

The rules are here, once for every store; `Rows` is what they need of the store's tables.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from recollect.language.dates import from_micros
from recollect.language.tokens import count_tokens
from recollect.storage.base import NewMemory
from recollect.storage.index.record import Unseen
from recollect.types import Memory, State

_PAGE = 500  # texts looked through at a time
_EVER_AGO = datetime.min.replace(tzinfo=UTC)


class Said(NamedTuple):
    """A further mention of a memory."""

    document_id: str | None
    chunk_id: str | None
    text: str
    at: int | None


class Rows(Protocol):
    """One bank's rows in a write transaction."""

    def expect(self, keys: Sequence[int]) -> None:
        """These are about to be deleted: a store may read in one go what will be asked of each."""
        ...

    def read(self, keys: Iterable[int]) -> None:
        """These are about to be loaded: a store may read them in one go."""
        ...

    def flush(self) -> None:
        """Delete what a store has only marked as deleted so far."""
        ...

    def load(self, key: int) -> Memory: ...
    def unseen(self, key: int) -> Unseen: ...
    def entities(self, key: int) -> Iterable[int]: ...
    def rewrite(self, key: int, memory: Memory, known_until: int | None = None) -> None: ...
    def tell(self, key: int, at: int | None) -> None: ...  # when it was first mentioned
    def reword(self, key: int, new: int, memory: Memory) -> None: ...
    def drop(self, key: int) -> Iterable[int]: ...  # gives the entities it named
    def revisions(self, memory_id: str) -> list[int]: ...
    def superseded_by(self, memory_id: str) -> list[int]: ...
    def take_observations(self, source: int) -> list[int]: ...  # made from it; no longer
    def mentions(self, key: int) -> list[Said]: ...
    def last_mention(self, key: int) -> int | None: ...
    def take_first_mention(
        self, key: int, among: Collection[str] | None = None
    ) -> Said | None: ...  # in one of these documents
    def take_mentions_in(self, document_id: str) -> dict[int, int]: ...  # key → how many
    def document_keys(self, document_id: str) -> Sequence[int]: ...
    def drop_document(self, document_id: str, *, replaced: bool) -> None: ...
    def unread(self, document_id: str) -> None: ...  # given again, it is to be read again
    def chunk(self, chunk_id: str) -> str | None: ...
    def other_texts(self, document_id: str, chunk_id: str, text: str) -> list[str]: ...
    def cut_chunk(self, document_id: str, chunk_id: str, text: str) -> None: ...
    def holders(self, entity: int) -> Sequence[int]: ...  # keys that name it, oldest first
    def names(self, entity: int) -> list[str] | None: ...  # its name, then the others
    def rename(self, entity: int, names: Sequence[str], mentions: int) -> None: ...
    def drop_entity(self, entity: int) -> None: ...
    def texts(self, keys: Sequence[int]) -> Iterable[str]: ...  # with speaker and context


class Forgetting:
    """`gone` holds keys that no longer exist, `moved` maps keys whose wording changed to their
    new ones, `next_key` is the first unused number, `past` holds versions to write for replaced
    values that were closed, and `count` is the number of memories deleted, each with all its
    wordings."""

    def __init__(self, rows: Rows, next_key: int) -> None:
        self._rows = rows
        self.next_key = next_key
        self.gone: set[int] = set()
        self.moved: dict[int, int] = {}
        self.past: list[NewMemory] = []
        self.count = 0
        self._texts: list[str] = []  # what went, to know which names went with it
        self._named: set[int] = set()

    def key(self, key: int) -> int | None:
        """The key that a memory has now, None when it was deleted."""
        while key in self.moved:  # by each document that left it to the next
            key = self.moved[key]
        return None if key in self.gone else key

    # --- documents ---------------------------------------------------------------------------

    def document(self, document_id: str, kept: frozenset[int], *, replaced: bool) -> None:
        """The document, its chunks, and every memory that nothing else speaks for. A memory
        with evidence from elsewhere stays, and is ascribed to that."""
        rows = self._rows
        removed = rows.take_mentions_in(document_id)
        leaving = [key for key in rows.document_keys(document_id) if key not in kept]
        rows.expect(leaving)
        for key, count in removed.items():
            if key not in leaving:
                self._fewer_proofs(key, count)
        self.memories([key for key in leaving if not self._ascribed(key, removed.get(key, 0))])
        # The row of a replaced one keeps the day it was first given.
        rows.drop_document(document_id, replaced=replaced)

    def _fewer_proofs(self, key: int, count: int) -> None:
        memory = self._rows.load(key)
        last = self._rows.last_mention(key)
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
        """Hand a memory over to the next document that said it, in the words used there. Its
        vector stays, because the two said nearly the same: that is what made it evidence."""
        other = self._rows.take_first_mention(key)
        if other is None:
            return False
        memory = self._rows.load(key)
        self._move(key, memory, other)
        if other.text != memory.text:
            self._texts.append(memory.text)
            key = self._reword(key, other.text)
        self._fewer_proofs(key, removed + 1)
        self._drop_revisions(memory.id)
        return True

    def _move(self, key: int, memory: Memory, to: Said) -> None:
        told = None if to.at is None else from_micros(to.at)
        moved = replace(memory, document_id=to.document_id, chunk_id=to.chunk_id, mentioned_at=told)
        self._rows.rewrite(key, moved)
        self._rows.tell(key, to.at)

    def withdraw(self, document_id: str, heirs: Collection[str], at: int) -> None:
        """Keep the document, but let it count no more. What one of `heirs` says as well belongs
        to that from now on, with its wording unchanged, since nothing has to be forgotten."""
        rows = self._rows
        for key, count in rows.take_mentions_in(document_id).items():
            self._fewer_proofs(key, count)
        keys = rows.document_keys(document_id)
        rows.expect(keys)
        for key in keys:
            memory, other = rows.load(key), rows.take_first_mention(key, heirs)
            if other is not None:
                self._move(key, memory, other)
                self._fewer_proofs(key, 1)
            elif memory.state is not State.INVALIDATED:
                withdrawn = replace(memory, state=State.INVALIDATED, superseded_by=None)
                self.close(key, withdrawn, at)
        rows.unread(document_id)

    def _reword(self, key: int, text: str) -> int:
        """The new wording gets a new key, because indexes hold the terms of the old one."""
        new = self._new_key()
        self.moved[key] = new
        memory = replace(self._rows.load(key), text=text, tokens=count_tokens(text))
        self._rows.reword(key, new, memory)
        return new

    def _new_key(self) -> int:
        self.next_key += 1
        return self.next_key - 1

    # --- closing -----------------------------------------------------------------------------

    def close(self, key: int, memory: Memory, at: int) -> None:
        """From `at` on the memory is as given. If it was superseded before, a past version
        records that it was shown as superseded until then."""
        held, unseen = self._rows.load(key), self._rows.unseen(key)
        since = max(unseen.known_from, unseen.known_until or at)
        replaced = held.state is State.SUPERSEDED and held.superseded_by is not None
        if replaced and memory.state is not State.SUPERSEDED and since < at:
            past = NewMemory(
                key=self._new_key(),
                memory=replace(held, state=State.REVISED),
                vector=None,
                tokens=None,
                entity_ids=tuple(self._rows.entities(key)),
                statement=unseen.statement,
                slot=unseen.slot,
                known_from=since,
                known_until=at,
                before=unseen.before,
                replaces=key,
            )
            self.past.append(past)
        self._rows.rewrite(key, memory, known_until=at)

    # --- memories ----------------------------------------------------------------------------

    def memories(self, keys: Iterable[int]) -> None:
        here = (self.key(key) for key in keys)
        pending = list(dict.fromkeys(key for key in here if key is not None))
        self._rows.expect(pending)
        while pending:
            key = pending.pop()
            if key in self.gone:
                continue
            pending.extend(self._orphaned_observations(key))
            self._memory(key)

    def _orphaned_observations(self, key: int) -> list[int]:
        """Observations made from `key`. Those without any other source are returned to be
        deleted too; the others are counted anew."""
        gone = self._rows.load(key).id
        orphans: list[int] = []
        for observation in self._rows.take_observations(key):
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
        self._drop(key)
        self.count += memory.state is not State.REVISED

    def _drop_revisions(self, memory_id: str) -> None:
        for key in self._rows.revisions(memory_id):
            self._redact(key, self._rows.load(key))
            self._drop(key)

    def _drop(self, key: int) -> None:
        self._named.update(self._rows.drop(key))
        self.gone.add(key)

    def _reinstate(self, memory: Memory) -> None:
        """Make current again what this memory had replaced: of each attribute the latest value,
        unless a newer one is known."""
        found = [(key, self._rows.load(key)) for key in self._rows.superseded_by(memory.id)]
        found.sort(key=lambda pair: (_told(pair[1]), pair[0]), reverse=True)
        heirs: dict[int, str] = {}
        for key, old in found:
            slot = self._rows.unseen(key).slot
            heir = memory.superseded_by or heirs.get(slot)
            if heir is None or heir == old.id:  # or a later version of the same
                state = State.REVISED if old.state is State.REVISED else State.ACTIVE
                self._rows.rewrite(key, replace(old, state=state, superseded_by=None))
                if slot:
                    heirs[slot] = old.id
            else:
                self._rows.rewrite(key, replace(old, superseded_by=heir))

    # --- source text -------------------------------------------------------------------------

    def _redact(self, key: int, memory: Memory) -> None:
        """Cut the statement out of every chunk it was read from."""
        self._texts += [memory.text, memory.speaker or "", memory.context or ""]
        first = Said(memory.document_id, memory.chunk_id, memory.text, None)
        for said in [first, *self._rows.mentions(key)]:
            if said.document_id is not None and said.chunk_id is not None:
                self._cut(said.document_id, said.chunk_id, said.text, memory.speaker)

    def _cut(self, document_id: str, chunk_id: str, text: str, speaker: str | None) -> None:
        held = self._rows.chunk(chunk_id)
        if held is None:
            return
        left, found = _without(held, text, speaker)
        if not found:  # reworded since: only what other memories still say is safe to keep
            left = "\n".join(self._rows.other_texts(document_id, chunk_id, text))
        # Given again, it is to be read again.
        self._rows.cut_chunk(document_id, chunk_id, left)

    # --- entities ----------------------------------------------------------------------------

    def finish(self) -> None:
        """Delete entities that nothing names any more, and of the others those names that only
        the deleted texts used."""
        lost = "\n".join(self._texts).casefold()
        for entity in sorted(self._named):
            left = [k for k in (self.key(k) for k in self._rows.holders(entity)) if k is not None]
            if left:
                self._shorten(entity, left, lost)
            else:
                self._rows.drop_entity(entity)

    def _shorten(self, entity: int, left: Sequence[int], lost: str) -> None:
        names = self._rows.names(entity)
        if names is None:
            return
        doubtful = {n for n in names if n.casefold() in lost}
        kept = [n for n in names if n not in self._unsaid(doubtful, left)] or names[:1]
        name = names[0] if names[0] in kept else max(kept, key=len)
        self._rows.rename(entity, [name, *(n for n in kept if n != name)], len(left))

    def _unsaid(self, names: set[str], keys: Sequence[int]) -> set[str]:
        """Those of `names` that no memory of `keys` says; the newest are asked first."""
        open_ = set(names)
        for at in range(len(keys), 0, -_PAGE):
            if not open_:
                break
            for text in self._rows.texts(keys[max(0, at - _PAGE) : at]):
                said = text.casefold()
                open_ = {n for n in open_ if n.casefold() not in said}
        return open_


def _told(memory: Memory) -> datetime:
    """When it was last said, or failing that, made."""
    return memory.last_mentioned_at or memory.mentioned_at or memory.created_at or _EVER_AGO


def _without(chunk: str, text: str, speaker: str | None) -> tuple[str, bool]:
    """The chunk less one statement, and whether it was found at all."""
    words = r"\s+".join(re.escape(w) for w in text.split())
    label = rf"(?:{re.escape(speaker)}\s*:\s*)?" if speaker else ""
    left, count = re.subn(rf"[ \t]*{label}{words}", "", chunk)
    return re.sub(r"\n{2,}", "\n", left).strip(), bool(count)
