"""Conversations: "Yes, last Tuesday." is understood, and found, with what it answers.

A fact with a speaker that comes right after another one, in the same document or within the
hour, is a turn that answers it: it is embedded together with it. A ready-made fact is kept as it is
worded, so one that reads "Ann: Yes." counts as Ann's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recollect.language.passage import said
from recollect.retain.extract import Source
from recollect.retain.items import Fact
from recollect.retain.talk import speaker_of
from recollect.types import Memory

TOGETHER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _Turn:
    speaker: str | None
    text: str
    spoken: bool
    at: datetime | None
    document_id: str | None


def in_turn(sources: Sequence[Source], newest: Memory | None) -> list[Fact]:
    """All facts in order, each with the turn before it, if it answers one. `newest` is what the
    bank heard last."""
    last = None
    if newest is not None:
        last = _turn(newest.speaker, newest.text, newest.mentioned_at, newest.document_id)
    out: list[Fact] = []
    for source in sources:
        for fact in source.facts:
            turn = _turn(fact.speaker, fact.text, fact.said_at, source.document_id)
            previous = (
                said(last.speaker, last.text) if last is not None and _answers(turn, last) else None
            )
            out.append(fact if previous == fact.previous else replace(fact, previous=previous))
            last = turn
    return out


def _turn(speaker: str | None, text: str, at: datetime | None, document_id: str | None) -> _Turn:
    return _Turn(
        speaker, text, speaker is not None or speaker_of(text) is not None, at, document_id
    )


def _answers(turn: _Turn, last: _Turn) -> bool:
    if not (turn.spoken and last.spoken):
        return False
    if turn.document_id is not None and turn.document_id == last.document_id:
        return True
    return turn.at is not None and last.at is not None and abs(turn.at - last.at) <= TOGETHER
