"""From what was given to facts and the documents they come from: chunk, then extract."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b

import orjson

from recollect.ids import new_id
from recollect.language.passage import said
from recollect.language.time import TimeExpression
from recollect.language.tokens import count_tokens
from recollect.retain.blocks import blocks
from recollect.retain.chunk import Statement, chunk, statements
from recollect.retain.entries import dates
from recollect.retain.items import Fact, Item, Relation
from recollect.retain.reading import Reader
from recollect.retain.stamps import Stamps
from recollect.retain.transcript import transcript
from recollect.types import MemoryType

CHUNK_TOKENS = 400
CAUSED = 0.8  # weight of a cause that an LLM names: as of one that the text names outright


@dataclass(frozen=True, slots=True)
class Source:
    """A document (or, with no id, loose facts): facts in order and the chunks they are from."""

    document_id: str | None
    facts: tuple[Fact, ...]
    chunks: tuple[str, ...]
    shared: Fact
    append: bool
    hash: bytes


def sources(given: Sequence[Item], reader: Reader | None = None) -> Iterator[Source]:
    """Items grouped into documents, in order of first appearance."""
    grouped: dict[str, list[Item]] = {}
    for item in given:
        own = item.document_id or (_own_id(item) if item.text is not None else "")
        grouped.setdefault(own, []).append(item)
    if reader is not None:
        _ask_ahead(grouped, reader)
    for document_id, members in grouped.items():
        if not document_id:
            loose = tuple(f for item in members for f in item.facts)
            yield Source(None, loose, (), members[0].shared, False, b"")
        else:
            yield _document(document_id, members, reader)


def _ask_ahead(grouped: Mapping[str, Sequence[Item]], reader: Reader) -> None:
    for document_id, members in grouped.items():
        append = any(item.append for item in members)
        if append or reader.known(document_id, _hash(members)) is None:
            for item in members:
                if item.text is not None:
                    reader.ahead(_pieces(item.text), item.shared)


def _pieces(text: str) -> list[str]:
    return [piece.text for piece in chunk(text, max_tokens=CHUNK_TOKENS, count=count_tokens)]


def _own_id(item: Item) -> str:
    """A text that names its time, or the times of all that is said in it, is the same text when the call is
    made again."""
    return _hash([item]).hex() if item.shared.dated or _tells_times(item.text or "") else new_id()


def _tells_times(text: str) -> bool:
    lines = transcript(text)
    stamps = (
        [block.stamp or block.day for block in blocks(text)]
        if lines is None
        else [line.stamp for line in lines]
    )
    told = Stamps.of(stamps)
    return all(told.said_at(stamp) is not None for stamp in stamps)


def _document(document_id: str, members: Sequence[Item], reader: Reader | None) -> Source:
    digest, shared = _hash(members), members[0].shared
    append = any(item.append for item in members)
    if reader is not None and any(item.text is not None for item in members):
        known = None if append else reader.known(document_id, digest)
        if known is not None:
            facts = (replace(shared, text=m.text, speaker=m.speaker) for m in known)
            return Source(document_id, tuple(facts), (), shared, False, reader.hash(digest))
        asked = _put_together(members, reader)
        if asked is not None:
            return Source(document_id, *asked, shared, append, reader.hash(digest))
    found = _put_together(members, None)
    assert found is not None  # rules always find something
    return Source(document_id, *found, shared, append, digest)


def _put_together(
    members: Sequence[Item], reader: Reader | None
) -> tuple[tuple[Fact, ...], tuple[str, ...]] | None:
    """Facts and chunks of all members; None when the reader fails at one of them."""
    facts: list[Fact] = []
    chunks: list[str] = []
    for item in members:
        if item.text is None:
            found = _group(item.facts, len(chunks))
        elif reader is None:
            found = _as_talk(item, len(chunks)) or _by_rule(item.text, item, len(chunks))
        else:
            found = _by_reader(item.text, item.shared, len(chunks), reader)
            if found is None:
                return None
        facts.extend(found[0])
        chunks.extend(found[1])
    return tuple(facts), tuple(chunks)


def _as_talk(item: Item, at: int) -> tuple[list[Fact], list[str]] | None:
    """A text that is a talk in JSON holds turns."""
    shared, lines = item.shared, transcript(item.text or "")
    if lines is None:
        return None
    told = Stamps.of(line.stamp for line in lines)
    turns = [
        replace(
            shared,
            text=line.text,
            speaker=line.speaker or shared.speaker,
            said_at=said_at or shared.said_at,
            zone=shared.zone if said_at is None else None,
            dated=shared.dated or said_at is not None,
            metadata={
                **shared.metadata,
                **line.metadata,
                **({"time": line.stamp} if unread else {}),
            },
        )
        for line in lines
        for said_at in [told.said_at(line.stamp)]
        for unread in [line.stamp is not None and said_at is None]
    ]
    return _group(turns, at)


def _by_rule(text: str, item: Item, at: int) -> tuple[list[Fact], list[str]]:
    shared = item.shared
    pieces = chunk(text, max_tokens=CHUNK_TOKENS, count=count_tokens, heard=item.heard)
    starts = [piece.span[0] for piece in pieces]
    told = statements(text, count=count_tokens, heard=item.heard)
    stamps = Stamps.of(each for found in told for each in (found.stamp, found.day))
    # Stamps name no zone: "today" is the day of whoever gave it, as his own clock shows it.
    seen = shared.said_at and shared.said_at.astimezone(shared.zone or UTC).replace(tzinfo=UTC)
    days = dates([(found.text, found.heading) for found in told], shared.zone or UTC)
    facts = [
        replace(
            _happened(shared, day),
            text=found.text,
            context=_joined(shared.context, found.heading),
            speaker=found.speaker or shared.speaker,
            said_at=said_at or shared.said_at,
            zone=shared.zone if said_at is None else None,
            dated=shared.dated or said_at is not None,
            chunk=at + max(0, bisect_right(starts, found.span[0]) - 1),
        )
        for found, day in zip(told, days, strict=True)
        for said_at in [stamps.said_at(found.stamp, seen) or _told_on(found, stamps, seen)]
    ]
    return facts, [piece.text for piece in pieces]


def _told_on(found: Statement, stamps: Stamps, seen: datetime | None) -> datetime | None:
    """By the day above it, and the clock where that is all its stamp tells; what is planned for a day was not told on
    it."""
    if found.day is None:
        return None
    clock = stamps.said_at(f"{found.day} {found.stamp}", seen) if found.stamp else None
    told = clock or stamps.said_at(found.day, seen)
    return None if told and seen and told.date() > seen.date() else told


def _happened(shared: Fact, day: TimeExpression | None) -> Fact:
    """Dated by the lines around it, unless the caller says when it was."""
    if day is None or day.range is None or shared.occurred_start or shared.occurred_end:
        return shared
    grain = day.grain.value if day.grain else None
    start, end = day.range.start, day.range.end
    return replace(shared, occurred_start=start, occurred_end=end, occurred_grain=grain)


def _by_reader(
    text: str, shared: Fact, at: int, reader: Reader
) -> tuple[list[Fact], list[str]] | None:
    pieces = _pieces(text)
    found = reader.read(pieces, shared)
    if found is None:
        return None
    facts: list[Fact] = []
    for number, answer in enumerate(found):
        first = len(facts)  # places of a fact's causes are counted within its own answer
        for fact in answer:
            facts.append(
                replace(
                    shared,
                    text=fact.text,
                    position=len(facts),
                    type=shared.type or (None if fact.kind is None else MemoryType(fact.kind)),
                    entities=tuple(dict.fromkeys(shared.entities + fact.entities)),
                    occurred_start=shared.occurred_start or fact.occurred_start,
                    occurred_end=shared.occurred_end or fact.occurred_end,
                    relations=tuple(
                        Relation(kind="caused_by", target=first + c, weight=CAUSED)
                        for c in fact.caused_by
                    ),
                    chunk=at + number,
                )
            )
    return facts, pieces


def _group(facts: Iterable[Fact], at: int) -> tuple[list[Fact], list[str]]:
    """Ready-made facts and turns keep their own text; a chunk is a run of them."""
    out: list[Fact] = []
    chunks: list[list[str]] = []
    room = 0
    for fact in facts:
        line = said(fact.speaker, fact.text)
        cost = count_tokens(line)
        if not chunks or cost > room:
            chunks.append([])
            room = CHUNK_TOKENS
        chunks[-1].append(line)
        room -= cost
        out.append(replace(fact, chunk=at + len(chunks) - 1))
    return out, ["\n".join(lines) for lines in chunks]


def _joined(context: str | None, heading: str) -> str | None:
    return " > ".join(part for part in (context, heading) if part) or None


def _hash(members: Sequence[Item]) -> bytes:
    """Of everything that was given; the moment of the call is not."""
    given = [
        (m.text, [repr(_timeless(f)) for f in m.facts], repr(_timeless(m.shared)), m.append)
        for m in members
    ]
    return blake2b(orjson.dumps(given), digest_size=16).digest()


def _timeless(fact: Fact) -> Fact:
    return replace(fact, item=0, said_at=fact.said_at if fact.dated else None)
