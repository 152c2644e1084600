"""The cues of cause and effect: their patterns, strengths, and what speaks against each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

__all__ = ["ANY_CUE", "BACK", "HEADS", "OPENERS", "RULES", "Kind", "Rule", "acceptable", "compiled"]

Kind = Literal["causes", "enables", "prevents"]
# "open": the cue opens the sentence, cause, comma, effect.
Order = Literal["cause first", "effect first", "open"]


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    kind: Kind
    order: Order
    weight: float
    pattern: str
    # Parts of which a sentence must hold one, in lower case: spares most sentences the pattern.
    heads: tuple[str, ...]


def _rule(name: str, kind: Kind, order: Order, weight: float, cue: str) -> Rule:
    pattern = cue if "(?P<cue>" in cue else rf"\b(?P<cue>{cue})\b"
    heads = _HEADS[name]
    return Rule(name, kind, order, weight, pattern, heads)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compiled on first use: most texts need few of the rules."""
    return re.compile(pattern, re.IGNORECASE)


_HEADS: dict[str, tuple[str, ...]] = {
    "opening because": ("because", " to ", " of "),
    "opening since": ("since", "that"),
    "because": ("because", "cos", "cuz", "'cause"),
    "due to": (" to ", " of "),
    "since": (", since",),
    "given that": ("given that", "inasmuch as", "seeing that"),
    "caused by": (" by",),
    "results from": (" from",),
    "which is why": ("why",),
    "so that": ("so that",),
    "so": ("so ", "so, "),
    "therefore": ("therefore", "thus", "hence", "consequently", " as a ", "accordingly", "thereby"),
    "leads to": (" to", " in", "about"),
    "causes": ("caus", "trigger", "provok", "spark", "induc"),
    "cause of": ("cause",),
    "makes possible": ("possible",),
    "enables": ("enabl", "allow", "permit"),
    "lets": ("lets",),
    "prevents": ("from", "prevent", "avert"),
    "in order to": ("order", "so as to", "aim of", "purpose of"),
    "to": (" to ",),
}


_SUBJECT = r"(?:i|you|he|she|it|we|they|there|the|a|an|my|your|his|her|our|their|its|this|that|these|those|all|everyone|nobody|people|now|[A-Z]\w+)"
_CAUSING = (
    r"(?:led|leads|leading|lead) to|(?:has|have|had) led to"
    r"|(?:resulted|results|resulting|result) in|gave rise to|gives rise to|giving rise to"
    r"|(?:brought|brings|bringing) about|(?:contributed|contributes|contributing|contribute) to"
    r"|(?:culminated|culminates|culminating) in"
)
# "Produced" and "generated" mostly tell who made a thing, so they are no cues.
_CAUSED = r"caus(?:ed|es|ing)|trigger(?:ed|s|ing)|provok(?:ed|es|ing)|sparked|induc(?:ed|es|ing)"
# The bare verb, where it cannot be the noun: "conflicts cause stress", "that may cause harm".
_BARE = (
    r"(?P<cue>(?:(?<=\bthat )|(?<=\bwhich )|(?<=\bcan )|(?<=\bcould )|(?<=\bmay )|(?<=\bmight )|(?<=\bwill )"
    r"|(?<=\bwould )|(?<=\balso )|(?<=\boften )|(?<=[a-z]s ))(?:cause|trigger|provoke|induce))\b(?! (?:of|for|and|is|was|by|in)\b)"
)
_BE = r"(?:is|are|was|were|been|being|be|get|got|gets)"

