"""Plain texts are tokenised word by word, and as the tokenizer does it."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from recollect.models.registry import WEIGHTS
from recollect.models.words import Words

MOST = 64


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(WEIGHTS / "tokenizer.json"))


@given(text=st.text(string.printable[:95] + "aeiou ", max_size=80))
def test_tokens_are_those_of_the_tokenizer(tokenizer: Tokenizer, text: str) -> None:
    found = Words(tokenizer).tokens(text, MOST)
    if found is not None:
        assert found.ids == tokenizer.encode(text).ids
        assert found.type_ids == tokenizer.encode(text).type_ids


@pytest.mark.parametrize(
    "text",
    [
        "When did Ravi rebuild the kiln in Lisbon? 17",
        "It's O'Brien's C++/C# build v1.2.3 at 10:45, isn't it",
        "snake_case, CamelCase and kebab-case",
        "x" * 120,
        "",
        "   two   spaces  ",
    ],
)
def test_plain_texts_are_read_word_by_word(tokenizer: Tokenizer, text: str) -> None:
    found = Words(tokenizer).tokens(text, MOST)
    assert found is not None
    assert found.ids == tokenizer.encode(text).ids


@pytest.mark.parametrize("text", ["café", "東京", "a\nb", "what is [MASK]?", "word " * MOST])
def test_what_is_not_plain_or_too_long_is_left_to_the_tokenizer(
    tokenizer: Tokenizer, text: str
) -> None:
    assert Words(tokenizer).tokens(text, MOST) is None


def test_another_kind_of_tokenizer_is_asked_itself(tokenizer: Tokenizer) -> None:
    from tokenizers.pre_tokenizers import Whitespace

    other = Tokenizer.from_str(tokenizer.to_str())
    other.pre_tokenizer = Whitespace()  # pyright: ignore[reportAttributeAccessIssue]
    assert Words(other).tokens("plain", MOST) is None
