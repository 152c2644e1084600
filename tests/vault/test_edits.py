"""Changing a note's frontmatter or text touches nothing else in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.vault import frontmatter
from recollect.vault import note as notes
from recollect.vault.frontmatter import parse, scalar, with_values

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=40)
WORDS = st.sampled_from(
    [
        "tea",
        "a: b",
        "# no",
        "yes",
        "null",
        "1.5",
        "2026-01-01",
        "- x",
        "[a",
        "é ü",
        "'q'",
        '"',
        "@x",
        "",
    ]
)
VALUES = st.one_of(
    WORDS,
    TEXTS,
    st.integers(-(2**53), 2**53),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.lists(st.one_of(WORDS, TEXTS), max_size=4),
    st.dictionaries(st.sampled_from("abc"), WORDS, max_size=2),
)
KEYS = st.sampled_from(["title", "tags", "custom key", "x", "ünï", "state"])
# Ways in which people write a value that none of our edits touch.
STYLES = st.sampled_from(
    [
        "{k}: plain words",
        "{k}:   'single ''quoted'''   # with a comment",
        '{k}: "double \\" quoted"',
        "{k}: |\n  a block\n    of text\n",
        "{k}: >-\n  folded\n  text",
        "{k}:\n  - one\n  - two   # why\n",
        "{k}:\n- flush\n- left",
        "{k}: [flow, 'list']",
        "{k}: {a: 1, b: [2, 3]}",
        "{k}:\n  nested: true\n  deep:\n    - 1",
        "{k}:",
        "# a comment\n{k}: ~",
        "\n{k}: 2026-05-01",
    ]
)


@st.composite
def written(draw: Any) -> str:
    """A note as people write them."""
    keys = draw(st.lists(KEYS, unique=True, max_size=5))
    lines = [draw(STYLES).replace("{k}", scalar(k)) for k in keys]
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    head = "\n".join(["---", *lines, draw(st.sampled_from(["---", "---  ", "..."]))])
    body = draw(st.sampled_from(["", "\nTea.\n", "\n\n# T\n\nlast", "\n---\nrule\n---\n"]))
    text = (head if keys or draw(st.booleans()) else "Plain.") + body
    return draw(st.sampled_from(["", "\ufeff"])) + text.replace("\n", newline)


@given(written(), KEYS, VALUES)
@settings(max_examples=400)
def test_an_edit_sets_one_key_and_nothing_else(text: str, key: str, value: Any) -> None:
    before = parse(text, "n")
    try:
        after = parse(with_values(before, {key: value}, "n"), "n")
    except InvalidInput:
        # It may refuse, but not where the key is new or a plain one.
        assert key in before.nodes
        return
    assert after.values[key] == value or (value == "" and after.values[key] in ("", None))
    rest = {k: v for k, v in before.values.items() if k != key}
    assert {k: v for k, v in after.values.items() if k != key} == rest
    body = before.text[before.body_at :].lstrip("\ufeff")
    assert after.text[after.body_at :] == body
    assert after.text.startswith("\ufeff") == text.startswith("\ufeff")
    lines = [k for k in text.split("\n") if k.strip().startswith("#")]
    assert all(line in after.text.split("\n") for line in lines)


@given(written(), KEYS)
@settings(max_examples=200)
def test_taking_a_key_away_leaves_the_others(text: str, key: str) -> None:
    before = parse(text, "n")
    after = parse(with_values(before, {key: None}, "n"), "n")
    assert after.values.get(key) is None
    assert {k: v for k, v in after.values.items() if k != key} == {
        k: v for k, v in before.values.items() if k != key
    }


@given(VALUES)
@settings(max_examples=300)
def test_what_is_written_is_read(value: Any) -> None:
    read = parse(f"---\nk: {scalar(value)}\n---\n", "n").values["k"]
    assert read == value and type(read) is type(value)


@given(written(), TEXTS.filter(str.strip))
@settings(max_examples=300)
def test_a_new_text_takes_the_place_of_the_old(text: str, new: str) -> None:
    from recollect.vault.fields import plain
    from recollect.vault.to_folder import edited

    before = notes.read("n.md", text)
    after = notes.read("n.md", edited(before, {"text": plain(new)}))
    assert after.text == plain(new)
    assert after.front.values == before.front.values


def test_lines_that_stay_keep_their_line_ends() -> None:
    note = notes.read("n.md", "one\r\ntwo\nthree\r\n")
    assert (
        notes.with_text(note, "one\ntwo and a half\nthree") == "one\r\ntwo and a half\r\nthree\r\n"
    )


def test_generated_sections_stay_where_they_are() -> None:
    generated = "## R <!-- x:auto-related:start -->\n- [[b]]\n<!-- x:auto-related:end -->\n"
    note = notes.read("n.md", f"old words\n\n{generated}")
    assert notes.with_text(note, "new words") == f"new words\n\n{generated}"


def test_a_list_in_another_order_is_written_anew() -> None:
    front = parse("---\ntags:\n  - b\n  - a\n---\n", "n")
    assert with_values(front, {"tags": ["a", "b"]}, "n") == "---\ntags:\n  - a\n  - b\n---\n"


def test_an_unclosed_fence_is_text() -> None:
    assert parse("---\nid: a\n", "n").span is None


@pytest.mark.parametrize("text", ["---\n- a\n- b\n---\nx", "---\njust words\n---\nx"])
def test_frontmatter_that_is_no_mapping_is_text(text: str) -> None:
    assert notes.read("n.md", text).text == text


def test_an_edit_through_an_anchor_is_refused() -> None:
    front = frontmatter.parse("---\na: &x one\nb: *x\n---\n", "n")
    with pytest.raises(InvalidInput, match="cannot be set without changing more"):
        with_values(front, {"b": "two"}, "n")
