"""Whether a new opinion supports or contradicts an old one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from recollect.retain.sameness import content, lemma, nearly_same, normalise

__all__ = ["Stance", "stance"]

Stance = Literal[
    "strong_support", "weak_support", "contradiction", "strong_contradiction", "neutral"
]

_FRAME = re.compile(
    r"^(?:(?:well|honestly|personally|overall|frankly|clearly|obviously),? )*"
    r"(?:(?:i|we|they|he|she|\w+) (?:still |really |firmly |strongly |now )?"
    r"(?:think|thinks|believe|believes|feel|feels|say|says|find|guess|suppose|am convinced|am sure)"
    r"(?: that)? |(?:in|from) my (?:opinion|view|experience),? |it seems (?:that )?)",
    re.IGNORECASE,
)

# Opposites by what they judge: words before the bar are for, words after it against.
_AXES = """
good great excellent nice best better superior wonderful fantastic awesome amazing perfect fine | bad terrible awful poor worst worse inferior horrible lousy dreadful mediocre disappointing
like love enjoy prefer adore admire | dislike hate detest loathe despise avoid
fast quick rapid faster quicker speedy | slow sluggish slower
easy simple easier simpler straightforward effortless | hard difficult complex complicated harder tricky
safe secure safer | dangerous unsafe insecure risky hazardous
cheap affordable inexpensive cheaper | expensive costly pricey overpriced
reliable dependable stable robust trustworthy | unreliable flaky unstable fragile brittle untrustworthy
useful helpful valuable worthwhile worth beneficial | useless unhelpful worthless pointless harmful
right correct true accurate | wrong incorrect false inaccurate mistaken
important essential crucial necessary needed vital | unimportant irrelevant unnecessary optional
more increase rise grow improve higher up | less decrease drop fall shrink decline lower down worsen
support favor endorse back approve recommend | oppose reject disapprove discourage condemn
agree accept | disagree refuse deny
trust believe | distrust doubt mistrust
interesting exciting fun engaging fascinating | boring dull tedious uninteresting
strong powerful | weak feeble
clean tidy | dirty messy
beautiful pretty attractive gorgeous | ugly hideous
clear readable understandable intuitive | unclear confusing unreadable obscure
healthy | unhealthy
happy satisfied pleased content | unhappy dissatisfied sad
possible feasible realistic | impossible infeasible unrealistic
fair just | unfair unjust
smart clever intelligent wise | stupid dumb foolish
friendly kind polite | unfriendly rude mean
efficient effective productive | inefficient ineffective unproductive wasteful
comfortable cozy | uncomfortable
comfortable convenient | inconvenient
delicious tasty | disgusting tasteless
win succeed success | lose fail failure
always | never
big large huge high long | small little tiny low short
modern new | outdated old obsolete
"""


@dataclass(frozen=True, slots=True)
class _View:
    topic: frozenset[str]
    axes: dict[int, int]
    sign: int
    order: tuple[str, ...]
    comparing: bool


@cache
def _poles() -> dict[str, tuple[int, int]]:
    poles: dict[str, tuple[int, int]] = {}
    for axis, line in enumerate(line for line in _AXES.splitlines() if line):
        for side, sign in zip(line.split("|"), (1, -1), strict=True):
            for word in side.split():
                poles.setdefault(lemma(word), (axis, sign))
    return poles


def _view(text: str) -> _View:
    bare = _FRAME.sub("", text, count=1)
    read = content(bare)
    poles = _poles()
    axes = {poles[word][0]: poles[word][1] for word in read.words if word in poles}
    # Adverbs are no content for sameness, yet "never" and "always" judge.
    order = tuple(word for word in read.words if word not in poles)
    return _View(
        frozenset(order) - _EMPTY,
        axes,
        -1 if read.negations % 2 else 1,
        order,
        " than " in f" {normalise(bare)} ",
    )


_EMPTY = frozenset(
    {"it", "this", "that", "they", "he", "she", "i", "you", "we", "to", "than", "when", "while"}
)


def stance(old: str, new: str) -> Stance:
    """How ``new`` bears on ``old``; two opinions on different things are neutral."""
    one, other = _view(old), _view(new)
    if nearly_same(_FRAME.sub("", old, count=1), _FRAME.sub("", new, count=1)):
        return "strong_support"
    shared = one.topic & other.topic
    union = one.topic | other.topic
    # One may say more than the other ("slow" – "slow when compiling"), up to a point.
    one_inside = len(shared) == min(len(one.topic), len(other.topic)) and len(union - shared) < 3
    if not shared or (len(shared) / len(union) < 0.4 and not one_inside):
        return "neutral"
    same_topic = len(shared) / len(union) >= 0.75
    if one.comparing and other.comparing and same_topic:
        return _compare(one, other)
    return _judge(one, other, same_topic)


def _judge(one: _View, other: _View, same_topic: bool) -> Stance:
    common = one.axes.keys() & other.axes.keys()
    if common:
        agree = all(one.axes[axis] * one.sign == other.axes[axis] * other.sign for axis in common)
    elif one.axes and other.axes:
        # Different judgements of one thing ("fast", "cheap") bear weakly on each other at best.
        return _weakly(one, other) if same_topic else "neutral"
    elif not one.axes and not other.axes and same_topic:
        agree = one.sign == other.sign
    else:
        return "neutral"
    if agree:
        return "strong_support" if same_topic and one.sign == other.sign else "weak_support"
    return "strong_contradiction" if same_topic else "contradiction"


def _weakly(one: _View, other: _View) -> Stance:
    general = 0  # the axis of plain good and bad
    if general not in one.axes and general not in other.axes:
        return "neutral"
    signs = {view.sign * sign for view in (one, other) for sign in view.axes.values()}
    return "weak_support" if len(signs) == 1 else "contradiction"


def _compare(one: _View, other: _View) -> Stance:
    """ "A is better than B" against "B is better than A"."""
    first = [word for word in one.order if word in other.topic]
    second = [word for word in other.order if word in one.topic]
    flips = first != second
    common = one.axes.keys() & other.axes.keys()
    for axis in common:
        flips ^= one.axes[axis] != other.axes[axis]
    flips ^= one.sign != other.sign
    return "strong_contradiction" if flips else "strong_support"
