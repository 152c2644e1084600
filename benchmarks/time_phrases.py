"""How rightly and how fast time phrases are read.

    python benchmarks/time_phrases.py [--show N] [--set recognizers|duckling|chrono]

Reads the public cases under `temporal/` of the data folder (RECOLLECT_DATA, or
`../shared/data` beside the repository). Cases are split by a hash of their text: the grammar was
developed on three quarters, the last quarter was never looked at.

Duckling and chrono settle a bare month or weekday forwards and Recognizers gives the past
one too, so the sets are read with the direction that they ask for. Nothing else is told to
the reader.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from recollect.language.time import TimeExpression, read_query
from recollect.language.time.calendar import add
from recollect.language.time.period import Direction
from recollect.language.time.reader import read
from recollect.language.time.types import Grain
from sets import folder

ROOT = Path(__file__).resolve().parent.parent
DAY = timedelta(days=1)

# Rules that leave a case out, and why. Each is checked on the text or the answer's own form.
PART_OF_DAY = "part of a day: every set gives it other hours"
EDGE = "early, mid, late, start or end of: every set cuts it elsewhere"
SEASON = "season: unresolved, or astronomical, where the specification says whole months"
NOT_A_RANGE = "not on the timeline: a bare time of day, duration, repetition or time zone"
UNRESOLVED = "no reference date, or no resolved value"
OTHER_MODE = "a mode with other rules (tasks look forward only, split dates, calendars)"
HOLIDAY = "holiday: a table of names rather than a phrase (counted apart below)"
CONTRADICTED = "the set answers the same text in different ways"
MOVES_ANCHOR = "chrono answers 'next month' with this moment moved, not with the month"
BARE_DURATION = "chrono answers a bare duration with the moment it ends"
CUSTOM = "tests a setting of that parser: own zones or eras, little-endian, strict mode"
ROLLED = (
    "last or next N units: Duckling takes whole calendar units, Recognizers and we count from today"
)
WEEKEND = "weekend: Duckling's begins on Friday evening"
ZONED = "a zone is named, but the record does not say its offset"
NOW = "now: an instant, which is no period to search in"
UNIT_ONLY = "'the day', 'the year', 'weekend' and no more: in a memory mostly no time"
LUNAR = "Islamic feast: by sighting, a day more or less"
FORWARD = "a distance from a day without a year: the set looks forward only"
SPLIT = "the set reads a date and its hour as two times; we join them"
UPCOMING = "Duckling answers 'two upcoming weeks' with the second week alone"

_PART = re.compile(
    r"\b(?:morning|afternoon|evening|night|tonight|tonite|midday|lunch|lunchtime|dinner\w*|daytime"
    r"|night-?time|afternoonish|ams?|pms?)\b",
    re.IGNORECASE,
)
_EDGE = re.compile(
    r"\b(?:early|earlier|later?|mid|middle|beginning|start of|end|eo[dmy]|boy|bo[my]|rest|close)\b",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"(?:right |just )?now|at present|at (?:this|the) (?:time|moment)|atm|to date", re.IGNORECASE
)
_UNIT_ONLY = re.compile(
    r"(?:the |my |all )?(?:day|week|weekend|month|year|fortnight)(?: after)?|last minute",
    re.IGNORECASE,
)
_LUNAR = re.compile(
    r"\b(?:rama\w+|ramzan|eid|islamic|hijri|arabic|breaking the fast)\b", re.IGNORECASE
)
_SEASON = re.compile(r"\b(?:spring|summer|autumn|fall|winter|seasons?)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """What a set says: any of `starts`, and the end when it gives one."""

    starts: tuple[datetime | None, ...]
    ends: tuple[datetime | None, ...]
    point: bool
    grain: str | None = None


@dataclass(frozen=True)
class Case:
    text: str
    anchor: datetime
    span: tuple[int, int] | None
    answer: Answer | None
    excluded: str | None
    direction: Direction


def is_dev(text: str) -> bool:
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 4 != 3


def load(name: str) -> list[dict[str, Any]]:
    with gzip.open(folder() / "temporal" / f"{name}_en.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def moment(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text.replace(" ", "T"))
    except ValueError:
        return None


def convention(text: str, *, ranged: bool) -> str | None:
    """Rules that hold for all the sets."""
    if _NOW.fullmatch(text.strip()):
        return NOW
    if _UNIT_ONLY.fullmatch(text.strip()):
        return UNIT_ONLY
    if _LUNAR.search(text):
        return LUNAR
    if ranged and _PART.search(text):
        return PART_OF_DAY
    if _EDGE.search(text):
        return EDGE
    if _SEASON.search(text):
        return SEASON
    return None


# Recognizers -------------------------------------------------------------------------------

_MODES = ("TasksMode", "SplitDateAndTime", "CalendarMode", "ExperimentalMode", "ExtendedTypes")


_SHIFTED = re.compile(
    r"\b(?:days?|weeks?|months?),? (?:before|after|from) (?!now|today|to?mo?rr?o?w|yesterday|next)[a-z]"
    r"|\b(?:days?|weeks?), from \d",
    re.IGNORECASE,
)


def recognizers() -> Iterator[Case]:
    for record in load("recognizers"):
        for result in record["results"]:
            yield _recognizers_case(record, result)


def _recognizers_case(record: dict[str, Any], result: dict[str, Any]) -> Case:
    anchor = moment(record["ref"]) or datetime(2000, 1, 1)
    kind = (result["type"] or "").split(".")[-1]
    text, start = record["input"], result["start"]
    span = (start, start + len(result["text"]))
    excluded, answer = None, None
    if kind not in ("date", "daterange", "datetime", "datetimerange"):
        excluded = NOT_A_RANGE
    elif any(mode in record["file"] for mode in _MODES):
        excluded = OTHER_MODE
    else:
        answer = _past_values(result["values"]) if record["ref"] else None
        hours = any(
            (each["type"] or "").endswith(("time", "timerange"))
            and "date" not in (each["type"] or "").split(".")[-1]
            for each in record["results"]
        )
        if answer is None:
            excluded = UNRESOLVED
        elif hours and len(record["results"]) > 1:
            excluded = SPLIT
        else:
            excluded = convention(result["text"], ranged=not answer.point)
            start = answer.starts[0]
            if start and start > anchor and _SHIFTED.search(result["text"]):
                excluded = FORWARD
    return Case(text, anchor, span, answer, excluded, "past")


def _past_values(values: Any) -> Answer | None:
    if isinstance(values, dict):
        past = values.get("PastResolution")
        if not past:
            return None
        starts = [
            past[key] for key in ("date", "dateTime", "startDate", "startDateTime") if key in past
        ]
        ends = [past[key] for key in ("endDate", "endDateTime") if key in past]
        point = "date" in past or "dateTime" in past
        return _answer([(starts[0] if starts else None, ends[0] if ends else None)], point)
    if not isinstance(values, list) or not values or not isinstance(values[0], dict):
        return None
    pairs = [(value.get("value") or value.get("start"), value.get("end")) for value in values]
    day = (pairs[0][0] or pairs[0][1] or "")[:10]
    # The first value is the past one; later ones of the same day tell am from pm.
    same = [pair for pair in pairs if (pair[0] or pair[1] or "")[:10] == day]
    return _answer(same, "value" in values[0])


def _answer(pairs: list[tuple[str | None, str | None]], point: bool) -> Answer | None:
    starts = tuple(moment(start) for start, _ in pairs)
    ends = tuple(moment(end) for _, end in pairs)
    if (starts[0] is None and ends[0] is None) or any(s and s.year == 1 for s in starts):
        return None
    if any(text and moment(text) is None for pair in pairs for text in pair):
        return None
    return Answer(starts, ends, point)


# Duckling ----------------------------------------------------------------------------------


def duckling(*, holidays: bool = False) -> Iterator[Case]:
    records = load("duckling")
    said: dict[str, set[str]] = {}
    for record in records:
        said.setdefault(record["text"].lower(), set()).add(json.dumps(record["times"]))
    for record in records:
        is_holiday = "Holiday" in record["kind"]
        excluded, answer = None, None
        times = [moment(each) for each in record["times"]]
        if not times:
            excluded = UNRESOLVED
        elif is_holiday != holidays:
            excluded = HOLIDAY
        elif len(said[record["text"].lower()]) > 1:
            excluded = CONTRADICTED
        elif re.search(
            r"\bupcoming (two|three|2|3)\b|\b(two|three|2|3) upcoming\b",
            record["text"],
            re.IGNORECASE,
        ):
            excluded = UPCOMING
        else:
            answer = _duckling_answer(record, times)
            if re.search(r"week ?end", record["text"], re.IGNORECASE):
                excluded = WEEKEND
            elif re.match(_ROLLED, record["text"], re.IGNORECASE):
                excluded = ROLLED
            ranged = record["kind"] != "datetime"
            excluded = excluded or (None if holidays else convention(record["text"], ranged=ranged))
        anchor = datetime.fromisoformat(record["ref"])
        yield Case(record["text"], anchor, None, answer, excluded, "future")


_ROLLED = r".*\b(?:last|past|next|previous|coming) (?:\d+|one|two|three|four|few|couple)\b.*"


def _duckling_answer(record: dict[str, Any], times: list[datetime | None]) -> Answer:
    grain = record["grain"][0].lower()
    if record["kind"] == "datetimeOpenInterval":
        return Answer((times[0],), (times[0],), False, "open")
    if "Interval" in record["kind"] and len(times) > 1:
        return Answer((times[0],), (times[1],), False)
    start = times[0]
    assert start is not None
    whole = grain in ("day", "week", "month", "quarter", "year")
    end = add(start, Grain(grain), 1) if whole else None
    return Answer((start,), (end,), not whole or grain == "day", grain)


# chrono ------------------------------------------------------------------------------------


def chrono() -> Iterator[Case]:
    records = load("chrono")
    said: dict[tuple[str, str], set[str]] = {}
    for record in records:
        said.setdefault((record["text"], record["ref"]), set()).add(json.dumps(record["start"]))
    for record in records:
        yield _chrono_case(record, said)


_ZONE = r"\b(?:[pecm][sd]t|jst|gmt|utc|bst|cet)\b"


def _chrono_case(record: dict[str, Any], said: dict[tuple[str, str], set[str]]) -> Case:
    anchor = moment(record["ref"])
    start = _components(record["start"], record.get("start_date"), anchor)
    end = _components(record["end"], record.get("end_date"), anchor)
    text, match = record["text"], record["match"] or record["text"]
    at = text.find(match)
    span = (at, at + len(match)) if at >= 0 else None
    answer = Answer((start,), (end,), end is None, "partial") if start else None
    excluded = convention(match, ranged=True)
    if anchor is None or answer is None:
        excluded = UNRESOLVED
    elif len(said[(text, record["ref"])]) > 1:
        excluded = CONTRADICTED
    elif record["file"] in ("en_relative.test.ts", "en_time_units_casual_relative.test.ts"):
        excluded = MOVES_ANCHOR
    elif re.search(_ZONE, text, re.IGNORECASE) and "timezoneOffset" not in record["start"]:
        excluded = ZONED
    elif (
        re.search(r"\bXYZ\b|\bBE\b|\bB\.?C|\bAD\b|\bCE\b", text)
        or record["start"].get("year", 1) < 1
    ):
        excluded = CUSTOM
    elif (
        re.match(r"\s*(?:for|\d|give|a |one|within)", match, re.IGNORECASE)
        and "within" in record["file"]
    ):
        excluded = BARE_DURATION
    return Case(text, anchor or datetime(2000, 1, 1), span, answer, excluded, "future")


def _components(
    parts: dict[str, int], given: str | None, anchor: datetime | None
) -> datetime | None:
    """The moment that the known components give; the anchor fills the missing date."""
    if anchor is None or not parts:
        return moment(given)
    try:
        return datetime(
            parts.get("year", anchor.year),
            parts.get("month", anchor.month),
            parts.get("day", anchor.day if not {"month", "year"} & parts.keys() else 1),
            parts.get("hour", 0),
            parts.get("minute", 0),
            parts.get("second", 0),
        ) - timedelta(minutes=parts.get("timezoneOffset", 0))
    except ValueError:
        return None


# Judging -----------------------------------------------------------------------------------


def right(case: Case, found: tuple[TimeExpression, ...]) -> bool:
    return any(
        _overlaps(case, expression) and _same(case, expression)
        for expression in found
        if expression.range is not None
    )


def _overlaps(case: Case, expression: TimeExpression) -> bool:
    if case.span is None:
        return True
    return expression.span[0] < case.span[1] and case.span[0] < expression.span[1]


def _local(value: datetime | None, case: Case) -> datetime | None:
    if value is None:
        return None
    zone = case.anchor.tzinfo or UTC
    return value.astimezone(zone).replace(tzinfo=None)


def _same(case: Case, expression: TimeExpression) -> bool:
    assert case.answer is not None and expression.range is not None
    start, end = _local(expression.range.start, case), _local(expression.range.end, case)
    answer, grain = case.answer, expression.grain or Grain.DAY
    if answer.grain == "open":
        return answer.starts[0] in (start, end) or (
            start is not None and _unit_back(start, grain) == answer.starts[0]
        )
    if (
        not answer.point
        and start
        and end
        and end - start < DAY
        and None in (answer.starts[0], answer.ends[0])
    ):
        # "Tuesday after 1 pm": the sets leave the other side open, we close it with the day.
        start, end = (None, end) if answer.starts[0] is None else (start, None)
    for wanted_start, wanted_end in zip(answer.starts, answer.ends, strict=True):
        if answer.point or (answer.grain == "partial" and wanted_end is None):
            if _same_point(case, wanted_start, start, end):
                return True
        elif _same_start(wanted_start, start, end, case.anchor.replace(tzinfo=None)) and _same_end(
            wanted_end, end, grain
        ):
            return True
    return False


def _same_point(
    case: Case, wanted: datetime | None, start: datetime | None, end: datetime | None
) -> bool:
    if wanted is None or start is None or end is None:
        return False
    if start == wanted:
        return True
    # "in 7 days": the sets carry the anchor's clock time along; we name the day.
    clock = case.anchor.replace(tzinfo=None)
    carried = wanted.time() in (clock.time(), clock.replace(minute=0, second=0).time())
    day_wide = end - start == DAY
    return (
        (
            carried
            or (case.answer is not None and case.answer.grain == "partial" and wanted.hour == 12)
        )
        and day_wide
        and start.date() == wanted.date()
    )


def _unit_back(value: datetime, grain: Grain) -> datetime:
    try:
        return add(value, grain, -1)
    except (ValueError, OverflowError):
        return value


def _same_start(
    wanted: datetime | None, start: datetime | None, end: datetime | None, anchor: datetime
) -> bool:
    """Equal; for "after 1 January" some sets give that day, we the next."""
    if wanted is None or start is None:
        # "by 2 pm": Duckling begins now, we leave the beginning open.
        return wanted is start or wanted == anchor
    if wanted == anchor and start == wanted.replace(hour=0, minute=0, second=0):
        return True  # "within 2 weeks": the sets begin now, we with today
    return wanted == start or (end is None and start - DAY == wanted)


def _same_end(wanted: datetime | None, end: datetime | None, grain: Grain) -> bool:
    """Equal, or apart by the closing unit: some sets name a range's last day (month, year),
    we the moment after it."""
    if wanted is None or end is None:
        return wanted is end
    last = (DAY, timedelta(seconds=1))
    if grain in (Grain.HOUR, Grain.MINUTE, Grain.SECOND) and add(end, grain, 1) == wanted:
        return True  # Duckling counts the closing minute in
    return (
        wanted == end
        or wanted == _unit_back(end, grain)
        or any(end - step == wanted for step in last)
    )


# Report ------------------------------------------------------------------------------------


def report(name: str, cases: list[Case], show: int) -> None:
    kept = [case for case in cases if case.excluded is None and case.answer is not None]
    halves = {"developed on": [], "held out": []}
    wrong: list[tuple[Case, tuple[TimeExpression, ...]]] = []
    for case in kept:
        found = read(case.text, case.anchor, ("en",), case.direction)
        good = right(case, found)
        if not good and name == "chrono":
            # chrono takes the nearest occurrence, before or after: either direction counts.
            good = right(case, read(case.text, case.anchor, ("en",), "past"))
        dev = is_dev(case.text)
        halves["developed on" if dev else "held out"].append(good)
        if not good and dev:
            wrong.append((case, found))
    parts = [f"{half} {_share(goods)}" for half, goods in halves.items()]
    print(
        f"{name:22} all {_share([good for goods in halves.values() for good in goods])}  "
        + "  ".join(parts)
    )
    for rule, count in Counter(case.excluded for case in cases if case.excluded).most_common():
        print(f"    left out {count:5}: {rule}")
    for case, found in wrong[:show]:
        got = [
            (
                e.text,
                *(
                    str(v)[:19] if v else None
                    for v in (_local(e.range.start, case), _local(e.range.end, case))
                ),
            )
            for e in found
            if e.range
        ]
        answer = case.answer
        assert answer is not None
        want = [(str(s), str(e)) for s, e in zip(answer.starts, answer.ends, strict=True)]
        words = case.text[slice(*case.span)] if case.span else case.text
        print(f"      {words!r} in {case.text[:70]!r} @{case.anchor} want {want} got {got}")


def _share(goods: list[bool]) -> str:
    return f"{sum(goods)}/{len(goods)} = {100 * sum(goods) / max(1, len(goods)):.1f} %"


def traps() -> None:
    source = ROOT / "tests" / "language" / "time" / "traps.txt"
    lines = [
        line for line in source.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"
    ]
    anchor = datetime(2026, 11, 15, 12, tzinfo=UTC)
    false = [line for line in lines if any(e.range for e in read(line, anchor))]
    print(f"{'traps':22} {len(false)} false times in {len(lines)} ordinary sentences {false or ''}")


QUERIES = (
    "What did Alice say about the budget last spring?",
    "Who joined the team between March and May 2024?",
    "Where does Bob live?",
    "What happened two weeks before Christmas 2023 at the office in Berlin?",
    "Which database did we choose for the new service and why was it picked over the others?",
    "meetings on the second Tuesday of last month at 3:30pm",
)


def timings() -> None:
    anchor = datetime(2026, 11, 15, 12, tzinfo=UTC)
    for query in QUERIES:
        read_query(query, anchor)
    rounds = 50
    for query in QUERIES:
        start = time.process_time()
        for _ in range(rounds):
            read_query(query, anchor)
        spent = (time.process_time() - start) / rounds
        print(f"    {spent * 1e6:7.0f} µs CPU  {query}")
    imports = sorted(_import_ms() for _ in range(5))
    print(f"    {imports[2]:7.1f} ms       import of the package itself, median of 5 processes")
    runs = sorted(_run(_FIRST) for _ in range(5))
    print(
        f"    {runs[2]:7.1f} ms CPU  first query (imports the reader, loads English), median of 5"
    )


_FIRST = (
    "import datetime as d,time;from recollect.language.time import read_query as r;"
    "s=time.process_time();r('last spring',d.datetime.now());print((time.process_time()-s)*1e3)"
)


def _import_ms() -> float:
    """What Python's own import timer gives to our modules, without those of other packages."""
    command = [sys.executable, "-X", "importtime", "-c", "import recollect.language.time"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    ours = [line for line in done.stderr.splitlines() if "recollect.language.time" in line]
    return sum(int(line.split("|")[0].removeprefix("import time:")) for line in ours) / 1000


def _run(program: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--show", type=int, default=0, help="print that many wrong cases of the developed half"
    )
    parser.add_argument("--set", default="", help="only this set")
    arguments = parser.parse_args()
    sets: dict[str, Callable[[], Iterator[Case]]] = {
        "recognizers": recognizers,
        "duckling": duckling,
        "duckling holidays": lambda: duckling(holidays=True),
        "chrono": chrono,
    }
    for name, cases in sets.items():
        if arguments.set in ("", name):
            report(name, list(cases()), arguments.show)
    if not arguments.set:
        traps()
        timings()


if __name__ == "__main__":
    main()
