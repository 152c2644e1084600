"""What a store must do with whole banks: read out, brought in part by part, kept apart, deleted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from recollect.errors import Conflict, NotFound
from recollect.storage.base import Batch, Filter, ModelIdentity, NewEvidence, Store
from recollect.storage.copy import StorePlace, copy_bank
from recollect.testing.claims import DEEP, refused
from recollect.testing.reference import BANK, Reference, made_up
from recollect.types import Bank, Entity


class WholeBankContract:
    store: Store
    model: Callable[[], ModelIdentity]
    filled: Callable[..., Reference]

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
            one = self.store.view(BANK).semantic(vector, Filter(), DEEP, -1.0)
            two = self.store.view("copy").semantic(vector, Filter(), DEEP, -1.0)
            assert one.keys.tolist() == two.keys.tolist()

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
                self.store.view(bank).semantic(query, Filter(), DEEP, -1.0)
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

    def test_settings_are_replaced_or_merged(self) -> None:
        self.store.configure_bank(BANK, {"a": 1, "b": 2})
        assert self.store.configure_bank(BANK, {"b": None, "c": 3}, merge=True).config == {
            "a": 1,
            "c": 3,
        }
        assert self.store.configure_bank(BANK, {"d": 4}).config == {"d": 4}
        for merge in (False, True):
            refused(NotFound, lambda m=merge: self.store.configure_bank("nope", {}, merge=m))

    def test_of_settings_merged_at_once_none_is_lost(self) -> None:
        names = [f"s{n}" for n in range(24)]

        def merge(name: str) -> Bank:
            return self.store.configure_bank(BANK, {name: 1}, merge=True)

        with ThreadPoolExecutor(4) as several:
            assert all(
                name in bank.config
                for name, bank in zip(names, several.map(merge, names), strict=True)
            )
        held = self.store.bank(BANK)
        assert held is not None
        assert held.config == dict.fromkeys(names, 1)

    def test_what_is_not_there_is_not_found(self) -> None:
        assert self.store.bank("nope") is None
        assert not self.store.delete_bank("nope")
        for call in (self.store.view, self.store.stats, self.store.dump, self.store.model_of):
            refused(NotFound, lambda call=call: call("nope"))
