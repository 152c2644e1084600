"""Applying one `Batch` inside the caller's transaction: what comes before what, once for every store.

What is taken away goes first, so that what is added finds free ids; whatever names a memory is
written under the key it has by then, or not at all when it is gone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from recollect.storage.base import Batch, KeyLink, NewDocument, NewEvidence, NewMemory, Retire
from recollect.storage.forget import Forgetting, Rows
from recollect.storage.moments import told_again
from recollect.types import Entity, LinkKind

R = TypeVar("R", bound=Rows)


class BatchWriter(ABC, Generic[R]):
    """One transaction on one bank, at one new change sequence."""

    def __init__(self, rows: R, forgetting: Forgetting, now: int) -> None:
        self._rows = rows
        self._forgetting = forgetting
        self._now = now

    def apply(self, batch: Batch) -> None:
        given = {d.id for d in batch.documents}
        for document_id, kept in batch.drop_documents.items():
            self._forgetting.document(document_id, kept, replaced=document_id in given)
        self._forgetting.memories(batch.drop_memories)
        for document_id, heirs in batch.withdraw_documents.items():
            self._forgetting.withdraw(document_id, heirs, self._now)
        for document_id in batch.unread:
            self._rows.unread(document_id)
        self._forgetting.finish()
        self._rows.flush()
        self._documents(batch.documents)
        self._rows.read([*(r.key for r in batch.retire), *(e.key for e in batch.evidence)])
        # Retired before added: a new version takes over its predecessor's id.
        for retire in batch.retire:
            self._retire(retire)
        self._memories([*batch.memories, *self._forgetting.past])
        for key, changes in batch.updates.items():
            self._update(key, changes)
        for evidence in batch.evidence:
            self._evidence(evidence)
        self._mentions(batch.mentions)
        between = self._between(batch.memories)
        self._links(replace(batch, links=[*between, *batch.links]))
        self._entities(batch.entities)

    # --- a store's own part --------------------------------------------------------------------

    @abstractmethod
    def _documents(self, documents: Sequence[NewDocument]) -> None: ...
    @abstractmethod
    def _memories(self, memories: Sequence[NewMemory]) -> None:
        """With what they were made from, and what a new version takes over from the one before it:
        its evidence and the observations made of it, and a copy of its links. The one before keeps
        its own: of two versions no moment sees both, so the graph is right at every moment. A version
        that is over when it is written (`revised`) has a copy of all links and takes over nothing."""
        ...

    @abstractmethod
    def _links_among(self, keys: Sequence[int]) -> Sequence[KeyLink]: ...
    @abstractmethod
    def _mentions(self, mentions: Sequence[NewEvidence]) -> None: ...
    @abstractmethod
    def _links(self, batch: Batch) -> None:
        """Authored links are removed before new ones are added. Where a link exists already, the
        greater weight counts."""
        ...

    @abstractmethod
    def _entities(self, entities: Sequence[Entity]) -> None: ...
    @abstractmethod
    def _put_sources(self, key: int, ids: Sequence[str]) -> None:
        """What an observation is made from, replacing what was noted before."""
        ...

    def _between(self, memories: Sequence[NewMemory]) -> list[KeyLink]:
        """Links between memories that both get a new version in this batch, copied so that they
        lead from one new version to the other."""
        new = {m.replaces: m for m in memories if m.replaces is not None}
        found = self._links_among(list(new)) if len(new) > 1 else ()
        return [
            replace(link, source=source.key, target=target.key)
            for link in found
            for source, target in [(new[link.source], new[link.target])]
            if link.kind is not LinkKind.SEMANTIC or source.vector is target.vector is None
        ]

    def _present(self, keys: Iterable[int]) -> list[int]:
        """The current keys, without those that this transaction deleted."""
        found = (self._forgetting.key(key) for key in keys)
        return list(dict.fromkeys(key for key in found if key is not None))

    # --- changes of one memory -----------------------------------------------------------------

    def _evidence(self, new: NewEvidence) -> None:
        key = self._forgetting.key(new.key)
        if key is not None:
            self._mentions([replace(new, key=key)])
            self._rows.rewrite(key, told_again(self._rows.load(key), new.at))

    def _retire(self, retire: Retire) -> None:
        key = self._forgetting.key(retire.key)
        if key is not None:
            held = self._rows.load(key)
            changed = replace(held, state=retire.state, superseded_by=retire.by)
            self._forgetting.close(key, changed, retire.at)

    def _update(self, given: int, changes: Mapping[str, Any]) -> None:
        """Fields that search does not index; anything else is a new version of the memory."""
        key = self._forgetting.key(given)
        if key is None:
            return
        self._rows.rewrite(key, replace(self._rows.load(key), **changes))
        if "source_ids" in changes:
            self._put_sources(key, changes["source_ids"])
