"""The seven tools as an agent sees them. An agent reads only this: every word is for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from recollect.mcp import verbs
from recollect.mcp.answers import Answer
from recollect.mcp.arguments import Argument, Arguments
from recollect.mcp.verbs import Call

INSTRUCTIONS = (
    "Long-term memory that survives this conversation. Recall before you act: at the start of a "
    "task, before a plan or an edit, and when the user refers to anything earlier. Retain what "
    "will matter later: decisions and their reasons, lessons from failures, preferences, facts "
    "about people and projects. Recall gives short hits; load_memory gives one whole. When "
    "nothing is known it says so: believe it, and do not invent."
)
KINDS = "lesson, decision, project-fact, workflow, meta-working or your own word"
TYPES = ("world", "experience", "observation", "opinion")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    title: str
    says: str
    run: Callable[[Call, Mapping[str, Any]], Answer]
    arguments: Arguments = field(default_factory=dict[str, Argument])
    gives: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reads: bool = False
    destroys: bool = False
    idempotent: bool = True


# --- schemas of what is given back -----------------------------------------------------------

_TEXT: Mapping[str, Any] = {"type": "string"}
_WHOLE: Mapping[str, Any] = {"type": "integer"}
_TEXTS: Mapping[str, Any] = {"type": "array", "items": _TEXT}


def _object(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    """An open object: full answers carry more fields than are named here."""
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
    }


_HIT = _object(
    {
        "id": _TEXT,
        "title": _TEXT,
        "type": _TEXT,
        "score": {"type": "number"},
        "band": {"type": "string", "enum": ["strong", "maybe", "noise"]},
    },
    scope=_TEXT,
    summary={"type": ["string", "null"]},
    kind=_TEXT,
    date=_TEXT,
    freshness=_TEXT,
    superseded_by=_TEXT,
    hop=_WHOLE,
)
_RECALLED = _object(
    {
        "bank": _TEXT,
        "results": {"type": "array", "items": _HIT},
        "nothing_known": {"type": "boolean"},
        "advice": _TEXT,
    },
    under_floor=_TEXT,
    already_given=_TEXTS,
    more=_WHOLE,
    conversation=_TEXT,
    degraded={"type": "array", "items": _object({"part": _TEXT, "reason": _TEXT})},
)
_MEMORY = _object(
    {"id": _TEXT, "bank": _TEXT, "title": _TEXT, "type": _TEXT, "text": _TEXT},
    kind=_TEXT,
    scope=_TEXT,
    date=_TEXT,
    tags=_TEXTS,
    links={"type": "array", "items": {"type": "object"}},
    revisions={"type": "array", "items": {"type": "object"}},
    source=_TEXT,
)
_RETAINED = _object(
    {"bank": _TEXT, "new": _TEXTS, "known": _TEXTS, "superseded": _TEXTS, "replaced": _WHOLE},
    corrected=_TEXTS,
)
_WHY = _object(
    {
        "memory_id": _TEXT,
        "query": _TEXT,
        "returned": {"type": "boolean"},
        "stages": {"type": "array", "items": {"type": "object"}},
    },
    text={"type": ["string", "null"]},
    rank={"type": ["integer", "null"]},
    left_at={"type": ["string", "null"]},
)
_BANKS = _object(
    {
        "default": _TEXT,
        "banks": {
            "type": "array",
            "items": _object(
                {"bank": _TEXT, "memories": _WHOLE, "documents": _WHOLE, "updated_at": _TEXT}
            ),
        },
    },
    more=_WHOLE,
)

# --- arguments that several tools share ------------------------------------------------------

_BANK = Argument(says="Which memory; omit for the default.")
_ID = Argument(says="A memory's id, from recall or retain.", required=True)
_VERBOSITY = ("lean", "full")
_TAGS = Argument(kind="texts", says="Labels, for filtering later.")
_RECALL_WHEN = Argument(
    kind="texts",
    says="2 to 4 concrete situations that should bring this up, the field that weighs most: "
    '"about to write a database migration", not "databases".',
)
_VALID_UNTIL = Argument(says="ISO date after which it no longer holds.")
_SCOPE = Argument(says="Where it applies: a project, an area, all-projects.")
_SUMMARY = Argument(says="One sentence with the gist; what recall shows.")

CONVERSATION = Argument(
    says="The name an earlier answer gave this conversation, so that nothing is repeated."
)

TOOLS: tuple[Tool, ...] = (
    Tool(
        name="recall",
        title="Recall from memory",
        reads=True,
        run=verbs.recall,
        gives=_RECALLED,
        says=(
            "Search long-term memory for what was said, decided and learned before. Call it before "
            "acting, not only when asked: at the start of a task, before editing or planning, when "
            'the user refers to something earlier ("as we decided"), and before retain. Ask with a '
            "question or with what you are about to do; dates and phrases such as "
            '"last spring" are understood. Gives the best hits first: id, title, type, scope, a '
            "summary of at most 160 characters (… means cut), score, about 0 to 1, and band. strong: rely "
            "on it, load_memory(id) first if cut. maybe: load_memory only when directly relevant. "
            "Noise is left out; when nothing is known it says so: then do not guess. What this "
            "conversation was already given is not repeated, only its ids are named."
        ),
        arguments={
            "query": Argument(
                says="A question, or what you are about to do; at most 500 tokens.", required=True
            ),
            "bank": _BANK,
            "k": Argument(kind="whole", least=1, most=50, says="How many hits; default 5."),
            "verbosity": Argument(
                choices=_VERBOSITY,
                says="lean (default), or full: whole texts, ranks, matched terms, timings.",
            ),
            "max_tokens": Argument(
                kind="whole", least=1, says="How long the answer may be; default 4096."
            ),
            "types": Argument(kind="texts", choices=TYPES, says="Only these types."),
            "tags": Argument(kind="texts", says="Only memories with these tags."),
            "tags_match": Argument(
                choices=("any", "all", "any_strict", "all_strict", "exact"),
                says="any (default), all, or exact; the strict ones leave out untagged memories.",
            ),
            "budget": Argument(
                choices=("low", "mid", "high"),
                says="How deep to look; high follows links over several hops. Default mid.",
            ),
            "min_score": Argument(
                kind="number", least=0, most=1, says="A floor of your own; 0 shows noise too."
            ),
            "expand_hops": Argument(
                kind="whole", least=0, most=1, says="1 also brings what the hits are linked to."
            ),
            "as_of": Argument(says="ISO date: answer as things were known then."),
            "again": Argument(
                kind="flag", says="true repeats what this conversation was already given."
            ),
        },
    ),
    Tool(
        name="load_memory",
        title="Load one memory",
        reads=True,
        run=verbs.load_memory,
        gives=_MEMORY,
        says=(
            "One memory whole, by the id a recall gave: its full text and what it is about. Use it "
            "after recall for a strong hit whose summary is cut, before you act on it. "
            'verbosity="full" adds links to other memories, earlier wordings, dates, evidence and '
            "the source text it came from."
        ),
        arguments={
            "id": _ID,
            "bank": Argument(says="Only needed for an id that no recall gave you."),
            "verbosity": Argument(
                choices=_VERBOSITY, says="lean (default): essentials and text. full: everything."
            ),
        },
    ),
    Tool(
        name="retain",
        title="Remember",
        run=verbs.retain,
        gives=_RETAINED,
        says=(
            "Remember something beyond this conversation. Retain without being asked: a decision "
            "and its reason, a lesson (what failed, why, what fixed it), a lasting preference or "
            "rule, facts about people, projects and plans. Not: one-off tasks, guesses, secrets, "
            "what the code or its history already says. Write it so that it is understood on its "
            'own: names instead of "he", dates instead of "yesterday". Plain content is read for '
            "facts; with a title, kind or recall_when it is kept whole as one note. The same fact "
            "again adds evidence, not a copy; a newer value supersedes the older. With id, it "
            "corrects that memory. The next recall, of any client, sees it."
        ),
        arguments={
            "content": Argument(says="What to remember.", required=True),
            "bank": Argument(says="Which memory; omit for the default; created if new."),
            "title": Argument(says="Short and specific; makes it one note."),
            "summary": _SUMMARY,
            "recall_when": _RECALL_WHEN,
            "kind": Argument(says=f"{KINDS}; sets how it ages."),
            "scope": _SCOPE,
            "tags": _TAGS,
            "type": Argument(
                choices=TYPES, says="world (default), experience (what was done), opinion …"
            ),
            "context": Argument(says="Where it was said."),
            "timestamp": Argument(says="When it was said, ISO 8601; default now."),
            "valid_until": _VALID_UNTIL,
            "document_id": Argument(says="Retaining the same document again replaces it."),
            "id": Argument(says="Correct this memory instead of adding one."),
        },
    ),
    Tool(
        name="save_memory",
        title="Save a note",
        idempotent=False,
        run=verbs.save_memory,
        gives=_RETAINED,
        says=(
            "The same as retain, with the field names of note-based memories: a titled note with "
            "its type (kind), scope, body and recall_when. Use retain unless your instructions "
            "speak of save_memory. Recall first: give id and overwrite=true to change a note "
            "instead of making a second one."
        ),
        arguments={
            "title": Argument(says="Short and specific.", required=True),
            "body": Argument(says="The rule or fact first, then why, then how to apply it."),
            "type": Argument(says=f"{KINDS}."),
            "scope": _SCOPE,
            "summary": _SUMMARY,
            "tags": _TAGS,
            "topic_path": Argument(kind="texts", says='From wide to narrow: ["web", "auth"].'),
            "recall_when": _RECALL_WHEN,
            "related": Argument(kind="texts", says="Ids of memories it belongs to."),
            "valid_until": _VALID_UNTIL,
            "confidence": Argument(kind="number", least=0, most=1, says="0 to 1."),
            "source": Argument(says="Where it is from."),
            "id": Argument(says="An id of your own; omit to have one made."),
            "overwrite": Argument(kind="flag", says="true changes the note with this id."),
            "bank": _BANK,
        },
    ),
    Tool(
        name="forget",
        title="Forget",
        destroys=True,
        run=verbs.forget,
        gives=_object({"bank": _TEXT, "forgotten": _WHOLE}),
        says=(
            "Delete one memory, or one document with everything that came only from it, for good: "
            "text, vectors, links. Only when the user asks to forget. To correct a memory, retain "
            "with its id instead; what is outdated is superseded by retaining what holds now."
        ),
        arguments={
            "id": Argument(says="The memory to delete."),
            "document_id": Argument(says="Or the document to delete."),
            "bank": _BANK,
        },
    ),
    Tool(
        name="why",
        title="Why, or why not",
        reads=True,
        run=verbs.why,
        gives=_WHY,
        says=(
            "Why a memory was, or was not, returned for a query: each stage it passed, the one at "
            "which it left, and what it would have needed. For finding out why recall missed "
            "something you know is there."
        ),
        arguments={
            "query": Argument(says="The query that was asked.", required=True),
            "id": _ID,
            "bank": _BANK,
        },
    ),
    Tool(
        name="banks",
        title="List banks",
        reads=True,
        run=verbs.banks,
        gives=_BANKS,
        says="The memories there are: each bank is separate. Gives names, sizes, the default.",
    ),
)
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
