"""Finding thousands of known names in a text in one pass over its words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from recollect.language.entities.gazetteer import name_like_words, usage
from recollect.language.entities.lexicon import FUNCTION_WORDS
from recollect.language.entities.text import tokens_of

__all__ = ["NameMatcher", "Word"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Word(NamedTuple):
    """A word of a text: as written without possessive, folded, and where."""

    text: str
    folded: str
    start: int
    end: int
    possessive: bool
    opens: bool  # the first word of a sentence


class NameMatcher:
    """Names by their words: a dictionary step a word, however many names there are."""

    def __init__(self, names: Iterable[tuple[str, str]] = ()) -> None:
        # First word → how many words follow at most; whole name → its kind.
        self._longest: dict[str, int] = {}
        self._kinds: dict[tuple[str, ...], str] = {}
        # Names that are everyday words count only when written as they were given.
        self._spelled: dict[tuple[str, ...], set[str]] = {}
        for name, kind in names:
            self.add(name, kind)

    def __len__(self) -> int:
        return len(self._kinds)

    def add(self, name: str, kind: str = "other") -> None:
        words = tokens_of(name)
        if not words or (len(words) == 1 and len(words[0]) < 2 and words[0].isascii()):
            return
        everyday = all(_everyday(word) for word in words)
        if everyday and name == name.lower():
            return  # "management" is no name where it stands, whatever it once was
        known = self._kinds.get(words)
        self._kinds[words] = kind if known in (None, "other", kind) else "other"
        if len(words) > self._longest.get(words[0], 0):
            self._longest[words[0]] = len(words)
        # "NC" and "UN" are not "nc" and "un"; "sql" is SQL.
        short = len(words) == 1 and name.isupper() and len(words[0]) < 4 and kind != "technical"
        if name != name.lower() and (short or everyday):
            self._spelled.setdefault(words, set()).add(name)

    def runs(self, text: str, words: Sequence[Word]) -> Iterator[tuple[int, int, str]]:
        """Names from left to right, the longest at each place: where, how many words, its kind."""
        free = 0
        for index, word in enumerate(words):
            longest = self._longest.get(word.folded)
            if longest is None or index < free:
                continue
            hit = self._at(text, words, index, longest)
            if hit is not None:
                free = index + hit[0]
                yield index, *hit

    def _at(
        self, text: str, words: Sequence[Word], index: int, longest: int
    ) -> tuple[int, str] | None:
        size = min(longest, len(words) - index)
        while size:
            run = words[index : index + size]
            key = tuple([word.folded for word in run])
            kind = self._kinds.get(key)
            if kind is not None and self._fits(text, key, run):
                return size, kind
            size -= 1
        return None

    def _fits(self, text: str, key: tuple[str, ...], run: Sequence[Word]) -> bool:
        for before, after in pairwise(run):
            # A possessive ends a name, and so does a comma or a bracket.
            if before.possessive or text[before.end : after.start] not in _GAPS:
                return False
        spelled = self._spelled.get(key)
        if spelled is None:
            return True
        if text[run[0].start : run[-1].end] in spelled:
            return True
        capitals = all(word.text[:1].isupper() for word in run)
        return capitals and not all(name.isupper() for name in spelled)


_GAPS = frozenset({" ", "", "-", ". ", " & ", "&", "/", "\n"})


def _everyday(word: str) -> bool:
    if usage(word) is not None or word in name_like_words():
        return True
    return word in _HOMOGRAPHS or word in FUNCTION_WORDS


# Names whose lower-case form is another word, though running text rarely shows it.
_HOMOGRAPHS = _words("""us it who go rust swift ruby julia chef puppet vault spark hive ray lambda unity bun poetry
    cargo rest soap express apple target shell gap visa delta subway queen giants eagles meta arm
    zoom oracle echo pixel galaxy signal sketch linear notion outlook excel messenger quest
    turkey china chad mali niger jordan georgia java phoenix buffalo orlando nice reading bath
    mobile perth victoria florence salvador columbus mars venus mercury pacific flask express
    remix helm consul nexus chrome safari slack discord steam canon ford fiat shell ups
    amazon windows android strava hinge bumble tinder cursor claude echo fire roman lima
    cologne santiago savannah madison charlotte austin kingston sofia regina""")
