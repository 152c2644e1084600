"""One recall's options in one object, checked once, before anything runs."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta, tzinfo
from inspect import iscoroutinefunction
from reprlib import Repr
from threading import TIMEOUT_MAX
from typing import Any, cast, get_args

from recollect.errors import InvalidInput
from recollect.language.dates import day_after, is_day, parse_when, to_micros, zone_of
from recollect.language.tokens import count_tokens, least_tokens
from recollect.options import BANK_PARTS, RecallOptions, When, names
from recollect.storage.base import Filter, TagExpression, TagLeaf, TagNode
from recollect.types import Budget, MemoryType, TagGroup, TagsMatch, Verbosity, Window
from recollect.types.making import changer, maker

MAX_QUERY_TOKENS = 500
MAX_QUERY_CHARACTERS = (
    20 * MAX_QUERY_TOKENS
)  # a run of blanks or dashes is few tokens, and read all the same
UNSEEN = ("Zs", "Zl", "Zp", "Cc", "Cf")  # spaces, control characters, joiners
DEEPEST_GROUP = 32  # tag groups in each other: far more than anybody writes by hand
LONGEST_MS = TIMEOUT_MAX * 1000  # nobody can wait longer
LARGEST_FLOOR = 3e38  # more than any score; scores have single precision
_SHORT = Repr()
_SHORT.maxstring = 80
PARTS = frozenset(
    {"semantic", "keyword", "graph", "temporal", "rerank", "cross-encoder", "bridge", "boost"}
)
_SWITCHES = (
    "include_chunks",
    "include_entities",
    "include_source_facts",
    "prefer_observations",
    "trace",
    "explain",
)
RECALL_OPTIONS = names(RecallOptions)
NO_LIMIT = ("max_source_fact_tokens", "max_tokens_per_observation")  # what None means for these
_BUDGETS, _VERBOSITIES, _MATCHES = map(get_args, (Budget, Verbosity, TagsMatch))


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """Least scores, each inclusive. `semantic` and `keyword` act inside their arm alone; what
    another arm finds stays. `reranker` and `final` hold for everything returned."""

    semantic: float | None = None
    keyword: float | None = None
    reranker: float | None = None
    final: float | None = None


_NO_FLOORS = Floors()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    query: str
    now: datetime
    # Where the query was asked some time ago: what had been told by today, but not by then, came after it.
    told_by: datetime | None = None
    zone: tzinfo | None = None  # of the asker: whose "yesterday" it is
    budget: Budget = "mid"
    max_tokens: int = 4096
    allowed: Filter = field(default_factory=Filter)
    window: Window | None = None
    include_chunks: bool = False
    max_chunk_tokens: int = 8192
    min_score: float | None = None
    expand_hops: int = 0
    verbosity: Verbosity = "full"
    deadline_ms: float | None = None
    trace: bool = False
    prefer_observations: bool = False  # in place of the facts they were made from
    include_entities: bool = False
    max_entity_tokens: int = 500
    include_source_facts: bool = False
    max_source_fact_tokens: int | None = 4096  # None = no limit
    max_tokens_per_observation: int | None = None
    floors: Floors = _NO_FLOORS
    without: frozenset[str] = frozenset()  # parts left out, for ablations


_make_request = maker(RecallRequest)
change = changer(RecallRequest)


def recall_request(
    query: str,
    *,
    now: datetime,
    types: Iterable[str] | None = None,
    tags: Sequence[str] | None = None,
    tags_match: TagsMatch | None = None,
    tag_groups: Sequence[TagGroup] | None = None,
    query_timestamp: When | None = None,
    temporal_window: Any = None,
    as_of: When | None = None,
    min_scores: Mapping[str, float | None] | None = None,
    **options: Any,
) -> RecallRequest:
    """From the arguments people pass to the request the pipeline reads."""
    anchor = parse_when(query_timestamp, "query_timestamp") or now
    moment = parse_when(as_of, "as_of")
    if moment is not None and is_day(as_of):
        moment += timedelta(days=1, microseconds=-1)  # as known at the end of that day
    allowed = Filter(
        types=filter_types(types),
        tags=tag_filter(tags, "any" if tags_match is None else tags_match, tag_groups),
        as_of=None if moment is None else to_micros(moment),
    )
    left_out = options.pop("without", None)
    without = [] if left_out is None else _list("without", left_out)
    for part in without:
        _one_of("a part of without", part, sorted(PARTS))
    if as_of is not None and query_timestamp is None and moment is not None:
        anchor = moment  # asked as of then, "last week" is the week before then
    return _make_request(
        query=_query(query),
        now=anchor,
        told_by=_told_by(anchor, now),
        zone=zone_of(as_of if query_timestamp is None else query_timestamp),
        allowed=allowed,
        window=_window(temporal_window),
        floors=_floors(min_scores),
        without=frozenset(without),
        **_options(options),
    )


def _told_by(anchor: datetime, clock: datetime) -> datetime | None:
    """The beginning of today: the same for all that is asked today."""
    today = clock.replace(hour=0, minute=0, second=0, microsecond=0)
    return today if anchor < today else None


def check_verbosity(verbosity: Any) -> None:
    _one_of("verbosity", verbosity, _VERBOSITIES)


def check_options(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in RECALL_OPTIONS:
            raise InvalidInput(
                f"recall has no option {name!r}",
                hint="options: " + ", ".join(sorted(RECALL_OPTIONS)),
            )


def check_listener(on_event: Any) -> None:
    """Nobody would await what a coroutine function gives back: it would hear of nothing."""
    if on_event is not None and (not callable(on_event) or iscoroutinefunction(on_event)):
        raise InvalidInput(
            f"on_event is {_shown(on_event)}, not a plain function",
            hint="give a function that takes a StageEvent, or read recall_events",
        )


def configured(
    request: RecallRequest, config: Mapping[str, Any], asked: Mapping[str, Any]
) -> RecallRequest:
    """The request as the bank's settings have it, where the caller did not say."""
    if not config:
        return request
    off = {part for name, part in BANK_PARTS.items() if config.get(name) is False}
    prefer = request.prefer_observations
    if asked.get("prefer_observations") is None:
        prefer = bool(config.get("recall_prefer_observations", False))
    return change(request, without=request.without | off, prefer_observations=prefer)


