"""The one form in which a memory is shown to the models, when it is embedded and when it is
reranked: `[Date: June 05, 2022 (2022-06-05)] context: speaker: text`."""

from __future__ import annotations

from datetime import datetime

from recollect.language.dates import readable
from recollect.types import Memory


def memory_passage(memory: Memory) -> str:
    return passage(
        memory.text,
        date=memory.occurred_start or memory.mentioned_at,
        context=memory.context,
        speaker=memory.speaker,
        title=memory.title,
    )


def passage(
    text: str,
    *,
    date: datetime | None = None,
    context: str | None = None,
    speaker: str | None = None,
    title: str | None = None,
) -> str:
    parts = [part for part in (context, title, speaker) if part]
    said = ": ".join([*parts, text])
    return said if date is None else f"[Date: {readable(date)}] {said}"
