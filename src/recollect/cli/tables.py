"""Lists as a table in a terminal and as tab-separated lines in a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from recollect.cli.output import console, flat, printable, rows, terminal


def show_table(header: Sequence[str], lines: Iterable[Sequence[object]]) -> None:
    """Numbers to the right; the last column takes the room that is left."""
    held = [[_cell(cell) for cell in line] for line in lines]
    if not terminal():
        rows(held)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, name in enumerate(header):
        numeric = bool(held) and all(_is_number(line[at]) for line in held)
        last = at == len(header) - 1
        table.add_column(
            name, justify="right" if numeric else "left", overflow="fold", no_wrap=not last
        )
    for line in held:
        table.add_row(*(Text(cell) for cell in line))
    console().print(table)


def show_fields(fields: Mapping[str, Any]) -> None:
    """name: value, one a line; long and nested values underneath."""
    width = max((len(name) for name in fields), default=0)
    for name, value in fields.items():
        if isinstance(value, Mapping | list | tuple):
            console().print(f"{name}:".ljust(width + 2) + _inline(value))
        else:
            console().print(f"{name}:".ljust(width + 2) + printable(str(value)))


def _inline(value: Any) -> str:
    import orjson

    if isinstance(value, Mapping):
        return flat(", ".join(f"{k}={v}" for k, v in value.items()))  # pyright: ignore[reportUnknownVariableType]
    if all(isinstance(v, str) for v in value):
        return flat(", ".join(value))
    return printable("".join("\n  " + orjson.dumps(v, default=str).decode() for v in value))


def _cell(value: object) -> str:
    return flat("" if value is None else str(value))


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "", 1).isdigit()
