"""`recollect vault`: a folder of Markdown notes as a bank."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli.arguments import bank_names
from recollect.cli.session import Session, add

if TYPE_CHECKING:
    from recollect.memory import Recollect
    from recollect.vault import Options, Report

vault_app = typer.Typer(rich_markup_mode=None, no_args_is_help=True)


@vault_app.callback()
def _vault() -> None:
    """Notes you own: keep a folder of Markdown and a bank in step."""


def sync(
    session: Session,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of Markdown notes.")],
    bank: Annotated[
        str,
        typer.Option(
            "--bank", metavar="NAME", help="The bank that it is.", autocompletion=bank_names
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would happen, change nothing.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on syncing on every change, until Ctrl-C.")
    ] = False,
    one_way: Annotated[
        bool, typer.Option("--one-way", help="Read the folder only, never write notes.")
    ] = False,
    forget: Annotated[
        bool,
        typer.Option("--forget", help="Forget the memory of a deleted note, not just withdraw it."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Go on although most of one side is gone.")
    ] = False,
    new_in: Annotated[
        str, typer.Option("--new-in", metavar="DIR", help="Where in the folder new notes go.")
    ] = "memories",
) -> None:
    """Bring a folder of Markdown and a bank in step, both ways.

    Exits with 1 when a file, or a field of one, had to be left out; the others are synced all the same.
    """
    from recollect.errors import InvalidInput
    from recollect.vault import Options

    if watch and dry_run:
        raise InvalidInput("--watch and --dry-run at once", hint="choose one of them")
    options = Options(dry_run, one_way, forget, force, _inside(new_in))
    with session.store_to_try() if dry_run else session.open_store() as memory:
        failed = (_watch if watch else _once)(session, memory, bank, folder, options)
    if failed:
        raise typer.Exit(1)


def _inside(new_in: str) -> str:
    from pathlib import PurePosixPath

    from recollect.errors import InvalidInput

    at = PurePosixPath(new_in)
    if at.is_absolute() or ".." in at.parts or any(p.startswith(".") for p in at.parts):
        raise InvalidInput(
            f"--new-in {new_in!r} is not a folder of the vault", hint="for example --new-in inbox"
        )
    return "" if str(at) == "." else str(at)


def _once(session: Session, memory: Recollect, bank: str, folder: Path, options: Options) -> bool:
    from recollect.cli.output import emit
    from recollect.cli.progress import progress_bar
    from recollect.vault import sync as run

    with progress_bar(f"syncing {bank}") as progress:
        report = run(memory, bank, folder, options, progress=progress)
    if session.json:
        emit(report.as_dict())
    else:
        _tell(report, bank)
    return bool(report.problems)


def _watch(session: Session, memory: Recollect, bank: str, folder: Path, options: Options) -> bool:
    from recollect.cli.output import emit, talk
    from recollect.vault.watch import watch

    def began() -> None:
        if not session.json:
            talk(f"watching {folder}; Ctrl-C ends it")

    failed = False
    try:
        for report in watch(memory, bank, folder, options, began=began):
            failed = bool(report.problems)
            if session.json:
                emit(report.as_dict())
            else:
                _tell(report, bank)
            sys.stdout.flush()  # whoever reads a pipe waits for this one, not for the end
    except KeyboardInterrupt:  # how a watch is meant to end: every sync so far is complete
        if not session.json:
            talk("stopped")
    return failed


def _tell(report: Report, bank: str) -> None:
    """What happened to which note on stdout, the sum of it on stderr."""
    from recollect.cli.output import many, rows, talk
    from recollect.vault.report import SAID

    rows((name.replace("_", " "), path) for name in SAID for path in getattr(report, name))
    for problem in report.problems:
        hint = f" (hint: {problem.hint})" if problem.hint else ""
        what = "ignored in" if problem.partly else "left out:"
        talk(f"{what} {problem.path}: {problem.cause}{hint}")
    if report.conflicts:
        talk(
            "both sides changed: the memory's side of each conflict is in the file named after it;\n"
            "merge what you want to keep into the note, then delete that file"
        )
    for path in report.open_conflicts:
        if path not in report.conflicts:
            talk(f"still to be settled: {path}")
    notes = many(report.notes, "note")
    ahead = "would be: " if report.dry_run else ""
    talk(f"{bank}, {notes}: {ahead}{report.said()} ({report.seconds:.1f} s)")


add(vault_app, sync, "sync")
