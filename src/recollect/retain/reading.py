"""Texts read by an LLM, when one is configured; by rule when it fails, and the result says so.

An answer that does not come, or is no answer, costs the facts nothing: the text is read by rule,
and because a document's hash tells by whom it was read, giving it again asks the LLM again. A
document that it has read is not read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import blake2b

from recollect.errors import ModelError
from recollect.models.base import ExtractedFact, Extractor
from recollect.retain.items import Fact
from recollect.types import Memory

AT_ONCE = 4  # questions to the service
Held = Callable[[str], tuple[bytes, Sequence[Memory]] | None]  # a document's hash and memories


@dataclass(frozen=True, slots=True)
class Reader:
    extractor: Extractor
    held: Held
    required: bool = False  # rather fail than read by rule
    failures: list[str] = field(default_factory=list[str])

    def hash(self, given: bytes) -> bytes:
        """Of what was given and who read it: read by somebody else, it is to be read again."""
        return blake2b(given + self.extractor.name.encode(), digest_size=16).digest()

    def known(self, document_id: str, given: bytes) -> Sequence[Memory] | None:
        """What was read of this very document before."""
        found = self.held(document_id)
        return found[1] if found is not None and found[0] == self.hash(given) else None

    def read(self, pieces: Sequence[str], shared: Fact) -> list[list[ExtractedFact]] | None:
        """The facts of each piece; None when there are none, or when the service fails."""

        def ask(piece: str) -> list[ExtractedFact]:
            return self.extractor.extract(
                piece, context=shared.context, speaker=shared.speaker, said_at=shared.said_at
            )

        try:
            found = list(_together(ask, pieces))
        except ModelError as error:
            if self.required:
                raise
            self.failures.append(error.message)
            return None
        return found if any(found) else None


def _together(
    ask: Callable[[str], list[ExtractedFact]], pieces: Sequence[str]
) -> Iterable[list[ExtractedFact]]:
    if len(pieces) == 1:
        return [ask(pieces[0])]
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="recollect-extract") as workers:
        return list(workers.map(ask, pieces))
