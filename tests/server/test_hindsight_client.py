"""Hindsight's own client, unmodified, against a real server: the sync face."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hindsight_client import Hindsight
from hindsight_client_api.exceptions import ApiException

from .conftest import Server

ALICE = "Alice joined Google in May 2026 because she loves research."


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[Hindsight]:
    with Hindsight(base_url=server.url) as opened:
        yield opened


def texts(response: object) -> list[str]:
    return [r.text for r in response.results]  # type: ignore[attr-defined]


# --- version and banks -----------------------------------------------------------------------


def test_it_says_which_contract_it_speaks(client: Hindsight) -> None:
    version = client.get_version()
    assert version.api_version == "1.1.0"
    assert version.features.bank_config_api


def test_a_bank_is_created_with_its_profile(client: Hindsight, bank: str) -> None:
    made = client.create_bank(bank, name="Ada", mission="Remember Ada", disposition_empathy=5)
    assert (made.bank_id, made.name, made.mission) == (bank, "Ada", "Remember Ada")
    assert made.disposition.empathy == 5


def test_creating_a_bank_again_changes_only_what_is_said(client: Hindsight, bank: str) -> None:
    client.create_bank(bank, name="Ada", mission="Remember Ada")
    assert client.create_bank(bank, mission="Remember more").name == "Ada"


def test_config_is_read_updated_and_reset(client: Hindsight, bank: str) -> None:
    client.create_bank(bank)
    client.update_bank_config(bank, retain_mission="names only", enable_reranking=False)
    held = client.get_bank_config(bank)
    assert held["overrides"] == {"retain_mission": "names only", "enable_reranking": False}
    assert held["config"]["retain_mission"] == "names only"
    assert client.reset_bank_config(bank)["overrides"] == {}


def test_a_deleted_bank_is_gone(client: Hindsight, bank: str) -> None:
    client.retain(bank, ALICE)
    assert client.delete_bank(bank).success
    with pytest.raises(ApiException) as refused:
        client.list_memories(bank)
    assert refused.value.status == 404


# --- retain ----------------------------------------------------------------------------------


def test_what_is_retained_is_recalled_at_once(client: Hindsight, bank: str) -> None:
    answer = client.retain(bank, ALICE)
    assert (answer.success, answer.items_count, answer.var_async) == (True, 1, False)
    assert texts(client.recall(bank, "When did Alice join Google?")) == [ALICE]


def test_every_field_of_an_item_comes_back(client: Hindsight, bank: str) -> None:
    client.retain(
        bank,
        "The parser was rewritten.",
        timestamp="2026-03-04T05:06:07Z",
        context="stand-up",
        document_id="notes/2026-03",
        metadata={"source": "slack"},
        entities=[{"text": "Atlas", "type": "PROJECT"}],
        tags=["team:a"],
    )
    (found,) = client.recall(bank, "Who rewrote the parser?").results
    assert found.mentioned_at is not None
    assert found.mentioned_at.startswith("2026-03-04T05:06:07")
    assert (found.context, found.document_id) == ("stand-up", "notes/2026-03")
    assert (found.metadata, found.tags) == ({"source": "slack"}, ["team:a"])
    assert found.entities is not None
    assert "Atlas" in found.entities
    assert found.type == "world"
    assert found.chunk_id is not None


def test_an_unset_timestamp_leaves_it_undated(client: Hindsight, bank: str) -> None:
    client.retain(bank, "Frodo carried the ring.", timestamp="unset")
    assert client.recall(bank, "Who carried the ring?").results[0].mentioned_at is None


def test_a_batch_shares_its_document_and_tags(client: Hindsight, bank: str) -> None:
    client.retain_batch(
        bank,
        [{"content": "Bob sails on Mondays.", "tags": ["own"]}, {"content": "Cara paints."}],
        document_id="club",
        document_tags=["all"],
    )
    found = client.list_memories(bank)
    assert {m.document_id for m in found.items} == {"club"}
    assert {frozenset(m.tags) for m in found.items} == {
        frozenset({"own", "all"}),
        frozenset({"all"}),
    }


def test_a_document_is_replaced_and_appended_to(client: Hindsight, bank: str) -> None:
    client.retain(bank, "Bob sails.", document_id="d")
    client.retain(bank, "Bob rows.", document_id="d")
    assert texts(client.recall(bank, "What does Bob do?")) == ["Bob rows."]
    client.retain(bank, "Bob swims.", document_id="d", update_mode="append")
    assert set(texts(client.recall(bank, "What does Bob do?"))) == {"Bob rows.", "Bob swims."}


def test_text_blocks_are_read_in_order_and_images_refused(client: Hindsight, bank: str) -> None:
    client.retain(
        bank, [{"type": "text", "text": "Bob sails."}, {"type": "text", "text": "Cara paints."}]
    )
    assert texts(client.recall(bank, "Bob")) == ["Bob sails.\nCara paints."]
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
    }
    with pytest.raises(ApiException) as refused:
        client.retain(bank, [image])
    assert refused.value.status == 422


# --- recall ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def diary(client: Hindsight) -> str:
    """A bank with two types, tags, times, a document and an observation."""
    client.retain_batch(
        "diary",
        [
            {"content": "Alice moved to Lisbon.", "timestamp": "2026-02-10T10:00:00Z", "tags": ["home"]},
            {"content": "Alice started rock climbing.", "timestamp": "2026-06-10T10:00:00Z",
             "tags": ["sport"]},
            {"content": "Bob repaired the blue kayak in Lisbon.", "timestamp": "2026-06-12T10:00:00Z",
             "tags": ["sport", "home"]},
            {"content": "The office has a new coffee machine.", "timestamp": "2026-09-01T10:00:00Z"},
        ],
    )  # fmt: skip
    return "diary"


def test_tags_filter_before_ranking(client: Hindsight, diary: str) -> None:
    def found(match: str, *tags: str) -> set[str]:
        return {
            t.split()[0]
            for t in texts(
                client.recall(
                    diary, "Lisbon climbing coffee kayak", tags=list(tags), tags_match=match
                )
            )
        }

    assert found("any_strict", "home") == {"Alice", "Bob"}
    assert found("all_strict", "home", "sport") == {"Bob"}
    assert found("any", "home") == {"Alice", "Bob", "The"}
    assert found("exact", "sport") == {"Alice"}


def test_tag_groups_are_boolean(client: Hindsight, diary: str) -> None:
    groups = [{"or": [{"tags": ["home"]}, {"tags": ["sport"]}]}, {"not": {"tags": ["sport"]}}]
    found = client.recall(diary, "Lisbon climbing coffee kayak", tag_groups=groups)
    assert texts(found) == ["Alice moved to Lisbon."]


def test_types_filter(client: Hindsight, diary: str) -> None:
    assert client.recall(diary, "Lisbon", types=["observation"]).results == []


def test_a_window_ranks_what_is_in_it_first(client: Hindsight, diary: str) -> None:
    window = {"start": "2026-06-01T00:00:00", "end": "2026-06-30T23:59:59"}
    found = client.recall(diary, "What did Alice do?", temporal_window=window)
    assert texts(found)[0] == "Alice started rock climbing."
    assert "Alice moved to Lisbon." in texts(found)


def test_query_timestamp_anchors_relative_times(client: Hindsight, diary: str) -> None:
    found = client.recall(
        diary, "What did Alice do last month?", query_timestamp="2026-07-05T12:00:00"
    )
    assert texts(found)[0] == "Alice started rock climbing."


def test_budget_and_max_tokens(client: Hindsight, diary: str) -> None:
    assert len(client.recall(diary, "Lisbon", budget="low", max_tokens=8).results) == 1
    assert len(client.recall(diary, "Lisbon", budget="high", max_tokens=4096).results) > 1


def test_scores_of_every_stage_and_their_floors(client: Hindsight, diary: str) -> None:
    asked = {"query": "Who repaired the blue kayak?", "query_timestamp": "2026-10-01T00:00:00"}
    found = client.recall(diary, **asked).results
    best, last = found[0].scores, found[-1].scores
    assert best is not None
    assert last is not None
    assert best.final > last.final
    assert None not in (best.reranker, best.semantic, best.keyword)
    kept = client.recall(diary, **asked, min_scores={"final": best.final})
    assert [r.id for r in kept.results] == [found[0].id]


def test_chunks_entities_and_trace_come_when_asked_for(client: Hindsight, diary: str) -> None:
    bare = client.recall(diary, "Who repaired the blue kayak?")
    assert (bare.chunks, bare.entities, bare.trace) == (None, None, None)
    found = client.recall(
        diary,
        "Who repaired the blue kayak?",
        include_chunks=True,
        include_entities=True,
        trace=True,
    )
    assert found.chunks is not None
    assert found.chunks[found.results[0].chunk_id].text.startswith("Bob repaired")
    assert found.entities is not None
    assert found.entities["Bob"].canonical_name == "Bob"
    assert found.trace is not None
    assert found.trace["stages"]


def test_observations_bring_their_facts_or_stand_for_them(
    client: Hindsight, server: Server, bank: str
) -> None:
    client.retain_batch(
        bank, [{"content": "Ada had tea on Monday."}, {"content": "Ada had tea on Friday."}]
    )
    ids = [m.id for m in client.list_memories(bank).items]
    with server.client() as http:
        item = {"text": "Ada likes tea.", "type": "observation", "source_ids": ids}
        http.post(f"/v1/default/banks/{bank}/memories", json={"items": [item]}).raise_for_status()
    found = client.recall(bank, "What does Ada drink?", include_source_facts=True)
    assert found.source_facts is not None
    assert set(found.source_facts) == set(ids)
    observation = next(r for r in found.results if r.type == "observation")
    assert set(observation.source_fact_ids or ()) == set(ids)
    preferred = client.recall(bank, "What does Ada drink?", prefer_observations=True)
    assert texts(preferred) == ["Ada likes tea."]


def test_who_asks_for_source_facts_is_told_whether_they_are_all_there(
    client: Hindsight, diary: str
) -> None:
    asked = client.recall(diary, "What is known?", include_source_facts=True)
    assert (asked.source_facts, asked.source_facts_truncated) == (None, False)
    assert client.recall(diary, "What is known?").source_facts_truncated is None


def test_recalling_from_a_bank_that_is_not_there_yet_finds_nothing(
    client: Hindsight, bank: str
) -> None:
    assert client.recall(bank, "Who am I?").results == []


# --- what is not served ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda c, b: c.reflect(b, "Who am I?"),
        lambda c, b: c.list_mental_models(b),
        lambda c, b: c.get_knowledge_base_tree(b),
        lambda c, b: c.list_directives(b),
        lambda c, b: c.export_knowledge_base(b),
    ],
)
def test_what_is_not_served_says_so_and_names_what_to_use(
    client: Hindsight, bank: str, call: object
) -> None:
    with pytest.raises(ApiException) as refused:
        call(client, bank)  # type: ignore[operator]
    assert refused.value.status == 501
    assert "does not serve" in str(refused.value.body)
    assert '"hint"' in str(refused.value.body)
