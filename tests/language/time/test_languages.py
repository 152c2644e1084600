"""Common forms in other languages, asked on 15 November 2026."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.language.time import read_query, read_times

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
LAST_SUMMER = ("2026-06-01", "2026-09-01")
LAST_WEEK = ("2026-11-02", "2026-11-09")
TWO_WEEKS_AGO = ("2026-11-01", "2026-11-02")
SPRING_2024 = ("2024-03-01", "2024-06-01")
FIFTH_OF_MARCH = ("2024-03-05", "2024-03-06")
YEARS = ("2020-01-01", "2023-01-01")
FEW_WEEKS = ("2026-10-25", "2026-11-16")
FEW_MONTHS = ("2026-08-15", "2026-11-16")
WEEK_BEFORE_LAST = ("2026-10-26", "2026-11-02")
WEEK_AFTER_NEXT = ("2026-11-23", "2026-11-30")
YEAR_BEFORE_LAST = ("2024-01-01", "2025-01-01")
NINETIES = ("1990-01-01", "2000-01-01")
LAST_MONTH = ("2026-10-01", "2026-11-01")
JUNE_2024 = ("2024-06-01", "2024-07-01")
LAST_YEAR = ("2025-01-01", "2026-01-01")
OCTOBER_LAST_YEAR = ("2025-10-01", "2025-11-01")


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("letzten Sommer", LAST_SUMMER),
        ("letzte Woche", LAST_WEEK),
        ("vor zwei Wochen", TWO_WEEKS_AGO),
        ("zwischen März und Mai 2024", SPRING_2024),
        ("am 5. März 2024", FIFTH_OF_MARCH),
        ("von 2020 bis 2022", YEARS),
        ("in den letzten Wochen", FEW_WEEKS),
        ("in den vergangenen Monaten", FEW_MONTHS),
        ("vorletzte Woche", WEEK_BEFORE_LAST),
        ("im vorletzten Jahr", YEAR_BEFORE_LAST),
        ("in den 90er Jahren", NINETIES),
        ("in den 1990er-Jahren", NINETIES),
        ("l'été dernier", LAST_SUMMER),
        ("dans les années 90", NINETIES),
        ("dans les années 1990", NINETIES),
        ("en los años 90", NINETIES),
        ("negli anni 90", NINETIES),
        ("nos anos 90", NINETIES),
        ("上上周", WEEK_BEFORE_LAST),
        ("上上个星期", WEEK_BEFORE_LAST),
        ("上上个月", ("2026-09-01", "2026-10-01")),
        ("下下周", WEEK_AFTER_NEXT),
        ("大前天", ("2026-11-12", "2026-11-13")),
        ("再来週", WEEK_AFTER_NEXT),
        ("la semaine dernière", LAST_WEEK),
        ("il y a deux semaines", TWO_WEEKS_AGO),
        ("entre mars et mai 2024", SPRING_2024),
        ("le 5 mars 2024", FIFTH_OF_MARCH),
        ("de 2020 à 2022", YEARS),
        ("ces dernières semaines", FEW_WEEKS),
        ("ces derniers mois", FEW_MONTHS),
        ("les trois derniers mois", FEW_MONTHS),
        ("le mois dernier", LAST_MONTH),
        ("qui est venu l'an dernier ?", LAST_YEAR),
        ("en octobre de l'année dernière", OCTOBER_LAST_YEAR),
        ("à la fin de l'année dernière", ("2025-09-01", "2026-01-01")),
        ("in ottobre dell'anno scorso", OCTOBER_LAST_YEAR),
        ("el verano pasado", LAST_SUMMER),
        ("la semana pasada", LAST_WEEK),
        ("hace dos semanas", TWO_WEEKS_AGO),
        ("entre marzo y mayo de 2024", SPRING_2024),
        ("el 5 de marzo de 2024", FIFTH_OF_MARCH),
        ("de 2020 a 2022", YEARS),
        ("en las últimas semanas", FEW_WEEKS),
        ("los meses pasados", FEW_MONTHS),
        ("l'estate scorsa", LAST_SUMMER),
        ("la settimana scorsa", LAST_WEEK),
        ("due settimane fa", TWO_WEEKS_AGO),
        ("tra marzo e maggio 2024", SPRING_2024),
        ("il 5 marzo 2024", FIFTH_OF_MARCH),
        ("dal 2020 al 2022", YEARS),
        ("nelle ultime settimane", FEW_WEEKS),
        ("i mesi scorsi", FEW_MONTHS),
        ("no verão passado", LAST_SUMMER),
        ("na semana passada", LAST_WEEK),
        ("há duas semanas", TWO_WEEKS_AGO),
        ("entre março e maio de 2024", SPRING_2024),
        ("5 de março de 2024", FIFTH_OF_MARCH),
        ("nas últimas semanas", FEW_WEEKS),
        ("nos últimos meses", FEW_MONTHS),
        ("上周", LAST_WEEK),
        ("两周前", TWO_WEEKS_AGO),
        ("2024年3月到5月", SPRING_2024),
        ("2024年3月5日", FIFTH_OF_MARCH),
        ("从2020年到2022年", YEARS),
        ("先週", LAST_WEEK),
        ("二週間前", TWO_WEEKS_AGO),
        ("2024年3月から5月まで", SPRING_2024),
        ("2020年から2022年まで", YEARS),
        ("2021年以降", ("2021-01-01", None)),
        ("im Juni vor zwei Jahren", JUNE_2024),
        ("il y a deux ans, en juin", JUNE_2024),
        ("hace dos años en junio", JUNE_2024),
        ("due anni fa a giugno", JUNE_2024),
        ("em junho há dois anos", JUNE_2024),
        ("两年前的六月", JUNE_2024),
        ("三年前の夏はどこにいましたか", ("2023-06-01", "2023-09-01")),
        ("seit 2021", ("2021-01-01", None)),
        ("depuis 2021", ("2021-01-01", None)),
    ],
)
def test_common_forms(phrase: str, expected: tuple[str, str | None]) -> None:
    found = [each.range for each in read_times(phrase, NOW) if each.range]
    assert found
    got = tuple(
        side.date().isoformat() if side else None for side in (found[0].start, found[0].end)
    )
    assert got == expected


EIGHTH = ("2026-11-08", "2026-11-09")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Was war am 8.11.?", EIGHTH),
        ("Was habe ich am 8.11. gemacht?", EIGHTH),
        ("Was habe ich am 8.11 gemacht?", EIGHTH),
        ("Wir trafen uns am 8. 11. mit Bob", EIGHTH),
        ("Wo waren wir am Sonntag, dem 8.11.?", EIGHTH),
        ("Was habe ich am 08.11.2026 gemacht?", EIGHTH),
        ("Was habe ich am 8.11.26 gemacht?", EIGHTH),
        ("Wo war ich vom 3.4. bis 5.4.?", ("2026-04-03", "2026-04-06")),
        ("Wo war ich vom 3. bis zum 5.4.?", ("2026-04-03", "2026-04-06")),
        ("Wo war ich zwischen dem 3.4. und dem 5.4.?", ("2026-04-03", "2026-04-06")),
        ("Wo war ich seit dem 3.4. gewesen?", ("2026-04-03", None)),
        ("Bis zum 5.4. war ich krank", (None, "2026-04-06")),
    ],
)
def test_day_and_month_are_ordinals_in_german(
    text: str, expected: tuple[str | None, str | None]
) -> None:
    window = read_query(text, NOW).window
    assert window is not None
    assert expected == tuple(
        side.date().isoformat() if side else None for side in (window.start, window.end)
    )


def test_a_german_date_takes_an_hour() -> None:
    window = read_query("Was habe ich am 8.11. um 14 Uhr gemacht?", NOW).window
    assert window is not None and window.start == datetime(2026, 11, 8, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Die Version 8.11. war gut",
        "Das kostet mich bis 8.11 Euro",
        "Wir haben das Kapitel 3.4. gelesen",
        "Das war am 30.2. nicht",
        "I ran 3.4. Then we went home",
    ],
)
def test_figures_with_dots_that_are_no_date(text: str) -> None:
    assert read_query(text, NOW).window is None


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("Was haben wir an Heiligabend gemacht?", "2025-12-24"),
        ("Silvester 2024", "2024-12-31"),
        ("Was war an Neujahr?", "2026-01-01"),
        ("Wo waren wir an Ostern?", "2026-04-05"),
        ("Wo waren wir am Ostermontag?", "2026-04-06"),
        ("Wo waren wir am ersten Weihnachtstag?", "2025-12-25"),
        ("Was war am Tag der Deutschen Einheit?", "2026-10-03"),
        ("Wo waren wir an Christi Himmelfahrt?", "2026-05-14"),
        ("Was war am Ostersonntag?", "2026-04-05"),
        ("¿Qué cenamos en Nochebuena?", "2025-12-24"),
        ("Cosa ho fatto a Capodanno?", "2025-12-31"),
        ("Dove eravamo a Ferragosto?", "2026-08-15"),
        ("除夕我们吃了什么", "2026-02-16"),
        ("去年中秋节我们在哪里", "2025-10-06"),
        ("2024年端午节", "2024-06-10"),
        ("2033年春节", "2033-01-31"),
        ("1997年中秋节", "1997-09-16"),
        ("2060年除夕", "2060-02-01"),
        ("Where were we at the mid-autumn festival in 2023?", "2023-09-29"),
    ],
)
def test_feasts_by_their_names(text: str, start: str) -> None:
    window = read_query(text, NOW).window
    assert window is not None and window.start is not None
    assert window.start.date().isoformat() == start


@pytest.mark.parametrize(
    "question",
    [
        "Où étais-je la nuit dernière ?",
        "¿Dónde estuve la noche pasada?",
        "Dove ero la notte scorsa?",
        "Onde estive na noite passada?",
    ],
)
def test_last_night_is_read_where_last_comes_after(question: str) -> None:
    window = read_query(question, NOW).window
    assert window is not None and window.start == datetime(2026, 11, 14, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["三日前の朝に何をしましたか", "What did I do three days ago in the morning?"]
)
def test_a_part_of_a_day_is_that_of_so_many_days_ago(text: str) -> None:
    window = read_query(text, NOW).window
    assert window is not None and window.start == datetime(2026, 11, 12, 6, tzinfo=UTC)


def test_a_day_comes_first_where_people_write_it_so() -> None:
    found = read_times("05/03/2024", NOW, languages=("fr",))[0].range
    assert found is not None and found.start == datetime(2024, 3, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "question",
    ["Wann kam Anna?", "Quand est arrivée Anne ?", "¿Cuándo llegó Ana?", "你什么时候来的？"],
)
def test_asking_when(question: str) -> None:
    assert read_query(question, NOW).asks_when


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("Was habe ich am 3. Mai gemacht?", "2026-05-03"),
        ("Was war am 3. Mai?", "2026-05-03"),
        ("Was war in den 90er Jahren?", "1990-01-01"),
        ("Was war in den letzten drei Monaten?", "2026-08-15"),
    ],
)
def test_german_that_begins_like_english_is_read_in_german(question: str, start: str) -> None:
    window = read_query(question, NOW).window
    assert window is not None and window.start is not None
    assert window.start.date().isoformat() == start
