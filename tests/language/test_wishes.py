"""What is said once and meant for every request that follows, and what such a request looks like."""

from __future__ import annotations

import pytest

from recollect.language.wishes import is_request, states_wish


@pytest.mark.parametrize(
    "text",
    [
        "When you give me recipes, please always use grams.",
        "I'd rather have printed books than PDFs.",
        "From now on, end every plan with a checklist.",
        "I prefer libraries without many dependencies.",
        "Please don't suggest anything with nuts.",
        "I can’t stand long introductions.",
        "One rule here: we never mock the database.",
    ],
)
def test_a_wish_is_known(text: str) -> None:
    assert states_wish(text, "user")


@pytest.mark.parametrize(
    "text", ["We moved to Lyon in May.", "The boiler was made in 1987.", "Deploys run at noon."]
)
def test_a_fact_is_no_wish(text: str) -> None:
    assert not states_wish(text, "user")


@pytest.mark.parametrize("speaker", ["assistant", "Assistant", "agent"])
def test_advice_is_no_wish(speaker: str) -> None:
    assert not states_wish("Always back up before you upgrade.", speaker)


@pytest.mark.parametrize(
    "query",
    [
        "Could you show me how to bake the rye loaf?",
        "Draft a letter to the landlord.",
        "Ok, plan the next week.",
        "How do we divide the three Saturdays?",
        "What should I put on the table for twelve people?",
        "I'd like a schedule for the move.",
        "How could the reminders be sent, what do you think?",
    ],
)
def test_a_request_is_known(query: str) -> None:
    assert is_request(query)


@pytest.mark.parametrize(
    "query",
    [
        "Where does Alice work?",
        "When did Nora go camping?",
        "What did I decide about the boiler?",
        "Would Caroline rather live in the city?",
        "Which books has Theo read?",
    ],
)
def test_a_question_is_no_request(query: str) -> None:
    assert not is_request(query)
