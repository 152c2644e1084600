"""Lists as a table in a terminal and as tab-separated lines in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from recollect.cli.output import console, flat, minute, printable, rows, talk, terminal

READABLE = 40  # columns that a text wants beside other things


def show_table(
    header: Sequence[str], lines: Iterable[Sequence[object]], *, none: str = "there is none"
) -> None:
    """Numbers to the right; the last column takes the room that is left, or, where that is not
    enough, a line of its own. Ids are never cut: somebody wants to copy them. `none` is said where there is no
    line: an empty answer reads like a failure."""
    held = [[_cell(cell) for cell in line] for line in lines]
    if not held:
        talk(none)
        return
    if not terminal():
        rows(held)
        return
    from rich.cells import cell_len

    widths = [
        max(cell_len(line[at]) for line in [list(header), *held]) for at in range(len(header))
    ]
    before = sum(widths[:-1]) + 2 * (len(header) - 1)
    if before + min(widths[-1], READABLE) > console().width:
        _show_stacked(header, held, widths)
    else:
        _show_beside(header, held)


def _show_beside(header: Sequence[str], held: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, name in enumerate(header):
        last = at == len(header) - 1
        side = "right" if _numeric(held, at) else "left"
        table.add_column(name, justify=side, overflow="fold", no_wrap=not last)
    for line in held:
        table.add_row(*(Text(cell) for cell in line))
    console().print(table)


def _show_stacked(
    header: Sequence[str], held: Sequence[Sequence[str]], widths: Sequence[int]
) -> None:
    from rich.cells import cell_len
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    right = [_numeric(held, at) for at in range(len(header))]

    def row(cells: Sequence[str]) -> str:
        room = (" " * (width - cell_len(cell)) for width, cell in zip(widths, cells, strict=True))
        filled = (s + c if r else c + s for s, c, r in zip(room, cells, right, strict=True))
        return "  ".join(list(filled)[:-1]).rstrip()

    out.print(Text(f"{row(header)}  {header[-1]}", style="bold"), soft_wrap=True)
    for line in held:
        out.print(Text(row(line)), soft_wrap=True)
        if line[-1]:
            out.print(Padding(Text(line[-1]), (0, 0, 0, 4)))


def _numeric(held: Sequence[Sequence[str]], at: int) -> bool:
    return bool(held) and all(_is_number(line[at]) for line in held)


def show_fields(fields: Mapping[str, Any]) -> None:
    """name: value, one a line; long and nested values underneath."""
    width = max((len(name) for name in fields), default=0)
    for name, value in fields.items():
        console().print(f"{name}:".ljust(width + 2) + _shown(value))


def _shown(value: Any) -> str:
    if value is None or value in ("", [], (), {}):
        return "–"
    if isinstance(value, Mapping | list | tuple):
        return _inline(value)
    if isinstance(value, bool):
        return str(value).lower()
    return minute(value) if isinstance(value, datetime) else printable(str(value))


def _inline(value: Any) -> str:
    import orjson

    if isinstance(value, Mapping):
        return flat(", ".join(f"{k}={_nested(v)}" for k, v in value.items()))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if all(isinstance(v, str) for v in value):
        return flat(", ".join(value))
    return printable("".join("\n  " + orjson.dumps(v, default=str).decode() for v in value))


def _nested(value: Any) -> str:
    return f"({_inline(value)})" if isinstance(value, Mapping) else str(value)


def _cell(value: object) -> str:
    return flat("" if value is None else str(value))


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "", 1).isdigit()