def _query(query: str) -> str:
    if not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"the query is a {type(query).__name__}", hint="ask with a text")
    if all(unicodedata.category(each) in UNSEEN for each in query):
        raise InvalidInput(
            "the query is empty", hint='ask something, for example "Where does Alice work?"'
        )
    whole_text("the query", query)
    if len(query) > MAX_QUERY_CHARACTERS:
        raise _too_long(f"{len(query):,} characters", f"{MAX_QUERY_CHARACTERS:,}")
    # No text has more than two tokens a character, and most questions are short.
    maybe_long = 2 * len(query) > MAX_QUERY_TOKENS and count_tokens(query) > MAX_QUERY_TOKENS
    # The estimate leans high: what may be within the limit is.
    tokens = least_tokens(query) if maybe_long else 0
    if tokens > MAX_QUERY_TOKENS:
        raise _too_long(f"{tokens} tokens or more", f"{MAX_QUERY_TOKENS}")
    return query


def _too_long(length: str, most: str) -> InvalidInput:
    return InvalidInput(
        f"the query has {length}, more than {most}",
        hint="ask with the question itself; retain long texts, do not recall with them",
    )


def whole_text(what: str, text: Any) -> None:
    if not isinstance(text, str):
        raise InvalidInput(f"{what} is a {type(text).__name__}", hint=f"give {what} as a text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} holds half a character", hint="decode it as UTF-8 first"
        ) from error


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    given = {k: v for k, v in options.items() if v is not None or k in NO_LIMIT}
    if not given:
        return given
    _one_of("budget", given.get("budget", "mid"), _BUDGETS)
    check_verbosity(given.get("verbosity", "full"))
    for name in ("max_tokens", "max_chunk_tokens", "max_entity_tokens"):
        _whole_number(name, given.get(name), 1)
    for name in NO_LIMIT:
        _whole_number(name, given.get(name), 0)
    floor, hops, deadline = (given.get(n) for n in ("min_score", "expand_hops", "deadline_ms"))
    if floor is not None and not (_number(floor) and 0 <= floor <= 1):
        raise InvalidInput(f"min_score is {_shown(floor)}", hint="scores run from 0 to 1")
    if hops is not None and not (_number(hops) and hops in (0, 1)):
        raise InvalidInput(f"expand_hops is {_shown(hops)}", hint="use 0 or 1")
    if deadline is not None and not (_number(deadline) and 0 < deadline <= LONGEST_MS):
        raise InvalidInput(
            f"deadline_ms is {_shown(deadline)}",
            hint="give milliseconds, more than 0; leave it out to wait as long as it takes",
        )
    for name in _SWITCHES:
        if not isinstance(given.get(name, False), bool):
            raise InvalidInput(f"{name} is {_shown(given[name])}", hint=f"{name} is True or False")
    given.pop("explain", None)  # how a hit came about is worked out when somebody looks
    return given


