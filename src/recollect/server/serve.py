"""Running the server: bind, load, say that it is ready, finish what was accepted, stop."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Generator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import ConfigError, RecollectError

if TYPE_CHECKING:
    from recollect.config import Settings
    from recollect.memory import Recollect
    from recollect.server.workers import Place

PATIENCE_S = 30  # for requests in flight when told to stop
IDLE_S = 75  # longer than clients keep a connection: it is theirs to close
BACKLOG = 2048
YOUNG = 20_000  # objects, before any are looked through for cycles
M_ARENA_MAX = -8  # of malloc.h
COUNTED = "PROMETHEUS_MULTIPROC_DIR"


def serve(settings: Settings, on_ready: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `on_ready` is told the address once everything is loaded."""
    from recollect.memory import Recollect
    from recollect.server.keys import check_exposure
    from recollect.server.observe import configure_logging

    configure_logging(settings.log_format, settings.log_level)
    _share_arenas()
    if settings.workers < 1:
        raise ConfigError(f"workers = {settings.workers}", hint="1, or as many as there are cores")
    if settings.workers > 1 and settings.db == ":memory:":
        raise ConfigError("workers cannot share a store in memory", hint="name a file with --db")
    memory = Recollect(settings)
    try:
        check_exposure(settings.host, memory.store.keys, no_auth=settings.no_auth)
        bound = bind(settings.host, settings.port)
    except BaseException:
        memory.close()
        raise
    with bound:
        if settings.workers == 1:
            listen(memory, bound, lambda: on_ready(address(bound)))
            return
        from recollect.server.workers import Workers

        if "://" not in f"{settings.embedder} {settings.reranker}":
            _early(memory)  # the models: workers that find them loaded share their pages
        memory.close()  # nothing else of it may be carried into another process
        with _together() as folder:

            def work(place: Place, tell: Callable[[], None]) -> None:
                listen(Recollect(settings), place.bound, tell, folder, place)

            gone = _uncounted if settings.metrics else None
            Workers(bound, settings.workers, work, gone).run(lambda: on_ready(address(bound)))


def _uncounted(pid: int) -> None:
    """What a process was about when it ended is no longer being done."""
    from prometheus_client import multiprocess

    multiprocess.mark_process_dead(pid)  # pyright: ignore[reportUnknownMemberType]


@contextlib.contextmanager
def _together() -> Generator[Path]:
    """A folder where the processes meet: their metrics (see `metrics`), their conversations."""
    with tempfile.TemporaryDirectory(prefix="recollect-workers-") as folder:
        counted = COUNTED not in os.environ
        if counted:
            os.environ[COUNTED] = folder
        try:
            yield Path(folder)
        finally:
            if counted:
                del os.environ[COUNTED]


def listen(
    memory: Recollect,
    bound: socket.socket,
    on_ready: Callable[[], None],
    together: Path | None = None,
    place: Place | None = None,
) -> None:
    """One process's part; the memory is closed at the end. `together` is the folder of several,
    `place` that of this one among them."""
    # The models load on one core while the server is imported on the other. What goes wrong is
    # said by whoever needs them.
    threading.Thread(target=_early, args=(memory,), name="recollect-warm", daemon=True).start()
    import uvicorn

    from recollect.server.app import create_app
    from recollect.server.keys import is_loopback
    from recollect.server.limits import OwnHost

    def ready() -> None:
        _collect_seldom()
        on_ready()

    app = create_app(memory, on_ready=ready, together=together)
    gate = app.state.serving.gate
    app.add_middleware(OwnHost, unguarded=gate.unguarded, own=is_loopback)
    config = uvicorn.Config(
        app,
        timeout_graceful_shutdown=PATIENCE_S,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing here asks where a request came from
        timeout_keep_alive=IDLE_S,
        ws="none",
        loop="asyncio",
        http=_reader(),
        backlog=BACKLOG,
    )
    if place is None:
        server = uvicorn.Server(config)
    else:
        from recollect.server.evenly import EvenServer

        server = EvenServer(config, place)

    def stop(_number: int, _frame: object) -> None:
        server.should_exit = True

    # uvicorn stops gracefully on these, and then sends itself the signal once more, to whoever
    # would have had it otherwise: here to whom it says nothing new, so that a server that stopped
    # well exits with 0. What comes before uvicorn listens to them is not lost.
    held = {s: signal.signal(s, stop) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        server.run(sockets=[bound])
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)


def _reader() -> Any:
    """How HTTP is read: by compiled code where it is installed."""
    if find_spec("httptools") is None:
        return "h11"
    from recollect.server.heads import BoundedHeads

    return BoundedHeads


def _share_arenas() -> None:
    """glibc gives every thread a heap of its own, and what one frees the others cannot use: with
    twenty threads that kept 50 of 310 MB. Two heaps are as fast here."""
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        mallopt(M_ARENA_MAX, 2)


def _collect_seldom() -> None:
    """An answer is a thousand objects that soon go by themselves. Looking for cycles among them
    and all that is loaded took a twentieth of a server's time."""
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 20)


def _early(memory: Recollect) -> None:
    with contextlib.suppress(RecollectError):
        memory.warm()


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
