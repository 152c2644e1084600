"""Changing, withdrawing and forgetting, one by one, and the proof that nothing is left."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

import recollect
from recollect.errors import InvalidInput, NotFound
from recollect.storage.base import Plan
from recollect.storage.sqlite.store import SqliteStore
from recollect.testing import open_fake
from recollect.types import State


def left_on_disk(db: Path, words: str) -> list[str]:
    """Files of the store that still hold these bytes."""
    return [p.name for p in db.parent.glob(db.name + "*") if words.encode() in p.read_bytes()]


def rows(db: Path) -> dict[str, int]:
    """How many rows each table holds that belong to any memory or document."""
    connection = sqlite3.connect(db)
    names = [
        "memories",
        "features",
        "tokens",
        "documents",
        "chunks",
        "entities",
        "links",
        "evidence",
        "sources",
    ]
    counts = {n: connection.execute(f"SELECT count(*) FROM {n}").fetchone()[0] for n in names}
    connection.close()
    return counts


# --- deletion ----------------------------------------------------------------------------------


def test_a_forgotten_memory_leaves_no_byte_of_its_text(
    memory: recollect.Recollect, db: Path
) -> None:
    result = memory.retain("b", ["Zanzibar exports cloves.", "Bob runs."])
    memory.recall("b", "cloves")
    assert left_on_disk(db, "Zanzibar")
    assert memory.forget("b", result.ids[0]) == 1
    assert left_on_disk(db, "Zanzibar") == []


@pytest.mark.parametrize("verb", ["clear", "forget"])
def test_what_is_told_meanwhile_is_not_set_against_what_goes(
    memory: recollect.Recollect, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    told = memory.retain("b", ["Zanzibar exports cloves.", "Bob runs."])
    commit = SqliteStore.commit

    def after_others(store: SqliteStore, bank: str, plan: Plan) -> int:
        monkeypatch.setattr(SqliteStore, "commit", commit)
        memory.retain("b", [f"Bridge {n} was painted." for n in range(5)])
        return commit(store, bank, plan)

    monkeypatch.setattr(SqliteStore, "commit", after_others)
    if verb == "clear":
        assert memory.clear("b") == 2
    else:
        assert memory.forget("b", told.ids[0]) == 1


def test_a_forgotten_memory_is_cut_out_of_its_document(
    memory: recollect.Recollect, db: Path
) -> None:
    given = {"facts": ["Zanzibar exports cloves.", "Bob runs."], "document_id": "d"}
    result = memory.retain("b", given)
    memory.forget("b", result.ids[0])
    assert left_on_disk(db, "Zanzibar") == []
    assert memory.document("b", "d").text == "Bob runs."


def test_a_forgotten_turn_takes_its_speaker_label_along(memory: recollect.Recollect) -> None:
    turns = [{"speaker": "Ann", "text": "I hid the key."}, {"speaker": "Bob", "text": "Where?"}]
    result = memory.retain("b", {"turns": turns, "document_id": "chat"})
    memory.forget("b", result.ids[0])
    assert memory.document("b", "chat").text == "Bob: Where?"
    assert [h.text for h in memory.recall("b", "Bob")] == ["Where?"]


def test_every_earlier_wording_and_further_mention_goes_too(
    memory: recollect.Recollect, db: Path
) -> None:
    first = memory.retain("b", {"content": "Zanzibar exports cloves.", "document_id": "one"})
    memory.retain("b", {"content": "Zanzibar exports cloves!", "document_id": "two"})
    memory.update("b", first.ids[0], text="Pemba exports cloves.")
    memory.forget("b", first.ids[0])
    assert left_on_disk(db, "Zanzibar") == []
    assert left_on_disk(db, "Pemba") == []
    assert left_on_disk(db, "cloves") == []


def test_a_forgotten_bank_of_one_memory_has_no_rows(memory: recollect.Recollect, db: Path) -> None:
    result = memory.retain("b", {"text": "Zanzibar exports cloves.", "tags": ["spice"]})
    memory.forget("b", result.ids[0])
    assert set(rows(db).values()) == {0}


def test_a_forgotten_document_leaves_nothing_behind(memory: recollect.Recollect, db: Path) -> None:
    memory.retain(
        "b",
        {
            "content": "Zanzibar exports cloves because Pemba grows them. Bob met Cara in Tanga.",
            "document_id": "secret-doc",
            "metadata": {"origin": "leaked-mail"},
        },
    )
    assert memory.forget("b", document_id="secret-doc") >= 1
    for words in ("Zanzibar", "Pemba", "Tanga", "secret-doc", "leaked-mail"):
        assert left_on_disk(db, words) == []
    assert set(rows(db).values()) == {0}


def test_a_deleted_bank_leaves_nothing_and_spares_the_others(
    memory: recollect.Recollect, db: Path
) -> None:
    memory.retain("gone", "Zanzibar exports cloves.")
    memory.retain("stays", "Bob runs.")
    memory.delete_bank("gone")
    assert left_on_disk(db, "Zanzibar") == []
    assert [b.id for b in memory.banks()] == ["stays"]
    assert memory.recall("stays", "Who runs?").results[0].text == "Bob runs."


def test_a_name_that_only_the_forgotten_text_used_is_unlearnt(memory: recollect.Recollect) -> None:
    result = memory.retain("b", {"text": "Alice met Bartholomew Quux."})
    memory.forget("b", result.ids[0])
    memory.retain("b", {"text": "Bartholomew likes tea."})
    assert [e.name for e in memory.entities("b")] == ["Bartholomew"]


def test_a_fuller_name_goes_with_the_text_that_gave_it(
    memory: recollect.Recollect, db: Path
) -> None:
    memory.retain("b", {"text": "Bartholomew likes tea."})
    result = memory.retain("b", {"text": "Bartholomew Quux likes rowing boats."})
    memory.forget("b", result.ids[0])
    assert left_on_disk(db, "Quux") == []
    (left,) = memory.entities("b")
    assert (left.name, left.mentions) == ("Bartholomew", 1)


def test_an_observation_goes_with_its_only_source(memory: recollect.Recollect) -> None:
    source = memory.retain("b", {"text": "Ann ran ten miles."}).ids[0]
    memory.retain("b", {"text": "Ann is sporty", "type": "observation", "source_ids": [source]})
    assert memory.forget("b", source) == 2
    assert memory.memories("b") == []


def test_an_observation_with_other_sources_counts_anew(memory: recollect.Recollect) -> None:
    first, second = memory.retain("b", [{"text": "Ann ran far."}, {"text": "Bob swims."}]).ids
    seen = memory.retain(
        "b", {"text": "They are sporty", "type": "observation", "source_ids": [first, second]}
    ).ids[0]
    memory.forget("b", first)
    left = memory.load("b", seen)
    assert (left.proof_count, left.source_ids) == (1, (second,))


def test_forgetting_the_newer_value_makes_the_older_current_again(
    memory: recollect.Recollect,
) -> None:
    old = memory.retain("b", {"text": "Alice works at Google", "timestamp": "2024-01-01"}).ids[0]
    new = memory.retain("b", {"text": "Alice works at Meta", "timestamp": "2025-01-01"}).ids[0]
    assert memory.load("b", old).superseded_by == new
    memory.forget("b", new)
    assert memory.load("b", old).state is State.ACTIVE
    assert memory.load("b", old).superseded_by is None


def test_forgetting_a_value_in_the_middle_keeps_the_newest_current(
    memory: recollect.Recollect,
) -> None:
    a, b, c = (
        memory.retain("b", {"text": f"Alice works at {who}", "timestamp": f"{year}-01-01"}).ids[0]
        for who, year in (("Google", 2023), ("Meta", 2024), ("Apple", 2025))
    )
    memory.forget("b", b)
    assert memory.load("b", a).superseded_by == c
    assert memory.load("b", c).state is State.ACTIVE


def test_a_document_forgotten_hands_shared_facts_to_the_other_in_its_words(
    memory: recollect.Recollect, db: Path
) -> None:
    memory.retain("b", {"content": "Bob  runs marathons", "document_id": "one"})
    memory.retain("b", {"content": "Bob runs marathons!", "document_id": "two"})
    (kept,) = memory.memories("b")
    assert (kept.text, kept.proof_count) == ("Bob  runs marathons", 2)
    memory.forget("b", document_id="one")
    (kept,) = memory.memories("b")
    assert (kept.text, kept.document_id, kept.proof_count) == ("Bob runs marathons!", "two", 1)
    assert left_on_disk(db, "Bob  runs") == []
    assert memory.recall("b", "marathons").results[0].id == kept.id


def test_a_bank_is_cleared_whose_documents_say_the_same_in_words_of_their_own(
    memory: recollect.Recollect,
) -> None:
    for name, words in (("one", "Bob  runs"), ("two", "Bob runs!"), ("three", "bob runs")):
        memory.retain("b", {"content": words, "document_id": name})
    assert memory.clear("b") == 1
    assert (memory.memories("b"), memory.documents("b")) == ([], [])


def test_a_document_that_only_repeated_a_fact_takes_back_its_proof(
    memory: recollect.Recollect,
) -> None:
    memory.retain("b", {"content": "Bob runs.", "document_id": "one"})
    memory.retain("b", {"content": "Bob runs.", "document_id": "two"})
    memory.forget("b", document_id="two")
    assert [m.proof_count for m in memory.memories("b")] == [1]


def test_a_proof_count_given_by_the_caller_survives_other_deletions(
    memory: recollect.Recollect,
) -> None:
    kept = memory.retain("b", {"text": "Cara sails.", "proof_count": 7}).ids[0]
    memory.retain("b", {"content": "Bob runs.", "document_id": "d"})
    memory.forget("b", document_id="d")
    assert memory.load("b", kept).proof_count == 7


def test_a_forgotten_memory_can_be_learnt_again(memory: recollect.Recollect) -> None:
    given = {"facts": ["Bob runs.", "Cara sails."], "document_id": "d"}
    first = memory.retain("b", given)
    memory.forget("b", first.ids[0])
    again = memory.retain("b", given)
    assert len(again.new) == 1
    assert {m.text for m in memory.memories("b")} == {"Bob runs.", "Cara sails."}


def test_forgetting_what_is_not_there_says_so(memory: recollect.Recollect) -> None:
    memory.retain("b", "Bob runs.")
    for call in (
        lambda: memory.forget("b", "nope"),
        lambda: memory.forget("b", document_id="nope"),
        lambda: memory.delete_bank("nope"),
        lambda: memory.load("b", "nope"),
        lambda: memory.document("b", "nope"),
        lambda: memory.memories("nope"),
        lambda: memory.update("b", "nope", text="x"),
        lambda: memory.memories("b", after="nope"),
    ):
        with pytest.raises(NotFound) as raised:
            call()
        assert raised.value.hint


def test_a_bank_made_anew_shows_nothing_of_the_old_to_another_open_store(
    memory: recollect.Recollect, db: Path
) -> None:
    memory.retain("b", "Zanzibar exports cloves.")
    memory.recall("b", "cloves")
    with open_fake(db) as other:
        other.delete_bank("b")
        other.retain("b", "Bob runs.")
    assert [h.text for h in memory.recall("b", "cloves")] == []
    assert [m.text for m in memory.memories("b")] == ["Bob runs."]


# --- listing -----------------------------------------------------------------------------------


def test_memories_are_listed_newest_first_in_pages(memory: recollect.Recollect) -> None:
    ids = memory.retain("b", [{"text": f"Fact {n} says {n * n}"} for n in range(7)]).ids
    page = memory.memories("b", limit=3)
    rest = memory.memories("b", limit=10, after=page[-1].id)
    assert [m.id for m in page + rest] == list(reversed(ids))


def test_memories_are_listed_by_type_state_and_document(memory: recollect.Recollect) -> None:
    memory.retain("b", {"text": "I think tea is good", "type": "opinion"})
    fact = memory.retain("b", {"text": "Bob runs.", "document_id": "d"}).ids[0]
    memory.invalidate("b", fact)
    assert [m.type for m in memory.memories("b", type="opinion")] == ["opinion"]
    assert [m.id for m in memory.memories("b", state="invalidated")] == [fact]
    assert [m.id for m in memory.memories("b", document_id="d")] == [fact]


def test_documents_are_listed_in_pages(memory: recollect.Recollect) -> None:
    memory.retain("b", [{"content": f"Note {n}.", "document_id": f"d{n}"} for n in range(5)])
    page = memory.documents("b", limit=2)
    rest = memory.documents("b", after=page[-1].id)
    assert [d.id for d in page + rest] == ["d4", "d3", "d2", "d1", "d0"]


def test_a_bank_counts_its_memories_and_documents(memory: recollect.Recollect) -> None:
    memory.retain("b", {"facts": ["Bob runs.", "Cara sails."], "document_id": "d"})
    one = memory.retain("b", {"text": "Dan swims."}).ids[0]
    memory.update("b", one, text="Dan dives.")
    assert (memory.bank("b").memories, memory.bank("b").documents) == (3, 1)
    memory.forget("b", document_id="d")
    assert (memory.bank("b").memories, memory.bank("b").documents) == (1, 0)
    assert memory.stats("b").memories == 1


# --- changes -----------------------------------------------------------------------------------


def test_a_corrected_memory_keeps_its_id_and_its_earlier_wording(
    memory: recollect.Recollect,
) -> None:
    one = memory.retain("b", {"text": "Alice lives in Paris."}).ids[0]
    changed = memory.update("b", one, text="Alice lives in Rome.")
    assert (changed.id, changed.text) == (one, "Alice lives in Rome.")
    assert [m.text for m in memory.revisions("b", one)] == ["Alice lives in Paris."]
    assert [h.text for h in memory.recall("b", "Where does Alice live?")] == [
        "Alice lives in Rome."
    ]


def test_names_of_the_old_wording_go_and_names_given_by_the_caller_stay(
    memory: recollect.Recollect,
) -> None:
    one = memory.retain("b", {"text": "Alice lives in Paris.", "entities": ["Apollo"]}).ids[0]
    changed = memory.update("b", one, text="Alice lives in Rome.")
    assert set(changed.entities) == {"Alice", "Rome", "Apollo"}


def test_a_time_read_from_the_old_wording_is_read_anew(memory: recollect.Recollect) -> None:
    one = memory.retain("b", {"text": "Alice moved on 2024-05-03.", "timestamp": "2026-01-01"})
    changed = memory.update("b", one.ids[0], text="Alice moved on 2024-06-07.")
    assert changed.occurred_start == datetime(2024, 6, 7, tzinfo=UTC)


def test_entities_of_a_correction_are_all_that_it_names(memory: recollect.Recollect) -> None:
    (told,) = memory.retain("b", {"speaker": "Bob", "text": "Alice met Carol."}).new
    assert set(memory.load("b", told).entities) == {"Alice", "Bob", "Carol"}
    assert memory.update("b", told, entities=["Dan"]).entities == ("Dan",)
    assert memory.update("b", told, context="lunch").entities == ("Dan",)
    assert memory.update("b", told, entities=[]).entities == ()
    assert set(memory.update("b", told, text="Alice met Ella.").entities) == {
        "Alice",
        "Bob",
        "Ella",
    }


def test_when_it_was_first_told_is_corrected_and_when_it_was_told_again_stays(
    memory: recollect.Recollect,
) -> None:
    for day in ("2026-03-05", "2026-03-09"):
        memory.retain("b", {"text": "Alice likes tea.", "timestamp": day})
    (held,) = memory.memories("b")
    moved = memory.update("b", held.id, timestamp="2026-02-01")
    times = moved.mentioned_at, moved.last_mentioned_at
    assert [t and t.date().isoformat() for t in times] == ["2026-02-01", "2026-03-09"]
    (once,) = memory.retain("b", {"text": "Bob likes rye.", "timestamp": "2026-03-05"}).new
    gone = memory.update("b", once, timestamp=None)
    assert (gone.mentioned_at, gone.last_mentioned_at) == (None, None)


def test_a_correction_keeps_evidence_and_given_links(memory: recollect.Recollect) -> None:
    cause, effect = memory.retain(
        "b",
        [
            {"text": "Rain fell."},
            {"text": "Roads flooded.", "causal_relations": [{"type": "caused_by", "target": 0}]},
        ],
    ).ids
    memory.retain("b", {"text": "Roads flooded."})
    memory.update("b", effect, text="All roads were flooded.")
    assert memory.load("b", effect).proof_count == 2
    assert {(k.source, k.target) for k in memory.links("b", effect) if k.kind == "causes"} == {
        (cause, effect)
    }


def test_correcting_a_superseded_memory_does_not_make_it_current(
    memory: recollect.Recollect,
) -> None:
    old = memory.retain("b", {"text": "Alice works at Gogle", "timestamp": "2024-01-01"}).ids[0]
    memory.retain("b", {"text": "Alice works at Meta", "timestamp": "2025-01-01"})
    assert memory.update("b", old, text="Alice works at Google").state is State.SUPERSEDED


def test_a_change_of_what_no_model_reads_keeps_the_vectors(memory: recollect.Recollect) -> None:
    one = memory.retain("b", {"text": "Bob runs.", "kind": "lesson"}).ids[0]
    vectors = [m["memory"]["vector"] for m in memory.export("b") if "memory" in m]
    changed = memory.update("b", one, kind="decision", metadata={"a": 1}, valid_until="2030-01-01")
    assert (changed.kind, changed.metadata) == ("decision", {"a": 1})
    assert changed.valid_until == datetime(2030, 1, 1, tzinfo=UTC)
    assert [m["memory"]["vector"] for m in memory.export("b") if "memory" in m] == vectors * 2


def test_such_a_change_keeps_every_link(memory: recollect.Recollect) -> None:
    one = memory.retain("b", [{"text": f"Bob ran {n} miles on the old road"} for n in (3, 9)]).ids[
        0
    ]
    links = memory.links("b", one)
    assert links
    memory.update("b", one, metadata={"a": 1})
    assert memory.links("b", one) == links


def test_every_correction_keeps_the_version_before(memory: recollect.Recollect) -> None:
    one = memory.retain("b", {"text": "Bob runs.", "kind": "lesson"}).ids[0]
    memory.update("b", one, kind="decision")
    memory.update("b", one, metadata={"a": 1})
    memory.review("b", one)
    earlier = memory.revisions("b", one)
    assert [(m.kind, m.metadata) for m in earlier] == [
        ("lesson", {}), ("decision", {}), ("decision", {"a": 1}),
    ]  # fmt: skip
    assert [m.last_reviewed_at for m in earlier] == [None] * 3
    assert memory.load("b", one).last_reviewed_at is not None


def chat(memory: recollect.Recollect) -> list[str]:
    turns = [
        {"speaker": "Ann", "text": "Where did you park?"},
        {"speaker": "Bob", "text": "Behind the barn."},
        {"speaker": "Ann", "text": "Good."},
    ]
    return list(memory.retain("b", {"turns": turns, "document_id": "chat"}).ids)


def answered(memory: recollect.Recollect) -> dict[str, str]:
    """Text of each turn that stands → text of the turn it is read with."""
    made = [m["memory"] for m in memory.export("b") if "memory" in m]
    named = {m["key"]: m["id"] for m in made}
    stands = {m["id"]: m for m in made if m["state"] == "active"}
    return {m["text"]: stands[named[m["before"]]]["text"] for m in stands.values() if m["before"]}


def test_ready_made_turns_answer_each_other_and_keep_their_words(
    memory: recollect.Recollect,
) -> None:
    texts = ["Ann: Where did you park?", "Bob: Behind the barn.", "Deadline: Friday.", "Ann: Good."]
    memory.retain("b", [{"text": text, "timestamp": "2026-03-01"} for text in texts])
    assert answered(memory) == {"Bob: Behind the barn.": "Ann: Where did you park?"}


def test_a_corrected_turn_is_what_the_next_one_answers(memory: recollect.Recollect) -> None:
    first, second, _ = chat(memory)
    memory.update("b", first, text="Where did you hide it?")
    assert answered(memory) == {
        "Behind the barn.": "Where did you hide it?",
        "Good.": "Behind the barn.",
    }
    memory.update("b", second, text="Under the roof.")
    assert answered(memory) == {
        "Under the roof.": "Where did you hide it?",
        "Good.": "Under the roof.",
    }


def test_an_observation_is_not_made_from_itself(memory: recollect.Recollect) -> None:
    seen = {"id": "o", "text": "Eva is well off.", "type": "observation"}
    with pytest.raises(InvalidInput, match="item 0: memory 'o' cannot be its own source"):
        memory.retain("b", {**seen, "source_ids": ["o"]})
    memory.retain("b", [{"id": "a", "text": "Eva bought a boat."}, {**seen, "source_ids": ["a"]}])
    with pytest.raises(InvalidInput, match="memory 'o' cannot be its own source"):
        memory.update("b", "o", source_ids=["a", "o"])


@pytest.mark.parametrize("text", [None, "", " \n", "\x00"])
def test_a_memory_cannot_be_corrected_to_nothing(memory: recollect.Recollect, text: str) -> None:
    memory.retain("b", {"id": "a", "text": "The ferry leaves at nine."})
    with pytest.raises(InvalidInput, match=r"^the text is empty") as refused:
        memory.update("b", "a", text=text)
    assert "forget" in (refused.value.hint or "")


def test_a_corrected_turn_keeps_its_links_to_the_turn_that_answers_it(
    memory: recollect.Recollect,
) -> None:
    turns = [
        {"id": "asked", "text": "Why did the trip fall through?", "speaker": "Ann"},
        {"id": "told", "text": "Because a storm closed the port.", "speaker": "Bob"},
    ]
    memory.retain("b", turns, timestamp="2024-01-01T10:00")
    memory.relate("b", {"told": {"asked": 0.9}})
    memory.update("b", "asked", text="Why did the voyage fall through?")
    related = [k for k in memory.links("b", "told") if k.kind == "related"]
    assert [(k.source, k.target, k.weight) for k in related] == [("told", "asked", 0.9)]


def test_the_answer_to_a_corrected_turn_is_embedded_with_it(memory: recollect.Recollect) -> None:
    def vector_of_the_answer() -> str:
        return next(
            m["memory"]["vector"]
            for m in memory.export("b")
            if m.get("memory", {}).get("text") == "Behind the barn."
            and m["memory"]["state"] == "active"
        )

    first, *_ = chat(memory)
    before = vector_of_the_answer()
    memory.update("b", first, text="Where did you hide it?")
    assert vector_of_the_answer() != before
    memory.update("b", first, text="Where did you park?")
    assert vector_of_the_answer() == before


def test_a_conversation_goes_on_from_what_was_said_last_not_what_was_corrected_last(
    memory: recollect.Recollect,
) -> None:
    first, *_ = chat(memory)
    memory.update("b", first, text="Where did you hide it?")
    memory.retain(
        "b",
        {
            "turns": [{"speaker": "Bob", "text": "Bye."}],
            "document_id": "chat",
            "update_mode": "append",
        },
    )
    assert answered(memory)["Bye."] == "Good."


def test_a_field_can_be_cleared(memory: recollect.Recollect) -> None:
    one = memory.retain("b", {"text": "Bob runs.", "title": "Running"}).ids[0]
    assert memory.update("b", one, title=None).title is None


def test_moving_the_start_of_an_event_forgets_its_old_end(memory: recollect.Recollect) -> None:
    one = memory.retain(
        "b", {"text": "The fair", "occurred_start": "2025-01-01", "occurred_end": "2025-01-05"}
    ).ids[0]
    changed = memory.update("b", one, occurred_start="2026-06-01")
    assert changed.occurred_end == datetime(2026, 6, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "changes",
    [{}, {"state": "x"}, {"txt": "x"}, {"text": ""}, {"tags": "x"}, {"confidence": 0.5}, {"source_ids": ["nope"]}],
)  # fmt: skip
def test_a_change_that_cannot_be_made_is_refused(
    memory: recollect.Recollect, changes: dict
) -> None:
    one = memory.retain("b", {"text": "Bob runs."}).ids[0]
    with pytest.raises(InvalidInput) as raised:
        memory.update("b", one, **changes)
    assert raised.value.hint
    assert memory.load("b", one).text == "Bob runs."


def test_an_observation_gains_sources_when_seen_again(memory: recollect.Recollect) -> None:
    first, second = memory.retain("b", [{"text": "Ann ran far."}, {"text": "Bob swims."}]).ids
    given = {"text": "They are sporty", "type": "observation"}
    seen = memory.retain("b", {**given, "source_ids": [first]}).ids[0]
    memory.retain("b", {**given, "source_ids": [first, second]})
    found = memory.load("b", seen)
    assert (found.proof_count, found.source_ids) == (2, (first, second))


def test_the_caller_can_write_an_observations_sources(memory: recollect.Recollect) -> None:
    first, second = memory.retain("b", [{"text": "Ann ran far."}, {"text": "Bob swims."}]).ids
    seen = memory.retain(
        "b", {"text": "They are sporty", "type": "observation", "source_ids": [first]}
    ).ids[0]
    changed = memory.update("b", seen, source_ids=[first, second])
    assert (changed.proof_count, changed.source_ids) == (2, (first, second))
    memory.forget("b", first)
    assert memory.load("b", seen).source_ids == (second,)


def test_withdrawn_memories_are_not_recalled(memory: recollect.Recollect) -> None:
    one = memory.retain("b", {"text": "Bob runs."}).ids[0]
    assert memory.invalidate("b", one).state is State.INVALIDATED
    assert list(memory.recall("b", "Who runs?")) == []


def test_a_memory_can_be_superseded_by_hand(memory: recollect.Recollect) -> None:
    old, new = memory.retain("b", [{"text": "Use tabs."}, {"text": "Use four spaces."}]).ids
    assert memory.supersede("b", old, new).superseded_by == new


def test_nothing_supersedes_itself(memory: recollect.Recollect) -> None:
    only = memory.retain("b", {"text": "Use tabs."}).ids[0]
    with pytest.raises(InvalidInput, match="cannot replace itself"):
        memory.supersede("b", only, only)
    assert memory.load("b", only).state is State.ACTIVE


def test_memories_do_not_supersede_each_other(memory: recollect.Recollect) -> None:
    given = ["Use tabs.", "Use four spaces.", "Use two spaces."]
    one, two, three = memory.retain("b", [{"text": text} for text in given]).ids
    memory.supersede("b", one, two)
    with pytest.raises(InvalidInput, match="which has replaced it") as caught:
        memory.supersede("b", two, one)
    assert f"restore {one}" in (caught.value.hint or "")
    memory.supersede("b", two, three)
    with pytest.raises(InvalidInput, match="which has replaced it"):
        memory.supersede("b", three, one)
    assert memory.load("b", three).state is State.ACTIVE
    memory.supersede("b", one, three)  # another successor
    memory.restore("b", two)
    assert memory.supersede("b", three, two).superseded_by == two
    with pytest.raises(NotFound, match="has no memory 'nobody'"):
        memory.supersede("b", two, "nobody")


def test_a_circle_that_came_with_a_bank_is_no_trap(memory: recollect.Recollect) -> None:
    one, two, three = memory.retain("b", [{"text": f"Use {n} spaces."} for n in (2, 3, 4)]).ids
    memory.supersede("b", one, two)
    lines = list(memory.export("b"))
    for line in lines:
        if line.get("memory", {}).get("id") == two:
            line["memory"] |= {"state": "superseded", "superseded_by": one}
    memory.import_bank(lines, "old")
    assert memory.load("old", two).superseded_by == one
    assert memory.supersede("old", three, one).superseded_by == one
    assert memory.restore("old", two).state is State.ACTIVE


# --- opinions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "after"),
    [
        ("strong_support", 0.6 + 0.2 * 0.4),
        ("weak_support", 0.6 + 0.05 * 0.4),
        ("neutral", 0.6),
        ("contradiction", 0.3),
        ("strong_contradiction", 0.3),
    ],
)
def test_evidence_moves_an_opinion_by_the_rule(
    memory: recollect.Recollect, evidence: str, after: float
) -> None:
    one = memory.retain("b", {"text": "Tea is good", "type": "opinion", "confidence": 0.6}).ids[0]
    found = memory.reinforce("b", one, evidence)  # type: ignore[arg-type]
    assert found.confidence == pytest.approx(after)
    assert found.weakened is (evidence == "strong_contradiction")


def test_only_opinions_have_a_confidence(memory: recollect.Recollect) -> None:
    one = memory.retain("b", {"text": "Bob runs."}).ids[0]
    with pytest.raises(InvalidInput, match="only opinions"):
        memory.reinforce("b", one, "strong_support")
    with pytest.raises(InvalidInput, match="unknown evidence"):
        memory.reinforce("b", one, "hearsay")  # type: ignore[arg-type]


def opinion(memory: recollect.Recollect, text: str, **more: object) -> recollect.Memory:
    given = {"text": text, "type": "opinion", "confidence": 0.5, **more}
    return memory.load("b", memory.retain("b", given).ids[0])


def test_an_opinion_voiced_again_is_strengthened(real: recollect.Recollect) -> None:
    first = opinion(real, "I think Python is good for scripting.")
    opinion(real, "I think Python is good for scripting.")
    assert (real.load("b", first.id).confidence or 0) > 0.5


def test_an_opposite_opinion_halves_the_confidence(real: recollect.Recollect) -> None:
    first = opinion(real, "I think Python is good for scripting.")
    opinion(real, "I think Python is bad for scripting.")
    assert real.load("b", first.id).confidence == pytest.approx(0.25)


def test_two_opposite_opinions_in_one_call_both_count(real: recollect.Recollect) -> None:
    first = opinion(real, "I think Python is good for scripting.")
    against = {"type": "opinion", "confidence": 0.5}
    real.retain(
        "b",
        [
            {**against, "text": "I think Python is bad for scripting."},
            {**against, "text": "I think Python is terrible for scripting."},
        ],
    )
    assert real.load("b", first.id).confidence == pytest.approx(0.125)


def test_somebody_elses_opinion_moves_nothing(real: recollect.Recollect) -> None:
    first = opinion(real, "Python is good for scripting.", speaker="Ann")
    opinion(real, "Python is bad for scripting.", speaker="Bob")
    opinion(real, "Python is bad for scripting.", speaker="Ann", tags=["private"])
    assert real.load("b", first.id).confidence == 0.5
