"""Pack: in order of final score until the tokens are used up. Only text counts; one that
does not fit is skipped, a later one that fits is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from recollect.language.tokens import count_tokens, truncate
from recollect.recall.pool import Pool
from recollect.types import Chunk


def order(pool: Pool) -> NDArray[np.int64]:
    """Rows of the pool, best final score first; ties as they stand: what models looked at first,
    then by fused score, then by key."""
    worse = -pool.final
    rows = worse.argsort()  # a third of what a stable sort takes
    ordered = worse[rows]
    level = (ordered[1:] == ordered[:-1]).any()
    return worse.argsort(kind="stable") if level else rows


def pack(pool: Pool, rows: NDArray[np.int64], max_tokens: int) -> list[int]:
    costs = pool.columns.tokens[rows]
    used = np.cumsum(costs)
    at = int(np.searchsorted(used, max_tokens, "right"))  # so many fit one after the other
    taken: list[int] = rows[:at].tolist()
    room = max_tokens - (int(used[at - 1]) if at else 0)
    while len(fitting := np.flatnonzero(costs[at:] <= room)):
        at += int(fitting[0])
        taken.append(int(rows[at]))
        room -= int(costs[at])
        at += 1
    return taken


def needed(
    pool: Pool, row: int, max_tokens: int, offered: Callable[[int], Sequence[NDArray[np.int64]]]
) -> int | None:
    """The least max_tokens, from the one given on, with which `row` is packed; None where it never is.
    `offered` gives what is offered to packing, in turn, under a limit. More room may let a bigger one
    in before it, so every limit at which anything changes is tried in turn."""
    limit = max_tokens
    while True:
        tried = offered(limit)
        short = [_short(pool.columns.tokens[rows].tolist(), limit) for rows in tried]
        at = np.flatnonzero(tried[-1] == row)
        if len(at) and int(at[0]) not in short[-1]:
            return limit
        more = [min(each.values()) for each in short if each]
        if not more:
            return None
        limit += min(more)


def _short(costs: Iterable[int], room: int) -> dict[int, int]:
    """How many tokens each that is not packed is short of its place."""
    short: dict[int, int] = {}
    for at, cost in enumerate(costs):
        if cost <= room:
            room -= cost
        else:
            short[at] = cost - room
    return short


def pack_chunks(
    wanted: Iterable[str], found: Mapping[str, Chunk], max_tokens: int
) -> tuple[Chunk, ...]:
    """Chunks in the order of their best hit; the last one is cut to fit, and marked."""
    out: list[Chunk] = []
    room = max_tokens
    for chunk_id in dict.fromkeys(wanted):
        chunk = found.get(chunk_id)
        if chunk is None or room <= 0:
            continue
        cost = count_tokens(chunk.text)
        if cost > room:
            text = truncate(chunk.text, room)
            if text:
                out.append(Chunk(chunk.id, chunk.document_id, chunk.position, text, truncated=True))
            break
        out.append(chunk)
        room -= cost
    return tuple(out)
