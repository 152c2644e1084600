"""What sort of statement a text is: whose, an event or a state, the same as another, or the
value of an attribute that only one value can have at a time."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal

from recollect.retain.sameness import nearly_same, normalise
from recollect.retain.slots import TIMES, Slot, contradicts, slot
from recollect.retain.stance import Stance, stance

__all__ = [
    "TIMES",
    "Slot",
    "Stance",
    "contradicts",
    "fact_type",
    "is_event",
    "nearly_same",
    "normalise",
    "slot",
    "stance",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|(?<!\w)'[^']*'(?!\w)|`[^`]*`")
_FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'll|I'd|I’m|I’ve|I’ll|I’d|me|my|mine|myself|Me|My)\b")
AGENT_NAMES = ("assistant", "agent", "ai", "bot")


def fact_type(
    text: str, speaker: str | None = None, agent_names: Collection[str] = AGENT_NAMES
) -> Literal["world", "experience"]:
    """``experience`` is what the agent itself did, said or saw.

    With a speaker, it is the agent's own words that are experience; what a user says in the
    first person is a fact about the user, so ``world``. Without a speaker the text is the
    agent's own note: the first person singular makes it experience, quotations not counted.
    """
    if speaker is not None:
        own = {name.lower() for name in agent_names}
        return "experience" if speaker.strip().lower() in own else "world"
    return "experience" if _FIRST_PERSON.search(_QUOTED.sub("", text)) else "world"


_TOKEN = re.compile(r"[a-z]+(?:['’][a-z]+)?")
_BE = _words("is am are be been being 's 're 'm was were isn't aren't wasn't weren't")
_PAST_BE = _words("was were wasn't weren't")
_HABIT = re.compile(
    r"\b(?:always|usually|often|every (?:day|week|month|year|morning|night|evening|\w+day)|never"
    r"|used to|tends? to|generally|typically|rarely|most (?:days|weekends)|on \w+days|each \w+)\b",
    re.IGNORECASE,
)
_DATED = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|this (?:morning|afternoon|evening|weekend)|last "
    r"(?:night|week|month|year|weekend|\w+day|spring|summer|autumn|fall|winter)|\w+ ago"
    r"|next (?:week|month|year|\w+day)|just now|the other day)\b",
    re.IGNORECASE,
)
_AHEAD = re.compile(
    r"\b(?:will|'ll|’ll|(?:is|am|are|'m|'re|'s) going to|about to)\b(?! (?:always|never|not))",
    re.IGNORECASE,
)
# Past tenses that tell of a state, and participles that are adjectives after "be".
_STATIVE_PAST = _words(
    """liked loved hated preferred wanted needed lived worked knew believed owned seemed thought
    felt had wished hoped trusted feared enjoyed contained consisted included belonged existed
    remained stayed meant cost weighed deserved resembled depended understood doubted looked
    disliked supported agreed used named called based"""
)
_ADJECTIVES = _words(
    """married interested located based called named retired scared tired excited engaged divorced
    supposed used known made written allergic worried concerned bored qualified experienced
    dedicated committed related connected required needed allowed expected designed built limited
    satisfied pleased convinced impressed confused obsessed addicted involved supported enabled
    disabled closed deprecated hosted stored owned run shared gifted talented certified licensed
    left red bed need speed indeed seed feed hundred sacred naked wicked kindred united kids
    determined embarrassed annoyed frustrated disappointed surprised stressed relaxed motivated"""
)
_NOT_PAST = _words(
    """need feed seed speed bleed breed exceed proceed succeed indeed hundred red bed shed wed led
    embed sacred naked united airbed wed. ted ned fred ed jed med newlywed infrared"""
)
_DYNAMIC_PAST = _words(
    """went bought ate got made met saw said told took came gave found left became began brought
    built chose drove fell flew forgot grew heard held kept led lost paid ran sang sat sent slept
    sold spent spoke stood taught won wrote did broke caught drank rode swam threw woke beat fought
    hid rose shot stole tore drew dug fed froze hung hurt laid lent lit put quit read rang set
    shook shut sank struck stuck swept swung bit blew bent bound bled burnt cut dealt"""
)
_LASTING_ING = _words(
    """working living studying learning using dating teaching training writing building running
    planning looking trying hoping getting leading managing developing thinking considering"""
)
_NO_DEED = _words(
    """bring thing nothing something anything everything king sing ring spring string wing missing
    morning evening during according including regarding ceiling wedding"""
)
_DETERMINERS = _words(
    "a an the my your his her its our their this that these those very so too more"
)


# A day in a word or two, as diaries and stand-ups have it: "Out sick.", "Migraine again.", "WFH." Nothing else may be
# told: "Cold brew." and "Night owl." last.
_OF_A_DAY = (
    r"(?:(?:out|off|home) (?:sick|ill)|sick(?: day| leave)?|ill|unwell|fever|flu|(?:bad |head ?)cold|headache|migraine"
    r"|nausea|(?:back|tooth|stomach)[ -]?ache|sore throat|hung ?over|jet[- ]?lag(?:ged)?|insomnia|ooo|out of (?:the )?office"
    r"|wfh|working from home|on (?:pto|leave|vacation|holiday|call)|pto|(?:day|week) off|(?:rest|snow|travel) day"
    r"|(?:night|late|early|day) shift|no (?:school|work|sleep|incidents?|alerts?|outages?|blockers?|changes?|news)"
    r"|all quiet|nothing (?:new|to report)|(?:heavy |light )?(?:rain|snow)|rainy|sunny|cloudy|foggy|windy|gym|workout|leg day|yoga|pilates|stand-?up|retro|dentist|physio(?:therapy)?)"
)
_AROUND = (
    r"(?:a|an|the|my|another|again|still|all day|half day|at home|in bed|with|and|feeling|bad|slight|mild|severe|terrible"
    r"|very|quite|so far|morning|evening|session|class|appointment|\d+)"
)
# What is measured or shared on a day, which the next day has again.
_MEASURED = (
    r"(?:bp|blood (?:pressure|sugar)|glucose|heart rate|resting heart rate|pulse|temp(?:erature)?|fever|weight|steps|mood"
    r"|pain|sleep|hrv|spo2)\W{1,3}(?:of |at )?\d[\d.,:/]*\s?(?:kg|lbs?|mmhg|bpm|°?[cf]|h|hours|steps|%|mg/dl|mmol/l)?"
)
_SHARED = (
    r"(?:lunch|dinner|breakfast|brunch|coffee|drinks|call|meeting|interview|sync|walk) with"
    r" (?:(?-i:[A-Z])[\w'’-]*|(?:my|the|our) [\w'’-]+)(?:(?:,| and| from| at| in) [\w'’-]+){0,4}"
)
_DAILY = re.compile(
    r"\W*(?:I(?:['’]m| am| feel| have| got|['’]ve got) (?!working|insomnia|no\b))?"
    rf"(?:{_AROUND}\W+)*{_OF_A_DAY}(?:\W+(?:{_AROUND}|{_OF_A_DAY}))*\W*"
    rf"|\W*(?:{_MEASURED}|{_SHARED})\W*"
    r"|\W*(?:[\w'’-]+ ){1,3}?(?:(?:is|was|am|are) |[’'][sm] )?(?:out|off) (?:sick|ill)(?: again)?\W*",
    re.IGNORECASE,
)


def is_event(text: str) -> bool:
    """Whether ``text`` tells of a happening ("ordered pizza"), not of a lasting state or habit."""
    bare = _QUOTED.sub("", text)
    if _HABIT.search(bare):
        return False
    if _AHEAD.search(bare) or _DAILY.fullmatch(bare):
        return True
    tokens: list[str] = _TOKEN.findall(bare.lower())
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        if not index and _tells_deed(token, tokens[1:2]):
            return True
        if not index and token in _ADJECTIVES - {"left"} and _tells_no_deed(tokens[1:2]):
            return False
        verdict = _verdict(token, before, tokens[index + 1 : index + 3])
        if verdict is not None:
            return verdict or bool(_DATED.search(bare) and token in _PAST_BE)
    return False


def _tells_deed(token: str, after: list[str]) -> bool:
    """As diaries put it, with nobody named: "Worked late.", "Felt dizzy", "Painting the room"; not "Worked at Google"."""
    if token == "worked":
        return not after or after[0] not in ("at", "for", "in", "as", "with")
    if token in ("felt", "had", "stayed", "enjoyed"):
        return True
    doing = token.endswith("ing") and len(token) > 4 and token not in _LASTING_ING | _NO_DEED
    return doing and bool(after) and after[0] in ("with", "the", "my", "our", "late", "again")


def _tells_no_deed(after: list[str]) -> bool:
    """ "Married.", "Engaged to Bob", "Based in Rome": what somebody is, with nobody named."""
    return not after or after[0] in ("to", "in", "with", "at", "by", "since", "and", "as", "from")


def _verdict(token: str, before: str, after: list[str]) -> bool | None:
    """True: this verb tells of an event; False: of a state; None: not the verb that decides."""
    if token in _BE or token.endswith(("'s", "’s", "'re", "’re", "'m", "’m")):
        return _verdict_of_be(token, after)
    if before in _DETERMINERS or before in ("to", "of"):
        return None
    if token in _STATIVE_PAST or token in _STATES:
        return False
    if token in _DYNAMIC_PAST:
        return True
    if token.endswith("ed") and len(token) > 3 and token not in _NOT_PAST:
        return True
    if token in ("has", "have", "had") or token.endswith(("'ve", "’ve")):
        done = next((word for word in after if word not in ("just", "already", "also")), "")
        return _participle(done)
    return None


def _verdict_of_be(token: str, after: list[str]) -> bool | None:
    following = [
        word for word in after if word not in ("not", "also", "now", "just", "currently", "already")
    ]
    if not following:
        return None if "'" in token or "’" in token else False
    word = following[0]
    short = "'" in token or "’" in token
    # "Bob's car": a possessive decides nothing.
    if short and not (word.endswith("ing") or _participle(word) or token in _PRONOUN_BE):
        return None
    if word.endswith("ing") and len(word) > 4:
        return token in _PAST_BE or word not in _LASTING_ING
    return _participle(word) and word not in _ADJECTIVES


def _participle(word: str) -> bool:
    if word in _STATIVE_PAST or word in _NOT_PAST:
        return False
    return word in _PARTICIPLES or word in _DYNAMIC_PAST or (word.endswith("ed") and len(word) > 3)


_PARTICIPLES = _words(
    """gone bought eaten got gotten made met seen said told taken come given found left begun
    brought built chosen driven fallen flown forgotten grown heard held kept led lost paid run sung
    sent slept sold spent spoken stood taught won written done broken caught drunk ridden thrown
    born hit hurt shot stolen torn put set cut fired hired"""
)
_PRONOUN_BE = _words(
    "he's she's it's i'm you're we're they're he’s she’s it’s i’m you’re we’re they’re"
)
_STATES = _words(
    """likes like loves love hates hate prefers prefer wants want needs need lives live works work
    knows know believes believe owns own seems seem thinks think feels feel uses use enjoys
    enjoy speaks speak means costs weighs contains includes belongs depends supports requires
    can cannot can't should must may might plays studies teaches runs drives attends"""
)
