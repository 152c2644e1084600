"""Finding thousands of known names in a text in one pass over its words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recollect.language.entities.gazetteer import common_words, name_like_words
from recollect.language.entities.text import fold, tokens_of

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
        known = self._kinds.get(words)
        self._kinds[words] = kind if known in (None, "other", kind) else "other"
        if len(words) > self._longest.get(words[0], 0):
            self._longest[words[0]] = len(words)
        if len(words) == 1 and name != name.lower():
            # "NC" and "UN" are not "nc" and "un"; "sql" is SQL.
            short = name.isupper() and len(words[0]) < 4 and kind != "technical"
            if short or _everyday(words[0]):
                self._spelled.setdefault(words, set()).add(name)

    def at(self, words: Sequence[Word], index: int) -> tuple[int, str] | None:
        """The longest name that begins at ``index``: how many words, and its kind."""
        longest = self._longest.get(words[index].folded)
        if longest is None:
            return None
        size = min(longest, len(words) - index)
        while size:
            run = words[index : index + size]
            key = tuple(word.folded for word in run)
            kind = self._kinds.get(key)
            if kind is not None and self._fits(key, run):
                return size, kind
            size -= 1
        return None

    def _fits(self, key: tuple[str, ...], run: Sequence[Word]) -> bool:
        # A possessive ends a name: "Alice's Chen" is two.
        if any(word.possessive for word in run[:-1]):
            return False
        spelled = self._spelled.get(key)
        if spelled is None or run[0].text in spelled:
            return True
        return run[0].text[:1].isupper() and not all(name.isupper() for name in spelled)


def _everyday(word: str) -> bool:
    return word in common_words() or word in name_like_words() or fold(word) in _HOMOGRAPHS


# Names whose lower-case form is another word, though running text rarely shows it.
_HOMOGRAPHS = _words("""us it who go rust swift ruby julia chef puppet vault spark hive ray lambda unity bun poetry
    cargo rest soap express apple target shell gap visa delta subway queen giants eagles meta arm
    zoom oracle echo pixel galaxy signal sketch linear notion outlook excel messenger quest
    turkey china chad mali niger jordan georgia java phoenix buffalo orlando nice reading bath
    mobile perth victoria florence salvador columbus mars venus mercury pacific flask express
    remix helm consul nexus chrome safari slack discord steam canon ford fiat shell ups
    amazon windows android strava hinge bumble tinder cursor claude echo fire roman lima
    cologne santiago savannah madison charlotte austin kingston sofia regina""")
