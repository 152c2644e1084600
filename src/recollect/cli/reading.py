"""Commands that ask: recall, why, load."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.arguments import (
    BUDGETS,
    TAG_MODES,
    TYPES,
    VERBOSITIES,
    Bank,
    MemoryId,
    Query,
    listed,
    query_text,
)
from recollect.cli.session import Session

if TYPE_CHECKING:
    from recollect.recall.result import RecallResult

SHOWN = 10  # hits drawn when -k says nothing; JSON and --as-context give all that were packed

Budget = Annotated[
    str,
    typer.Option(
        metavar="LEVEL", help="How deep to look: low, mid or high.", autocompletion=BUDGETS
    ),
]
MaxTokens = Annotated[int, typer.Option(metavar="N", help="How large the answer may be.")]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--types",
        "--type",
        metavar="TYPE",
        help="Only these types: a,b or repeated.",
        autocompletion=TYPES,
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tags", "--tag", metavar="TAG", help="Only these tags: a,b or repeated."),
]
TagsMatch = Annotated[
    str,
    typer.Option(
        metavar="MODE", help="any, all, any_strict, all_strict or exact.", autocompletion=TAG_MODES
    ),
]
TagGroups = Annotated[
    str | None,
    typer.Option(
        metavar="JSON", help='Boolean tags, e.g. [{"or":[{"tags":["a"]},{"not":{"tags":["b"]}}]}].'
    ),
]
At = Annotated[
    str | None,
    typer.Option("--at", metavar="WHEN", help="Ask as if it were then (query_timestamp)."),
]
From = Annotated[
    str | None, typer.Option("--from", metavar="WHEN", help="Start of the time asked about.")
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="WHEN", help="End of the time asked about; a day is included."),
]
AsOf = Annotated[
    str | None, typer.Option(metavar="WHEN", help="The bank as it was known at that time.")
]
MinScore = Annotated[
    float | None, typer.Option(metavar="0..1", help="Leave out what scores lower.")
]


def recall(
    session: Session,
    bank: Bank,
    query: Query,
    budget: Budget = "mid",
    max_tokens: MaxTokens = 4096,
    types: Types = None,
    tags: Tags = None,
    tags_match: TagsMatch = "any",
    tag_groups: TagGroups = None,
    at: At = None,
    start: From = None,
    end: To = None,
    as_of: AsOf = None,
    min_score: MinScore = None,
    expand_hops: Annotated[
        int, typer.Option(metavar="0|1", help="Also bring what the hits link to.")
    ] = 0,
    verbosity: Annotated[
        str, typer.Option(metavar="LEVEL", help="lean or full JSON.", autocompletion=VERBOSITIES)
    ] = "full",
    deadline_ms: Annotated[
        float | None, typer.Option(metavar="MS", help="The best answer so far when time is up.")
    ] = None,
    chunks: Annotated[
        bool, typer.Option("--chunks", help="Also the source text of the hits.")
    ] = False,
    max_chunk_tokens: Annotated[
        int, typer.Option(metavar="N", help="How much source text.")
    ] = 8192,
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
    options = _options(budget, max_tokens, types, tags, tags_match, tag_groups)
    options |= _times(at, start, end, as_of) | {
        "min_score": min_score, "expand_hops": expand_hops, "verbosity": verbosity, "deadline_ms": deadline_ms,
        "include_chunks": chunks, "max_chunk_tokens": max_chunk_tokens, "trace": trace,
    }  # fmt: skip
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
    from recollect.cli.output import emit
    from recollect.cli.picture import draw_recall

    if session.json:
        emit(recall_dict(result, first, explain=explain, verbosity=verbosity))
    elif as_context:
        typer.echo(_shortened(result, first).as_context())
    else:
        draw_recall(result, SHOWN if first is None else first, explain=explain)


def recall_dict(
    result: RecallResult, first: int | None, *, explain: bool, verbosity: str
) -> dict[str, Any]:
    shown = _shortened(result, first)
    out = shown.as_dict("lean" if verbosity == "lean" else "full")
    if explain:
        for hit, entry in zip(shown.results, out["results"], strict=True):
            entry["explanation"] = hit.explanation.as_dict() if hit.explanation else None
    return out


def _shortened(result: RecallResult, first: int | None) -> RecallResult:
    from dataclasses import replace

    return replace(result, results=result.results[:first]) if first else result


def _check_first(first: int | None) -> None:
    from recollect.errors import InvalidInput

    if first is not None and first < 0:
        raise InvalidInput(f"-k is {first}", hint="-k is a whole number from 0 up; 0 shows all")


def _options(
    budget: str,
    max_tokens: int,
    types: list[str] | None,
    tags: list[str] | None,
    tags_match: str,
    tag_groups: str | None,
) -> dict[str, Any]:
    return {
        "budget": budget,
        "max_tokens": max_tokens,
        "types": listed(types),
        "tags": listed(tags),
        "tags_match": tags_match,
        "tag_groups": _parsed_groups(tag_groups),
    }


def _parsed_groups(text: str | None) -> list[Any] | None:
    import json

    from recollect.errors import InvalidInput

    if text is None:
        return None
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"--tag-groups is not JSON: {error}", hint='for example \'[{"tags": ["a", "b"]}]\''
        ) from error
    return value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]


def _times(at: str | None, start: str | None, end: str | None, as_of: str | None) -> dict[str, Any]:
    window = (start, end) if start is not None or end is not None else None
    return {"query_timestamp": at, "temporal_window": window, "as_of": as_of}


def why(
    session: Session,
    bank: Bank,
    query: Query,
    memory_id: MemoryId,
    budget: Budget = "mid",
    max_tokens: MaxTokens = 4096,
    types: Types = None,
    tags: Tags = None,
    tags_match: TagsMatch = "any",
    tag_groups: TagGroups = None,
    at: At = None,
    start: From = None,
    end: To = None,
    as_of: AsOf = None,
    min_score: MinScore = None,
) -> None:
    """Why a memory was, or was not, returned: stage by stage."""
    from recollect.cli.output import emit
    from recollect.cli.picture import draw_why

    options = _options(budget, max_tokens, types, tags, tags_match, tag_groups)
    options |= _times(at, start, end, as_of) | {"min_score": min_score}
    with session.open_existing() as memory:
        answer = memory.why(bank, query_text(query), memory_id, **options)
        if session.json:
            emit(answer.as_dict())
        else:
            draw_why(answer, memory.load(bank, memory_id))


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
    from recollect.cli.output import emit
    from recollect.cli.tables import show_fields
    from recollect.recall.result import memory_dict

    with session.open_existing() as memory:
        out = memory_dict(memory.load(bank, memory_id))
        if links:
            out["links"] = [
                {
                    "source": k.source,
                    "target": k.target,
                    "kind": k.kind.value,
                    "weight": round(k.weight, 4),
                }
                for k in memory.links(bank, memory_id)
            ]
        if revisions:
            out["revisions"] = [memory_dict(m) for m in memory.revisions(bank, memory_id)]
    if session.json:
        emit(out)
    else:
        show_fields(out)
