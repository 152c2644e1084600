"""Temporal arm: only when a time is asked for, never out of the window, and not lost in fusion."""

from __future__ import annotations

import calendar
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Arm, Band, Memory, Recollect
from recollect.models.base import Embedder, Encoded
from recollect.recall.arms.temporal import temporal
from recollect.storage.base import Filter
from recollect.types import Window

from .banks import ids_of, view_of
from .conftest import ACTIVITIES, MONTHS, PEOPLE

ANCHOR = "2026-07-10T12:00:00Z"
OFF = timedelta(0)


def inside(memory: Memory, window: Window) -> bool:
    start = memory.occurred_start or memory.mentioned_at
    end = memory.occurred_end or start
    assert start is not None and end is not None
    begins = window.end is None or start < window.end
    ends = window.start is None or end > window.start or (end == start >= window.start)
    return begins and ends


class Undated:
    """The real embedder, but for the dates of passages."""

    def __init__(self, real: Embedder) -> None:
        self.name, self.dimensions = real.name, real.dimensions
        self.token_dimensions = real.token_dimensions
        self.encode_queries = real.encode_queries
        self._real = real

    def encode_passages(self, texts: Sequence[str]) -> Encoded:
        return self._real.encode_passages([text.split(": ", 1)[-1] for text in texts])


def stages(memory: Recollect, bank: str, query: str, **options: object) -> set[str]:
    trace = memory.recall(bank, query, trace=True, **options).trace
    assert trace is not None
    return {s.stage for s in trace.stages}


# --- when it runs ------------------------------------------------------------------------------


def test_without_a_time_the_arm_does_not_run(memory: Recollect, diary: str) -> None:
    result = memory.recall(diary, "Who repaired the garden fence?")
    assert result.window is None
    assert not any(Arm.TEMPORAL in hit.arms for hit in result)
    assert "temporal" not in stages(memory, diary, "Who repaired the garden fence?")


def test_words_that_only_look_like_times_open_no_window(memory: Recollect, diary: str) -> None:
    assert memory.recall(diary, "What may Priya do?", query_timestamp=ANCHOR).window is None


def test_a_time_in_the_query_opens_its_window(memory: Recollect, diary: str) -> None:
    window = memory.recall(diary, "What happened in March 2026?", query_timestamp=ANCHOR).window
    assert window is not None
    assert (window.start, window.end) == (
        datetime(2026, 3, 1, tzinfo=UTC),
        datetime(2026, 4, 1, tzinfo=UTC),
    )


def test_yesterday_is_a_day_of_the_zone_of_who_asks(memory: Recollect, diary: str) -> None:
    """One moment, two places: half past midnight in Tokyo is the afternoon before in UTC."""
    asked = [
        memory.recall(diary, "What happened yesterday?", query_timestamp=at).window
        for at in ("2026-07-10T00:30:00+09:00", "2026-07-09T15:30:00Z")
    ]
    starts = [window.start for window in asked if window is not None]
    assert starts == [datetime(2026, 7, 8, 15, tzinfo=UTC), datetime(2026, 7, 8, tzinfo=UTC)]


def test_the_most_recent_such_month_is_meant(memory: Recollect, diary: str) -> None:
    window = memory.recall(diary, "What happened in August?", query_timestamp=ANCHOR).window
    assert window is not None and window.start == datetime(2025, 8, 1, tzinfo=UTC)


def test_the_callers_window_wins_over_the_querys(memory: Recollect, diary: str) -> None:
    given_ = ("2025-05-01", "2025-05-31")
    result = memory.recall(diary, "What happened in March 2026?", temporal_window=given_)
    assert result.window == Window(
        datetime(2025, 5, 1, tzinfo=UTC), datetime(2025, 6, 1, tzinfo=UTC)
    )
    assert {h.id[:7] for h in result if Arm.TEMPORAL in h.arms} == {"2025-05"}


