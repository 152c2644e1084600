"""Commands that look around: banks, memories, documents, entities, tags, stats, export, config."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from recollect.cli.arguments import STATES, TYPES, After, Bank, Force, Limit
from recollect.cli.asking import Contains, Dated, Tagged
from recollect.cli.session import Session

if TYPE_CHECKING:
    from recollect.client import Client
    from recollect.filing import Target
    from recollect.memory import Recollect
    from recollect.types import Document, Entity, EntityProfile, Memory


def banks(session: Session) -> None:
    """The banks of the store."""
    from recollect.cli.output import emit, minute, talk
    from recollect.cli.tables import show_table

    with session.open_existing() as memory:
        found = memory.banks()
    if session.json:
        names = (
            "id",
            "memories",
            "documents",
            "embedder",
            "dimensions",
            "created_at",
            "updated_at",
            "config",
        )
        emit([{name: getattr(b, name) for name in names} for b in found])
        return
    if not found:
        talk('no banks yet; begin with: recollect retain BANK "what to remember"')
        return
    lines = [(b.id, b.memories, b.documents, minute(b.updated_at), b.embedder) for b in found]
    show_table(("bank", "memories", "documents", "changed", "embedder"), lines)


def memories(
    session: Session,
    bank: Bank,
    seen: Tagged,
    dated: Dated,
    type: Annotated[
        str | None, typer.Option(metavar="TYPE", help="Only this type.", autocompletion=TYPES)
    ] = None,
    state: Annotated[
        str | None,
        typer.Option(
            metavar="STATE", help="active, superseded or invalidated.", autocompletion=STATES
        ),
    ] = None,
    document_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Only of this document.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what names this entity.")
    ] = None,
    contains: Contains = None,
    limit: Limit = 100,
    after: After = None,
) -> None:
    """The memories of a bank, those mentioned last first."""
    from recollect.cli.output import emit
    from recollect.cli.tables import show_table
    from recollect.recall.result import memory_dict

    where: dict[str, Any] = {
        "type": type, "state": state, "document_id": document_id, "contains": contains,
    }  # fmt: skip
    where |= seen.filters() | dated.filters("mentioned_at")
    with session.open_existing() as memory:
        memory.bank(bank)
        if entity is not None:
            where["entity"] = _entity(memory, bank, entity).id
        found = memory.memories(bank, limit=limit, after=after, **where)
    if session.json:
        emit([memory_dict(m) for m in found])
        return
    lines = [_memory_line(m) for m in found]
    show_table(("id", "type", "state", "date", "text"), lines, none=f"{bank} has no such memory")
    _more(len(found), limit, found[-1].id if found else None)


def _memory_line(memory: Memory) -> tuple[str, ...]:
    from recollect.language.passage import said
    from recollect.recall.result import day_of

    date, text = day_of(memory) or "", said(memory.speaker, memory.text)
    return memory.id, memory.type.value, memory.state.value, date, text


def documents(
    session: Session,
    bank: Bank,
    seen: Tagged,
    dated: Dated,
    document_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Show this one, with its text.")
    ] = None,
    contains: Contains = None,
    limit: Limit = 100,
    after: After = None,
) -> None:
    """The documents of a bank, written last first, or one with its text."""
    from recollect.cli.output import emit, minute, printable
    from recollect.cli.tables import show_table

    with session.open_existing() as memory:
        memory.bank(bank)
        if document_id is not None:
            one = memory.document(bank, document_id)
            if session.json:
                emit(_document(one))
            else:
                typer.echo(printable(one.text or ""))
            return
        where: dict[str, Any] = seen.filters() | dated.filters("updated_at")
        if contains is not None:
            where["contains"] = contains
        found = memory.documents(bank, limit=limit, after=after, **where)
    if session.json:
        emit([_document(d) for d in found])
        return
    lines = [
        (d.id, d.memories, d.chunks, minute(d.updated_at), ",".join(d.tags), d.context or "")
        for d in found
    ]
    show_table(
        ("id", "memories", "chunks", "changed", "tags", "context"),
        lines,
        none=f"{bank} has no such document",
    )
    _more(len(found), limit, found[-1].id if found else None)


def _document(document: Document) -> dict[str, Any]:
    names = (f.name for f in fields(document))
    return {name: value for name in names if (value := getattr(document, name)) is not None}


def entities(
    session: Session,
    bank: Bank,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Show this one, with what was observed of it."),
    ] = None,
    limit: Limit = 100,
) -> None:
    """The people, places and things a bank knows, most mentioned first."""
    from recollect.cli.output import emit
    from recollect.cli.tables import show_table

    with session.open_existing() as memory:
        memory.bank(bank)
        if name is not None:
            one = _profile(memory.entity(bank, _entity(memory, bank, name).id))
            session.show(one)
            return
        found = memory.entities(bank, limit=limit)
    if session.json:
        names = ("id", "name", "kind", "aliases", "mentions")
        emit([{name: getattr(e, name) for name in names} for e in found])
        return
    show_table(
        ("name", "kind", "mentions", "also"),
        [(e.name, e.kind, e.mentions, ", ".join(e.aliases)) for e in found],
        none=f"{bank} names nobody and nothing",
    )


def _entity(memory: Recollect | Client, bank: str, name: str) -> Entity:
    """By name or another name it has; case does not matter."""
    from recollect.errors import NotFound
    from recollect.storage.base import EVERYTHING

    wanted = name.casefold()
    for entity in memory.entities(bank, limit=EVERYTHING):
        if wanted in (n.casefold() for n in (entity.name, *entity.aliases)):
            return entity
    raise NotFound(f"bank {bank!r} knows no {name!r}", hint=f"recollect entities {bank}")


def _profile(found: EntityProfile) -> dict[str, Any]:
    entity = found.entity
    return {
        "name": entity.name,
        "kind": entity.kind,
        "aliases": list(entity.aliases),
        "mentions": found.mentions,
        "first_seen": found.first_seen,
        "last_seen": found.last_seen,
        "observations": [m.text for m in found.observations],
    }


def tags(session: Session, bank: Bank) -> None:
    """The tags of a bank and how many memories carry each, most used first."""
    from recollect.cli.output import emit, talk
    from recollect.cli.tables import show_table

    with session.open_existing() as memory:
        found = memory.tags(bank)
    if session.json:
        emit(dict(found))
    elif found:
        show_table(("tag", "memories"), list(found.items()))
    else:
        talk(f"no memory of {bank} has a tag; recollect retain takes --tag")


def stats(session: Session, bank: Bank) -> None:
    """What a bank holds, in numbers."""
    with session.open_existing() as memory:
        memory.bank(bank)
        found = memory.stats(bank)
    session.show({"bank": bank} | {f.name: getattr(found, f.name) for f in fields(found)})


def export(
    session: Session,
    bank: Bank,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to write it; - is stdout.")
    ] = "-",
    force: Force = False,
) -> None:
    """The whole bank as JSON Lines, lossless; import makes it again."""
    from recollect.cli.output import emit_lines, many
    from recollect.filing import Target

    target = Target(Path(output), "an export of recollect", _is_export, force)
    if output != "-":
        target.check()
    with session.open_existing() as memory:
        memory.bank(bank)
        if output == "-":
            emit_lines(memory.export(bank))
            return
        count = _write_lines(target, memory.export(bank))
    said = f"wrote {many(count, 'line')} to {output}"
    session.tell({"bank": bank, "file": output, "lines": count}, said)


def _write_lines(target: Target, lines: Any) -> int:
    import orjson

    count = 0
    with target.written() as file:
        for line in lines:
            file.write(orjson.dumps(line) + b"\n")
            count += 1
    return count


def _is_export(begins: bytes) -> bool:
    import orjson

    try:
        first = orjson.loads(begins.partition(b"\n")[0])
    except orjson.JSONDecodeError:
        return False
    return isinstance(first, dict) and "recollect" in first


def config(session: Session) -> None:
    """The settings in force, and where each came from."""
    import os

    from recollect.cli.output import emit, talk
    from recollect.cli.session import store_path
    from recollect.cli.tables import show_table
    from recollect.config import mistyped, without_password

    settings = session.settings()
    for variable, meant in mistyped(os.environ).items():
        talk(f"{variable} is no setting and has no effect; did you mean {meant}?")
    out = {
        f.name: {
            "value": getattr(settings, f.name),
            "origin": settings.origin.get(f.name, "default"),
        }
        for f in fields(settings)
        if f.name != "origin"
    }
    if settings.db is None:
        out["db"]["value"] = str(store_path(settings))
    for entry in out.values():
        entry["value"] = without_password(entry["value"])
    if settings.api_key is not None:
        out["api_key"]["value"] = "***"
    if session.json:
        emit(out)
        return
    show_table(
        ("setting", "value", "from"),
        [(name, _shown(e["value"]), e["origin"]) for name, e in out.items()],
    )


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(cast("tuple[str, ...]", value))
    return "–" if value is None else str(value)


def _more(count: int, limit: int, last: str | None) -> None:
    from recollect.cli.output import talk

    if count == limit and last is not None:
        talk(f"there may be more: --after {last}")
