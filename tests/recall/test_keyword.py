"""Keyword arm: textbook Okapi BM25 on text, weighted fields, exact names, any script."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect import Arm, Recollect
from recollect.language.terms import query_terms, term_hash

from .banks import plain, snapshot

WORDS = ["zor", "bek", "lum", "tig", "vad", "pex", "qul", "nim", "fof", "jat"]
texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=25), min_size=1, max_size=25)


def okapi(
    query: list[str], documents: list[list[str]], k1: float = 1.2, b: float = 0.75
) -> list[float]:
    """Okapi BM25 as the textbooks have it, with the idf that cannot turn negative."""
    average = sum(map(len, documents)) / len(documents)
    scores = [0.0] * len(documents)
    for term in query:
        containing = sum(term in d for d in documents)
        idf = math.log(1 + (len(documents) - containing + 0.5) / (containing + 0.5))
        for i, document in enumerate(documents):
            f = Counter(document)[term]
            scores[i] += idf * f * (k1 + 1) / (f + k1 * (1 - b + b * len(document) / average))
    return scores


def hashes(query: str) -> tuple[int, ...]:
    return tuple(term_hash(t) for t in query_terms(query))


@settings(max_examples=60, deadline=None)
@given(texts, st.lists(st.sampled_from([*WORDS, "unseen"]), min_size=1, max_size=5, unique=True))
def test_on_text_alone_the_arm_is_okapi_bm25(documents: list[list[str]], query: list[str]) -> None:
    held = snapshot([plain(" ".join(d)) for d in documents])
    scores = held.bm25(hashes(" ".join(query)))
    assert scores.tolist() == pytest.approx(okapi(query, documents), rel=1e-4, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(
    texts, st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True), st.integers(1, 30)
)
def test_the_arm_returns_the_k_best_that_hold_a_term(
    documents: list[list[str]], query: list[str], k: int
) -> None:
    held = snapshot([plain(" ".join(d)) for d in documents])
    found = held.keyword(hashes(" ".join(query)), np.ones(len(documents), bool), k)
    expected = np.array(okapi(query, documents))
    holding = {i + 1 for i, d in enumerate(documents) if set(d) & set(query)}
    assert set(found.keys.tolist()) <= holding
    assert len(found) == min(k, len(holding))
    assert found.scores.tolist() == pytest.approx(
        sorted(expected, reverse=True)[: len(found)], rel=1e-4
    )


@settings(max_examples=30, deadline=None)
@given(texts, st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True))
def test_no_memory_scores_above_the_ceiling(documents: list[list[str]], query: list[str]) -> None:
    held = snapshot([plain(" ".join(d)) for d in documents])
    asked = hashes(" ".join(query))
    assert held.bm25(asked).max() <= held.keyword_ceiling(asked)


def test_statistics_forget_what_was_deleted(memory: Recollect) -> None:
    """A bank after a deletion scores as one that never had the memory."""
    kept = ["zor bek lum", "zor tig", "bek bek vad pex"]
    memory.retain(
        "kw-gone",
        [{"text": t, "id": f"g{i}"} for i, t in enumerate([*kept, "zor zor zor nim nim"])],
    )
    memory.forget("kw-gone", "g3")
    memory.retain("kw-kept", [{"text": t} for t in kept])
    gone, never = (
        [
            (h.text, round(h.arms[Arm.KEYWORD].score, 5))
            for h in memory.recall(b, "zor bek")
            if Arm.KEYWORD in h.arms
        ]
        for b in ("kw-gone", "kw-kept")
    )
    assert sorted(gone) == sorted(never)


# --- weighted fields ---------------------------------------------------------------------------

FIELDS: list[tuple[str, dict[str, Any]]] = [
    ("recall_when", {"recall_when": ("zorbek",)}),
    ("title", {"title": "zorbek"}),
    ("tags", {"tags": ("zorbek",)}),
    ("topic_path", {"topic_path": "zorbek"}),
    ("summary", {"summary": "zorbek"}),
    ("text", {}),
]


def field_scores() -> dict[str, float]:
    """One memory a field; each field has the same length everywhere, only the match moves."""
    same: dict[str, Any] = {
        "recall_when": ("other",), "title": "other", "tags": ("other",), "topic_path": "other", "summary": "other",
    }  # fmt: skip
    made = [
        plain("zorbek" if name == "text" else f"filler{i}", **{**same, **given})
        for i, (name, given) in enumerate(FIELDS)
    ]
    scores = snapshot(made).bm25(hashes("zorbek")).tolist()
    return {name: score for (name, _), score in zip(FIELDS, scores, strict=True)}


def test_recall_when_outweighs_title_outweighs_tags_outweighs_topic_and_summary_outweigh_text() -> (
    None
):
    s = field_scores()
    assert s["recall_when"] > s["title"] > s["tags"] > s["topic_path"] > s["text"] > 0
    assert s["summary"] == pytest.approx(s["topic_path"])


def test_the_field_weights_are_5_4_3_2_2_1() -> None:
    """With equal lengths a field's frequency is its weight, which then saturates."""
    s = field_scores()
    idf = math.log(1 + (6 - 6 + 0.5) / (6 + 0.5))
    for name, weight in {
        "recall_when": 5,
        "title": 4,
        "tags": 3,
        "topic_path": 2,
        "summary": 2,
        "text": 1,
    }.items():
        assert s[name] == pytest.approx(idf * weight * 2.2 / (weight + 1.2), rel=1e-4)