def test_a_window_without_memories_finds_nothing_in_the_arm(memory: Recollect, diary: str) -> None:
    result = memory.recall(diary, "Who swam?", temporal_window=("1999-01-01", "1999-12-31"))
    assert not any(Arm.TEMPORAL in hit.arms for hit in result)


# --- what it finds -----------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(
    start=st.none() | st.integers(0, 560),
    length=st.none() | st.integers(1, 200),
    person=st.sampled_from(PEOPLE),
)
def test_it_finds_the_windows_memories_and_nothing_else(
    memory: Recollect, diary: str, start: int | None, length: int | None, person: str
) -> None:
    first = datetime(2025, 1, 1, tzinfo=UTC)
    since = None if start is None else first + timedelta(days=start)
    until = None if length is None else (since or first) + timedelta(days=length)
    if since is None and until is None:
        return
    window, view = Window(since, until), view_of(memory, diary)
    vector = memory.embedder.encode_queries([f"What did {person} do?"]).vectors[0]
    found = temporal(view, window, vector, Filter(), 1000)
    expected = {m.id for m in memory.memories(diary, limit=1000) if inside(m, window)}
    assert set(ids_of(view, found.keys)) == expected


def test_spreading_over_links_never_leaves_the_window(memory: Recollect) -> None:
    """A link of full weight leads out of the window; it is not followed."""
    memory.retain(
        "time-links",
        [
            {"id": "in", "text": "The bridge was closed.", "occurred_start": "2026-03-10"},
            {
                "id": "out",
                "text": "Ferries were hired.",
                "occurred_start": "2026-05-10",
                "causal_relations": [{"type": "caused_by", "target": 0, "weight": 1.0}],
            },
            {
                "id": "also-in",
                "text": "Traffic went round by the hills.",
                "occurred_start": "2026-03-28",
                "causal_relations": [{"type": "caused_by", "target": 0, "weight": 1.0}],
            },
        ],
    )
    view = view_of(memory, "time-links")
    march = Window(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC))
    vector = memory.embedder.encode_queries(["When was the bridge closed?"]).vectors[0]
    found = temporal(view, march, vector, Filter(), 100)
    scores = dict(zip(ids_of(view, found.keys), found.scores.tolist(), strict=True))
    assert set(scores) == {"in", "also-in"}
    # The neighbour was lifted by its link: 0.8 of the entry point's score, or its own if better.
    assert scores["also-in"] >= 0.8 * scores["in"] - 1e-5


def test_entry_points_are_ranked_by_similarity_and_closeness(memory: Recollect) -> None:
    memory.retain(
        "time-close",
        [
            {"id": f"d{day}", "text": "The choir rehearsed.", "occurred_start": f"2026-06-{day:02}T12:00:00Z", "timestamp": f"2026-06-{day:02}"}
            for day in (2, 16, 29)
        ]
        + [{"id": "else", "text": "A parcel arrived.", "occurred_start": "2026-06-16T12:00:00Z"}],
    )  # fmt: skip
    view = view_of(memory, "time-close")
    june = Window(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 7, 1, tzinfo=UTC))
    vector = memory.embedder.encode_queries(["choir rehearsal"]).vectors[0]
    ranked = ids_of(view, temporal(view, june, vector, Filter(), 100).keys)
    assert ranked[0] == "d16"
    assert ranked[-1] == "else"


def test_the_arm_works_without_a_vector(memory: Recollect, diary: str) -> None:
    view = view_of(memory, diary)
    march = Window(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC))
    found = temporal(view, march, None, Filter(), 1000)
    assert len(found) == 34
    assert np.all(np.diff(found.scores) <= 0)


# --- after fusion and boosts -------------------------------------------------------------------


def month_queries() -> list[tuple[str, tuple[int, int]]]:
    """30 queries that name a month: plain, about a person, about an activity."""
    out: list[tuple[str, tuple[int, int]]] = []
    for n in range(30):
        year, month = MONTHS[(n * 7) % 18]
        when = f"{calendar.month_name[month]} {year}"
        form = (
            f"What happened in {when}?",
            f"What did {PEOPLE[n % 10]} do in {when}?",
            f"Who {ACTIVITIES[(n * 5) % 16]} in {when}?",
        )[n % 3]
        out.append((form, (year, month)))
    return out


