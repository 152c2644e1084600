"""The documents of a plan: what of an earlier version stays, and where each fact stands."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.retain.extract import Source
from recollect.retain.items import Fact
from recollect.storage.base import NewDocument, Writing
from recollect.types import Chunk, Memory


class Filing:
    def __init__(self, view: Writing, sources: Sequence[Source], restated: frozenset[int]) -> None:
        self._view = view
        self._sources = sources
        self._restated = restated  # memories that are said again, word for word
        self._kept: dict[str, set[int]] = {}  # per document being replaced: what stays of it
        self._chunks_before: dict[str, int] = {}
        for source in sources:
            document = source.document_id
            if document is None or view.document_hash(document) is None:
                continue
            if source.append:
                self._chunks_before[document] = view.document_chunk_count(document)
            else:
                self._kept[document] = set()

    def replaces(self, source: Source, memory: Memory) -> bool:
        """Whether the memory belongs to the version that this source replaces."""
        return source.document_id in self._kept and memory.document_id == source.document_id

    def keep(self, source: Source, key: int) -> None:
        self._kept[source.document_id or ""].add(key)

    def leaves(self, key: int, old: Memory) -> bool:
        """It belongs to the version of a document that is being replaced, and the new version
        does not say it: it goes, rather than being superseded."""
        if key >= self._view.next_key or old.document_id not in self._kept:
            return False
        return key not in self._kept[old.document_id] and key not in self._restated

    def chunk_id(self, source: Source, fact: Fact) -> str | None:
        document = source.document_id
        if document is None or fact.chunk is None:
            return None
        return f"{document}#{fact.chunk + self._chunks_before.get(document, 0)}"

    def documents(self) -> list[NewDocument]:
        return [self._document(s, s.document_id) for s in self._sources if s.document_id]

    def _document(self, source: Source, document: str) -> NewDocument:
        before, shared = self._chunks_before.get(document, 0), source.shared
        chunks = tuple(
            Chunk(f"{document}#{place}", document, place, text)
            for place, text in enumerate(source.chunks, before)
        )
        return NewDocument(
            document, source.hash, shared.context, shared.tags, shared.metadata, chunks
        )

    def dropped(self) -> dict[str, frozenset[int]]:
        """Documents whose earlier version goes, with what stays of it."""
        return {document: frozenset(kept) for document, kept in self._kept.items()}

    def replaced(self) -> int:
        """How many memories go."""
        return sum(
            len(set(self._view.document_keys(document)) - kept)
            for document, kept in self._kept.items()
        )
