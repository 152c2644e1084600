"""Who and what the memories name, who is named with whom, and tags."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request

from recollect.errors import InvalidInput, NotFound
from recollect.server import holdings, render
from recollect.server.access import reading
from recollect.server.answers import EntityAnswer, EntityGraphAnswer, EntityList, TagList
from recollect.server.asking import visible
from recollect.server.guarded import Guarded
from recollect.server.paging import Page, counted, cut
from recollect.server.respond import Json, answers
from recollect.server.routes.memories import entity_number
from recollect.server.schemas import (
    MAX_PAGE,
    BankId,
    EntityId,
    Match,
    TagGroups,
    Tags,
)
from recollect.server.serving import serving

router = APIRouter(prefix="/v1/default/banks/{bank_id}", tags=["entities"], route_class=Guarded)


@router.get(
    "/entities", operation_id="list_entities", responses=answers(EntityList), dependencies=[reading]
)
async def list_entities(
    request: Request,
    bank_id: BankId,
    page: Page,
    tags: Tags = None,
    tags_match: Match = "any",
    tag_groups: TagGroups = None,
) -> Any:
    """Most mentioned first; with tags, as mentioned by memories that carry them."""
    state = serving(request)
    found, total = await state.read(
        state.memory.entity_page,
        bank_id,
        limit=page.limit,
        offset=page.skipped,
        **visible(tags, tags_match, tag_groups),
    )
    return Json(counted([holdings.entity(p) for p in found], total, page))


@router.get(
    "/entities/graph",
    operation_id="get_entity_graph",
    responses=answers(EntityGraphAnswer),
    dependencies=[reading],
)
async def get_entity_graph(
    request: Request,
    bank_id: BankId,
    limit: Annotated[int, Query(ge=0, le=MAX_PAGE, description="How many edges at most.")] = 1000,
    min_count: Annotated[
        int, Query(description="Only who is named together in at least so many memories.")
    ] = 1,
    tags: Tags = None,
    tags_match: Match = "any",
    tag_groups: TagGroups = None,
) -> Any:
    """Who is named together with whom, the strongest ties first, and those whom they tie."""
    state = serving(request)
    found = await state.read(
        state.memory.entity_graph,
        bank_id,
        limit=limit,
        min_count=min_count,
        **visible(tags, tags_match, tag_groups),
    )
    return Json(holdings.entity_graph(found, limit))


@router.get(
    "/entities/{entity_id}",
    operation_id="get_entity",
    responses=answers(EntityAnswer),
    dependencies=[reading],
)
async def get_entity(
    request: Request,
    bank_id: BankId,
    entity_id: EntityId,
    tags: Tags = None,
    tags_match: Match = "any",
    tag_groups: TagGroups = None,
) -> Any:
    """One entity and what has been observed of it."""
    state = serving(request)
    seen = visible(tags, tags_match, tag_groups)
    found = await state.read(state.memory.entity, bank_id, _number(entity_id), **seen)
    observed = [render.fact(m) for m in found.observations]
    return Json(holdings.entity(found) | {"observations": observed})


def _number(entity_id: str) -> int:
    """A text that is no id at all, such as one of another server, is an entity that is not there."""
    try:
        return entity_number(entity_id) or 0
    except InvalidInput as error:
        raise NotFound(error.message, hint=error.hint) from error


@router.get("/tags", operation_id="list_tags", responses=answers(TagList), dependencies=[reading])
async def list_tags(
    request: Request,
    bank_id: BankId,
    page: Page,
    q: Annotated[
        str | None, Query(description="Only tags like this; * stands for any text.")
    ] = None,
    source: Annotated[
        Literal["memories", "mental_models"], Query(description="There are no mental models.")
    ] = "memories",
) -> Any:
    """Most used first."""
    state = serving(request)
    every = await state.read(state.memory.tags, bank_id)
    found = [
        {"tag": tag, "count": count}
        for tag, count in every.items()
        if source == "memories" and _like(tag, q)
    ]
    return Json(cut(found, page))


def _like(tag: str, pattern: str | None) -> bool:
    """Case does not matter; `*` stands for any text, and a pattern without one for a part."""
    if not pattern:
        return True
    parts = pattern.casefold().split("*")
    held = tag.casefold()
    if len(parts) == 1:
        return parts[0] in held
    first, *middle, last = parts
    if not held.startswith(first) or not held.endswith(last) or len(held) < len(first + last):
        return False
    at, end = len(first), len(held) - len(last)
    for part in middle:
        found = held.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