def filled(memory: Recollect, bank: str) -> float:
    """The share of top-10 slots that could be filled from the month asked for, and are."""
    right = possible = 0
    for query, (year, month) in month_queries():
        top = memory.recall(bank, query, query_timestamp=ANCHOR, min_score=0.0).results[:10]
        possible += 10  # 34 memories of every month: all ten slots could be
        right += sum(hit.id.startswith(f"{year}-{month:02}-") for hit in top)
    return right / possible


def test_the_month_asked_for_fills_at_least_95_percent_of_the_top_ten(
    memory: Recollect, diary: str
) -> None:
    share = filled(memory, diary)
    print(f"slots filled from the month asked for: {share:.1%}")
    assert share >= 0.95


@pytest.mark.parametrize(
    ("query", "months"),
    [
        ("What happened in August 2025 and in March 2026?", {"2025-08", "2026-03"}),
        ("What did we do in May or in July?", {"2026-05", "2026-07"}),
        ("What happened in April, and what in June?", {"2026-04", "2026-06"}),
    ],
)
def test_two_months_asked_for_fill_the_answer_and_none_between(
    memory: Recollect, query: str, months: set[str]
) -> None:
    """Every month has the same four things in it, so what is between has as good words."""
    facts = [
        {"text": f"{thing}.", "id": f"{year}-{month:02}-{n}", "occurred_start": f"{year}-{month:02}-{3 + 6 * n:02}"}
        for year, month in [*MONTHS[6:], (2026, 7)]
        for n, thing in enumerate(ACTIVITIES[:4])
    ]  # fmt: skip
    memory.retain("two-months", facts)
    hits = memory.recall("two-months", query, query_timestamp="2026-07-30").results
    assert {hit.id[:7] for hit in hits[:8]} == months
    assert all((Arm.TEMPORAL in hit.arms) == (hit.id[:7] in months) for hit in hits)


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("Was last winter's bill higher than this year's?", {"december", "february", "june"}),
        ("Was the bill in June higher than this year's bills?", {"february", "june"}),
        ("Compare the bill of last spring with this spring", {"april-2025", "april-2026"}),
        ("Which bill came between my trip in December and the one in June?", {"december", "june"}),
    ],
)
def test_of_two_times_neither_is_left_out(memory: Recollect, query: str, ids: set[str]) -> None:
    days = {"april-2025": "2025-04-09", "december": "2025-12-09", "february": "2026-02-09",
            "april-2026": "2026-04-09", "june": "2026-06-09"}  # fmt: skip
    facts = [
        {"id": i, "text": f"The heating bill was {200 + n} euros.", "occurred_start": day}
        for n, (i, day) in enumerate(days.items())
    ]
    memory.retain("bills", facts)
    hits = memory.recall("bills", query, query_timestamp=ANCHOR, min_score=0.0).results
    inside = {hit.id for hit in hits if hit.scores["window"] > 0}
    assert ids <= inside and "april-2025" not in inside - ids


@pytest.mark.parametrize(
    "query",
    ["Which bills came before 2020 and after 2022?", "Which bill came until 2019 or since 2023?"],
)
def test_of_two_open_times_what_lies_between_is_left_out(memory: Recollect, query: str) -> None:
    facts = [
        {
            "id": year,
            "text": f"I paid {year[2:]} euros of a bill.",
            "occurred_start": f"{year}-05-09",
        }
        for year in ("2017", "2019", "2020", "2022", "2023", "2025")
    ]
    memory.retain("open-times", facts)
    result = memory.recall("open-times", query, query_timestamp=ANCHOR, min_score=0.0)
    asked = {"2017", "2019", "2023", "2025"}
    assert {hit.id for hit in result.results if hit.scores["window"] > 0} == asked
    assert {hit.id for hit in result.results if Arm.TEMPORAL in hit.arms} == asked


