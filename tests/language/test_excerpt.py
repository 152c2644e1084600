"""Of a long text a reader is shown the part that was asked about."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.language.excerpt import excerpt
from recollect.language.terms import query_terms

ADVICE = "Keep a list of what you need and look at it every week. "
BOILER = "The boiler in the cellar was made by Vaillant in 1987."
LONG = ADVICE * 12 + BOILER + " " + ADVICE * 12


def test_a_short_text_is_read_whole() -> None:
    assert excerpt(BOILER, query_terms("Who made the boiler?"), 100) == BOILER


def test_the_part_that_was_asked_about_is_read() -> None:
    part = excerpt(LONG, query_terms("Who made the boiler?"), 200)
    assert BOILER in part and len(part) <= 200


def test_white_space_has_no_sentences() -> None:
    assert excerpt(" " * 400, query_terms("Who made the boiler?"), 100).isspace()


def test_without_a_match_the_beginning_is_read() -> None:
    assert LONG.startswith(excerpt(LONG, query_terms("Where is Nora?"), 200))


def test_what_stands_everywhere_counts_less_than_what_stands_once() -> None:
    part = excerpt(LONG, query_terms("the list of what the boiler needs every week"), 200)
    assert BOILER in part


@given(
    st.text(max_size=400),
    st.lists(st.sampled_from(["list", "week", "boiler", "x"])),
    st.integers(1, 300),
)
def test_an_excerpt_is_a_part_of_the_text(text: str, wanted: list[str], most: int) -> None:
    part = excerpt(text, wanted, most)
    assert part in text and len(part) <= most
