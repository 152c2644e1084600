"""Attributes that have one value at a time, so that a new value replaces the old one.

A slot is read only from plain present statements ("Alice works at Google") and from changes
("Alice moved to Berlin", "the deadline was changed from Monday to Friday"). Questions, wishes,
negations, conditions and reports of what somebody thinks give none. What one can have many of
(likes, friends, skills) is no slot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from recollect.language.entities.gazetteer import (
    common_words,
    given_names,
    known_names,
    name_like_words,
)
from recollect.language.sentences import sentences
from recollect.retain.sameness import lemma, normalise

__all__ = ["TIMES", "Slot", "contradicts", "slot"]


@dataclass(frozen=True, slots=True)
class Slot:
    subject: str
    relation: str
    value: str
    changed: bool = False  # whether it says that there was another value


_OPENING = re.compile(
    r"^(?:(?:actually|now|currently|so|well|also|btw|by the way|update|fyi|note|yes|yeah|ok|okay"
    r"|yesterday|today|recently|last \w+|this \w+|as of \w+|since \w+|correction|finally|hi|hey"
    r"|in (?:\w+ )?\d{4}|on \w+day|then|just so you know)(?:,|:)?\s+)+",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b(?:if|unless|whether|might|(?-i:may)|could|would|should|must|wants?|wanted|hopes?|hoped|plans?|planned"
    r"|planning|wish(?:es)?|thinks?|thought|believes?|says?|said|heard|maybe|perhaps|probably|possibly"
    r"|not|never|n't|n’t|no longer|used to|almost|nearly|considering|considered|pretends?|dreams?|(?-i:will)"
    r"|before|formerly|previously|ex-\w+|former|like (?:a|he|she|it)|seems?|rumou?r\w*|allegedly|won't)\b|\w+n['’]t\b",
    re.IGNORECASE,
)
# "Dr. Klein", "St. Gallen", "J. R. Ewing": the full stop is the title's or the initial's.
_SHORTENED = "".join(
    rf"(?<!\b{title})" for title in ("mr", "ms", "mrs", "dr", "prof", "st", "mt", "ft", r"[^\W\d_]")
)
_VALUE_END = re.compile(
    rf"[;!?]|{_SHORTENED}\.(?=\s|$)"
    r"|,(?! (?:inc|llc|ltd|\d{4}\b|[A-Z][\w.]+$))|\s[—–-]\s|\s\(|\s(?:because|but|so that|so|after|when|while|where|which|who|though"
    r"|although|as well|until|thanks|and (?:i|he|she|it|we|they|is|has|was|works?|lives?|loves?|likes?)"
    r"|with (?:my|his|her|their)|instead of|rather than|for (?:now|the|about|\d)|to be)\b",
    re.IGNORECASE,
)
_VALUE_TAIL = re.compile(
    r"(?:,?\s(?:now|currently|these days|at the moment|today|yesterday|already|again|anymore|since\s.+|in \d{4}"
    r"|last \w+|this \w+|next \w+|\w+ (?:days?|weeks?|months?|years?) ago|recently|together|as an? .+|as (?:his|her|my|their|the) .+"
    r"|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|full[- ]time|part[- ]time|right now|for \w+ years?))+$",
    re.IGNORECASE,
)

_NAME = r"[^\W\d_][\w.'’-]*"
_TOGETHER = re.compile(rf"^(?:[Mm]y [\w-]+|{_NAME}) and I(?= )")
_WE = re.compile(r"we(?:['’](?:ve|re))?\b(?! (?:are )?(?:now )?based)", re.IGNORECASE)
_PRONOUNS = frozenset(
    [
        "he",
        "she",
        "it",
        "they",
        "we",
        "you",
        "this",
        "that",
        "these",
        "those",
        "who",
        "what",
        "there",
        "one",
    ]
)
_SUBJECT = (
    r"(?P<subject>I|(?-i:[A-Z])[\w.'’-]*(?: (?-i:[A-Z])[\w.'’-]*){0,3}"
    rf"|(?:the|my|our|(?-i:[A-Z])[\w-]*['’]s) [\w-]+(?: [\w-]+){{0,2}}?|{_NAME})"
)
_ADVERB = r"(?: (?:now|currently|just|also|still|recently|finally|officially|actually|already))?"
_BE = rf"(?:(?: is| am| are|['’]s|['’]m|['’]re){_ADVERB})"
# After an attribute "'s" is a possessive: "her husband's schedule".
_IS = rf"(?: (?:is|are){_ADVERB})"
_VALUE = r"(?P<value>.+)$"
_PROPER = r"(?P<value>(?:the )?(?-i:[A-Z0-9À-ÖØ-Þ]).*)$"

_ATTRIBUTE = (
    r"(?:(?:work|home|cell|mobile|personal|new|current|latest|default|main|job|primary|official|monthly|annual|yearly|hourly|"
    r"final|launch|release|due|delivery|wedding|start|end|first|last|middle|maiden|user|blood|shoe|wifi|wi-fi|room|account"
    r"|door|gate|alarm|entry|access|garage|locker|safe|guest) ){0,2}"
    r"(?:phone number|phone|number|e-?mail address|e-?mail|address|manager|boss|supervisor|birthday|birthdate|date of birth"
    r"|title|salary|rent|status|version|password|passcode|pin|deadline|due date|date|username|handle|budget|price|owner|port|url"
    r"|time ?zone|role|position|major|nationality|height|weight|type|size|capital|ceo|cto|cfo|president|wife|husband|spouse|name"
    r"|branch|location|venue|hometown|age|occupation|profession|job|employer|doctor|dentist|landlord|fianc[ée]e?|girlfriend|boyfriend"
    r"|limit|timeout|priority|lead|maintainer|team lead|theme|language|id|code|nickname|pronouns|zip code|language)"
)

# What is given up on the way to the new value, which may stand between the two: "left Google and joined Meta".
_LEFT = (
    rf"(?: has| have|['’]ve)?{_ADVERB} (?:left|quit|resigned(?: from)?)"
    r"(?: (?:my|his|her|their|the) (?:old |previous )?(?:job|position|role|post|company))?"
    r"(?:(?: at| with)? (?-i:[A-Z])[\w.&'’-]*(?: (?-i:[A-Z])[\w.&'’-]*){0,3})?,?"
)
# When something takes place: an hour, a weekday or a day of a month. Each is an attribute of its own.
_WHEN = (
    r"(?P<value>\d{1,2}:\d\d(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]\.?m\.?|noon|midnight"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?) \d{1,2}(?:st|nd|rd|th)?)(?: now| instead)?[.!]?$"
)
_HAPPENING = r"(?P<subject>(?:(?:the|my|our|(?-i:[A-Z])[\w-]*['’]s) )?[\w-]+(?: (?!is\b|was\b|moved\b)[\w-]+){0,3}?)"
_PATTERNS: tuple[tuple[str, str], ...] = (
    # Somebody's attribute, and changes of it.
    ("favorite {attribute}", rf"^(?P<owner>my|our|{_NAME}(?: {_NAME})?['’]s) (?:new |current |all-time )?favou?rite (?P<attribute>[\w-]+(?: [\w-]+)?){_IS} {_VALUE}"),
    ("favorite {attribute}", rf"^(?P<value>[^,]+?){_IS} (?P<owner>my|{_NAME}['’]s) (?:new |current |all-time )?favou?rite (?P<attribute>[\w-]+(?: [\w-]+)?)[.!]?$"),
    ("{attribute}", rf"^(?P<owner>my|our|the|{_NAME}(?: {_NAME}){{0,2}}['’]s|(?:the|my|our) [\w-]+(?: [\w-]+)?['’]s) (?P<attribute>{_ATTRIBUTE})(?: (?:of|for|at) (?P<of>(?:the |my |our )?[\w'’-]+(?: [\w'’-]+){{0,2}}?))?(?:{_IS}(?: (?:set to|changed to|at))?| (?:was|has been|is|got)?\s?(?:changed|moved|updated|set|pushed|switched|renamed|raised|lowered|increased|reduced|extended|postponed|rescheduled|bumped)(?: back)?(?: from .+?)? to| changed(?: from .+?)? to) {_VALUE}"),
    ("{attribute}", rf"^(?P<who>I|(?-i:[A-Z])[\w.'’-]*(?: (?-i:[A-Z])[\w.'’-]*)?) (?:changed|updated|set|moved|switched|renamed|reset|pushed) (?P<owner>my|his|her|their|our|the) (?P<attribute>{_ATTRIBUTE})(?: (?:of|for) (?P<of>(?:the |my )?[\w-]+(?: [\w-]+)?))?(?: from .+?)? to {_VALUE}"),
    # When it is. Only what tells of a change replaces it: there may be two meetings.
    ("when", rf"^{_HAPPENING}(?: (?:is|are|was|were)(?: now)?(?: (?:scheduled|set|planned))?| takes place| starts)(?: at| on| for) {_WHEN}"),
    ("when", rf"^{_HAPPENING}(?: (?:is|are|was|were|has been|have been|got|gets|is being))? (?:moved|pushed|rescheduled|postponed|shifted|brought forward)(?: back| forward| up)?(?: from [^.]+?)? to {_WHEN}"),
    ("when", rf"^(?:I|we|(?-i:[A-Z])[\w'’-]*)(?: have| has|['’]ve)?{_ADVERB} (?:moved|pushed|rescheduled|postponed|shifted|brought) {_HAPPENING}(?: back| forward| up)?(?: from [^.]+?)? to {_WHEN}"),
    # Work, school, home.
    ("employer", rf"^{_SUBJECT}(?:{_ADVERB} (?:works?|is working|am working)|['’][sm] working|{_BE} employed)(?: (?:remotely|full[- ]time|part[- ]time|as (?:an? |the )?[\w -]+?))? (?:at|for|by) {_PROPER}"),
    ("employer", rf"^{_SUBJECT}(?:{_ADVERB} (?:joined|started (?:working )?at|got (?:a|the) (?:new )?job (?:at|with)|accepted (?:a|the) (?:job|offer|position) (?:at|from)|was hired (?:by|at)|took a (?:new )?job (?:at|with)|moved jobs to)) {_PROPER}"),
    ("employer", rf"^{_SUBJECT}{_LEFT} (?:and{_ADVERB}(?: then)? (?:joined|started (?:working )?at|works? (?:at|for)|got (?:a|the) (?:new )?job (?:at|with)|took a (?:new )?job (?:at|with))|to (?:join|work (?:at|for))) {_PROPER}"),
    ("home", rf"^{_SUBJECT}{_LEFT} and{_ADVERB}(?: then)? (?:moved|relocated)(?: back)? to {_PROPER}"),
    ("employer", rf"^{_SUBJECT}{_BE} (?:an? |the )?[\w -]*?(?:engineer|developer|manager|designer|analyst|scientist|teacher|nurse|doctor|lawyer|accountant|consultant|researcher|professor|director|intern|chef|ceo|cto|cfo|architect|writer|editor|recruiter|salesperson|programmer)s? (?:at|for|with) {_PROPER}"),
    ("school", rf"^{_SUBJECT}{_ADVERB} (?:studies|study|attends?|is studying|goes to school|enrolled|transferred)(?: [\w ]+?)?(?: at| in| to)? (?P<value>(?:the )?(?-i:[A-Z])[\w .'-]*(?:University|College|School|Institute|Academy|MIT|Tech)\b.*|(?:the )?University of .+|MIT|Stanford|Harvard|Yale)$"),
    ("home", rf"^{_SUBJECT}{_ADVERB} (?:lives?|resides?|settled) in {_PROPER}"),
    ("home", rf"^{_SUBJECT}{_BE} (?:living|based) in {_PROPER}"),
    ("home", rf"^{_SUBJECT}(?: has| have|['’]ve)?{_ADVERB} (?:moved|relocated)(?: (?:back|from (?-i:[A-Z])[\w ]+?|out|over))? to {_PROPER}"),
    # People.
    ("manager", rf"^{_SUBJECT}{_ADVERB} reports? to {_PROPER}"),
    ("{attribute}", rf"^(?P<value>(?-i:[A-Z])[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+)?){_IS} (?P<owner>the|our|my) (?:new )?(?P<attribute>ceo|cto|cfo|team lead|maintainer)(?: of (?P<of>(?:the )?[\w-]+(?: [\w-]+)?))?[.!]?$"),
    ("age", rf"^{_SUBJECT}{_BE} (?P<value>\d{{1,3}})(?: years? old| y/?o)?[.!]?$"),
    ("age", rf"^{_SUBJECT}(?:{_ADVERB} turned| just turned) (?P<value>\d{{1,3}})\b(?! (?:pages|around|left|right))"),
    ("partner", rf"^{_SUBJECT}(?:{_BE} (?:married to|engaged to|dating|going out with|in a relationship with)|{_ADVERB} (?:married|got (?:married|engaged) to|started dating)) {_PROPER}"),
    ("partner", rf"^{_SUBJECT}{_BE} (?P<value>single|divorced|widowed)[.!]?$"),
    ("position", rf"^{_SUBJECT} (?:was|got|has been)(?: just)? (?:promoted|appointed|named) (?:to |as )?(?P<value>.+)$"),
    # Things.
    ("{attribute}", rf"^{_SUBJECT}{_ADVERB} (?:uses?|is using|am using) (?P<value>[\w.+# -]+?) as (?P<owner>my|his|her|their|our|its|the) (?P<attribute>(?:main |primary |default )?[\w-]+(?: [\w-]+)?)[.!]?$"),
    ("{attribute}", rf"^{_SUBJECT}{_ADVERB} switched(?: from .+?)? to (?P<value>[\w.+# -]+?) as (?P<owner>my|his|her|their|our|its|the) (?P<attribute>(?:main |primary |default )?[\w-]+(?: [\w-]+)?)[.!]?$"),
    ("version", rf"^{_SUBJECT}(?: (?:runs|is running|is (?:now )?(?:on|at)|uses)| (?:was|has been|got) (?:upgraded|updated|bumped|migrated|downgraded)(?: from .+?)? to| upgraded(?: from .+?)? to)(?: version)? (?P<value>v?\d+(?:\.\d+)*(?:[-\w.]*)?)[.!]?$"),
    ("port", rf"^{_SUBJECT}(?:{_ADVERB} (?:runs|listens)|{_BE}(?: (?:running|listening))?) on port (?P<value>\d+)(?: now)?[.!]?$"),
    ("version", r"^(?:I|we)(?: (?:use|run|are (?:now )?on)|['’]re (?:now )?on) (?P<subject>(?-i:[A-Z])[\w+#-]*(?: (?-i:[A-Z])[\w+#-]*)?) (?:version )?(?P<value>v?\d+(?:\.\d+)*)(?: now)?[.!]?$"),
    ("version", rf"^(?:I|we|{_NAME}) (?:upgraded|updated|bumped|migrated|downgraded) (?P<subject>(?:the |our |my )?[\w-]+(?: [\w-]+)?)(?: from .+?)? to (?:version )?(?P<value>v?\d+(?:\.\d+)*(?:[-\w.]*)?)[.!]?$"),
    ("status", rf"^{_SUBJECT}{_BE} (?P<value>open|closed|on|off|up|down|online|offline|active|inactive|enabled|disabled|done|blocked|in progress|pending|approved|rejected|live|deprecated|merged|resolved|fixed|broken|available|unavailable|cancell?ed|completed?|finished|retired|unemployed|pregnant|sold out)[.!]?$"),
)  # fmt: skip


@cache
def _rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    # Compiled on first use: it takes longer than importing the module.
    return tuple((relation, re.compile(text, re.IGNORECASE)) for relation, text in _PATTERNS)


# Attributes that are one thing under several names.
_SAME_ATTRIBUTE = {
    "phone": "phone number", "number": "phone number", "cell phone": "phone number",
    "cell phone number": "phone number", "mobile number": "phone number",
    "e-mail": "email", "email address": "email", "e-mail address": "email",
    "boss": "manager", "supervisor": "manager", "due date": "deadline", "time zone": "timezone",
    "job title": "position", "title": "position", "role": "position", "job": "position",
    "occupation": "position", "profession": "position", "passcode": "password",
    "wife": "partner", "husband": "partner", "spouse": "partner", "girlfriend": "partner",
    "boyfriend": "partner", "fiancé": "partner", "fiancée": "partner", "date of birth": "birthday",
    "birthdate": "birthday", "home address": "address", "location": "location",
}  # fmt: skip
_DATE = r"\d|\b(?:to(?:day|morrow|night)|noon|midnight|week|month|end|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|december)"
_PROPER_NAME = r"^(?:the |dr\.? |mr\.? |mrs\.? |ms\.? )?(?-i:[A-Z])"
# What a value must look like, so that "the phone is broken" is not a number.
_FORMS: dict[str, str] = {
    "phone number": r"\d{3}", "email": "@", "salary": r"\d", "rent": r"\d", "price": r"\d",
    "budget": r"\d", "age": r"\d", "height": r"\d", "weight": r"\d", "version": r"\d",
    "port": r"\d", "pin": r"\d", "timeout": r"\d", "limit": r"\d", "deadline": _DATE,
    "birthday": _DATE, "date": _DATE, "manager": _PROPER_NAME, "partner": _PROPER_NAME,
    "owner": _PROPER_NAME, "name": _PROPER_NAME, "ceo": _PROPER_NAME, "cto": _PROPER_NAME,
    "cfo": _PROPER_NAME, "president": _PROPER_NAME, "doctor": _PROPER_NAME,
    "dentist": _PROPER_NAME, "landlord": _PROPER_NAME, "capital": _PROPER_NAME,
    "password": r"^\S+$", "username": r"^\S+$", "address": r"\d|^(?-i:[A-Z])",
}  # fmt: skip
_NO_VALUE = re.compile(
    r"^(?:to|very|too|so|quite|really|also|being|that|crucial|important|essential|great|good|bad"
    r"|perfect|fine|ready|due|coming|approaching|unknown|unclear|missing|still|about|because|tall"
    r"|nice|kind|amazing|awesome|tight|wrong|correct|clear|set|changing|like|the same)\b",
    re.IGNORECASE,
)
_BRITISH = re.compile(r"\b(col|flav|fav|neighb|behavi)our(?=\b|ite)")
_QUALIFIERS = re.compile(r"^(?:new|current|latest|official|main|primary) ")
_TRIGGER = re.compile(
    r"\b(?:is|am|are|works?|working|join(?:ed)?|started|lives?|living|moved|relocated|resides?|settled|turned|married"
    r"|dating|engaged|uses?|using|switched|runs?|running|upgraded|updated|bumped|migrated|downgraded|changed|set|reports?|listens?|use|run|starts|takes"
    r"|postponed|shifted|brought|was|were|has|have|got|accepted|hired|took|promoted|appointed|named|studies|study|studying|attends?|enrolled|transferred"
    r"|goes|based|employed|pushed|renamed|raised|lowered|increased|reduced|extended|postponed|rescheduled|reset)\b|['’](?:s|m|re)\b",
)


def slot(text: str, speaker: str | None = None) -> Slot | None:
    """The attribute and value that ``text`` states, or None; "I" is the speaker.

    A text that says much else gives none: to replace it would replace the rest as well.
    """
    if len(text) > 300 or "?" in text or not _TRIGGER.search(text.casefold()):
        return None
    statement = _only_statement(text)
    if statement is None:
        return None
    for relation, pattern in _rules():
        match = pattern.match(statement)
        found = _read(relation, match, speaker) if match else None
        if found is not None:
            return found
    return None


def _only_statement(text: str) -> str | None:
    """The one sentence of ``text`` that is more than an interjection ("Hey Bob! Big news.")."""
    text = text.strip()
    if not _SEVERAL.search(text):
        return _opened(text)
    found = [text[start:end] for start, end in sentences(text)]
    if len(found) > 1:
        found = [sentence for sentence in found if len(sentence.split()) > _INTERJECTION]
    if len(found) != 1:
        return None
    return _opened(found[0])


def _opened(sentence: str) -> str:
    """Without what only opens it; who does something together with the speaker is "we"."""
    return _TOGETHER.sub("We", _OPENING.sub("", sentence, count=1), count=1)


def _read(relation: str, match: re.Match[str], speaker: str | None) -> Slot | None:
    groups = match.groupdict()
    raw = _cut(match["value"])
    value = _value(raw)
    rest = match["value"][len(raw) :]
    # Read as written, since "5 May" is a date and "may" a doubt.
    if not value or _UNSURE.search(match.string[: match.start("value")]) or _UNSURE.search(raw):
        return None
    if len(rest.split()) > _REST or _AND_MORE.match(rest):
        return None
    # A household moves; what is based somewhere is a firm.
    ours = relation == "home" and _WE.match(match.string) is not None
    subject = _named("I", speaker) if ours else _subject(groups, speaker)
    if subject is None or (relation == "home" and not _is_home(raw, sure=ours)):
        return None
    if relation == "home" and _VISIT.match(rest):
        return None
    joined = relation == "employer" and _JOINED.search(match.string[: match.start("value")])
    if joined and raw.split()[0].lower() in _lower_names():  # "joined Bob for lunch"
        return None
    attribute = groups.get("attribute")
    if attribute:
        relation = relation.format(attribute=_attribute(attribute))
        if _NO_VALUE.match(raw) or not _has_form(relation, raw):
            return None
    if relation == "when":
        relation = _kind_of_time(value)
    return Slot(subject, relation, value, _CHANGED.search(match.string) is not None)


_CHANGED = re.compile(
    r"\b(?:now|instead|moved|pushed|rescheduled|postponed|shifted|brought)\b", re.IGNORECASE
)
# The relations that say when something takes place.
TIMES = ("hour", "weekday", "day")


def _kind_of_time(value: str) -> str:
    if value.endswith("day"):
        return "weekday"
    return "day" if value[0].isalpha() and any(map(str.isdigit, value)) else "hour"


_VISIT = re.compile(
    r"\s*for (?:the|a|an|\d+) (?:long )?(?:weekend|nights?|days?|weeks?|summer|winter|holidays)\b",
    re.IGNORECASE,
)


def _is_home(raw: str, *, sure: bool) -> bool:
    """Whether one can live there: not "I moved to Slack", "to Python 3.12" or "to Marketing". Where only a place can be
    meant, it is a known one: what a team moves to may be called anything."""
    named = _CAPITALS.match(raw)
    if named is None:
        return not sure
    head = re.sub(r"^the ", "", named[0], flags=re.IGNORECASE).strip(" .,!?").lower()
    kinds = _kinds().get(head, frozenset())
    if kinds or sure:
        return kinds == frozenset({"place"})
    return not any(map(str.isdigit, head)) and head.split()[-1] not in common_words()


_CAPITALS = re.compile(r"(?:the )?[A-Z0-9À-ÖØ-Þ][^\s,]*(?: [A-Z0-9À-ÖØ-Þ][^\s,]*)*")


@cache
def _kinds() -> dict[str, frozenset[str]]:
    """Of well-known names, in lower case, all that they name."""
    kinds: dict[str, set[str]] = {}
    for name, kind in known_names():
        kinds.setdefault(name.lower(), set()).add(kind)
    return {name: frozenset(found) for name, found in kinds.items()}


_SEVERAL = re.compile(r"[.!…。！？]\s*\S|\n")
_INTERJECTION = 3
_JOINED = re.compile(r"\bjoin(?:ed)? $", re.IGNORECASE)
# How many words may follow the value: a reason or a time, not another fact.
_REST = 8
_AND_MORE = re.compile(
    r",? and (?:i|he|she|it|we|they|is|has|was|works?|lives?|loves?|likes?)\b", re.IGNORECASE
)


@cache
def _form(attribute: str) -> re.Pattern[str] | None:
    form = _FORMS.get(attribute) or _FORMS.get(attribute.rsplit(" ", 1)[-1])
    return re.compile(form, re.IGNORECASE) if form else None


def _has_form(relation: str, raw: str) -> bool:
    form = _form(relation)
    return form is None or bool(form.search(raw.strip("\"'“”‘’ ")))


def _cut(raw: str) -> str:
    end = _VALUE_END.search(raw)
    return raw[: end.start()] if end else raw


def _value(raw: str) -> str:
    value = _VALUE_TAIL.sub("", raw.strip(" .,!\"“”'"))
    words = normalise(value).split()
    return " ".join(words) if len(words) <= 8 else ""


def _attribute(raw: str) -> str:
    name = _QUALIFIERS.sub("", _BRITISH.sub(r"\1or", raw.lower()))
    return _SAME_ATTRIBUTE.get(name, name)


def _subject(groups: dict[str, str | None], speaker: str | None) -> str | None:
    """Whose attribute it is, normalised; None where only a pronoun says so."""
    owner = groups.get("owner") or ""
    if groups.get("of"):
        return _named(groups["of"] or "", speaker)
    if owner and not groups.get("subject"):
        lower = owner.lower()
        if lower in ("his", "her", "their", "the") and groups.get("who"):
            return "the" if lower == "the" else _named(groups["who"] or "", speaker)
        if lower == "the":
            return "the"
        return _named(re.sub(r"['’]s$", "", owner), speaker)
    return _named(groups.get("subject") or "", speaker)


@cache
def _lower_names() -> frozenset[str]:
    return given_names() - name_like_words()


def _named(raw: str, speaker: str | None) -> str | None:
    lower = raw.lower().replace("’", "'")
    if lower in ("i", "my", "me"):
        return normalise(speaker) if speaker else "i"
    if lower == "our":
        return "we"
    if lower in _PRONOUNS:
        return None
    if lower.startswith(("my ", "our ")):
        owner = _named(lower.split()[0], speaker)
        return f"{owner}'s {normalise(lower.split(' ', 1)[1])}"
    first = lower.split()[0] if lower else ""
    described = first == "the" or "'s" in lower
    # A lower-case subject must be a name: "bob lives in Rome", not "everybody lives in Rome".
    if raw == lower and not described and first not in _lower_names():
        return None
    return normalise(raw)


def contradicts(old: Slot, new: Slot) -> bool:
    """Whether the two cannot both hold: one attribute, two values, neither part of the other."""
    if (old.subject, old.relation) != (new.subject, new.relation):
        return False
    if new.relation in TIMES and not new.changed:
        return False
    one = {lemma(word) for word in old.value.split()}
    other = {lemma(word) for word in new.value.split()}
    return not (one <= other or other <= one)
