"""The development sets, where they are present: sizes, gold and splits."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.eval import load
from recollect.eval.load import data_folder
from recollect.eval.splits import Split, by_hash, select

FOLDER = data_folder()
pytestmark = pytest.mark.skipif(FOLDER is None, reason="the development data is not here")


@pytest.mark.parametrize(
    ("path", "units", "queries"),
    [
        ("memory/realmem.json.gz", 5072, 1415),
        ("memory/lifebench_en.json.gz", 21244, 757),
        ("memory/friendsqa_dev.json.gz", 2847, 1182),
        ("memory/longmemeval_abstain_sample.json.gz", 458, 4),
        ("multihop/hotpot_train100", 994, 100),
        ("multihop/musique_train100", 1890, 100),
        ("ir/timeqa", 15655, 1171),
        ("ir/cranfield", 1398, 225),
    ],
)
def test_a_set_is_read_whole(path: str, units: int, queries: int) -> None:
    dataset = load(_at(path))
    assert (sum(1 for _ in dataset.units), sum(1 for _ in dataset.queries)) == (units, queries)


@pytest.mark.parametrize(
    "path", ["memory/realmem.json.gz", "memory/friendsqa_dev.json.gz", "ir/timeqa"]
)
def test_the_splits_share_no_query_and_leave_none_out(path: str) -> None:
    whole = load(_at(path))
    parts = [
        {(b.id, q.id) for b in select(whole, split).banks for q in b.queries} for split in Split
    ]
    assert sum(map(len, parts)) == len(set.union(*parts)) == len(list(whole.queries))


def test_realmem_reports_on_its_last_three_personas() -> None:
    reported = select(load(_at("memory/realmem.json.gz")), Split.REPORTED)
    assert [b.id for b in reported.banks] == ["Pak_Budi", "Sarah_Miller", "Sophie_Dubois"]
    assert sum(1 for _ in reported.queries) == 435


def test_realmem_asks_before_anything_was_noted_of_the_same_talk() -> None:
    bank = load(_at("memory/realmem.json.gz")).banks[0]
    query = bank.queries[0]
    assert query.as_of is not None
    assert query.as_of.isoformat() == "2025-12-28T00:00:59+00:00"
    own = [u for u in bank.units if u.time and u.time.date() == query.as_of.date()]
    assert own
    assert all(u.time is not None and u.time > query.as_of for u in own)


def test_realmem_knows_what_answers_when_it_asks() -> None:
    """Two of the ten people have talks that are dated before talks they follow."""
    known = [
        unit.time is not None and query.as_of is not None and unit.time <= query.as_of
        for bank in load(_at("memory/realmem.json.gz")).banks
        for query in bank.queries
        for unit in bank.units
        if unit.id in query.gold
    ]
    assert sum(known) / len(known) > 0.99


def test_scifact_reports_on_the_published_validation_claims() -> None:
    reported = select(load(_at("ir/scifact")), Split.REPORTED)
    assert sum(1 for _ in reported.queries) == 300


def test_multi_hop_sets_are_only_ever_reported_on() -> None:
    assert not select(load(_at("multihop/musique_train100")), Split.TRAINING).banks


def test_precisionmem_forbids_what_another_scope_holds() -> None:
    dataset = load(_at("memory/precisionmem"))
    query = next(q for q in dataset.queries if q.id == "cross-scope-non-user-edited-blocked")
    assert query.forbidden == ("b-protagonist-entity",)
    assert query.answerable is False


def test_precisionmem_keeps_another_user_in_another_bank() -> None:
    dataset = load(_at("memory/precisionmem"))
    holders = [
        b.id for b in dataset.banks if any(u.id == "b-other-user-leak-check" for u in b.units)
    ]
    asked = [b.id for b in dataset.banks if b.queries]
    assert holders and not set(holders) & set(asked)


def test_a_hash_split_is_near_the_share_it_was_given() -> None:
    parts = [by_hash(f"dialogue {i}", reported=0.2, development=0.1) for i in range(5000)]
    assert 0.17 < parts.count(Split.REPORTED) / len(parts) < 0.23


def _at(path: str) -> Path:
    assert FOLDER is not None
    return FOLDER / path
