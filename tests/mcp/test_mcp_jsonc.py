"""Edits in JSON that people wrote leave alone what they do not touch."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.mcp import jsonc

COMMENTED = """\
// my settings
{
  "theme": "dark", /* easy on the eyes */
  "servers": {
    // the one for work
    "work": {"command": "w"}, // keep
  },
  "last": [1, 2], // trailing
}
"""
VALUE = {"command": "r", "args": ["mcp"]}


def test_a_member_is_added_and_every_comment_stays() -> None:
    edited = jsonc.with_member(COMMENTED, ["servers"], "recollect", VALUE)
    assert [line for line in COMMENTED.splitlines() if line not in edited.splitlines()] == []
    assert jsonc.parse(edited)["servers"] == {"work": {"command": "w"}, "recollect": VALUE}


def test_a_missing_object_is_made() -> None:
    edited = jsonc.with_member(COMMENTED, ["mcp", "servers"], "recollect", VALUE)
    assert jsonc.parse(edited) == {
        **jsonc.parse(COMMENTED),
        "mcp": {"servers": {"recollect": VALUE}},
    }


def test_an_existing_member_is_replaced_in_its_place() -> None:
    edited = jsonc.with_member(COMMENTED, ["servers"], "work", VALUE)
    assert list(jsonc.parse(edited)) == ["theme", "servers", "last"] and "// keep" in edited


def test_an_item_is_added_to_an_array_and_taken_out_again() -> None:
    edited = jsonc.with_item(COMMENTED, ["last"], {"a": 3})
    assert jsonc.parse(edited)["last"] == [1, 2, {"a": 3}]
    assert jsonc.parse(jsonc.without(edited, ["last"], 2)) == jsonc.parse(COMMENTED)


def test_what_is_taken_out_leaves_its_neighbours_comments() -> None:
    edited = jsonc.without(COMMENTED, [], "theme")
    assert "// the one for work" in edited and "// trailing" in edited and "dark" not in edited


@pytest.mark.parametrize(
    ("text", "key", "left"),
    [
        ('{"a": 1 /* x, y */, "b": 2}', "b", '{"a": 1 /* x, y */}'),
        ('{ // x, y\n  "a": 1,\n}', "a", "{ // x, y\n  \n}"),
        ('{"a": 1, "b": 2}', "a", '{"b": 2}'),
        ('{\n  "a": 1,\n  // of b\n  "b": 2\n}', "a", '{\n  // of b\n  "b": 2\n}'),
        ('{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}', "b", '{\n  "a": 1,\n  "c": 3\n}'),
        ('{\n  "a": 1, // of a\n  "b": 2,\n}', "b", '{\n  "a": 1 // of a\n}'),
        ('{\r\n  "a": 1,\r\n  "b": 2\r\n}', "a", '{\r\n  "b": 2\r\n}'),
        ('{"a": 1, // of a\n"b": 2}', "b", '{"a": 1 // of a\n}'),
        ('{"a": 1}', "a", "{}"),
        ('{\n  "a": 1\n}', "a", "{}"),
    ],
)
def test_only_the_entry_and_its_comma_go(text: str, key: str, left: str) -> None:
    assert jsonc.without(text, [], key) == left


def test_windows_line_ends_stay() -> None:
    edited = jsonc.with_member(COMMENTED.replace("\n", "\r\n"), ["servers"], "recollect", VALUE)
    assert edited.count("\r\n") == edited.count("\n")


@pytest.mark.parametrize("text", ["{", '{"a" 1}', "{'a': 1}", '{"a": 1} x', "[1 2]", '{"a": tru}'])
def test_what_is_no_json_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(InvalidInput, match="line 1 is no JSON"):
        jsonc.scan(text)


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=3)
    ),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(st.text(max_size=3), _JSON, max_size=4)
_INDENTS = st.sampled_from([None, 1, 2, 4, "\t"])


@given(_OBJECTS, _INDENTS)
def test_it_reads_what_json_reads(value: dict[str, Any], indent: Any) -> None:
    assert jsonc.parse(json.dumps(value, indent=indent)) == value


@given(_OBJECTS, _INDENTS, st.text(max_size=3), _JSON)
def test_adding_and_taking_out_are_what_they_are_for_dicts(
    value: dict[str, Any], indent: Any, key: str, new: Any
) -> None:
    edited = jsonc.with_member(json.dumps(value, indent=indent), [], key, new)
    assert jsonc.parse(edited) == {**value, key: new}
    left = {k: v for k, v in value.items() if k != key}
    assert jsonc.parse(jsonc.without(edited, [], key)) == left


@given(st.lists(_JSON, max_size=4), _INDENTS, _JSON, st.data())
def test_adding_and_taking_out_are_what_they_are_for_lists(
    items: list[Any], indent: Any, new: Any, data: st.DataObject
) -> None:
    edited = jsonc.with_item(json.dumps({"a": items}, indent=indent), ["a"], new)
    assert jsonc.parse(edited) == {"a": [*items, new]}
    at = data.draw(st.integers(0, len(items)))
    left = [*items, new]
    del left[at]
    assert jsonc.parse(jsonc.without(edited, ["a"], at)) == {"a": left}


@given(_OBJECTS, st.text(max_size=3), _JSON)
def test_no_comment_is_lost_by_adding_and_the_rest_reads_the_same(
    value: dict[str, Any], key: str, new: Any
) -> None:
    lines = json.dumps(value, indent=2).split("\n")
    text = "\n".join(f"{line} // {{c}}, {n}" for n, line in enumerate(lines))
    edited = jsonc.with_member(text, [], key, new)
    assert jsonc.parse(edited) == {**value, key: new}
    if key not in value:
        assert all(f"// {{c}}, {n}" in edited for n in range(len(lines)))
        assert jsonc.parse(jsonc.without(edited, [], key)) == value
