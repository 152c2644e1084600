"""Two versions of one note and what they agreed on last: which field goes where.

Fields are merged one by one. A field that one side changed goes to the other. One that both
changed, differently, is a clash: the note keeps its own, the memory's version is kept beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from recollect.vault.fields import INVALIDATED, LISTS, Fields, mark, metadata_of

# An empty field here means that the author left it to us.
_DERIVED = ("type", "title")


@dataclass
class Merge:
    """New values by field, None where a field goes away."""

    to_bank: dict[str, Any] = field(default_factory=dict[str, Any])
    to_file: dict[str, Any] = field(default_factory=dict[str, Any])
    clashes: list[str] = field(default_factory=list[str])

    def __bool__(self) -> bool:
        return bool(self.to_bank or self.to_file or self.clashes)


def merge(
    file: Fields,
    bank: Fields,
    base_file: Mapping[str, str] | None,
    base_bank: Mapping[str, str] | None,
) -> Merge:
    out = Merge()
    for key in sorted(file.keys() | bank.keys() | (base_file or {}).keys()):
        mine, theirs = file.get(key), bank.get(key)
        if mine == theirs:
            continue
        if base_file is None or base_bank is None:
            _unknown(out, key, mine, theirs)
            continue
        here, there = _changed(mine, base_file.get(key)), _changed(theirs, base_bank.get(key))
        if here and there:
            _both(out, key, mine, theirs)
        elif here:
            out.to_bank[key] = mine
        elif there:
            out.to_file[key] = theirs
    return out


def _changed(value: Any, before: str | None) -> bool:
    return (None if value is None else mark(value)) != before


def _unknown(out: Merge, key: str, mine: Any, theirs: Any) -> None:
    """Nobody knows who changed what: what only one side has, the other gets."""
    if key == "retired":
        # A note that is there and says nothing of the kind is meant to be remembered; that another
        # statement has replaced it is for the bank to know.
        if mine is not None or theirs == INVALIDATED:
            out.to_bank[key] = mine
    elif mine is None:
        if key not in _DERIVED:
            out.to_file[key] = theirs
    elif theirs is None:
        if key != "title":
            out.to_bank[key] = mine
    else:
        _both(out, key, mine, theirs)


def _both(out: Merge, key: str, mine: Any, theirs: Any) -> None:
    if key in LISTS:
        union = _union(cast("list[str]", mine or []), cast("list[str]", theirs or []), key)
        if union != mine:
            out.to_file[key] = union
        if union != theirs:
            out.to_bank[key] = union
    elif key == "last_reviewed_at" and mine is not None and theirs is not None:
        later = max(str(mine), str(theirs))
        (out.to_bank if later == mine else out.to_file)[key] = later
    elif key == "retired" or theirs is None:
        out.to_bank[key] = mine
    elif mine is None:
        # Taken out of the note and changed in the bank: what somebody wrote last stays.
        out.to_file[key] = theirs
    else:
        out.to_bank[key] = mine
        out.clashes.append(key)


def _union(mine: list[str], theirs: list[str], key: str) -> list[str]:
    joined = list(dict.fromkeys((*mine, *theirs)))
    return sorted(joined) if key == "tags" else joined


def metadata(held: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any] | None:
    """A memory's metadata after these changes; None when they touch none of it."""
    own = metadata_of(changes)
    if not own:
        return None
    return {k: v for k, v in {**held, **own}.items() if v is not None}
