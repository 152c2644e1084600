"""Graph arm: one expansion over bounded links; a high budget walks on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from recollect import Arm, Recollect
from recollect.recall.arms.graph import PER_ENTITY, SEEDS, graph, link_score
from recollect.recall.request import recall_request
from recollect.recall.understand import understand
from recollect.storage.base import Filter, Found
from recollect.types import LinkKind

from .banks import ids_of, key_of, view_of

CAUSAL = {LinkKind.CAUSES, LinkKind.CAUSED_BY, LinkKind.ENABLES, LinkKind.PREVENTS}


@pytest.fixture(scope="module")
def linked(memory: Recollect) -> str:
    """Facts with shared names, near-repeats (semantic links) and given causes."""
    names = ["Alice", "Bruno", "Chidi", "Dalia"]
    facts: list[dict[str, Any]] = [
        {"id": f"p{i}", "text": f"{names[i % 4]} presented the {thing} to {names[(i + 1) % 4]}."}
        for i, thing in enumerate(
            ["budget", "roadmap", "survey", "prototype", "contract", "schedule"]
        )
    ]
    facts += [
        {"id": "near1", "text": "The office in Lisbon has a large terrace with lemon trees."},
        {"id": "near2", "text": "The Lisbon office has a big terrace with many lemon trees."},
        {"id": "cause", "text": "Heavy rain flooded the server room."},
        {
            "id": "effect",
            "text": "The booking system went offline for two days.",
            "causal_relations": [{"type": "caused_by", "target": 8, "weight": 0.9}],
        },
        {
            "id": "later",
            "text": "Customers received a refund voucher.",
            "causal_relations": [{"type": "caused_by", "target": 9, "weight": 0.6}],
        },
        {
            "id": "blocker",
            "text": "A backup line was installed.",
            "causal_relations": [{"type": "prevents", "target": 9, "weight": 0.4}],
        },
    ]
    memory.retain("graph", facts, timestamp="2026-02-01")
    return "graph"


def exported(memory: Recollect, bank: str) -> tuple[dict[int, set[int]], list[Mapping[str, Any]]]:
    lines = list(memory.export(bank))
    entities = {
        m["key"]: set(m["entity_ids"]) for m in (x["memory"] for x in lines if "memory" in x)
    }
    return entities, [x["link"] for x in lines if "link" in x]


@pytest.mark.parametrize(
    "seeds", [["p0"], ["p1", "near1"], ["effect"], ["cause", "p2", "p3"], ["near2", "later"]]
)
def test_a_score_is_tanh_of_half_the_shared_entities_plus_semantic_plus_causal(
    memory: Recollect, linked: str, seeds: list[str]
) -> None:
    view = view_of(memory, linked)
    start = {key_of(view, s) for s in seeds}
    entities, links = exported(memory, linked)
    asked = set().union(*(entities[k] for k in start))

    def weight(key: int, causal: bool) -> float:
        ends = [
            k["weight"] for k in links
            if (LinkKind(k["kind"]) in CAUSAL) == causal
            and ((k["source"] in start and k["target"] == key) or (k["target"] in start and k["source"] == key))
        ]  # fmt: skip
        return max(ends, default=0.0)

    expansion = view.expand(np.array(sorted(start)), Filter(), PER_ENTITY, ())
    got = dict(zip(expansion.keys.tolist(), link_score(expansion).tolist(), strict=True))
    expected = {
        key: math.tanh(0.5 * len(held & asked)) + weight(key, False) + weight(key, True)
        for key, held in entities.items()
    }
    assert got == pytest.approx({k: v for k, v in expected.items() if v > 0}, abs=1e-5)
    assert all(0 < v <= 3 for v in got.values())


def test_semantic_links_carry_a_cosine_of_at_least_0_7(memory: Recollect, linked: str) -> None:
    view = view_of(memory, linked)
    expansion = view.expand(np.array([key_of(view, "near1")]), Filter(), PER_ENTITY, ())
    at = expansion.keys.tolist().index(key_of(view, "near2"))
    assert 0.7 <= expansion.semantic[at] <= 1


@pytest.mark.parametrize(
    ("one", "other"), [("cause", "effect"), ("effect", "later"), ("blocker", "effect")]
)
def test_causal_links_lead_both_ways(memory: Recollect, linked: str, one: str, other: str) -> None:
    view = view_of(memory, linked)
    for source, target in ((one, other), (other, one)):
        edges = view.edges(np.array([key_of(view, source)]), Filter(), 50)
        assert key_of(view, target) in edges.target[edges.causal != 0].tolist()


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("Why did the booking system go offline?", "effect", "cause"),
        ("What happened after heavy rain flooded the server room?", "cause", "effect"),
    ],
)
def test_a_recall_follows_causes_both_ways(
    memory: Recollect, linked: str, query: str, start: str, end: str
) -> None:
    one_seed = {"semantic": 0.3}
    hits = {hit.id: hit for hit in memory.recall(linked, query, min_scores=one_seed)}
    assert list(hits)[:2] == [end, start]
    assert hits[end].arms[Arm.GRAPH].rank == 1


LAYOFFS: list[dict[str, Any]] = [
    {"id": "layoffs", "text": "There were layoffs at Acme."},
    {
        "id": "cause",
        "text": "Acme lost its biggest customer.",
        "causal_relations": [{"type": "causes", "target": 0}],
    },
    {
        "id": "effect",
        "text": "Many people started looking for new jobs.",
        "causal_relations": [{"type": "caused_by", "target": 0}],
    },
    {"id": "other", "text": "The canteen at Acme serves soup."},
]


@pytest.fixture(scope="module")
def layoffs(memory: Recollect) -> str:
    memory.retain("graph-layoffs", LAYOFFS)
    return "graph-layoffs"


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("Why were there layoffs?", "cause"),
        ("What caused the layoffs at Acme?", "cause"),
        ("What was the reason for the layoffs?", "cause"),
        ("What did the layoffs lead to?", "effect"),
        ("What happened because of the layoffs?", "effect"),
        ("What were the consequences of the layoffs?", "effect"),
    ],
)
def test_the_side_that_is_asked_for_comes_first_and_then_what_restates_the_question(
    memory: Recollect, layoffs: str, query: str, asked: str
) -> None:
    found = memory.recall(layoffs, query, min_score=0.0)
    assert [hit.id for hit in found][:2] == [asked, "layoffs"]


def test_links_support_the_side_that_is_asked_for_alone(memory: Recollect, layoffs: str) -> None:
    found = memory.recall(layoffs, "Why were there layoffs?", min_score=0.0)
    led_to = {hit.id: "a good hit leads here" in str(hit.explanation) for hit in found}
    assert led_to["cause"] and not led_to["effect"]


def test_what_tells_the_cause_itself_stands_behind_nothing(memory: Recollect) -> None:
    facts: list[dict[str, Any]] = [
        {"id": "told", "text": "There were layoffs at Acme because the biggest customer left."},
        {
            "id": "cause",
            "text": "Globex cancelled its contract.",
            "causal_relations": [{"type": "causes", "target": 0}],
        },
    ]
    memory.retain("graph-told", facts)
    found = memory.recall("graph-told", "Why were there layoffs?", min_score=0.0)
    assert [hit.id for hit in found] == ["told", "cause"]


def test_of_two_memories_that_cause_each_other_the_stronger_link_is_shown(
    memory: Recollect,
) -> None:
    facts: list[dict[str, Any]] = [
        {"id": "a", "text": "Rents rose."},
        {
            "id": "b",
            "text": "Shops closed.",
            "causal_relations": [
                {"type": "causes", "target": 0, "weight": 0.9},
                {"type": "caused_by", "target": 0, "weight": 0.5},
            ],
        },
    ]
    memory.retain("graph-mutual", facts)
    ties = memory.linked("graph-mutual", ["a", "b"])
    assert [round(weight, 4) for _, _, causal, weight in ties if causal] == [0.9]


@pytest.mark.parametrize(
    ("query", "side"),
    [
        ("Why did Alice leave?", -1),
        ("What led to the outage?", -1),
        ("What finally prevented the merger?", -1),
        ("Pourquoi la réunion a-t-elle été annulée ?", -1),
        ("What did the outage lead to?", 1),
        ("What effect did the outage have?", 1),
        ("What happened after the outage?", 1),
        ("Why did the rain cause an outage?", 0),
        ("Where did Alice go?", 0),
    ],
)
def test_a_query_says_which_side_it_asks_for(
    memory: Recollect, linked: str, query: str, side: int
) -> None:
    asked = recall_request(query, now=datetime(2026, 11, 15, tzinfo=UTC))
    assert understand(asked, view_of(memory, linked).resolver).side == side


def test_the_cause_of_the_best_hit_is_part_of_the_answer(memory: Recollect, linked: str) -> None:
    context = memory.recall(linked, "Why did the booking system go offline?").as_context()
    assert "Heavy rain flooded the server room." in context


def test_seeds_are_the_twenty_best_by_meaning() -> None:
    assert SEEDS == 20


def test_an_entity_leads_to_its_fifty_newest_memories_at_most(memory: Recollect) -> None:
    memory.retain(
        "graph-fan", [{"id": f"f{i}", "text": f"Zelda counted {i} herons."} for i in range(64)]
    )
    view = view_of(memory, "graph-fan")
    expansion = view.expand(np.array([key_of(view, "f3")]), Filter(), PER_ENTITY, ())
    by_name = expansion.keys[expansion.shared_entities > 0]
    assert ids_of(view, by_name) == [f"f{i}" for i in range(14, 64)]


def test_what_the_filter_hides_takes_no_link_away(memory: Recollect) -> None:
    """Six stronger links lead to memories that may not be seen; the seventh is followed."""
    hidden = [
        {"id": f"h{i}", "text": f"Crate {i} was weighed.", "tags": ["hidden"]} for i in range(6)
    ]
    seen = {"id": "seen", "text": "Bread got dearer.", "tags": ["open"]}
    links = [{"type": "causes", "target": i, "weight": 1.0 if i < 6 else 0.5} for i in range(7)]
    start = {
        "id": "start",
        "text": "Fog lay over the quay.",
        "tags": ["open"],
        "causal_relations": links,
    }
    memory.retain("graph-hidden", [*hidden, seen, start])
    result = memory.recall(
        "graph-hidden", "fog over the quay", tags=["open"], tags_match="any_strict", expand_hops=1,
        without=["graph"], min_scores={"semantic": 0.3}, min_score=0.0,
    )  # fmt: skip
    assert [(h.id, h.hop) for h in result] == [("start", 0), ("seen", 1)]


def test_a_pair_linked_in_both_directions_counts_once(memory: Recollect, linked: str) -> None:
    view = view_of(memory, linked)
    edges = view.edges(np.array([key_of(view, "effect")]), Filter(), 50)
    pairs = list(zip(edges.target.tolist(), edges.causal.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))


# --- walking on --------------------------------------------------------------------------------


def arm(
    memory: Recollect, bank: str, seed: str, *, walk: bool, depth: int = 1000
) -> dict[str, float]:
    view = view_of(memory, bank)
    asked = recall_request("nobody and nothing", now=datetime(2026, 11, 15, tzinfo=UTC))
    query = understand(asked, view.resolver)
    assert not query.entities
    found = graph(
        view,
        query,
        Found(np.array([key_of(view, seed)]), np.array([0.8], np.float32)),
        Filter(),
        depth,
        walk,
    )
    return dict(zip(ids_of(view, found.keys), found.scores.tolist(), strict=True))


@pytest.fixture(scope="module")
def chain(memory: Recollect) -> str:
    """s0 → s1 → … → s5, linked by cause alone: nothing else connects them."""
    texts = [
        "A valve froze overnight.", "Pump four ran dry.", "The orchard lost its water.",
        "Pears stayed small.", "Jam prices rose in town.", "The bakery dropped its pear tart.",
    ]  # fmt: skip
    facts: list[dict[str, Any]] = [
        {
            "id": f"s{i}",
            "text": t,
            **(
                {"causal_relations": [{"type": "caused_by", "target": i - 1, "weight": 0.5}]}
                if i
                else {}
            ),
        }
        for i, t in enumerate(texts)
    ]
    memory.retain("graph-chain", facts)
    return "graph-chain"


def test_one_expansion_reaches_one_link_far(memory: Recollect, chain: str) -> None:
    found = arm(memory, chain, "s0", walk=False)
    assert "s1" in found and "s3" not in found


def test_a_high_budget_walks_to_the_end_of_the_chain_and_weakens_on_the_way(
    memory: Recollect, chain: str
) -> None:
    found = arm(memory, chain, "s0", walk=True)
    assert {"s1", "s2", "s3", "s4"} <= set(found)
    assert found["s2"] > found["s3"] > found["s4"] > 0


def test_a_walk_ends_on_a_ring(memory: Recollect) -> None:
    ring: list[dict[str, Any]] = [
        {"id": f"r{i}", "text": t}
        for i, t in enumerate(("Tides rose.", "Boats left.", "Nets dried."))
    ]
    ring[1]["causal_relations"] = [{"type": "caused_by", "target": 0, "weight": 1.0}]
    ring[2]["causal_relations"] = [
        {"type": "caused_by", "target": 1, "weight": 1.0},
        {"type": "causes", "target": 0, "weight": 1.0},
    ]
    memory.retain("graph-ring", ring)
    assert set(arm(memory, "graph-ring", "r0", walk=True)) >= {"r1", "r2"}


def test_a_walk_visits_no_more_nodes_than_the_budget(memory: Recollect, linked: str) -> None:
    assert len(arm(memory, linked, "p0", walk=True, depth=3)) == 3


HOBBIES = [
    "climbing",
    "pottery",
    "chess",
    "rowing",
    "birdwatching",
    "baking",
    "karate",
    "origami",
    "sailing",
    "fencing",
]
PLACES = ["Oslo", "Lima", "Quito", "Hanoi", "Tunis", "Perth", "Turin", "Gdansk", "Bergen", "Malaga"]
CHAIN = [
    {"id": "hop1", "text": "Alice's manager is Priya Raman."},
    {"id": "hop2", "text": "Priya Raman leads the Falcon team."},
    {"id": "hop3", "text": "The Falcon team worked on the Meridian billing migration."},
]  # fmt: skip


@pytest.fixture(scope="module")
def office(memory: Recollect) -> str:
    first = ["Nora", "Owen", "Petra", "Quinn", "Rosa", "Sven", "Tara", "Umar", "Vera", "Will"]
    last = ["Adler", "Boone"]
    others = [
        {"text": f"{f} {n} spent the weekend {h} near {p}."}
        for i, f in enumerate(first) for j, n in enumerate(last)
        for h, p in [(HOBBIES[(i + j + k) % 10], PLACES[(3 * i + 7 * j + k) % 10]) for k in range(10)]
    ]  # fmt: skip
    made = memory.retain("graph-office", [*others[:100], *CHAIN, *others[100:]])
    assert len(made.new) >= 203
    return "graph-office"


MANAGERS_TEAM = "What did Alice's manager's team work on?"


def test_alices_managers_team_is_found_over_three_hops(memory: Recollect, office: str) -> None:
    result = memory.recall(office, MANAGERS_TEAM, budget="high")
    assert "hop3" in [h.id for h in result.results[:5]]


def test_a_chain_leads_over_a_group_called_by_an_everyday_word(memory: Recollect) -> None:
    memory.retain(
        "meridian",
        [
            "Priya's manager is Tomás Oliveira.",
            "Tomás Oliveira leads the Meridian group.",
            {"id": "answer", "text": "The Meridian group is building the claims warehouse."},
            "Jonas plays chess with Tomás Oliveira.",
            "Mei Lin is building a shed.",
        ],
        timestamp="2026-01-05",
    )
    result = memory.recall("meridian", "What is Priya's manager's group building?", budget="high")
    assert result.results[0].id == "answer"


def test_a_walk_prefers_the_chain_to_rivals_of_the_same_form(memory: Recollect) -> None:
    """Twenty other teams worked on something, too; only one is that of Alice's manager."""
    who = ["Nora", "Owen", "Petra", "Quinn", "Rosa", "Sven", "Tara", "Umar", "Vera", "Will"]
    boss = [
        "Adler",
        "Boone",
        "Crane",
        "Doyle",
        "Ellis",
        "Frost",
        "Grant",
        "Hayes",
        "Irwin",
        "Joyce",
    ]
    team = [
        "Otter",
        "Heron",
        "Badger",
        "Lynx",
        "Raven",
        "Tiger",
        "Viper",
        "Bison",
        "Moose",
        "Gecko",
    ]
    work = ["search index", "login page", "tax report", "photo import", "data export",
            "fraud alarm", "price feed", "mail digest", "speech model", "map tiles"]  # fmt: skip
    rivals = [
        {"text": text}
        for i in range(10)
        for text in (
            f"{who[i]}'s manager is {boss[i]}.",
            f"{boss[i]} leads the {team[i]} team.",
            f"The {team[i]} team worked on the {work[i]}.",
        )
    ]
    memory.retain("graph-rivals", [*rivals[:15], *CHAIN, *rivals[15:]])
    result = memory.recall("graph-rivals", MANAGERS_TEAM, budget="high")
    ranks = {h.id: i for i, h in enumerate(result.results)}
    worked = [h for h in result if "worked on" in h.text]
    assert worked[0].id == "hop3", (ranks.get("hop3"), [h.text for h in worked[:3]])
