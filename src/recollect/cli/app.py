"""The application: which commands there are, in which order help names them.

Nothing heavy is imported here or in the modules of the commands: `--help` must answer at
once, so each command imports what it needs when it runs.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from recollect.cli.admin import admin_app
from recollect.cli.configuring import configure
from recollect.cli.copy import copy
from recollect.cli.correcting import invalidate, reinforce, relate, restore, supersede, update
from recollect.cli.demo import demo
from recollect.cli.doctor import doctor
from recollect.cli.eval import eval_
from recollect.cli.hooks import hooks_app
from recollect.cli.keys import keys_app
from recollect.cli.looking import banks, config, documents, entities, export, memories, stats, tags
from recollect.cli.mcp import mcp_app
from recollect.cli.operations import operations_app
from recollect.cli.reading import load, recall, why
from recollect.cli.review import review
from recollect.cli.serving import serve
from recollect.cli.session import Config, Db, Json, ReadDsn, Session, add
from recollect.cli.vault import vault_app
from recollect.cli.when import when
from recollect.cli.writing import forget, import_, reembed, retain

SECTIONS: dict[str, tuple[str, ...]] = {
    "Remember": ("retain", "forget"),
    "Recall": ("recall", "why", "load", "when"),
    "Correct": (
        *("update", "supersede", "invalidate", "restore", "relate", "reinforce", "review"),
        *("configure", "reembed"),
    ),
    "Look around": ("banks", "memories", "documents", "entities", "tags", "stats"),
    "Move": ("vault", "export", "import", "copy"),
    "Serve agents": ("serve", "keys", "operations", "mcp", "hooks"),
    "Check": ("doctor", "config", "eval", "demo", "admin"),
}


class Sections(TyperGroup):
    """Commands under headings, by what one wants to do."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, names in SECTIONS.items():
            held = [(n, found) for n in names if (found := self.get_command(ctx, n)) is not None]
            with formatter.section(heading):
                formatter.write_dl([(n, found.get_short_help_str(70)) for n, found in held])


# Plain help: drawing it with rich costs 0.1 s, a third of what it may take.
app = typer.Typer(
    cls=Sections,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"recollect {version('recollect')}")
        raise typer.Exit


@app.callback()
def _root(
    ctx: typer.Context,
    db: Db = None,
    config: Config = None,
    read_dsn: ReadDsn = None,
    as_json: Json = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A memory for AI agents: retain what was said, recall what matters, see why.

    Answers go to stdout, talk to stderr; --json works on every command, before or after it.
    """
    ctx.obj = Session(db, config, as_json, read_dsn)


for _function in (
    *(retain, forget, recall, why, load, when),
    *(update, supersede, invalidate, restore, relate, reinforce, review, configure, reembed),
    *(banks, memories, documents, entities, tags, stats),
    *(export, import_, copy, serve, doctor, config, eval_, demo),
):
    add(app, _function, _function.__name__.rstrip("_"))
app.add_typer(admin_app, name="admin")
app.add_typer(vault_app, name="vault")
app.add_typer(keys_app, name="keys")
app.add_typer(operations_app, name="operations")
app.add_typer(mcp_app, name="mcp")
app.add_typer(hooks_app, name="hooks")
