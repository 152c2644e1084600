"""Bad arguments are answered with a tool error and a hint; the server lives on."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_clients import connected

import recollect
from recollect.errors import InvalidInput, RecollectError
from recollect.mcp.arguments import Argument, checked
from recollect.mcp.tools import BY_NAME, TOOLS, Tool
from recollect.mcp.verbs import Call


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("recall", {}, "recall needs query"),
        ("recall", {"query": None}, "recall needs query"),
        ("recall", {"query": 7}, "query is 7"),
        ("recall", {"query": "  "}, "the query is empty"),
        ("recall", {"query": "x " * 600}, "hint: ask with the question itself"),
        ("recall", {"qery": "x"}, "did you mean 'query'?"),
        ("recall", {"query": "x", "limit": 3}, "did you mean 'k'?"),
        ("save_memory", {"title": "x", "kind": "lesson"}, "did you mean 'type'?"),
        ("retain", {"text": "x"}, "did you mean 'content'?"),
        ("banks", {"x": 1}, "banks takes none"),
        ("recall", {"query": "x", "k": 0}, "k is 1 or more"),
        ("recall", {"query": "x", "k": 2.5}, "k is a whole number"),
        ("recall", {"query": "x", "verbosity": "lena"}, "did you mean 'lean'?"),
        ("recall", {"query": "x", "max_tokens": True}, "max_tokens is a whole number"),
        ("recall", {"query": "x", "min_score": 7}, "min_score is 1 or less"),
        ("recall", {"query": "x", "types": ["fact"]}, "types is one of world"),
        ("recall", {"query": "x", "tags": {"a": 1}}, "tags is a list of texts"),
        ("recall", {"query": "x", "as_of": "someday"}, "as_of"),
        ("recall", {"query": "x", "again": "perhaps"}, "again is true or false"),
        ("load_memory", {"id": "nothing"}, "has no memory 'nothing'"),
        ("load_memory", {"id": "x", "bank": "nope"}, "banks: default, other"),
        ("retain", {"content": "  "}, "hint:"),
        ("retain", {"content": "x", "bank": " "}, "no name for a bank"),
        ("retain", {"content": "x", "timestamp": "someday"}, "timestamp"),
        ("forget", {}, "forget what?"),
        ("forget", {"id": "a", "document_id": "b"}, "not both"),
        ("forget", {"document_id": "nothing"}, "hint:"),
        ("why", {"query": "x", "id": "nothing"}, "has no memory"),
        ("remember", {}, "there is no tool 'remember'"),
    ],
)
async def test_a_bad_call_is_told_what_to_send_instead(
    filled: recollect.Recollect, tool: str, arguments: dict[str, Any], said: str
) -> None:
    async with connected(filled) as agent:
        reply = await agent(tool, **arguments)
        assert reply.failed and said in reply.text and "hint:" in reply.text
        assert not (await agent("banks")).failed


async def test_a_failure_that_nobody_foresaw_is_a_tool_error(
    memory: recollect.Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.retain("default", "The staging server is called heron.")

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(memory, "recall", broken)
    async with connected(memory) as agent:
        reply = await agent("recall", query="staging")
        assert reply.failed and "recall failed unexpectedly" in reply.text
        assert not (await agent("banks")).failed


def test_lists_and_numbers_in_quotes_are_taken_as_meant() -> None:
    arguments = {"query": "x", "k": "3", "tags": '["a", "b"]', "types": "world", "again": "true"}
    assert checked("recall", BY_NAME["recall"].arguments, arguments) == {
        "query": "x",
        "k": 3,
        "tags": ["a", "b"],
        "types": ["world"],
        "again": True,
    }


_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=3), below, max_size=2)
    ),
    max_leaves=5,
)


@given(st.sampled_from(TOOLS), st.data())
def test_whatever_is_sent_is_taken_or_refused(tool: Any, data: st.DataObject) -> None:
    names = st.sampled_from([*tool.arguments, "other"])
    given_ = data.draw(st.dictionaries(names, _VALUES, max_size=4))
    try:
        read = checked(tool.name, tool.arguments, given_)
    except InvalidInput as error:
        assert error.hint
    else:
        assert set(read) == {name for name, value in given_.items() if value is not None}


_WORDS = st.sampled_from(
    ["heron", "default", "other", "how", "2026-01-01", "notes", "\x00", "é", " "]
)
_TEXTS = st.lists(_WORDS, min_size=1, max_size=4).map(" ".join)


def _values(argument: Argument) -> st.SearchStrategy[Any]:
    """What the schema allows, and a little of what the store makes of it."""
    chosen = st.sampled_from(argument.choices) if argument.choices else _TEXTS
    return {
        "text": chosen,
        "texts": st.lists(chosen, max_size=3),
        "whole": st.integers(int(argument.least or 0), int(argument.most or 9999)),
        "number": st.floats(argument.least or 0, argument.most or 1),
        "flag": st.booleans(),
    }[argument.kind]


@given(st.sampled_from(TOOLS), st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_the_schema_allows_is_answered_as_promised_or_refused(
    memory: recollect.Recollect, tool: Tool, data: st.DataObject
) -> None:
    fields = {name: _values(argument) for name, argument in tool.arguments.items()}
    needed = {name for name, argument in tool.arguments.items() if argument.required}
    optional = {name: value for name, value in fields.items() if name not in needed}
    arguments = data.draw(
        st.fixed_dictionaries({name: fields[name] for name in needed}, optional=optional)
    )
    try:
        answer = tool.run(Call(memory, "default"), checked(tool.name, tool.arguments, arguments))
    except RecollectError as error:
        assert error.message
    else:
        jsonschema.validate(answer.structured, dict(tool.gives))
        assert answer.text
