"""Capitals do not matter where somebody looks for words, in any script.

A database folds what its locale knows, or ASCII alone, and two databases must list the same. So ASCII is
left to them, and of other letters those that are looked for are named: these capitals are to be read as those
small letters."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class Smalls(NamedTuple):
    wanted: str  # in small letters
    capitals: str  # beyond ASCII, that it may be written with
    smalls: str  # one for each of them


def in_smalls(wanted: str) -> Smalls:
    small = "".join(map(_small, wanted))
    pairs = [(capital, c) for c in dict.fromkeys(small) for capital in _capitals(c)]
    return Smalls(small, "".join(c for c, _ in pairs), "".join(s for _, s in pairs))


def translate(text: str | None, capitals: str, smalls: str) -> str | None:
    """As PostgreSQL's function of that name."""
    return None if text is None else text.translate(_table(capitals, smalls))


@lru_cache
def _table(capitals: str, smalls: str) -> dict[int, int]:
    return str.maketrans(capitals, smalls)


def _small(letter: str) -> str:
    found = letter.lower()
    return found if len(found) == 1 else letter


def _capitals(small: str) -> list[str]:
    if small.isascii():
        return []
    forms = {small.upper(), small.title(), "ẞ" if small == "ß" else small} - {small}
    return sorted(c for c in forms if len(c) == 1 and not c.isascii())
