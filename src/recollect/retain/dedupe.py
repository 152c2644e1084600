"""Is this fact already known? And does it replace one?

The same statement, or nearly the same, is evidence for the memory that is there. It is
another memory all the same when it is another happening (an event on another day), when it
was said by somebody else, or when other people may see it (other tags). A reply ("No.", `replies.py`)
is the same only in the same talk.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from recollect.language.dates import day_after
from recollect.retain.prepare import Prepared
from recollect.retain.statements import TIMES, contradicts, nearly_same, slot
from recollect.types import Memory, MemoryType, State

Span = tuple[datetime, datetime | None]
NEAR_COSINE = 0.80  # below it two statements are never compared word by word


def is_same(new: Prepared, old: Memory) -> bool:
    """`old` already says what `new` says."""
    fact = new.fact
    if old.state is not State.ACTIVE or set(old.tags) != set(fact.tags):
        return False
    if (old.speaker or "").casefold() != (fact.speaker or "").casefold():
        return False
    if (old.type is MemoryType.OBSERVATION) != (fact.type is MemoryType.OBSERVATION):
        return False
    return _same_time(new, old)


def is_nearly_same(new: Prepared, old: Memory) -> bool:
    return is_same(new, old) and nearly_same(new.fact.text, old.text)


def _same_time(new: Prepared, old: Memory) -> bool:
    fact = new.fact
    if fact.occurred_start is not None and old.occurred_start is not None:
        return _overlap(
            (fact.occurred_start, fact.occurred_end), (old.occurred_start, old.occurred_end)
        )
    if not new.event:
        return True
    # An event that names no time happened about when it was told.
    mine = (
        [(fact.occurred_start, fact.occurred_end)] if fact.occurred_start else _days(fact.said_at)
    )
    theirs = (
        [(old.occurred_start, old.occurred_end)]
        if old.occurred_start
        else _days(old.mentioned_at, old.last_mentioned_at)
    )
    if not mine or not theirs:
        return True
    return any(_overlap(a, b) for a in mine for b in theirs)


def _days(*told: datetime | None) -> list[Span]:
    starts = [t.replace(hour=0, minute=0, second=0, microsecond=0) for t in told if t is not None]
    return [(day, day_after(day)) for day in starts]


def _overlap(a: Span, b: Span) -> bool:
    a_end, b_end = a[1] or a[0], b[1] or b[0]
    return a[0] == b[0] or (a[0] < b_end and b[0] < a_end)


def replaced_by(new: Prepared, olds: Sequence[Memory]) -> list[Memory]:
    """Active memories that give the same attribute another value."""
    if new.slot is None:
        return []
    out: list[Memory] = []
    for old in olds:
        before = slot(old.text, old.speaker)
        if (
            before is not None
            and old.state is State.ACTIVE
            and set(old.tags) == set(new.fact.tags)
            and contradicts(before, new.slot)
            and not (before.relation in TIMES and _is_over(old, new.fact.said_at))
        ):
            out.append(old)
    return out


def _is_over(old: Memory, now: datetime | None) -> bool:
    """What took place was not moved: "the meeting" is another one by now."""
    return now is not None and old.occurred_end is not None and old.occurred_end <= now