def _shown(value: Any) -> str:
    """What was given, in short: it may be long, or nested without end, or a number that Python does not
    write out."""
    try:
        return _SHORT.repr(value)
    except ValueError:
        return f"a {type(value).__name__}"


def _number(value: Any) -> bool:
    """True and False are numbers to Python, and to nobody who writes them. A whole one may be longer
    than anything can be computed with."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= sys.float_info.max


def _whole_number(name: str, value: Any, least: int) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(
            f"{name} is {_shown(value)}", hint=f"{name} is a whole number from {least} up"
        )


def _floors(given: Mapping[str, float | None] | None) -> Floors:
    if given is None:
        return _NO_FLOORS
    if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"min_scores is {_shown(given)}", hint='for example {"semantic": 0.4}')
    known = [f.name for f in fields(Floors)]
    for name, value in given.items():
        _one_of("a floor of min_scores", name, known)
        if value is not None and not (_number(value) and value >= 0):
            raise InvalidInput(
                f"min_scores.{name} is {_shown(value)}", hint="give a number from 0 up"
            )
    return Floors(**{k: None if v is None else min(v, LARGEST_FLOOR) for k, v in given.items()})


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise InvalidInput(
            f"{name} is {_shown(value)}", hint=f"{name} is one of " + ", ".join(allowed)
        )


def _list(name: str, value: Any) -> list[Any]:
    """A text is a sequence, too, and so is a mapping: neither is what was meant."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInput(f"{name} is {_shown(value)}, not a list", hint=f"give {name} as a list")
    return list(cast("Iterable[Any]", value))


def filter_types(types: Iterable[str] | None) -> frozenset[MemoryType] | None:
    if types is None:
        return None
    names = [types] if isinstance(types, str) else _list("types", types)
    out: set[MemoryType] = set()
    for name in names:
        try:
            out.add(MemoryType.EXPERIENCE if name == "agent" else MemoryType(name))
        except ValueError as error:
            raise InvalidInput(
                f"unknown type {_shown(name)}",
                hint="types are world, experience, observation, opinion",
            ) from error
    return frozenset(out) or None  # none named is no filter, as of tags


# --- tags ------------------------------------------------------------------------------------


def tag_filter(
    tags: Sequence[str] | None, match: TagsMatch, groups: Sequence[TagGroup] | None
) -> TagExpression | None:
    _one_of("tags_match", match, _MATCHES)
    named = [] if tags is None else _list("tags", tags)
    parts: list[TagExpression] = []
    if named or match == "exact":
        parts.append(_leaf(named, match))
    parts.extend(_group(group) for group in _list("tag_groups", () if groups is None else groups))
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else TagNode("and", tuple(parts))


def lets_see(wanted: TagExpression, held: AbstractSet[str]) -> bool:
    """Whether a filter shows what holds these tags; stores say so of the memories that they search."""
    if isinstance(wanted, TagLeaf):
        if wanted.match == "exact":
            return held == {*wanted.tags}
        hits = [tag in held for tag in wanted.tags]
        hit = any(hits) if wanted.match.startswith("any") else all(hits)
        return hit or (not held and not wanted.match.endswith("_strict"))
    parts = [lets_see(part, held) for part in wanted.parts]
    if wanted.operator == "not":
        return not parts[0]
    return all(parts) if wanted.operator == "and" else any(parts)


