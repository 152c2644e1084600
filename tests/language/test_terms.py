"""Terms: what a text is found by. Flags, emoji and other spellings stand beside the plain words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.language.terms import flags, query_terms, terms


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("What does --chunks do?", ["--chunks"]),
        ("--max-tokens=5 and (--no-index)", ["--max-tokens", "--no-index"]),
        ("tar -x, or -V: both", ["-x", "-V"]),
        ("`--json`|--csv", ["--json", "--csv"]),
    ],
)
def test_flags_of_a_command_line_are_terms(text: str, named: list[str]) -> None:
    assert flags(text) == named
    assert set(named) <= set(terms(text))


@pytest.mark.parametrize(
    "text",
    [
        "He left -- she stayed",
        "He left--she stayed",
        "above\n-----\nbelow",
        "---\ntitle: x\n---",
        "- an item\n-- another",
        "kill -9",
        "it was -5 degrees, or --5",
        "pre- and -post",
        "Ein- und -ausgang",
        "|---|---|",
        "<!--TODO-->",
        "well-known follow-up",
        "x-y :-D",
    ],
)
def test_dashes_in_prose_are_no_flags(text: str) -> None:
    assert flags(text) == []
    assert not any(term.startswith("-") for term in terms(text))


def test_a_flag_is_found_by_its_words_as_well() -> None:
    assert set(terms("max-tokens")) < set(terms("--max-tokens"))


def test_a_letter_of_a_flag_is_that_very_letter() -> None:
    assert not set(query_terms("-v")) >= set(query_terms("-V"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("🐈", ["🐈"]),
        ("my cat🐈!", ["my", "cat", "🐈"]),
        ("👍🏽 👍", ["👍", "👍"]),
        ("❤️ ❤", ["❤", "❤"]),
        ("👩🏽‍💻", ["👩", "💻", "👩‍💻"]),
        ("🏃🏿‍♀️", ["🏃", "🏃‍♀"]),
        ("🇩🇪🇫🇷", ["🇩🇪", "🇫🇷"]),
        ("猫🐈", ["猫", "🐈"]),
    ],
)
def test_emoji_are_terms_whatever_they_look_like(text: str, found: list[str]) -> None:
    assert terms(text) == found


@pytest.mark.parametrize("text", ["a → b", "✓ done", "• item", "© 2024", "5 × 3", "…"])
def test_signs_of_texts_are_no_emoji(text: str) -> None:
    assert all(term.isascii() for term in terms(text))


@pytest.mark.parametrize(
    ("own", "plain"),
    [
        ("Müller", "Mueller"),
        ("MÜLLER", "MUELLER"),
        ("Größe", "Groesse"),
        ("Jäger", "Jaeger"),
        ("Søren", "Soeren"),
        ("Århus", "Aarhus"),
        ("Ærø", "Aeroe"),
        ("Müller-Lüdenscheidt", "Mueller-Luedenscheidt"),
        ("Ju\u0308rgen", "Juergen"),
    ],
)
def test_a_word_is_a_term_as_it_is_written_without_its_own_letters(own: str, plain: str) -> None:
    assert set(terms(plain)) <= set(terms(own))


@pytest.mark.parametrize("word", ["Müller", "Zürich", "Ångström", "Häuser"])
def test_a_word_without_its_dots_is_a_term_as_ever(word: str) -> None:
    bare = word.translate(str.maketrans("äöüåÄÖÜÅ", "aouaAOUA"))
    assert set(terms(bare)) <= set(terms(word))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("queue blue does poet", ["queue", "blue", "doe", "poet"]),
        ("aerobics shoe Israel Michael", ["aerob", "shoe", "israel", "michael"]),
    ],
)
def test_plain_words_are_terms_of_their_own_only(words: str, found: list[str]) -> None:
    assert terms(words) == found


@given(st.text(alphabet=st.characters(max_codepoint=127, exclude_characters="-"), max_size=60))
def test_a_text_in_ascii_is_its_words(text: str) -> None:
    words = re.findall(r"\w+(?:[.\-_/@:+#']\w+)*[+#]*", text)
    assert terms(text) == [term for word in words for term in terms(word)]


@pytest.mark.parametrize("unseen", ["\u00ad", "\u200b", "\u200e", "\u2060", "\u2068", "\ufeff"])
def test_what_nobody_sees_in_a_word_does_not_part_it(unseen: str) -> None:
    assert terms(f"the pass{unseen}word") == terms("the password")
    assert terms(f"src/{unseen}app.py") == terms("src/app.py")
    assert terms(f"👩‍👧{unseen} team") == terms("👩‍👧 team")


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("我什么时候看牙医？", "我 看牙医"),
        ("谁负责前端？", "负责前端"),
        ("房贷每月多少钱？", "房贷每月 钱"),
        ("誰が窓を直しましたか", "が窓を直し"),
        ("会議はいつですか", "会議は"),
        ("犬の名前は何ですか", "犬の名前は"),
        ("ぶどうが好きです", "ぶどうが好きです"),
        ("いつも何時に起きる", "いつも何時に起きる"),
    ],
)
def test_what_asks_is_not_asked_for_where_words_have_no_spaces(question: str, asked: str) -> None:
    assert set(query_terms(question)) == set(terms(asked))


def test_a_question_of_nothing_but_what_asks_asks_for_that() -> None:
    assert query_terms("什么？") == tuple(terms("什么"))
