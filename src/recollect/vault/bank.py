"""The bank's side: every memory or document that is, or could be, a note."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from recollect.memory import Recollect
from recollect.storage.base import EVERYTHING
from recollect.types import Document, Memory, State
from recollect.vault import fields
from recollect.vault.fields import PATH, Fields
from recollect.vault.state import Entry, Form


@dataclass(frozen=True, slots=True)
class Unit:
    """What one note stands for: a memory, or a document with the statements read from it."""

    id: str
    form: Form
    memories: tuple[Memory, ...]  # oldest first
    document: Document | None = None

    @property
    def path(self) -> str | None:
        found = self.memories[0].metadata.get(PATH) if self.memories else None
        return found if isinstance(found, str) else None

    @property
    def active(self) -> bool:
        return any(m.state is not State.INVALIDATED for m in self.memories)

    @property
    def told(self) -> datetime | None:
        return self.memories[0].mentioned_at if self.memories else None

    def stamps(self) -> str:
        """Differs whenever the fields do: a correction dates a memory, a review has its own date,
        and a retirement shows in its state."""
        if self.form == "document":
            return ""
        held = self.memories[0]
        parts = (held.updated_at, held.last_reviewed_at, held.state.value, held.superseded_by)
        return "|".join(map(str, parts))

    def fields(self) -> Fields:
        if self.form == "memory":
            return fields.of_memory(self.memories[0])
        # A document is compared by when it was given and by what its statements say.
        given = self.document.updated_at.isoformat() if self.document is not None else None
        said = sorted(m.text for m in self.memories)
        out: Fields = {"given": given, "said": said}
        return {k: v for k, v in out.items() if v}


def units(memory: Recollect, bank: str, entries: Mapping[str, Entry]) -> dict[str, Unit]:
    """By id. Statements of one document stand together when there are several of them, or when
    they came from a note; otherwise each memory stands for itself."""
    documents = {e.id for e in entries.values() if e.form == "document"}
    single = {e.id for e in entries.values() if e.form == "memory"}
    out: dict[str, Unit] = {}
    grouped: dict[str, list[Memory]] = {}
    # All of one moment, in the order of their texts backwards.
    for found in memory.memories(bank, limit=EVERYTHING, time_field="created_at"):
        if found.document_id is None:
            out[found.id] = Unit(found.id, "memory", (found,))
        else:
            grouped.setdefault(found.document_id, []).append(found)
    whole: dict[str, list[Memory]] = {}
    for document_id, members in grouped.items():
        named = document_id in documents or any(PATH in m.metadata for m in members)
        apart = len(members) < 2 or any(m.id in single for m in members)
        if named or not apart:
            whole[document_id] = members
        else:
            out |= {m.id: Unit(m.id, "memory", (m,)) for m in members}
    # A document that says only what others say already has no memory of its own.
    empty = documents - whole.keys()
    if whole or empty:
        known = {d.id: d for d in memory.documents(bank, limit=EVERYTHING)}
        for document_id in (*whole, *(d for d in empty if d in known)):
            members = tuple(reversed(whole.get(document_id, ())))
            out[document_id] = Unit(document_id, "document", members, known.get(document_id))
    return out