def test_context_counts_as_text() -> None:
    held = snapshot([plain("bek", context="zor"), plain("bek zor"), plain("bek lum")])
    scores = held.bm25(hashes("zor")).tolist()
    assert scores[0] == pytest.approx(scores[1])
    assert scores[2] == 0


def test_a_memory_found_only_by_its_recall_when_is_found(memory: Recollect) -> None:
    memory.retain(
        "kw-fields",
        [
            {
                "id": "deploy",
                "text": "Run the migration first, then restart.",
                "recall_when": ["shipping to production"],
            },
            {"id": "lunch", "text": "Lunch is at noon."},
        ],
    )
    (hit,) = [h for h in memory.recall("kw-fields", "shipping") if Arm.KEYWORD in h.arms]
    assert hit.id == "deploy"


# --- names, codes, scripts ---------------------------------------------------------------------

EXACT = [
    ("PROJ-1234", "The ticket PROJ-1234 was closed.", ["The ticket PROJ-1235 was closed.", "PROJ has 1234 members."]),
    ("foo_bar.py", "The bug is in foo_bar.py today.", ["The bug is in foo_baz.py today.", "The bug is in bar today."]),
    ("v1.2", "We released v1.2 to everybody.", ["We released v1.3 to everybody.", "We released v2.1 to everybody."]),
    ("C++", "She writes C++ at work.", ["She writes C at work.", "She writes C# at work."]),
    ("E11.9", "The diagnosis was E11.9 last year.", ["The diagnosis was E11.8 last year.", "The diagnosis was E10 last."]),
    ("O'Brien", "Ms O'Brien called about it.", ["Ms Brien called about it.", "Ms Bryan called about it."]),
    ("getUserName", "Call getUserName before login.", ["Call getUserMail before login.", "Call the user by name."]),
    ("anna@example.com", "Write to anna@example.com soon.", ["Write to bert@example.com soon.", "Write to Anna soon."]),
    ("--chunks", "Give --chunks for more.", ["Give chunks for more.", "Give --chunk for more."]),
    ("-v", "Give -v for more.", ["Give v for more.", "Give -V for more."]),
    ("192.168.0.17", "The printer is 192.168.0.17 now.", ["The printer is 192.168.0.71 now.", "The printer is 17 now."]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "right", "wrong"), EXACT, ids=[e[0] for e in EXACT])
def test_names_codes_and_identifiers_match_exactly(
    query: str, right: str, wrong: list[str]
) -> None:
    held = snapshot([plain(t) for t in (*wrong, right)])
    scores = held.bm25(hashes(query))
    assert scores[-1] > scores[:-1].max()


