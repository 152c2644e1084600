"""Names are found whatever their case, and joined only where they name one thing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.language.entities import EntityResolver, KnownEntity, NameMatcher, find_entities


def names(text: str, **options: object) -> list[str]:
    return [mention.text for mention in find_entities(text, **options)]  # type: ignore[arg-type]


def kinds(text: str) -> dict[str, str]:
    return {mention.text: mention.kind for mention in find_entities(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Alice joined Google last spring because she loves research.", ["Alice", "Google"]),
        ("yesterday bob told alice about it", ["bob", "alice"]),
        ("i met mark said the note", ["mark"]),
        ("please mark the page and will the rest", []),
        ("A. Chen emailed Alice Chen's boss.", ["A. Chen", "Alice Chen"]),
        ("Vincent van Gogh lived in Arles.", ["Vincent van Gogh", "Arles"]),
        ("She studies at the University of California.", ["University of California"]),
        ("Dr. Smith works for Acme Corp in New York.", ["Smith", "Acme Corp", "New York"]),
        ("We use PostgreSQL and HNSW on k8s.", ["PostgreSQL", "HNSW", "k8s"]),
        ("Call getUserName() or set max_tokens.", ["getUserName()", "max_tokens"]),
        ("Look at src/recollect/find.py please.", ["src/recollect/find.py"]),
        ("It fails with ECONNREFUSED since v1.2.3.", ["ECONNREFUSED", "v1.2.3"]),
        ("See https://example.org/a?b=1, and JIRA-123.", ["https://example.org/a?b=1", "JIRA-123"]),
        ("Meet me in Room 101.", ["Room 101"]),
        ("Room 102 is closed.", ["Room 102"]),
        ("I bought an iPhone 15 and an apple.", ["iPhone 15"]),
        ("Alice's Google account", ["Alice", "Google"]),
        ("bob smith-like names: bob ziegler called", ["bob", "bob ziegler"]),
        ("World War II ended.", ["World War II"]),
        ("She moved to the U.S. last year.", ["U.S."]),
        ("Tomás leads the Meridian group.", ["Tomás", "Meridian"]),
        (
            "The Meridian group moved in with Priya's Lantern project.",
            ["Meridian", "Priya", "Lantern"],
        ),
        ("Tomás leads the Meridian Group.", ["Tomás", "Meridian Group"]),
        ("Our cat is called Pepper, and my friend Mats is here.", ["Pepper", "Mats"]),
        ("Lotte's best friend is Mats.", ["Lotte", "Mats"]),
        ("Quand Camille arrive-t-elle ?", ["Camille"]),
        ("Wenn Sabine am Montag anruft, ist Frau Freitag um 9 Uhr da.", ["Sabine", "Frau Freitag"]),
        ("Los Angeles and El Paso. Le Mans is far.", ["Los Angeles", "El Paso", "Le Mans"]),
        ("アリスはグーグルで働いています。", ["アリス", "グーグル"]),
        ("私はGoogleで働いています。", ["Google"]),
    ],
)
def test_names_are_found(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The weather was nice.",
        "Yesterday it rained. However, we went out.",
        "On Monday in May I will start.",
        "Will you come? May I ask why?",
        "Hello! Thanks for the help. Sorry about that.",
        "She said he likes it. They agree. I'm fine.",
        "Our Monday team met the other group. Training Program",
        "Ich bin da. Wir auch. Wer noch?",
        "Je suis là. Nous aussi. Le soir tombe. Pourquoi ?",
        "Yo no. ¿Quién paga? El sol. Él paga.",
        "Мы дома. Кто там? Это я.",
        "My mother Will be there. Her boss is OK. It was called Monday. My friend says so.",
        "WE MET THE SALES TEAM THERE",
        "THIS IS A LOUD SENTENCE ABOUT NOTHING",
        "Walking is healthy. Books are cheap.",
        "It can help us. Who knows?",
        "Everyone agreed. Nobody objected.",
        "See the note. Mark the page. Hope this helps.",
        "【Travel Plan】 The flight is booked.",
        "I’m sure I’ve seen it.",
        "type=Send; message_type=Receive",
    ],
)
def test_grammar_alone_makes_no_name(text: str) -> None:
    assert names(text) == []


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("Alice likes tea.", "Alice", "person"),
        ("We asked Zorblat about it.", "Zorblat", "person"),
        ("She works at Zorblat Industries.", "Zorblat Industries", "organisation"),
        ("He lives in Paris.", "Paris", "place"),
        ("They went to Zorblatville.", "Zorblatville", "place"),
        ("I use an iPhone 15 daily.", "iPhone 15", "product"),
        ("We run PostgreSQL.", "PostgreSQL", "technical"),
        ("Open config.yaml now.", "config.yaml", "technical"),
    ],
)
def test_kinds(text: str, name: str, kind: str) -> None:
    assert kinds(text)[name] == kind


def test_known_names_are_found_in_any_case() -> None:
    assert names("we talked to zorblat quux yesterday", known=["Zorblat Quux"]) == ["zorblat quux"]


def test_known_names_match_whole_words_only() -> None:
    assert names("the zorblatter is on", known=["Zorblat"]) == []


def test_a_known_name_that_is_an_everyday_word_needs_its_capital() -> None:
    assert names("i will rest; so said Will", known=["Will"]) == ["Will"]


def test_known_names_match_in_text_without_spaces() -> None:
    assert names("昨日田中さんに会った", known=["田中"]) == ["田中"]


def test_a_known_name_does_not_reach_over_punctuation() -> None:
    assert names("we saw zorblat, quux and others", known=["Zorblat Quux"]) == []


def test_a_known_phrase_of_everyday_words_needs_its_capitals() -> None:
    known = ["Coffee Corner", "management"]
    assert names("the coffee corner; management; Coffee Corner", known=known) == ["Coffee Corner"]


def test_the_longest_known_name_wins() -> None:
    matcher = NameMatcher([("Project", "other"), ("Project Blue Heron", "product")])
    assert names("the project blue heron launch", known=matcher) == ["project blue heron"]


@given(st.text(alphabet="aB c.'’-_/AliceBob#@1田ア\n", max_size=60))
def test_mentions_are_in_order_and_quote_the_text(text: str) -> None:
    found = find_entities(text, known=["Bob", "田"])
    assert all(text[slice(*m.span)] == m.text for m in found)
    assert all(a.span[1] <= b.span[0] for a, b in zip(found, found[1:], strict=False))  # noqa: RUF007


def bank(*known: tuple[str, str] | tuple[str, str, list[str]]) -> EntityResolver:
    return EntityResolver(
        KnownEntity(number, row[0], row[1], frozenset(row[2] if len(row) > 2 else ()), 1)
        for number, row in enumerate(known)
    )


def resolved(
    resolver: EntityResolver, name: str, kind: str = "person", *context: int
) -> str | None:
    entity = resolver.resolve(name, kind, context).entity
    return entity.name if entity else None


@pytest.mark.parametrize(
    ("known", "kind", "name"),
    [
        ("Alice Chen", "person", "Alice"),
        ("Alice Chen", "person", "alice chen"),
        ("Alice Chen", "person", "A. Chen"),
        ("Alice Chen", "person", "Alice M. Chen"),
        ("Alice Chen", "person", "Dr. Chen"),
        ("Alice", "person", "Alice Chen"),
        ("A. Chen", "person", "Alice Chen"),
        ("Robert Smith", "person", "Bob"),
        ("Robert Smith", "person", "Bob Smith"),
        ("Bob Smith", "person", "Rob Smith"),
        ("Zoë", "person", "ZOE"),
        ("Google", "organisation", "Google LLC"),
        ("Google Inc.", "organisation", "Google"),
        ("Google Inc.", "organisation", "Google LLC"),
        ("The New York Times", "organisation", "New York Times"),
        ("International Business Machines", "organisation", "IBM"),
        ("IBM", "organisation", "International Business Machines"),
        ("World Health Organization", "organisation", "W.H.O."),
        ("PostgreSQL", "technical", "postgres"),
        ("Kubernetes", "technical", "k8s"),
        ("McDonald's", "organisation", "mcdonald's"),
        ("Room 101", "place", "room 101"),
    ],
)
def test_names_of_one_thing_are_joined(known: str, kind: str, name: str) -> None:
    assert resolved(bank((known, kind)), name, kind) == known


@pytest.mark.parametrize(
    ("known", "kind", "name", "other_kind"),
    [
        ("Room 101", "place", "Room 102", "place"),
        ("Iran", "place", "Tigran", "person"),
        ("Iran", "place", "Iraq", "place"),
        ("Alice Chen", "person", "Alice Wong", "person"),
        ("Alice Chen", "person", "Alicia Chen", "person"),
        ("Alice Chen", "person", "B. Chen", "person"),
        ("Alice M. Chen", "person", "Alice K. Chen", "person"),
        ("John Smith Jr", "person", "John Smith Sr", "person"),
        ("Alice Chen", "person", "Chen", "person"),
        ("v1.2", "technical", "v1.3", "technical"),
        ("v1.2", "technical", "v12", "technical"),
        ("Paris", "place", "Paris", "person"),
        ("Google", "organisation", "Google Cloud", "product"),
        ("Apple", "other", "Apple Pie", "other"),
        ("Java", "technical", "JavaScript", "technical"),
        ("Delta Group", "organisation", "Delta Holdings", "organisation"),
        ("Bank of America", "organisation", "Bank of Albania", "organisation"),
        ("User Interface", "technical", "Ui Smith", "person"),
        ("GPT-3", "product", "GPT-4", "product"),
        ("Anna", "person", "Hanna", "person"),
        ("Alice Chen", "person", "Lisa", "person"),
        ("Alice Chen", "person", "Lisa Chen", "person"),
        ("Aaron", "person", "Erin", "person"),
        ("Action Item", "other", "AI", "technical"),
        ("World Health Organization", "organisation", "who", "other"),
        ("Photo Backup Notification", "other", "Photo", "person"),
        ("Pete's Mom", "person", "Pete", "person"),
        ("Pete", "person", "Pete's Mom", "person"),
        ("Monica, Ross Geller", "person", "Monica", "person"),
    ],
)
def test_what_differs_is_not_joined(known: str, kind: str, name: str, other_kind: str) -> None:
    assert resolved(bank((known, kind)), name, other_kind) is None


def test_a_first_name_of_two_people_stays_open() -> None:
    people = bank(("Alice Chen", "person", ["Alice"]), ("Alice Wong", "person"))
    assert resolved(people, "Alice") is None


def test_the_context_decides_between_two_people() -> None:
    people = bank(("Alice Chen", "person"), ("Alice Wong", "person"))
    assert resolved(people, "Alice", "person", 1) == "Alice Wong"


def test_a_surname_alone_needs_the_context() -> None:
    assert resolved(bank(("Alice Chen", "person")), "Chen", "person", 0) == "Alice Chen"


def test_a_first_name_does_not_grow_when_two_people_could_own_it() -> None:
    assert resolved(bank(("Alice", "person"), ("Alice Wong", "person")), "Alice Chen") is None


def test_an_acronym_of_two_things_stays_open() -> None:
    two = bank(("Central Bank Agency", "organisation"), ("City Bus Authority", "organisation"))
    assert resolved(two, "CBA", "organisation") is None


def test_an_acronym_has_one_long_form() -> None:
    explained = bank(("CBA", "organisation", ["Central Bank Agency"]))
    assert resolved(explained, "City Bus Authority", "organisation") is None


def test_the_fuller_name_becomes_canonical() -> None:
    resolution = bank(("Alice", "person")).resolve("Alice Chen", "person")
    assert (resolution.new_name, resolution.new_aliases) == ("Alice Chen", frozenset({"Alice"}))


def test_a_nickname_becomes_an_alias_not_the_name() -> None:
    resolution = bank(("Robert Smith", "person")).resolve("Bob", "person")
    assert (resolution.new_name, resolution.new_aliases) == ("Robert Smith", frozenset({"Bob"}))


def test_a_new_lower_case_person_gets_a_capital() -> None:
    assert bank().resolve("bob", "person").new_name == "Bob"


def test_a_new_spelling_gets_the_usual_name() -> None:
    resolution = bank().resolve("k8s", "technical")
    assert (resolution.new_name, resolution.new_aliases) == ("Kubernetes", frozenset({"k8s"}))


def test_the_most_mentioned_of_equal_names_is_taken() -> None:
    two = EntityResolver(
        [
            KnownEntity(1, "Paris", "place", frozenset(), 2),
            KnownEntity(2, "Paris", "person", frozenset(), 9),
        ]
    )
    assert two.resolve("Paris", "other").entity == KnownEntity(2, "Paris", "person", frozenset(), 9)


def test_adding_an_entity_again_updates_it() -> None:
    people = bank(("Alice", "person"))
    people.add(KnownEntity(0, "Alice Chen", "person", frozenset({"Ally"}), 2))
    assert resolved(people, "Ally") == "Alice Chen"
    assert resolved(people, "Alice Wong") is None


def test_the_matcher_follows_what_is_added() -> None:
    people = bank()
    matcher = people.matcher()
    people.add(KnownEntity(7, "Zorblat", "person", frozenset(), 1))
    assert names("ask zorblat", known=matcher) == ["zorblat"]


def test_order_of_adding_does_not_change_what_is_found() -> None:
    rows = [
        KnownEntity(i, name, "person", frozenset(), 1)
        for i, name in enumerate(["Alice Chen", "Bob Smith", "Robert Smith", "Alice Wong"])
    ]
    asked = ["Alice", "Bob", "Rob Smith", "A. Wong", "Robert"]
    forward, backward = EntityResolver(rows), EntityResolver(reversed(rows))
    assert [forward.resolve(name, "person") for name in asked] == [
        backward.resolve(name, "person") for name in asked
    ]
