"""Options of retain: what is said of a memory beside its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from recollect.cli.arguments import TYPES, listed, pairs


@dataclass(frozen=True, slots=True)
class Said:
    """Where, when and about whom it was said."""

    timestamp: Annotated[
        str | None,
        typer.Option(
            metavar="WHEN", help="When it was said (ISO 8601; default now; 'unset' = undated)."
        ),
    ] = None
    context: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Where it was said, for example 'team meeting'."),
    ] = None
    document_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Retaining the same id again replaces it.")
    ] = None
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "--tags", metavar="TAG", help="May be repeated, or a,b,c."),
    ] = None
    metadata: Annotated[list[str] | None, typer.Option(metavar="K=V", help="May be repeated.")] = (
        None
    )
    entity: Annotated[
        list[str] | None,
        typer.Option("--entity", metavar="NAME", help="A name it is about; may be repeated."),
    ] = None
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Who said it.")] = None
    type: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE", help="world, experience, observation or opinion.", autocompletion=TYPES
        ),
    ] = None
    occurred_start: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="When it happened; otherwise read from the text."),
    ] = None
    occurred_end: Annotated[
        str | None, typer.Option(metavar="WHEN", help="A day is included whole.")
    ] = None

    def fields(self) -> dict[str, Any]:
        return {
            "timestamp": self.timestamp,
            "context": self.context,
            "document_id": self.document_id,
            "tags": listed(self.tag),
            "metadata": pairs(self.metadata),
            "entities": self.entity or None,
            "speaker": self.speaker,
            "type": self.type,
            "occurred_start": self.occurred_start,
            "occurred_end": self.occurred_end,
        }


@dataclass(frozen=True, slots=True)
class Authored:
    """What somebody wrote about it, for those who look for it later."""

    confidence: Annotated[float | None, typer.Option(metavar="0..1", help="Of an opinion.")] = None
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="An authored title.")] = None
    summary: Annotated[str | None, typer.Option(metavar="TEXT", help="An authored summary.")] = None
    recall_when: Annotated[
        list[str] | None,
        typer.Option(metavar="PHRASE", help="A phrase that should bring it up; may be repeated."),
    ] = None
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="lesson, decision, project-fact, workflow …: sets how it ages."
        ),
    ] = None
    valid_until: Annotated[
        str | None, typer.Option(metavar="WHEN", help="It no longer holds after.")
    ] = None

    def fields(self) -> dict[str, Any]:
        return {
            "confidence": self.confidence,
            "title": self.title,
            "summary": self.summary,
            "recall_when": self.recall_when or None,
            "kind": self.kind,
            "valid_until": self.valid_until,
        }
