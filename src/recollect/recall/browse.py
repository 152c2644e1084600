"""Looking around in a bank: which memories and documents, which entities, and who is named
together with whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, islice
from typing import Any, get_args

import numpy as np

from recollect.errors import InvalidInput
from recollect.language.dates import from_micros, parse_when, to_micros
from recollect.options import DocumentFilters, MemoryFilters, TagFilters, names
from recollect.recall.fuzzy import spelled
from recollect.recall.request import filter_types, lets_see, tag_filter, whole_text
from recollect.storage.base import (
    EVERYTHING,
    NO_TIME,
    DocumentAxis,
    Filter,
    Keys,
    Listing,
    Store,
    TagExpression,
    TimeAxis,
    View,
)
from recollect.storage.refusals import nothing_to_go_on_from
from recollect.types import (
    Document,
    Entity,
    EntityGraph,
    EntityProfile,
    EntityTie,
    MemoryType,
    State,
)

OBSERVED = 20  # observations shown of an entity
_SLAB = 500
# The last one of a page: its id, or the time it is listed by and its id.
Seen = str | tuple[int, str]
_TEXTS = {"contains", "document_id"}
_VALID = "valid"  # Hindsight's word for what can be recalled


# --- memories --------------------------------------------------------------------------------


def listing(store: Store, bank: str, where: Mapping[str, Any]) -> Listing:
    """From the filters people pass to what a store reads."""
    given = filters(where, names(MemoryFilters))
    entity = given.get("entity")
    if entity is not None and not (isinstance(entity, int) and 0 <= entity < 2**62):
        raise InvalidInput(f"entity is {entity!r}", hint="give its id; `entities` lists them")
    axis, since, until = _span(given, get_args(TimeAxis))
    types = filter_types(given.get("type"))
    recallable = given.get("state") == _VALID
    return Listing(
        type=next(iter(types)) if types else None,
        state=None if recallable else _state(given.get("state")),
        recallable=recallable,
        document_id=given.get("document_id"),
        contains=given.get("contains"),
        tags=_tag_filter(store, bank, given),
        keys=_naming(store, bank, entity),
        axis=axis,
        since=since,
        until=until,
    )


def _naming(store: Store, bank: str, entity: int | None) -> frozenset[int] | None:
    if entity is None:
        return None
    ((keys, _),) = store.view(bank).naming([entity], Filter(), EVERYTHING)
    return frozenset(keys.tolist())


def _state(given: str | None) -> State | None:
    if given is None:
        return None
    try:
        return State(given)
    except ValueError as error:
        known = ", ".join([_VALID, *State])
        raise InvalidInput(f"unknown state {given!r}", hint="one of " + known) from error


def filters(where: Mapping[str, Any], known: AbstractSet[str]) -> dict[str, Any]:
    """Those that are given, each of them known."""
    for name in where:
        if name not in known:
            raise InvalidInput(
                f"there is no filter {name!r}", hint="filters: " + ", ".join(sorted(known))
            )
    given = {k: v for k, v in where.items() if v is not None}
    for name in _TEXTS & given.keys():
        whole_text(name, given[name])
    return given


def _tag_filter(store: Store, bank: str, given: Mapping[str, Any]) -> TagExpression | None:
    tags, match, groups = (given.get(name) for name in ("tags", "tags_match", "tag_groups"))
    return tag_filter(tags, match or "any", spelled(groups, lambda: store.tags(bank)))


def _span(given: Mapping[str, Any], axes: Sequence[str]) -> tuple[Any, int | None, int | None]:
    axis = given.get("time_field")
    if axis is None and ("since" in given or "until" in given):
        raise InvalidInput(
            "since and until need to know which time is meant",
            hint="name it with time_field: " + ", ".join(axes),
        )
    if axis is not None and axis not in axes:
        raise InvalidInput(f"time_field is {axis!r}", hint="one of " + ", ".join(axes))
    ends = (parse_when(given.get(name), name) for name in ("since", "until"))
    since, until = (None if end is None else to_micros(end) for end in ends)
    if since is not None and until is not None and until < since:
        raise InvalidInput("until is before since", hint="swap since and until")
    return axis, since, until


# --- documents -------------------------------------------------------------------------------


def document_page(
    store: Store, bank: str, where: Mapping[str, Any], limit: int, after: Seen | None, offset: int
) -> list[Document]:
    """Latest first. Where only the id of the last one seen is known, it must still be there."""
    if not where:
        place = _place(store, bank, "updated_at", after)
        return store.documents(bank, offset + limit, place)[offset:]
    return list(islice(documents(store, bank, where, after), offset, offset + limit))


def documents(
    store: Store, bank: str, where: Mapping[str, Any], after: Seen | None = None
) -> Iterator[Document]:
    """Those that match, latest first. A store knows documents only one after the other: there are
    few of them beside their memories."""
    given = filters(where, names(DocumentFilters))
    axis, since, until = _span(given, get_args(DocumentAxis))
    tags = _tag_filter(store, bank, given)
    said = str(given.get("contains", ""))
    for document in _in_order(store, bank, axis or "updated_at", after):
        at = None if axis is None else to_micros(getattr(document, axis))
        if at is not None and not (since or at) <= at < (at + 1 if until is None else until):
            continue
        if tags is not None and not lets_see(tags, frozenset(document.tags)):
            continue
        if said and not matched(store, document, said):
            continue
        yield document


def _in_order(
    store: Store, bank: str, axis: DocumentAxis, after: Seen | None
) -> Iterator[Document]:
    place = _place(store, bank, axis, after)
    while slab := store.documents(bank, _SLAB, place, axis):
        yield from slab
        place = to_micros(getattr(slab[-1], axis)), slab[-1].id


def _place(
    store: Store, bank: str, axis: DocumentAxis, after: Seen | None
) -> tuple[int, str] | None:
    if not isinstance(after, str):
        return after
    found = store.document(bank, after)
    if found is None:
        raise nothing_to_go_on_from(bank, after, "document")
    return to_micros(getattr(found, axis)), found.id


def matched(store: Store, document: Document, wanted: str) -> list[str]:
    """What of a document holds these words, as the contract names it."""
    words = wanted.casefold()
    named = words in document.id.casefold()
    chunks = store.document_chunks(document.bank, document.id)
    said = any(words in c.text.casefold() for c in chunks)
    return ["id"] * named + ["original_text"] * said


# --- entities --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Named:
    """Entities with the memories that name them, as far as the filter lets them be seen."""

    view: View
    entities: Sequence[Entity]
    keys: Sequence[Keys]


def _named(store: Store, bank: str, where: Mapping[str, Any]) -> _Named:
    """Most mentioned first; under a filter, by those whom it lets through, and only whom they name."""
    tags = _tag_filter(store, bank, filters(where, names(TagFilters)))
    view, every = store.view(bank), store.entities(bank, EVERYTHING)
    found = view.naming([e.id for e in every], Filter(tags=tags), EVERYTHING)
    kept = [
        (entity, keys)
        for entity, (keys, _) in zip(every, found, strict=True)
        if len(keys) or tags is None
    ]
    if tags is not None:  # as often as before in the order of all
        kept.sort(key=lambda each: -len(each[1]))
    return _Named(view, [e for e, _ in kept], [k for _, k in kept])


def profiles(
    store: Store, bank: str, where: Mapping[str, Any], limit: int, skip: int
) -> tuple[list[EntityProfile], int]:
    """A page of entities, and how many there are."""
    named = _named(store, bank, where)
    page = list(zip(named.entities, named.keys, strict=True))[skip : skip + limit]
    return [_profile(named.view, e, k, bool(where)) for e, k in page], len(named.entities)


def profile(store: Store, bank: str, entity: int, where: Mapping[str, Any]) -> EntityProfile | None:
    named = _named(store, bank, where)
    for known, keys in zip(named.entities, named.keys, strict=True):
        if known.id == entity:
            return _profile(named.view, known, keys, bool(where), OBSERVED)
    return None


def _profile(
    view: View, entity: Entity, keys: Keys, filtered: bool, observed: int = 0
) -> EntityProfile:
    columns = view.columns(keys)
    times = columns.happened_from[columns.happened_from != NO_TIME]
    kind = tuple(MemoryType).index(MemoryType.OBSERVATION)
    about = keys[columns.type == kind][::-1][:observed]
    return EntityProfile(
        entity,
        len(keys) if filtered else entity.mentions,
        _when(times.min()) if len(times) else None,
        _when(times.max()) if len(times) else None,
        tuple(view.load(about.tolist()).values()),
    )


def _when(micros: Any) -> datetime:
    return from_micros(int(micros))


def graph(store: Store, bank: str, where: Mapping[str, Any], limit: int, least: int) -> EntityGraph:
    """Who is named together with whom: the strongest ties, of at least so many memories, and whom
    they tie."""
    named = _named(store, bank, where)
    ties = [tie for tie in _ties(named) if tie.together >= least]
    shown = ties[:limit]
    ends = {end for tie in shown for end in (tie.a, tie.b)}
    return EntityGraph(
        tuple(
            _profile(named.view, e, k, bool(where))
            for e, k in zip(named.entities, named.keys, strict=True)
            if e.id in ends
        ),
        tuple(shown),
        len({end for tie in ties for end in (tie.a, tie.b)}),
        len(ties),
    )


def _ties(named: _Named) -> list[EntityTie]:
    """Strongest first."""
    keys = np.unique(np.concatenate([np.empty(0, np.int64), *named.keys]))
    together: Counter[tuple[int, int]] = Counter()
    last: dict[tuple[int, int], int] = {}
    happened = named.view.columns(keys).happened_from.tolist()
    for ids, at in zip(named.view.entities_of(keys), happened, strict=True):
        for pair in combinations(sorted(set(ids)), 2):
            together[pair] += 1
            last[pair] = max(at, last.get(pair, NO_TIME))
    return [
        EntityTie(a, b, count, None if last[a, b] == NO_TIME else _when(last[a, b]))
        for (a, b), count in sorted(together.items(), key=lambda t: (-t[1], t[0]))
    ]


# --- memories as a graph ---------------------------------------------------------------------


def linked(view: View, ids: Sequence[str]) -> list[tuple[str, str, bool, float]]:
    """Links among these memories: source, target, whether causal, weight."""
    keys = {key: each for each in ids if (key := view.key_of(each)) is not None}
    edges = view.edges(np.array(list(keys), np.int64), Filter(), len(keys))
    out: dict[tuple[int, int, bool], float] = {}
    for s, t, c, w in zip(
        edges.source.tolist(),
        edges.target.tolist(),
        edges.causal.tolist(),
        edges.weight.tolist(),
        strict=True,
    ):
        if t in keys:  # either may be the cause of the other: of both links the stronger
            pair = (min(s, t), max(s, t), c != 0)
            out[pair] = max(out.get(pair, 0.0), w)
    return [(keys[s], keys[t], c, w) for (s, t, c), w in out.items()]
