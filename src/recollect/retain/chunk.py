"""How a text becomes memories when there is no LLM.

``statements`` cuts a text into the units that recall ranks; ``chunk`` cuts it into the larger
pieces of source text that those units point back to. Both read the same blocks, so a
statement always lies inside one chunk.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from recollect.language.sentences import sentences
from recollect.retain.blocks import Block, blocks

__all__ = ["Chunk", "Statement", "chunk", "estimate_tokens", "statements"]

Count = Callable[[str], int]
Span = tuple[int, int]

# One memory carries one or a few sentences: shorter ones lose what a pronoun points to,
# longer ones blur the embedding.
MIN_TOKENS = 40
MAX_TOKENS = 90
# A turn, list item, table or code block stays whole up to what the embedder reads at once.
WHOLE_TOKENS = 250

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]|[^\W_]{1,7}|[^\w\s]|_")
_CLAUSE = re.compile(r"[;,:，、；：]\s*|\s+[–—-]\s+")
_GAP = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Statement:
    """One memory's text. ``span`` also covers what was taken off: label, stamp or bullet."""

    text: str
    span: Span
    heading: str = ""
    speaker: str | None = None
    stamp: str | None = None
    day: str | None = None  # that stands above it


@dataclass(frozen=True, slots=True)
class Chunk:
    text: str
    span: Span


def estimate_tokens(text: str) -> int:
    """A word-piece count without a vocabulary: within some 15 % on English text."""
    return len(_TOKEN.findall(text))


def statements(
    text: str, *, count: Count = estimate_tokens, heard: AbstractSet[str] = frozenset()
) -> list[Statement]:
    """The memories in ``text``, in order; their spans do not overlap."""
    found = blocks(text, heard)
    return [statement for block in found for statement in _of_block(text, block, count)]


def chunk(
    text: str,
    *,
    max_tokens: int = 400,
    count: Count = estimate_tokens,
    heard: AbstractSet[str] = frozenset(),
) -> list[Chunk]:
    """Pieces of source text of at most ``max_tokens``; a longer statement is its own chunk."""
    chunks: list[Chunk] = []
    start, end, used = 0, 0, 0
    for piece in statements(text, count=count, heard=heard):
        # From the end of the last statement, so that the headings above travel with it.
        size = count(text[end : piece.span[1]])
        if used and used + size > max_tokens:
            chunks.append(_trimmed(text, start, end))
            start, used = end, 0
        end, used = piece.span[1], used + size
    if text[start:].strip():
        chunks.append(_trimmed(text, start, len(text)))
    return chunks


def _trimmed(text: str, start: int, end: int) -> Chunk:
    body = text[start:end]
    left = start + len(body) - len(body.lstrip())
    right = start + len(body.rstrip())
    return Chunk(text[left:right], (left, right))


def _of_block(text: str, block: Block, count: Count) -> Iterator[Statement]:
    spans = list(_cut(text, block, count))
    for position, (start, end) in enumerate(spans):
        # What stands before and behind the words belongs to the first and the last of them.
        first = block.span[0] if position == 0 else start
        last = end + block.span[1] - block.body[1] if position == len(spans) - 1 else end
        yield Statement(
            text[start:end], (first, last), block.heading, block.speaker, block.stamp, block.day
        )


def _cut(text: str, block: Block, count: Count) -> Iterator[Span]:
    start, end = block.body
    tokens = count(text[start:end])
    whole = MAX_TOKENS if block.kind == "paragraph" else WHOLE_TOKENS
    if tokens <= whole:
        yield (start, end)
    elif block.kind in ("code", "table"):
        yield from _pack(text, _lines(text, start, end), WHOLE_TOKENS, count)
    else:
        pieces = [(start + a, start + b) for a, b in sentences(text[start:end])]
        small = [part for piece in pieces for part in _small(text, piece, count)]
        yield from _pack(text, small, MAX_TOKENS, count)


def _lines(text: str, start: int, end: int) -> list[Span]:
    spans: list[Span] = []
    for line in text[start:end].splitlines(keepends=True):
        if line.strip():
            spans.append((start, start + len(line.rstrip())))
        start += len(line)
    return spans


def _pack(text: str, pieces: list[Span], limit: int, count: Count) -> Iterator[Span]:
    """Join neighbours into evenly filled groups, so that no small rest is left at the end."""
    sizes = [count(text[a:b]) for a, b in pieces]
    left = sum(sizes)
    first, used = 0, 0
    for index, size in enumerate(sizes):
        target = left / max(1, math.ceil(left / limit))
        full = used >= MIN_TOKENS and used + size / 2 > target
        if used and (used + size > limit or full):
            yield (pieces[first][0], pieces[index - 1][1])
            left -= used
            first, used = index, 0
        used += size
    if pieces:
        yield (pieces[first][0], pieces[-1][1])


def _small(text: str, piece: Span, count: Count) -> Iterator[Span]:
    """A huge sentence, cut at clauses; a huge clause, cut at white space; else by length."""
    start, end = piece
    if count(text[start:end]) <= 2 * MAX_TOKENS:
        yield piece
        return
    for pattern in (_CLAUSE, _GAP):
        cut = _nearest_cut(pattern, text, start, end)
        if cut:
            break
    else:
        cut = (start + end) // 2
    yield from _small(text, (start, len(text[start:cut].rstrip()) + start), count)
    right = cut + len(text[cut:end]) - len(text[cut:end].lstrip())
    if right < end:
        yield from _small(text, (right, end), count)


def _nearest_cut(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    middle = (start + end) / 2
    quarter = (end - start) / 4
    cuts = [
        match.end()
        for match in pattern.finditer(text, start, end)
        if abs(match.end() - middle) <= quarter and text[start : match.start()].strip()
    ]
    return min(cuts, key=lambda cut: abs(cut - middle), default=0)
