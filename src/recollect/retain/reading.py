"""Texts read by an LLM, when one is configured; by rule when it fails, and the result says so.

An answer that does not come, or is no answer, costs the facts nothing: the text is read by rule,
and because a document's hash tells by whom it was read, giving it again asks the LLM again. A
document that it has read is not read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from hashlib import blake2b
from typing import Self

from recollect.errors import ModelError
from recollect.models.base import ExtractedFact, Extractor
from recollect.models.http import Refused, Unanswered
from recollect.retain.items import Fact
from recollect.types import Memory

AT_ONCE = 4  # questions to the service
SHUT = (401, 403, 404)  # no key, no such model
_About = tuple[str | None, str | None, datetime | None]  # what it is told of a piece
Held = Callable[[str], tuple[bytes, Sequence[Memory]] | None]  # a document's hash and memories


class Reader:
    """For one retain. Texts are asked for ahead, a few at a time, and a service that is down is
    not asked for every one of them."""

    def __init__(
        self,
        extractor: Extractor,
        held: Held,
        *,
        required: bool = False,
        check: Callable[[], None] | None = None,
    ) -> None:
        self._extractor = extractor
        self._held = held
        self._required = required  # rather fail than read by rule
        self._check = check or (lambda: None)  # raises once nobody wants the rest
        self._workers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="recollect-extract")
        self._asked: dict[tuple[str, _About], Future[list[ExtractedFact]]] = {}
        self._down = False
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.shutdown(wait=False, cancel_futures=True)

    def hash(self, given: bytes) -> bytes:
        """Of what was given and who read it: read by somebody else, it is to be read again."""
        return blake2b(given + self._extractor.name.encode(), digest_size=16).digest()

    def known(self, document_id: str, given: bytes) -> Sequence[Memory] | None:
        """What was read of this very document before."""
        found = self._held(document_id)
        return found[1] if found is not None and found[0] == self.hash(given) else None

    def ahead(self, pieces: Iterable[str], shared: Fact) -> None:
        for piece in pieces:
            self._ask(piece, shared)

    def read(self, pieces: Sequence[str], shared: Fact) -> list[list[ExtractedFact]] | None:
        """The facts of each piece; None when there are none, or when the service fails."""
        if self._down:
            return None
        try:
            found = [self._answer(piece, shared) for piece in pieces]
        except ModelError as error:
            if self._required:
                raise
            self.failures.append(error.message)
            if is_down(error):
                self._down = True
                self._workers.shutdown(wait=False, cancel_futures=True)
            return None
        return found if any(found) else None

    def _answer(self, piece: str, shared: Fact) -> list[ExtractedFact]:
        self._check()
        return self._ask(piece, shared).result()

    def _ask(self, piece: str, shared: Fact) -> Future[list[ExtractedFact]]:
        key = (piece, _about(shared))
        if key not in self._asked:
            self._asked[key] = self._workers.submit(
                self._extractor.extract,
                piece,
                context=shared.context,
                speaker=shared.speaker,
                said_at=shared.said_at,
            )
        return self._asked[key]


def is_down(error: ModelError) -> bool:
    """Whether the next text would fare no better."""
    return isinstance(error, Unanswered) or (isinstance(error, Refused) and error.code in SHUT)


def _about(shared: Fact) -> _About:
    return shared.context, shared.speaker, shared.said_at
