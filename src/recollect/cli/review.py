"""`recollect review`: what has grown old, and what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.arguments import Limit, bank_names, listed, words
from recollect.cli.session import Session

if TYPE_CHECKING:
    from recollect.client import Client
    from recollect.memory import Recollect
    from recollect.recall.due import Due
    from recollect.types import Memory

ALL = "all"
NEVER = "never"
NOTHING = "nothing is due: no memory is aging, stale or expired"


def review(
    session: Session,
    bank: Annotated[
        str | None,
        typer.Argument(
            metavar="[BANK]", help="The bank; without one, all of them.", autocompletion=bank_names
        ),
    ] = None,
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Renew this memory: it is still true.")
    ] = None,
    named_bank: Annotated[
        str | None,
        typer.Option("--bank", metavar="NAME", help="The bank.", autocompletion=bank_names),
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="Only aging, stale or expired; a,b or repeated.",
            autocompletion=words("aging", "stale", "expired"),
        ),
    ] = None,
    renew: Annotated[
        list[str] | None,
        typer.Option("--renew", metavar="ID|all", help="Still true: its window starts anew."),
    ] = None,
    retire: Annotated[
        list[str] | None,
        typer.Option("--retire", metavar="ID|all", help="No longer true: withdraw it."),
    ] = None,
    set_valid_until: Annotated[
        str | None,
        typer.Option(metavar="WHEN|never", help="With ID or --renew: until when it holds."),
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="In a terminal: only list, do not ask.")
    ] = False,
    limit: Limit = 100,
) -> None:
    """List what is aging, stale or expired, and renew, edit or retire it.

    In a terminal it asks about one memory after the other; with --renew, --retire or an ID it
    does as it is told.
    """
    from recollect.errors import InvalidInput

    one = named_bank or bank
    if named_bank is not None and bank is not None:  # review --bank work ID
        memory_id = memory_id or bank
    renewed = [*(renew or ()), *([memory_id] if memory_id is not None else ())]
    if set_valid_until is not None and not renewed:
        raise InvalidInput(
            "--set-valid-until of which memory?", hint="name it: recollect review BANK ID …"
        )
    with session.open_existing() as memory:
        asked = _Asked(memory, _named(memory, one), listed(state), limit)
        if renewed or retire:
            _as_told(session, asked, renewed, retire or [], set_valid_until)
            return
        found = asked.due()
        if session.json:
            from recollect.cli.output import emit

            emit([d.as_dict() for d in found])
        elif sys.stdin.isatty() and sys.stdout.isatty() and not list_only:
            _ask(memory, found)
        else:
            _list(found, several=len(asked.banks) > 1)


def _named(memory: Recollect | Client, bank: str | None) -> list[str]:
    return [b.id for b in memory.banks()] if bank is None else [memory.bank(bank).id]


class _Asked:
    """Which memories are meant."""

    def __init__(
        self, memory: Recollect | Client, banks: list[str], states: list[str] | None, limit: int
    ) -> None:
        self.memory = memory
        self.banks = banks
        self._states = states
        self._limit = limit

    def due(self) -> list[Due]:
        found = [
            d
            for bank in self.banks
            for d in self.memory.due(bank, state=self._states, limit=self._limit)
        ]
        return sorted(found, key=lambda d: -d.overdue_days)[: self._limit]

    def memories(self, ids: Iterable[str]) -> list[Memory]:
        """`all` is everything that would be listed."""
        from recollect.errors import InvalidInput

        out: dict[tuple[str, str], Memory] = {}  # a copy of a bank has the same ids
        for memory_id in ids:
            if memory_id == ALL:
                out |= {(d.memory.bank, d.memory.id): d.memory for d in self.due()}
                continue
            if len(self.banks) != 1:
                raise InvalidInput(
                    f"{memory_id} of which bank?",
                    hint="name the bank: recollect review BANK --renew ID",
                )
            found = self.memory.load(self.banks[0], memory_id)
            out[found.bank, found.id] = found
        return list(out.values())


def _as_told(
    session: Session,
    asked: _Asked,
    renew: Sequence[str],
    retire: Sequence[str],
    valid_until: str | None,
) -> None:
    from recollect.cli.output import emit, talk
    from recollect.errors import InvalidInput

    renewing, retiring = asked.memories(renew), asked.memories(retire)
    both = {m.id for m in renewing} & {m.id for m in retiring}
    if both:
        raise InvalidInput(f"renew and retire {min(both)}?", hint="choose one of them")
    memory = asked.memory
    for one in renewing:
        _renew(memory, one, valid_until)
    for one in retiring:
        memory.invalidate(one.bank, one.id)
    if session.json:
        emit({"renewed": _shown(memory, renewing), "retired": _shown(memory, retiring)})
        return
    for word, done in (("renewed", renewing), ("retired", retiring)):
        for one in done:
            talk(f"{word} {one.title or one.text}")
    if not renewing and not retiring:
        talk(NOTHING)


def _shown(memory: Recollect | Client, done: Iterable[Memory]) -> list[dict[str, Any]]:
    from recollect.recall.result import memory_dict

    return [memory_dict(memory.load(m.bank, m.id)) for m in done]


def _renew(memory: Recollect | Client, one: Memory, valid_until: str | None) -> None:
    from datetime import UTC, datetime

    if valid_until is None:
        memory.review(one.bank, one.id)
        return
    end = None if valid_until == NEVER else valid_until
    memory.update(one.bank, one.id, valid_until=end, last_reviewed_at=datetime.now(UTC))


# --- listing -------------------------------------------------------------------------------


def _list(found: Sequence[Due], *, several: bool) -> None:
    from recollect.cli.output import talk
    from recollect.cli.tables import show_table

    if not found:
        talk(NOTHING)
        return
    header = ("state", "due", "kind", "window", "factor", "id", "memory")
    lines = [_line(d) for d in found]
    if several:
        header = ("bank", *header)
        lines = [(d.memory.bank, *line) for d, line in zip(found, lines, strict=True)]
    show_table(header, lines)


def _line(one: Due) -> tuple[str, ...]:
    memory, age = one.memory, one.age
    return (
        age.freshness.value,
        _due(one),
        memory.kind or "",
        "" if age.window_days is None else f"{age.window_days:.0f} d",
        f"{age.factor:g}",
        memory.id,
        memory.title or memory.text,
    )


def _due(one: Due) -> str:
    days = round(abs(one.overdue_days))
    if one.overdue_days < 0:
        return f"in {days} d"
    return "today" if days == 0 else f"{days} d ago"


# --- asking --------------------------------------------------------------------------------

_CHOICES = {
    "r": "renew (still true)",
    "e": "edit",
    "t": "retire (no longer true)",
    "s": "skip",
    "q": "quit",
}


def _ask(memory: Recollect | Client, found: Sequence[Due]) -> None:
    """One after the other, the most overdue first."""
    from recollect.cli.output import printable, talk

    done: dict[str, int] = {}
    for number, one in enumerate(found, 1):
        typer.echo(f"\n{number} of {len(found)} · {_told(one)}\n")
        typer.echo(printable(one.memory.text) + "\n")
        choice = _choice()
        if choice == "q":
            break
        said = _carry_out(memory, one.memory, choice)
        done[said] = done.get(said, 0) + 1
    told = ", ".join(f"{count} {what}" for what, count in done.items())
    talk(told or (NOTHING if not found else "nothing was changed"))


def _told(one: Due) -> str:
    from recollect.cli.output import day, printable

    memory, age = one.memory, one.age
    window = "" if age.window_days is None else f" of {age.window_days:.0f} days"
    parts = [f"{age.freshness.value} (×{age.factor:g})", memory.bank]
    if memory.kind is not None:
        parts.append(f"{memory.kind}{window}")
    if memory.valid_until is not None:
        parts.append(f"valid until {day(memory.valid_until)}")
    parts.append(f"due {_due(one)}")
    title = f"\n{memory.title}" if memory.title else ""
    return printable(" · ".join(parts) + title)


def _choice() -> str:
    names = ", ".join(f"[{key}] {what}" for key, what in _CHOICES.items())
    while True:
        try:
            given = typer.prompt(names, default="s", show_default=False).strip().lower()
        except typer.Abort:  # Ctrl-C or Ctrl-D: what was chosen so far is done and is told
            return "q"
        if given[:1] in _CHOICES:
            return "t" if given.startswith("ret") else given[:1]


def _carry_out(memory: Recollect | Client, one: Memory, choice: str) -> str:
    if choice == "r":
        memory.review(one.bank, one.id)
        return "renewed"
    if choice == "t":
        memory.invalidate(one.bank, one.id)
        return "retired"
    if choice == "e":
        return _edit(memory, one)
    return "skipped"


def _edit(memory: Recollect | Client, one: Memory) -> str:
    """Saved unchanged, or emptied, means that nothing is meant."""
    from datetime import UTC, datetime

    text = _edited(one.text).strip()
    if not text or text == one.text.strip():
        return "skipped"
    memory.update(one.bank, one.id, text=text, last_reviewed_at=datetime.now(UTC))
    return "edited"


def _edited(text: str) -> str:
    """The text as it is when the user's editor ends."""
    import os
    import shlex
    import subprocess
    import tempfile
    from pathlib import Path

    from recollect.errors import ConfigError

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        path = Path(folder) / "memory.md"
        path.write_text(text + "\n", encoding="utf-8")
        try:
            ended = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"the editor {editor!r} cannot be started: {error}", hint="set EDITOR"
            ) from error
        return text if ended else path.read_text("utf-8")
