"""Commands that ask: recall, why, load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.arguments import VERBOSITIES, Bank, MemoryId, Query, query_text
from recollect.cli.asking import Along, Asking, Tagged
from recollect.cli.session import Session

if TYPE_CHECKING:
    from recollect.recall.result import RecallResult

SHOWN = 10  # hits drawn when -k says nothing; JSON and --as-context give all that were packed


def recall(
    session: Session,
    bank: Bank,
    query: Query,
    asked: Asking,
    seen: Tagged,
    along: Along,
    verbosity: Annotated[
        str, typer.Option(metavar="LEVEL", help="lean or full JSON.", autocompletion=VERBOSITIES)
    ] = "full",
    deadline_ms: Annotated[
        float | None, typer.Option(metavar="MS", help="The best answer so far when time is up.")
    ] = None,
    as_context: Annotated[
        bool,
        typer.Option("--as-context", help="Print what a prompt can use: dated, cited, no noise."),
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="The numbers behind every score.")
    ] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="A waterfall of the stages (on stderr).")
    ] = False,
    first: Annotated[
        int | None,
        typer.Option("-k", metavar="N", help=f"Only the first N hits; 0 = all. [text: {SHOWN}]"),
    ] = None,
) -> None:
    """Recall what matters for a question."""
    options = asked.options() | seen.filters() | along.options()
    options |= {"verbosity": verbosity, "deadline_ms": deadline_ms, "trace": trace}
    _check_first(first)
    with session.open_existing() as memory:
        result = memory.recall(bank, query_text(query), **options)
        _answer(session, result, first, explain=explain, as_context=as_context, verbosity=verbosity)


def _answer(
    session: Session,
    result: RecallResult,
    first: int | None,
    *,
    explain: bool,
    as_context: bool,
    verbosity: str,
) -> None:
    from recollect.cli.output import emit, printable
    from recollect.cli.picture import draw_recall, draw_stages, say_degraded

    if session.json:
        emit(recall_dict(result, first, explain=explain, verbosity=verbosity))
    elif as_context:
        typer.echo(printable(shortened(result, first).as_context()))
        say_degraded(result)
        draw_stages(result)
    else:
        shown = shortened(result, SHOWN if first is None else first)
        draw_recall(shown, len(result.results), explain=explain)


def recall_dict(
    result: RecallResult, first: int | None, *, explain: bool, verbosity: str
) -> dict[str, Any]:
    shown = shortened(result, first)
    out = shown.as_dict("lean" if verbosity == "lean" else "full")
    if explain:
        for hit, entry in zip(shown.results, out["results"], strict=True):
            entry["explanation"] = hit.explanation.as_dict() if hit.explanation else None
    return out


def shortened(result: RecallResult, first: int | None) -> RecallResult:
    """The first hits, with what came along with them alone."""
    from dataclasses import replace

    if not first or first >= len(result.results):
        return result
    hits = result.results[:first]
    memories = [hit.memory for hit in hits]
    chunks = {m.chunk_id for m in memories}
    named = {name for m in memories for name in m.entities}
    sources = {source for m in memories for source in m.source_ids}
    return replace(
        result,
        results=hits,
        tokens=sum(m.tokens for m in memories),
        chunks=tuple(c for c in result.chunks if c.id in chunks),
        entities=tuple(e for e in result.entities if e.name in named),
        source_facts=tuple(m for m in result.source_facts if m.id in sources),
    )


def _check_first(first: int | None) -> None:
    from recollect.errors import InvalidInput

    if first is not None and first < 0:
        raise InvalidInput(f"-k is {first}", hint="-k is a whole number from 0 up; 0 shows all")


def why(
    session: Session,
    bank: Bank,
    query: Query,
    memory_id: MemoryId,
    asked: Asking,
    seen: Tagged,
) -> None:
    """Why a memory was, or was not, returned: stage by stage."""
    from recollect.cli.output import emit
    from recollect.cli.picture import draw_why

    options = asked.options() | seen.filters()
    with session.open_existing() as memory:
        answer = memory.why(bank, query_text(query), memory_id, **options)
        if session.json:
            emit(answer.as_dict())
        else:
            draw_why(answer)


def load(
    session: Session,
    bank: Bank,
    memory_id: MemoryId,
    links: Annotated[bool, typer.Option("--links", help="Also what it is linked to.")] = False,
    revisions: Annotated[
        bool, typer.Option("--revisions", help="Also its earlier wordings.")
    ] = False,
) -> None:
    """One memory whole."""
    from recollect.recall.result import link_dict, memory_dict

    with session.open_existing() as memory:
        out = memory_dict(memory.load(bank, memory_id))
        if links:
            out["links"] = [link_dict(link) for link in memory.links(bank, memory_id)]
        if revisions:
            out["revisions"] = [memory_dict(m) for m in memory.revisions(bank, memory_id)]
    session.show(out)
