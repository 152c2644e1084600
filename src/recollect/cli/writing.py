"""Commands that fill and empty a bank: retain, forget, import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.arguments import Bank, decoded, looks_like_a_file, stdin_bytes
from recollect.cli.confirming import confirm
from recollect.cli.session import Session
from recollect.cli.telling import Authored, Said

if TYPE_CHECKING:
    from recollect.types import RetainResult

LISTED = 20  # ids shown to a person; a program gets them all


def retain(
    session: Session,
    bank: Bank,
    content: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT|FILE|-]...",
            help="Words to remember, .md, .txt, .vtt, .srt, .json or .jsonl files, or - for stdin.",
        ),
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", metavar="FILE", help="A file to retain; may be repeated."),
    ] = None,
    *,
    said: Said,
    authored: Authored,
    whole: Annotated[
        bool, typer.Option("--fact", help="The text is one ready-made fact: keep it whole.")
    ] = False,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="What - reads is JSONL, one item a line.")
    ] = False,
) -> None:
    """Remember: texts, files, or what comes on stdin."""
    from recollect.errors import InvalidInput

    items = list(_items(content or [], file or [], whole=whole, jsonl=jsonl))
    if not items:
        raise InvalidInput(
            "there is nothing to retain",
            hint="give a text, a file, or - to read stdin: recollect retain alice -",
        )
    if said.document_id is not None and len(items) == 1:
        items[0] |= {"document_id": said.document_id}  # said outright: over the file's own name
    shared = said.fields() | authored.fields()
    _retain(session, bank, items, {k: v for k, v in shared.items() if v is not None})


def _items(
    content: list[str], files: list[Path], *, whole: bool, jsonl: bool
) -> Iterator[dict[str, Any]]:
    """Everything given, read before anything is stored."""
    from recollect.retain.files import read_file, read_lines

    form = "text" if whole else "content"
    for entry in content:
        if entry == "-":
            raw = stdin_bytes()
            yield from read_lines(raw, "stdin") if jsonl else [{form: decoded(raw, "stdin")}]
        elif looks_like_a_file(entry):
            yield from read_file(Path(entry))
        else:
            yield {form: entry}
    for path in files:
        yield from read_file(path)


def _retain(
    session: Session, bank: str, items: list[dict[str, Any]], shared: dict[str, Any]
) -> None:
    from recollect.cli.output import emit, rows, talk, terminal
    from recollect.cli.progress import progress_bar

    with session.open() as memory, progress_bar(f"retaining into {bank}") as progress:
        result = memory.retain(bank, items, progress=progress, **shared)
    if session.json:
        emit(retain_dict(result))
        return
    new = set(result.new)
    first = result.ids[:LISTED] if terminal() else result.ids
    rows((memory_id, "new" if memory_id in new else "known") for memory_id in first)
    if len(first) < len(result.ids):
        talk(f"… and {len(result.ids) - len(first):,} more: recollect memories {bank}")
    for part in result.degraded:
        talk(f"degraded: {part.part}: {part.reason}")
    talk(told(result))


def told(result: RetainResult) -> str:
    parts = [f"{len(result.new)} new", f"{len(result.known)} already known"]
    if result.superseded:
        parts.append(f"{len(result.superseded)} superseded")
    if result.replaced:
        parts.append(f"{result.replaced} of an earlier version replaced")
    return f"{', '.join(parts)} in {result.bank} ({result.timings['total']:.0f} ms)"


def retain_dict(result: RetainResult) -> dict[str, Any]:
    return {
        "bank": result.bank,
        "new": list(result.new),
        "known": list(result.known),
        "superseded": list(result.superseded),
        "replaced": result.replaced,
        "items": [
            {
                "memory_ids": list(i.memory_ids),
                "document_id": i.document_id,
                "new": i.new,
                "known": i.known,
            }
            for i in result.items
        ],
        "degraded": [{"part": d.part, "reason": d.reason} for d in result.degraded],
        "timings": {k: round(v, 3) for k, v in result.timings.items()},
    }


def forget(
    session: Session,
    bank: Bank,
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The memory to delete.")
    ] = None,
    document_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Delete a document and what came only from it.")
    ] = None,
    whole_bank: Annotated[bool, typer.Option("--all", help="Delete the whole bank.")] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before deleting a bank.")
    ] = False,
) -> None:
    """Delete a memory, a document or a bank, and what was derived from it."""
    from recollect.cli.output import many
    from recollect.errors import InvalidInput

    if sum((memory_id is not None, document_id is not None, whole_bank)) != 1:
        raise InvalidInput(
            "forget what?", hint="give exactly one of: a memory ID, --document-id ID, --all"
        )
    with session.open_existing() as memory:
        if whole_bank:
            gone = 0 if bank in memory.arrivals() else memory.bank(bank).memories
            confirm(
                f"delete bank {bank} with {many(gone, 'memory', 'memories')}?",
                yes=yes,
                refusal="deleting a bank wants a yes",
            )
            memory.delete_bank(bank)
        else:
            memory.bank(bank)
            gone = memory.forget(bank, memory_id, document_id=document_id)
    said = f"forgot {many(gone, 'memory', 'memories')} of {bank}"
    session.tell({"bank": bank, "forgotten": gone}, said)


def import_(
    session: Session,
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="What `recollect export` wrote; - for stdin.")
    ],
    bank: Annotated[
        str | None, typer.Option("--bank", metavar="NAME", help="Import under this name instead.")
    ] = None,
) -> None:
    """Make a bank again from an export, exactly."""
    from recollect.cli.output import held
    from recollect.cli.progress import progress_bar

    with session.open() as memory, progress_bar("importing") as progress:
        made = memory.import_bank(_exported(file), bank, progress=progress)
    value = {"bank": made.id, "memories": made.memories, "documents": made.documents}
    session.tell(value, f"imported {held(made)} into {made.id}")


def reembed(
    session: Session,
    bank: Annotated[str, typer.Argument(metavar="BANK", help="The bank.")],
) -> None:
    """Make a bank's vectors anew. With the embedder in force; resumes where it stopped."""
    from recollect.cli.progress import progress_bar

    with session.open_existing() as memory:
        with progress_bar("embedding") as progress:
            made = memory.reembed(bank, progress=progress)
        model = memory.bank(bank).embedder
    said = f"{made} vectors made with {model}" if made else f"{bank} has vectors of {model} already"
    session.tell({"bank": bank, "vectors": made, "embedder": model}, said)


def _exported(file: str) -> Iterator[Mapping[str, Any]]:
    """Line by line: an export may be larger than memory."""
    import sys

    from recollect.errors import InvalidInput
    from recollect.storage.transfer import objects
    from recollect.unpacking import unpacked

    if file == "-":
        with unpacked(sys.stdin.buffer, "stdin") as lines:
            yield from objects(lines, "stdin")
        return
    try:
        with Path(file).open("rb") as stream, unpacked(stream, file) as lines:
            yield from objects(lines, file)
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be read: {error.strerror}",
            hint="give the file that `recollect export` wrote, or - for stdin",
        ) from error
