"""The contract of a store: whatever the engine, the same bank gives the same answers.

    class TestMyStore(StoreContract):
        def make_store(self, folder: Path) -> Store:
            return MyStore(folder / "bank", model=self.model)

Subclass it in a test module, and pytest runs every claim. Answers are compared with an exact
reference that holds the memories in a list and goes through all of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from recollect.errors import Conflict, NotFound
from recollect.language.terms import query_terms, term_hash
from recollect.storage.base import (
    Batch,
    Filter,
    Found,
    KeyLink,
    Mentions,
    ModelIdentity,
    NewEvidence,
    Retire,
    Store,
    TagLeaf,
    TagNode,
    Writing,
)
from recollect.storage.copy import StorePlace, copy_bank
from recollect.testing.listings import ListingContract
from recollect.testing.reference import BANK, DIMENSIONS, Reference, made_up
from recollect.testing.service import ServiceContract
from recollect.types import Entity, LinkKind, MemoryType, State

EVERYTHING = 10_000
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


class StoreContract(ServiceContract, ListingContract):
    store: Store

    def make_store(self, folder: Path) -> Store:
        raise NotImplementedError("open an empty store in this folder")

    @staticmethod
    def model() -> ModelIdentity:
        return "reference", DIMENSIONS, 0

    def setup_method(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.store = self.make_store(Path(self._folder.name))
        self.store.create_bank(BANK)

    def teardown_method(self) -> None:
        self.store.close()
        self._folder.cleanup()

    def filled(self, seed: int = 1) -> Reference:
        """A bank of made-up memories, with changes and deletions, and its reference."""
        reference = made_up(seed)
        for batch in reference.batches():
            self.store.commit(BANK, lambda _, b=batch: b)
        return reference

    # --- searches ----------------------------------------------------------------------------

    def test_semantic_search_is_exact_under_every_filter(self) -> None:
        reference = self.filled()
        view = self.store.view(BANK)
        for vector in reference.queries():
            for allowed in FILTERS:
                found = view.semantic(vector, allowed, EVERYTHING, -1.0)
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
                found = view.keyword(asked, allowed, EVERYTHING)
                same_ranking(found, reference.keyword(asked, allowed))

    def test_no_keyword_score_exceeds_the_ceiling(self) -> None:
        self.filled()
        view = self.store.view(BANK)
        asked = [term_hash(t) for t in query_terms("red bicycle tea Oslo")]
        found = view.keyword(asked, Filter(), EVERYTHING)
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

    def test_a_view_does_not_change_when_the_bank_does(self) -> None:
        reference = self.filled()
        view = self.store.view(BANK)
        before = view.semantic(reference.queries()[0], Filter(), 20, -1.0)
        self.store.commit(BANK, lambda _: Batch(drop_memories=reference.keys()[:10]))
        after = view.semantic(reference.queries()[0], Filter(), 20, -1.0)
        assert before.keys.tolist() == after.keys.tolist()
        assert self.store.view(BANK).size == view.size - 10

    def test_dump_and_commit_copy_a_bank(self) -> None:
        reference = self.filled()
        held = self.store.dump(BANK)
        copied = Batch(
            memories=list(held.memories),
            documents=list(held.documents),
            entities=list(held.entities),
            links=list(held.links),
            mentions=list(held.evidence),
        )
        self.store.create_bank("copy", dict(held.config), held.model)
        self.store.commit("copy", lambda _: copied)
        for vector in reference.queries():
            one = self.store.view(BANK).semantic(vector, Filter(), EVERYTHING, -1.0)
            two = self.store.view("copy").semantic(vector, Filter(), EVERYTHING, -1.0)
            assert one.keys.tolist() == two.keys.tolist()

    # --- writing -----------------------------------------------------------------------------

    def test_a_plan_that_fails_writes_nothing(self) -> None:
        reference = self.filled()
        seq = self.store.view(BANK).seq

        def fails(_: Writing) -> Batch:
            raise RuntimeError("changed my mind")

        try:
            self.store.commit(BANK, fails)
        except RuntimeError:
            pass
        else:
            raise AssertionError("the plan's error was swallowed")
        assert self.store.view(BANK).seq == seq
        assert self.store.view(BANK).size == len(reference.memories)

    def test_a_plan_sees_everything_committed_and_free_numbers(self) -> None:
        reference = self.filled()
        seen: list[tuple[int, int]] = []

        def look(view: Writing) -> Batch:
            seen.append((view.size, view.next_key))
            return Batch()

        self.store.commit(BANK, look)
        ((size, key),) = seen
        assert size == len(reference.memories)
        assert key > max(reference.keys())

    def test_the_nearest_of_one_and_of_many_agree(self) -> None:
        reference = self.filled()
        vectors = np.stack(reference.queries() * 4)
        found: list[list[Found]] = []

        def look(view: Writing) -> Batch:
            found.append(view.nearest(vectors, 5, 0.05))
            found.append([view.nearest(v[None], 5, 0.05)[0] for v in vectors])
            return Batch()

        self.store.commit(BANK, look)
        for many, one, vector in zip(*found, vectors, strict=True):
            wanted = [k for k, s in reference.semantic(vector, Filter()) if s >= 0.05][:5]
            assert many.keys.tolist() == one.keys.tolist() == wanted

    def test_statements_and_slots_are_found_by_their_hashes(self) -> None:
        reference = self.filled()
        shown = reference.allowed(Filter())
        found: list[dict[int, list[int]]] = []

        def look(view: Writing) -> Batch:
            found.append({h: sorted(k) for h, k in view.same_statement(range(1, 8)).items()})
            found.append({h: sorted(k) for h, k in view.same_slot(range(4)).items()})
            return Batch()

        self.store.commit(BANK, look)
        assert found[0] == reference.grouped("statement", range(1, 8), shown)
        assert found[1] == reference.grouped("slot", range(1, 4), shown)

    def test_evidence_counts_and_freshens(self) -> None:
        reference = self.filled()
        key = reference.memories[0].key
        before = self.store.view(BANK).load([key])[key]
        at = 20_000 * 86_400_000_000
        said = NewEvidence(key, at, None, None, "once more")
        self.store.commit(BANK, lambda _: Batch(evidence=[said, said]))
        after = self.store.view(BANK).load([key])[key]
        assert after.proof_count == before.proof_count + 2
        assert after.last_mentioned_at is not None
        assert after.last_mentioned_at.timestamp() == at / 1e6

    def test_what_was_told_again_after_a_moment_is_known(self) -> None:
        one, two = self.filled().memories[:2]
        day = 86_400_000_000
        told = [
            NewEvidence(one.key, at * day, None, None, "again") for at in (20_000, 20_010, 20_020)
        ]
        undated = NewEvidence(two.key, None, None, None, "again")
        self.store.commit(BANK, lambda _: Batch(evidence=[*told, undated]))
        keys = np.array([one.key, two.key], np.int64)
        view = self.store.view(BANK)
        assert view.mentions(keys, 20_005 * day) == {one.key: Mentions(2, 20_000 * day)}
        assert view.mentions(keys, 19_990 * day) == {one.key: Mentions(3, None)}
        assert view.mentions(keys, 20_020 * day) == {}
        assert view.mentions(np.empty(0, np.int64), 0) == {}

    def test_a_version_is_told_apart_by_what_came_before_it_was_closed(self) -> None:
        link, new, at = self._corrected(reworded=True)
        day = 86_400_000_000
        told = [NewEvidence(new, at + n * day, None, None, "again") for n in (-2, 5)]
        self.store.commit(BANK, lambda _: Batch(evidence=told))
        view = self.store.view(BANK)
        keys = np.array([link.source, new], np.int64)
        then = view.mentions(keys, at - 3 * day)
        assert {k: m.later for k, m in then.items()} == {link.source: 1, new: 2}

    def test_a_retired_memory_is_closed_from_then_on(self) -> None:
        reference = self.filled()
        new = next(m for m in reference.memories if m.memory.state is State.ACTIVE)
        at = new.known_from + 1_000_000
        self.store.commit(BANK, lambda _: Batch(retire=[Retire(new.key, State.INVALIDATED, at)]))
        keys = np.array([new.key], np.int64)
        view = self.store.view(BANK)
        assert not view.allows(keys, Filter())[0]
        assert view.allows(keys, Filter(as_of=at - 1))[0]
        assert not view.allows(keys, Filter(as_of=at))[0]

    def test_links_keep_their_strongest_weight(self) -> None:
        reference = self.filled()
        one, two = reference.keys()[:2]
        for weight in (0.8, 0.95, 0.75):
            link = KeyLink(one, two, LinkKind.SEMANTIC, weight)
            self.store.commit(BANK, lambda _, k=link: Batch(links=[k]))
        edges = self.store.view(BANK).edges(np.array([one], np.int64), Filter(), 1000)
        found = edges.weight[(edges.target == two) & ~edges.causal]
        assert round(float(found.max()), 4) == 0.95

    def test_authored_links_are_taken_back_before_new_ones_are_added(self) -> None:
        reference = self.filled()
        one, two, three = reference.keys()[:3]
        kept = KeyLink(one, three, LinkKind.CAUSES, 0.9)
        old = [KeyLink(one, t, LinkKind.RELATED, 1.0) for t in (two, three)]
        new = KeyLink(one, three, LinkKind.RELATED, 0.6)
        self.store.commit(BANK, lambda _: Batch(links=[kept, *old]))
        self.store.commit(BANK, lambda _: Batch(unlink=[one], links=[new]))
        ids = {m.key: m.memory.id for m in reference.memories}
        found = {
            (k.target, k.kind): round(k.weight, 4)
            for k in self.store.links(BANK, ids[one])
            if k.source == ids[one] and k.kind in (LinkKind.RELATED, LinkKind.CAUSES)
        }
        assert found[ids[three], LinkKind.RELATED] == 0.6
        assert (ids[two], LinkKind.RELATED) not in found
        assert found[ids[three], LinkKind.CAUSES] >= 0.9

    # --- versions ----------------------------------------------------------------------------

    def _corrected(self, *, reworded: bool) -> tuple[KeyLink, int, int]:
        """A memory with links, given a new version: the link from it, the new key, the moment."""
        self.filled()
        active = [m for m in made_up(1).memories if m.memory.state is State.ACTIVE]
        old, other = active[0], active[1]
        links = [KeyLink(old.key, other.key, k, 0.9) for k in (LinkKind.CAUSES, LinkKind.SEMANTIC)]
        key, at = 1000, 20_000 * 86_400_000_000
        turn = replace(active[2], key=key - 1, memory=replace(active[2].memory, id="turn"))
        self.store.commit(BANK, lambda _: Batch(links=links))
        self.store.commit(BANK, lambda _: Batch(memories=[replace(turn, before=old.key)]))
        new = replace(
            old,
            key=key,
            known_from=at,
            vector=old.vector if reworded else None,
            memory=replace(old.memory, metadata={"version": 2}),
            replaces=old.key,
        )
        self.store.commit(
            BANK, lambda _: Batch(memories=[new], retire=[Retire(old.key, State.REVISED, at)])
        )
        return links[0], key, at

    def _linked(self, key: int, to: int, allowed: Filter) -> list[bool]:
        """Over causal links, over others, or both."""
        edges = self.store.view(BANK).edges(np.array([key], np.int64), allowed, 1000)
        return sorted(edges.causal[edges.target == to].tolist())

    def test_either_version_has_the_links_when_it_is_seen(self) -> None:
        link, new, at = self._corrected(reworded=True)
        then = Filter(as_of=at - 1)
        assert self._linked(link.source, link.target, then) == [False, True]
        assert self._linked(link.target, link.source, then) == [False, True]
        assert self._linked(new, link.target, Filter()) == [True]
        assert self._linked(link.target, new, Filter()) == [True]
        assert self._linked(link.target, link.source, Filter()) == []
        memory_id = self.store.view(BANK).load([link.target])[link.target].id
        named = [k.source for k in self.store.links(BANK, memory_id)]
        assert len(named) == len(set(named))

    def test_a_version_with_no_vector_of_its_own_has_its_predecessors(self) -> None:
        link, new, _ = self._corrected(reworded=False)
        view = self.store.view(BANK)
        vector = made_up(1).queries()[0]
        old_score, new_score = view.similarity(vector, np.array([link.source, new], np.int64))
        assert old_score == new_score != 0
        assert self._linked(new, link.target, Filter()) == [False, True]

    def test_the_turn_before_is_found_in_the_version_that_may_be_seen(self) -> None:
        link, new, at = self._corrected(reworded=True)
        view = self.store.view(BANK)
        before = view.columns(np.array([new - 1], np.int64)).before
        for key in (link.source, new):
            assert list(view.following(key)) == [new - 1]
        assert view.standing(before, Filter()).tolist() == [new]
        assert view.standing(before, Filter(as_of=at - 1)).tolist() == [link.source]
        assert view.standing(np.zeros(1, np.int64), Filter()).tolist() == [0]

    def test_the_newest_is_the_one_told_last_not_the_one_corrected_last(self) -> None:
        self._corrected(reworded=True)
        newest = self.store.view(BANK).newest()
        assert newest is not None
        assert newest.id == "turn"

    # --- arriving ----------------------------------------------------------------------------

    def test_a_bank_in_the_making_is_seen_by_nobody(self) -> None:
        self.store.begin("new", {"a": 1}, self.model(), "half")
        assert self.store.arriving("new") == "half"
        assert list(self.store.arrivals()) == ["new"]
        assert self.store.bank("new") is None
        assert [b.id for b in self.store.banks()] == [BANK]
        for call in (self.store.view, self.store.stats, self.store.model_of):
            refused(NotFound, lambda call=call: call("new"))
        refused(Conflict, lambda: self.store.create_bank("new"))
        refused(Conflict, lambda: self.store.begin("new", {}, self.model(), "again"))
        refused(Conflict, lambda: self.store.begin(BANK, {}, self.model(), "over it"))
        assert self.store.delete_bank("new")
        assert self.store.arriving("new") is None

    def test_only_who_knows_how_far_it_has_come_may_go_on(self) -> None:
        memory = made_up(1).memories[0]
        self.store.begin("new", {}, self.model(), "one")
        self.store.bring("new", Batch(memories=[memory]), "one", "two")
        refused(Conflict, lambda: self.store.bring("new", Batch(), "one", None))
        assert self.store.arriving("new") == "two"
        self.store.bring("new", Batch(), "two", None)
        assert self.store.arriving("new") is None
        assert self.store.view("new").key_of(memory.memory.id) == memory.key
        refused(Conflict, lambda: self.store.bring("new", Batch(), "two", None))

    def test_a_bank_brought_in_is_the_bank_that_was_read(self) -> None:
        reference = self.filled()
        key = reference.memories[0].key
        said = NewEvidence(key, 20_000 * 86_400_000_000, None, None, "once more")
        self.store.commit(BANK, lambda _: Batch(evidence=[said]))
        copied = copy_bank(StorePlace(self.store), StorePlace(self.store), BANK, "copy")
        assert copied.same
        assert copied.source["memory"].count == len(reference.memories)
        for query in reference.queries():
            one, two = (
                self.store.view(bank).semantic(query, Filter(), EVERYTHING, -1.0)
                for bank in (BANK, "copy")
            )
            assert one.keys.tolist() == two.keys.tolist()
            assert one.scores.tolist() == two.scores.tolist()

    def test_banks_know_nothing_of_each_other(self) -> None:
        reference = self.filled()
        self.store.create_bank("other")
        view = self.store.view("other")
        assert view.size == 0
        assert len(view.semantic(reference.queries()[0], Filter(), 10, -1.0)) == 0
        assert view.key_of(reference.memories[0].memory.id) is None
        self.store.commit("other", lambda _: Batch(entities=[Entity(1, "Only", "other", (), 1)]))
        assert self.store.delete_bank(BANK)
        assert [e.name for e in self.store.entities("other", 10)] == ["Only"]

    def test_what_is_not_there_is_not_found(self) -> None:
        assert self.store.bank("nope") is None
        assert not self.store.delete_bank("nope")
        for call in (self.store.view, self.store.stats, self.store.dump, self.store.model_of):
            refused(NotFound, lambda call=call: call("nope"))


def refused(error: type[Exception], call: Callable[[], object]) -> None:
    try:
        call()
    except error:
        return
    raise AssertionError(f"that should have been refused with {error.__name__}")


def same_ranking(found: Found, expected: list[tuple[int, float]]) -> None:
    """The same memories in the same order; scores to four digits."""
    scores = dict(expected)
    assert set(found.keys.tolist()) == set(scores)
    for key, score in zip(found.keys.tolist(), found.scores.tolist(), strict=True):
        assert abs(score - scores[key]) < 1e-4, (key, score, scores[key])
    order = sorted(
        zip(found.keys.tolist(), found.scores.tolist(), strict=True), key=lambda p: (-p[1], p[0])
    )
    assert found.keys.tolist() == [k for k, _ in order]
