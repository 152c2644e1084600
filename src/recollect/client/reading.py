"""Verbs that ask, as calls to a server: why, and what to say for a recall."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Unpack

from recollect.client import decode
from recollect.client.call import Call, Steps, path
from recollect.recall.explain import Why
from recollect.recall.request import NO_LIMIT, check_options, recall_request

if TYPE_CHECKING:
    from recollect.options import RecallOptions

_SAME = frozenset({
    "types", "budget", "max_tokens", "trace", "query_timestamp", "tags", "tags_match", "tag_groups",
    "min_score", "min_scores", "verbosity", "as_of", "deadline_ms", "expand_hops", "explain",
    "prefer_observations", "without",
})  # fmt: skip
_PARTS = {  # option → its part of `include`, and the option that bounds it
    "include_entities": ("entities", {"max_entity_tokens": "max_tokens"}),
    "include_chunks": ("chunks", {"max_chunk_tokens": "max_tokens"}),
    "include_source_facts": (
        "source_facts",
        {
            "max_source_fact_tokens": "max_tokens",
            "max_tokens_per_observation": "max_tokens_per_observation",
        },
    ),
}


def recall_body(query: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What to ask, checked as the library itself checks it."""
    check_options(options)
    request = recall_request(query, now=datetime.now(UTC), **options)
    body: dict[str, Any] = {name: options[name] for name in _SAME if options.get(name) is not None}
    if isinstance(body.get("types"), str):
        body["types"] = [body["types"]]
    if request.window is not None:
        start, end = request.window.start, request.window.end
        # The contract's window includes its end, the library's does not.
        last = None if end is None else end - timedelta(microseconds=1)
        body["temporal_window"] = {"start": start, "end": last}
    return {"query": query, "include": _include(options), "verbosity": "full", **body}


def _include(options: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {"entities": None}
    for option, (part, bounds) in _PARTS.items():
        if options.get(option):
            out[part] = {
                there: -1 if options[here] is None else options[here]
                for here, there in bounds.items()
                if here in options and (options[here] is not None or here in NO_LIMIT)
            }
    return out


def why(bank: str, query: str, memory_id: str, **options: Unpack[RecallOptions]) -> Steps[Why]:
    """Why a memory was, or was not, returned for a query: stage by stage."""
    body = {**recall_body(query, options), "memory_id": memory_id}
    return decode.why((yield Call("POST", path(bank, "memories", "why"), body=body)))