# fmt: off
_RULES: tuple[Rule, ...] = (
    # The cue opens the sentence.
    _rule(
        "opening because", "causes", "open", 0.95,
        r"(?<![\w,;] )(?<!\w)(?P<cue>(?:just |simply |only )?because(?: of)?|due to|owing to|thanks to|as a (?:result|consequence) of|on account of)\b",
    ),
    _rule("opening since", "causes", "open", 0.7, r"(?<![\w,;] )(?<!\w)(?P<cue>since|given that|seeing that)\b"),
    # Reasons that follow.
    _rule(
        "because", "causes", "effect first", 0.95,
        r"because of(?! (?:that|this),)|because|cos|cuz|'cause",
    ),
    _rule(
        "due to", "causes", "effect first", 0.9,
        r"due to|owing to|thanks to|on account of|as a (?:result|consequence) of|by reason of",
    ),
    _rule("since", "causes", "effect first", 0.6, r"(?P<cue>(?<=, )since)\b"),
    _rule("given that", "causes", "effect first", 0.6, r"given that|inasmuch as|seeing that"),
    # Passives, before the actives that share their verbs.
    _rule(
        "caused by", "causes", "effect first", 0.9,
        rf"(?:{_BE} )?(?:\w+ly )?(?:caused|triggered|brought about|provoked|induced|sparked) (?:\w+ly )?by",
    ),
    _rule(
        "results from", "causes", "effect first", 0.85,
        r"(?:resulted|results|resulting|stems?|stemmed|stemming|arises?|arose|arising|ensu(?:ed|es|ing)) (?:directly )?from",
    ),
    # Effects that follow.
    _rule("which is why", "causes", "cause first", 0.9, r"(?:and )?(?:which|that|this)(?: is|'s|’s|s| was) (?:exactly )?why"),
    _rule("so that", "enables", "cause first", 0.6, r"so that"),
    _rule("so", "causes", "cause first", 0.7, rf"(?P<cue>(?<=, )so|(?<=; )so|(?<=, )and so|(?<= [—–-] )so),? (?={_SUBJECT}\b)"),
    _rule(
        "therefore", "causes", "cause first", 0.85,
        r"(?P<cue>(?:(?<=[,;] )|(?<=[,;] and )|(?<= and ))(?:therefore|thus|hence|consequently|as a result|as a consequence|accordingly|thereby))\b(?! of)",
    ),
    _rule("leads to", "causes", "cause first", 0.85, _CAUSING),
    _rule("causes", "causes", "cause first", 0.85, _CAUSED),
    _rule("causes", "causes", "cause first", 0.8, _BARE),
    _rule("cause of", "causes", "cause first", 0.85, r"(?:is|are|was|were|be|been|as) (?:the|a|one of the|an)(?: \w+){0,2} causes? (?:of|for)"),
    _rule("makes possible", "enables", "cause first", 0.85, r"(?:made|makes|making) (?:it|this|that) possible (?:for|to)"),
    _rule(
        "enables", "enables", "cause first", 0.8,
        r"(?P<cue>\b(?:enabled|enables|enabling|allowed|allows|allowing|permitted|permits))\b(?= (?:\S+ ){1,6}to \w)",
    ),
    _rule("lets", "enables", "cause first", 0.6, r"lets(?= (?:me|us|him|her|them|you|it|\w+s)\b)"),
    _rule(
        "prevents", "prevents", "cause first", 0.85,
        r"(?P<cue>\b(?:prevent(?:ed|s|ing)|stopp(?:ed|ing)|stops|kept|keeps|keeping|block(?:ed|s|ing)|discourag(?:ed|es)|prohibit(?:ed|s)|deterr(?:ed|ing)))\b(?= (?:\S+ ){1,6}from \w+ing\b)",
    ),
    _rule("prevents", "prevents", "cause first", 0.7, r"(?:prevented|prevents|averted|averts)"),
    _rule("in order to", "enables", "cause first", 0.7, r"in order (?:to|for|that)|so as to|with the aim of|for the purpose of"),
)

# Purpose: "bought a bike to get to work". Only after verbs that take no infinitive themselves.
_PURPOSE_VERB = (
    r"(?:bought|used|uses|using|built|installed|hired|opened|wrote|created|added|borrowed|sold|saved"
    r"|switched|set up|booked|rented|downloaded|took (?:a|the|out|some)|made (?:a|an|the)|moved)"
)
RULES: tuple[Rule, ...] = (
    *_RULES,
    _rule(
        "to", "enables", "cause first", 0.4,
        rf"\b{_PURPOSE_VERB} (?:\S+ ){{1,6}}?(?P<cue>to)(?= (?!the\b|a\b|an\b|my\b|his\b|her\b|our\b|their\b|its\b|it\b|be\b)(?-i:[a-z]){{2,}}\b)",
    ),
)
# fmt: on

# A sentence that opens so takes the sentence or turn before it as its cause.
HEADS = tuple(dict.fromkeys(head for rule in RULES for head in rule.heads))

