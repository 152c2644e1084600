"""Commands that correct single memories: update, supersede, invalidate, restore, relate, reinforce."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.arguments import EVIDENCE, TYPES, Bank, MemoryId, listed, pairs
from recollect.cli.session import Session

if TYPE_CHECKING:
    from recollect.types import Memory


def update(
    session: Session,
    bank: Bank,
    memory_id: MemoryId,
    text: Annotated[str | None, typer.Option(metavar="TEXT", help="The new wording.")] = None,
    type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="The new type.", autocompletion=TYPES)
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="TEXT", help="Where it was said.")] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "--tags", metavar="TAG", help="The new tags: a,b or repeated."),
    ] = None,
    metadata: Annotated[
        list[str] | None, typer.Option(metavar="K=V", help="The new metadata; may be repeated.")
    ] = None,
    occurred_start: Annotated[
        str | None, typer.Option(metavar="WHEN", help="When it happened.")
    ] = None,
    occurred_end: Annotated[
        str | None, typer.Option(metavar="WHEN", help="A day is included whole.")
    ] = None,
    valid_until: Annotated[
        str | None, typer.Option(metavar="WHEN", help="It no longer holds after.")
    ] = None,
) -> None:
    """Correct a memory; its earlier wording stays visible to --as-of."""
    given: dict[str, Any] = {
        "text": text, "type": type, "context": context, "tags": listed(tag), "metadata": pairs(metadata),
        "occurred_start": occurred_start, "occurred_end": occurred_end, "valid_until": valid_until,
    }  # fmt: skip
    changes = {name: value for name, value in given.items() if value is not None}
    with session.open_existing() as memory:
        _told(session, memory.update(bank, memory_id, **changes), "updated")


def invalidate(session: Session, bank: Bank, memory_id: MemoryId) -> None:
    """Withdraw a memory without deleting it: recall no longer returns it."""
    with session.open_existing() as memory:
        _told(session, memory.invalidate(bank, memory_id), "invalidated")


def supersede(
    session: Session,
    bank: Bank,
    memory_id: MemoryId,
    by: Annotated[str, typer.Option("--by", metavar="ID", help="The memory that replaces it.")],
) -> None:
    """Mark a memory as replaced by another."""
    with session.open_existing() as memory:
        _told(session, memory.supersede(bank, memory_id, by), f"superseded by {by}")


def restore(session: Session, bank: Bank, memory_id: MemoryId) -> None:
    """Take a withdrawal or a replacement back: the memory counts again."""
    with session.open_existing() as memory:
        _told(session, memory.restore(bank, memory_id), "restored")


def relate(
    session: Session,
    bank: Bank,
    memory_id: MemoryId,
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID[=WEIGHT]]...", help="What it points at; weights from 0 to 1."),
    ] = None,
) -> None:
    """Say what a memory points at. It replaces what was said before; none takes it back."""
    links = dict(_weighed(target) for target in targets or ())
    with session.open_existing() as memory:
        for each in (memory_id, *links):
            memory.load(bank, each)
        memory.relate(bank, {memory_id: links})
    said = f"{memory_id} points at {', '.join(links) or 'nothing'}"
    session.tell({"bank": bank, "id": memory_id, "related": links}, said)


def _weighed(target: str) -> tuple[str, float]:
    from recollect.errors import InvalidInput

    name, _, weight = target.partition("=")
    try:
        return name, float(weight or 1)
    except ValueError as error:
        raise InvalidInput(
            f"{target!r} is no id with a weight", hint="for example m7, or m7=0.5"
        ) from error


def reinforce(
    session: Session,
    bank: Bank,
    memory_id: MemoryId,
    evidence: Annotated[
        str,
        typer.Argument(
            metavar="EVIDENCE",
            help="strong_support, weak_support, neutral, contradiction or strong_contradiction.",
            autocompletion=EVIDENCE,
        ),
    ],
) -> None:
    """Move an opinion's confidence by evidence for or against it."""
    from typing import cast, get_args

    from recollect.errors import InvalidInput
    from recollect.types import Evidence

    if evidence not in get_args(Evidence):
        raise InvalidInput(
            f"unknown evidence {evidence!r}", hint="one of " + ", ".join(get_args(Evidence))
        )
    with session.open_existing() as memory:
        moved = memory.reinforce(bank, memory_id, cast("Evidence", evidence))
        _told(session, moved, f"confidence is now {moved.confidence or 0:.2f}")


def _told(session: Session, memory: Memory, what: str) -> None:
    from recollect.cli.output import emit, talk
    from recollect.recall.result import memory_dict

    if session.json:
        emit(memory_dict(memory))
    else:
        talk(f"{what}: {memory.text}")
