"""What a view of a bank must answer: `storage/base/reading.py`, compared with the reference."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from recollect.language.terms import query_terms, term_hash
from recollect.storage.base import (
    Batch,
    Filter,
    NewDocument,
    NewEvidence,
    Retire,
    Store,
    TagLeaf,
    TagNode,
)
from recollect.testing.claims import DEEP, same_ranking
from recollect.testing.reference import BANK, Reference, made_up
from recollect.types import Chunk, MemoryType, State

FILTERS = (
    Filter(),
    Filter(types=frozenset({MemoryType.WORLD})),
    Filter(types=frozenset()),
    *(
        Filter(tags=TagLeaf(("x", "y"), match))
        for match in ("any", "all", "any_strict", "all_strict", "exact")
    ),
    Filter(tags=TagLeaf(("nobody",), "any_strict")),
    Filter(
        tags=TagNode("and", (TagLeaf(("x",), "any_strict"), TagNode("not", (TagLeaf(("y",), "any_strict"),))))
    ),
    Filter(tags=TagNode("or", (TagLeaf(("x",), "exact"), TagLeaf(("z",), "any_strict")))),
    Filter(as_of=0),
    *(Filter(as_of=day * 86_400_000_000) for day in (19_000, 19_050, 19_100)),
)  # fmt: skip


class ReadingContract:
    store: Store
    filled: Callable[..., Reference]

    def test_semantic_search_is_exact_under_every_filter(self) -> None:
        reference = self.filled()
        view = self.store.view(BANK)
        for vector in reference.queries():
            for allowed in FILTERS:
                found = view.semantic(vector, allowed, DEEP, -1.0)
                same_ranking(found, reference.semantic(vector, allowed))

    def test_semantic_search_keeps_to_its_floor_and_depth(self) -> None:
        reference = self.filled()
        view = self.store.view(BANK)
        for vector in reference.queries():
            whole = reference.semantic(vector, Filter())
            found = view.semantic(vector, Filter(), 7, 0.1)
            assert found.keys.tolist() == [k for k, s in whole if s >= 0.1][:7]

    def test_keyword_search_is_bm25_over_weighted_fields(self) -> None:
        reference = self.filled()
        view = self.store.view(BANK)
        for text in ("red bicycle", "tea", "Oslo at night", "no-such-word", "red red tea"):
            asked = [term_hash(t) for t in query_terms(text)]
            for allowed in FILTERS:
                found = view.keyword(asked, allowed, DEEP)
                same_ranking(found, reference.keyword(asked, allowed))

    def test_no_keyword_score_exceeds_the_ceiling(self) -> None:
        self.filled()
        view = self.store.view(BANK)
        asked = [term_hash(t) for t in query_terms("red bicycle tea Oslo")]
        found = view.keyword(asked, Filter(), DEEP)
        assert len(found) > 0
        assert float(found.scores.max()) <= view.keyword_ceiling(asked)

    def test_equal_scores_are_ordered_by_key_also_at_the_cut(self) -> None:
        reference = made_up(2, twins=12)
        for batch in reference.batches():
            self.store.commit(BANK, lambda _, b=batch: b)
        view = self.store.view(BANK)
        vector = reference.memories[0].vector
        assert vector is not None
        found = view.semantic(vector, Filter(), 5, 0.9)
        assert found.keys.tolist() == [k for k, _ in reference.semantic(vector, Filter())][:5]

    def test_a_window_holds_what_happened_in_it(self) -> None:
        reference = self.filled()
        view = self.store.view(BANK)
        edges = [None, 18_990, 19_010, 19_011, 19_060, 19_200]
        for start in edges:
            for end in edges:
                low, high = (None if d is None else d * 86_400_000_000 for d in (start, end))
                found = view.window(low, high, Filter())
                assert sorted(found.tolist()) == reference.window(low, high, Filter())

    def test_expansion_counts_shared_entities_and_takes_the_best_link(self) -> None:
        reference = self.filled()
        view = self.store.view(BANK)
        seeds = np.array(reference.keys()[:6], np.int64)
        for allowed in FILTERS:
            found = view.expand(seeds, allowed, 4, (2,))
            expected = reference.expand(seeds.tolist(), allowed, 4, (2,))
            rows = zip(
                found.keys.tolist(),
                found.shared_entities.tolist(),
                np.round(found.semantic, 4).tolist(),
                np.round(found.causal, 4).tolist(),
                strict=True,
            )
            near = {k: tuple(round(float(v), 4) for v in rest) for k, *rest in rows}
            assert near == expected

    def test_an_edge_says_which_end_is_the_cause(self) -> None:
        reference = self.filled()
        view = self.store.view(BANK)
        for allowed in FILTERS:
            shown = reference.allowed(allowed)
            for seed in reference.keys()[:12]:
                found = view.edges(np.array([seed], np.int64), allowed, 3)
                sides = zip(found.target.tolist(), found.causal.tolist(), strict=True)
                expected = reference.neighbours(seed, shown)[:3]
                assert list(sides) == [(other, side) for other, side, _ in expected]

    def test_a_filter_says_the_same_of_single_memories(self) -> None:
        reference = self.filled()
        view = self.store.view(BANK)
        keys = np.array([*reference.keys(), 999_999], np.int64)
        for allowed in FILTERS:
            found = view.allows(keys, allowed)
            assert set(keys[found].tolist()) == reference.allowed(allowed)

    # --- reading -----------------------------------------------------------------------------

    def test_a_memory_comes_back_as_it_was_given(self) -> None:
        reference = self.filled()
        view = self.store.view(BANK)
        found = view.load(reference.keys())
        assert list(found) == reference.keys()
        for new in reference.memories:
            held = found[new.key]
            assert held.text == new.memory.text
            assert (held.tags, held.metadata) == (new.memory.tags, new.memory.metadata)
            assert (held.state, held.type) == (new.memory.state, new.memory.type)
            assert held.occurred_start == new.memory.occurred_start
            assert sorted(held.entities) == sorted(f"Entity {e}" for e in new.entity_ids)
        assert view.load([999_999]) == {}

    def test_who_reads_a_memory_cannot_change_what_others_read(self) -> None:
        key = self.filled().keys()[0]
        for _ in range(2):
            held: Any = self.store.view(BANK).load([key])[key].metadata
            assert held == {"n": key}
            with suppress(TypeError):  # it is the reader's own, or not to be changed
                held.update(n=0)

    def test_a_chunk_knows_what_was_said_in_it(self) -> None:
        chunks = tuple(Chunk(f"diary#{n}", "diary", n, "…") for n in range(3))
        told = next(m for m in self.filled().memories if m.memory.state is State.ACTIVE)
        new = [
            replace(
                told,
                key=1000 + n,
                memory=replace(told.memory, id=id, chunk_id=chunk, document_id="diary"),
            )
            for n, (id, chunk) in enumerate([("a", "diary#0"), ("b", "diary#1"), ("c", "diary#0")])
        ]
        diary = NewDocument("diary", b"1", None, (), {}, chunks)
        self.store.commit(BANK, lambda _: Batch(documents=[diary], memories=new))
        found = self.store.view(BANK).said_in([*(c.id for c in chunks), "nobody#0"])
        assert {c: list(k) for c, k in found.items()} == {
            "diary#0": [1000, 1002],
            "diary#1": [1001],
        }

    def test_a_chunk_knows_what_it_tells_again_and_what_was_withdrawn(self) -> None:
        chunks = tuple(Chunk(f"diary#{n}", "diary", n, "…") for n in range(2))
        told = next(m for m in self.filled().memories if m.memory.state is State.ACTIVE)
        first = replace(told.memory, id="first", chunk_id="diary#0", document_id="diary")
        batch = Batch(
            documents=[NewDocument("diary", b"1", None, (), {}, chunks)],
            memories=[replace(told, key=1000, memory=first)],
            evidence=[NewEvidence(told.key, 1, "diary", "diary#1", "…")],
        )
        self.store.commit(BANK, lambda _: batch)
        withdrawn = Batch(retire=[Retire(1000, State.INVALIDATED, 2)])
        self.store.commit(BANK, lambda _: withdrawn)
        found = self.store.view(BANK).said_in(c.id for c in chunks)
        assert {c: list(k) for c, k in found.items()} == {"diary#0": [1000], "diary#1": [told.key]}

    def test_a_document_is_as_long_as_its_lines(self) -> None:
        self.filled()
        lines = tuple(Chunk(f"d#{n}", "d", n, text) for n, text in enumerate(("né", "…", "abc")))
        given = [
            NewDocument("d", b"1", None, (), {}, lines),
            NewDocument("e", b"2", None, (), {}, ()),
        ]
        self.store.commit(BANK, lambda _: Batch(documents=given))
        found = {d.id: d.length for d in self.store.documents(BANK, 100)}
        one = self.store.document(BANK, "d")
        assert (found["d"], found["e"]) == (len("né\n…\nabc"), 0)
        assert one is not None
        assert one.length == found["d"]

    def test_a_view_does_not_change_when_the_bank_does(self) -> None:
        reference = self.filled()
        view = self.store.view(BANK)
        before = view.semantic(reference.queries()[0], Filter(), 20, -1.0)
        self.store.commit(BANK, lambda _: Batch(drop_memories=reference.keys()[:10]))
        after = view.semantic(reference.queries()[0], Filter(), 20, -1.0)
        assert before.keys.tolist() == after.keys.tolist()
        assert self.store.view(BANK).size == view.size - 10
