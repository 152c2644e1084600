"""What every command is given: which store, which settings, and how to answer."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from recollect.cli.helping import PlainCommand

if TYPE_CHECKING:
    from recollect.client import Client
    from recollect.config import Settings
    from recollect.memory import Recollect

Db = Annotated[
    str | None,
    typer.Option(
        "--db",
        metavar="STORE",
        envvar="RECOLLECT_DB",
        show_envvar=True,
        help="The store: a file, a DSN, or a server's http://…",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        envvar="RECOLLECT_CONFIG",
        show_envvar=True,
        help="A TOML file of settings.",
    ),
]
ReadDsn = Annotated[
    str | None,
    typer.Option(
        "--read-dsn",
        metavar="DSN",
        envvar="RECOLLECT_READ_DSN",
        show_envvar=True,
        help="A replica of a PostgreSQL store: recalls read there.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Answer as JSON on stdout.")]


@dataclass(frozen=True, slots=True)
class Session:
    db: str | None = None
    config: Path | None = None
    json: bool = False
    read_dsn: str | None = None
    api_key: str | None = None

    def over(self, db: str | None, config: Path | None, json: bool) -> Session:
        """Options may stand before the command or after it; after it wins."""
        return replace(self, db=db or self.db, config=config or self.config, json=json or self.json)

    def settings(self, **more: Any) -> Settings:
        """Those in force. What an option took from the environment is left to be found there, so
        that `recollect config` names the right origin."""
        from recollect.config import ENV_PREFIX, load_settings

        given = {"db": self.db, "read_dsn": self.read_dsn, "api_key": self.api_key}
        said = {k: v for k, v in given.items() if v != os.environ.get(ENV_PREFIX + k.upper())}
        return load_settings(file=self.config, **said, **more)

    def tell(self, value: Any, says: str) -> None:
        """What was done: as JSON, or in words on stderr."""
        from recollect.cli.output import emit, talk

        emit(value) if self.json else talk(says)

    def show(self, values: Mapping[str, Any]) -> None:
        """What there is: as JSON, or one field a line."""
        from recollect.cli.output import emit
        from recollect.cli.tables import show_fields

        emit(values) if self.json else show_fields(values)

    def open(self) -> Recollect | Client:
        """The store, made if it is not there yet, or a server: for commands that write."""
        return self._connected() or self.open_store()

    def open_existing(self) -> Recollect | Client:
        """For commands that only read: a mistyped path must not leave an empty file behind."""
        return self._connected() or self.existing_store()

    def _connected(self) -> Client | None:
        """With `--db http://…` every verb is asked of a server."""
        settings = self.settings()
        if settings.db is None or not is_server(settings.db):
            return None
        from recollect.client import connect

        return connect(settings.db, api_key=settings.api_key)

    def open_store(self) -> Recollect:
        """The store itself, for commands that cannot work through a server."""
        from recollect.memory import Recollect

        return Recollect(self._of_a_store())

    def _of_a_store(self) -> Settings:
        from recollect.errors import ConfigError

        settings = self.settings()
        if is_server(settings.db):
            raise ConfigError(
                "this command needs the store itself, not a server",
                hint="run it where the store is, with --db PATH or --db postgresql://…",
            )
        return settings

    def own_store(self, path: Path | None = None) -> Recollect:
        """Under the settings in force, but not the user's: at `path`, or gone when it is closed."""
        from recollect.memory import Recollect

        return Recollect(replace(self.settings(), db=":memory:" if path is None else str(path)))

    def store_to_try(self) -> Recollect:
        """For what changes nothing: where no store is yet, an empty one that leaves no file."""
        from recollect.memory import Recollect

        settings = self._of_a_store()
        path = store_path(settings)
        there = path is None or path.exists()
        return Recollect(settings if there else replace(settings, db=":memory:"))

    def existing_store(self) -> Recollect:
        from recollect.errors import NotFound
        from recollect.memory import Recollect

        settings = self._of_a_store()
        path = store_path(settings)
        if path is not None and not path.exists():
            raise NotFound(
                f"there is no memory at {path} yet",
                hint='check --db, or begin with: recollect retain BANK "what to remember"  (or: recollect demo)',
            )
        return Recollect(settings)


def is_server(db: str | None) -> bool:
    return db is not None and db.startswith(("http://", "https://"))


def store_path(settings: Settings) -> Path | None:
    """The file behind the settings; None for a server or a store in memory."""
    from recollect.memory import default_path

    named = settings.db or str(default_path())
    return None if "://" in named or named == ":memory:" else Path(named).expanduser()


def add(app: typer.Typer, function: Callable[..., None], name: str) -> None:
    app.command(name, cls=PlainCommand)(command(function))


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command with --db, --config and --json added; the function gets them as a Session. Options
    that belong together may be one parameter: a dataclass of them."""
    hints = get_type_hints(function, include_extras=True)
    own = list(inspect.signature(function).parameters.values())[1:]  # without the session
    together = {p.name: hints[p.name] for p in own if is_dataclass(hints[p.name])}
    common: dict[str, Any] = {"db": Db, "config": Config, "as_json": Json}

    @wraps(function)
    def run(ctx: typer.Context, **given: Any) -> None:
        options = {name: typed(ctx, name, given.pop(name)) for name in common}
        above = ctx.obj if isinstance(ctx.obj, Session) else Session()
        session = above.over(options["db"], options["config"], options["as_json"])
        for name, kind in together.items():
            given[name] = kind(**{f.name: given.pop(f.name) for f in fields(kind)})
        function(session, **given)

    parameters = [
        inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
        *(option for p in own for option in _options(p, hints[p.name])),
        *(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if name == "as_json" else None,
                annotation=kind,
            )
            for name, kind in common.items()
        ),
    ]
    run.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    del run.__wrapped__  # or the signature of what is wrapped would be read instead
    return run


def typed(ctx: typer.Context, name: str, value: Any) -> Any:
    """An option of a command as it was typed. The environment is asked before the command already:
    asked again here, it would win over what was typed there."""
    source = ctx.get_parameter_source(name)
    return None if source is not None and source.name == "ENVIRONMENT" else value


def _options(parameter: inspect.Parameter, hint: Any) -> Iterator[inspect.Parameter]:
    """A parameter as the command line has it; one that is a dataclass stands for its fields."""
    if not is_dataclass(hint):
        yield parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY)
        return
    kinds = get_type_hints(hint, include_extras=True)
    for f in fields(hint):
        yield inspect.Parameter(
            f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=kinds[f.name]
        )
