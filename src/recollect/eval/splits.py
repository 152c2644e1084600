"""Which part of a data set may be learned from, and which part a figure is reported on.

One rule a set, by name or by a hash, so that training, tuning and reporting agree without a
list being copied around (`training/splits.py` and `training/prepare.py` hold out by the same):

* **training**: models and weights may be fitted on it;
* **development**: choices (weights, floors, calibration) may be made on it;
* **reported**: figures only. Nothing is fitted or chosen on it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from recollect.eval.data import Bank, Dataset, Query
from recollect.eval.trouble import DatasetError


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


def realmem(persona: str) -> Split:
    if persona in ("Pak_Budi", "Sarah_Miller", "Sophie_Dubois"):
        return Split.REPORTED
    return Split.DEVELOPMENT if persona == "Lin_Wanyu" else Split.TRAINING


def lifebench(persona: str) -> Split:
    return Split.REPORTED if persona == "lumingqiang" else Split.TRAINING


def friendsqa(dialogue: str) -> Split:
    return by_hash(f"friends:{dialogue}", reported=0.25, development=0.0)


def timeqa(title: str) -> Split:
    return by_hash(f"timeqa:{title}", reported=0.15, development=0.0)


# Of each style of our own chats, those that no model was trained on: from the first to the last.
HELD = {
    "friends": [(42, 60)],
    "messages": [(23, 31)],
    "group": [(11, 15)],
    "assistant": [(16, 31)],
    "agent": [(12, 16)],
    "notes": [(1, 2)],
    "records": [(1, 2)],
    "articles": [(1, 2), (37, 40)],
    "answers": [(1, 7)],
}


def chats(bank: str) -> Split:
    """By number: some of each style are held, in turns for choices and for figures."""
    style, number = bank.rsplit("-", 1)
    if not any(first <= int(number) <= last for first, last in HELD[style]):
        return Split.TRAINING
    return Split.DEVELOPMENT if int(number) % 2 else Split.REPORTED


def scifact(file_split: str) -> Split:
    """The published validation claims are reported."""
    return Split.REPORTED if file_split == "validation" else Split.TRAINING


# Of what else may be learned from, queries whose answer no model was trained to find are for
# choices: by a hash of the first answering text.
_CHOICES = {
    "lifebench": ("lifebench", 0.12),
    "friendsqa": ("friends", 0.12),
    "timeqa": ("timeqa", 0.15),
}


def for_choices(name: str, bank: Bank, query: Query) -> bool:
    if name not in _CHOICES or not query.gold:
        return False
    source, part = _CHOICES[name]
    gold = set(query.gold)
    first = next(unit for unit in bank.units if unit.id in gold)
    title = str(first.fields.get("title") or "")
    text = f"{title}: {first.text}" if name == "timeqa" else first.text
    return share(f"calibrate:{source}:{text}") < part


def select(dataset: Dataset, split: Split) -> Dataset:
    """The banks of one split. Sets without a rule here are never trained on: whole = reported."""
    rule = _BANK_RULES.get(dataset.name)
    if rule is None:
        return replace(dataset, banks=dataset.banks if split is Split.REPORTED else ())
    kept = (
        _part(dataset.name, bank, _own(dataset.name, bank, rule), split) for bank in dataset.banks
    )
    return replace(dataset, banks=tuple(bank for bank in kept if bank is not None))


def _own(name: str, bank: Bank, rule: Callable[[Bank], Split]) -> Split:
    try:
        return rule(bank)
    except (KeyError, IndexError, ValueError) as cause:  # a file of somebody's own, of that name
        raise DatasetError(
            f"{bank.id!r} is no bank of the set {name!r}, which has splits",
            hint="if this is another set, rename its file or leave out --split",
        ) from cause


def _part(name: str, bank: Bank, own: Split, wanted: Split) -> Bank | None:
    """A bank that may be learned from gives some of its queries to development."""
    if own is not Split.TRAINING or wanted is Split.REPORTED:
        return bank if own is wanted else None
    chosen = wanted is Split.DEVELOPMENT
    queries = tuple(q for q in bank.queries if for_choices(name, bank, q) is chosen)
    return replace(bank, queries=queries) if queries or not chosen else None


def _title(bank: Bank) -> str:
    return str(bank.units[0].fields.get("title") or "")


_BANK_RULES: dict[str, Callable[[Bank], Split]] = {
    "realmem": lambda bank: realmem(bank.id),
    "lifebench": lambda bank: lifebench(bank.id),
    "friendsqa": lambda bank: friendsqa(bank.id),
    "timeqa": lambda bank: timeqa(_title(bank)),
    "chats": lambda bank: chats(bank.id),
    "answers": lambda bank: chats(bank.id),
    "scifact": lambda bank: Split(bank.id),
}
"""Banks are personas, dialogues or articles; SciFact's are its splits (same corpus in each)."""
