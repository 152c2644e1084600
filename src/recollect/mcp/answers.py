"""What an agent reads: the compact text, and the same as a structured object.

Some clients show a model only the text, others only the structured object. So each says
everything that matters, and each is lean by default.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from recollect.language.passage import said
from recollect.language.tokens import count_tokens
from recollect.lifecycle import Freshness, age
from recollect.recall.explain import Why
from recollect.recall.result import (
    RecallResult,
    dated,
    hit_dict,
    link_dict,
    memory_dict,
    shorten,
)
from recollect.types import Band, Bank, Chunk, Hit, Link, Memory, RetainResult, Verbosity

TITLE_LENGTH = 60
BANKS = 100  # named at most
ADVICE: Mapping[Band, str] = {
    Band.STRONG: "strong: rely on it; load_memory(id) first when its summary is cut (…)",
    Band.MAYBE: "maybe: read the summary, load_memory(id) only when it is directly relevant",
    Band.NOISE: "noise: below the floor, shown because min_score was given; do not rely on it",
}
OLD = (
    "aging, stale, expired: it was not confirmed for long; check that it still holds, and retain it "
    "with its id when it does."
)
UNKNOWN = (
    "Nothing is known about this. If it should be, ask once more in other words; otherwise do not "
    "guess: ask the user, or find out and retain it."
)
UNSEEN = (
    "Nothing was found, but not everything could be searched: it may be known all the same. Ask once "
    "more later, and do not guess."
)
UNREACHED = "Something is known about this, but {}. Ask with a lower min_score."
TOO_LONG = "What is known about this is longer than max_tokens: ask with more of them."


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    structured: dict[str, Any]


# --- recall ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """The hits of a recall, sorted into what is shown and what is not."""

    shown: tuple[Hit, ...]
    given: tuple[Hit, ...]  # among the best, but this conversation has them already
    more: int  # further hits beyond what was asked for


def recalled(result: RecallResult, found: Found, verbosity: Verbosity) -> Answer:
    out: dict[str, Any] = {
        "bank": result.bank,
        "results": [hit_object(hit, verbosity) for hit in found.shown],
        "nothing_known": _nothing(found) and result.nothing_known,
    }
    if result.under_floor is not None:
        out["under_floor"] = result.under_floor
    if found.given:
        out["already_given"] = [hit.id for hit in found.given]
    if found.more:
        out["more"] = found.more
    if result.degraded:
        out["degraded"] = [{"part": d.part, "reason": d.reason} for d in result.degraded]
    if verbosity == "full":
        whole = result.as_dict("full")
        out |= {k: whole[k] for k in ("window", "timings", "tokens") if whole.get(k) is not None}
    out["advice"] = " ".join(_notes(result, found))
    lines = [hit_lines(hit, verbosity) for hit in found.shown]
    return Answer("\n".join([*lines, *_notes(result, found)]), out)


def _nothing(found: Found) -> bool:
    return not found.shown and not found.given


def _why_nothing(result: RecallResult) -> str:
    if result.nothing_known:
        return UNKNOWN
    if result.under_floor is not None:
        return UNREACHED.format(result.under_floor)
    # A search that failed or was late may have found something.
    return UNSEEN if result.degraded else TOO_LONG


def _notes(result: RecallResult, found: Found) -> list[str]:
    """What to do with the answer, and what it had to leave out."""
    bands = dict.fromkeys(hit.band for hit in found.shown)
    notes = [f"{ADVICE[band]}." for band in bands]
    if any(_aged(hit.memory) for hit in found.shown):
        notes.append(OLD)
    if found.given:
        ids = ", ".join(hit.id for hit in found.given)
        only = "Nothing new: " if not found.shown else ""
        notes.append(
            f"{only}{len(found.given)} already given in this conversation ({ids}); "
            "again=true repeats them."
        )
    if found.more:
        notes.append(f"{found.more} more with a larger k.")
    if _nothing(found):
        notes.append(_why_nothing(result))
    notes += [f"Answered without {d.part}: {d.reason}." for d in result.degraded]
    return notes


def unknown_bank(bank: str, banks: Sequence[str]) -> Answer:
    others = f"Banks: {', '.join(banks)}." if banks else "There are no banks yet."
    note = f"Nothing is known: there is no bank {bank!r}. {others} retain() creates one."
    return Answer(note, {"bank": bank, "results": [], "nothing_known": True, "advice": note})


def hit_object(hit: Hit, verbosity: Verbosity) -> dict[str, Any]:
    memory = hit.memory
    own: dict[str, Any] = {"title": title_of(memory), "date": dated(memory)}
    if verbosity == "full":
        return {k: v for k, v in (hit_dict(hit, "full") | own).items() if v is not None}
    out = hit_dict(hit, "lean") | own | {"score": round(hit.score, 2)}
    if memory.kind:
        out["kind"] = memory.kind
    out["freshness"] = _aged(memory)
    if memory.superseded_by:
        out["superseded_by"] = memory.superseded_by
    if hit.hop:
        out["hop"] = hit.hop
    return {k: v for k, v in out.items() if v is not None}


def hit_lines(hit: Hit, verbosity: Verbosity) -> str:
    """A hit as text: `[strong 0.91] ID (2026-04-20) lesson · web — Title: summary`."""
    memory = hit.memory
    body = memory.summary or said(memory.speaker, memory.text)
    body = body if verbosity == "full" else shorten(body)
    # A title that is only the first words would be read twice.
    titled = f"{memory.title}: {body}" if memory.title else body
    return f"[{hit.band.value} {hit.score:.2f}] {memory.id} {_marks(memory, hit.hop)}{titled}" + (
        _workings(hit) if verbosity == "full" else ""
    )


def _marks(memory: Memory, hop: int) -> str:
    day = dated(memory)
    marks = [
        f"({day})" if day else "",
        " · ".join(p for p in (memory.kind or memory.type.value, memory.scope) if p),
        f"· {_aged(memory)}" if _aged(memory) else "",
        "· since replaced" if memory.superseded_by else "",
        "· linked to a hit" if hop else "",
    ]
    return " ".join(m for m in marks if m) + " — "


def _workings(hit: Hit) -> str:
    arms = ", ".join(f"{arm.value} #{score.rank}" for arm, score in hit.arms.items())
    factors = ", ".join(f"{name} {value:.3g}" for name, value in hit.scores.items())
    return f"\n  found by {arms or 'a link'}; matched {', '.join(hit.matched_terms) or 'no term'}; {factors}"


def within(hits: Iterable[Hit], verbosity: Verbosity, max_tokens: int) -> list[Hit]:
    """The hits whose lines fit: `max_tokens` bounds what the agent reads."""
    left, kept = max_tokens, list[Hit]()
    for hit in hits:
        left -= count_tokens(hit_lines(hit, verbosity))
        if left < 0:
            break
        kept.append(hit)
    return kept


# --- one memory ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Whole:
    """A memory with what surrounds it; None where that was not asked for."""

    memory: Memory
    links: Sequence[Link] = ()
    revisions: Sequence[Memory] = ()
    chunk: Chunk | None = None


_ESSENTIAL = (
    "id", "bank", "type", "kind", "scope", "speaker", "context", "tags", "confidence",
    "valid_until", "superseded_by",
)  # fmt: skip


def loaded(whole: Whole, verbosity: Verbosity) -> Answer:
    memory = whole.memory
    everything = memory_dict(memory)
    if verbosity == "full":
        out = everything | {
            "title": title_of(memory),
            "links": [link_dict(link) for link in whole.links],
            "revisions": [memory_dict(revision) for revision in whole.revisions],
        }
        if whole.chunk is not None:
            out["source"] = whole.chunk.text
    else:
        out = {"title": title_of(memory), "date": dated(memory)}
        out |= {name: everything.get(name) for name in _ESSENTIAL}
        out["text"] = memory.text
        out["freshness"] = _aged(memory)
        if memory.state.value not in ("active", "superseded"):
            out["state"] = memory.state.value
        out = {k: v for k, v in out.items() if v is not None}
    return Answer(_as_text(out, memory), out)


def _as_text(out: Mapping[str, Any], memory: Memory) -> str:
    """Fields on lines of their own, then the body."""
    skipped = {"text", "source", "links", "revisions", "" if memory.title else "title"}
    head = [f"{name}: {_inline(value)}" for name, value in out.items() if name not in skipped]
    tail: list[str] = []
    if out.get("source") and out["source"] != memory.text:
        tail += ["", "source text:", out["source"]]
    if out.get("links"):
        tail += ["", "links:"]
        tail += [
            f"{k['kind']} {k['weight']:.2f} {k['source']} → {k['target']}" for k in out["links"]
        ]
    if out.get("revisions"):
        tail += ["", "earlier wordings:", *(r["text"] for r in out["revisions"])]
    return "\n".join([*head, "", memory.text, *tail])


# --- writing, looking around -----------------------------------------------------------------


def retained(result: RetainResult, memories: Sequence[Memory]) -> Answer:
    out: dict[str, Any] = {
        "bank": result.bank,
        "new": list(result.new),
        "known": list(result.known),
        "superseded": list(result.superseded),
        "replaced": result.replaced,
    }
    titles = {memory.id: title_of(memory) for memory in memories}
    lines = [f"Remembered in {result.bank}: {i} — {titles.get(i, '')}" for i in result.new]
    lines += [f"Known already, now with more evidence: {i}" for i in result.known]
    lines += [f"Superseded: {i}" for i in result.superseded]
    if result.replaced:
        lines.append(f"{result.replaced} memories of the document's earlier version replaced.")
    return Answer("\n".join(lines) or "Nothing in it to remember.", out)


def corrected(memory: Memory) -> Answer:
    out: dict[str, Any] = {"bank": memory.bank, "corrected": [memory.id], "replaced": 0}
    out |= {"new": [], "known": [], "superseded": []}
    return Answer(f"Corrected in {memory.bank}: {memory.id} — {title_of(memory)}", out)


def explained(answer: Why, memory: Memory) -> Answer:
    verdict = (
        f"Returned as number {answer.rank}."
        if answer.returned
        else f"Not returned: it left at {answer.left_at}."
    )
    lines = [f"{title_of(memory)}: {verdict}"]
    for stage in answer.stages:
        needed = f" (needed: {stage.needed})" if stage.needed else ""
        lines.append(f"{'✓' if stage.passed else '✗'} {stage.stage}: {stage.says}{needed}")
    return Answer("\n".join(lines), answer.as_dict())


def listed(banks: Sequence[Bank], default: str) -> Answer:
    every, banks = banks, banks[:BANKS]
    out: dict[str, Any] = {
        "default": default,
        "banks": [
            {
                "bank": bank.id,
                "memories": bank.memories,
                "documents": bank.documents,
                "updated_at": bank.updated_at.isoformat(),
            }
            for bank in banks
        ],
    }
    lines = [_bank_line(bank, default) for bank in banks]
    if len(every) > BANKS:
        out["more"] = len(every) - BANKS
        lines.append(f"and {len(every) - BANKS} more")
    if default not in {bank.id for bank in every}:
        lines.append(f"{default} (default): empty so far; retain() creates it")
    return Answer("\n".join(lines), out)


def _bank_line(bank: Bank, default: str) -> str:
    memories = "1 memory" if bank.memories == 1 else f"{bank.memories} memories"
    documents = "1 document" if bank.documents == 1 else f"{bank.documents} documents"
    name = f"{bank.id} (default)" if bank.id == default else bank.id
    return f"{name}: {memories}, {documents}, updated {bank.updated_at:%Y-%m-%d}"


# --- words -----------------------------------------------------------------------------------


def title_of(memory: Memory) -> str:
    """The authored title, or the first words."""
    return memory.title or shorten(memory.summary or memory.text, TITLE_LENGTH)


def _aged(memory: Memory) -> str | None:
    """How old it has grown for its kind; None while it is fresh."""
    found = age(memory, datetime.now(UTC)).freshness
    return None if found is Freshness.FRESH else found.value


def _inline(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType]
    return value.isoformat() if isinstance(value, datetime) else str(value)
