"""What a conversation was given is not given again, unless asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest
from mcp_clients import LEGACY, MODERN, connected, http, over_http

import recollect
from recollect.mcp.conversation import GIVEN_S, Conversation, Conversations, Meeting
from recollect.mcp.together import SharedConversations

QUERY = "Who is Alice's manager?"


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_memory_is_given_once_in_a_conversation(
    filled: recollect.Recollect, mode: str
) -> None:
    async with connected(filled, mode) as agent:
        first = await agent("recall", query=QUERY)
        second = await agent("recall", query=QUERY)
    assert [hit["id"] for hit in first.data["results"]] == second.data["already_given"]
    assert second.data["results"] == [] and not second.data["nothing_known"]
    assert "1 already given in this conversation" in second.text and "again=true" in second.text


async def test_asked_again_it_is_given_again(filled: recollect.Recollect) -> None:
    async with connected(filled) as agent:
        first = await agent("recall", query=QUERY)
        second = await agent("recall", query=QUERY, again=True)
    assert second.data["results"] == first.data["results"]


async def test_a_loaded_memory_counts_as_given(filled: recollect.Recollect) -> None:
    known = next(m for m in filled.memories("default") if m.kind is None)
    async with connected(filled) as agent:
        await agent("load_memory", id=known.id)
        assert (await agent("recall", query=QUERY)).data["already_given"] == [known.id]


async def test_what_was_corrected_since_is_new(memory: recollect.Recollect) -> None:
    made = memory.retain("default", "The staging server is called heron.").new[0]
    async with connected(memory) as agent:
        await agent("recall", query="staging server called", min_score=0)
        memory.update("default", made, text="The staging server is called crane.")
        reply = await agent("recall", query="staging server called", min_score=0)
    assert "crane" in reply.text


async def test_those_given_are_not_replaced_by_worse_hits(memory: recollect.Recollect) -> None:
    for n in range(6):
        memory.retain("default", f"Deploy number {n} of the web shop went to region {n}.")
    async with connected(memory) as agent:
        first = await agent("recall", query="deploy web shop", k=3, min_score=0)
        second = await agent("recall", query="deploy web shop", k=4, min_score=0)
    assert len(first.data["results"]) == 3
    assert len(second.data["results"]) == 1 and len(second.data["already_given"]) == 3


async def test_http_sessions_know_nothing_of_each_other(filled: recollect.Recollect) -> None:
    with http(filled) as url:
        async with over_http(url) as one, over_http(url) as two:
            await one("recall", query=QUERY)
            assert (await two("recall", query=QUERY)).data["results"]
            assert not (await one("recall", query=QUERY)).data["results"]


async def test_without_sessions_the_answer_carries_a_name_to_come_back_with(
    filled: recollect.Recollect,
) -> None:
    with http(filled) as url:
        async with over_http(url, MODERN) as agent:
            first = await agent("recall", query=QUERY)
            named = first.data["conversation"]
            assert named in first.text and first.data["results"]
            second = await agent("recall", query=QUERY, conversation=named)
            assert second.data["already_given"] and "conversation" not in second.data
            assert (await agent("recall", query=QUERY)).data["results"]
        async with over_http(url, MODERN, {"Authorization": "Bearer other"}) as stranger:
            assert (await stranger("recall", query=QUERY, conversation=named)).data["results"]


def test_the_conversation_unused_for_longest_goes_first() -> None:
    held = Conversations(most=2)
    first, second = held.of("a"), held.of("b")
    held.of("a")
    held.of("c")
    assert held.of("a") is first and held.of("b") is not second


@pytest.fixture(params=["one process", "several"])
def meeting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Meeting]]:
    """What each process of a server has of its conversations."""
    if request.param == "one process":
        held = Conversations()
        yield lambda: held
        return
    with ExitStack() as stack:

        def opened() -> Meeting:
            return stack.enter_context(closing(SharedConversations(tmp_path / "shared.sqlite")))

        yield opened


def test_a_conversation_has_what_it_was_given(
    meeting: Callable[[], Meeting], filled: recollect.Recollect
) -> None:
    known, other = filled.memories("default")[:2]
    meeting().of((b"me", "a")).give([known])
    held = meeting().of((b"me", "a"))
    assert held.has(known) and not held.has(other)
    assert (held.bank_of(known.id), held.bank_of(other.id)) == ("default", None)
    assert not held.has(replace(known, text="corrected"))
    assert not meeting().of((b"me", "b")).has(known)
    assert not meeting().of((b"you", "a")).has(known)
    meeting().of((b"me", "a")).start_over()
    assert not held.has(known)


def test_what_was_given_long_ago_counts_as_not_given(filled: recollect.Recollect) -> None:
    now = 0.0
    conversation = Conversation(lambda: now)
    known = filled.memories("default")[0]
    conversation.give([known])
    now = GIVEN_S
    assert conversation.has(known)
    now = GIVEN_S + 1
    assert not conversation.has(known) and conversation.bank_of(known.id) == "default"