def test_a_code_is_first_in_a_whole_recall(memory: Recollect, story: str) -> None:
    assert memory.recall(story, "PROJ-1234").results[0].id == "ticket"


def test_a_part_of_an_identifier_is_found() -> None:
    held = snapshot([plain("The bug is in foo_bar.py today."), plain("Nothing to see.")])
    assert held.bm25(hashes("foo")).tolist()[0] > 0


SCRIPTS = [
    ("Chinese", "北京", "我上周去了北京出差。", "我上周去了上海出差。"),
    ("Chinese sentence", "谁去了北京?", "小明去了北京。", "小红喜欢猫。"),
    ("Japanese", "東京タワー", "昨日は東京タワーに登りました。", "昨日は大阪城を見ました。"),
    ("Japanese kana", "カメラ", "新しいカメラを買った。", "新しい自転車を買った。"),
    ("Korean", "서울", "지난주에 서울에 갔다.", "지난주에 부산에 갔다."),
    ("accented", "Zürich", "Das Büro ist in Zürich.", "Das Büro ist in Genf."),
    ("accents left out", "zurich", "Das Büro ist in Zürich.", "Das Büro ist in Genf."),
    ("accents put in", "café", "We met at the cafe.", "We met at the bar."),
    ("decomposed", "Cafe\u0301", "We met at the Café.", "We met at the bar."),
    ("sharp s", "Strasse", "Die Straße ist lang.", "Der Weg ist lang."),
    ("full width", "ＡＢＣ", "The ABC plan was chosen.", "The XYZ plan was chosen."),
    ("mixed", "iPhone 手机壳", "她买了iPhone的手机壳。", "她买了一本书。"),
    ("Cyrillic", "Москва", "Москва была красива.", "Париж был красив."),
    ("Greek", "Αθήνα", "Η Αθήνα είναι μεγάλη.", "Η Πάτρα είναι μικρή."),
    ("umlauts spelt out", "Mueller", "Herr Müller rief an.", "Herr Maier rief an."),
    ("umlauts put in", "Müller", "Herr Mueller rief an.", "Herr Maier rief an."),
    ("umlauts left out", "Muller", "Herr Müller rief an.", "Herr Mueller rief an."),
    ("Danish spelt out", "Soeren fra Aarhus", "Søren fra Århus ringede.", "Lars fra Odense ringede."),
    ("emoji", "🐈", "Look 🐈", "Look 🐕"),
    ("emoji of a colour", "👍", "Fine 👍🏿", "Fine 👎🏿"),
    ("emoji of one who works", "💻", "Me 👩🏽‍💻 today", "Me 👩🏽‍🍳 today"),
    ("Arabic", "القاهرة", "زار القاهرة في الربيع", "زار دبي في الشتاء"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "right", "wrong"), [s[1:] for s in SCRIPTS], ids=[s[0] for s in SCRIPTS]
)
def test_every_script_is_found_by_keyword(query: str, right: str, wrong: str) -> None:
    scores = snapshot([plain(wrong), plain(right)]).bm25(hashes(query)).tolist()
    assert scores[1] > scores[0]


def test_words_in_another_inflection_are_found() -> None:
    scores = snapshot([plain("She painted the fences."), plain("She cooked.")]).bm25(
        hashes("painting a fence")
    )
    assert scores[0] > scores[1] == 0


def test_question_words_alone_do_not_match(memory: Recollect, story: str) -> None:
    hits = memory.recall(story, "What is the name of the one who bakes?").results
    matched = {t for h in hits for t in h.matched_terms}
    assert "bake" in matched and not matched & {"what", "is", "the", "who"}


def test_a_query_of_nothing_but_question_words_is_still_asked() -> None:
    scores = snapshot([plain("The Who played in Leeds."), plain("Bob cooked rice.")]).bm25(
        hashes("the who")
    )
    assert scores[0] > scores[1]
