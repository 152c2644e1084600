"""Random lives of a bank, for property tests: steps that a hypothesis strategy draws."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

import recollect

BANK = "b"
WORDS = [
    "Alice",
    "Bob",
    "Rome",
    "Oslo",
    "tea",
    "milk",
    "red",
    "bicycle",
    "runs",
    "sleeps",
    "works",
    "at",
    "Google",
    "Meta",
    "good",
    "bad",
]
TEXT = st.lists(st.sampled_from(WORDS), min_size=2, max_size=6).map(" ".join)
FACT = st.fixed_dictionaries(
    {"text": TEXT},
    optional={
        "tags": st.lists(st.sampled_from(["x", "y"]), unique=True, max_size=2),
        "speaker": st.sampled_from(["Ann", "user"]),
        "timestamp": st.sampled_from(["2024-01-01", "2025-06-01T10:00:00Z", "unset"]),
        "type": st.sampled_from(["world", "opinion"]),
        "title": TEXT,
        "recall_when": st.lists(TEXT, max_size=2),
        "kind": st.just("lesson"),
        "metadata": st.dictionaries(st.text(max_size=3), st.integers(-9, 9), max_size=2),
        "document_id": st.sampled_from(["d1", "d2"]),
    },
)
STEP = st.one_of(
    st.tuples(st.just("retain"), st.lists(FACT, min_size=1, max_size=4)),
    st.tuples(st.just("observe"), st.tuples(TEXT, st.integers(0, 99))),
    st.tuples(st.just("update"), st.tuples(st.integers(0, 99), TEXT)),
    st.tuples(st.just("annotate"), st.integers(0, 99)),
    st.tuples(st.just("forget"), st.integers(0, 99)),
    st.tuples(st.just("invalidate"), st.integers(0, 99)),
    st.tuples(st.just("forget_document"), st.sampled_from(["d1", "d2"])),
)
LIFE = st.lists(STEP, min_size=1, max_size=10)


def live(memory: recollect.Recollect, steps: Sequence[tuple[str, object]]) -> None:
    memory.create_bank(BANK)
    for verb, what in steps:
        _step(memory, verb, what)


def _step(memory: recollect.Recollect, verb: str, what: object) -> None:
    if verb == "retain":
        memory.retain(BANK, what)
        return
    if verb == "forget_document":
        if what in {d.id for d in memory.documents(BANK)}:
            memory.forget(BANK, document_id=str(what))
        return
    held = memory.memories(BANK, limit=1000)
    if not held:
        return
    number = what[1] if verb == "observe" else what[0] if verb == "update" else what  # type: ignore[index]
    chosen = held[number % len(held)].id  # type: ignore[operator]
    if verb == "observe":
        memory.retain(
            BANK,
            {"text": what[0], "type": "observation", "source_ids": [chosen]},  # type: ignore[index]
        )
    elif verb == "update":
        memory.update(BANK, chosen, text=what[1])  # type: ignore[index]
    elif verb == "annotate":
        memory.update(BANK, chosen, kind="decision")
    elif verb == "forget":
        memory.forget(BANK, chosen)
    else:
        memory.invalidate(BANK, chosen)


def answers(memory: recollect.Recollect, bank: str = BANK) -> object:
    """What the bank says to a few questions, in full."""
    queries = ("Where does Alice work?", "red bicycle", "who likes tea in 2024", "Bob")
    return [
        [
            (h.memory, round(h.score, 5), {a: s.rank for a, s in h.arms.items()})
            for h in memory.recall(bank, q, query_timestamp="2026-01-01", budget="high", **options)
        ]
        for q in queries
        for options in ({}, {"tags": ["x"], "tags_match": "any_strict"}, {"types": ["world"]})
    ]
