"""Links that an author drew: what a note points at, rather than what it resembles."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.errors import InvalidInput
from recollect.storage.base import Batch, KeyLink, Store, Writing
from recollect.types import LinkKind

LINKS = 100  # of one memory, the strongest: reading must never explode


def relate(store: Store, bank: str, links: Mapping[str, Mapping[str, float]]) -> None:
    """Of each memory named, these are its authored links from now on. Ends that the bank does not
    hold (any more) are left out."""
    for source, targets in links.items():
        for target, weight in targets.items():
            number = isinstance(weight, int | float) and not isinstance(weight, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
            if not number or not 0 <= weight <= 1:
                raise InvalidInput(
                    f"link from {source!r} to {target!r} weighs {weight!r}",
                    hint="a weight is a number from 0 to 1",
                )

    def plan(w: Writing) -> Batch:
        keys = {source: w.key_of(source) for source in links}
        made = [
            KeyLink(key, other, LinkKind.RELATED, weight)
            for source, key in keys.items()
            if key is not None
            for target, weight in _strongest(links[source])
            if (other := w.key_of(target)) is not None and other != key
        ]
        return Batch(unlink=[k for k in keys.values() if k is not None], links=made)

    store.commit(bank, plan)


def _strongest(targets: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(targets.items(), key=lambda pair: -pair[1])[:LINKS]