def _leaf(tags: Any, match: TagsMatch) -> TagLeaf:
    names = _list("tags", tags)
    if not all(isinstance(name, str) for name in names):
        raise InvalidInput(
            f"tags {_shown(names)} holds something other than text", hint="give strings"
        )
    for name in names:
        whole_text(f"tag {_shown(name)}", name)
    return TagLeaf(tuple(dict.fromkeys(names)), match)


def _group(group: TagGroup, depth: int = 1) -> TagExpression:
    if depth > DEEPEST_GROUP:
        raise InvalidInput(
            f"tag_groups are nested more than {DEEPEST_GROUP} deep", hint="say it with fewer levels"
        )
    if not isinstance(group, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(
            f"tag group {_shown(group)}",
            hint='for example {"or": [{"tags": ["a"]}, {"tags": ["b"]}]}',
        )
    _one_operator(group)
    if "tags" in group:
        match = group.get("match", "any_strict")
        _one_of("match", match, _MATCHES)
        return _leaf(group["tags"], match)
    for operator in ("and", "or"):
        if operator in group:
            parts: list[TagGroup] = _list(operator, group[operator])
            if not parts:
                raise InvalidInput(f"empty {operator!r} in tag_groups", hint="leave it out")
            return TagNode(operator, tuple(_group(p, depth + 1) for p in parts))
    if "not" in group:
        return TagNode("not", (_group(cast("TagGroup", group["not"]), depth + 1),))
    raise InvalidInput(
        f"tag group {_shown(dict(group))} has none of tags, and, or, not",
        hint='for example {"tags": ["a", "b"], "match": "all_strict"}',
    )


def _one_operator(group: TagGroup) -> None:
    """A filter that is read only in part would show what it was to hide."""
    operators = [name for name in ("tags", "and", "or", "not") if name in group]
    if len(operators) > 1:
        raise InvalidInput(
            f"tag group {_shown(dict(group))} has {' and '.join(operators)}",
            hint='one each: nest them, for example {"and": [{"tags": ["a"]}, {"not": …}]}',
        )
    known = {"tags", "match", "resolve"} if "tags" in group else {*operators}
    unknown = [name for name in group if name not in known]
    if operators and unknown:
        raise InvalidInput(
            f"tag group {_shown(dict(group))} has an unknown field {_shown(unknown[0])}",
            hint="fields are tags, match and resolve; or one of and, or, not",
        )
    _one_of("resolve", group.get("resolve", "exact"), ("exact", "fuzzy"))


# --- time ------------------------------------------------------------------------------------


def _window(given: Any) -> Window | None:
    """(start, end), {"start": …, "end": …} or a Window; a day as end is included whole."""
    if given is None:
        return None
    start, end = _ends(given)
    first = parse_when(start, "temporal_window start")
    last = parse_when(end, "temporal_window end")
    if last is not None and is_day(end):
        last = day_after(last)
    if first is None and last is None:
        raise InvalidInput("temporal_window has neither start nor end", hint="leave it out")
    if first is not None and last is not None and last <= first:
        raise InvalidInput("temporal_window ends before it starts", hint="swap start and end")
    return (
        replace(given, start=first, end=last) if isinstance(given, Window) else Window(first, last)
    )


def _ends(given: Any) -> tuple[Any, Any]:
    if isinstance(given, Window):
        return given.start, given.end
    if isinstance(given, Mapping):
        ends = cast("Mapping[str, Any]", given)
        for name in ends:
            _one_of("a field of temporal_window", name, ("start", "end"))
        return ends.get("start"), ends.get("end")
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        both = cast("Sequence[Any]", given)
        if len(both) == 2:
            return both[0], both[1]
    raise InvalidInput(
        f"temporal_window {_shown(given)}",
        hint='use ("2026-03-01", "2026-05-31"), either end may be None',
    )
