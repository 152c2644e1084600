"""The one form in which a memory is shown to the models, when it is embedded and when it is
reranked: `[Date: June 05, 2022 (2022-06-05)] context: speaker: text`."""

from __future__ import annotations

from datetime import datetime

from recollect.language.dates import readable
from recollect.types import Memory

PREVIOUS_LENGTH = 200  # characters; the models were trained with as much


def memory_passage(memory: Memory, before: Memory | None = None) -> str:
    return passage(
        memory.text,
        date=memory.occurred_start or memory.mentioned_at,
        context=memory.context,
        speaker=memory.speaker,
        title=memory.title,
        previous=None if before is None else said(before.speaker, before.text),
    )


def said(speaker: str | None, text: str) -> str:
    return f"{speaker}: {text}" if speaker else text


def passage(
    text: str,
    *,
    date: datetime | None = None,
    context: str | None = None,
    speaker: str | None = None,
    title: str | None = None,
    previous: str | None = None,
) -> str:
    """`previous` is the turn that this one answers."""
    answered = f"previous turn: {previous[:PREVIOUS_LENGTH]}" if previous else None
    whole = ": ".join([part for part in (context, answered, title, speaker) if part] + [text])
    return whole if date is None else f"[Date: {readable(date)}] {whole}"
