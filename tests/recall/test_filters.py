"""Filters act inside every arm: what is outside never appears and never takes a slot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect import Arm, Recollect
from recollect.language.dates import to_micros
from recollect.recall.pipeline import rank
from recollect.recall.request import lets_see, recall_request, tag_filter
from recollect.telemetry import Run

from .banks import only, view_of

TAGS = ["a", "b", "c", "d"]
TYPES = ["world", "experience", "observation", "opinion"]
START = datetime(2025, 1, 1, tzinfo=UTC)
THINGS = ["kettle", "lamp", "ladder", "violin", "tent", "drill", "canoe", "sofa", "clock", "stove"]
QUERIES = [
    "Who borrowed the kettle or the lamp?",
    "violin",
    "What did Nadia return in March 2025?",
    "tent and canoe",
]


@pytest.fixture(scope="module")
def mixed(memory: Recollect) -> str:
    """60 memories of every type, tagged at random, learned over a year; some later corrected."""
    random = Random(11)
    facts = [
        {
            "id": f"m{i}",
            "text": f"{random.choice(['Nadia', 'Oskar', 'Priya'])} {random.choice(['borrowed', 'returned', 'sold'])} "
            f"the {THINGS[i % 10]} number {i}.",
            "type": random.choice(TYPES),
            "tags": random.sample(TAGS, random.randint(0, 3)),
            "timestamp": START + timedelta(days=6 * i),
        }
        for i in range(60)
    ]
    memory.retain("mixed", facts)
    memory.update("mixed", "m5", text="Nadia borrowed the drill number 5.", tags=["a", "d"])
    memory.update("mixed", "m15", text="Priya sold the drill number 15.")
    memory.invalidate("mixed", "m7")
    memory.invalidate("mixed", "m20")
    memory.supersede("mixed", "m8", "m18")
    return "mixed"


@pytest.fixture(scope="module")
def shallow(reopen: Callable[..., Recollect]) -> Recollect:
    """Arms only eight deep, so that a slot wrongly taken is a slot missing."""
    return reopen(budget_low=8, budget_mid=8, budget_high=8)


# --- the predicate, by brute force over an export ----------------------------------------------


def leaf(tags: Sequence[str], held: set[str], match: str) -> bool:
    asked = set(tags)
    if match == "exact":
        return asked == held
    hit = bool(asked & held) if match.startswith("any") else asked <= held
    return hit or (not match.endswith("_strict") and not held)


def group(expression: Mapping[str, Any], held: set[str]) -> bool:
    if "tags" in expression:
        return leaf(expression["tags"], held, expression.get("match", "any_strict"))
    if "and" in expression:
        return all(group(e, held) for e in expression["and"])
    if "or" in expression:
        return any(group(e, held) for e in expression["or"])
    return not group(expression["not"], held)


def visible(line: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    held = set(line.get("tags", ()))
    if options.get("types") is not None and line["type"] not in options["types"]:
        return False
    match = options.get("tags_match", "any")
    if (options.get("tags") or match == "exact") and not leaf(
        options.get("tags") or (), held, match
    ):
        return False
    if not all(group(e, held) for e in options.get("tag_groups") or ()):
        return False
    if options.get("as_of") is None:
        return line["state"] in ("active", "superseded")
    then = to_micros(options["as_of"])
    closed = line["known_until"] is not None and line["known_until"] <= then
    return line["known_from"] <= then and (not closed or line["state"] == "superseded")


leaves = st.fixed_dictionaries(
    {"tags": st.lists(st.sampled_from(TAGS), min_size=1, max_size=3, unique=True)},
    optional={"match": st.sampled_from(["any", "all", "any_strict", "all_strict", "exact"])},
)
groups = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"and": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"or": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=5,
)
filters = st.fixed_dictionaries(
    {},
    optional={
        "types": st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
        "tags": st.lists(st.sampled_from([*TAGS, "nobody-has-this"]), max_size=3, unique=True),
        "tags_match": st.sampled_from(["any", "all", "any_strict", "all_strict", "exact"]),
        "tag_groups": st.lists(groups, max_size=2),
        "as_of": st.integers(-10, 1200).map(lambda d: START + timedelta(days=d, hours=1)),
    },
)


def memories(memory: Recollect, bank: str) -> Iterator[Mapping[str, Any]]:
    return (line["memory"] for line in memory.export(bank) if "memory" in line)


def ranked(memory: Recollect, bank: str, query: str, options: Mapping[str, Any]):
    request = recall_request(
        query, now=datetime.now(UTC), **{"budget": "high", "min_score": 0.0, **options}
    )
    return rank(memory._recalling, view_of(memory, bank), request, Run())  # pyright: ignore[reportPrivateUsage]


slow = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@slow
@given(options=filters, query=st.sampled_from(QUERIES))
def test_nothing_outside_the_filter_is_returned_or_listed_by_any_arm(
    shallow: Recollect, mixed: str, options: dict[str, Any], query: str
) -> None:
    allowed = {m["key"] for m in memories(shallow, mixed) if visible(m, options)}
    found = ranked(shallow, mixed, query, options)
    for arm, listed in found.retrieved.lists.items():
        assert set(listed.keys.tolist()) <= allowed, arm
    assert set(found.pool.keys.tolist()) <= allowed
    texts = {(m["id"], m["text"]) for m in memories(shallow, mixed) if m["key"] in allowed}
    result = shallow.recall(mixed, query, expand_hops=1, min_score=0.0, **options)
    assert {(h.id, h.text) for h in result} <= texts


@settings(slow, max_examples=12)
@given(options=filters, query=st.sampled_from(QUERIES))
def test_the_bank_answers_as_if_it_held_nothing_but_what_is_allowed(
    shallow: Recollect, mixed: str, options: dict[str, Any], query: str
) -> None:
    """Without BM25, whose idf counts the whole bank, the two rankings are one and the same."""
    lines = list(shallow.export(mixed))
    keys = {m["key"] for m in (x["memory"] for x in lines if "memory" in x) if visible(m, options)}
    shallow.import_bank(only(lines, keys), "mixed-only")
    try:
        whole = ranked(shallow, mixed, query, {**options, "without": ["keyword"]})
        part = ranked(shallow, "mixed-only", query, {**options, "without": ["keyword"]})
        assert whole.pool.keys[whole.rows].tolist() == part.pool.keys[part.rows].tolist()
        assert whole.pool.final[whole.rows].tolist() == pytest.approx(
            part.pool.final[part.rows].tolist(), abs=1e-5
        )
        for arm, listed in part.retrieved.lists.items():
            assert whole.retrieved.lists[arm].keys.tolist() == listed.keys.tolist(), arm
    finally:
        shallow.delete_bank("mixed-only")


@slow
@given(options=filters, query=st.sampled_from(QUERIES))
def test_the_keyword_arm_is_its_unfiltered_ranking_with_the_rest_struck_out(
    shallow: Recollect, memory: Recollect, mixed: str, options: dict[str, Any], query: str
) -> None:
    allowed = {m["key"] for m in memories(shallow, mixed) if visible(m, options)}
    listed = ranked(shallow, mixed, query, options).retrieved.lists[Arm.KEYWORD]
    scores = view_of(memory, mixed).snapshot.bm25(ranked(memory, mixed, query, {}).query.hashes)  # pyright: ignore
    keys = view_of(memory, mixed).snapshot.keys.tolist()  # pyright: ignore[reportAttributeAccessIssue]
    order = sorted(
        (-s, k) for k, s in zip(keys, scores.tolist(), strict=True) if s > 0 and k in allowed
    )
    assert listed.keys.tolist() == [k for _, k in order][:8]


# --- the five modes, one by one ----------------------------------------------------------------

MODES = [
    ("any", ["a"], {"ta", "tab", "none"}),
    ("any", ["a", "b"], {"ta", "tb", "tab", "tbc", "none"}),
    ("all", ["a", "b"], {"tab", "none"}),
    ("any_strict", ["a", "b"], {"ta", "tb", "tab", "tbc"}),
    ("all_strict", ["a", "b"], {"tab"}),
    ("exact", ["b"], {"tb"}),
    ("exact", ["a", "b"], {"tab"}),
    ("exact", ["b", "a", "b"], {"tab"}),
    ("exact", [], {"none"}),
    ("any_strict", ["z"], set()),
    ("any", [], {"ta", "tb", "tab", "tbc", "none"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def tagged(memory: Recollect) -> str:
    held = {"ta": ["a"], "tb": ["b"], "tab": ["a", "b"], "tbc": ["b", "c"], "none": []}
    memory.retain(
        "tagged",
        [{"id": k, "text": f"The parcel {k} is in the shed.", "tags": v} for k, v in held.items()],
    )
    return "tagged"


@pytest.mark.parametrize(
    ("match", "tags", "expected"), MODES, ids=[f"{m}-{'+'.join(t)}" for m, t, _ in MODES]
)
def test_tag_modes(
    memory: Recollect, tagged: str, match: str, tags: list[str], expected: set[str]
) -> None:
    result = memory.recall(
        tagged, "Where is the parcel?", tags=tags, tags_match=match, min_score=0.0
    )
    assert {h.id for h in result} == expected


def test_tag_groups_combine_with_tags_by_and(memory: Recollect, tagged: str) -> None:
    result = memory.recall(
        tagged,
        "parcel",
        tags=["b"],
        tags_match="any_strict",
        tag_groups=[{"not": {"tags": ["a"]}}],
        min_score=0.0,
    )
    assert {h.id for h in result} == {"tb", "tbc"}


def test_several_tag_groups_must_all_hold(memory: Recollect, tagged: str) -> None:
    result = memory.recall(
        tagged, "parcel", tag_groups=[{"tags": ["b"]}, {"tags": ["a", "c"]}], min_score=0.0
    )
    assert {h.id for h in result} == {"tab", "tbc"}


def test_a_tag_is_matched_whole_and_as_written(memory: Recollect) -> None:
    memory.retain("tag-exact", [{"id": "one", "text": "The shed is red.", "tags": ["Project-A"]}])
    for near in ("project-a", "Project", "Project-A ", "Project-AB"):
        assert not memory.recall("tag-exact", "shed", tags=[near], tags_match="any_strict").results
    assert memory.recall("tag-exact", "shed", tags=["Project-A"], tags_match="any_strict").results


def test_a_memory_re_tagged_is_found_under_its_new_tag_only(memory: Recollect) -> None:
    memory.retain("retag", [{"id": "one", "text": "The shed is red.", "tags": ["old"]}])
    memory.update("retag", "one", tags=["new"])
    assert not memory.recall("retag", "shed", tags=["old"], tags_match="any_strict").results
    assert [
        h.id for h in memory.recall("retag", "shed", tags=["new"], tags_match="any_strict")
    ] == ["one"]


@pytest.mark.parametrize("kind", TYPES)
def test_types_filter(memory: Recollect, mixed: str, kind: str) -> None:
    result = memory.recall(mixed, "Who borrowed something?", types=[kind], min_score=0.0)
    assert result.results
    assert {h.type.value for h in result} == {kind}


def test_one_bank_never_sees_another(memory: Recollect, mixed: str, tagged: str) -> None:
    held = {m["id"] for m in memories(memory, tagged)}
    assert {h.id for h in memory.recall(tagged, "Who borrowed the kettle?", min_score=0.0)} <= held


def test_a_new_filter_each_time_does_not_pile_up_memory(memory: Recollect, tagged: str) -> None:
    view: Any = view_of(memory, tagged)
    for second in range(200):
        memory.recall(tagged, "parcel", as_of=START + timedelta(days=900, seconds=second))
    assert len(view.snapshot._masks) <= 64


def test_source_text_tells_nothing_that_the_tags_hide(memory: Recollect) -> None:
    turns = [
        {"speaker": "Ann", "text": "The launch is in May.", "tags": ["all"]},
        {"speaker": "Ben", "text": "The price will be five euros.", "tags": ["board"]},
    ]
    memory.retain("minutes", {"turns": turns, "document_id": "meeting"})
    memory.retain("minutes", {"content": "The launch will be in Oslo.", "tags": ["all"]})
    asked = {"tags_match": "any_strict", "include_chunks": True}
    staff = memory.recall("minutes", "When is the launch?", tags=["all"], **asked)
    board = memory.recall("minutes", "When is the launch?", tags=["all", "board"], **asked)
    assert len(staff.results) == 2 and [c.text for c in staff.chunks] == [
        "The launch will be in Oslo."
    ]
    assert {c.document_id for c in board.chunks} > {"meeting"}


LAUNCH, PRICE = "The launch of the Falcon is in May.", "The Falcon will cost five euros."
MEETING = [
    {"speaker": "Ann", "text": LAUNCH, "tags": ["all"], "time": "2026-01-01"},
    {"speaker": "Ben", "text": PRICE, "tags": ["board"], "time": "2026-03-01"},
]


def chunks_for(memory: Recollect, bank: str, **options: Any) -> list[str]:
    asked = {"include_chunks": True, **options}
    result = memory.recall(bank, "When is the launch of the Falcon?", **asked)
    assert LAUNCH in {hit.text for hit in result}
    return [chunk.text for chunk in result.chunks if LAUNCH in chunk.text]


def test_source_text_does_not_tell_a_secret_because_it_was_told_before(memory: Recollect) -> None:
    memory.retain("again", {"turns": MEETING[1:], "document_id": "earlier"})
    retained = memory.retain("again", {"turns": MEETING, "document_id": "meeting"})
    assert retained.known
    for seen, count in (["all"], 0), (["all", "board"], 1):
        assert len(chunks_for(memory, "again", tags=seen, tags_match="any_strict")) == count


def test_source_text_does_not_tell_a_secret_because_it_was_withdrawn(memory: Recollect) -> None:
    _, price = memory.retain("taken-back", {"turns": MEETING, "document_id": "meeting"}).ids
    memory.invalidate("taken-back", price)
    for seen, count in (["all"], 0), (["all", "board"], 1):
        assert len(chunks_for(memory, "taken-back", tags=seen, tags_match="any_strict")) == count


def test_source_text_does_not_tell_what_was_said_later(memory: Recollect) -> None:
    ids = memory.retain("later", {"turns": MEETING, "document_id": "meeting"}).ids
    memory.update(
        "later", ids[0], context="on the phone"
    )  # its words were said in January all the same
    assert chunks_for(memory, "later", as_of="2026-02-01") == []
    assert len(chunks_for(memory, "later", as_of="2026-03-01")) == 1


@given(wanted=groups, held=st.lists(st.sampled_from(TAGS), max_size=3, unique=True))
def test_source_text_is_judged_by_tags_as_hits_are(
    wanted: Mapping[str, Any], held: list[str]
) -> None:
    expression = tag_filter(None, "any", [wanted])
    assert expression is not None
    assert lets_see(expression, {*held}) == group(wanted, {*held})


def test_sources_of_an_observation_are_filtered_like_hits(memory: Recollect) -> None:
    memory.retain(
        "staff",
        [
            {"id": "pay", "text": "Mia earns 90,000 euros", "tags": ["hr"], "timestamp": "2026-01-01"},
            {"id": "car", "text": "Mia bought a car", "tags": ["all"], "timestamp": "2026-01-01"},
            {"id": "rich", "text": "Mia is well off", "tags": ["all"], "timestamp": "2026-02-01",
             "type": "observation", "source_ids": ["pay", "car"]},
        ],
    )  # fmt: skip
    asked = {"include_source_facts": True, "types": ["observation"]}
    everything = memory.recall("staff", "Is Mia well off?", **asked)
    filtered = memory.recall(
        "staff", "Is Mia well off?", tags=["all"], tags_match="any_strict", **asked
    )
    assert {m.id for m in everything.source_facts} == {"pay", "car"}
    assert {m.id for m in filtered.source_facts} == {"car"}


def test_sources_of_an_observation_are_worded_as_they_were_known(memory: Recollect) -> None:
    facts = [
        {"id": "car2", "text": "Eva bought a car", "timestamp": "2026-01-01"},
        {"id": "rich2", "text": "Eva is well off", "timestamp": "2026-02-01",
         "type": "observation", "source_ids": ["car2"]},
    ]  # fmt: skip
    memory.retain("worded", facts)
    memory.update("worded", "car2", text="Eva bought two cars")
    for then, text in (("2026-03-01", "Eva bought a car"), (None, "Eva bought two cars")):
        asked = {"as_of": then, "include_source_facts": True}
        (source,) = memory.recall("worded", "Is Eva well off?", **asked).source_facts
        assert source.text == text
