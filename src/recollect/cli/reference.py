"""The reference part of docs/cli.md, made from the commands themselves.

`python -m recollect.cli.reference docs/cli.md` writes it anew between its markers; a test
fails when the file and the commands disagree.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recollect.cli.helping import argument_name

BEGIN, END = "<!-- reference: begin -->", "<!-- reference: end -->"
COMMON = {"db", "config", "as_json"}


def reference() -> str:
    import typer

    from recollect.cli.app import SECTIONS, app

    root: Any = typer.main.get_command(app)
    parts = ["### Every command", "", *_options(_shown(root, set()))]
    for heading, names in SECTIONS.items():
        parts += ["", f"### {heading}"]
        for name in names:
            parts += ["", *_command(name, root.commands[name])]
    return "\n".join(parts) + "\n"


def written(page: str) -> str:
    """The page with its reference made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{reference()}{END}{after}"


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    yield f"#### `recollect {' '.join([name, *(_metavar(a) for a in arguments)])}`"
    yield ""
    yield _flat(command.help)
    options = _shown(command, COMMON | {a.name for a in arguments})
    if arguments or options:
        yield ""
        yield from _options([*arguments, *options])
    for below, subcommand in getattr(command, "commands", {}).items():
        yield ""
        yield from _command(f"{name} {below}", subcommand)


def _shown(command: Any, without: set[str]) -> list[Any]:
    hidden = without | {"help", "install_completion", "show_completion"}
    return [p for p in command.params if p.name not in hidden]


def _options(parameters: list[Any]) -> Iterator[str]:
    yield "| | |"
    yield "|---|---|"
    for parameter in parameters:
        yield f"| {_names(parameter)} | {_flat(parameter.help)}{_default(parameter)}{_variable(parameter)} |"


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_metavar(parameter)}`"
    value = "" if getattr(parameter, "is_flag", False) else f" {_metavar(parameter)}"
    return (
        ", ".join(f"`{name}`" for name in parameter.opts[:-1])
        + (", " if len(parameter.opts) > 1 else "")
        + f"`{parameter.opts[-1]}{value}`"
    )


def _metavar(parameter: Any) -> str:
    return argument_name(parameter).replace("|", "\\|")


def _default(parameter: Any) -> str:
    value = parameter.default
    plain = value is None or value is False or value == () or value == [] or callable(value)
    return "" if plain or parameter.required else f" Default: `{value}`."


def _variable(parameter: Any) -> str:
    return f" Environment: `{parameter.envvar}`." if getattr(parameter, "envvar", None) else ""


def _flat(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(written(path.read_text("utf-8")), encoding="utf-8")
