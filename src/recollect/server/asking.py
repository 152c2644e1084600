"""From the contract's recall request to the library's options."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from difflib import get_close_matches
from typing import Any

import orjson

from recollect.errors import InvalidInput
from recollect.language.dates import is_day, parse_when
from recollect.recall.result import RecallResult
from recollect.server.render import recalled
from recollect.server.schemas import RecallBody, SourceFactOptions, TemporalWindow
from recollect.types import Degradation

_SAME = (
    "types", "budget", "max_tokens", "trace", "query_timestamp", "tags", "tags_match",
    "tag_groups", "min_score", "verbosity", "as_of", "deadline_ms", "expand_hops",
    "without",
)  # fmt: skip


def answered(result: RecallResult, body: RecallBody) -> dict[str, Any]:
    """As much of a result as was asked for."""
    return recalled(
        _heard(result, body),
        verbosity=body.verbosity,
        explain=body.explain,
        source_facts=body.include.source_facts is not None,
    )


def _heard(result: RecallResult, body: RecallBody) -> RecallResult:
    """The result, with a note for each field of the request that recall does not have."""
    if not body.model_extra:
        return result
    known = list(type(body).model_fields)
    ignored = [Degradation(f"request.{name}", _unknown(name, known)) for name in body.model_extra]
    return replace(result, degraded=(*result.degraded, *ignored))


def _unknown(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, 1)
    return "there is no such field" + (f"; did you mean {near[0]}?" if near else "")


def options(body: RecallBody) -> dict[str, Any]:
    """What the caller said, as options of the library; what is None is left to its default."""
    out: dict[str, Any] = {
        name: value for name in _SAME if (value := getattr(body, name)) is not None
    }
    if body.prefer_observations is not None:
        out["prefer_observations"] = body.prefer_observations
    if body.min_scores is not None:
        out["min_scores"] = body.min_scores.model_dump(exclude_none=True)
    if body.temporal_window is not None:
        out["temporal_window"] = _window(body.temporal_window)
    include = body.include
    if include.entities is not None and include.entities.max_tokens:
        out |= {"include_entities": True, "max_entity_tokens": include.entities.max_tokens}
    if include.chunks is not None:
        out |= {"include_chunks": True, "max_chunk_tokens": include.chunks.max_tokens}
    if include.source_facts is not None:
        out |= {"include_source_facts": True, **_source_facts(include.source_facts)}
    return out


def visible(tags: list[str] | None, match: str, given: str | None = None) -> dict[str, Any]:
    """The tag filter of a listing, empty where none is given. `exact` alone is a filter, too: it
    matches what has no tags."""
    out: dict[str, Any] = {"tags": tags, "tags_match": match} if tags or match == "exact" else {}
    return out | ({"tag_groups": _groups(given)} if given else {})


def _groups(text: str) -> list[dict[str, Any]]:
    """A boolean tag filter as a listing is given it, in the URL."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(
            f"tag_groups is not JSON: {error}", hint='for example [{"tags": ["a"]}]'
        ) from error


def _source_facts(given: SourceFactOptions) -> dict[str, int | None]:
    whole, each = given.max_tokens, given.max_tokens_per_observation
    return {
        "max_source_fact_tokens": None if whole < 0 else whole,
        "max_tokens_per_observation": None if each < 0 else each,
    }


def _window(given: TemporalWindow) -> tuple[Any, Any]:
    """The contract's window includes its end; ours is half-open, but for a whole day."""
    end = None if is_day(given.end) else parse_when(given.end, "temporal_window end")
    if end is None:
        return given.start, given.end
    try:
        return given.start, end + timedelta(microseconds=1)
    except OverflowError:  # the last moment there is
        return given.start, end
