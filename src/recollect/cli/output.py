"""Answers on stdout, talk on stderr, as JSON or for people.

Text that users or documents wrote is never read as markup, and control characters in it
never reach the terminal.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console, RenderableType

    from recollect.types import Bank

# Overrides and isolates of direction, too: they let a line read as what it does not say.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Without control characters: a memory may hold escape sequences, a terminal obeys them."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def flat(text: str) -> str:
    """On one line, for a column."""
    return printable(" ".join(text.split()))


def console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # A pipe has no width: give lines room instead of breaking them at 80.
    width = None if stream.isatty() or os.environ.get("COLUMNS") else 200
    plain = bool(os.environ.get("NO_COLOR"))
    return Console(
        file=stream,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=False,
        width=width,
        color_system=None if plain else "auto",
        no_color=plain or None,
    )


def terminal() -> bool:
    return sys.stdout.isatty()


def any_locale() -> None:
    """Where the locale is not UTF-8, what it cannot show is written as its code, as stderr does: no
    text that somebody wrote may end a command."""
    _reconfigure(errors="backslashreplace")


def _as_utf8() -> None:
    """JSON is UTF-8 in every locale."""
    _reconfigure(encoding="utf-8")


def _reconfigure(**how: str) -> None:
    reconfigure = getattr(sys.stdout, "reconfigure", None)  # a stand-in for stdout has none
    if reconfigure is not None:
        reconfigure(**how)


def emit(value: Any, *, indented: bool | None = None) -> None:
    """One JSON value on stdout: indented for eyes, on one line for programs."""
    import orjson

    _as_utf8()
    option = orjson.OPT_INDENT_2 if indented or (indented is None and terminal()) else 0
    _write(orjson.dumps(value, default=_plain, option=option | orjson.OPT_NON_STR_KEYS))


def emit_lines(values: Iterable[Mapping[str, Any]]) -> int:
    """JSON Lines on stdout; gives how many."""
    import orjson

    _as_utf8()
    count = 0
    for value in values:
        _write(orjson.dumps(value, default=_plain))
        count += 1
    return count


def _write(line: bytes) -> None:
    sys.stdout.write(line.decode() + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, Iterable):
        return list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)


def show(*parts: RenderableType) -> None:
    out = console()
    for part in parts:
        out.print(part)


def rows(table: Iterable[Iterable[object]]) -> None:
    """Tab-separated lines: what a pipe gets instead of a drawn table."""
    for row in table:
        sys.stdout.write("\t".join(flat(str(cell)) for cell in row) + "\n")


def talk(text: str) -> None:
    """A line on stderr: what happened, what next."""
    sys.stderr.write(fitting(printable(text)) + "\n")


def fitting(text: str) -> str:
    """Broken between words where a terminal would break within them; a pipe gets lines as they are."""
    if not sys.stderr.isatty():
        return text
    from textwrap import wrap

    width = _width()
    lines = (
        wrap(line, width, break_long_words=False, break_on_hyphens=False, replace_whitespace=False)
        if len(line) > width
        else [line]
        for line in text.split("\n")
    )
    return "\n".join("\n".join(parts) for parts in lines)


def _width() -> int:
    """Of the terminal that stderr is."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def many(count: int, one: str, more: str | None = None) -> str:
    """So many of them, in words: 1 memory, 2 memories."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def held(bank: Bank) -> str:
    """What a bank holds, in words."""
    memories, documents = (
        many(bank.memories, "memory", "memories"),
        many(bank.documents, "document"),
    )
    return f"{memories}, {documents}"


def day(when: datetime | None) -> str:
    return "" if when is None else when.date().isoformat()


def minute(when: datetime | None) -> str:
    return "" if when is None else when.strftime("%Y-%m-%d %H:%M")


def error_lines(message: str, hint: str | None) -> str:
    return f"error: {message}" + (f"\n\nhint: {hint}" if hint else "")


def error_object(kind: str, message: str, hint: str | None) -> str:
    import orjson

    return orjson.dumps({"error": {"type": kind, "message": message, "hint": hint}}).decode()
