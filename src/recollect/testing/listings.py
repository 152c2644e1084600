"""The part of a store's contract that listings are: what they hold, in which order, by the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import get_args

from recollect.language.dates import to_micros
from recollect.storage.base import (
    EVERYTHING,
    NO_TIME,
    Batch,
    DocumentAxis,
    Listing,
    NewDocument,
    Store,
    TagExpression,
    TagLeaf,
    TagNode,
    TimeAxis,
)
from recollect.testing.reference import BANK, Reference, tagged
from recollect.types import Memory, MemoryType, State

_TAGS: tuple[TagExpression, ...] = (
    *(TagLeaf(("x", "y"), m) for m in ("any", "all", "any_strict", "all_strict", "exact")),
    TagLeaf((), "exact"),
    TagNode("not", (TagLeaf(("x",), "any_strict"),)),
    TagNode("or", (TagLeaf(("x",), "exact"), TagLeaf(("z",), "any_strict"))),
    TagNode("and", (TagLeaf(("x",), "any_strict"), TagLeaf(("y",), "any_strict"))),
)


class ListingContract:
    store: Store
    filled: Callable[..., Reference]

    def listed(self, where: Listing) -> list[Memory]:
        """All of them, and as many as `count` says."""
        found = self.store.memories(BANK, where, EVERYTHING)
        assert self.store.count(BANK, where) == len(found)
        return found

    def everything(self) -> list[Memory]:
        self.filled()
        return self.listed(Listing())

    def test_a_listing_has_all_but_earlier_wordings_mentioned_last_first(self) -> None:
        found = self.everything()
        assert {m.mentioned_at is None for m in found} == {True, False}
        assert all(m.state is not State.REVISED for m in found)
        view = self.store.view(BANK)

        def place(memory: Memory) -> tuple[int, int, int]:
            told, made = memory.mentioned_at, memory.created_at
            assert made is not None
            return (
                to_micros(told) if told else NO_TIME,
                to_micros(made),
                view.key_of(memory.id) or 0,
            )

        assert found == sorted(found, key=place, reverse=True)

    def test_a_listing_holds_what_its_filter_says(self) -> None:
        found = self.everything()
        words = [found[0].text.split()[0], next(m.context for m in found if m.context)]
        cases: list[tuple[Listing, Callable[[Memory], bool]]] = [
            *((Listing(type=t), lambda m, t=t: m.type is t) for t in MemoryType),
            *(
                (Listing(state=s), lambda m, s=s: m.state is s)
                for s in State
                if s is not State.REVISED
            ),
            *((Listing(tags=e), lambda m, e=e: tagged(set(m.tags), e)) for e in _TAGS),
            (Listing(recallable=True), lambda m: m.state is not State.INVALIDATED),
            *(
                (
                    Listing(contains=word.upper()),
                    lambda m, word=word: word.lower() in f"{m.text}\n{m.context or ''}".lower(),
                )
                for word in words
            ),
            (Listing(contains="no such words"), lambda m: False),
        ]
        for where, belongs in cases:
            assert [m.id for m in self.listed(where)] == [m.id for m in found if belongs(m)], where

    def test_a_listing_of_keys_holds_these(self) -> None:
        found = self.everything()
        key = self.store.view(BANK).key_of(found[0].id)
        assert key is not None
        assert [m.id for m in self.listed(Listing(keys=frozenset({key})))] == [found[0].id]
        assert self.listed(Listing(keys=frozenset())) == []

    def test_an_axis_of_time_bounds_and_orders(self) -> None:
        found = self.everything()
        times = sorted(to_micros(m.mentioned_at) for m in found if m.mentioned_at is not None)
        since, until = times[len(times) // 4], times[3 * len(times) // 4]
        shown = self.listed(Listing(axis="mentioned_at", since=since, until=until))
        got = [to_micros(m.mentioned_at) for m in shown if m.mentioned_at is not None]
        assert got == sorted((t for t in times if since <= t < until), reverse=True)
        assert len(self.listed(Listing(axis="mentioned_at"))) == len(times)

    def test_pages_add_up_to_the_whole(self) -> None:
        assert self.everything()
        listings = (
            Listing(),
            Listing(type=MemoryType.WORLD),
            Listing(contains="a", recallable=True),
            *(Listing(axis=axis) for axis in get_args(TimeAxis)),
        )
        for where in listings:
            whole = [m.id for m in self.listed(where)]
            skipped: list[str] = []
            followed: list[str] = []
            while page := self.store.memories(BANK, where, 7, skip=len(skipped)):
                skipped += [m.id for m in page]
            after: str | None = None
            while page := self.store.memories(BANK, where, 7, after):
                followed += [m.id for m in page]
                assert len(followed) <= len(whole), where
                after = followed[-1]
            assert skipped == followed == whole, where

    def _documents(self) -> list[str]:
        """Some of one moment, as a batch brings them."""
        made = [
            NewDocument(f"d{n}", b"1", None, (), {}, (), created_at=9 - n, updated_at=n // 3)
            for n in (4, 0, 8, 1, 6, 3, 7, 2, 5)
        ]
        self.store.commit(BANK, lambda _: Batch(documents=made))
        return [f"d{n}" for n in reversed(range(9))]

    def test_documents_are_listed_written_last_first_by_the_page(self) -> None:
        whole = self._documents()
        orders: Mapping[DocumentAxis, list[str]] = {
            "updated_at": whole,
            "created_at": whole[::-1],
        }
        for axis, wanted in orders.items():
            found: list[str] = []
            after: tuple[int, str] | None = None
            while page := self.store.documents(BANK, 2, after, axis):
                found += [d.id for d in page]
                after = to_micros(getattr(page[-1], axis)), page[-1].id
            assert found == wanted

    def test_a_document_that_moves_or_goes_leads_nobody_astray(self) -> None:
        whole = self._documents()
        last = self.store.documents(BANK, 4)[-1]
        place = to_micros(last.updated_at), last.id
        again = NewDocument(last.id, b"2", None, (), {}, ())
        gone: Mapping[str, frozenset[int]] = {last.id: frozenset()}
        for batch in (Batch(documents=[again]), Batch(drop_documents=gone)):
            self.store.commit(BANK, lambda _, batch=batch: batch)
            assert [d.id for d in self.store.documents(BANK, 100, place)] == whole[4:]

    def test_tags_are_counted_over_what_can_be_recalled(self) -> None:
        live = [m for m in self.everything() if m.state in (State.ACTIVE, State.SUPERSEDED)]
        counted = Counter(tag for m in live for tag in m.tags)
        found = self.store.tags(BANK)
        assert dict(found) == dict(counted)
        assert list(found) == sorted(counted, key=lambda tag: (-counted[tag], tag))

    def test_stats_add_up(self) -> None:
        found = self.everything()
        stats = self.store.stats(BANK)
        assert stats.memories == len(found)
        assert stats.by_type == Counter(m.type.value for m in found)
        standing = {s: n for s, n in stats.by_state.items() if s != State.REVISED}
        assert standing == Counter(m.state.value for m in found)
        links = Counter[str]()
        for kinds in stats.links_by_type.values():
            links.update(kinds)
        assert stats.links == links
        exported = Counter(link.kind.value for link in self.store.dump(BANK).links)
        assert stats.links == exported and exported
