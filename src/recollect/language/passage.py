"""How a memory is shown to the models.

`June 5, 2022: context: speaker: text`. A date in full, `[Date: June 05, 2022 (2022-06-05)]`, has 17
tokens instead of five: as many as a short fact.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recollect.language.dates import short_date
from recollect.language.excerpt import excerpt
from recollect.types import Memory

WHEN_LENGTH = 300  # characters; the text itself must still find room
PREVIOUS_LENGTH = 200  # characters; the models were trained with as much
EARLIER_LENGTH = 130  # characters, of the turn before that
PAIRED_LENGTH = 500  # characters of a memory; what a cross-encoder costs grows with what it reads


class Passage(str):
    """A text for a model to read. `muted` is a span that is context only: it colours the vectors
    of the rest and has no token vectors of its own (the turn it comes from has them). Its first `head`
    characters say who spoke and when, and belong before every part of a text that is read in parts."""

    __slots__ = ("head", "muted")
    muted: tuple[int, int]
    head: int

    def __new__(cls, text: str, muted: tuple[int, int] = (0, 0), head: int = 0) -> Passage:
        made = super().__new__(cls, text)
        made.muted, made.head = muted, head
        return made


def memory_passage(memory: Memory, before: Memory | None = None) -> Passage:
    """As it is embedded, with the turn that it answers."""
    return _of(memory, memory.text, before)


def paired_passage(
    memory: Memory,
    before: Memory | None = None,
    earlier: Memory | None = None,
    *,
    wanted: Sequence[str] = (),
) -> Passage:
    """As a cross-encoder reads it beside a query, with the turn that it answers and, where both are short, the
    one before that; of a long text the part with the terms wanted."""
    if before is None or len(memory.text) + len(before.text) > PAIRED_LENGTH:
        earlier = None
    return _of(memory, excerpt(memory.text, wanted, PAIRED_LENGTH), before, earlier)


def _of(memory: Memory, text: str, before: Memory | None, earlier: Memory | None = None) -> Passage:
    return passage(
        text,
        date=happened(memory),
        context=memory.context,
        speaker=memory.speaker,
        title=memory.title,
        recall_when=memory.recall_when,
        previous=None if before is None else said(before.speaker, before.text),
        earlier=None if earlier is None else said(earlier.speaker, earlier.text),
    )


def happened(memory: Memory) -> datetime | None:
    told = memory.mentioned_at if memory.mentioned_at != memory.created_at else None
    return shown_date(memory.speaker, told, memory.occurred_start)


def shown_date(
    speaker: str | None, told: datetime | None, occurred: datetime | None
) -> datetime | None:
    """The date that models read: of a statement when it happened, of a turn when it was said. What a
    turn happens to mention ("letters from the 1920s", "last week") dates a part of it at most."""
    return told or occurred if speaker else occurred or told


def is_dated(memory: Memory) -> bool:
    """Whether somebody said when. A memory told with no time bears the moment it was made, which
    says nothing of what it tells."""
    if memory.occurred_start is not None or memory.occurred_end is not None:
        return True
    return memory.mentioned_at is not None and memory.mentioned_at != memory.created_at


def said(speaker: str | None, text: str) -> str:
    return f"{speaker}: {text}" if speaker else text


def passage(
    text: str,
    *,
    date: datetime | None = None,
    context: str | None = None,
    speaker: str | None = None,
    title: str | None = None,
    recall_when: Sequence[str] = (),
    previous: str | None = None,
    earlier: str | None = None,
) -> Passage:
    """`recall_when` are its author's words for what it answers: the models read them first, before
    every part of a long note. `previous` is the turn that this one answers, `earlier` the one before that: read with
    it, but not part of it."""
    head = "" if date is None else f"{short_date(date)}: "
    head += f"{context}: " if context else ""
    answered = f"previous turn: {earlier[:EARLIER_LENGTH]}: " if earlier else ""
    answered += f"previous turn: {previous[:PREVIOUS_LENGTH]}: " if previous else ""
    asked = "; ".join(recall_when)[:WHEN_LENGTH]
    names = "".join(f"{part}: " for part in (asked, title, speaker) if part)
    front = head + answered + names
    return Passage(front + text, (len(head), len(head) + len(answered)), len(front))
