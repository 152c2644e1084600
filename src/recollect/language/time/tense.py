"""Whether a statement looks back or ahead, clause by clause, by the tense of its verbs.

A bare "November" or "Thursday" is past after "adopted" and to come after "have", whatever the
sentence before says. The verb that decides is the nearest one to the left in the sentence, else
the nearest to the right ("The party in May was loud"). Without any verb only a month or a date
can be placed, at its nearest occurrence; a habit ("we usually go in August") has no date at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple

from recollect.language.time.lexicon import Lexicon, Token, lexicon
from recollect.language.time.period import Direction
from recollect.language.time.shapes import begins_period

Tense = Literal["past", "present", "future", "settled", "liking"]
_ENDS = frozenset(".!?;…")
_LEADING = frozenset({"in", "on", "at", "by", "for", "from", "until", "till", "since", "to", "of",
                      "the", "this", "around", "about", "early", "late", "mid", "before", "after",
                      "end", "beginning", "start", "middle", "during", "between"})  # fmt: skip


class Verb(NamedTuple):
    at: int
    tense: Tense


@cache
def _helpers(language: str) -> frozenset[str]:
    """The words with which a verb of several words may begin."""
    tense = lexicon(language).tense
    names = ("ahead", "would", "did", "have", "be", "do", "permission")
    return frozenset(phrase.split()[0] for name in names for phrase in tense[name]) | {"'s"}


def directions(text: str, tokens: list[Token], known: Lexicon) -> list[Direction]:
    """Where each word of a statement looks."""
    found: list[Direction] = []
    for words in sentences(text, tokens, ordinals=not known.tense):
        if not any(token.word in known.founding or begins_period(token.word) for token in words):
            found.extend("near" for _ in words)  # most sentences tell no time: nothing to place
        elif known.tense:
            found += Sentence(text, words, known).directions()
        else:
            found.extend(_without_tenses(words, known) for _ in words)
    return found


def _without_tenses(words: list[Token], known: Lexicon) -> Direction:
    """Of a sentence in a language without a table of tenses: what is not seen to be past or to come is nearest."""
    if looks_ahead(words, known):
        return "future"
    if looks_back(words, known):
        return "past"
    return "future" if looks_ahead(words, known, "present") else "near"


def looks_back(words: list[Token], known: Lexicon) -> bool:
    """Whether a past is seen in a language without a table of tenses: a word for it, its ending, or a participle."""
    if looks_ahead(words, known, "was"):
        return True
    cues, none = known.cues, frozenset[str]()
    having = False
    for word in (token.word for token in words):
        if len(word) > _STEM and (_is_ended(word, known) or (having and _is_done(word, known))):
            return True
        having = having or word in cues.get("having", none)
    return False


def _is_ended(word: str, known: Lexicon) -> bool:
    ended, others = (known.cues.get(cue, frozenset[str]()) for cue in ("ended", "not_ended"))
    return word.endswith(tuple(ended)) and word not in others


def _is_done(word: str, known: Lexicon) -> bool:
    """Whether it is a participle by its form ("umgezogen", "besucht")."""
    cues, none = known.cues, frozenset[str]()
    if word in cues.get("not_done", none) or not word.endswith(tuple(cues.get("done", none))):
        return False
    within, opens = cues.get("done_within", none), tuple(cues.get("done_with", none))
    return not opens or word.startswith(opens) or any(part in word for part in within)


_STEM = 3


def looks_ahead(words: list[Token], known: Lexicon, cue: str = "future") -> bool:
    ahead = known.cues.get(cue, frozenset())
    pairs = (f"{first.word} {second.word}" for first, second in pairwise(words))
    return any(token.word in ahead for token in words) or any(pair in ahead for pair in pairs)


def is_past(word: str, known: Lexicon) -> bool:
    """Whether a verb tells of the past by its form, in a language with a table of tenses."""
    if not known.tense:
        return False
    regular = len(word) > 4 and word.endswith("ed") and word not in known.tense["not_past"]
    return regular or word in known.tense["past"]


def is_figure(word: str) -> bool:
    """No word of a language: a number, a sign, or letters and figures that are a time ("Q4")."""
    return not word[0].isalpha() or begins_period(word)


def sentences(text: str, tokens: list[Token], *, ordinals: bool = False) -> Iterator[list[Token]]:
    """`ordinals` are written with a dot: "am 3. Dezember"."""
    begun = 0
    for at, token in enumerate(tokens):
        last = at + 1 == len(tokens)
        gap = "" if last else text[token.end : tokens[at + 1].start]
        stops = token.word in _ENDS and gap != "" and not _shortened(text, tokens, at)
        stops = stops and not (ordinals and token.word == "." and tokens[at - 1].word.isdigit())
        if last or stops or "\n" in gap:
            yield tokens[begun : at + 1]
            begun = at + 1


def _shortened(text: str, tokens: list[Token], at: int) -> bool:
    """Whether the dot goes on: "Oct. 2", "Mr. Veenstra"; a sentence begins with a capital."""
    after = text[tokens[at + 1].start]
    short = at > 0 and len(tokens[at - 1].word) <= 2 and tokens[at - 1].word.isalpha()
    return tokens[at].word == "." and (short or after.islower() or after.isdigit())


class Sentence:
    """One sentence: its verbs, and from them where each of its words looks."""

    def __init__(self, text: str, tokens: list[Token], known: Lexicon) -> None:
        self._text = text
        self._tokens = tokens
        self._words = [token.word for token in tokens]
        self._known = known
        self._tense = known.tense
        self._passed = known.tense["adverb"] | known.tense["subject"] | known.tense["subject_s"]
        self._verbs = list(self._finite())

    def directions(self) -> list[Direction]:
        if self._has("habit"):
            return ["never"] * len(self._words)
        known = self._known.entries
        return [
            self._direction(at) if word in known or is_figure(word) else "near"
            for at, word in enumerate(self._words)
        ]

    def _direction(self, at: int) -> Direction:
        lead = self._lead(at)
        before = self._words[lead + 1 : at + 1]
        if "since" in before or self._since_doing(lead):
            return "past"
        verb = self._governor(at, lead)
        if verb is None:
            return "future" if self._begins_with_gerund() else "near"
        if verb.tense == "settled":
            return self._settled(verb, at, before)
        if verb.tense == "present":
            # "a photo from May" is old, "free from May" is not yet.
            # What holds "as of June" may have begun, or may not.
            off = "from" in before or "of" in before[:1] or self._words[at : at + 2] == ["as", "of"]
            return "near" if off else "future"
        if verb.tense == "liking":
            return "never"
        return verb.tense

    def _settled(self, verb: Verb, at: int, before: list[str]) -> Direction:
        """After what was settled or got for a time: "booked it for June", "asked us to come"."""
        word = self._words[verb.at]
        bound = before[0] in self._tense["towards"]
        if word in self._tense["gained"]:
            return "near" if bound else "past"
        resolved = word in self._tense["resolving"] and "to" in self._words[verb.at + 1 : at]
        if bound or resolved:
            return "future"
        return "near" if self._phrase("arranging", verb.at) else "past"

    def _since_doing(self, lead: int) -> bool:
        """Whether it tells since when, by what was done then: "since moving to Rome in March"."""
        said = self._words[: lead + 1]
        if "since" not in said:
            return False
        done = len(said) - said[::-1].index("since")
        return done <= lead and self._acting(done) and "," not in said[done:]

    def _lead(self, at: int) -> int:
        """The last word before the time and what introduces it."""
        place = at - 1
        while place >= 0 and (self._timely(place) or self._words[place] in _LEADING):
            place -= 1
        return place

    def _timely(self, at: int) -> bool:
        word = self._words[at]
        return begins_period(word) or word in self._known.founding

    def _governor(self, at: int, lead: int) -> Verb | None:
        left = [verb for verb in self._verbs if verb.at <= lead]
        right = [verb for verb in self._verbs if verb.at > at]
        fronted = lead < 0 or self._words[lead] in self._tense["joint"]
        if right and (not left or (fronted and self._opens_clause(at))):
            return right[0]
        if left and right and self._parted(left[-1].at, at) and not self._parted(at, right[0].at):
            return right[0]  # "I checked, and a flight in May is cheap"
        return left[-1] if left else None

    def _parted(self, first: int, last: int) -> bool:
        """Whether a clause ends between two words: at a semicolon, or a comma and a conjunction."""
        words = self._words[first:last]
        joint = self._tense["joint"]
        pairs = pairwise(words)
        return ";" in words or any(one == "," and other in joint for one, other in pairs)

    def _opens_clause(self, at: int) -> bool:
        """Whether a clause with its own subject follows: "great, on Friday I met Bob"."""
        place = at + 1
        while place < len(self._words) and (self._timely(place) or self._words[place] == ","):
            place += 1
        if place >= len(self._words):
            return False
        word = self._words[place]
        subjects = self._tense["subject"] | self._tense["subject_s"] | self._tense["contracted"]
        return word in subjects or word in ("i'm", "i've", "we're", "i'll", "the", "my", "our")

    # The verbs ----------------------------------------------------------------------------

    def _finite(self) -> Iterator[Verb]:
        at = 0
        while at < len(self._words):
            tense, size = self._verb(at)
            if tense is not None:
                yield Verb(at, tense)
            at += max(1, size)

    def _verb(self, at: int) -> tuple[Tense | None, int]:
        """The tense of the verb at a place, and how many words it takes."""
        word = self._words[at]
        if word not in _helpers(self._known.language):
            return self._full_verb(at) if word[0].isalpha() else None, 1
        following = self._next(at)
        done = self._participle(following)
        if self._phrase("ahead", at) or self._permits(at):
            have = following < len(self._words) and self._words[following] == "have"
            missed = have and word in self._tense["perhaps"] and self._participle(following + 1)
            missed = missed or (at > 0 and self._words[at - 1] in self._tense["did"])  # "was due"
            return "past" if missed else "future", following + 2 - at if have else 1
        if word in self._tense["would"]:
            return "past" if done else "future", following + 1 - at
        if word in self._tense["did"]:
            return "past", 1
        if word in self._tense["have"] or (word == "'s" and self._contracted(at) and done):
            if done and self._arranged(following):
                return None, following - at  # "have booked": the participle decides
            return ("past" if done and not self._got(following) else "present"), following + 1 - at
        if word in self._tense["be"] or (word == "'s" and self._contracted(at)):
            # "is scheduled", "I'm excited": the participle tells no past here.
            return "present", following + 1 - at if done else 1
        if word in self._tense["do"]:
            asked = following < len(self._words) and self._words[following] in self._tense["aside"]
            return None if asked else "present", 1  # "do you remember"
        return self._full_verb(at), 1

    def _full_verb(self, at: int) -> Tense | None:
        word = self._words[at]
        if word in self._tense["recalling"] and at:
            return "past"  # "do you remember the trip in May?"
        if word in self._tense["aside"] or word in self._tense["article"] or self._timely(at):
            return None
        before = self._subject(at)
        if word in self._tense["liking"]:
            return "liking" if before else None
        if at == 0 and word in self._tense["both"]:
            return "present"  # an order: "put it in the diary for May"
        attributive = at > 0 and self._introduces(self._words[at - 1])
        if self._arranged(at) and not attributive:
            return "settled"
        if self._is_past(word):
            return None if attributive else "past"
        if word in self._tense["both"]:
            return None if attributive or self._infinite(at) else "past"
        if word in self._tense["adverb"]:
            return None
        if before or self._orders(at) or self._named(at):
            return "present"
        return "present" if word in self._tense["present"] and self._follows_noun(at) else None

    def _introduces(self, word: str) -> bool:
        """Whether a participle after the word tells no past: "a retired racer", "get married"."""
        return word in self._tense["article"] or word in self._tense["becoming"]

    def _arranged(self, at: int) -> bool:
        gained = self._words[at] in self._tense["gained"] and not self._got(at)
        return self._phrase("settled", at) or gained

    def _permits(self, at: int) -> bool:
        """Whether "may" is a verb: "we may go"."""
        if self._words[at] not in self._tense["permission"] or at == 0:
            return False
        return self._words[at - 1] in self._tense["subject"] | self._tense["subject_s"]

    def _follows_noun(self, at: int) -> bool:
        """Whether a listed form is the verb of the noun before it, not a noun itself: "my parents
        arrive", "the shop opens", but "the visit", "two visits", "is open"."""
        if at == 0 or self._words[at - 1] in self._tense["article"] or self._timely(at - 1):
            return False
        before = self._words[at - 1]
        helpers = self._tense["be"] | self._tense["have"] | self._tense["did"]
        if not before[0].isalpha() or before in helpers:
            return False
        return self._words[at].endswith("s") or (before.endswith("s") and len(before) > 3)

    def _subject(self, at: int) -> bool:
        """Whether a pronoun stands before, with the verb form that it takes."""
        place = at - 1
        while place >= 0 and self._words[place] in self._tense["adverb"]:
            place -= 1
        if place < 0:
            return False
        if self._words[place] in self._tense["subject"]:
            return not self._inverted(place)
        return self._words[place] in self._tense["subject_s"] and self._words[at].endswith("s")

    def _infinite(self, at: int) -> bool:
        """Whether a helper stands before: "to put", "will read"."""
        before = self._words[at - 1]
        return before == "to" or before in self._tense["ahead"] | self._tense["would"]

    def _inverted(self, at: int) -> bool:
        """Whether the pronoun's verb has been already: "did you go", "what made you leave"."""
        if at == 0:
            return False
        before = self._words[at - 1]
        asked = any(before in self._tense[name] for name in ("do", "did", "have", "be", "ahead"))
        return asked or (self._is_past(before) and before not in ("said", "thought", "knew"))

    def _named(self, at: int) -> bool:
        """Whether a name stands before a form in -s: "Alice gets married"."""
        word = self._words[at]
        if at == 0 or not word.endswith("s") or word.endswith("ss") or len(word) < 4:
            return False
        name, verb = self._tokens[at - 1], self._tokens[at]
        return (
            self._text[name.start].isupper()
            and self._text[verb.start].islower()
            and name.word not in self._known.entries
        )

    def _orders(self, at: int) -> bool:
        """Whether the verb gives an order: "Start with the server on Sunday"."""
        before = self._words[at - 1] if at else ""
        return self._words[at] in self._tense["present"] and (
            not before or before in ("please", "and", "then", ",", ":", "-")
        )

    def _contracted(self, at: int) -> bool:
        """Whether 's is a verb: after a pronoun, or before what no owner owns ("Theo's moving",
        "my flight's on Sunday")."""
        if at and self._words[at - 1] in self._tense["contracted"]:
            return True
        following = self._next(at)
        if following >= len(self._words):
            return False
        word = self._words[following]
        return self._acting(following) or word in _LEADING or word in self._tense["article"]

    def _next(self, at: int) -> int:
        """The next word, past adverbs and, in a question, the subject."""
        place = at + 1
        while place < len(self._words) and self._words[place] in self._passed:
            place += 1
        return place

    def _participle(self, at: int) -> bool:
        if at >= len(self._words):
            return False
        return self._words[at] in self._tense["participle"] or self._is_past(self._words[at])

    def _got(self, at: int) -> bool:
        """Whether "have got" means to have: "I've got an appointment"."""
        following = self._words[at + 1] if at + 1 < len(self._words) else ""
        return self._words[at] == "got" and (
            following in self._tense["article"] or following == "to"
        )

    def _is_past(self, word: str) -> bool:
        return is_past(word, self._known)

    def _begins_with_gerund(self) -> bool:
        return self._acting(0)

    def _acting(self, at: int) -> bool:
        word = self._words[at]
        return len(word) > 4 and word.endswith("ing") and word not in self._tense["thing"]

    def _phrase(self, name: str, at: int) -> bool:
        return (
            self._words[at] in self._tense[name]
            or " ".join(self._words[at : at + 2]) in self._tense[name]
        )

    def _has(self, name: str) -> bool:
        return any(self._phrase(name, at) for at in range(len(self._words)))
