"""Standing wishes: what somebody wants done whenever it applies.

"Always give weights in grams" and "I'd rather have printed books" are said once, in passing, and meant
for every request that follows. Such a request ("How should I bake the rye loaf?") shares neither
word nor meaning with them, so no search finds them: they are indexed under `WISH`, a term that no
text has, and a request asks for it.
"""

from __future__ import annotations

import re

from recollect.language.terms import label_hash

__all__ = ["WISH", "is_request", "states_wish"]

WISH = label_hash("a standing wish")

_DOING = (
    "give|send|show|put|add|use|suggest|recommend|write|make|tell|list|mention|include|keep|avoid|end|start"
    "|begin|explain|quote|propose|answer|assume|skip|call|bother|ask"
)
_WISH = re.compile(
    rf"""\b(?:
      always | whenever | (?:any|every|each)\ ?time | from\ (?:now|here)\ on | going\ forward
    | never\ (?:{_DOING}|mock|commit|push|merge)
    | (?:when|if)\ (?:I|you|we)\ (?:ever\ )?(?:{_DOING}|talk|discuss|do)
    | please\ (?:do\ not|don['’]t|never|remember|stick|{_DOING})
    | (?:don['’]t|do\ not)\ (?:ever\ )?(?:want|like|{_DOING})
    | I(?:['’]d|\ would)\ (?:much\ )?(?:rather|prefer) | my\ preference
    | I\ (?:can['’]t|cannot)\ stand | I['’]m\ (?:not\ )?(?:a\ (?:big\ )?fan|fond\ of)
    | I\ (?:(?:really|much|generally|usually|honestly|do|don['’]t)\ )?
      (?:prefer|like|love|hate|dislike|enjoy|favou?r|avoid|want\ you|need\ you|appreciate)
    | (?:a|one|house|my|our)\ rule | keep\ in\ mind | remember\ (?:that|to)
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_ASKED = (
    "show|give|suggest|recommend|write|draft|plan|explain|compare|design|create|make|build|propose|outline"
    "|prepare|walk|sketch|find|draw|calculate|work\\ out|check|review|add|fix|implement|set\\ up|let['’]s|help"
)
_REQUEST = re.compile(
    rf"""
      \b(?:can|could|would|will|should|shall|might|may)\ (?:I|we|you|there)\b
    | \b(?:should|could)\ (?:the|a|an|this|it|that|our|my)\b
    | \b(?:do|does)\ (?:I|we)\b | \bwhat\ do\ you\ (?:think|make|suggest|recommend)\b
    | \bplease\b | \b(?:show|help|give|walk|write|draft|send|find|make|teach)\ (?:me|us)\b
    | \b(?:I|we)\ (?:need|want|would\ like|['’]d\ (?:like|need))\b | \bI['’]d\ (?:like|need)\b
    | \b(?:any|some)\ (?:ideas|suggestions|tips|recommendations|advice)\b
    | ^(?:(?:ok|okay|hi|hey|hello|thanks|morning|alright|right|so|well|now)\W+)*(?:{_ASKED})\b
    """,
    re.IGNORECASE | re.VERBOSE,
)

# What these say always and never is advice.
_ASSISTING = frozenset({"assistant", "agent", "ai", "bot", "chatbot", "model", "system"})


def states_wish(text: str, speaker: str | None = None) -> bool:
    """Whether it says how somebody wants things, not only how things are."""
    if speaker is not None and speaker.casefold() in _ASSISTING:
        return False
    return _WISH.search(text) is not None


def is_request(query: str) -> bool:
    """Whether something is to be done, not only remembered."""
    return _REQUEST.search(query) is not None
