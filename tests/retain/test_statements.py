"""What a statement is: whose, event or state, the same as another, or a value that changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.retain.statements import (
    contradicts,
    fact_type,
    is_event,
    nearly_same,
    normalise,
    slot,
    stance,
)


@pytest.mark.parametrize(
    ("text", "speaker", "expected"),
    [
        ("I fixed the bug.", "assistant", "experience"),
        ("The sky is blue.", "Assistant", "experience"),
        ("I moved to Berlin.", "Bob", "world"),
        ("I moved to Berlin.", "user", "world"),
        ("I searched the archive and found nothing.", None, "experience"),
        ("My last run failed.", None, "experience"),
        ("Alice works at Google.", None, "world"),
        ('Bob said "I am tired".', None, "world"),
    ],
)
def test_experience_is_what_the_agent_did_or_said(
    text: str, speaker: str | None, expected: str
) -> None:
    assert fact_type(text, speaker) == expected


def test_the_agents_names_can_be_given() -> None:
    assert fact_type("Done.", "Jarvis", agent_names=("jarvis",)) == "experience"


@pytest.mark.parametrize(
    "text",
    [
        "I went to the gym",
        "ordered pizza",
        "Bob was born in 1990",
        "We will meet tomorrow",
        "She has moved to Rome",
        "I've finished the report",
        "It was raining yesterday",
        "I was at the gym yesterday",
        "The build failed",
        "Alice is having a party",
        "Alice and Bob got married in June",
        "He is going to visit Paris",
        "My car was stolen",
        "Bob's team won the cup",
        "Out sick.",
        "Bob is out sick",
        "Still sick, fever 39",
        "Migraine again.",
        "WFH.",
        "Gym.",
        "Dentist appointment",
        "No incidents.",
        "BP 122/80.",
        "I'm sick again.",
        "I have a headache.",
        "Weight: 81.4 kg",
        "Lunch with Eva.",
        "Call with the landlord",
        "Rain all day.",
        "Worked from home.",
        "Felt dizzy.",
        "Swimming with the kids.",
    ],
)
def test_happenings_are_events(text: str) -> None:
    assert is_event(text)


@pytest.mark.parametrize(
    "text",
    [
        "Alice works at Google",
        "Bob likes tea",
        "Alice is married",
        "Bob's car is red",
        "He used to play chess",
        "Alice is allergic to nuts",
        "Bob has a dog",
        "She goes to the gym every Monday",
        "Alice always walked to school",
        "Alice is working at Google",
        "Bob needs a red pen",
        "The library is located in Oslo",
        "Paris is the capital of France",
        "She can swim",
        "Vegetarian.",
        "I smoke.",
        "Lives in Berlin.",
        "Works from home.",
        "Alice is working from home.",
        "Allergic to nuts.",
        "No allergies.",
        "Night owl.",
        "Cold brew.",
        "Sick of meetings.",
        "Yoga teacher.",
        "Gym every Monday.",
        "Married.",
        "Engaged to Bob.",
        "Worked at Google.",
        "My father is ill.",
        "I have insomnia.",
        "I have no work.",
        "I'm working from home.",
        "Swimming pool in the garden.",
        "Coffee with milk.",
        "Lunch with Eva every Friday",
        "Working with the Atlas team.",
        "Meeting room 5",
        "Temperature sensor in room 5",
        "Nothing with walnuts.",
    ],
)
def test_lasting_things_are_no_events(text: str) -> None:
    assert not is_event(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alice works at Google.", "alice works at google"),
        ("Bob doesn't like the tea!", "Bob does not like tea"),
        ("I’m  fine", "I am fine"),
        ("The version is 1.2.3", "version is 1.2.3."),
    ],
)
def test_equal_keys(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("It costs 1.5", "It costs 15"), ("He uses C++", "He uses C"), ("It is 5%", "It is 5")],
)
def test_different_keys(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alice works at Google", "Alice works for Google"),
        ("Alice works at Google", "Alice is working at Google."),
        ("Bob has two dogs", "Bob has 2 dogs"),
        ("Yesterday Alice went home", "Alice went home yesterday"),
        ("Bob really likes tea", "Bob likes tea"),
        ("The cats like milk", "Cats like milk"),
        ("My favourite colour is blue", "My favorite color is blue"),
        ("Alice isn't happy", "Alice is not happy"),
    ],
)
def test_the_same_in_other_words(one: str, other: str) -> None:
    assert nearly_same(one, other)
    assert nearly_same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alice works at Google", "Alice does not work at Google"),
        ("Alice beat Bob", "Bob beat Alice"),
        ("Alice works at Google", "Alice worked at Google"),
        ("Bob has 2 dogs", "Bob has 3 dogs"),
        ("Alice can swim", "Alice swims"),
        ("Alice might leave", "Alice will leave"),
        ("Alice works at Google", "Alice works at Apple"),
        ("Alice works at Google", "Bob works at Google"),
        ("Bob likes tea", "Bob likes green tea"),
        ("The meeting is in Room 101", "The meeting is in Room 102"),
        ("She moved to Berlin", "She moved from Berlin"),
        ("Alice eats meat", "Alice is eating meat"),
        ("Bob is here", "Is Bob here?"),
        ("Alice always wins", "Alice sometimes wins"),
        ("Alice studies the universe", "Alice studies the university"),
        ("Bob never smokes", "Bob smokes"),
        ("He flew from Rome to Oslo", "He flew from Oslo to Rome"),
        ("James called", "Jame called"),
        ("Bob wants to leave", "Bob left"),
        ("if Bob comes we win", "Bob comes we win"),
    ],
)
def test_what_changes_the_truth_is_not_the_same(one: str, other: str) -> None:
    assert not nearly_same(one, other)


CHANGES = [
    ("Alice works at Google", "Alice works for Apple"),
    ("Alice works at Google", "Alice joined Apple last week"),
    ("Alice works at Google", "Alice left Google and joined Meta"),
    ("Alice works at Google", "Alice has left Google to join Meta"),
    ("I work at Google", "I quit my job at Google and started at Globex last week"),
    ("Alice lives in Paris", "Alice left Paris and moved to Berlin"),
    ("Alice works at Google", "Alice is a software engineer at Meta"),
    ("Alice is working for Google since 2020", "Alice got a new job at Netflix"),
    ("I work at Google", "I started working at Apple"),
    ("alice works at Google", "alice works at Apple now"),
    ("Alice lives in Paris", "Alice moved to Berlin"),
    ("Alice lives in Paris", "Alice is now living in Berlin"),
    ("I live in Paris", "I've moved to Berlin"),
    ("I'm living in Paris", "I just moved back to Oslo"),
    ("Bob resides in Rome", "Bob relocated to Oslo last year"),
    ("Bob is based in Rome", "Bob lives in Oslo"),
    ("Bob is 34 years old", "Bob is 35 years old"),
    ("Bob is 34", "Bob turned 35"),
    ("I am 34", "I just turned 35!"),
    ("My favourite color is blue", "My favorite color is red"),
    ("My favourite colour is blue", "My favorite color is red"),
    ("The door code is 4471", "The door code was changed to 9902"),
    ("Bob's favorite food is sushi", "Pizza is Bob's favorite food"),
    ("Alice's favourite band is Queen", "Alice's favourite band is now Abba"),
    ("Alice's phone number is 555-1234", "Alice's phone is 555-9999"),
    ("My email is a@b.com", "I changed my email to c@d.com"),
    ("My email address is a@b.com", "My e-mail is now c@d.com"),
    ("Alice's manager is Bob", "Alice's boss is Carol"),
    ("My birthday is 5 May", "My birthday is 6 May"),
    ("Alice's job title is engineer", "Alice was promoted to director"),
    ("My salary is 50000", "My salary was raised to 60000"),
    ("The status of the ticket is open", "The status of the ticket is closed"),
    ("The deadline is Friday", "The deadline is Monday"),
    ("The deadline is Friday", "The deadline was moved from Friday to Monday"),
    ("The deadline for the report is Friday", "The deadline for the report was pushed back to Monday"),
    ("The password is hunter2", "The password was changed to swordfish"),
    ("The wifi password is hunter2", "The wifi password is now swordfish"),
    ("Bob is married to Carol", "Bob is dating Dana"),
    ("Bob is dating Carol", "Bob is single"),
    ("My girlfriend's name is Carol", "My girlfriend's name is Dana"),
    ("My wife is Carol", "My wife is Dana"),
    ("I use Vim as my editor", "I use Emacs as my editor"),
    ("I use Vim as my editor", "I switched from Vim to Zed as my editor"),
    ("The server is running 2.3.1", "The server was upgraded to 2.4.0"),
    ("We upgraded Postgres to 15", "We upgraded Postgres from 15 to 16"),
    ("The API is down", "The API is up"),
    ("The door is now open", "The door is closed"),
    ("Alice's address is 5 Main Street", "Alice's address is 7 High Street"),
    ("The project's budget is 10000", "The project's budget was increased to 20000"),
    ("My dog's name is Rex", "My dog's name is Fido"),
    ("Alice studies at Stanford University", "Alice transferred to Harvard University"),
    ("Our default branch is master", "Our default branch was renamed to main"),
    ("My manager is Mr. Ott.", "My manager is Mr. Klein."),
    ("I live in St. Gallen.", "I live in St. Louis now."),
    ("Standup is at 9:30.", "Standup moved to 10:00."),
    ("Standup is at 9:30.", "Standup is now at 10:00."),
    ("The release is on Friday.", "The release was moved to Monday."),
    ("The release is scheduled for Friday.", "The release has been pushed back to Monday."),
    ("The meeting with Bob is at 3pm.", "The meeting with Bob was moved to 5pm."),
    ("The wedding is on June 5.", "The wedding was postponed to July 3."),
    ("The release is on Friday.", "We moved the release to Monday."),
    ("The API runs on port 8080.", "The API runs on port 9090 now."),
    ("We use PostgreSQL 14.", "We upgraded PostgreSQL to 16."),
    ("We use Python 3.11.", "We're now on Python 3.12."),
    ("Dana's manager is Alice.", "Dana reports to Bob now."),
    ("Carol is the CTO.", "Dave is the new CTO."),
    ("The CTO is Carol.", "Dave is now the CTO."),
    ("I live in Berlin.", "We moved to Hamburg."),
    ("I live in Berlin.", "We've just relocated to Hamburg!"),
    ("I live in Berlin.", "My wife and I moved to Hamburg last month."),
    ("I live in Berlin.", "We moved from Berlin to Hamburg."),
    ("I live in Berlin.", "I am living in Hamburg now."),
    ("We live in Berlin.", "I moved to Hamburg."),
    ("I live in Berlin.", "I moved to Ulm."),
    ("I live in Berlin.", "I live in Österreich now."),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_a_new_value_contradicts_the_old(old: str, new: str) -> None:
    one, other = slot(old, "Kim"), slot(new, "Kim")
    assert one is not None
    assert other is not None
    assert contradicts(one, other)


TOGETHER = [
    ("Bob likes tea", "Bob likes coffee"),
    ("Bob loves jazz", "Bob loves rock"),
    ("Alice works at Google", "Bob works at Apple"),
    ("Alice works at Google", "Alice works for Google"),
    ("Alice works at Google", "Alice lives in Paris"),
    ("Alice works at Google", "Alice works hard"),
    ("Alice works at Google", "Alice joined Bob for lunch"),
    ("Alice works at Google", "Alice left the party and joined Bob"),
    ("Alice works at Google", "Alice left Google and joined a startup"),
    ("Alice works at Google", "Alice never left Google and joined Meta for a day"),
    ("Alice works at Google", "Alice plans to leave Google and join Meta"),
    ("Alice works at Google", "Does Alice work at Apple?"),
    ("Alice works at Google", "Alice wants to work at Apple"),
    ("Alice works at Google", "Alice might join Apple"),
    ("Alice works at Google", "Alice used to work at Apple"),
    ("Alice works at Google", "Alice worked at Apple before"),
    ("Alice works at Google", "Bob thinks Alice works at Apple"),
    ("Alice works at Google", "If Alice works at Apple, she is rich"),
    ("Alice works at Google", "Alice does not work at Apple"),
    ("Alice works at Google", "Alice doesn't work at Apple"),
    ("Alice works at Google", "She works at Apple"),
    ("Alice works at Google", "Alice said she works at Apple"),
    ("Alice works at Google", "Alice's brother works at Apple"),
    ("Alice works at Google", "Alice will join Apple"),
    ("Alice works at Google", "Alice applied to Apple"),
    ("Alice works at Google", "Alice works at night"),
    ("Alice works at Google", "Alice works for fun"),
    ("Alice works at Google", "Alice visited Apple"),
    ("Alice lives in Paris", "Alice visited Berlin"),
    ("Alice lives in Paris", "Alice went to Berlin"),
    ("Alice lives in Paris", "Alice lives in Paris, France"),
    ("Alice lives in Paris", "Alice was born in Berlin"),
    ("Alice lives in Paris", "Alice plans to move to Berlin"),
    ("Alice lives in Paris", "Alice dreams of living in Berlin"),
    ("Alice lives in Paris", "Alice moved to the next item"),
    ("Alice lives in Paris", "Alice moved the meeting to Berlin"),
    ("Alice lives in Paris", "Alice lived in Berlin"),
    ("Alice lives in Paris", "Everyone lives in Berlin"),
    ("Alice lives in Paris", "Alice lives in fear"),
    ("Alice lives in Paris", "Alice is travelling to Berlin"),
    ("Bob is 34 years old", "Alice is 35 years old"),
    ("Bob is 34 years old", "Bob is tall"),
    ("Bob is 34 years old", "Bob is 5 minutes late"),
    ("Bob is 34 years old", "Bob turned 35 pages"),
    ("Bob is 34 years old", "The wall is 35 years old"),
    ("My favourite color is blue", "My favourite food is pizza"),
    ("My favourite color is blue", "I like red"),
    ("My favourite color is blue", "My car is red"),
    ("My favourite color is blue", "Is my favourite color red?"),
    ("My favourite color is blue", "My favourite color is not red"),
    ("My favourite color is blue", "Alice's favourite color is red"),
    ("Alice's manager is Bob", "Alice's friend is Carol"),
    ("Alice's manager is Bob", "Alice's manager is tall and Bob"),
    ("Alice's manager is Bob", "Dana's manager is Carol"),
    ("Alice's phone number is 555-1234", "Alice's email is a@b.com"),
    ("Alice's phone number is 555-1234", "Alice called 555-9999"),
    ("The deadline is Friday", "The party is on Monday"),
    ("The deadline for the report is Friday", "The deadline for the slides is Monday"),
    ("The deadline is Friday", "The deadline might be Monday"),
    ("The deadline is Friday", "The deadline is not Monday"),
    ("The password is hunter2", "The username is bob"),
    ("The password of the router is hunter2", "The password of the server is swordfish"),
    ("Bob is married to Carol", "Bob is talking to Dana"),
    ("Bob is married to Carol", "Bob met Dana"),
    ("Bob is married to Carol", "Carol is married to Bob"),
    ("I use Vim as my editor", "I use Firefox as my browser"),
    ("I use Vim as my editor", "I use Emacs"),
    ("The server is running 2.3.1", "The client is running 2.4.0"),
    ("The server is running 2.3.1", "The server is running slowly"),
    ("The API is down", "The website is up"),
    ("The API is down", "The API is fast"),
    ("Alice speaks French", "Alice speaks German"),
    ("Alice has a cat", "Alice has a dog"),
    ("Alice owns a Tesla", "Alice owns a Volvo"),
    ("Alice plays tennis", "Alice plays chess"),
    ("My brother is Tom", "My brother is Sam"),
    ("Alice is happy", "Alice is tired"),
    ("Alice is in Paris", "Alice is in Berlin"),
    ("Bob bought a car", "Bob bought a bike"),
    ("Alice's phone number is 555-1234", "Alice's phone is broken"),
    ("My wife is Carol", "My wife's schedule is full"),
    ("Alice's manager is Bob", "Alice's manager is nice"),
    ("The deadline is Friday", "The deadline is tight"),
    ("Our budget is 5000", "Alice has updated our budget to include travel"),
    ("Alice uses Slack for her team", "Alice uses Zoom for her team"),
    ("My manager is Mr. Ott.", "My manager is Ott."),
    ("The meeting is at 3pm.", "The meeting is at 5pm."),
    ("The meeting with Bob is at 3pm.", "The meeting with Ann was moved to 5pm."),
    ("The release is on Friday.", "The release is at 10:00 now."),
    ("The release is on Friday.", "The release might be moved to Monday."),
    ("The release is on Friday.", "The party was moved to Monday."),
    ("Standup is at 9:30.", "Standup moved to Zoom."),
    ("The release is on Friday.", "We moved the party to Monday."),
    ("The release is on Friday.", "We almost moved the release to Monday."),
    ("The API runs on port 8080.", "The worker runs on port 9090."),
    ("We use PostgreSQL 14.", "We use Redis 7."),
    ("We use Python 3.11.", "We use Python 3 times a week."),
    ("Dana's manager is Alice.", "Dana reports to the board."),
    ("Carol is the CTO.", "Dave is the new CFO."),
    ("Carol is the CTO of Acme.", "Dave is the CTO of Globex."),
    ("I live in Berlin.", "We moved to the next topic."),
    ("I live in Berlin.", "We moved to Python 3.12."),
    ("I live in Berlin.", "My sister moved to Hamburg."),
    ("I live in Berlin.", "We moved the meeting to Hamburg."),
    ("I live in Berlin.", "We're moving to Hamburg in June."),
    ("I live in Berlin.", "We almost moved to Hamburg."),
    ("I live in Berlin.", "We moved to Slack."),
    ("I live in Berlin.", "We moved to Kubernetes."),
    ("I live in Berlin.", "We moved to Figma."),
    ("I live in Berlin.", "We are based in Hamburg."),
    ("I live in Berlin.", "We moved to Paris for the weekend."),
    ("I live in Berlin.", "I moved to Slack."),
    ("I live in Berlin.", "I moved to Marketing."),
    ("I live in Berlin.", "I moved to Room 5."),
    ("I live in Berlin.", "I moved to Python 3.12."),
    ("Alice lives in Paris", "Alice moved to Amazon"),
]


@pytest.mark.parametrize(("old", "new"), TOGETHER)
def test_what_can_hold_together_does_not_contradict(old: str, new: str) -> None:
    one, other = slot(old, "Kim"), slot(new, "Kim")
    assert one is None or other is None or not contradicts(one, other)


def test_the_pairs_are_many_enough() -> None:
    assert len(CHANGES) >= 40
    assert len(TOGETHER) >= 60


def test_first_person_is_the_speaker() -> None:
    found = slot("I moved to Berlin", "Bob")
    assert found is not None
    assert (found.subject, found.relation, found.value) == ("bob", "home", "berlin")


def test_the_speakers_statement_and_one_about_them_meet() -> None:
    one, other = slot("I live in Paris", "Bob"), slot("Bob moved to Berlin")
    assert one is not None
    assert other is not None
    assert contradicts(one, other)


@pytest.mark.parametrize(
    "text",
    [
        "Alice works at Google and lives in Paris with two cats.",
        "Alice works at Google. Her brother plays chess in a club in Oslo.",
        "Alice works at Google, where she met Bob, who runs the memory team and likes tea a lot.",
    ],
)
def test_a_text_that_says_more_is_not_one_value(text: str) -> None:
    assert slot(text) is None


def test_an_interjection_does_not_hide_the_value() -> None:
    found = slot("Hey Alice! Big news. I moved to Berlin last week.", "Bob")
    assert found is not None
    assert found.value == "berlin"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("Python is great for data science", "I think Python is great for data science", "strong_support"),
        ("Remote work is good", "Remote work is great", "strong_support"),
        ("I believe remote work is productive", "Remote work is productive.", "strong_support"),
        ("Cats are nice pets", "Cats are wonderful", "weak_support"),
        ("Python is great for data science", "Python is terrible for data science", "strong_contradiction"),
        ("Remote work is productive", "Remote work is not productive", "strong_contradiction"),
        ("Python is better than Java", "Java is better than Python", "strong_contradiction"),
        ("I like remote work", "I dislike remote work", "strong_contradiction"),
        ("Rust is fast", "Rust is slow when compiling", "contradiction"),
        ("Remote work is good", "Tea is good", "neutral"),
        ("Python is great for data science", "Alice lives in Paris", "neutral"),
        ("Rust is fast", "Rust has a borrow checker", "neutral"),
    ],
)  # fmt: skip
def test_stance(old: str, new: str, expected: str) -> None:
    assert stance(old, new) == expected


WORDS = st.sampled_from(
    [
        "Alice",
        "Bob",
        "works",
        "at",
        "for",
        "Google",
        "Apple",
        "not",
        "never",
        "is",
        "was",
        "the",
        "a",
        "2",
        "two",
        "dogs",
        "likes",
        "tea",
        "better",
        "than",
        "Paris",
        "lives",
        "in",
        "My",
        "favourite",
        "color",
        "blue",
        "'",
        ".",
        ",",
        "?",
        "don't",
        "because",
        "I",
        "moved",
        "to",
    ]
)
TEXTS = st.lists(WORDS, max_size=9).map(" ".join) | st.text(max_size=30)


@given(TEXTS, TEXTS)
def test_nearly_same_is_symmetric(one: str, other: str) -> None:
    assert nearly_same(one, other) == nearly_same(other, one)


@given(TEXTS)
def test_a_statement_is_the_same_as_itself_and_never_against_itself(text: str) -> None:
    assert nearly_same(text, text)
    assert stance(text, text) == "strong_support"
    found = slot(text, "Kim")
    assert found is None or not contradicts(found, found)


@given(TEXTS)
def test_the_key_is_stable(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
