"""What a query asks about time, and when a statement happened."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from recollect.language.time import (
    EventAnchor,
    Grain,
    TimeRange,
    ground,
    read_query,
    window_for_event,
    without_asking,
)

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rest", "left"),
    [
        ("Was ist passiert im ?", "?"),
        ("Was hat der Zahnarzt gesagt im ?", "Zahnarzt ?"),
        ("¿Qué hizo el médico en ?", "¿ médico ?"),
        ("Qu'est-ce qui s'est passé en  ?", "- ?"),
        ("Cosa ha detto il medico a ?", "medico ?"),
        ("O que o médico disse em ?", "médico ?"),
        ("医生说了什么？", "医生 ？"),
        ("田中さんは何をしましたか？", "田中さん ？"),
        ("What did the dentist say in ?", "What did the dentist say in ?"),
    ],
)
def test_what_only_asks_is_left_out_and_nothing_else(rest: str, left: str) -> None:
    assert without_asking(rest, rest).split() == left.split()


def only_event(query: str) -> EventAnchor | None:
    """The event that the time is counted from; there are not two."""
    events = read_query(query, NOW).events
    assert len(events) < 2
    return events[0] if events else None


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_query_names_one_window() -> None:
    window = read_query("What did Alice do last spring?", NOW).window
    assert window == TimeRange(day("2026-03-01"), day("2026-06-01"))


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What did he do from March to June?", "2026-03-01", "2026-07-01"),
        ("What did we see last March in Rome?", "2026-03-01", "2026-04-01"),
        ("What has changed from March on?", "2026-03-01", None),
    ],
)
def test_a_month_is_one_where_a_verb_would_read_the_same(
    query: str, start: str, end: str | None
) -> None:
    window = read_query(query, NOW).window
    assert window == TimeRange(day(start), day(end) if end else None)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What did I do two weeks ago?", "2026-10-29", "2026-11-05"),
        ("What is on in three weeks?", "2026-12-03", "2026-12-10"),
        ("What did I do a week ago?", "2026-11-08", "2026-11-09"),
        ("What did I do on Friday two weeks ago?", "2026-10-30", "2026-10-31"),
    ],
)
def test_some_weeks_ago_is_asked_for_with_the_days_around_it(
    query: str, start: str, end: str
) -> None:
    assert read_query(query, NOW).window == TimeRange(day(start), day(end))


def test_who_tells_of_some_weeks_ago_knows_the_day() -> None:
    grounding = ground("I met Ann two weeks ago", NOW)
    assert grounding is not None and grounding.grain is Grain.WEEK
    assert (grounding.start, grounding.end) == (day("2026-11-01"), day("2026-11-02"))


@pytest.mark.parametrize("query", ["Who will march in the parade?", "Who won in March Madness?"])
def test_an_idiom_is_no_month(query: str) -> None:
    assert read_query(query, NOW).window is None


@pytest.mark.parametrize(
    ("query", "few"),
    [
        ("What did we do in the last weeks?", "the last few weeks"),
        ("What have the last weeks brought?", "the last few weeks"),
        ("What changed over the past months?", "the last few months"),
        ("Who visited in recent days?", "the last few days"),
        ("What did I read in recent years?", "the last few years"),
        ("How did these past weeks go?", "the last few weeks"),
        ("What is planned for the coming weeks?", "the next few weeks"),
        ("within the last months", "the last few months"),
    ],
)
def test_a_plural_without_a_number_means_a_few(query: str, few: str) -> None:
    window = read_query(query, NOW).window
    assert window is not None and window == read_query(few, NOW).window


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What did we do in the last decades?", "1996-11-15", "2026-11-16"),
        ("What happened in the last weeks of May?", "2026-05-11", "2026-06-01"),
        ("Where was I in the first days of March?", "2026-03-01", "2026-03-04"),
        ("Qu'ai-je fait les derniers jours de mai ?", "2026-05-29", "2026-06-01"),
        ("Où étais-je les dernières semaines de mai ?", "2026-05-11", "2026-06-01"),
        ("Où étais-je les derniers mois de 2025 ?", "2025-10-01", "2026-01-01"),
    ],
)
def test_several_units_run_up_to_now_or_are_those_of_a_period(
    query: str, start: str, end: str
) -> None:
    assert read_query(query, NOW).window == TimeRange(day(start), day(end))


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What was in last weeks meeting?", "2026-11-02", "2026-11-09"),
        ("Where did we spend last years holidays?", "2025-01-01", "2026-01-01"),
    ],
)
def test_a_missing_apostrophe_makes_no_plural(query: str, start: str, end: str) -> None:
    assert read_query(query, NOW).window == TimeRange(day(start), day(end))


@pytest.mark.parametrize(
    "query",
    [
        "What happened in the last days of the war?",
        "Who scored in the last minutes of the match?",
        "Which are the most recent volumes?",
    ],
)
def test_the_last_days_of_something_else_are_not_ours(query: str) -> None:
    assert read_query(query, NOW).window is None


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("What did I do in spring and fall of 2022?", ["2022-03 2022-06", "2022-09 2022-12"]),
        ("What sold in Q1 or in Q3 of last year?", ["2025-01 2025-04", "2025-07 2025-10"]),
        ("What broke in July, August, and September 2025?", ["2025-07 2025-08", "2025-08 2025-09", "2025-09 2025-10"]),
        ("Whom did I meet on Monday, Tuesday and Friday of last week?", ["2026-11-02 2026-11-03", "2026-11-03 2026-11-04", "2026-11-06 2026-11-07"]),
        ("What was sent on March 3 and on April 5, 2025?", ["2025-03-03 2025-03-04", "2025-04-05 2025-04-06"]),
        ("What happened in December and January 2025?", ["2024-12 2025-01", "2025-01 2025-02"]),
        ("Was geschah im Februar und im April 2025?", ["2025-02 2025-03", "2025-04 2025-05"]),
        ("What did we do in July and August?", ["2026-07 2026-08", "2026-08 2026-09"]),
    ],
)  # fmt: skip
def test_the_last_of_a_list_says_of_which_year_or_week_all_are(
    query: str, parts: list[str]
) -> None:
    def whole(text: str) -> datetime:
        return day(text if text.count("-") == 2 else f"{text}-01")

    assert read_query(query, NOW).parts == tuple(
        TimeRange(*map(whole, part.split())) for part in parts
    )


@pytest.mark.parametrize(
    "when", ["May and June 2025", "May or June of 2025", "May and June last year"]
)
def test_months_that_may_be_names_are_of_the_year_named_after_them(when: str) -> None:
    window = read_query(f"What did Alice do in {when}?", NOW).window
    assert window == TimeRange(day("2025-05-01"), day("2025-07-01"))


@pytest.mark.parametrize("query", ["Who came with April and May?", "Did April, May and June call?"])
def test_a_list_of_names_is_no_list_of_months(query: str) -> None:
    assert read_query(query, NOW).window is None


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("What was played in the 80s and 90s?", ["1980-01-01", "1990-01-01", "2000-01-01"]),
        ("the music of the 80s, the '90s", ["1980-01-01", "1990-01-01", "2000-01-01"]),
        ("Where was he in the eighties or nineties?", ["1980-01-01", "1990-01-01", "2000-01-01"]),
        ("What happened on the 1st or the 2nd?", ["2026-11-01", "2026-11-02", "2026-11-03"]),
        ("Did it rain on the 3rd and 4th?", ["2026-11-03", "2026-11-04", "2026-11-05"]),
        (
            "Was I out on the 1st, the 2nd or the 3rd?",
            ["2026-11-01", "2026-11-02", "2026-11-03", "2026-11-04"],
        ),
    ],
)
def test_what_goes_on_with_a_list_of_times_is_one(query: str, days: list[str]) -> None:
    parts = read_query(query, NOW).parts
    assert parts == tuple(TimeRange(day(a), day(b)) for a, b in itertools.pairwise(days))


@pytest.mark.parametrize("query", ["Is she in her 80s or 90s?", "the 1st and the 2nd option"])
def test_a_list_of_other_numbers_is_none_of_times(query: str) -> None:
    assert read_query(query, NOW).window is None


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("What did we do at Christmas?", "2025-12-25"),
        ("Who came over Christmas?", "2025-12-25"),
        ("Where were we at Easter?", "2026-04-05"),
        ("What happened at New Year?", "2026-01-01"),
    ],
)
def test_a_feast_is_a_time_where_something_is_said_of_it(query: str, start: str) -> None:
    window = read_query(query, NOW).window
    assert window is not None and window.start == day(start)


@pytest.mark.parametrize("query", ["Who cooks at Christmas dinner?", "What is Christmas about?"])
def test_a_feast_may_be_what_is_spoken_of(query: str) -> None:
    assert read_query(query, NOW).window is None


def test_times_that_are_not_listed_together_share_no_year() -> None:
    read = read_query("What did Ana do in March and what did Bob do in May 2023?", NOW)
    assert read.parts[0] == TimeRange(day("2026-03-01"), day("2026-04-01"))


def test_no_time_no_window() -> None:
    assert read_query("Where does Alice live?", NOW).window is None


def test_two_open_ends_meet() -> None:
    window = read_query("sales after 2010 and before 2018", NOW).window
    assert window == TimeRange(day("2011-01-01"), day("2018-01-01"))


def test_periods_apart_are_spanned() -> None:
    window = read_query("what happened in 2019 or in 2021", NOW).window
    assert window == TimeRange(day("2019-01-01"), day("2022-01-01"))


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        (
            "Was last winter's bill higher than this year's?",
            [("2025-12-01", "2026-03-01"), ("2026-01-01", "2027-01-01")],
        ),
        (
            "Did I spend more in June than this year?",
            [("2026-06-01", "2026-07-01"), ("2026-01-01", "2027-01-01")],
        ),
        (
            "Dormi melhor nestas últimas semanas do que em junho?",
            [("2026-10-25", "2026-11-16"), ("2026-06-01", "2026-07-01")],
        ),
        (
            "what happened in 2019 or in 2021",
            [("2019-01-01", "2020-01-01"), ("2021-01-01", "2022-01-01")],
        ),
    ],
)
def test_times_that_do_not_narrow_each_other_are_both_asked_about(
    query: str, parts: list[tuple[str, str]]
) -> None:
    read = read_query(query, NOW)
    assert read.parts == tuple(TimeRange(day(start), day(end)) for start, end in parts)
    starts, ends = zip(*parts, strict=True)
    assert read.window == TimeRange(day(min(starts)), day(max(ends)))


@pytest.mark.parametrize(
    ("query", "last"),
    [
        ("Compare last summer with this summer", ("2025-06-01", "2025-09-01")),
        ("Was it colder this March than last March?", ("2025-03-01", "2025-04-01")),
        ("Compare last Friday with this Friday", ("2026-11-06", "2026-11-07")),
        ("Comparer l'été dernier et cet été", ("2025-06-01", "2025-09-01")),
        ("last Easter versus this Easter", ("2025-04-20", "2025-04-21")),
        ("Was last Thanksgiving colder than this Thanksgiving?", ("2025-11-27", "2025-11-28")),
    ],
)
def test_last_beside_this_is_the_one_before(query: str, last: tuple[str, str]) -> None:
    assert TimeRange(day(last[0]), day(last[1])) in read_query(query, NOW).parts


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Did I sleep better this past week than in June?", ("2026-11-02", "2026-11-09")),
        ("Where did we eat this past weekend and last night?", ("2026-11-07", "2026-11-09")),
        ("Did I sleep better this last month than in June?", ("2026-10-01", "2026-11-01")),
        ("What did I do this past year and in 2023?", ("2025-01-01", "2026-01-01")),
        ("Was it this past Friday or last Tuesday?", ("2026-11-13", "2026-11-14")),
        ("Was it this past Friday or on this Wednesday?", ("2026-11-13", "2026-11-14")),
    ],
)
def test_this_past_one_is_the_one_just_over(query: str, first: tuple[str, str]) -> None:
    assert read_query(query, NOW).parts[0] == TimeRange(day(first[0]), day(first[1]))


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What happened this year, in March?", "2026-03-01", "2026-04-01"),
        ("This year, did I spend more than 300 euros in March?", "2026-03-01", "2026-04-01"),
        ("This year, did I spend more than $300 in March?", "2026-03-01", "2026-04-01"),
        ("This year, did I spend more than a hundred in March?", "2026-03-01", "2026-04-01"),
        ("This year, did I sleep better than usual in March?", "2026-03-01", "2026-04-01"),
        ("Did more than 20 people come this summer, in July?", "2026-07-01", "2026-08-01"),
        ("Which different doctors did I see this year, in March?", "2026-03-01", "2026-04-01"),
        ("Habe ich dieses Jahr mehr als 300 Euro im März ausgegeben?", "2026-03-01", "2026-04-01"),
        ("Ai-je dépensé plus que 300 euros cette année, en mars ?", "2026-03-01", "2026-04-01"),
        ("Wer wohnt gegenüber seit 2020, genauer seit März 2021?", "2021-03-01", None),
        ("今年的比赛在三月吗", "2026-03-01", "2026-04-01"),
    ],
)
def test_a_time_within_another_narrows_it(query: str, start: str, end: str | None) -> None:
    read = read_query(query, NOW)
    assert read.window == TimeRange(day(start), day(end) if end else None) and not read.parts


@pytest.mark.parametrize(
    "query",
    [
        "Was it colder in March than it was this year?",
        "Was the weather in March different from this year?",
        "Compare my runs in March with those of this year",
        "War es im März gegenüber diesem Jahr kälter?",
        "Gastei em março mais do que este ano?",
        "三月比今年冷吗",
        "三月と今年を比べて",
    ],
)
def test_a_time_within_another_can_be_compared_with_it(query: str) -> None:
    march = TimeRange(day("2026-03-01"), day("2026-04-01"))
    year = TimeRange(day("2026-01-01"), day("2027-01-01"))
    read = read_query(query, NOW)
    assert read.window == year and set(read.parts) == {march, year}


def test_between_two_times_lies_what_is_between() -> None:
    read = read_query("What changed between my trip in March and the one in September?", NOW)
    assert read.window == TimeRange(day("2026-03-01"), day("2026-10-01")) and not read.parts


def test_a_difference_between_two_times_compares_them() -> None:
    query = "What's the difference between my weight in March and in September?"
    assert len(read_query(query, NOW).parts) == 2


@pytest.mark.parametrize(
    "query",
    [
        "What did I do before 2020 and after 2022?",
        "What did I do until 2019 or since 2023?",
    ],
)
def test_open_times_leave_out_what_lies_between(query: str) -> None:
    read = read_query(query, NOW)
    assert read.window == TimeRange(None, None)
    assert read.parts == (TimeRange(None, day("2020-01-01")), TimeRange(day("2023-01-01"), None))


def test_open_times_that_leave_nothing_out_are_no_window() -> None:
    read = read_query("Did I run more since March than before June?", NOW)
    assert read.window is None and not read.parts


def test_a_negated_time_is_left_out_of_the_window() -> None:
    read = read_query("What did we buy in 2024, but not in June 2024?", NOW)
    assert read.window == TimeRange(day("2024-01-01"), day("2025-01-01"))
    assert read.excluded == (TimeRange(day("2024-06-01"), day("2024-07-01")),)


def test_two_years_ago_asks_for_that_year() -> None:
    read = read_query("What did we do two years ago?", NOW)
    assert read.window == TimeRange(day("2024-01-01"), day("2025-01-01"))
    assert read.grain is Grain.YEAR


@pytest.mark.parametrize(
    "query", ["When did Alice move?", "What year was Bob born?", "Do you know when she left?"]
)
def test_asking_for_a_time_sets_no_window(query: str) -> None:
    read = read_query(query, NOW)
    assert read.asks_when
    assert read.window is None


def test_a_clause_with_when_is_no_question_for_a_time() -> None:
    assert not read_query("What did Bob say when Alice left?", NOW).asks_when


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("What was the first film we saw?", "earliest"),
        ("What is the latest status?", "latest"),
        ("most recent meeting with Bob", "latest"),
        ("How long since we met?", "latest"),
        ("What is her last name?", None),
        ("What happened last week?", None),
        ("the first week of May", None),
    ],
)
def test_which_end_of_the_timeline(query: str, order: str | None) -> None:
    assert read_query(query, NOW).order == order


def test_an_event_is_left_to_be_looked_up() -> None:
    event = only_event("Where did she work before Alice joined Google?")
    assert event is not None
    assert (event.relation, event.text, event.offset) == ("before", "Alice joined Google", None)


def test_an_event_with_an_offset() -> None:
    event = only_event("What broke three days after the launch?")
    assert event is not None
    assert (event.relation, event.text) == ("after", "the launch")
    assert event.offset == timedelta(days=3)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("What broke after release 2.3.0?", "release 2.3.0"),
        ("What broke after the 2.3.0 release, and why?", "the 2.3.0 release"),
        ("What broke after v2.3?", "v2.3"),
        ("What was there before issue 42?", "issue 42"),
    ],
)
def test_a_number_tells_an_event(query: str, text: str) -> None:
    event = only_event(query)
    assert event is not None and event.text == text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("How long after the surgery could I run again?", "the surgery"),
        ("After the surgery did I go to physio?", "the surgery"),
        ("When I was in Rome what did I eat?", "I was in Rome"),
        ("What broke after we did it?", "we did it"),
        ("What changed after you told me what was wrong?", "you told me what was wrong"),
    ],
)
def test_an_event_ends_where_the_question_goes_on(query: str, text: str) -> None:
    event = only_event(query)
    assert event is not None and event.text == text


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("What have I done since I joined Airbus?", "I joined Airbus"),
        ("What changed since we left?", "we left"),
        ("What can I cook, since I am vegan?", None),
        ("Which driver is best, since we need one?", None),
    ],
)
def test_since_is_a_time_before_what_was(query: str, text: str | None) -> None:
    event = only_event(query)
    assert (event and event.text) == text


@pytest.mark.parametrize(
    ("query", "relation", "text", "days", "within"),
    [
        ("What broke the day after the launch?", "after", "the launch", 1, True),
        ("What broke in the week before the launch?", "before", "the launch", 7, True),
        ("What broke during the three days after the launch?", "after", "the launch", 3, True),
        ("What broke in the weeks after we launched?", "after", "we launched", 21, True),
        ("What broke a week after the launch?", "after", "the launch", 7, False),
        ("What broke on the day of the launch?", "during", "the launch", None, False),
    ],
)
def test_a_time_beside_an_event_is_counted_from_it(
    query: str, relation: str, text: str, days: int | None, within: bool
) -> None:
    event = only_event(query)
    assert event is not None
    assert (event.relation, event.text, event.within) == (relation, text, within)
    assert event.offset == (None if days is None else timedelta(days=days))


@pytest.mark.parametrize(
    ("query", "relations", "texts"),
    [
        (
            "What happened between the outage and the rollback?",
            ("since", "until"),
            ("the outage", "the rollback"),
        ),
        (
            "Between my surgery and the check-up, what did I write?",
            ("since", "until"),
            ("my surgery", "the check-up"),
        ),
        (
            "What broke between the outage and rollback?",
            ("since", "until"),
            ("the outage", "rollback"),
        ),
        (
            "What changed between release 2.3.0 and release 2.4.0?",
            ("since", "until"),
            ("release 2.3.0", "release 2.4.0"),
        ),
        (
            "What did we do between Alice joining Google and Bob leaving?",
            ("since", "until"),
            ("Alice joining Google", "Bob leaving"),
        ),
        (
            "What did we do after the outage and before the rollback?",
            ("after", "before"),
            ("the outage", "the rollback"),
        ),
    ],
)
def test_two_events_bound_a_time(
    query: str, relations: tuple[str, str], texts: tuple[str, str]
) -> None:
    events = read_query(query, NOW).events
    assert tuple(event.relation for event in events) == relations
    assert tuple(event.text for event in events) == texts


@pytest.mark.parametrize(
    ("query", "event", "start", "end"),
    [
        (
            "What happened between March 5 and the launch?",
            ("until", "the launch"),
            "2026-03-05",
            None,
        ),
        (
            "What happened between the launch and March 5?",
            ("since", "the launch"),
            None,
            "2026-03-06",
        ),
        ("What happened between the launch and now?", ("since", "the launch"), None, None),
        (
            "What happened in March after the launch?",
            ("after", "the launch"),
            "2026-03-01",
            "2026-04-01",
        ),
    ],
)
def test_an_event_and_a_date_bound_a_time(
    query: str, event: tuple[str, str], start: str | None, end: str | None
) -> None:
    read = read_query(query, NOW)
    assert [(each.relation, each.text) for each in read.events] == [event]
    window = TimeRange(day(start) if start else None, day(end) if end else None)
    assert read.window == (window if start or end else None)


@pytest.mark.parametrize(
    "query",
    [
        "What is between the house and the station?",
        "What was the difference between the old plan and the new one?",
        "What did we decide in the meeting between the board and the union?",
        "What was agreed between Alice and Bob?",
        "What did we choose between the red tiles and the blue tiles?",
        "Did the old or the new plan differ between the office and the warehouse?",
        "How far did we walk between the hotel and the beach?",
    ],
)
def test_what_lies_between_things_is_no_time(query: str) -> None:
    assert not read_query(query, NOW).events


@pytest.mark.parametrize(
    "query",
    [
        "Who looks after Alice?",
        "Was he named after Bob?",
        "After all, why?",
        "Who looks after the day shift?",
        "What did he do day after day?",
        "What comes after 5 minutes?",
    ],
)
def test_idioms_are_no_events(query: str) -> None:
    assert not read_query(query, NOW).events


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("before", (None, "2024-05-01")),
        ("until", (None, "2024-05-02")),
        ("after", ("2024-05-02", None)),
        ("since", ("2024-05-01", None)),
        ("during", ("2024-05-01", "2024-05-02")),
        ("around", ("2024-04-24", "2024-05-09")),
    ],
)
def test_a_known_event_bounds_the_window(relation: str, expected: tuple[str | None, ...]) -> None:
    anchor = EventAnchor("the launch", relation, None, (0, 0))  # type: ignore[arg-type]
    window = window_for_event(anchor, day("2024-05-01"), day("2024-05-02"), Grain.DAY)
    assert (window.start, window.end) == tuple(day(each) if each else None for each in expected)


def test_an_offset_moves_the_window() -> None:
    anchor = EventAnchor("the launch", "after", timedelta(days=3), (0, 0))
    window = window_for_event(anchor, day("2024-05-01"), day("2024-05-02"))
    assert window == TimeRange(day("2024-05-04"), day("2024-05-05"))


@pytest.mark.parametrize(
    ("relation", "expected"),
    [("before", ("2024-04-24", "2024-05-01")), ("after", ("2024-05-02", "2024-05-09"))],
)
def test_the_week_beside_an_event_is_all_of_it(relation: str, expected: tuple[str, str]) -> None:
    anchor = EventAnchor("the launch", relation, timedelta(days=7), (0, 0), within=True)  # type: ignore[arg-type]
    window = window_for_event(anchor, day("2024-05-01"), day("2024-05-02"))
    assert window == TimeRange(*map(day, expected))


def test_a_statement_is_dated_by_its_words() -> None:
    grounding = ground("Alice got married last June", NOW)
    assert grounding is not None
    assert (grounding.start, grounding.end) == (day("2026-06-01"), day("2026-07-01"))
    assert grounding.grain is Grain.MONTH


def test_a_statement_without_time_stays_undated() -> None:
    assert ground("Alice likes green tea", NOW) is None


TABLE = "| month | what |\n|---|---|\n| January | sow |\n| February 2025 | plant |"
LIST = "- January: sow\n- February 2025: plant"


@pytest.mark.parametrize(
    "text", [TABLE, f"Here is a plan:\n\n{TABLE}\n\nGood luck!", "| May 2024 | 3 |"]
)
def test_a_table_s_cells_date_nothing(text: str) -> None:
    assert ground(text, NOW) is None


@pytest.mark.parametrize(
    "text", [LIST, f"Here is a plan:\n\n{LIST}", "1. in May: sow\n2. in June: mow"]
)
def test_items_of_a_list_that_name_several_times_do_not_date_it(text: str) -> None:
    assert ground(text, NOW) is None


@pytest.mark.parametrize(
    "text",
    [
        f"Alice got married in June 2024.\n\n{TABLE}",
        f"{LIST}\n\nAlice got married in June 2024.",
        "- Alice got married in June 2024\n- and she moved",
        "- sow in June 2024\n- mow in June 2024",
    ],
)
def test_what_is_said_beside_them_or_by_all_of_them_does(text: str) -> None:
    found = ground(text, NOW)
    assert found is not None and found.start == datetime(2024, 6, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("What did Bob say on Monday about the schedule?", "2026-11-09"),
        ("Who missed the deadline in September?", "2026-09-01"),
        ("What was the plan in October?", "2026-10-01"),
        ("What did I tell you on Friday about the upcoming trip?", "2026-11-13"),
        ("The plan changed. Why did we drop it in May?", "2026-05-01"),
        ("Which tasks are due since Monday?", "2026-11-09"),
    ],
)
def test_asking_what_was_said_of_a_plan_looks_back(query: str, start: str) -> None:
    window = read_query(query, NOW).window
    assert window is not None and window.start == day(start)


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("What did we plan for December?", "2026-12-01"),
        ("Was the deadline moved to December?", "2026-12-01"),
        ("What did she say she will do in December?", "2026-12-01"),
        ("We missed the deadline. What is due in December?", "2026-12-01"),
    ],
)
def test_asking_what_was_planned_for_a_time_looks_ahead(query: str, start: str) -> None:
    window = read_query(query, NOW).window
    assert window is not None and window.start == day(start)


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("Am I free on December 3?", "2026-12-03"),
        ("Free on December 3?", "2026-12-03"),
        ("Am I away from 3 to 5 June?", "2027-06-03"),
        ("Do you know if I'm free on December 3?", "2026-12-03"),
        ("Is Ahmed free on Friday?", "2026-11-20"),
        ("Do I have anything on December 3?", "2026-12-03"),
        ("Have I got anything on December 3?", "2026-12-03"),
        ("What is planned for December 3?", "2026-12-03"),
        ("Have we agreed to meet for December 3?", "2026-12-03"),
        ("Is there a meeting on Friday?", "2026-11-20"),
        ("Who is coming on Saturday?", "2026-11-21"),
        ("Does Alice work on Friday?", "2026-11-20"),
        ("Can Alice come on Saturday?", "2026-11-21"),
        ("What do I need to do on Friday?", "2026-11-20"),
        ("What's in my calendar for Friday?", "2026-11-20"),
        ("What does my calendar say for Friday?", "2026-11-20"),
        ("What time does the shop open on December 24?", "2026-12-24"),
        ("What am I doing at Christmas?", "2026-12-25"),
        ("When do we meet in June?", "2027-06-01"),
        ("Bin ich am 3. Dezember frei?", "2026-12-03"),
        ("Habe ich am Freitag etwas vor?", "2026-11-20"),
        ("Wer kommt am Samstag?", "2026-11-21"),
        ("Suis-je libre le 3 décembre ?", "2026-12-03"),
        ("Suis-je occupé le 3 décembre ?", "2026-12-03"),
        ("¿Estoy libre el 3 de diciembre?", "2026-12-03"),
        ("Sono libero il 3 dicembre?", "2026-12-03"),
        ("Estou livre em 3 de dezembro?", "2026-12-03"),
        ("我12月3日有空吗", "2026-12-03"),
        ("12月3日は空いていますか", "2026-12-03"),
        ("Was habe ich am Freitag vor?", "2026-11-20"),
        ("¿Qué tengo el viernes?", "2026-11-20"),
        ("O que temos na sexta?", "2026-11-20"),
        ("金曜日に何がありますか？", "2026-11-20"),
    ],
)
def test_asking_in_the_present_for_plans_looks_ahead(query: str, start: str) -> None:
    window = read_query(query, NOW).window
    assert window is not None and window.start == day(start)


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("What did I do on December 3?", "2025-12-03"),
        ("Was I free on December 3?", "2025-12-03"),
        ("Does anyone know where I was on December 3?", "2025-12-03"),
        ("Can you tell me what Bob did in December?", "2025-12-01"),
        ("What is the name of the restaurant we went to on Friday?", "2026-11-13"),
        ("Has Alice been to Rome in December?", "2025-12-01"),
        ("Which books have I read in December?", "2025-12-01"),
        ("Is there a note about December 3?", "2025-12-03"),
        ("Do you have photos of the trip in December?", "2025-12-01"),
        ("What does Bob know of the trip in December?", "2025-12-01"),
        ("Why is Bob angry in December?", "2025-12-01"),
        ("What do we usually do in December?", "2025-12-01"),
        ("What does Alice like to eat in December?", "2025-12-01"),
        ("Do I have anything since December 3?", "2025-12-03"),
        ("What is the status as of December 3?", "2025-12-03"),
        ("It's Friday. What now?", "2026-11-13"),
        ("the standup at 10 am on Friday", "2026-11-13T10:00"),
        ("Hatte ich am 3. Dezember Zeit?", "2025-12-03"),
        ("Habe ich am Freitag Anna getroffen?", "2026-11-13"),
        ("Étais-je libre le 3 décembre ?", "2025-12-03"),
        ("Was hatte ich am Freitag vor?", "2026-11-13"),
        ("Bin ich am Freitag geflogen?", "2026-11-13"),
        ("¿Qué notas tengo del viernes?", "2026-11-13"),
        ("金曜日に何がありましたか？", "2026-11-13"),
    ],
)
def test_asking_what_was_or_is_known_looks_back(query: str, start: str) -> None:
    window = read_query(query, NOW).window
    assert window is not None and window.start == day(start)


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("What is my budget for October?", "2026-10-01"),
        ("What is my budget for December?", "2026-12-01"),
        ("Which shifts does Theron work in October?", "2026-10-01"),
        ("Is there a meeting on December 3 at 5pm?", "2026-12-03T17:00"),
    ],
)
def test_what_is_so_in_a_month_or_on_a_date_is_of_the_nearest(query: str, start: str) -> None:
    window = read_query(query, NOW).window
    assert window is not None and window.start == day(start)


@pytest.mark.parametrize(
    ("query", "start"),
    [
        ("Which notes are from March?", "2026-03-01"),
        ("What did we bill for August, and to whom?", "2026-08-01"),
        ("What about March?", "2026-03-01"),
    ],
)
def test_a_month_that_is_nobodys_name_needs_no_in(query: str, start: str) -> None:
    window = read_query(query, NOW).window
    assert window is not None and window.start == day(start)


@pytest.mark.parametrize(
    "query",
    [
        "Does she work for March of Dimes?",
        "Which play of August Strindberg did we see?",
        "Is this a letter from May or a present for April?",
    ],
)
def test_a_name_is_no_month(query: str) -> None:
    assert read_query(query, NOW).window is None


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("We will ship it in Q1", "2027-01-01"),
        ("Acme asked for it; planned for H1", "2027-01-01"),
        ("We shipped it in Q4", "2025-10-01"),
        ("The audit was done in Q2", "2025-04-01"),
    ],
)
def test_a_quarter_is_placed_by_the_verb_as_a_month_is(text: str, start: str) -> None:
    said = NOW if start >= "2027" else datetime(2026, 1, 10, tzinfo=UTC)
    grounding = ground(text, said)
    assert grounding is not None and grounding.start == day(start)


@pytest.mark.parametrize("query", ["What is planned for Q1?", "Do we have anything in Q1?"])
def test_a_quarter_that_is_asked_for_may_be_to_come(query: str) -> None:
    window = read_query(query, NOW).window
    assert window is not None and window.start == day("2027-01-01")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("The release is planned for June", "2027-06-01"),
        ("The release was moved to May", "2027-05-01"),
        ("The exam was pushed back to April", "2027-04-01"),
        ("We asked for June", None),
        ("The money was promised to May", None),
        ("We moved to June Lake", None),
    ],
)
def test_a_month_is_no_name_after_what_was_put_there(text: str, start: str | None) -> None:
    grounding = ground(text, NOW)
    assert (grounding and grounding.start) == (day(start) if start else None)


def test_a_plan_is_dated_ahead() -> None:
    grounding = ground("She will visit us in March", NOW)
    assert grounding is not None and grounding.start == day("2027-03-01")


@pytest.mark.parametrize(
    "text",
    [
        "The membership renews on 1 December",
        "My son starts school on 1 December",
        "It opens 1 December",
    ],
)
def test_a_timetable_in_the_present_looks_ahead(text: str) -> None:
    grounding = ground(text, NOW)
    assert grounding is not None and grounding.start == datetime(2026, 12, 1, tzinfo=UTC)


def test_years_ago_date_a_statement_to_the_year() -> None:
    grounding = ground("We moved here two years ago", NOW)
    assert grounding is not None
    assert (grounding.start, grounding.end) == (day("2024-01-01"), day("2025-01-01"))


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("My gym membership runs until March 2027", NOW),
        ("We need to renew the certificate by December 1", NOW),
        ("I worked at SAP until 2019", None),
    ],
)
def test_what_lasts_until_a_time_to_come_is_not_of_all_times_before(
    text: str, start: datetime | None
) -> None:
    grounding = ground(text, NOW)
    assert grounding is not None and grounding.end is not None and grounding.start == start


def test_a_repeated_event_keeps_its_rule() -> None:
    grounding = ground("Bob plays tennis every Monday", NOW)
    assert grounding is not None
    assert grounding.recurrence == "FREQ=WEEKLY;BYDAY=MO"
    assert grounding.start is None


def test_a_duration_is_kept_with_the_date() -> None:
    grounding = ground("Yesterday we talked for three hours", NOW)
    assert grounding is not None
    assert grounding.start == day("2026-11-14")
    assert grounding.duration == timedelta(hours=3)


@pytest.mark.parametrize("text", ["What runs at 02:30?", "Who joins the 5pm meeting?", "At noon"])
def test_a_time_of_day_alone_opens_no_window(text: str) -> None:
    assert read_query(text, NOW).window is None


def test_nor_does_it_narrow_a_day_told_elsewhere() -> None:
    window = read_query("Who came yesterday to the meeting at 5pm?", NOW).window
    assert window is not None and (window.start, window.end) == (
        day("2026-11-14"),
        day("2026-11-15"),
    )


@pytest.mark.parametrize("text", ["What runs after 02:30?", "Who works until 6pm?"])
def test_nor_does_an_hour_that_opens_a_range(text: str) -> None:
    assert read_query(text, NOW).window is None


@pytest.mark.parametrize("text", ["I work until 6 pm.", "Her hours are 9 AM to 6 PM."])
def test_an_hour_alone_dates_no_statement(text: str) -> None:
    assert ground(text, NOW) is None


def test_an_hour_of_a_day_does() -> None:
    grounding = ground("The server has been down since yesterday at 5pm.", NOW)
    assert grounding is not None
    assert grounding.start == datetime(2026, 11, 14, 17, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Study session every Tuesday (8:00 PM - 9:30 PM)", "FREQ=WEEKLY;BYDAY=TU"),
        ("The rent goes out on the 25th of each month.", "FREQ=MONTHLY"),
    ],
)
def test_one_of_many_is_no_date(text: str, rule: str) -> None:
    grounding = ground(text, NOW)
    assert grounding is not None
    assert (grounding.start, grounding.recurrence) == (None, rule)


@pytest.mark.parametrize(
    "text",
    [
        "I swim on Friday afternoons.",
        "I haven't seen her in six months.",
        "I can't launch later than the 20th of May.",
        "How's the new year treating you?",
        "You walked briskly for 2.8 kilometres.",
        "We take the last 10-15 minutes off.",
        "I need the number for the winter clothes we ordered.",
        "The afternoon sun filters through.",
        "The fair is on the weekend after.",
    ],
)
def test_what_dates_nothing(text: str) -> None:
    assert ground(text, NOW) is None
