"""What a query says about time: its window, what it leaves out, what it asks for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from recollect.language.time.calendar import ORDER, unit
from recollect.language.time.lexicon import Lexicon, languages_of, lexicon
from recollect.language.time.reader import Cut, cut, read_cut
from recollect.language.time.types import Grain, Order, QueryTime, TimeExpression, TimeRange

_MIN = datetime.min.replace(tzinfo=UTC)
_MAX = datetime.max.replace(tzinfo=UTC)


def read_query(text: str, anchor: datetime) -> QueryTime:
    """Read what a query says about time, from the moment it is asked."""
    said = cut(text)
    languages = languages_of(said.folded, said.words)
    expressions = read_cut(said, anchor, languages)
    dated = [(each, period) for each in expressions if (period := whole_period(each, anchor))]
    # What happens at 02:30 happens on any day, and is told on another: an hour alone is a word.
    wanted = [(each, period) for each, period in dated if not each.negated and not each.clock]
    known = lexicon(languages[0])
    grains = [each.grain for each, _ in wanted if each.grain is not None]
    return QueryTime(
        expressions=expressions,
        window=_window([period for _, period in wanted]),
        grain=min(grains, key=ORDER.__getitem__) if grains else None,
        excluded=tuple(period for each, period in dated if each.negated),
        asks_when=_has_phrase(_padded(said), known, "asks"),
        order=_order(said, known, expressions),
        event=next((each.event for each in expressions if each.event), None),
    )


def whole_period(expression: TimeExpression, anchor: datetime) -> TimeRange | None:
    """The range to look in. "Two years ago" names a day only by arithmetic: what is meant is
    the year, so a day of a coarser grain widens to the calendar unit that holds it."""
    period, grain = expression.range, expression.grain
    if period is None or period.start is None or period.end is None or grain is None:
        return period
    narrow = period.end - period.start <= timedelta(days=1)
    if not narrow or ORDER[grain] <= ORDER[Grain.WEEK]:
        return period
    zone = anchor.tzinfo or UTC
    start, end = unit(period.start.astimezone(zone).replace(tzinfo=None), grain)
    return TimeRange(
        start.replace(tzinfo=zone).astimezone(UTC), end.replace(tzinfo=zone).astimezone(UTC)
    )


def _window(periods: list[TimeRange]) -> TimeRange | None:
    """Where all the periods meet ("after 2010 and before 2018"); all of them where they do
    not ("in 2019 or 2021")."""
    if not periods:
        return None
    start = max(period.start or _MIN for period in periods)
    end = min(period.end or _MAX for period in periods)
    if start >= end:
        start = min(period.start or _MIN for period in periods)
        end = max(period.end or _MAX for period in periods)
    return TimeRange(None if start == _MIN else start, None if end == _MAX else end)


def _padded(said: Cut) -> str:
    return f" {' '.join(said.words)} "


def _has_phrase(padded: str, known: Lexicon, cue: str) -> bool:
    return any(f" {phrase} " in padded for phrase in known.cues.get(cue, ()))


def _order(said: Cut, known: Lexicon, expressions: tuple[TimeExpression, ...]) -> Order | None:
    """Which end of the timeline is wanted; words inside a time expression do not count."""
    orders: tuple[Order, ...] = ("latest", "earliest")
    padded = _padded(said)
    if not any(_has_phrase(padded, known, order) for order in orders):  # nearly always
        return None
    rest = said.text
    for each in reversed(expressions):
        if each.event is None:
            rest = rest[: each.span[0]] + "|" + rest[each.span[1] :]
    padded = _padded(cut(rest))
    for phrase in known.cues.get("not_order", ()):
        padded = padded.replace(f" {phrase} ", " | ")
    return next((order for order in orders if _has_phrase(padded, known, order)), None)
