"""Conversations: "Yes, last Tuesday." is understood, and found, with what it answers.

A fact with a speaker that comes right after another one, in the same document or within the
hour, is a turn that answers it: it is embedded together with it. A ready-made fact is kept as it is
worded, so one that reads "Ann: Yes." counts as Ann's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recollect.language.entities import EntityResolver
from recollect.language.passage import said
from recollect.retain.extract import Source
from recollect.retain.items import Fact
from recollect.retain.speakers import may_speak
from recollect.retain.talk import label_of, returning, speaker_of
from recollect.types import Memory

TOGETHER = timedelta(hours=1)
# Words to somebody. "Atlas: all green" is a line of a report.
_ADDRESSED = re.compile(r"[?!？！¿]|\b(?:I|I['’]\w+|me|my|you|your|we|our|us)\b")


@dataclass(frozen=True, slots=True)
class _Turn:
    speaker: str | None
    text: str
    label: str | None  # who speaks, where the text itself begins with that
    sure: bool  # that somebody speaks
    at: datetime | None
    document_id: str | None

    @property
    def spoken(self) -> bool:
        return self.sure or self.label is not None


class _Voices:
    """Who speaks where a text is one turn: a role or a given name; any other name that comes back among those
    given together; and perhaps one that the bank knows."""

    def __init__(self, sources: Sequence[Source], known: EntityResolver) -> None:
        texts = (f.text for s in sources for f in s.facts if f.speaker is None)
        self._heard = returning(texts)
        self._known = known

    def turn(
        self, speaker: str | None, text: str, at: datetime | None, document_id: str | None
    ) -> _Turn:
        label = label_of(text) if speaker is None else None
        sure = speaker is not None or label in self._heard or speaker_of(text) is not None
        if not sure and not (label and may_speak(label) and self._knows(label)):
            label = None
        return _Turn(speaker, text, label, sure, at, document_id)

    def _knows(self, label: str) -> bool:
        entity = self._known.resolve(label, "other").entity
        return entity is not None and entity.kind in ("person", "other")


def in_turn(sources: Sequence[Source], newest: Memory | None, known: EntityResolver) -> list[Fact]:
    """All facts in order, each with the turn before it, if it answers one. `newest` is what the
    bank heard last."""
    voices = _Voices(sources, known)
    last = None
    if newest is not None:
        last = voices.turn(newest.speaker, newest.text, newest.mentioned_at, newest.document_id)
    out: list[Fact] = []
    for source in sources:
        for fact in source.facts:
            turn = voices.turn(fact.speaker, fact.text, fact.said_at, source.document_id)
            answers = last is not None and _answers(turn, last)
            previous = said(last.speaker, last.text) if last is not None and answers else None
            label = turn.label if turn.sure or answers else None
            same = previous == fact.previous and label == fact.label
            out.append(fact if same else replace(fact, previous=previous, label=label))
            last = turn
    return out


def _answers(turn: _Turn, last: _Turn) -> bool:
    if not (turn.spoken and last.spoken):
        return False
    if not (turn.sure and last.sure) and not any(map(_ADDRESSED.search, (turn.text, last.text))):
        return False
    if turn.document_id is not None and turn.document_id == last.document_id:
        return True
    return turn.at is not None and last.at is not None and abs(turn.at - last.at) <= TOGETHER
