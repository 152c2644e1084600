"""The word lists behind entity finding, read from the package on first use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

__all__ = [
    "common_words",
    "foreign_openers",
    "formal_names",
    "given_names",
    "known_names",
    "name_like_words",
    "nicknames",
    "spellings",
    "usage",
]


def _read(name: str) -> Iterator[str]:
    text = files("recollect.language").joinpath("data", name).read_text(encoding="utf-8")
    return (line for line in text.splitlines() if line and not line.startswith("#"))


@cache
def common_words() -> dict[str, bool]:
    """Everyday words; True where running text capitalises them now and then ("bank")."""
    rarely, sometimes = _read("common_words.txt")
    return {**dict.fromkeys(rarely.split(), False), **dict.fromkeys(sometimes.split(), True)}


@cache
def foreign_openers() -> dict[str, bool]:
    """Small words of other languages than English; True where one may begin a name ("Los Angeles")."""
    *plain, beginning = _read("openers.txt")
    words = dict.fromkeys(" ".join(plain).split(), False)
    return {**words, **dict.fromkeys(beginning.split(), True)}


def usage(word: str) -> bool | None:
    """As ``common_words``; a compound ("follow-up") is as common as its parts."""
    often = common_words().get(word)
    if often is None and ("-" in word or "/" in word):
        parts = [common_words().get(part) for part in _PARTS.split(word)]
        return None if None in parts else False
    return often


_PARTS = re.compile(r"[-/]")


def _nickname_lines() -> Iterator[tuple[str, list[str], list[str]]]:
    """Formal name, the nicknames that join, and names that only resemble nicknames."""
    for line in _read("nicknames.txt"):
        joining, _, others = line.partition("|")
        formal, *short = joining.split()
        yield formal, short, others.split()


@cache
def nicknames() -> dict[str, frozenset[str]]:
    """For every given name the names it may stand for or be called by."""
    pairs: dict[str, set[str]] = {}
    for formal, short, _ in _nickname_lines():
        for name in short:
            pairs.setdefault(formal, set()).add(name)
            pairs.setdefault(name, set()).add(formal)
    return {name: frozenset(others) for name, others in pairs.items()}


@cache
def formal_names() -> dict[str, frozenset[str]]:
    """For every nickname the formal names that it is short for."""
    pairs: dict[str, set[str]] = {}
    for formal, short, _ in _nickname_lines():
        for name in short:
            pairs.setdefault(name, set()).add(formal)
    return {name: frozenset(formal) for name, formal in pairs.items()}


@cache
def given_names() -> frozenset[str]:
    words = {word for line in _read("given_names.txt") for word in line.split()}
    for formal, short, others in _nickname_lines():
        words.update((formal, *short, *others))
    return frozenset(words)


@cache
def name_like_words() -> frozenset[str]:
    """Given names that are everyday words too ("will", "mark", "rose")."""
    listed = {word for line in _read("ambiguous_names.txt") for word in line.split()}
    return frozenset(listed | (given_names() & common_words().keys()))


@cache
def known_names() -> tuple[tuple[str, str], ...]:
    """Pairs of name and kind for well-known places, organisations, products and techniques."""
    found: list[tuple[str, str]] = []
    for file, kind in (
        ("places.txt", "place"),
        ("organisations.txt", "organisation"),
        ("products.txt", "product"),
        ("technical.txt", "technical"),
    ):
        for line in _read(file):
            for group in line.split(", "):
                found.extend((name.strip(), kind) for name in group.split(" = "))
    return tuple(found)


@cache
def spellings() -> dict[str, str]:
    """Other spellings of a technical name, lower-cased, to its usual name."""
    found: dict[str, str] = {}
    for line in _read("technical.txt"):
        for group in line.split(", "):
            usual, *others = (name.strip() for name in group.split(" = "))
            found.update((other.lower(), usual) for other in others)
    return found