def test_a_time_within_another_narrows_it(memory: Recollect, diary: str) -> None:
    result = memory.recall(diary, "What happened this year, in March?", query_timestamp=ANCHOR)
    assert {hit.id[:7] for hit in result.results[:10]} == {"2026-03"}


def test_no_other_month_stands_above_what_was_asked_for(memory: Recollect, diary: str) -> None:
    """Of the right month and about the right activity comes before everything else."""
    seen = 0
    for query, (year, month) in month_queries()[2::3]:
        activity = query.removeprefix("Who ").rsplit(" in ", 1)[0]
        hits = memory.recall(diary, query, query_timestamp=ANCHOR, min_score=0.0).results
        right = [activity in h.text and h.id.startswith(f"{year}-{month:02}-") for h in hits]
        assert right[: sum(right)] == [True] * sum(right), query
        seen += sum(right)
    assert seen >= 10


def test_what_began_lately_and_lasts_rules_out_what_was_before(
    memory: Recollect, diary: str
) -> None:
    """Since May is no longer than "in May and June": the time decides as much as there."""
    for query, _ in month_queries()[2::9]:
        asked = f"{query.rsplit(' in ', 1)[0]} since May?"
        hits = memory.recall(diary, asked, query_timestamp=ANCHOR, min_score=0.0).results
        late = [hit.id >= "2026-05" for hit in hits if query[4:20] in hit.text]
        assert late[: sum(late)] == [True] * sum(late), asked
        assert any(late) and not all(late)


@pytest.mark.parametrize(
    "query", ["What happened in March 2026?", "Who planted tomatoes in May 2025?"]
)
def test_every_hit_keeps_what_the_temporal_arm_said(
    memory: Recollect, diary: str, query: str
) -> None:
    result = memory.recall(diary, query, query_timestamp=ANCHOR)
    assert result.window is not None
    for hit in result:
        assert (Arm.TEMPORAL in hit.arms) == inside(hit.memory, result.window)


def test_before_and_after_an_event_order_what_happened_by_its_distance(
    reopen: Callable[..., Recollect],
) -> None:
    """Alike but for their dates: what is nearer to the event comes first. They are alike to a model
    that reads no dates; how like the query a date is to the others is no claim of ours."""
    other = reopen(reranker="late-interaction")
    other.__dict__["embedder"] = Undated(other.embedder)
    other.retain("life", {"text": "Alice joined Google.", "timestamp": "2024-06-01"})
    for year in (2019, 2021, 2023, 2025, 2026):
        other.retain(
            "life",
            {
                "id": f"{year}",
                "text": "Alice ran a marathon.",
                "timestamp": f"{year}-05-01",
            },
        )
    asked = {"query_timestamp": "2026-07-01", "min_score": 0.0}
    before = other.recall("life", "What did Alice do before she joined Google?", **asked)
    after = other.recall("life", "What did Alice do after she joined Google?", **asked)
    years = [[h.id for h in r if h.id.isdigit()] for r in (before, after)]
    assert years[0][:3] == ["2023", "2021", "2019"]
    assert years[1][:2] == ["2025", "2026"]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("What did Alice do before she joined Google?", "thesis"),
        ("What did Alice do after joining Google?", "move"),
        ("Before Alice joined Google, what did Bob do?", "boat"),
    ],
)
def test_what_somebody_did_before_an_event_is_not_that_event(
    memory: Recollect, query: str, first: str
) -> None:
    life = [
        ("join", "Alice joined Google", "2026-03-10"),
        ("thesis", "Alice finished her thesis", "2026-02-01"),
        ("move", "Alice moved to Zurich", "2026-04-02"),
        ("boat", "Bob bought a boat", "2026-02-03"),
    ]
    facts = [{"id": i, "text": text, "occurred_start": day} for i, text, day in life]
    memory.retain("before-and-after", facts)
    best = memory.recall("before-and-after", query, query_timestamp=ANCHOR).results[0]
    assert best.id == first and best.band is not Band.NOISE


