"""Options that several commands take together: how to ask, what may be seen, from when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from recollect.cli.arguments import BUDGETS, TAG_MODES, TYPES, limited_to


@dataclass(frozen=True, slots=True)
class Tagged:
    tags: Annotated[
        list[str] | None,
        typer.Option("--tags", "--tag", metavar="TAG", help="Only these tags: a,b or repeated."),
    ] = None
    tags_match: Annotated[
        str,
        typer.Option(
            metavar="MODE",
            help="any, all, any_strict, all_strict or exact.",
            autocompletion=TAG_MODES,
        ),
    ] = "any"
    tag_groups: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help='Boolean tags, e.g. [{"or":[{"tags":["a"]},{"not":{"tags":["b"]}}]}].',
        ),
    ] = None

    def filters(self) -> dict[str, Any]:
        given = {"tags": limited_to("--tags", self.tags), "tag_groups": _groups(self.tag_groups)}
        match = self.tags_match if given["tags"] or self.tags_match != "any" else None
        return {k: v for k, v in {**given, "tags_match": match}.items() if v is not None}


def _groups(text: str | None) -> list[Any] | None:
    import json

    from recollect.errors import InvalidInput

    if text is None:
        return None
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InvalidInput(
            f"--tag-groups is not JSON: {error}", hint='for example \'[{"tags": ["a", "b"]}]\''
        ) from error
    return value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]


@dataclass(frozen=True, slots=True)
class Dated:
    time_field: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="Which time --since and --until mean; it orders, too."),
    ] = None
    since: Annotated[str | None, typer.Option(metavar="WHEN", help="Not before.")] = None
    until: Annotated[str | None, typer.Option(metavar="WHEN", help="Before.")] = None

    def filters(self, usual: str) -> dict[str, Any]:
        bounded = self.since is not None or self.until is not None
        field = self.time_field or (usual if bounded else None)
        given = {"time_field": field, "since": self.since, "until": self.until}
        return {k: v for k, v in given.items() if v is not None}


Contains = Annotated[
    str | None, typer.Option("--contains", metavar="TEXT", help="Only what holds this text.")
]


@dataclass(frozen=True, slots=True)
class Asking:
    """Of recall and why: all that decides what is returned."""

    budget: Annotated[
        str,
        typer.Option(
            metavar="LEVEL", help="How deep to look: low, mid or high.", autocompletion=BUDGETS
        ),
    ] = "mid"
    max_tokens: Annotated[int, typer.Option(metavar="N", help="How large the answer may be.")] = (
        4096
    )
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--types",
            "--type",
            metavar="TYPE",
            help="Only these types: a,b or repeated.",
            autocompletion=TYPES,
        ),
    ] = None
    at: Annotated[
        str | None,
        typer.Option("--at", "--query-timestamp", metavar="WHEN", help="Ask as if it were then."),
    ] = None
    start: Annotated[
        str | None, typer.Option("--from", metavar="WHEN", help="Start of the time asked about.")
    ] = None
    end: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="WHEN", help="End of the time asked about; a day is included."
        ),
    ] = None
    as_of: Annotated[
        str | None, typer.Option(metavar="WHEN", help="The bank as it was known at that time.")
    ] = None
    min_score: Annotated[
        float | None, typer.Option(metavar="0..1", help="Leave out what scores lower.")
    ] = None
    min_scores: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STAGE=N",
            help="Floors at stages: semantic, keyword, reranker or final; a=N,b=N or repeated.",
        ),
    ] = None
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="Leave a part out: semantic, keyword, graph, temporal, rerank, cross-encoder, bridge or boost.",
        ),
    ] = None

    expand_hops: Annotated[
        int, typer.Option(metavar="0|1", help="Also bring what the hits link to.")
    ] = 0
    prefer_observations: Annotated[
        bool, typer.Option("--prefer-observations", help="Rather than the facts behind them.")
    ] = False

    def options(self) -> dict[str, Any]:
        bounded = self.start is not None or self.end is not None
        # What is not said is left to the bank's own settings.
        preferred = {"prefer_observations": True} if self.prefer_observations else {}
        return preferred | {
            "budget": self.budget,
            "max_tokens": self.max_tokens,
            "types": limited_to("--types", self.types),
            "query_timestamp": self.at,
            "temporal_window": (self.start, self.end) if bounded else None,
            "as_of": self.as_of,
            "min_score": self.min_score,
            "min_scores": _floors(self.min_scores),
            "without": limited_to("--without", self.without),
            "expand_hops": self.expand_hops,
        }


def _floors(given: list[str] | None) -> dict[str, float] | None:
    floors = (part.partition("=") for part in limited_to("--min-scores", given) or ())
    return {name.strip(): _floor(name, value) for name, _, value in floors} or None


def _floor(name: str, value: str) -> float:
    from math import isfinite

    from recollect.errors import InvalidInput

    try:
        floor = float(value)
    except ValueError:
        floor = float("nan")
    if not isfinite(floor):
        raise InvalidInput(
            f"--min-scores has no number for {name!r}",
            hint="for example --min-scores semantic=0.4,keyword=2",
        )
    return floor


@dataclass(frozen=True, slots=True)
class Along:
    """What comes along with the hits of a recall."""

    chunks: Annotated[bool, typer.Option("--chunks", help="Also the source text of the hits.")] = (
        False
    )
    max_chunk_tokens: Annotated[int, typer.Option(metavar="N", help="How much source text.")] = 8192
    entities: Annotated[
        bool, typer.Option("--entities", help="Also what is known of whom the hits name (JSON).")
    ] = False
    source_facts: Annotated[
        bool, typer.Option("--source-facts", help="Also the facts behind observations (JSON).")
    ] = False

    def options(self) -> dict[str, Any]:
        return {
            "include_chunks": self.chunks,
            "max_chunk_tokens": self.max_chunk_tokens,
            "include_entities": self.entities,
            "include_source_facts": self.source_facts,
        }
