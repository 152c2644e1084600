"""From the contract's correction of a memory to the library's verbs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.errors import InvalidInput
from recollect.server.render import REASON
from recollect.server.schemas import MemoryBody
from recollect.types import MemoryType, State

if TYPE_CHECKING:
    from recollect.memory import Recollect
    from recollect.types import Memory

_TEXTS = ("context", "occurred_start", "occurred_end")


def correct(memory: Recollect, bank: str, memory_id: str, body: MemoryBody) -> Memory:
    changes = _changes(body)
    asked = changes or body.state or body.evidence or body.reviewed
    if not asked:
        raise InvalidInput(
            "there is nothing to change", hint="give text, state or another field to change"
        )
    found = memory.load(bank, memory_id)
    _check(memory, found, body, changes)
    if changes:
        found = memory.update(bank, memory_id, **changes)
    if body.evidence is not None:
        found = memory.reinforce(bank, memory_id, body.evidence)
    if body.reviewed:
        found = memory.review(bank, memory_id)
    return _moved(memory, bank, found, body)


def _check(memory: Recollect, found: Memory, body: MemoryBody, changes: dict[str, Any]) -> None:
    """Before anything is written: a request that is refused has changed nothing. What `update`
    takes it checks itself, and it comes first."""
    if body.state == "superseded":
        if body.superseded_by is None:
            raise InvalidInput("superseded by what?", hint="name the memory in superseded_by")
        from recollect.retain.edit import check_successor

        check_successor(memory.store.view(found.bank), found.id, body.superseded_by)
    if body.evidence is not None and changes.get("type", found.type) != MemoryType.OPINION:
        raise InvalidInput(
            f"memory {found.id} is no opinion; only opinions have a confidence",
            hint="leave evidence out, or retain it with type `opinion`",
        )


def _moved(memory: Recollect, bank: str, found: Memory, body: MemoryBody) -> Memory:
    if body.state == "invalidated":
        if body.reason or found.state is not State.INVALIDATED:
            _give_reason(memory, found, body.reason)
        return memory.invalidate(bank, found.id)
    if body.state == "superseded" and body.superseded_by is not None:
        return memory.supersede(bank, found.id, body.superseded_by)
    if body.state == "valid":
        _give_reason(memory, found, None)
        return memory.restore(bank, found.id)
    return found


def _give_reason(memory: Recollect, found: Memory, reason: str | None) -> None:
    """Note why it is withdrawn, replacing an earlier reason."""
    said = {name: value for name, value in found.metadata.items() if name != REASON}
    if reason:
        said[REASON] = reason
    if said != found.metadata:
        memory.update(found.bank, found.id, metadata=said)


def _changes(body: MemoryBody) -> dict[str, Any]:
    out = dict(body.changes or {})
    if body.text is not None:
        out["text"] = body.text
    for name in _TEXTS:
        value = getattr(body, name)
        if value is not None:
            out[name] = value or None  # "" clears
    if body.mentioned_at is not None:
        out["timestamp"] = body.mentioned_at or None
    if body.fact_type is not None:
        out["type"] = body.fact_type
    if body.entities is not None:
        out["entities"] = body.entities
    if body.reason is not None and body.state is None and not out:
        raise InvalidInput("a reason for what?", hint="give it with a state or a change")
    return out
