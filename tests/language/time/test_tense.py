"""Whether a statement looks back or ahead. It is told on Sunday 15 November 2026, noon UTC."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.language.time import ground

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def told(text: str) -> str | None:
    """The first day of the time that dates a statement."""
    found = ground(text, NOW)
    return found.start.date().isoformat() if found and found.start else None


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("Will do! Oh, and I adopted a greyhound in March.", "2026-03-01"),
        ("I'll call you. We met on Friday.", "2026-11-13"),
        ("She took it! We get the keys on April 1st.", "2027-04-01"),
        ("The landlord doubled the rent and my boss is giving up in January.", "2027-01-01"),
        ("I'm tired because I worked on Thursday.", "2026-11-12"),
        ("I'll tell you about the trip we took in March.", "2026-03-01"),
        ("It's great, on Friday I met Bob.", "2026-11-13"),
        ("I checked, and a flight in mid-December is cheap.", "2026-12-11"),
        ("Alice bought a house in March and moves in on 1 December.", "2026-03-01"),
    ],
)
def test_each_clause_looks_where_its_own_verb_looks(text: str, start: str) -> None:
    assert told(text) == start


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("I have an appointment on Thursday.", "2026-11-19"),
        ("I've got an appointment on Thursday.", "2026-11-19"),
        ("I'm switching the domain on the 12th.", "2026-12-12"),
        ("In June I'm at a conference.", "2027-06-01"),
        ("Alice gets married in June.", "2027-06-01"),
        ("My parents arrive on Friday.", "2026-11-20"),
        ("The exam is on 12 December.", "2026-12-12"),
        ("Are you free in January?", "2027-01-01"),
        ("Moving to Berlin in March!", "2027-03-01"),
        ("Please call Bob on Friday.", "2026-11-20"),
        ("Put it in the diary for 3 May.", "2027-05-03"),
        ("My flight's on Friday.", "2026-11-20"),
        ("I'm staying with her and leave on Friday.", "2026-11-20"),
    ],
)
def test_the_present_with_a_date_is_a_plan(text: str, start: str) -> None:
    assert told(text) == start


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("I've been to Rome in May.", "2026-05-01"),
        ("I should have called on Monday.", "2026-11-09"),
        ("I couldn't come on Monday.", "2026-11-09"),
        ("She'd been to Lyon in September.", "2026-09-01"),
        ("I read that book in March.", "2026-03-01"),
        ("Did you go in May?", "2026-05-01"),
        ("What made you leave in March?", "2026-03-01"),
        ("Theo's wedding in May was lovely.", "2026-05-01"),
        ("I've lived here since March.", "2026-03-01"),
        ("Since moving to Rome in March, I sleep better.", "2026-03-01"),
        ("It was due in March.", "2026-03-01"),
        ("Do you remember the trip in May?", "2026-05-01"),
        ("The strike in March hit us hard.", "2026-03-01"),
    ],
)
def test_the_perfect_and_the_missed_are_past(text: str, start: str) -> None:
    assert told(text) == start


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("We booked the orchard for June 15th.", "2027-06-15"),
        ("I've booked a table for Friday.", "2026-11-20"),
        ("The concert was moved to December 3rd.", "2026-12-03"),
        ("We agreed to meet on Thursday.", "2026-11-19"),
        ("She asked me to come on Friday.", "2026-11-20"),
    ],
)
def test_what_was_settled_for_a_time_lies_ahead(text: str, start: str) -> None:
    assert told(text) == start


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("We use Postgres as of June 2.", "2026-06-02"),
        ("As of November 1, the price is 12 euros.", "2026-11-01"),
        ("As of January 15, support ends.", "2027-01-15"),
    ],
)
def test_what_holds_as_of_a_time_began_at_the_nearest(text: str, start: str) -> None:
    assert told(text) == start


@pytest.mark.parametrize(
    ("text", "start"),
    [("Only one in January.", "2027-01-01"), ("In Lyon, in September.", "2026-09-01")],
)
def test_without_a_verb_a_month_is_the_nearest(text: str, start: str) -> None:
    assert told(text) == start


@pytest.mark.parametrize("text", ["Dinner with Ana on Friday.", "I booked it on Friday."])
def test_a_weekday_that_may_be_either_gives_no_date(text: str) -> None:
    assert told(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "We usually go to Spain in August.",
        "I love Rome in May.",
        "He used to visit in June.",
        "I was born in May.",
    ],
)
def test_a_habit_has_no_date(text: str) -> None:
    assert told(text) is None


def test_a_year_that_is_said_needs_no_tense() -> None:
    assert told("Dinner with Ana in May 2024.") == "2024-05-01"


def test_another_language_looks_by_its_own_cues_sentence_by_sentence() -> None:
    assert told("Ich werde dich anrufen. Wir haben uns im März getroffen.") == "2026-03-01"
    assert told("Wir waren dort. Wir werden im März fliegen.") == "2027-03-01"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("I joined the course on November 29th (Sunday).", "2026-11-29"),
        ("The course was on Sunday, November 29th, at 7:00 AM.", "2026-11-29"),
    ],
)
def test_a_weekday_with_its_date_needs_no_tense(text: str, start: str) -> None:
    assert told(text) == start


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("Am 3. Dezember habe ich einen Termin beim Zahnarzt.", "2026-12-03"),
        ("Im Januar ziehen wir um.", "2027-01-01"),
        ("Oma kommt am Samstag.", "2026-11-21"),
        ("Le 3 décembre j'ai un rendez-vous.", "2026-12-03"),
        ("Nous partons en janvier.", "2027-01-01"),
        ("El 3 de diciembre tengo cita con el médico.", "2026-12-03"),
        ("La boda es el 15 de enero.", "2027-01-15"),
        ("Il 3 dicembre ho un appuntamento.", "2026-12-03"),
        ("O casamento é em 15 de janeiro.", "2027-01-15"),
        ("我12月3日要去看牙医。", "2026-12-03"),
        ("12月3日に歯医者に行きます。", "2026-12-03"),
    ],
)
def test_what_tells_of_no_past_in_another_language_is_of_the_nearest_date(
    text: str, start: str
) -> None:
    assert told(text) == start


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("Wir haben am 3. Dezember geheiratet.", "2025-12-03"),
        ("Wir sind im Februar umgezogen.", "2026-02-01"),
        ("Im Januar besuchte ich Anna. Ich traf sie im Dezember.", "2026-01-01"),
        ("Am Freitag habe ich Anna getroffen.", "2026-11-13"),
        ("En décembre nous sommes allés à Rome.", "2025-12-01"),
        ("J'étais à Rome en décembre.", "2025-12-01"),
        ("En diciembre fuimos a Roma.", "2025-12-01"),
        ("El curso empezó en enero.", "2026-01-01"),
        ("A dicembre siamo andati a Roma.", "2025-12-01"),
        ("Comprei o carro em janeiro.", "2026-01-01"),
        ("12月我去了北京。", "2025-12-01"),
        ("12月に京都へ行った。", "2025-12-01"),
    ],
)
def test_a_past_is_seen_in_other_languages(text: str, start: str) -> None:
    assert told(text) == start