OPENERS = re.compile(
    r"""["“(]?(?:
        (?:and\ |but\ )?(?:therefore|thus|hence|consequently|accordingly
            |as\ a\ (?:result|consequence)(?!\ of)|for\ (?:this|that)\ reason
            |because\ of\ (?:this|that|it)|due\ to\ (?:this|that)|thanks\ to\ (?:this|that))\b,?
      | (?:and\ )?(?:that|this|which)(?:\ is|'s|’s|s|\ was)\ (?:exactly\ )?why\b
      | (?:and\ )?(?:this|that|which|it)\ (?:has\ |had\ )?(?:led\ to|leads\ to|caused|causes|resulted\ in|results\ in
            |triggered|brought\ about|gave\ rise\ to|meant\ that)\b
      | (?P<weak>(?:and\ )?so,|so(?=\ (?:i|we|he|she|they|it)\ (?!far|much|many|long)))
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)

# A sentence that opens so tells the cause of the sentence or turn before it. "It was because of the fog that we stayed"
# has its effect behind it.
BACK = re.compile(
    r"""["“(]?(?:and\ |but\ )?(?:
        (?:this|that|it)(?:\ all|\ only)?(?:['’]s|\ is|\ was|\ happened|\ occurred|\ came\ about)
            (?:\ (?:mainly|mostly|probably|just|simply|only|all|partly|largely|in\ part|apparently))?
            \ (?:because(?:\ of)?|due\ to|owing\ to|(?:caused|triggered)\ by|(?:a|the)\ (?:result|consequence)\ of)
      | (?:the\ )?(?:root\ |main\ |real\ |actual\ )?(?:cause|reason)(?:\ (?:for|of)\ (?:this|that|it))?
            (?:\ (?:is|was|were|turned\ out\ to\ be)(?:\ that)?|:)
    )\s+(?!.*\bthat\ (?:i|we|you|he|she|it|they|the|my|our)\b)
    (?!(?:not|un\w+|still|being|under|a\ mystery|to\ be|tbd|t\.b\.d|simple|obvious|clear|good|the\ same|n/a|none)\b)""",
    re.IGNORECASE | re.VERBOSE,
)

# One fast look that spares most texts the rules. It is for folded text: to ignore case takes a
# regular expression four times as long.
ANY_CUE = re.compile(
    r"""\b(?:because|cos|cuz|'cause|due\ to|owing\ to|thanks\ to|account\ of|result|consequence|reason
    |since|given\ that|seeing\ that|inasmuch|caus|trigger|provok|brought\ about|brings\ about|bringing\ about
    |induc|spark|stem|aris|arose|ensu|why|so|therefore|thus|hence|consequently|accordingly
    |thereby|led\ to|lead|rise\ to|contribut|culminat|possible|enabl|allow|permit|lets|prevent|stop|kept|keep
    |block|discourag|prohibit|deter|avert|order\ (?:to|for|that)|aim\ of|purpose\ of|meant\ that|to)""",
    re.VERBOSE,
)

_NEGATED = re.compile(
    r"\b(?:not|n't|n’t|never|no longer|hardly)(?: \w+ly)?(?: have| been| be)?$", re.IGNORECASE
)
_PERFECT = re.compile(
    r"\b(?:has|have|had|'ve|’ve)\b|\b(?:ever|long|years?|months?|weeks?|days?|been)$", re.IGNORECASE
)
_TIME_AFTER_SINCE = re.compile(
    r"""(?:then|now|when|last|the\ (?:start|beginning|end|last|early|late|first|age|day|time|year|war|\d)
      |\d|january|february|march|april|may|june|july|august|september|october|november|december
      |monday|tuesday|wednesday|thursday|friday|saturday|sunday|yesterday|early|late|mid|about|around
      |childhood|birth|graduat|college|university|high\ school|christmas|summer|winter|spring|autumn|fall
      |spring|dawn|noon|midnight|\w+ing\b|its\ (?:inception|founding|start|launch)|\S+\ \d{4}
      |(?:i|he|she|we|they|you|it|the\ \w+|[A-Z]\w+)\ (?:(?:was|were)\ (?:a|an|born|young|little|in|at|small|\w+teen|\d+)\b|got|came|moved|left|started|began|joined
        |became|met|arrived|opened|died|went|first|graduated|finished|returned|last|launched|took|turned
        |bought|had)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
_HAS_VERB = re.compile(
    r"\b(?:is|are|was|were|am|be|do|does|did|has|have|had|can|could|will|would|should|may|might|must"
    r"|\w+(?:ed|es|s|n't|n’t|'s|’s|'m|'re|'ve|'ll|'d))\b|\b(?:I|you|he|she|it|we|they)\b",
)
_SO_ON = re.compile(r"(?:far|much|many|long|on|called|to speak|be it)\b", re.IGNORECASE)
_NOUN_BEFORE = re.compile(
    r"\b(?:the|a|an|its|their|these|those|of|such|for|and|or|in|with|by)$", re.IGNORECASE
)
_PERMITTED = re.compile(
    r"\b(?:is|are|was|were|be|been|being|not|get|got)(?: \w+ly)?$", re.IGNORECASE
)


def acceptable(rule: Rule, cause: str, effect: str, match: re.Match[str]) -> bool:
    """Whether nothing around the cue speaks for another reading of it."""
    before = match.string[max(0, match.start("cue") - 40) : match.start("cue")].rstrip(" ,")
    if _NEGATED.search(before):
        return False
    name = rule.name
    if name in ("since", "opening since"):
        return _since_is_causal(rule, cause, effect)
    if name == "so":
        return not _SO_ON.match(effect) and bool(_HAS_VERB.search(cause))
    if name in ("causes", "enables", "leads to", "prevents", "lets"):
        # "was allowed to" is a permission, "the produced goods" and "sparks" are nouns.
        return not _PERMITTED.search(before) and not _NOUN_BEFORE.search(before)
    if name in ("because", "opening because", "therefore", "so that"):
        return len(effect) > 3
    return True


def _since_is_causal(rule: Rule, cause: str, effect: str) -> bool:
    if _TIME_AFTER_SINCE.match(cause) or not _HAS_VERB.search(cause):
        return False
    return not (rule.order == "effect first" and _PERFECT.search(effect)) and not re.search(
        r"\b(?:has|have|'ve|’ve) (?:\w+ly )?(?:been|\w+ed)\b", effect
    )
