"""`recollect when`: how recollect reads a time phrase."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.session import Session

if TYPE_CHECKING:
    from recollect.language.time import QueryTime, TimeExpression, TimeRange


def when(
    session: Session,
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="A phrase or a question; - for stdin.")
    ],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="WHEN", help="As said then (ISO 8601; default now)."),
    ] = None,
) -> None:
    """Show how a time phrase is read: span, range, grain, confidence."""
    from recollect.cli.arguments import query_text
    from recollect.cli.output import emit
    from recollect.errors import InvalidInput
    from recollect.language.dates import parse_when
    from recollect.language.time import read_query

    text = query_text(text)
    if not text.strip():
        raise InvalidInput(
            "there is no phrase to read", hint='for example: recollect when "last spring"'
        )
    anchor = parse_when(at, "--at") or datetime.now(UTC)
    found = read_query(text, anchor)
    if session.json:
        emit(when_dict(text, anchor, found))
    else:
        _draw(found)


def when_dict(text: str, anchor: datetime, found: QueryTime) -> dict[str, Any]:
    return {
        "text": text,
        "at": anchor,
        "window": range_dict(found.window),
        "grain": found.grain,
        "excluded": [range_dict(r) for r in found.excluded],
        "asks_when": found.asks_when,
        "order": found.order,
        "expressions": [_expression(e) for e in found.expressions],
    }


def range_dict(range: TimeRange | None) -> dict[str, Any] | None:
    """Half-open, and `through`: the last day that is included."""
    if range is None:
        return None
    return {"start": range.start, "end": range.end, "through": through(range.end)}


def through(end: datetime | None) -> str | None:
    return None if end is None else (end - timedelta(microseconds=1)).date().isoformat()


def _expression(found: TimeExpression) -> dict[str, Any]:
    out: dict[str, Any] = {
        "text": found.text,
        "span": list(found.span),
        "range": range_dict(found.range),
        "grain": found.grain,
        "confidence": round(found.confidence, 3),
    }
    if found.negated:
        out["negated"] = True
    if found.recurrence:
        out["recurrence"] = found.recurrence
    if found.duration is not None:
        out["duration_seconds"] = found.duration.total_seconds()
    if found.event is not None:
        out["event"] = {
            "text": found.event.text,
            "relation": found.event.relation,
            "span": list(found.event.span),
        }
    return out


def _draw(found: QueryTime) -> None:
    from recollect.cli.output import talk
    from recollect.cli.tables import show_table

    lines = [
        (
            f"{e.span[0]}–{e.span[1]}",
            _moment(e.range.start if e.range else None, e),
            _moment(e.range.end if e.range else None, e),
            through(e.range.end) if e.range else None,
            e.grain,
            f"{e.confidence:.2f}",
            e.text + _remark(e),
        )
        for e in found.expressions
    ]
    if lines:
        show_table(
            ("span", "start", "end (not in it)", "through", "grain", "confidence", "text"), lines
        )
    else:
        talk("no time is named here")
    if found.asks_when:
        talk(
            "it asks for a time, so it sets no window"
            if found.window is None
            else "it asks for a time"
        )
    if found.order:
        talk(f"it asks for the {found.order}")


def _moment(when: datetime | None, found: TimeExpression) -> str:
    if when is None:
        return "open" if found.range is not None else ""
    midnight = (when.hour, when.minute, when.second) == (0, 0, 0)
    return when.date().isoformat() if midnight else when.strftime("%Y-%m-%d %H:%M:%S")


def _remark(found: TimeExpression) -> str:
    parts = [
        "not" if found.negated else "",
        f"every: {found.recurrence}" if found.recurrence else "",
        f"lasting {found.duration}" if found.duration is not None else "",
        f"{found.event.relation} an event: {found.event.text!r}" if found.event else "",
    ]
    said = "; ".join(p for p in parts if p)
    return f"  ({said})" if said else ""
