"""retain: what may be given, what comes back, and what it is to be the same."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

import recollect
from recollect.errors import InvalidInput
from recollect.types import LinkKind, MemoryType, State

DAY = datetime(2026, 4, 1, tzinfo=UTC)


def texts(memory: recollect.Recollect, bank: str = "b") -> set[str]:
    return {m.text for m in memory.memories(bank)}


# --- forms -------------------------------------------------------------------------------------


def test_a_text_is_a_document_of_memories(memory: recollect.Recollect) -> None:
    result = memory.retain("b", "Alice joined Google last spring because she loves research.")
    (item,) = result.items
    assert memory.document("b", item.document_id or "").memories == len(result.ids) == 1


def test_a_dict_carries_time_context_tags_metadata_and_entities(
    memory: recollect.Recollect,
) -> None:
    result = memory.retain(
        "b",
        {
            "content": "The launch moved to May.",
            "timestamp": "2026-04-01",
            "context": "standup",
            "document_id": "notes",
            "tags": ["team"],
            "metadata": {"n": 1, "deep": {"x": [1, None]}},
            "entities": ["Apollo"],
        },
    )
    found = memory.load("b", result.ids[0])
    assert found.mentioned_at == DAY
    assert (found.context, found.document_id) == ("standup", "notes")
    assert (found.tags, found.metadata) == (("team",), {"n": 1, "deep": {"x": [1, None]}})
    assert "Apollo" in found.entities


def test_a_list_gives_one_outcome_an_item(memory: recollect.Recollect) -> None:
    result = memory.retain("b", ["Bob plays chess.", {"text": "Cara sails."}])
    assert [len(i.memory_ids) for i in result.items] == [1, 1]
    assert texts(memory) == {"Bob plays chess.", "Cara sails."}


def test_a_ready_made_fact_stays_whole_and_keeps_its_fields(memory: recollect.Recollect) -> None:
    given = {
        "text": "First sentence. Second sentence! Third?",
        "type": "experience",
        "occurred_start": "2026-03-01",
        "occurred_end": "2026-03-02",
        "title": "Three",
        "summary": "sum",
        "topic_path": "a/b",
        "recall_when": ["asked"],
        "kind": "lesson",
        "scope": "repo",
        "valid_until": "2027-01-01",
        "last_reviewed_at": "2026-01-01",
        "speaker": "Ann",
    }
    found = memory.load("b", memory.retain("b", given).ids[0])
    assert found.text == given["text"]
    assert (found.title, found.summary, found.topic_path) == ("Three", "sum", "a/b")
    assert (found.kind, found.scope, found.recall_when) == ("lesson", "repo", ("asked",))
    assert found.occurred_start == datetime(2026, 3, 1, tzinfo=UTC)
    assert found.occurred_end == datetime(2026, 3, 3, tzinfo=UTC)  # the second day is included
    assert found.valid_until == datetime(2027, 1, 1, tzinfo=UTC)
    assert (found.type, found.speaker) == (MemoryType.EXPERIENCE, "Ann")


def test_the_type_agent_is_experience(memory: recollect.Recollect) -> None:
    result = memory.retain("b", {"text": "I fixed it", "type": "agent"})
    assert memory.load("b", result.ids[0]).type is MemoryType.EXPERIENCE


def test_turns_keep_speaker_text_and_time(memory: recollect.Recollect) -> None:
    turns = [
        {"speaker": "Ann", "text": "Where did you go?", "time": "2026-04-01T10:00:00Z"},
        {"role": "user", "content": "To Lisbon. It rained.", "timestamp": "2026-04-01T10:01:00Z"},
    ]
    result = memory.retain("b", {"turns": turns, "document_id": "chat"})
    first, second = (memory.load("b", i) for i in result.ids)
    assert (first.speaker, second.speaker) == ("Ann", "user")
    assert second.text == "To Lisbon. It rained."
    assert second.mentioned_at == datetime(2026, 4, 1, 10, 1, tzinfo=UTC)


def test_an_item_of_facts_shares_its_fields(memory: recollect.Recollect) -> None:
    given = {"facts": ["Cara sails.", {"text": "Bob runs.", "tags": ["x"]}], "tags": ["all"]}
    result = memory.retain("b", given)
    assert [memory.load("b", i).tags for i in result.ids] == [("all",), ("x",)]


def test_keyword_arguments_apply_to_every_item(memory: recollect.Recollect) -> None:
    result = memory.retain("b", [{"text": "One."}, {"text": "Two."}], tags=["t"], timestamp=DAY)
    assert {memory.load("b", i).tags for i in result.ids} == {("t",)}
    assert {memory.load("b", i).mentioned_at for i in result.ids} == {DAY}


def test_timestamp_unset_leaves_a_memory_undated(memory: recollect.Recollect) -> None:
    result = memory.retain("b", {"text": "Water boils at 100 degrees", "timestamp": "unset"})
    assert memory.load("b", result.ids[0]).mentioned_at is None


async def test_the_same_verbs_awaited(tmp_path) -> None:
    async with recollect.aopen(tmp_path / "a.db") as memory:
        result = await memory.retain("b", "Alice lives in Lisbon.")
        found = await memory.recall("b", "Where does Alice live?")
    assert found.results[0].id == result.ids[0]


def test_a_retained_fact_is_recalled_with_the_model_that_ships(real: recollect.Recollect) -> None:
    real.retain("b", ["Alice joined Google last spring.", "Bob baked bread.", "Rain fell in Rome."])
    assert real.recall("b", "Who works at Google?").results[0].text.startswith("Alice")


# --- causes ------------------------------------------------------------------------------------


def given_links(memory: recollect.Recollect, memory_id: str) -> set[tuple[str, str, str]]:
    def text(one: str) -> str:
        return memory.load("b", one).text

    causal = [k for k in memory.links("b", memory_id) if k.kind is not LinkKind.SEMANTIC]
    return {(text(k.source), k.kind.value, text(k.target)) for k in causal}


def test_positions_of_causal_relations_count_items_whatever_else_is_given(
    memory: recollect.Recollect,
) -> None:
    result = memory.retain(
        "b",
        [
            {"text": "Rain fell."},
            {"content": "An unrelated note about tea."},
            {"text": "Roads flooded.", "causal_relations": [{"type": "caused_by", "target": 0}]},
            {"text": "Buses halted.", "causal_relations": [{"type": "caused_by", "target": 2}]},
        ],
    )
    assert given_links(memory, result.items[3].memory_ids[0]) == {
        ("Roads flooded.", "causes", "Buses halted."),
        ("Buses halted.", "caused_by", "Roads flooded."),
    }


def test_positions_hold_over_more_facts_than_one_transaction(memory: recollect.Recollect) -> None:
    facts = [{"text": f"Number {n} is odd thing {n * n}"} for n in range(300)]
    facts[299]["causal_relations"] = [{"type": "enables", "target": 3}]  # type: ignore[assignment]
    result = memory.retain("b", {"facts": facts})
    assert given_links(memory, result.ids[299]) == {
        (facts[299]["text"], "enables", facts[3]["text"])
    }


SEEN = {"text": "Ada is a keeper", "type": "observation", "source_ids": ["bees", "hens"]}
PROOF = {
    "document_id": "diary",
    "facts": [
        {"id": "bees", "text": "Ada keeps bees behind the house"},
        {"id": "hens", "text": "Ada bought four brown hens"},
    ],
}


@pytest.mark.parametrize("given", [[SEEN, PROOF], [PROOF, SEEN]])
def test_an_observation_may_name_facts_of_a_document_in_the_same_call(
    memory: recollect.Recollect, given: list[dict[str, object]]
) -> None:
    made = memory.retain("b", given)
    (seen,) = made.items[given.index(SEEN)].memory_ids
    found = memory.load("b", seen)
    assert (found.source_ids, found.proof_count) == (("bees", "hens"), 2)
    memory.forget("b", document_id="diary")
    assert texts(memory) == set()  # derived only from what is gone


def test_what_an_observation_names_may_be_many_facts_away(memory: recollect.Recollect) -> None:
    others = [{"text": f"Shelf {n} holds box {n * 7}"} for n in range(300)]
    last = {"id": "late", "text": "Ada sold the honey at the market"}
    made = memory.retain("b", [{**SEEN, "source_ids": ["late"]}, *others, last])
    assert memory.load("b", made.items[0].memory_ids[0]).source_ids == ("late",)


def test_an_observation_seen_again_may_be_proven_by_a_later_item(
    memory: recollect.Recollect,
) -> None:
    first = memory.retain("b", {"text": "Ada fed the goats"}).ids[0]
    (seen,) = memory.retain("b", {**SEEN, "source_ids": [first]}).ids
    memory.retain("b", [SEEN, PROOF])
    assert memory.load("b", seen).source_ids == (first, "bees", "hens")


OUTAGE = {"content": "The checkout went down at noon.", "timestamp": "2026-03-01T12:00:00Z"}
TEA = {"content": "Bob likes tea.", "timestamp": "2026-03-01T12:00:00Z"}
BILLING = {"content": "The outage of billing lasted a day.", "timestamp": "2026-02-20"}
REASON = {
    "content": "That was because the certificate had expired.",
    "timestamp": "2026-03-01T12:20:00Z",
}
NAMED = {
    "content": "The outage happened because the certificate had expired.",
    "timestamp": "2026-03-04",
}


def caused(memory: recollect.Recollect, cause: str) -> set[str]:
    links = memory.links("b", cause)
    return {k.target for k in links if k.kind is LinkKind.CAUSES and k.source == cause}


@pytest.mark.parametrize(
    ("before", "after", "linked"),
    [
        (OUTAGE, REASON, True),
        ({**OUTAGE, "document_id": "log"}, {**REASON, "document_id": "log", "update_mode": "append"}, True),
        (OUTAGE, {**REASON, "timestamp": "2026-03-02"}, False),
        (OUTAGE, {**REASON, "tags": ["private"]}, False),
        (TEA, REASON, False),
        ({**OUTAGE, "content": "The outage hit the checkout."}, NAMED, True),
        (OUTAGE, {**NAMED, "content": "This happened because of heat."}, False),
        (TEA, NAMED, False),
    ],
)  # fmt: skip
def test_a_cause_told_in_a_later_call_is_linked_to_what_it_explains(
    memory: recollect.Recollect, before: dict[str, Any], after: dict[str, Any], linked: bool
) -> None:
    memory.retain("b", {**BILLING, "timestamp": "2025-01-01"})
    (effect,) = memory.retain("b", before).ids
    (cause,) = memory.retain("b", after).ids
    assert caused(memory, cause) == ({effect} if linked else set())


def test_a_word_names_the_last_of_its_kind(memory: recollect.Recollect) -> None:
    memory.retain("b", BILLING)
    (last,) = memory.retain("b", {**OUTAGE, "content": "The outage hit the checkout."}).ids
    (cause,) = memory.retain("b", NAMED).ids
    assert caused(memory, cause) == {last}


def test_a_cause_outlives_no_document_that_is_replaced(memory: recollect.Recollect) -> None:
    memory.retain("b", {**OUTAGE, "document_id": "log"})
    (cause,) = memory.retain("b", {**REASON, "document_id": "log"}).ids
    assert not caused(memory, cause)


def test_a_stated_cause_becomes_a_link(memory: recollect.Recollect) -> None:
    result = memory.retain(
        "b", ["The dam broke.", "The valley was evacuated because the dam broke."]
    )
    kinds = {k.kind for k in memory.links("b", result.ids[1])} - {LinkKind.SEMANTIC}
    assert kinds == {LinkKind.CAUSES, LinkKind.CAUSED_BY}


# --- what comes back ---------------------------------------------------------------------------


def test_the_result_tells_new_known_and_superseded_apart(memory: recollect.Recollect) -> None:
    first = memory.retain("b", {"text": "Alice works at Google", "timestamp": "2024-01-01"})
    again = memory.retain("b", {"text": "Alice works at Google", "timestamp": "2024-02-01"})
    moved = memory.retain("b", {"text": "Alice works at Meta", "timestamp": "2025-01-01"})
    assert (first.new, first.known, first.superseded) == (first.ids, (), ())
    assert (again.new, again.known) == ((), first.ids)
    assert (moved.new, moved.superseded) == (moved.ids, first.ids)


def test_the_result_times_every_stage(memory: recollect.Recollect) -> None:
    timings = memory.retain("b", "Alice sails.").timings
    assert set(timings) == {"read", "extract", "prepare", "commit", "total"}
    assert all(t >= 0 for t in timings.values())


def test_a_fact_twice_in_one_call_is_new_once_and_never_also_known(
    memory: recollect.Recollect,
) -> None:
    result = memory.retain("b", [{"text": "Bob runs."}, {"text": "Bob runs."}])
    assert len(result.new) == 1
    assert result.known == ()
    assert [i.new for i in result.items] == [1, 0]


@pytest.mark.parametrize(
    ("stamp", "told"),
    [
        ("2023-05-08 22:31", "2023-05-08T22:31"),
        ("May 8, 2023 10:31 PM", "2023-05-08T22:31"),
        ("8 May 2023, 22:31", "2023-05-08T22:31"),
        ("13/05/2023, 22:31:05", "2023-05-13T22:31:05"),
        ("08.05.2023", "2023-05-08"),
        ("08/05/2023, 22:31", "2026-01-02"),  # or is it August?
        ("22:31", "2026-01-02"),
    ],
)
def test_a_turn_is_told_when_its_stamp_says(
    memory: recollect.Recollect, stamp: str, told: str
) -> None:
    memory.retain("b", f"[{stamp}] Ann: I keep bees now.", timestamp="2026-01-02")
    (held,) = memory.memories("b")
    assert (held.speaker, held.text) == ("Ann", "I keep bees now.")
    assert held.mentioned_at == datetime.fromisoformat(told).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("stamps", "told"),
    [
        (("08/05/2023, 22:31", "13/05/2023, 9:02"), ("2023-05-08T22:31", "2023-05-13T09:02")),
        (("5/8/23, 10:31 PM", "5/13/23, 9:02 AM"), ("2023-05-08T22:31", "2023-05-13T09:02")),
        (("08.05.23, 22:31", "09.05.23, 09:02"), ("2023-05-08T22:31", "2023-05-09T09:02")),
        (("2023-05-08 22:31", "2023-05-09 09:02"), ("2023-05-08T22:31", "2023-05-09T09:02")),
        (("5/8/23, 10:31 PM", "5/9/23, 9:02 AM"), ("2023-05-08T22:31", "2023-05-09T09:02")),
        (("08/05/2023, 22:31", "09/05/2023, 09:02"), ("2026-01-02", "2026-01-02")),  # May, or not
        (("08/05/23, 10:31 PM", "09/05/23, 9:02 AM"), ("2026-01-02", "2026-01-02")),
        (("11/12/23, 10:31 PM", "12/11/23, 9:02 AM"), ("2026-01-02", "2026-01-02")),
    ],
)
@pytest.mark.parametrize("form", ["{} - ", "[{}] "])
def test_a_messenger_s_log_is_a_talk_and_its_stamps_tell_how_days_are_written(
    memory: recollect.Recollect, form: str, stamps: tuple[str, str], told: tuple[str, str]
) -> None:
    first, second = map(form.format, stamps)
    log = f"{first}Ann: I keep bees now.\nTwo hives!\n\u200e{second}Bo Lee: Lovely, bring honey."
    memory.retain("b", log, timestamp="2026-01-02")
    held = {m.speaker: (m.text, m.mentioned_at) for m in memory.memories("b")}
    times = [datetime.fromisoformat(each).replace(tzinfo=UTC) for each in told]
    assert held == {
        "Ann": ("I keep bees now.\nTwo hives!", times[0]),
        "Bo Lee": ("Lovely, bring honey.", times[1]),
    }


def test_a_log_that_is_given_again_is_the_same_log(memory: recollect.Recollect) -> None:
    log = "[13/05/2023, 22:31] Ann: Do you keep bees?\n[13/05/2023, 22:32] Bo: Yes.\n"
    first, again = memory.retain("b", log), memory.retain("b", log)
    assert (again.ids, again.new, len(list(memory.documents("b")))) == (first.ids, (), 1)


# --- refusals ----------------------------------------------------------------------------------

REFUSED = [
    (42, "int"),
    ("", "empty"),
    ("   ", "empty"),
    (b"bytes", "bytes"),
    ([b"bytes"], "bytes"),
    ({}, "nothing"),
    ({"content": "a", "text": "b"}, "content and text"),
    ({"text": 7}, "int"),
    ({"text": "a", "tgas": ["x"]}, "tgas"),
    ({"text": "a", "tags": "x"}, "tags"),
    ({"text": "a", "tags": [1]}, "tags"),
    ({"text": "a", "timestamp": "yesterday-ish"}, "yesterday-ish"),
    ({"text": "a", "timestamp": 12.5}, "12.5"),
    ({"text": "a", "metadata": [1]}, "metadata"),
    ({"text": "a", "metadata": {"x": {1, 2}}}, "metadata"),
    ({"text": "a", "metadata": {1: 2}}, "metadata"),
    ({"text": "a", "metadata": {"x": math.nan}}, "metadata"),
    ({"text": "a", "metadata": {"x": [{"y": (math.inf,)}]}}, "metadata"),
    ({"text": "a", "type": "rumour"}, "rumour"),
    ({"text": "a", "confidence": 2}, "confidence"),
    ({"text": "a", "confidence": True}, "confidence"),
    ({"text": "a", "proof_count": 0}, "proof_count"),
    ({"text": "a", "proof_count": "many"}, "proof_count"),
    ({"text": "a", "id": 5}, "id"),
    ({"text": "half \ud800 a character"}, "character"),
    ({"text": "\x00"}, "empty"),
    ({"text": "a", "id": "x\x00"}, "id holds a NUL"),
    ({"content": "a", "document_id": "x\x00"}, "document_id holds a NUL"),
    ({"text": "a", "occurred_start": "2026-02-02", "occurred_end": "2026-01-01"}, "before"),
    ({"text": "a", "update_mode": "merge"}, "merge"),
    ({"text": "a", "causal_relations": "x"}, "causal_relations"),
    ({"text": "a", "causal_relations": [{"type": "causes"}]}, "target"),
    ({"text": "a", "causal_relations": [{"target": 0, "type": "likes"}]}, "likes"),
    ({"text": "a", "causal_relations": [{"target": 0, "kind": "caused_by"}]}, "kind"),
    ({"text": "a", "causal_relations": [{"target": 9}]}, "9"),
    ({"text": "a", "causal_relations": [{"target": "nope"}]}, "nope"),
    ({"text": "a", "source_ids": ["nope"]}, "nope"),
    ({"content": "a", "id": "x"}, "id"),
    ({"turns": "hello"}, "turns"),
    ({"turns": [], "document_id": "d"}, "turns is empty"),
    ({"facts": [], "document_id": "d"}, "facts is empty"),
    ({"turns": [{"speaker": "Ann"}]}, "turn 0"),
    ({"turns": ["hi"]}, "turn 0"),
    ({"facts": [{"title": "no text"}]}, "fact 0"),
    ([{"text": "a", "id": "x"}, {"text": "b", "id": "x"}], "twice"),
]


def test_messages_as_a_language_model_gets_them_are_a_conversation(
    memory: recollect.Recollect,
) -> None:
    memory.retain(
        "b",
        [
            {"role": "user", "content": [{"type": "text", "text": "I am allergic to nuts."}]},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
            {"role": "assistant", "content": "I will keep that in mind."},
        ],
        document_id="chat",
    )
    assert {(m.speaker, m.text, m.document_id) for m in memory.memories("b")} == {
        ("user", "I am allergic to nuts.", "chat"),
        ("assistant", "I will keep that in mind.", "chat"),
    }


def test_messages_among_other_items_are_told_how_to_be_a_conversation(
    memory: recollect.Recollect,
) -> None:
    with pytest.raises(InvalidInput) as raised:
        memory.retain("b", [{"role": "user", "content": "I keep bees."}, "Bees make honey."])
    assert "turns" in (raised.value.hint or "")


@pytest.mark.parametrize(("given", "named"), REFUSED)
def test_what_cannot_be_understood_is_refused_with_a_hint(
    memory: recollect.Recollect, given: object, named: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        memory.retain("b", given)
    assert named in raised.value.message
    assert raised.value.hint


def test_one_bad_item_refuses_the_whole_call(memory: recollect.Recollect) -> None:
    good = [{"text": f"Fact number {n} about {n * 7}"} for n in range(300)]
    with pytest.raises(InvalidInput, match="nope"):
        memory.retain("b", [*good, {"text": "bad", "source_ids": ["nope"]}])
    assert memory.banks() == []


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "nul\x00", 5])
def test_a_bank_needs_a_name(memory: recollect.Recollect, name: object) -> None:
    with pytest.raises(InvalidInput):
        memory.retain(name, "Alice sails.")  # type: ignore[arg-type]


def test_a_refused_plan_teaches_no_names(memory: recollect.Recollect) -> None:
    memory.retain("b", {"text": "Cara sails.", "id": "taken"})
    with pytest.raises(InvalidInput, match="something else"):
        memory.retain(
            "b", [{"text": "Zelda Quux met Marcus"}, {"text": "Other words", "id": "taken"}]
        )
    memory.retain("b", "Zelda likes tea.")
    assert "Zelda Quux" not in {e.name for e in memory.entities("b")}


# --- documents ---------------------------------------------------------------------------------


def test_a_document_given_again_replaces_itself_and_keeps_the_ids_of_what_it_still_says(
    memory: recollect.Recollect,
) -> None:
    first = memory.retain("b", {"facts": ["Bob runs.", "Cara sails."], "document_id": "d"})
    second = memory.retain("b", {"facts": ["Cara sails.", "Dan swims."], "document_id": "d"})
    assert texts(memory) == {"Cara sails.", "Dan swims."}
    assert second.items[0].memory_ids[0] == first.items[0].memory_ids[1]
    assert (len(second.new), second.replaced) == (1, 1)


def test_a_replaced_document_shows_its_new_text_and_its_first_day(
    memory: recollect.Recollect,
) -> None:
    memory.retain("b", {"content": "Version one speaks of apples.", "document_id": "d"})
    before = memory.document("b", "d")
    memory.retain("b", {"content": "Version two speaks of pears.", "document_id": "d"})
    after = memory.document("b", "d")
    assert after.text == "Version two speaks of pears."
    assert after.created_at == before.created_at < after.updated_at


def test_a_replaced_value_of_the_same_document_goes_rather_than_being_superseded(
    memory: recollect.Recollect,
) -> None:
    memory.retain("b", {"content": "Alice works at Google.", "document_id": "d"})
    result = memory.retain("b", {"content": "Alice works at Meta.", "document_id": "d"})
    assert result.superseded == ()
    assert [(m.text, m.state) for m in memory.memories("b")] == [
        ("Alice works at Meta.", State.ACTIVE)
    ]


def test_append_adds_to_a_document(memory: recollect.Recollect) -> None:
    memory.retain("b", {"content": "Bob runs.", "document_id": "d"})
    memory.retain("b", {"content": "Cara sails.", "document_id": "d"}, update_mode="append")
    assert texts(memory) == {"Bob runs.", "Cara sails."}
    assert memory.document("b", "d").text == "Bob runs.\nCara sails."


def test_a_memory_kept_by_another_document_survives_a_replacement(
    memory: recollect.Recollect,
) -> None:
    memory.retain("b", {"content": "Bob runs.", "document_id": "one"})
    memory.retain("b", {"content": "Bob runs.", "document_id": "two"})
    memory.retain("b", {"content": "Something else.", "document_id": "one"})
    (kept,) = [m for m in memory.memories("b") if m.text == "Bob runs."]
    assert (kept.document_id, kept.proof_count) == ("two", 1)


def test_the_same_document_again_is_a_no_op_that_keeps_corrections(
    memory: recollect.Recollect,
) -> None:
    given = {"facts": ["Bob runs.", "Cara sails."], "document_id": "d"}
    first = memory.retain("b", given)
    memory.update("b", first.ids[0], text="Bob walks.")
    again = memory.retain("b", given)
    assert (again.new, again.replaced, again.known) == ((), 0, first.ids[1:])
    assert texts(memory) == {"Bob walks.", "Cara sails."}


# --- retries -----------------------------------------------------------------------------------

RETRIED = [
    {"content": "Bob runs. Cara sails.", "timestamp": "2026-04-01"},
    {"text": "Bob runs.", "timestamp": "2026-04-01"},
    {"facts": ["Bob runs.", "Bob runs."], "timestamp": "2026-04-01", "document_id": "d"},
    {"facts": ["Bob runs.", "Bob runs."], "document_id": "d"},
    {"text": "Bob runs.", "id": "mine"},
    {
        "turns": [
            {"speaker": "Ann", "text": "Yes.", "time": "2026-04-01T10:00:00Z"},
            {"speaker": "Bob", "text": "Tea?", "time": "2026-04-01T10:01:00Z"},
            {"speaker": "Ann", "text": "Yes.", "time": "2026-04-01T10:02:00Z"},
            {"speaker": "Ann", "text": "Yes.", "time": "2026-04-01T10:03:00Z"},
        ]
    },
    {
        "content": "Cara sails.",
        "timestamp": "2026-04-01",
        "document_id": "d",
        "update_mode": "append",
    },
]


@pytest.mark.parametrize("given", RETRIED)
def test_the_same_call_again_changes_nothing(memory: recollect.Recollect, given: dict) -> None:
    def state() -> object:
        return (
            sorted(
                (m.id, m.text, m.proof_count, m.last_mentioned_at) for m in memory.memories("b")
            ),
            [(d.id, d.chunks, d.memories) for d in memory.documents("b")],
        )

    memory.retain("b", given)
    before = state()
    again = memory.retain("b", given)
    assert again.new == ()
    assert state() == before


def test_a_long_retain_tells_how_far_it_is(memory: recollect.Recollect) -> None:
    told: list[tuple[int, int]] = []
    facts = [{"text": f"Fact {n} is about {n * n}"} for n in range(600)]
    memory.retain("b", facts, progress=lambda done, total: told.append((done, total)))
    assert told == [(256, 600), (512, 600), (600, 600)]


def test_an_interrupted_retain_goes_on_where_it_stopped(memory: recollect.Recollect) -> None:
    items = [
        {"facts": [f"Item {n} holds {n * 1000 + k}" for k in range(100)], "document_id": f"d{n}"}
        for n in range(6)
    ]

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.retain("b", items, progress=stop)
    kept = {m.id for m in memory.memories("b", limit=1000)}
    assert 0 < len(kept) < 600
    encoded: list[int] = []
    encode = memory.embedder.encode_passages
    memory.embedder.encode_passages = lambda t: (encoded.append(len(t)), encode(t))[1]  # type: ignore[method-assign]
    result = memory.retain("b", items)
    assert set(result.known) == kept
    assert sum(encoded) == len(result.new) == 600 - len(kept)
    assert {m.proof_count for m in memory.memories("b", limit=1000)} == {1}


def test_repetition_and_duration_are_kept_with_the_memory(memory: recollect.Recollect) -> None:
    given = {"timestamp": "2026-03-02"}
    (often,) = memory.retain("b", {"text": "The choir meets every Monday.", **given}).ids
    (long,) = memory.retain("b", {"text": "The talk went on for three hours.", **given}).ids
    assert memory.load("b", often).recurrence == "FREQ=WEEKLY;BYDAY=MO"
    assert memory.load("b", long).duration_s == 3 * 3600
