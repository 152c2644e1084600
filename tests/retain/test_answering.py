"""Turns given one by one, and who says them: a text that begins with a name is that person's, if there is reason
to think so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import recollect
from recollect.retain.talk import returning
from recollect.types import MemoryType

SOUP = (
    "Ketsia: Did you make the soup?",
    "Wideline: Enough for twenty.",
    "Ketsia: I burned mine.",
    "Wideline: You always do.",
)


def answered(memory: recollect.Recollect, bank: str, ids: Sequence[str]) -> list[str | None]:
    """For each memory the one it was embedded with."""
    view = memory._store.view(bank)  # pyright: ignore[reportPrivateUsage]
    keys = {view.key_of(each): each for each in ids}
    before = view.columns(np.array(list(keys), np.int64)).before
    return [keys.get(int(key)) for key in before]


def chain(ids: Sequence[str]) -> list[str | None]:
    return [None, *ids[:-1]]


@pytest.mark.parametrize("form", ["text", "content"])
def test_names_that_come_back_are_of_those_who_speak(
    memory: recollect.Recollect, form: str
) -> None:
    ids = memory.retain("b", [{form: text} for text in SOUP]).ids
    assert answered(memory, "b", ids) == chain(ids)


def test_a_text_that_is_read_gets_its_speaker(memory: recollect.Recollect) -> None:
    memory.retain("b", [{"content": text} for text in SOUP])
    assert {m.speaker for m in memory.memories("b")} == {"Ketsia", "Wideline"}


def test_a_ready_made_fact_stays_as_it_is_worded(memory: recollect.Recollect) -> None:
    memory.retain("b", [{"text": text} for text in SOUP])
    assert {m.text for m in memory.memories("b")} == set(SOUP)


def test_what_people_say_of_themselves_is_no_experience_of_the_agent(
    memory: recollect.Recollect,
) -> None:
    memory.retain("b", [{"text": text} for text in SOUP])
    assert {m.type for m in memory.memories("b")} == {MemoryType.WORLD}


def test_names_the_bank_knows_speak_in_single_calls(memory: recollect.Recollect) -> None:
    ids = [memory.retain("b", {"text": text}).ids[0] for text in SOUP]
    assert answered(memory, "b", ids)[2:] == chain(ids)[2:]


def test_lines_of_a_report_answer_nobody(memory: recollect.Recollect) -> None:
    report = ["Atlas: all green", "Borealis: delayed by a week", "Atlas: still green"]
    ids = [memory.retain("b", {"text": text}).ids[0] for text in report]
    assert answered(memory, "b", ids) == [None, None, None]


def test_who_speaks_may_stand_in_the_metadata(memory: recollect.Recollect) -> None:
    turns = [text.split(": ") for text in SOUP]
    given = [{"content": said, "metadata": {"speaker": who}} for who, said in turns]
    ids = memory.retain("b", given).ids
    assert memory.load("b", ids[0]).speaker == "Ketsia"
    assert answered(memory, "b", ids) == chain(ids)


def test_who_is_named_as_speaker_speaks_whatever_the_metadata_say(
    memory: recollect.Recollect,
) -> None:
    given = {"text": "Hi there", "speaker": "Ann", "metadata": {"speaker": "spk_0"}}
    (id_,) = memory.retain("b", given).ids
    assert memory.load("b", id_).speaker == "Ann"


def test_quoted_speech_that_comes_back_is_a_talk(memory: recollect.Recollect) -> None:
    turns = [text.split(": ") for text in SOUP]
    ids = memory.retain("b", [{"text": f'{who} said, "{said}"'} for who, said in turns]).ids
    assert answered(memory, "b", ids) == chain(ids)


def test_a_text_of_quoted_lines_is_read_as_turns(memory: recollect.Recollect) -> None:
    turns = [text.split(": ") for text in SOUP]
    memory.retain("b", "\n".join(f'{who} said, "{said}"' for who, said in turns))
    found = [f"{m.speaker}: {m.text}" for m in reversed(memory.memories("b"))]
    assert found == list(SOUP)


def test_a_story_with_quotes_is_no_talk(memory: recollect.Recollect) -> None:
    memory.retain("b", 'Ann said, "Hi."\nThen she left.\nBob said, "Bye."\nAnn said, "So long."')
    assert {m.speaker for m in memory.memories("b")} == {None}


@pytest.mark.parametrize(
    "texts",
    [
        ["Ketsia: hi", "Wideline: hi"],  # nobody comes back
        ["Ketsia: hi", "Ketsia: again"],  # nobody else
        ["Jan: 100", "Feb: 120", "Jan: 90", "Feb: 80"],
        ["Note: milk", "Todo: bread", "Note: eggs"],
        ["Ketsia: hi", "Ketsia: you", "Wideline: hi", *["It rained all day"] * 4],
    ],
)
def test_labels_that_are_nobodys(texts: list[str]) -> None:
    assert returning(texts) == frozenset()
