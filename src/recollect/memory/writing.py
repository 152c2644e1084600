"""Verbs that write: retain, correct, withdraw, forget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from recollect.errors import InvalidInput
from recollect.memory.checks import check_bank_name, check_links, check_text, checked, listed, now
from recollect.memory.looking import Looking
from recollect.options import Progress
from recollect.storage.base import EVERYTHING
from recollect.telemetry import Run
from recollect.types import Document, Evidence, Memory, Operation, RetainResult, State

if TYPE_CHECKING:
    from recollect.options import ItemFields, MemoryChanges


class Writing(Looking):
    @checked
    def retain(
        self,
        bank: str,
        content: Any,
        *,
        progress: Progress | None = None,
        **shared: Unpack[ItemFields],
    ) -> RetainResult:
        """Remember. `content` is a text, a dict (content, text or turns, with timestamp, context,
        document_id, tags, metadata, entities …) or a list of these; keyword arguments apply to
        every item. Durable and visible to the next recall when it returns."""
        from recollect.retain.pipeline import retain

        check_bank_name(bank)
        if self._store.bank(bank) is not None:
            self._checked(bank)
        return retain(self._retaining, bank, content, shared, now(), progress)

    @checked
    def retain_accepted(
        self, operation: Operation, token: str, lost: Callable[[], bool] = lambda: False
    ) -> RetainResult:
        """Do a retain that was accepted earlier, from where it stopped. Whoever crashes when, each
        part of it takes effect once: it is noted in the transaction that stores it. `lost` says
        early that no more parts will be taken, before an LLM is asked in vain."""
        from recollect.retain.pipeline import Journal, retain

        given = operation.payload
        if given is None:
            raise InvalidInput(
                f"the content of operation {operation.id!r} is gone", hint="retain it again"
            )
        self._checked(operation.bank)
        journal = Journal(operation.id, token, operation.steps, operation.note, lost)
        accepted = datetime.fromisoformat(given["now"])
        return retain(
            self._retaining,
            operation.bank,
            given["content"],
            given["shared"],
            accepted,
            journal=journal,
        )

    @checked
    def retain_file(
        self,
        bank: str,
        path: str | Path,
        *,
        progress: Progress | None = None,
        **shared: Unpack[ItemFields],
    ) -> RetainResult:
        """A Markdown or text file as one document, or JSONL with one item a line."""
        from recollect.retain.files import read_file

        if not isinstance(path, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"a {type(path).__name__} is no path", hint="name a file")
        return self.retain(bank, read_file(Path(path)), progress=progress, **shared)

    @checked
    def update(self, bank: str, memory_id: str, **changes: Unpack[MemoryChanges]) -> Memory:
        """Correct one memory. The earlier wording stays visible to `as_of` before now."""
        from recollect.retain.edit import update

        with Run(name="update", bank=bank) as run:
            self._checked(bank)
            update(self._store, self.embedder, self.settings, bank, memory_id, changes, now())
            run.note(memory_id=memory_id)
        return self.load(bank, memory_id)

    @checked
    def reinforce(self, bank: str, memory_id: str, evidence: Evidence) -> Memory:
        """Move an opinion's confidence by evidence for or against it."""
        from recollect.retain.edit import reinforce

        reinforce(self._store, bank, memory_id, evidence, now())
        return self.load(bank, memory_id)

    @checked
    def review(self, bank: str, memory_id: str) -> Memory:
        """Mark as still true: its lifecycle starts anew."""
        return self.update(bank, memory_id, last_reviewed_at=now())

    @checked
    def invalidate(self, bank: str, memory_id: str) -> Memory:
        """Withdraw without deleting: recall no longer returns it, `as_of` an earlier time does."""
        from recollect.retain.edit import retire

        retire(self._store, bank, memory_id, State.INVALIDATED, None, now())
        return self.load(bank, memory_id)

    @checked
    def supersede(self, bank: str, memory_id: str, by: str) -> Memory:
        """Mark as replaced by another memory."""
        from recollect.retain.edit import retire, supersede_withdrawn

        self.load(bank, by)
        if self.load(bank, memory_id).state is State.INVALIDATED:
            self._checked(bank)
            given = (self._store, self.embedder, self.settings, bank, memory_id, by, now())
            supersede_withdrawn(*given)
        else:
            retire(self._store, bank, memory_id, State.SUPERSEDED, by, now())
        return self.load(bank, memory_id)

    @checked
    def relate(self, bank: str, links: Mapping[str, Mapping[str, float]]) -> None:
        """The authored links of each memory named, by id, with a weight from 0 to 1; they take the
        place of those it had."""
        from recollect.retain.relate import relate

        for named in (links, *check_links(links).values()):
            for each in check_links(named):
                check_text("a memory's id", each)
        relate(self._store, bank, links)

    @checked
    def restore(self, bank: str, memory_id: str) -> Memory:
        """Take a withdrawal or a replacement back."""
        from recollect.retain.edit import restore

        self._checked(bank)
        restore(self._store, self.embedder, self.settings, bank, memory_id, now())
        return self.load(bank, memory_id)

    @checked
    def update_document(self, bank: str, document_id: str, *, tags: Iterable[str]) -> Document:
        """New tags for a document and all its memories."""
        from recollect.retain.edit import retag

        self.document(bank, document_id)
        wanted = tuple(listed("tags", tags))
        retag(self._store, bank, document_id, wanted)
        for memory in self.memories(bank, document_id=document_id, limit=EVERYTHING):
            if memory.tags != wanted:
                self.update(bank, memory.id, tags=wanted)
        return self.document(bank, document_id)

    @checked
    def withdraw_document(self, bank: str, document_id: str, heirs: Iterable[str]) -> None:
        """Withdraw what only this document says, and hand over to the documents `heirs` what they
        say as well. Given again, it is read again."""
        from recollect.retain.edit import withdraw_document

        withdraw_document(self._store, bank, document_id, heirs)

    @checked
    def told_by(self, bank: str, memory_id: str) -> list[str]:
        """The documents that say it as well, by id."""
        from recollect.retain.revise import current_key

        with closing(self._store.view(bank)) as view:
            return list(view.told_by(current_key(view, memory_id)))

    @checked
    def unread(self, bank: str, documents: Sequence[str]) -> None:
        """Given again, these documents are read again, though they say what they said."""
        from recollect.retain.edit import unread

        unread(self._store, bank, documents)

    @checked
    def clear(self, bank: str, *, type: str | None = None) -> int:
        """Delete all memories of a bank, or all of one type; the bank stays. Gives how many."""
        from recollect.recall.request import filter_types
        from recollect.retain.edit import clear

        types = filter_types(None if type is None else [type])
        with Run(name="forget", bank=bank) as run:
            gone = clear(self._store, bank, next(iter(types)) if types else None)
            run.note(memories=gone)
        return gone

    @checked
    def forget(
        self, bank: str, memory_id: str | None = None, *, document_id: str | None = None
    ) -> int:
        """Delete one memory, or one document, with everything derived only from it: text,
        vectors, terms, links. Gives the number of memories that went."""
        from recollect.retain.edit import forget

        if (memory_id is None) == (document_id is None):
            raise InvalidInput("forget what?", hint="give a memory id, or document_id=…, not both")
        with Run(name="forget", bank=bank) as run:
            gone = forget(self._store, bank, memory_id, document_id)
            run.note(memories=gone, **({} if memory_id is None else {"memory_id": memory_id}))
        return gone
