"""Running the server: bind, load, say that it is ready, finish what was accepted, stop."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from recollect.errors import ConfigError, RecollectError

if TYPE_CHECKING:
    from recollect.memory import Recollect

PATIENCE_S = 30  # for requests in flight when told to stop
BACKLOG = 2048


def serve(memory: Recollect, host: str, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `on_ready` is told the address once everything is loaded.
    The memory is closed at the end."""
    # The models load on one core while the server is imported on the other. What goes wrong is
    # said by whoever needs them.
    threading.Thread(target=_early, args=(memory,), name="recollect-warm", daemon=True).start()
    import uvicorn

    from recollect.server.app import create_app
    from recollect.server.keys import check_exposure
    from recollect.server.observe import configure_logging

    settings = memory.settings
    configure_logging(settings.log_format, settings.log_level)
    check_exposure(host, memory.store.keys, no_auth=settings.no_auth)
    bound = bind(host, port)
    url = address(bound)
    config = uvicorn.Config(
        create_app(memory, on_ready=lambda: on_ready(url)),
        timeout_graceful_shutdown=PATIENCE_S,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        loop="asyncio",
    )
    # uvicorn stops gracefully on these, and then sends itself the signal once more, to whoever
    # would have had it otherwise: here nobody, so that a server that stopped well exits with 0.
    held = {s: signal.signal(s, _nothing) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        uvicorn.Server(config).run(sockets=[bound])
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        bound.close()


def _early(memory: Recollect) -> None:
    with contextlib.suppress(RecollectError):
        memory.warm()


def _nothing(_number: int, _frame: object) -> None:
    pass


def bind(host: str, port: int) -> socket.socket:
    """Before anything is loaded: a port that is taken is said at once."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, proto, _, where = found[0]
        bound = socket.socket(family, kind, proto)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(where)
        bound.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        raise ConfigError(
            f"cannot listen on {host} port {port}: {error}",
            hint="choose another with --port; --port 0 takes one that is free",
        ) from error
    return bound


def address(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
