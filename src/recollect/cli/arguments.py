"""Arguments that several commands share, and how their texts become values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer


def bank_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """For the shell's completion. Whatever is wrong with the store, completion stays quiet:
    the command itself will tell."""
    from recollect.cli.session import Session, typed
    from recollect.errors import RecollectError

    above = ctx.parent.params if ctx.parent is not None else {}
    own = {k: typed(ctx, k, v) for k, v in ctx.params.items()}
    given = {**above, **{k: v for k, v in own.items() if v is not None}}
    session = Session(given.get("db"), given.get("config"))
    try:
        with session.open_existing() as memory:
            return [b.id for b in memory.banks() if b.id.startswith(incomplete)]
    except RecollectError:
        return []


def words(*known: str) -> Callable[[str], list[str]]:
    """For the shell's completion of an option that takes one of these."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in known if word.startswith(incomplete)]

    return complete


MOST = 2**31 - 1  # a limit that every store can hold
BUDGETS = words("low", "mid", "high")
VERBOSITIES = words("lean", "full")
TYPES = words("world", "experience", "observation", "opinion")
TAG_MODES = words("any", "all", "any_strict", "all_strict", "exact")
EVIDENCE = words(
    "strong_support", "weak_support", "neutral", "contradiction", "strong_contradiction"
)
STATES = words("active", "superseded", "invalidated", "revised")

Bank = Annotated[
    str,
    typer.Argument(
        metavar="BANK", help="The bank: one isolated memory.", autocompletion=bank_names
    ),
]
Query = Annotated[str, typer.Argument(metavar="QUERY", help="What to ask; - reads it from stdin.")]
MemoryId = Annotated[
    str, typer.Argument(metavar="ID", help="A memory's id, from retain, recall or memories.")
]


def _checked_limit(limit: int) -> int:
    from recollect.errors import InvalidInput

    if not 1 <= limit <= MOST:
        raise InvalidInput(f"--limit is {limit}", hint=f"a whole number from 1 to {MOST:,}")
    return limit


Limit = Annotated[
    int, typer.Option("--limit", metavar="N", callback=_checked_limit, help="At most so many.")
]
After = Annotated[
    str | None, typer.Option("--after", metavar="ID", help="Page on: the last id already seen.")
]


def listed(given: list[str] | None) -> list[str] | None:
    """Repeated options and comma-separated ones alike; None when none was given."""
    if not given:
        return None
    return [part.strip() for text in given for part in text.split(",") if part.strip()]


def limited_to(option: str, given: list[str] | None) -> list[str] | None:
    """What an option lets through, None for everything. An option that names nothing, as with an
    unset variable, is refused, because it would let everything through."""
    from recollect.errors import InvalidInput

    names = listed(given)
    if names == []:
        raise InvalidInput(f"{option} names nothing", hint=f"leave {option} out, or name something")
    return names


def pairs(given: list[str] | None) -> dict[str, str] | None:
    """k=v options as a dict."""
    from recollect.errors import InvalidInput

    out: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InvalidInput(
                f"--metadata {text!r} is not k=v", hint="for example --metadata source=slack"
            )
        out[name.strip()] = value
    return out or None


def query_text(query: str) -> str:
    return stdin_text() if query == "-" else query


def stdin_text() -> str:
    return decoded(stdin_bytes(), "standard input")


def stdin_bytes() -> bytes:
    import sys

    return sys.stdin.buffer.read()


def decoded(raw: bytes, where: str) -> str:
    from recollect.errors import InvalidInput

    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{where} is not UTF-8 text", hint="convert it first, for example with iconv"
        ) from error


def looks_like_a_file(text: str) -> bool:
    """Whether an argument names a file rather than words to remember: it has a suffix that
    retain reads, or the file exists. If it cannot be read, that is an error, instead of its name
    being retained."""
    from recollect.retain.files import KNOWN_SUFFIXES

    if "\n" in text or len(text) > 1024:
        return False
    known = Path(text).suffix.lower() in KNOWN_SUFFIXES
    if " " in text.strip():
        return known and _is_there(text)
    return known or (bool(text) and _is_there(text))


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # no name that a file can have
        return False


Force = Annotated[bool, typer.Option("--force", help="Replace a file that is something else.")]