OUTAGE = [
    ("nats", "We switched the queue to NATS", "2026-03-20"),
    ("outage", "The outage of the shop: Redis ran out of memory", "2026-04-14"),
    ("vue", "The frontend moved from Vue to React", "2026-05-04"),
]


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ("What did we do before the outage?", {"nats"}),
        ("What happened before the outage?", {"nats"}),
        ("What did we do after the outage?", {"vue"}),
        ("What has happened since the outage?", {"outage", "vue"}),
        ("What happened on the day of the outage?", {"outage"}),
    ],
)
def test_where_only_an_event_is_told_what_lies_in_its_time_is_an_answer(
    memory: Recollect, query: str, answers: set[str]
) -> None:
    facts = [{"id": i, "text": text, "occurred_start": day} for i, text, day in OUTAGE]
    memory.retain("only-an-event", facts)
    result = memory.recall("only-an-event", query, query_timestamp=ANCHOR)
    best = result.results[: len(answers)]
    assert {hit.id for hit in best if hit.band is not Band.NOISE} == answers


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What happened between the outage and the rollback?", "2026-04-14", "2026-04-17"),
        ("What happened between the rollback and the outage?", "2026-04-14", "2026-04-17"),
        ("What happened after the outage and before the rollback?", "2026-04-15", "2026-04-16"),
        ("What happened between the outage and the burglary?", "2026-04-14", None),
        ("What happened between the burglary and the outage?", None, "2026-04-15"),
        ("What happened between the burglary and the wedding?", None, None),
        ("What happened between the outage and April 15?", "2026-04-14", "2026-04-16"),
        ("What happened between April 2 and the outage?", "2026-04-02", "2026-04-15"),
        ("What happened between April 2 and the burglary?", "2026-04-02", None),
        ("What happened in April after the outage?", "2026-04-15", "2026-05-01"),
        ("What happened in March after the outage?", "2026-03-01", "2026-04-01"),
        ("What happened after the outage in April?", "2026-04-01", "2026-05-01"),
    ],
)
def test_two_events_bound_the_window(
    memory: Recollect, query: str, start: str | None, end: str | None
) -> None:
    """From the first day of one to the last of the other; one that is unknown leaves its side open."""
    told = [*OUTAGE, ("rollback", "The rollback of the shop to 2.3.0 was done", "2026-04-16")]
    facts = [{"id": i, "text": text, "occurred_start": day} for i, text, day in told]
    memory.retain("two-events", facts)
    window = memory.recall("two-events", query, query_timestamp=ANCHOR).window
    bounds = (None, None) if window is None else (window.start, window.end)
    assert tuple(each and f"{each:%Y-%m-%d}" for each in bounds) == (start, end)


def test_what_was_when_something_was_told_is_of_that_day(memory: Recollect) -> None:
    memory.retain("moved", {"text": "We moved to Hamburg.", "timestamp": "2026-07-01T10:00:00Z"})
    query = "What did we eat when we moved to Hamburg?"
    window = memory.recall("moved", query, query_timestamp=ANCHOR).window
    assert window is not None and window.start is not None and window.end is not None
    assert (f"{window.start:%m-%d %H}", f"{window.end:%m-%d %H}") == ("07-01 00", "07-02 00")


def test_between_two_events_is_the_pair_that_follow_each_other(memory: Recollect) -> None:
    told = [
        {
            "text": "Outage: the shop returned 500 for all users",
            "timestamp": "2026-04-14T09:15:00Z",
        },
        {"text": "Rolled the shop back to 2.3.0", "timestamp": "2026-04-14T09:40:00Z"},
        {"text": "Second outage: the database failed over", "timestamp": "2026-05-02T18:20:00Z"},
    ]
    memory.retain("two-outages", told)
    query = "What happened between the outage and the rollback?"
    window = memory.recall("two-outages", query, query_timestamp=ANCHOR).window
    assert window is not None and window.start is not None and window.end is not None
    assert (f"{window.start:%m-%d %H:%M}", f"{window.end:%m-%d %H:%M}") == (
        "04-14 09:15",
        "04-14 09:40",
    )


