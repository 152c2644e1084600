"""Where the times of a question look: back, unless it speaks of what is to come or asks in the present
what there is at a time ("Am I free on December 3?", "Who is coming on Saturday?").

The verb decides as it does for a statement (`tense.py`), but people ask a memory mostly about what was. So
a question looks back when it has any verb in the past, when it asks for what was written or kept ("Are
there photos of the trip in May?"), and when it has no verb.
"""

from __future__ import annotations

from recollect.language.time.lexicon import Lexicon, Token
from recollect.language.time.period import Direction
from recollect.language.time.shapes import begins_period
from recollect.language.time.tense import (
    Sentence,
    Verb,
    is_figure,
    looks_ahead,
    looks_back,
    sentences,
)

_COME_YEARLY = frozenset({"MONTH", "SEASON", "HOLIDAY"})


def asked_directions(text: str, tokens: list[Token], known: Lexicon) -> list[Direction]:
    """Where each word of a question looks: forward when it speaks of what is to come ("will", "plan"), but
    not where it asks what was ("Who missed the deadline in June?"). What was planned *for* June lies ahead
    even so."""
    ahead = looks_ahead(tokens, known)
    if not known.tense:
        now = looks_ahead(tokens, known, "present") and not looks_back(tokens, known)
        return ["future" if ahead or now else "past"] * len(tokens)
    found: list[Direction] = []
    for words in sentences(text, tokens):
        if ahead and looks_ahead(words, known, "will"):
            found.extend("future" for _ in words)
        elif not ahead and any(token.word in known.tense["did"] for token in words):
            found.extend("past" for _ in words)  # most questions: its verbs need not be looked for
        else:
            found += _Question(text, words, known).asked(ahead=ahead)
    return found


class _Question(Sentence):
    """A question, or a sentence beside one."""

    _ours = frozenset({"i", "we", "i'm", "we're", "i've", "we've"})

    def __init__(self, text: str, tokens: list[Token], known: Lexicon) -> None:
        super().__init__(text, tokens, known)
        self._verbs = [verb for verb in self._verbs if not self._is_hour(verb.at)]

    def _is_hour(self, at: int) -> bool:
        """ "10:32 AM" has no verb."""
        return self._words[at] == "am" and at > 0 and self._words[at - 1][0].isdigit()

    def asked(self, *, ahead: bool) -> list[Direction]:
        """Where each word looks, whether or not the whole speaks of what is to come."""
        if not ahead and not self._in_present():
            return ["past"] * len(self._words)
        entries = self._known.entries
        return [
            (self._ahead(at) if ahead else self._now(at))
            if word in entries or is_figure(word)
            else "past"
            for at, word in enumerate(self._words)
        ]

    def _ahead(self, at: int) -> Direction:
        """Of a question with a word for what is to come. A time is past by what introduces it: "planned for
        December" is not, "since May" is."""
        before = self._words[self._lead(at) + 1 : at + 1]
        was = any(verb.tense == "past" for verb in self._verbs)
        back = "since" in before or (was and self._tense["towards"].isdisjoint(before))
        return "past" if back else "future"

    def _in_present(self) -> bool:
        """Whether it asks what is: no verb of it is past, and it asks neither why nor for what was kept."""
        return (
            not any(verb.tense == "past" and not self._is_name(verb.at) for verb in self._verbs)
            and not self._has("habit")
            and not self._has("kept")
            and not self._has("reason")
        )

    def _is_name(self, at: int) -> bool:
        """ "Is Ahmed free?": a name may end as a past does."""
        return at > 0 and self._text[self._tokens[at].start].isupper()

    def _now(self, at: int) -> Direction:
        """Of a question in the present. "Am I free in June?" asks of the June to come. What others do in June
        may also be told of the last one, so it is the nearest; of weekdays, none is."""
        lead = self._lead(at)
        before = self._words[lead + 1 : at + 1]
        verb, agenda = self._governor(at, lead), self._has("agenda")
        off = "from" in before or "of" in before or self._words[at : at + 2] == ["as", "of"]
        if "since" in before or "about" in before or (off and not agenda):
            return "past"
        if agenda:
            return "past" if verb is not None and verb.tense == "liking" else "future"
        if verb is None or not self._presents(verb, before, lead):
            return "past"
        if verb.tense == "settled" or not self._ours.isdisjoint(self._words[verb.at : verb.at + 2]):
            return "future"
        if not self._weekly(lead + 1):
            return "near"
        return "future" if self._placed(before, verb, lead) else "past"

    def _presents(self, verb: Verb, before: list[str], lead: int) -> bool:
        """Whether a verb that is not past asks of now and of what is to come."""
        if verb.tense == "settled":
            return not self._tense["towards"].isdisjoint(before[:1]) or self._has_got(verb.at)
        if verb.tense == "future":
            return not self._begs(verb)
        ordered = self._orders(verb.at) or (verb.at == 0 and self._words[0] in self._tense["both"])
        if verb.tense == "liking" or ordered:
            return False
        return not self._has_been(verb.at, lead) and not self._minded(verb.at, lead)

    def _begs(self, verb: Verb) -> bool:
        """Whether the one who answers is asked for it: "can you find …?" says nothing of when."""
        return self._words[verb.at + 1 : verb.at + 2] == ["you"]

    def _has_got(self, at: int) -> bool:
        """ "Have I got anything on Friday?" asks what is."""
        return self._words[at] == "got" and not self._tense["have"].isdisjoint(self._words[:at])

    def _has_been(self, verb: int, lead: int) -> bool:
        """Whether it asks what has been, past a subject that is a name: "Has Alice been to Rome?"."""
        if self._words[verb] not in self._tense["have"]:
            return False
        return any(
            self._participle(at) and not self._introduces(self._words[at - 1])
            for at in range(verb + 1, lead + 1)
        )

    def _minded(self, verb: int, lead: int) -> bool:
        """Whether it asks what somebody knows or likes: "What does Bob know of the trip in May?"."""
        return not (self._tense["aside"] | self._tense["liking"]).isdisjoint(
            self._words[verb : lead + 1]
        )

    def _weekly(self, at: int) -> bool:
        """Whether the time that begins here comes each week, or is a bare day of any month."""
        while at < len(self._words) and not self._timely(at):
            at += 1
        named: set[str] = set()
        while at < len(self._words) and self._timely(at):
            entries = self._known.entries.get(self._words[at], ())
            named.update(kind for phrase, pairs in entries if len(phrase) == 1 for kind, _ in pairs)
            if self._words[at][0].isalpha() and begins_period(self._words[at]):
                named.add("SEASON")  # a quarter or a half comes once a year, too
            at += 1
        return "WEEKDAY" in named or _COME_YEARLY.isdisjoint(named)

    def _placed(self, before: list[str], verb: Verb, lead: int) -> bool:
        """Whether something is or happens on a weekday: it is no part of a name ("the Sunday lessons"), and
        does not say which day it is ("It's Sunday")."""
        doing = any(self._acting(place) for place in range(verb.at + 1, lead + 1))
        return doing or not {"on", "at", "by", "until", "till", "for"}.isdisjoint(before)
