"""Replies: turns that say little without the one before them.

"No.", "Yes, please." and "Blue." mean what was asked. Said again in another conversation they are another
fact; whoever tells a whole sentence twice tells one fact twice.
"""

from __future__ import annotations

from recollect.language.dates import to_micros
from recollect.language.terms import STOP
from recollect.retain.items import Fact
from recollect.retain.sameness import normalise
from recollect.retain.talk import speaker_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LONGEST = 60  # characters: what is longer says something
_WORDS = 8
_SHORT = 3  # words around the one that answers: "on Tuesday, please"
_SOLID = 4  # letters of a script without spaces, where a word may be a sentence
_DAY = 86_400_000_000  # microseconds
_UNSPACED = "\u0e00"  # from here on scripts are (or may be) written without spaces
_SAYS_NOTHING = STOP | _words(
    """? yes yeah yep yup yea no not nope nah ok okay okey k sure thanks thank thx ty please pls great good
    fine cool nice lovely perfect awesome amazing wonderful excellent brilliant sounds sound right exactly
    true correct agreed agree absolutely definitely certainly indeed alright hi hello hey bye goodbye sorry
    welcome wow lol haha ha hmm hm oh ah aw well maybe perhaps really too also very much again same got
    course problem worries deal done yet never always only just there here all any some none both either
    neither nothing something anything everything one now later already still why how
    ja nein doch danke bitte gut genau sí si claro gracias vale oui non merci bien sì grazie prego va bene
    sim não nao obrigado obrigada por favor はい いいえ うん ありがとう 是 不 好 好的 谢谢 嗯"""
)
_SUBJECTS = _words("i we he she they it you this that these those my our his her their")


def is_reply(fact: Fact) -> bool:
    """Whether it says little by itself: no word that says anything, or, of somebody's turn, a single
    one that is nobody's ("Blue." and "At three, please.", not "I smoke.")."""
    text = fact.text
    if len(text) > _LONGEST:
        return False
    label = fact.label or speaker_of(text) if fact.speaker is None else None
    if label is not None:
        text = text[text.index(label) + len(label) :]
    words = normalise(text).split()
    if len(words) > _WORDS:
        return False
    telling = [word for word in words if word not in _SAYS_NOTHING]
    if not telling:
        return True
    if len(telling) > 1 or len(words) > _SHORT or (fact.speaker or label) is None:
        return False
    (word,) = telling
    return _SUBJECTS.isdisjoint(words) and (len(word) <= _SOLID or max(word) < _UNSPACED)


def talk(fact: Fact, document_id: str | None) -> str:
    """Where a reply belongs: its document or, of loose turns, the day they were said."""
    if document_id is not None:
        return document_id
    return "" if fact.said_at is None else str(to_micros(fact.said_at) // _DAY)