def test_what_lies_between_two_events_is_an_answer(memory: Recollect) -> None:
    told = [
        *OUTAGE,
        ("cache", "Bob halved the size of the cache", "2026-04-15"),
        ("rollback", "The rollback of the shop to 2.3.0 was done", "2026-04-16"),
    ]
    memory.retain("between", [{"id": i, "text": t, "occurred_start": day} for i, t, day in told])
    query = "What happened between the outage and the rollback?"
    result = memory.recall("between", query, query_timestamp=ANCHOR)
    answers = {hit.id for hit in result if hit.band is not Band.NOISE}
    assert answers == {"outage", "cache", "rollback"}
    assert result.window is not None
    assert result.window.text == "since the outage (2026-04-14) and until the rollback (2026-04-16)"


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("What broke after the release of 4.5.0?", "2026-04-02"),
        ("What broke after the release of v4.5.0?", "2026-04-02"),
        ("What broke after the release of 2.5.0?", None),
    ],
)
def test_an_event_with_a_number_is_no_other_one(
    memory: Recollect, query: str, start: str | None
) -> None:
    memory.retain("released", {"text": "Released billing 4.5.0.", "occurred_start": "2026-04-01"})
    window = memory.recall("released", query, query_timestamp=ANCHOR).window
    assert (window and f"{window.start:%Y-%m-%d}") == start


def test_what_is_to_be_done_after_an_event_is_asked_for_in_its_words(memory: Recollect) -> None:
    facts = [{"id": i, "text": text, "occurred_start": day} for i, text, day in OUTAGE]
    facts.append({"id": "page", "text": "After an outage, write to everybody who was logged in"})
    memory.retain("after-an-outage", facts)
    query = "What do we do after an outage?"
    assert memory.recall("after-an-outage", query, query_timestamp=ANCHOR).results[0].id == "page"


@pytest.mark.parametrize(
    ("query", "against"),
    [
        ("Which office did Grabar hold in the Academy of Arts from 1903 to 1910?", False),
        ("What did Grabar do from 1903 to 1910?", True),
    ],
)
def test_years_that_frame_a_long_question_say_nothing_against_other_dates(
    memory: Recollect, query: str, against: bool
) -> None:
    text = "Grabar held an office in the Academy of Arts."
    memory.retain("grabar", {"text": text, "occurred_start": "1921-05-02"})
    (hit,) = memory.recall("grabar", query, min_score=0.0)
    assert (hit.scores["window"] < 0) is against
    assert (hit.scores["temporal_factor"] < 1) is against


@pytest.mark.parametrize(
    ("query", "against"),
    [
        ("Which position does Grabar hold from October?", False),
        ("Can you recommend a novel for October?", False),
        ("Which position did Grabar hold in October?", True),
        ("Which novel did Grabar read in October?", True),
    ],
)
def test_what_holds_from_a_time_on_or_is_to_be_done_for_it_was_told_before(
    memory: Recollect, query: str, against: bool
) -> None:
    text = "Grabar takes the position of a librarian, and likes a long novel."
    memory.retain("librarian", {"text": text, "timestamp": "2026-05-02"})
    (hit,) = memory.recall("librarian", query, query_timestamp=ANCHOR, min_score=0.0)
    assert (hit.scores["window"] < -1) is against


CHAT = """2026-01-20|The daycare will be closed for a day: they have to replace the boiler.
2026-01-20|Oh no. And what do you do with the little ones?
2026-01-20|My mother takes them.
2026-02-03|The daycare had a carnival today, and everybody came as a frog.
2026-02-03|Send me pictures of the frogs!
2026-02-14|We picked the twins up from the daycare and went for pancakes.
2026-02-14|Pancakes are the best part of February.
2026-02-21|Work was dull. The office was half empty.
2026-03-02|I am learning to sew. The first bag is crooked.
2026-03-02|Crooked bags hold just as much.
2026-03-17|The twins can swim now, both of them!
2026-04-05|We hid forty eggs in the garden and found thirty-eight."""


