"""Hindsight's own client configures banks: old names, new names and names of variables are one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hindsight_client import Hindsight

from .conftest import Server


@pytest.fixture
def client(server: Server) -> Iterator[Hindsight]:
    with Hindsight(base_url=server.url) as opened:
        yield opened


def test_what_a_bank_was_created_with_is_read_from_its_config(client: Hindsight, bank: str) -> None:
    traits = {"skepticism": 5, "literalism": 2, "empathy": 1}
    client.create_bank(bank, mission="Keep the books.", disposition=traits)
    held = client.get_bank_config(bank)["config"]
    assert held["reflect_mission"] == "Keep the books."
    assert {t: held[f"disposition_{t}"] for t in traits} == traits


def test_the_config_of_a_bank_that_says_nothing_is_whole(client: Hindsight, bank: str) -> None:
    client.create_bank(bank)
    held = client.get_bank_config(bank)
    assert held["overrides"] == {}
    assert held["config"]["enable_reranking"] is True
    assert held["config"]["recall_prefer_observations"] is False
    assert held["config"]["disposition_empathy"] == 3
    assert held["config"]["reflect_mission"] is None


def test_of_two_names_of_one_setting_the_last_that_was_said_counts(
    client: Hindsight, bank: str
) -> None:
    client.create_bank(bank, mission="first")
    client.update_bank_config(bank, reflect_mission="second", disposition_empathy=5)
    assert client.create_bank(bank, name="same").mission == "second"
    traits = {"skepticism": 3, "literalism": 3, "empathy": 1}
    last = client.create_bank(bank, mission="third", disposition=traits)
    assert (last.mission, last.disposition.empathy) == ("third", 1)
    assert client.get_bank_config(bank)["config"]["reflect_mission"] == "third"


def test_settings_may_be_named_as_their_variables(
    client: Hindsight, server: Server, bank: str
) -> None:
    client.retain(bank, "Alice joined Google.")
    updates = {"HINDSIGHT_API_ENABLE_TEXT_SEARCH": False, "HINDSIGHT_API_RETAIN_MISSION": "names"}
    with server.client() as http:  # the client's verb has names of its own for them
        path = f"/v1/default/banks/{bank}/config"
        answer = http.patch(path, json={"updates": updates})
        assert answer.json()["overrides"] == {
            "enable_text_search": False,
            "retain_mission": "names",
        }
        wrong = http.patch(path, json={"updates": {"HINDSIGHT_API_ENABLE_RERANKING": "maybe"}})
        assert wrong.status_code == 422
    found = client.recall(bank, "Google")
    assert found.results[0].scores is not None and found.results[0].scores.keyword is None
