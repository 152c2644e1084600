"""How help names arguments: as they stand on the command line. Typer itself has said them in a
different way in almost every release, and newer ones add the names of Python's types."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class PlainCommand(TyperCommand):
    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = (p for p in self.get_params(ctx) if p.param_type_name == "argument")
        return ["[OPTIONS]", *map(argument_name, arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        told = [(p, p.get_help_record(ctx)) for p in self.get_params(ctx)]
        arguments = [
            (argument_name(p), r[1]) for p, r in told if r and p.param_type_name == "argument"
        ]
        options = [r for p, r in told if r and p.param_type_name == "option"]
        for heading, lines in (("Arguments", arguments), ("Options", options)):
            if lines:
                with formatter.section(heading):
                    formatter.write_dl(lines)


def argument_name(argument: Any) -> str:
    """BANK, or [ID] where it may be left out: an argument's metavar says which."""
    return argument.metavar or argument.name.upper()
