"""What a recall gives back: hits, and everything needed to trust them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from operator import attrgetter
from typing import Any

from recollect.language.passage import said
from recollect.recall.request import check_verbosity
from recollect.recall.understand import Query
from recollect.types import (
    Band,
    Chunk,
    Degradation,
    EntityState,
    Hit,
    Link,
    Memory,
    MemoryType,
    StageTrace,
    State,
    Verbosity,
    Window,
)

SUMMARY_LENGTH = 160
_NOON, _SHORTEST_DAY = timedelta(hours=12), timedelta(hours=23)
_FORMS = {"month": (timedelta(days=32), "%Y-%m"), "year": (timedelta(days=367), "%Y")}  # of one
_FIELDS = tuple(Memory.__dataclass_fields__)
_EMPTY: tuple[Any, ...] = ((), {})
_fields_of: Callable[[Memory], tuple[Any, ...]] = attrgetter(*_FIELDS)
_WRITTEN: Mapping[type, Callable[[Any], Any]] = {  # what JSON has no kind for
    datetime: datetime.isoformat,
    tuple: list,
    MemoryType: attrgetter("value"),
    State: attrgetter("value"),
}
NOTHING = "Nothing is known about this."
NOT_GIVEN = "What is known about this cannot be given"


@dataclass(frozen=True, slots=True)
class Trace:
    """Every stage with its clock, and what the query was understood to ask."""

    query: Query
    stages: tuple[StageTrace, ...]
    candidates: int
    connections: int = 0  # taken from the pool of a server's store
    round_trips: int = 0  # to that server
    max_conn_wait: float = 0.0  # milliseconds that a connection was waited for

    def as_dict(self) -> dict[str, Any]:
        return {
            "terms": list(self.query.terms),
            "window": window_dict(self.query.window),
            "entities": list(self.query.entities),
            "candidates": self.candidates,
            "connections": self.connections,
            "round_trips": self.round_trips,
            "max_conn_wait": round(self.max_conn_wait, 3),
            "stages": [
                {
                    "stage": s.stage,
                    "start_ms": round(s.start_ms, 3),
                    "stop_ms": round(s.stop_ms, 3),
                    "cpu_ms": round(s.cpu_ms, 3),
                    "thread": s.thread,
                    **s.detail,
                }
                for s in self.stages
            ],
        }


@dataclass(frozen=True, slots=True)
class RecallResult:
    bank: str
    query: str
    results: Sequence[Hit]  # best first; never changed
    chunks: tuple[Chunk, ...]
    window: Window | None
    timings: Mapping[str, float]
    degraded: tuple[Degradation, ...]
    nothing_known: bool
    tokens: int
    cached: bool
    trace: Trace | None
    verbosity: Verbosity = "full"  # as asked for
    entities: tuple[EntityState, ...] = ()
    source_facts: tuple[Memory, ...] = ()
    source_facts_truncated: bool = False
    under_floor: str | None = None  # which floor left out all that is known, if one did

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: int) -> Hit:
        return self.results[place]

    def __str__(self) -> str:
        """A line a hit, for whoever prints an answer to look at it."""
        known = [] if not self.nothing_known else [NOTHING]
        without = [f"degraded: {d.part}: {d.reason}" for d in self.degraded]
        hits = [
            f"{n:>3}  {hit.score:.3f}  {hit.band.value:<6}  {_line(hit.memory)}"
            for n, hit in enumerate(self.results, 1)
        ]
        return "\n".join([*known, *hits, *without])

    def as_context(self) -> str:
        """The hits as a prompt can use them: dated, cited by number, best first. Noise is left
        out; when nothing is known it says so, and also when what is known cannot be given."""
        kept = [hit for hit in self.results if hit.band is not Band.NOISE]
        if not kept:
            return NOTHING if self.nothing_known else f"{NOT_GIVEN}: {self._obstacle()}."
        return "\n".join(f"[{n}] {_line(hit.memory)}" for n, hit in enumerate(kept, 1))

    def _obstacle(self) -> str:
        if self.under_floor is not None:
            return self.under_floor
        if not self.degraded:
            return "it is longer than max_tokens"
        return "; ".join(f"{d.part}: {d.reason}" for d in self.degraded)

    def as_dict(self, verbosity: Verbosity | None = None) -> dict[str, Any]:
        """As JSON, as lean as the recall asked for, or as is asked for here."""
        verbosity = verbosity or self.verbosity
        check_verbosity(verbosity)
        out: dict[str, Any] = {
            "bank": self.bank,
            "query": self.query,
            "results": [hit_dict(hit, verbosity) for hit in self.results],
            "nothing_known": self.nothing_known,
        }
        if self.under_floor is not None:
            out["under_floor"] = self.under_floor
        if self.degraded:
            out["degraded"] = [{"part": d.part, "reason": d.reason} for d in self.degraded]
        if self.chunks:
            out["chunks"] = [
                {"id": c.id, "document_id": c.document_id, "text": c.text, "truncated": c.truncated}
                for c in self.chunks
            ]
        if self.entities:
            out["entities"] = [
                {"id": e.id, "name": e.name, "observations": [m.text for m in e.observations]}
                for e in self.entities
            ]
        if self.source_facts:
            out["source_facts"] = [memory_dict(m) for m in self.source_facts]
            out["source_facts_truncated"] = self.source_facts_truncated
        if verbosity == "full":
            out["window"] = window_dict(self.window)
            out["tokens"] = self.tokens
            out["timings"] = {k: round(v, 3) for k, v in self.timings.items()}
        if self.trace is not None:
            out["trace"] = self.trace.as_dict()
        return out

    def _repr_html_(self) -> str:
        """For notebooks: a row a hit, which unfolds to the numbers behind its score."""
        rows = "".join(
            f"<tr><td>{hit.score:.3f}</td><td>{hit.band.value}</td><td>{_unfolding(hit)}</td></tr>"
            for hit in self.results
        )
        known = f"<p>{NOTHING}</p>" if self.nothing_known else ""
        return f"{known}<table><tr><th>score</th><th>band</th><th>memory</th></tr>{rows}</table>"


def hit_dict(hit: Hit, verbosity: Verbosity = "full") -> dict[str, Any]:
    memory = hit.memory
    whole: dict[str, Any] = {
        "id": memory.id,
        "title": memory.title,
        "type": memory.type.value,
        "scope": memory.scope,
        "summary": memory.summary,
        "score": hit.score,  # not rounded: it is what its explanation adds up to
        "band": hit.band.value,
        "hop": hit.hop,
    }
    if verbosity == "lean":
        summary = shorten(memory.summary or said(memory.speaker, memory.text))
        short = {"summary": summary, "score": round(hit.score, 4), "hop": hit.hop or None}
        return {k: v for k, v in (whole | short).items() if v is not None}
    return {
        **whole,
        **memory_dict(memory),
        "scores": dict(hit.scores),
        "arms": {arm.value: {"rank": s.rank, "score": s.score} for arm, s in hit.arms.items()},
        "matched_terms": list(hit.matched_terms),
    }


def memory_dict(memory: Memory) -> dict[str, Any]:
    """A memory as JSON: every field that says something."""
    out: dict[str, Any] = {}
    for name, value in zip(_FIELDS, _fields_of(memory), strict=True):
        if value is None or value is False or (not value and value in _EMPTY):
            continue
        write = _WRITTEN.get(value.__class__)
        out[name] = value if write is None else write(value)
    return out


def link_dict(link: Link) -> dict[str, Any]:
    return {
        "source": link.source,
        "target": link.target,
        "kind": link.kind.value,
        "weight": round(link.weight, 4),
    }


def shorten(text: str, length: int = SUMMARY_LENGTH) -> str:
    """At most `length` characters, cut at a word; in the middle of one that takes up half of it, as what
    is written without spaces does."""
    flat = " ".join(text.split())
    if len(flat) <= length:
        return flat
    cut = flat[: length - 1]
    words = cut.rsplit(" ", 1)[0]
    return (words if 2 * len(words) >= length else cut) + "…"


def window_dict(window: Window | None) -> dict[str, Any] | None:
    if window is None:
        return None
    return {
        "start": window.start.isoformat() if window.start else None,
        "end": window.end.isoformat() if window.end else None,
        "text": window.text,
        **({} if window.near is None else {"near": window.near}),
    }


def _unfolding(hit: Hit) -> str:
    line, tree = escape(_line(hit.memory)), hit.explanation
    if tree is None:
        return line
    return f"<details><summary>{line}</summary>{tree.as_html()}</details>"


def _line(memory: Memory) -> str:
    date = dated(memory)
    parts = [
        f"({date})" if date else "",
        said(memory.speaker, memory.text),
        "(since replaced)" if memory.superseded_by else "",
    ]
    return " ".join(p for p in parts if p)


def dated(memory: Memory) -> str | None:
    """When it happened, and of what somebody said of another day also when: "yesterday" counts from there."""
    happened, spoken = day_of(memory), memory.mentioned_at
    if happened is None or spoken is None or memory.speaker is None:
        return happened
    told = f"{spoken:%Y-%m-%d}"
    return happened if told in happened else f"{happened}, said {told}"


def day_of(memory: Memory) -> str | None:
    """When it happened, or was said. What was told by the month or the year is no day of it."""
    start, end, grain = memory.occurred_start, memory.occurred_end, memory.occurred_grain
    if start is None or end is None or end <= start:
        told = start or memory.mentioned_at
        return f"{told:%Y-%m-%d}" if told else None
    first, last = start, end - timedelta(microseconds=1)
    # Days are those of who told it, and may begin at any hour in UTC.
    if grain and end - start >= _SHORTEST_DAY:
        first, last = start + _NOON, end - _NOON
    longest, form = _FORMS.get(grain or "", (_SHORTEST_DAY, "%Y-%m-%d"))
    if end - start <= longest or first.date() == last.date():
        return first.strftime(form)
    return f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
