"""Cause and effect that a text states in so many words.

Every relation rests on a cue ("because", "led to", "prevented … from"). A cue that also has
another reading ("since", "so", "to") counts only where its surroundings exclude that reading:
a missed relation costs a link, a wrong one misleads recall.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from recollect.language.sentences import sentences
from recollect.retain.causal_cues import (
    ANY_CUE,
    BACK,
    HEADS,
    OPENERS,
    RULES,
    Kind,
    Rule,
    acceptable,
    compiled,
)

__all__ = ["CausalRelation", "find_causal"]

Span = tuple[int, int]

# A "sentence" longer than this is a log, a list or code: its cues relate nothing.
_LONGEST = 1000
_TRIM = re.compile(r"[\s,;:.!?()\"“”—–-]+")
# Where a clause ends, seen from a cue.
_CLAUSE_BREAK = re.compile(r";|, (?:but|and|so|or|although|though|while|whereas)\b| [—–-] |\) ?")
_CLAUSE_END = re.compile(_CLAUSE_BREAK.pattern + r"|, (?:which|\w+ing)\b")
_LEADING = re.compile(
    r"(?:(?:and|but|or|so|that|then|well|also|which|who|it was|it is|it's|mainly|mostly|partly"
    r"|largely|probably|only|just|simply|in part|primarily)[\s,]+)+",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:[\s,;:.!?()\"“”—–-]|\b(?:that|which|who|and|has|have|had|is|was|are|were|mainly|partly|may|can|will"
    r"|could|might|would|also|often|probably|largely|only|just|simply|primarily|mostly)\b)+$"
)


@dataclass(frozen=True, slots=True)
class CausalRelation:
    """``cause`` leads to ``effect``.

    With ``previous`` the text opens with its cue ("So, we left"): the cause is what was said
    before the text, so ``cause_span`` is None and ``cause`` empty. Or it tells the cause of that ("That
    was because it rained"): then so are ``effect_span`` and ``effect``.
    """

    kind: Kind
    cause_span: Span | None
    effect_span: Span | None
    cause: str
    effect: str
    weight: float
    cue: str
    previous: bool = False


def find_causal(text: str) -> tuple[CausalRelation, ...]:
    """The causal relations stated in ``text``, sentence by sentence."""
    if not ANY_CUE.search(text.casefold()):
        return ()
    found: list[CausalRelation] = []
    before: Span | None = None
    for start, end in sentences(text):
        found.extend(_in_sentence(text, start, end, before))
        before = (start, end)
    return tuple(found)


def _in_sentence(text: str, start: int, end: int, before: Span | None) -> Iterator[CausalRelation]:
    if end - start > _LONGEST:
        return
    sentence = text[start:end]
    if sentence.endswith("?") or not ANY_CUE.search(sentence.casefold()):
        return
    opener = OPENERS.match(sentence)
    if opener:
        effect = _trim(text, start + opener.end(), end)
        if effect:
            yield _from_previous(text, before, effect, opener)
        start += opener.end()
    back = None if opener else BACK.match(sentence)
    if back:
        cause = _trim(text, start + back.end(), _clause_end(text, start + back.end(), end))
        if cause:
            yield _of_previous(text, before, cause, back)
        start += back.end()
    used: list[Span] = []
    lower = sentence.lower()
    heads = {head for head in HEADS if head in lower}
    for rule in RULES:
        if heads.isdisjoint(rule.heads):
            continue
        for match in compiled(rule.pattern).finditer(text, start, end):
            if any(a < match.end("cue") and match.start("cue") < b for a, b in used):
                continue
            relation = _relation(text, (start, end), rule, match)
            if relation:
                used.append(match.span("cue"))
                yield relation


def _from_previous(
    text: str, before: Span | None, effect: Span, opener: re.Match[str]
) -> CausalRelation:
    cause = text[slice(*before)] if before else ""
    weight = 0.5 if opener.group("weak") else 0.8
    cue = opener.group().strip(' ,"“(').lower()
    return CausalRelation(
        "causes", before, effect, cause, text[slice(*effect)], weight, cue, before is None
    )


def _of_previous(
    text: str, before: Span | None, cause: Span, opener: re.Match[str]
) -> CausalRelation:
    effect = text[slice(*before)] if before else ""
    cue = opener.group().strip(' ,"“(').lower()
    return CausalRelation(
        "causes", cause, before, text[slice(*cause)], effect, 0.9, cue, before is None
    )


def _relation(text: str, bounds: Span, rule: Rule, match: re.Match[str]) -> CausalRelation | None:
    sides = _sides(text, bounds, rule, match)
    if sides is None:
        return None
    cause, effect = sides
    if not acceptable(rule, text[slice(*cause)], text[slice(*effect)], match):
        return None
    return CausalRelation(
        rule.kind,
        cause,
        effect,
        text[slice(*cause)],
        text[slice(*effect)],
        rule.weight,
        match.group("cue").lower(),
    )


def _sides(text: str, bounds: Span, rule: Rule, match: re.Match[str]) -> tuple[Span, Span] | None:
    """The spans of cause and effect, by the order that the rule states."""
    start, end = bounds
    cue_start, cue_end = match.span("cue")
    if rule.order == "open":  # "Because CAUSE, EFFECT"
        comma = _main_clause(text, cue_end, end)
        if comma < 0:
            return None
        cause, effect = _trim(text, cue_end, comma), _trim(text, comma + 1, end)
    else:
        before = _trim(text, _clause_start(text, start, cue_start), cue_start)
        after = _trim(text, cue_end, _clause_end(text, cue_end, end))
        cause, effect = (before, after) if rule.order == "cause first" else (after, before)
    if cause is None or effect is None:
        return None
    return cause, effect


def _main_clause(text: str, start: int, end: int) -> int:
    """The comma after which the main clause begins: the first that is not an enumeration's."""
    comma = text.find(",", start, end)
    while comma >= 0:
        rest = text[comma + 1 : end].lstrip()
        if not rest.startswith(("and ", "or ", "which ", "who ", "but ")) and len(rest) > 4:
            return comma
        comma = text.find(",", comma + 1, end)
    return -1


def _clause_start(text: str, start: int, stop: int) -> int:
    last = start
    for match in _CLAUSE_BREAK.finditer(text, start, stop):
        if text[match.end() : stop].strip():
            last = match.end()
    return last


def _clause_end(text: str, start: int, end: int) -> int:
    for match in _CLAUSE_END.finditer(text, start, end):
        # ", and" inside a list of causes is not the end; ", but", ", so" and ";" are.
        if match.group().startswith(", and") or match.group().startswith(", or"):
            continue
        if text[start : match.start()].strip():
            return match.start()
    return end


def _trim(text: str, start: int, end: int) -> Span | None:
    head = _TRIM.match(text, start, end)
    if head:
        start = head.end()
    leading = _LEADING.match(text, start, end)
    if leading:
        start = leading.end()
    trailing = _TRAILING.search(text[start:end])
    if trailing:
        end = start + trailing.start()
    return (start, end) if end > start else None
