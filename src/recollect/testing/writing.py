"""What a commit must do: `storage/base/writing.py`, whole or not at all, one version after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from recollect.storage.base import (
    Batch,
    Filter,
    Found,
    KeyLink,
    Mentions,
    NewDocument,
    NewEvidence,
    Retire,
    Store,
    Writing,
)
from recollect.testing.reference import BANK, Reference, made_up
from recollect.types import LinkKind, State


class WritingContract:
    store: Store
    filled: Callable[..., Reference]

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

    def test_a_commit_says_how_many_memories_went(self) -> None:
        """Each counts once, whatever it was corrected to, and what is added is not set against it."""
        _, new, _ = self._corrected(reworded=True)
        told = next(m for m in made_up(1).memories if m.memory.state is State.ACTIVE)
        added = replace(told, key=2000, memory=replace(told.memory, id="added"))
        before = self._memories()
        gone = self.store.commit(BANK, lambda _: Batch(memories=[added], drop_memories=[new]))
        assert gone == before + 1 - self._memories()
        assert self.store.commit(BANK, lambda _: Batch(drop_memories=[2000])) == 1

    def _memories(self) -> int:
        bank = self.store.bank(BANK)
        assert bank is not None
        return bank.memories

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

    def test_a_memory_retired_again_has_been_closed_since_the_first_time(self) -> None:
        new = next(m for m in self.filled().memories if m.memory.state is State.ACTIVE)
        for later, state in (
            (2_000_000, State.INVALIDATED),
            (1_000_000, State.SUPERSEDED),
            (3_000_000, State.INVALIDATED),
        ):
            again = Retire(new.key, state, new.known_from + later)
            self.store.commit(BANK, lambda _, again=again: Batch(retire=[again]))
        keys, view = np.array([new.key], np.int64), self.store.view(BANK)
        assert view.allows(keys, Filter(as_of=new.known_from + 999_999))[0]
        assert not view.allows(keys, Filter(as_of=new.known_from + 1_000_000))[0]

    def test_a_superseded_memory_withdrawn_later_was_superseded_in_between(self) -> None:
        self._superseded_in_between(State.INVALIDATED)

    def test_a_superseded_memory_corrected_later_was_superseded_in_between(self) -> None:
        self._superseded_in_between(State.REVISED)

    def _superseded_in_between(self, closed: State) -> None:
        reference = self.filled()
        new, by, other = [m for m in reference.memories if m.memory.state is State.ACTIVE][:3]
        said = NewEvidence(new.key, new.known_from, None, None, "the same")
        link = KeyLink(new.key, other.key, LinkKind.CAUSES, 0.9)
        self.store.commit(BANK, lambda _: Batch(evidence=[said], links=[link]))
        replaced, over = (max(new.known_from, other.known_from) + s * 1_000_000 for s in (1, 3))
        for retire in (
            Retire(new.key, State.SUPERSEDED, replaced, by.memory.id),
            Retire(new.key, closed, over),
        ):
            later = replace(new, key=1000, known_from=over, replaces=new.key)
            version = [later] if retire.state is State.REVISED else []
            batch = Batch(memories=version, retire=[retire])
            self.store.commit(BANK, lambda _, batch=batch: batch)
        view, between = self.store.view(BANK), Filter(as_of=replaced + 1_000_000)
        key = view.key_of(new.memory.id, between.as_of)
        assert key is not None and key not in (new.key, 1000)
        past = view.load([key])[key]
        assert (past.state, past.superseded_by) == (State.REVISED, by.memory.id)
        assert view.allows(np.array([key], np.int64), between)[0]
        for moment in (replaced - 1, over):
            assert view.key_of(new.memory.id, moment) != key
        vectors = view.vectors(np.array([new.key, key], np.int64))
        assert vectors[0].tolist() == vectors[1].tolist() != [0.0] * len(vectors[0])
        assert self._linked(key, other.key, between)
        kept = view.key_of(new.memory.id)
        assert kept is not None
        told = view.mentions(np.array([kept, key], np.int64), new.known_from - 1)
        assert {k: m.later for k, m in told.items()} == {kept: 1, key: 1}

    def test_what_superseded_a_memory_once_is_named_no_more_when_it_is_gone(self) -> None:
        new, by = [m for m in self.filled().memories if m.memory.state is State.ACTIVE][:2]
        at = new.known_from + 1_000_000
        for retire in (
            Retire(new.key, State.SUPERSEDED, at, by.memory.id),
            Retire(new.key, State.INVALIDATED, at + 2_000_000),
        ):
            self.store.commit(BANK, lambda _, retire=retire: Batch(retire=[retire]))
        self.store.commit(BANK, lambda _: Batch(drop_memories=[by.key]))
        view = self.store.view(BANK)
        key = view.key_of(new.memory.id, at + 1_000_000)
        assert key is not None and key != new.key
        past = view.load([key])[key]
        assert (past.state, past.superseded_by) == (State.REVISED, None)

    def test_a_withdrawn_document_leaves_to_its_heirs_what_they_say_as_well(self) -> None:
        told = next(m for m in made_up(1).memories if m.memory.state is State.ACTIVE)
        pages = [NewDocument(name, b"read", None, (), {}, ()) for name in ("a", "b", "c")]
        new = [
            replace(told, key=key, memory=replace(told.memory, id=f"m{key}", document_id="a"))
            for key in (2000, 2001, 2002)
        ]
        said = [
            NewEvidence(2000, None, "c", None, "the same"),
            NewEvidence(2000, None, "b", None, "the same"),
            NewEvidence(2001, None, "c", None, "the same"),
        ]
        self.filled()
        self.store.commit(BANK, lambda _: Batch(memories=new, documents=pages, evidence=said))
        heirs = frozenset({"b"})
        self.store.commit(BANK, lambda _: Batch(withdraw_documents={"a": heirs}))
        held = self.store.view(BANK).load([2000, 2001, 2002])
        assert [(m.document_id, m.state) for m in held.values()] == [
            ("b", State.ACTIVE), ("a", State.INVALIDATED), ("a", State.INVALIDATED)
        ]  # fmt: skip
        assert held[2000].proof_count == told.memory.proof_count + 1  # c's is left
        assert self.store.view(BANK).document_hash("a") == b""
        self.store.commit(BANK, lambda _: Batch(withdraw_documents={"c": frozenset()}))
        assert self.store.view(BANK).load([2000])[2000].proof_count == told.memory.proof_count

    def test_documents_that_say_it_as_well_are_known_and_can_be_read_again(self) -> None:
        key = self.filled().keys()[0]
        pages = [NewDocument(name, b"read", None, (), {}, ()) for name in ("p", "q")]
        said = [NewEvidence(key, None, name, None, "the same") for name in ("q", "p", None, "q")]
        self.store.commit(BANK, lambda _: Batch(documents=pages, evidence=said))
        assert self.store.view(BANK).told_by(key) == ["p", "q"]
        self.store.commit(BANK, lambda w: Batch(unread=w.told_by(key)[:1]))
        view = self.store.view(BANK)
        assert [view.document_hash(name) for name in ("p", "q")] == [b"", b"read"]

    def test_links_keep_their_strongest_weight(self) -> None:
        reference = self.filled()
        one, two = reference.keys()[:2]
        for weight in (0.8, 0.95, 0.75):
            link = KeyLink(one, two, LinkKind.SEMANTIC, weight)
            self.store.commit(BANK, lambda _, k=link: Batch(links=[k]))
        edges = self.store.view(BANK).edges(np.array([one], np.int64), Filter(), 1000)
        found = edges.weight[(edges.target == two) & (edges.causal == 0)]
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
        return sorted((edges.causal[edges.target == to] != 0).tolist())

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

    def test_links_between_two_that_are_corrected_at_once_lead_between_their_versions(self) -> None:
        one, two = [m for m in self.filled().memories if m.memory.state is State.ACTIVE][:2]
        link = KeyLink(one.key, two.key, LinkKind.CAUSES, 0.9)
        self.store.commit(BANK, lambda _: Batch(links=[link]))
        at = 20_000 * 86_400_000_000
        versions = [
            replace(old, key=key, known_from=at, replaces=old.key)
            for key, old in ((1000, one), (1001, two))
        ]
        closed = [Retire(old.key, State.REVISED, at) for old in (one, two)]
        self.store.commit(BANK, lambda _: Batch(memories=versions, retire=closed))
        assert True in self._linked(1000, 1001, Filter())
        assert True in self._linked(1001, 1000, Filter())
        assert self._linked(one.key, two.key, Filter(as_of=at - 1))
        assert not self._linked(1000, two.key, Filter())

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
