"""Sentences end where a reader would say they end."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.language.sentences import sentences


def split(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Smith met Mr. Jones.", ["Dr. Smith met Mr. Jones."]),
        ("A. Chen wrote it. It is good.", ["A. Chen wrote it.", "It is good."]),
        ("J. R. R. Tolkien wrote books.", ["J. R. R. Tolkien wrote books."]),
        ("It costs 3.5 dollars. Cheap!", ["It costs 3.5 dollars.", "Cheap!"]),
        ("Use v1.2.3 of it. Then go.", ["Use v1.2.3 of it.", "Then go."]),
        ("We met at 5 p.m. on Friday.", ["We met at 5 p.m. on Friday."]),
        ("We met at 5 p.m. The talk was short.", ["We met at 5 p.m.", "The talk was short."]),
        ("She lives in the U.S. now.", ["She lives in the U.S. now."]),
        ("Acme Inc. Boston hired her.", ["Acme Inc. Boston hired her."]),
        ("See fig. 3 and No. 5 there.", ["See fig. 3 and No. 5 there."]),
        ("Wir fahren am 3. Dezember. Gut.", ["Wir fahren am 3. Dezember.", "Gut."]),
        ("We were number 3. August came.", ["We were number 3.", "August came."]),
        ("So am I. The end.", ["So am I.", "The end."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ("Wait... what happened?", ["Wait... what happened?"]),
        ("東京に行きました。楽しかった！", ["東京に行きました。", "楽しかった！"]),
        ("- buy milk\n- call Bob", ["- buy milk", "- call Bob"]),
        ("1. First thing\n2. Second thing", ["1. First thing", "2. Second thing"]),
        ("A paragraph\n\nAnother one", ["A paragraph", "Another one"]),
        ("Alice: hello there\nBob: hi", ["Alice: hello there", "Bob: hi"]),
        ("e.g. apples and i.e. pears.", ["e.g. apples and i.e. pears."]),
        ("no full stop", ["no full stop"]),
        ("", []),
        ("  \n ", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_a_wrapped_line_goes_on() -> None:
    text = "This is a long line of prose that was wrapped at some\nwidth by an editor. Next."
    assert len(split(text)) == 2


@given(st.text(alphabet="ab A.!?\n\"'。1-", max_size=80))
def test_spans_are_in_order_and_lose_nothing(text: str) -> None:
    spans = sentences(text)
    covered = {place for start, end in spans for place in range(start, end)}
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    assert all(place in covered for place, char in enumerate(text) if not char.isspace())


@pytest.mark.parametrize("sign", [".", "?", " ", "\t", "-"])
def test_a_long_run_of_one_sign_is_read_once(sign: str) -> None:
    """From each of its signs anew, it would take a quarter of an hour."""
    text = f"cat{sign * 1_000_000}cat"
    assert sentences(text) == ((0, len(text)),)
