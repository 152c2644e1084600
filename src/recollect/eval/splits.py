"""Which part of a data set may be learned from, and which part a figure is reported on.

One rule a set, by position in the file or by a hash of an id, so that training, tuning and
reporting agree without a list being copied around:

* **training**: models and weights may be fitted on it;
* **development**: choices (weights, floors, calibration) may be made on it;
* **reported**: figures only. Nothing is fitted or chosen on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from recollect.eval.data import Bank, Dataset


class Split(StrEnum):
    TRAINING = "training"
    DEVELOPMENT = "development"
    REPORTED = "reported"


def share(key: str) -> float:
    """A number in [0, 1) that belongs to this key, the same on every machine."""
    digest = hashlib.sha256(key.encode("utf-8")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def by_hash(key: str, *, reported: float, development: float) -> Split:
    at = share(key)
    if at < reported:
        return Split.REPORTED
    return Split.DEVELOPMENT if at < reported + development else Split.TRAINING


def realmem(position: int, total: int = 10) -> Split:
    """The last 3 personas in file order are reported, the one before them is for choices."""
    return _from_the_end(position, total, reported=3)


def lifebench(position: int, total: int = 4) -> Split:
    """The last persona in file order is reported, the one before it is for choices."""
    return _from_the_end(position, total, reported=1)


def friendsqa(dialogue_id: str) -> Split:
    return by_hash(dialogue_id, reported=0.2, development=0.1)


def timeqa(doc_id: str) -> Split:
    return by_hash(doc_id, reported=0.3, development=0.1)


def scifact(file_split: str, query_id: str) -> Split:
    """The published validation claims are reported; a tenth of the others is for choices."""
    if file_split == "validation":
        return Split.REPORTED
    return by_hash(query_id, reported=0.0, development=0.1)


def select(dataset: Dataset, split: Split) -> Dataset:
    """The banks of one split. Sets without a rule here are never trained on: whole = reported."""
    rule = _BANK_RULES.get(dataset.name)
    if rule is None:
        kept = dataset.banks if split is Split.REPORTED else ()
    else:
        total = len(dataset.banks)
        kept = tuple(b for i, b in enumerate(dataset.banks) if rule(b, i, total) is split)
    return replace(dataset, banks=kept)


def _from_the_end(position: int, total: int, *, reported: int) -> Split:
    if position >= total - reported:
        return Split.REPORTED
    return Split.DEVELOPMENT if position == total - reported - 1 else Split.TRAINING


def _by_position(rule: Callable[[int, int], Split]) -> Callable[[Bank, int, int], Split]:
    def of(_bank: Bank, position: int, total: int) -> Split:
        return rule(position, total)

    return of


def _by_id(rule: Callable[[str], Split]) -> Callable[[Bank, int, int], Split]:
    def of(bank: Bank, _position: int, _total: int) -> Split:
        return rule(bank.id)

    return of


_BANK_RULES: dict[str, Callable[[Bank, int, int], Split]] = {
    "realmem": _by_position(realmem),
    "lifebench": _by_position(lifebench),
    "friendsqa": _by_id(friendsqa),
    "timeqa": _by_id(timeqa),
    "scifact": _by_id(Split),
}
"""Banks are personas, dialogues or articles; SciFact's are its splits (same corpus in each)."""
