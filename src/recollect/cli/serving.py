"""The command that runs recollect as a service."""

from __future__ import annotations

from typing import Annotated

import typer

from recollect.cli.session import Session

Host = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Where to listen; 127.0.0.1 unless set otherwise."),
]
Port = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        max=65535,
        help="The port, 8888 unless set otherwise; 0 takes a free one.",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        help="Processes; 1 unless set otherwise, one a core at most.",
    ),
]
NoAuth = Annotated[
    bool, typer.Option("--no-auth", help="Ask nobody for a key, on any address. Guard it yourself.")
]


def serve(
    session: Session,
    host: Host = None,
    port: Port = None,
    workers: WorkersOption = None,
    no_auth: NoAuth = False,
) -> None:
    """Serve the store over HTTP; Hindsight's clients work with it unchanged.

    Stops on Ctrl-C or SIGTERM, after finishing what it accepted.
    """
    import os
    import sys

    from recollect.cli.output import emit, talk

    _check_extra()
    from recollect.server.serve import serve as run

    settings = session.settings(host=host, port=port, workers=workers, no_auth=no_auth or None)

    def ready(url: str) -> None:
        if session.json:
            emit({"url": url, "pid": os.getpid()})
        else:
            sys.stdout.write(f"recollect is listening on {url}\n")
            talk("Ctrl-C stops it")
        sys.stdout.flush()

    run(settings, ready)


def _check_extra() -> None:
    from importlib.util import find_spec

    from recollect.errors import ConfigError

    missing = [name for name in ("fastapi", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"the server needs {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed",
            hint="pip install 'recollect[server]'",
        )
