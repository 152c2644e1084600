"""A text becomes memories: turns, items and short paragraphs whole, long prose in sentences."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.retain.chunk import chunk, estimate_tokens, statements

SENTENCE = "The quick brown fox number {} jumps over the lazy dog near the river bank today."
PROSE = " ".join(SENTENCE.format(i) for i in range(20))


def texts(text: str) -> list[str]:
    return [statement.text for statement in statements(text)]


def test_a_short_paragraph_is_one_memory() -> None:
    assert texts("Alice likes tea. Bob does not.\nHe likes coffee.") == [
        "Alice likes tea. Bob does not.\nHe likes coffee."
    ]


def test_paragraphs_are_memories_of_their_own() -> None:
    assert texts("Alice likes tea.\n\nBob likes coffee.") == [
        "Alice likes tea.",
        "Bob likes coffee.",
    ]


def test_long_prose_splits_between_sentences() -> None:
    assert all(text.startswith("The quick") and text.endswith("today.") for text in texts(PROSE))


def test_long_prose_splits_into_memories_of_40_to_90_tokens() -> None:
    assert all(40 <= estimate_tokens(text) <= 90 for text in texts(PROSE))


def test_a_huge_sentence_is_cut_at_its_clauses() -> None:
    huge = ", ".join(f"clause number {i} of this endless sentence" for i in range(60)) + "."
    parts = texts(huge)
    assert len(parts) > 3
    assert all(part.endswith((",", ".", "e")) for part in parts)


def test_turns_give_their_speaker() -> None:
    found = statements("Alice: I moved to Berlin.\nBob: Nice! When?")
    assert [(s.speaker, s.text) for s in found] == [
        ("Alice", "I moved to Berlin."),
        ("Bob", "Nice! When?"),
    ]


def test_a_turn_stays_whole_over_several_lines() -> None:
    found = statements("User: Here is my list:\n- milk\n- eggs\n\nand bread\nAssistant: Noted.")
    assert [s.text for s in found] == ["Here is my list:\n- milk\n- eggs\n\nand bread", "Noted."]


def test_a_turn_keeps_its_time_stamp() -> None:
    (first, _) = statements("[2023-05-08 13:56] Alice: hello\n[2023-05-08 13:57] Bob: hi")
    assert (first.speaker, first.stamp, first.text) == ("Alice", "2023-05-08 13:56", "hello")


@pytest.mark.parametrize(
    "text",
    [
        "Bob (the plumber): 555-1234",
        "Alice (my sister in Leeds): she moved to York.",
        "[the blue one] Alice: bring the ladder",
        'So is\none ("a novel for the winter"): what answers it was told before.',
        "Read the plan.\nmark: this as important.",
        "Bob (the plumber): 555-1234\nAnn (the vet): 555-9876",
    ],
)
def test_words_that_a_turn_would_not_keep_make_it_none(text: str) -> None:
    assert [(s.speaker, s.text) for s in statements(text)] == [(None, text)]


@pytest.mark.parametrize(
    ("text", "speakers"),
    [
        ("Ann: hi\nBob (the host): welcome\nAnn: thanks", ["Ann", "Bob", "Ann"]),
        ("Ann (guest): hi\nBob (host): welcome\nAnn (guest): thanks", ["Ann", "Bob", "Ann"]),
        ("will: see you\nmark: ok\nwill: great", ["will", "mark", "will"]),
        ("mark (10:30): hello\nwill (10:31): hi", ["mark", "will"]),
    ],
)
def test_in_a_talk_they_are_turns(text: str, speakers: list[str]) -> None:
    assert [s.speaker for s in statements(text)] == speakers


def told(text: str) -> list[tuple[str | None, str]]:
    return [(each.speaker, each.text) for each in statements(text)]


@pytest.mark.parametrize(
    "answer",
    [
        "Like this:\n\n```bash\n# install it first\npip install foo\n```\n\nThat is all.",
        "Like this:\n```yaml\nAnna: 3\nUser: root\n```",
        "```yaml\n# who\nUser: root\n```",
        "In a list:\n1. so\n      ```yaml\n      User: root\n      ```",
        "An open fence:\n```bash\npip install foo",
    ],
)
def test_code_in_an_answer_is_part_of_it(answer: str) -> None:
    text = f"User: How?\nAssistant: {answer}\nUser: Thanks, I use Debian."
    assert told(text) == [
        ("User", "How?"),
        ("Assistant", answer),
        ("User", "Thanks, I use Debian."),
    ]


def test_headings_in_an_answer_are_part_of_it() -> None:
    answer = "Sure!\n\n## You need\n- 500 g flour\n\n## Steps\n1. mix"
    text = f"# Monday\nUser: A recipe?\nAssistant: {answer}\n\n# Tuesday\nUser: Thanks!"
    assert told(text) == [("User", "A recipe?"), ("Assistant", answer), ("User", "Thanks!")]
    assert [each.heading for each in statements(text)] == ["Monday", "Monday", "Tuesday"]


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        (
            "李明：我明天去上海。\n王芳：好的，一路平安。\n李明：谢谢",
            [("李明", "我明天去上海。"), ("王芳", "好的，一路平安。"), ("李明", "谢谢")],
        ),
        (
            "Dr. Smith: All is fine.\nGo home.\nMr. Loriot: Thank you.\nDr. Smith: Bye.",
            [
                ("Dr. Smith", "All is fine.\nGo home."),
                ("Mr. Loriot", "Thank you."),
                ("Dr. Smith", "Bye."),
            ],
        ),
        ("Ann: Hi!\nZorgle: Yo.\nAnn: Bye.", [("Ann", "Hi!"), ("Zorgle", "Yo."), ("Ann", "Bye.")]),
        (
            "2023-05-08 13:56 Ann: Hi!\n2023-05-08 13:57 Zorgle: Yo.",
            [("Ann", "Hi!"), ("Zorgle", "Yo.")],
        ),
    ],
)
def test_in_a_talk_who_speaks_once_does_so_too(
    text: str, turns: list[tuple[str | None, str]]
) -> None:
    assert told(text) == turns


def test_a_label_in_what_somebody_says_is_nobody() -> None:
    said = "Here it is:\n\nTips: use oil.\nMore of it."
    assert told(f"User: A recipe?\nAssistant: {said}") == [
        ("User", "A recipe?"),
        ("Assistant", said),
    ]


def test_fields_of_a_record_do_not_talk() -> None:
    assert {each.speaker for each in statements("Host: example.org\nUser: ann\nPort: 22")} <= {
        None,
        "User",
    }


def test_a_heading_ends_what_people_say() -> None:
    assert told("Ann: Let us use Postgres.\n\n## Decisions\n- Postgres") == [
        ("Ann", "Let us use Postgres."),
        (None, "Postgres"),
    ]


@pytest.mark.parametrize("form", ["5/13/23, 10:3{} PM - ", "[13/05/2023, 22:3{}:05] "])
def test_in_a_log_every_stamp_begins_something_else(form: str) -> None:
    lines = (
        "Messages are end-to-end encrypted.",
        "Ann: Are you coming?",
        "Bob Smith: Yes, tomorrow\nwith the kids",
        'Ann changed the subject to "Trip: Rome"',
        "~\u202fSiân O'Hara 🌻: Me too",
        "\u202a+49 151 2345678\u202c: Who is this?",
        "Note: this is no name",
    )
    log = "\n".join(form.format(number) + line for number, line in enumerate(lines))
    assert told(log) == [
        (None, "Messages are end-to-end encrypted."),
        ("Ann", "Are you coming?"),
        ("Bob Smith", "Yes, tomorrow\nwith the kids"),
        (None, 'Ann changed the subject to "Trip: Rome"'),
        ("Siân O'Hara 🌻", "Me too"),
        ("+49 151 2345678", "Who is this?"),
        (None, "Note: this is no name"),
    ]
    assert all(each.stamp in form.format(n) for n, each in enumerate(statements(log)) if each.stamp)
    assert all(each.stamp for each in statements(log))


def test_a_labelled_note_is_no_turn() -> None:
    found = statements("Note: the server is down.\nStatus: open")
    assert all(s.speaker is None for s in found)


def test_list_items_stay_whole_and_lose_their_bullet() -> None:
    assert texts("- buy milk\n  and eggs\n* call Bob\n1. write home") == [
        "buy milk\n  and eggs",
        "call Bob",
        "write home",
    ]


def test_a_task_keeps_the_box_that_says_whether_it_is_done() -> None:
    assert texts("- [ ] Buy milk.\n- [x] Call Bob.\n") == ["[ ] Buy milk.", "[x] Call Bob."]


def test_headings_are_the_context_of_what_is_below() -> None:
    found = statements("# Project\n\nIntro.\n\n## Storage\n\n- SQLite\n\n# Team\n\nAlice leads.")
    assert [(s.heading, s.text) for s in found] == [
        ("Project", "Intro."),
        ("Project > Storage", "SQLite"),
        ("Team", "Alice leads."),
    ]


def test_an_underlined_heading_is_a_heading() -> None:
    (only,) = statements("Storage\n=======\n\nIt is SQLite.")
    assert (only.heading, only.text) == ("Storage", "It is SQLite.")


def test_a_heading_with_nothing_below_is_not_lost() -> None:
    assert texts("# Done\n# Open\n\nWrite docs.") == ["# Done", "Write docs."]


def test_code_stays_whole() -> None:
    code = "```python\nx = 1\n\n# not a heading\ny = 2\n```"
    assert texts(f"Look:\n\n{code}\n\nDone.") == ["Look:", code, "Done."]


def test_a_table_stays_whole() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    assert texts(f"Figures\n\n{table}") == ["Figures", table]


def test_the_callers_token_count_is_used() -> None:
    assert len(statements(PROSE, count=lambda text: 1)) == 1


def test_chunks_hold_the_statements_with_their_headings() -> None:
    text = f"# One\n\n{PROSE}\n\n# Two\n\n{PROSE}"
    chunks = chunk(text, max_tokens=200)
    assert all(
        sum(c.span[0] <= s.span[0] and s.span[1] <= c.span[1] for c in chunks) == 1
        for s in statements(text)
    )
    assert chunks[0].text.startswith("# One")


def test_chunks_stay_within_their_tokens() -> None:
    assert all(estimate_tokens(c.text) <= 200 for c in chunk(PROSE * 5, max_tokens=200))


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "", "# Title", "## Part", "- item one", "  more of it", "Alice: hello. How are you?",
                "Bob: fine", "| a | b |", "```", "Plain text here. It goes on!", "Title", "====",
                "1. first", "---", "word " * 120, "东京。大阪。", "x" * 900, SENTENCE * 9,
            ]
        ),
        st.text(alphabet="ab .:#-*|`1\t", max_size=20),
    ),
    max_size=14,
)  # fmt: skip


@given(LINES)
def test_statements_cover_all_text_once(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = statements(text)
    spans = [s.span for s in found]
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    headings = {part for s in found for part in s.heading.split(" > ")}
    left = "".join(
        char if not any(a <= place < b for a, b in spans) else " "
        for place, char in enumerate(text)
    )
    for line in left.splitlines():
        bare = re.sub(r"\s#+$", "", line.strip().lstrip("#").strip()).strip()
        # An underlined heading keeps its words as they are, "#1" included.
        assert not bare.strip("=-") or headings & {bare, line.strip()}


@given(LINES)
def test_chunks_cover_all_text_once(lines: list[str]) -> None:
    text = "\n".join(lines)
    spans = [c.span for c in chunk(text, max_tokens=60)]
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    covered = {place for a, b in spans for place in range(a, b)}
    assert all(place in covered for place, char in enumerate(text) if not char.isspace())


@pytest.mark.parametrize("text", ["May 3: dentist", "April 2023: moved to Rome", "June 3rd: exam"])
def test_a_date_before_a_colon_is_nobody_who_speaks(text: str) -> None:
    assert [(s.speaker, s.text) for s in statements(text)] == [(None, text)]


def test_a_name_that_is_a_month_speaks() -> None:
    assert [s.speaker for s in statements("April: I went home.")] == ["April"]


@pytest.mark.parametrize(
    "text", ["3. März 2023 zogen wir um.", "12. Mai: Zahnarzt", "4. April 2023: Umzug nach Rom"]
)
def test_the_number_of_a_day_begins_no_list(text: str) -> None:
    assert [s.text for s in statements(text)] == [text]


def test_items_may_begin_with_a_month() -> None:
    assert [s.text for s in statements("1. April showers\n2. May flowers")] == [
        "April showers",
        "May flowers",
    ]


@pytest.mark.parametrize(
    "text",
    [
        'Ann said: "I quit."\nBob said: "No way."',
        "Ann asked: why?",
        "Jan: 100\nFeb: 120\nMar: 90",
        "May: dentist\nJune: exam",
    ],
)
def test_what_stands_before_a_colon_may_be_no_name(text: str) -> None:
    assert [(s.speaker, s.text) for s in statements(text)] == [(None, text)]
