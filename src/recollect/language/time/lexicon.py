"""The words of a language: data files that give phrases a category and a value."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

_CJK = "぀-ヿ㐀-鿿"
# Letters and digits part ("3pm", "14april"); elided articles ("l'été") and 's stand alone;
# Chinese and Japanese are read character by character.
_TOKEN = re.compile(
    rf"[{_CJK}]|'s\b|(?:[ldjcnsmt]|qu|dell|nell|all|un|dall|quell|sull)'(?=[^\W\d_]{{2}})"
    rf"|[^\W\d_{_CJK}]+(?:'(?!s\b)[^\W\d_]+)*|\d+|[^\w\s]"
)
_SKIPPED = frozenset({"-", "'s", "'"})
_INTEGERS = frozenset(
    {
        "month",
        "weekday",
        "rel",
        "rels",
        "day",
        "zone",
        "number",
        "ordinal",
        "scale",
        "amount",
        "decade",
        "half",
        "rolling",
        "relpost",
    }
)
_FOUNDING = frozenset(
    [
        "month",
        "weekday",
        "weekdays",
        "todate",
        "unitrel",
        "unit",
        "season",
        "seasons",
        "part",
        "day",
        "daypart",
        "holiday",
        "freq",
        "decade",
        "now",
        "clockword",
        "number",
    ]
)
_RELATING = ("before", "after", "since", "until", "during", "around", "between")
_FOLD = str.maketrans({"’": "'", "‘": "'", "０": "0", "１": "1", "２": "2", "３": "3", "４": "4", "５": "5",
                       "６": "6", "７": "7", "８": "8", "９": "9", "–": "-", "—": "-", "‑": "-", "−": "-", "～": "~", "〜": "~"})  # fmt: skip

Entry = tuple[tuple[str, ...], list[tuple[str, Any]]]


class Token(NamedTuple):
    """A tuple: a text has dozens, and a frozen dataclass takes several times as long to make."""

    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Lexicon:
    """One language. `entries` are keyed by their first word."""

    language: str
    entries: dict[str, list[Entry]]
    founding: frozenset[str]
    weak: frozenset[str]
    licences: dict[str, frozenset[str]]
    cues: dict[str, frozenset[str]]
    openings: dict[str, frozenset[str]]  # of each cue, the words that its phrases begin with
    relations: dict[str, list[tuple[str, tuple[str, ...]]]]
    day_first: bool
    tense: dict[str, frozenset[str]]


def fold(text: str) -> str:
    """Lower case, with one form for each dash and apostrophe; every offset stays."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    if len(lowered) != len(text):  # a few letters grow in lower case ("İ")
        lowered = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    return lowered.translate(_FOLD)


def tokens(folded: str) -> list[Token]:
    return [Token(match[0], *match.span()) for match in _TOKEN.finditer(folded)]


def matches(
    lexicon: Lexicon, words: list[str], at: int
) -> Iterable[tuple[list[tuple[str, Any]], int]]:
    """The phrases of the lexicon that begin at a token, with the token after each."""
    second = at + 1
    while second < len(words) and words[second] in _SKIPPED:
        second += 1
    following = words[at + 1 : second + 1]  # one of these is the second word, if there is one
    for phrase, pairs in lexicon.entries.get(words[at], ()):
        if len(phrase) > 1 and phrase[1] not in following:
            continue
        end = at + 1
        for word in phrase[1:]:
            while end < len(words) and words[end] in _SKIPPED and words[end] != word:
                end += 1
            if end >= len(words) or words[end] != word:
                break
            end += 1
        else:
            yield pairs, end


@cache
def lexicon(language: str) -> Lexicon:
    """Load one language's data file; once."""
    source = files("recollect.language.time") / "data" / f"{language}.toml"
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    lists: dict[str, dict[str, list[str]]] = {
        name: {key: list(words) for key, words in data.pop(name, {}).items()}
        for name in ("weak", "licence", "cue", "tense")
    }
    setting = data.pop("setting", {})
    entries: dict[str, list[Entry]] = {}
    founding: set[str] = set()
    for category, table in data.items():
        for value, phrases in table.items():
            _enter(entries, founding, category, value, phrases)
    return Lexicon(
        language,
        entries,
        frozenset(founding),
        frozenset(word for words in lists["weak"].values() for word in words),
        {name: frozenset(words) for name, words in lists["licence"].items()},
        {name: frozenset(phrases) for name, phrases in lists["cue"].items()},
        {
            name: frozenset(p.split(" ")[0] for p in phrases)
            for name, phrases in lists["cue"].items()
        },
        _relations(lists["cue"]),
        "day_first" in setting,
        {name: frozenset(words) for name, words in lists["tense"].items()},
    )


def _relations(cues: dict[str, list[str]]) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """The phrases that relate a time to an event, by first word, longest first."""
    found: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for name in _RELATING:
        for phrase in cues.get(f"event_{name}", ()):
            words = tuple(token.word for token in tokens(fold(phrase)))
            found.setdefault(words[0], []).append((name, words))
    for phrases in found.values():
        phrases.sort(key=lambda entry: -len(entry[1]))
    return found


def _enter(
    entries: dict[str, list[Entry]],
    founding: set[str],
    category: str,
    value: str,
    phrases: list[str],
) -> None:
    pair = (value, None) if category == "word" else (category.upper(), _value(category, value))
    for phrase in phrases:
        words = tuple(word for word in words_of(phrase) if word not in _SKIPPED)
        if not words:  # punctuation that is itself a word: a dash between two dates
            words = (phrase,)
        known = entries.setdefault(words[0], [])
        for stored, pairs in known:
            if stored == words:
                pairs.append(pair)
                break
        else:
            known.append((words, [pair]))
        if category in _FOUNDING:
            founding.add(words[0])


def words_of(phrase: str) -> list[str]:
    """What is elided ("de l'") is a word of its own only where another follows."""
    folded = fold(phrase)
    if not folded.endswith("'"):
        return [token.word for token in tokens(folded)]
    return [token.word for token in tokens(f"{folded}an")[:-1]]


def _value(category: str, value: str) -> Any:
    return int(value) if category in _INTEGERS else value


@cache
def _signatures() -> dict[str, frozenset[str]]:
    source = files("recollect.language.time") / "data" / "languages.toml"
    data = tomllib.loads(source.read_text(encoding="utf-8"))
    return {language: frozenset(words) for language, words in data["signature"].items()}


_KANA = re.compile("[぀-ヿ]")
_HAN = re.compile("[㐀-鿿]")


def languages_of(folded: str, words: list[str]) -> tuple[str, ...]:
    """The languages to read a text in: English, and the one its own words speak for."""
    if not folded.isascii():
        if _KANA.search(folded):
            return ("ja",)
        if _HAN.search(folded):
            # Japanese can be written without kana ("昨年六月"); its own words decide.
            return ("ja",) if any(word in folded for word in _signatures()["ja"]) else ("zh",)
    present = frozenset(words)
    counts = {name: len(present & signature) for name, signature in _signatures().items()}
    most = max(counts.values())
    if not most:
        return ("en",)
    others = tuple(name for name, count in counts.items() if count == most and name != "en")
    if counts["en"] == most > 1:  # a word or two of another language is no switch
        return ("en", *others)
    return (*others, "en")
