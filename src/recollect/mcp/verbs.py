"""The tools' work: each verb of the library as an agent calls it. Blocking; run on a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from recollect.errors import InvalidInput, NotFound
from recollect.mcp import answers
from recollect.mcp.answers import Answer, Found, Whole
from recollect.mcp.conversation import Conversation, Conversing
from recollect.telemetry import OnEvent
from recollect.types import Band, Bank, Hit, Memory

K = 5
MAX_TOKENS = 4096
if TYPE_CHECKING:
    from recollect.client import Client
    from recollect.memory import Recollect

    Memories = Recollect | Client  # a store, or a server

_AUTHORED = ("title", "summary", "recall_when", "kind", "scope", "topic_path", "related")


def _everything(bank: str, action: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Call:
    """What every verb is given beside its arguments."""

    memory: Memories
    bank: str  # when the call names none
    conversation: Conversing = field(default_factory=Conversation)
    allowed: Callable[[str, Literal["read", "write"]], bool] = _everything
    on_event: OnEvent | None = None

    def banks(self) -> list[Bank]:
        return [bank for bank in self.memory.banks() if self.allowed(bank.id, "read")]

    def readable(self, bank: str) -> bool:
        if not self.allowed(bank, "read"):
            return False
        try:
            self.memory.bank(bank)
        except NotFound:
            return False
        return True

    def to_read(self, arguments: Mapping[str, Any], memory_id: str | None = None) -> str:
        """The bank to read from: as named, else where the memory was given from, else ours."""
        given = None if memory_id is None else self.conversation.bank_of(memory_id)
        bank = arguments.get("bank") or given or self.bank
        if not self.readable(bank):
            names = ", ".join(b.id for b in self.banks()) or "none yet"
            raise NotFound(f"there is no bank {bank!r}", hint=f"banks: {names}")
        return bank

    def to_write(self, arguments: Mapping[str, Any]) -> str:
        bank = arguments.get("bank") or self.bank
        if not self.allowed(bank, "write"):
            raise InvalidInput(
                f"bank {bank!r} cannot be written here", hint="banks() lists those there are"
            )
        return bank


Arguments = Mapping[str, Any]


def recall(call: Call, arguments: Arguments) -> Answer:
    options = dict(arguments)
    bank = options.pop("bank", None) or call.bank
    if not call.readable(bank):
        return answers.unknown_bank(bank, [b.id for b in call.banks()])
    query, k = options.pop("query"), options.pop("k", K)
    again = options.pop("again", False)
    verbosity = options.pop("verbosity", "lean")
    # The library bounds the texts it returns; an agent bounds what it reads, here.
    most = options.pop("max_tokens", MAX_TOKENS)
    options["max_tokens"] = max(most, MAX_TOKENS)
    result = call.memory.recall(bank, query, on_event=call.on_event, **options)
    relevant = [h for h in result if h.band is not Band.NOISE or "min_score" in options]
    found = _sorted_out(relevant, call.conversation, k, again)
    shown = answers.within(found.shown, verbosity, most)
    found = Found(tuple(shown), found.given, found.more + len(found.shown) - len(shown))
    call.conversation.give(hit.memory for hit in shown)
    return answers.recalled(result, found, verbosity)


def _sorted_out(hits: Sequence[Hit], conversation: Conversing, k: int, again: bool) -> Found:
    """The best k; those the conversation has are not replaced by worse ones."""
    best = hits[:k]
    given = () if again else tuple(h for h in best if conversation.has(h.memory))
    ids = {hit.id for hit in given}
    return Found(tuple(h for h in best if h.id not in ids), given, len(hits) - len(best))


def load_memory(call: Call, arguments: Arguments) -> Answer:
    memory_id = arguments["id"]
    bank = call.to_read(arguments, memory_id)
    memory = call.memory.load(bank, memory_id)
    call.conversation.give([memory])
    verbosity = arguments.get("verbosity", "lean")
    whole = Whole(memory) if verbosity == "lean" else _with_surroundings(call.memory, memory)
    return answers.loaded(whole, verbosity)


def _with_surroundings(store: Memories, memory: Memory) -> Whole:
    of = memory.document_id if memory.chunk_id else None
    chunks = store.chunks(memory.bank, of) if of else []
    return Whole(
        memory,
        store.links(memory.bank, memory.id),
        store.revisions(memory.bank, memory.id),
        next((chunk for chunk in chunks if chunk.id == memory.chunk_id), None),
    )


def retain(call: Call, arguments: Arguments) -> Answer:
    fields = dict(arguments)
    fields.pop("bank", None)
    bank, content = call.to_write(arguments), fields.pop("content")
    corrects = fields.pop("id", None)
    if corrects is not None:
        return _correct(call, bank, corrects, {"text": content, **fields})
    # A note that somebody gave a title or a kind is one memory; plain text is read for facts.
    form = "text" if any(name in fields for name in _AUTHORED) else "content"
    return _retained(call, bank, {form: content, **fields})


def _retained(call: Call, bank: str, item: Mapping[str, Any]) -> Answer:
    result = call.memory.retain(bank, item)
    return answers.retained(result, [call.memory.load(bank, i) for i in result.new])


def _correct(call: Call, bank: str, memory_id: str, changes: Mapping[str, Any]) -> Answer:
    fixed = [name for name in ("timestamp", "document_id", "related") if name in changes]
    if fixed:
        raise InvalidInput(
            f"a correction cannot change {' or '.join(fixed)}", hint="leave it out, or omit id"
        )
    return answers.corrected(call.memory.update(bank, memory_id, **changes))


def save_memory(call: Call, arguments: Arguments) -> Answer:
    """The same as retain in the words of another memory system: a note with an authored head."""
    fields = dict(arguments)
    fields.pop("bank", None)
    bank, overwrite = call.to_write(arguments), fields.pop("overwrite", False)
    body, title = fields.pop("body", None), fields["title"]
    item: dict[str, Any] = {"text": body or fields.get("summary") or title}
    if "type" in fields:
        item["kind"] = fields.pop("type")
    if "topic_path" in fields:
        item["topic_path"] = "/".join(fields.pop("topic_path"))
    metadata = {n: fields.pop(n) for n in ("source", "confidence") if n in fields}
    memory_id = fields.pop("id", None)
    item |= fields | ({"metadata": metadata} if metadata else {})
    if memory_id is None:
        return _retained(call, bank, item)
    if overwrite and _holds(call, bank, memory_id):
        item.pop("related", None)
        return _correct(call, bank, memory_id, item)
    return _retained(call, bank, {**item, "id": memory_id})


def _holds(call: Call, bank: str, memory_id: str) -> bool:
    try:
        call.memory.load(bank, memory_id)
    except NotFound:
        return False
    return True


def forget(call: Call, arguments: Arguments) -> Answer:
    memory_id, document_id = arguments.get("id"), arguments.get("document_id")
    if (memory_id is None) == (document_id is None):
        raise InvalidInput("forget what?", hint="give id, or document_id, not both")
    bank = call.to_read(arguments, memory_id)
    call.to_write({"bank": bank})
    gone = call.memory.forget(bank, memory_id, document_id=document_id)
    what = f"{gone} {'memory' if gone == 1 else 'memories'}"
    if not gone:  # its memories went before it
        what = f"document {document_id}, which had no memories left,"
    said = f"Forgot {what} of {bank}, for good."
    return Answer(said, {"bank": bank, "forgotten": gone})


def why(call: Call, arguments: Arguments) -> Answer:
    bank = call.to_read(arguments, arguments["id"])
    answer = call.memory.why(bank, arguments["query"], arguments["id"])
    return answers.explained(answer, call.memory.load(bank, arguments["id"]))


def banks(call: Call, arguments: Arguments) -> Answer:
    return answers.listed(call.banks(), call.bank)


def warm(memory: Memories, bank: str) -> None:
    """Load the model and read the bank, so that the first question need not wait for them."""
    memory.warm()
    with suppress(NotFound):
        memory.recall(bank, "what is known", budget="low")
