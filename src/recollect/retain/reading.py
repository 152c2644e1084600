"""Texts read by an LLM, when one is configured; by rule when it fails, and the result says so.

An answer that does not come, or is no answer, costs the facts nothing: the text is read by rule,
and because a document's hash tells by whom it was read, giving it again asks the LLM again. A
document that it has read is not read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import blake2b

from recollect.errors import ModelError
from recollect.models.base import ExtractedFact, Extractor
from recollect.models.http import Refused, Unanswered
from recollect.retain.items import Fact
from recollect.types import Memory

AT_ONCE = 4  # questions to the service
SHUT = (401, 403, 404)  # no key, no such model
Held = Callable[[str], tuple[bytes, Sequence[Memory]] | None]  # a document's hash and memories


@dataclass(slots=True)
class Reader:
    """For one retain: a service that is down is not asked for every text anew."""

    extractor: Extractor
    held: Held
    required: bool = False  # rather fail than read by rule
    failures: list[str] = field(default_factory=list[str])
    down: bool = False

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

        if self.down:
            return None
        try:
            found = _together(ask, pieces)
        except ModelError as error:
            if self.required:
                raise
            self.failures.append(error.message)
            self.down = is_down(error)
            return None
        return found if any(found) else None


def is_down(error: ModelError) -> bool:
    """Whether the next text would fare no better."""
    return isinstance(error, Unanswered) or (isinstance(error, Refused) and error.code in SHUT)


def _together(
    ask: Callable[[str], list[ExtractedFact]], pieces: Sequence[str]
) -> list[list[ExtractedFact]]:
    workers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="recollect-extract")
    try:
        return list(workers.map(ask, pieces))
    finally:  # one has failed, or all are done: nobody waits for the rest
        workers.shutdown(wait=False, cancel_futures=True)