@pytest.fixture(scope="module")
def chat(memory: Recollect) -> str:
    turns = [line.split("|") for line in CHAT.splitlines()]
    memory.retain("chat", [
        {"id": str(n), "text": text, "speaker": ("Ana", "Bo")[n % 2], "timestamp": day, "document_id": "chat"}
        for n, (day, text) in enumerate(turns)
    ])  # fmt: skip
    return "chat"


CLOSED = "Why was the daycare closed in February?"


@pytest.mark.xfail(
    strict=True, reason="recollect-embed-6 and the cross-encoder heed the date of a turn too much"
)
def test_a_turn_may_tell_of_another_time_than_its_own(memory: Recollect, chat: str) -> None:
    hits = memory.recall(chat, CLOSED, query_timestamp="2026-05-15").results
    assert hits[0].id == "0"  # said in January


def test_a_turn_that_may_tell_of_another_time_is_not_ruled_out(
    memory: Recollect, chat: str
) -> None:
    for tags in ([], ["home"]):
        memory.update(chat, "0", tags=tags)
        hits = memory.recall(chat, CLOSED, query_timestamp="2026-05-15").results
        best = next(hit for hit in hits[:2] if hit.id == "0")
        assert -0.3 < best.scores["window"] < 0


def test_a_window_that_the_caller_gives_holds_for_turns_too(memory: Recollect, chat: str) -> None:
    window = ("2026-02-01", "2026-03-01")
    result = memory.recall(chat, "Why was the daycare closed?", temporal_window=window, min_score=0)
    said = {hit.id: hit.scores["window"] for hit in result}
    assert said["3"] > 1 and said["0"] < -1


def test_what_was_said_in_a_month_still_fills_the_answer(memory: Recollect, chat: str) -> None:
    hits = memory.recall(chat, "What did we talk about in March?", query_timestamp="2026-05-15")
    assert {hit.id for hit in hits.results[:3]} == {"8", "9", "10"}


def test_a_year_alone_is_when_a_turn_was_said(memory: Recollect, chat: str) -> None:
    hits = memory.recall(chat, "What happened in 2026?", query_timestamp="2026-05-15").results
    assert hits and all(hit.scores["window"] == 1 for hit in hits)


def test_two_short_times_a_year_apart_are_no_long_one(memory: Recollect, chat: str) -> None:
    query = "What happened at the daycare in January 2025 and in February 2026?"
    hits = memory.recall(chat, query, query_timestamp="2026-05-15").results
    assert hits and hits[0].scores["window"] > 1


@pytest.mark.parametrize("event", ["the marathon", "her marathon", "she ran the marathon"])
def test_what_somebody_did_after_an_event_is_not_that_event(memory: Recollect, event: str) -> None:
    told = [
        {"id": "rome", "text": "Ann visited Rome.", "timestamp": "2025-05-01"},
        {"id": "marathon", "text": "Ann ran a marathon.", "timestamp": "2026-03-15"},
        {"id": "kayak", "text": "Ann bought a kayak.", "timestamp": "2026-06-10"},
    ]
    memory.retain("sporty", told)
    result = memory.recall(
        "sporty", f"What did Ann do after {event}?", query_timestamp="2026-11-15"
    )
    assert result.results[0].id == "kayak"


def test_what_only_mentions_the_words_of_an_event_is_not_the_event(memory: Recollect) -> None:
    told = [
        {
            "text": "Over dinner with the neighbours and their three loud children somebody brought up the marathon, "
            "the price of fish, a leaking roof, and whether the school would open at all in September.",
            "timestamp": "2026-03-15",
        },
        *({"text": f"Ann bought {what}.", "timestamp": "2026-06-10"} for what in ("bread", "milk")),
    ]
    memory.retain("gossip", told)
    query = "What did Ann buy after the marathon?"
    assert memory.recall("gossip", query, query_timestamp="2026-11-15").window is None
