"""The client that waits: it drives the verbs over httpx2."""

from __future__ import annotations

import time
from collections.abc import (
    Callable,
    Iterator,
    Mapping,
)
from functools import wraps
from threading import Lock
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

import httpx2
import orjson

from recollect.client import banks as of_banks
from recollect.client import decode, looking, reading, writing
from recollect.client import operations as of_operations
from recollect.client.call import Call, Steps, path
from recollect.client.decode import Ask, Told
from recollect.client.wire import RETRIES, Lines, Server, Stream, answer, known, server_at
from recollect.errors import ServerError
from recollect.recall.request import check_listener
from recollect.recall.result import RecallResult
from recollect.telemetry import OnEvent
from recollect.types import StageEvent

if TYPE_CHECKING:
    from recollect.options import Progress, RecallOptions
    from recollect.storage.copy import Copied, Holder, Place

P = ParamSpec("P")
T = TypeVar("T")


def _sent(verb: Callable[P, Steps[T]]) -> Callable[Concatenate[Client, P], T]:
    @wraps(verb)
    def call(self: Client, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.drive(verb(*args, **kwargs))

    return call


class Client:
    """`Recollect`'s verbs, asked of a server. Made by `recollect.connect()`; safe to use from
    many threads."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._http = httpx2.Client(**server.options())

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def drive(self, steps: Steps[T]) -> T:
        """A verb to its end."""
        try:
            call = next(steps)
            while True:
                call = steps.send(answer(self._send(call)))
        except StopIteration as done:
            return done.value

    def _send(self, call: Call, *, stream: bool = False) -> httpx2.Response:
        tried = 0
        while True:
            try:
                request = self._http.build_request(**self._server.arguments(call))
                response = self._http.send(request, stream=stream)
                pause = self._server.pause(call, tried, response)
                if pause is None:
                    return response
                response.close()
            except httpx2.TransportError as error:
                pause = self._server.pause(call, tried, error)
                if pause is None:
                    raise self._server.unreachable(error) from error
            tried += 1
            time.sleep(pause)

    retain = _sent(writing.retain)
    retain_file = _sent(writing.retain_file)
    submit = _sent(writing.submit)
    update = _sent(writing.update)
    reinforce = _sent(writing.reinforce)
    review = _sent(writing.review)
    invalidate = _sent(writing.invalidate)
    supersede = _sent(writing.supersede)
    relate = _sent(writing.relate)
    restore = _sent(writing.restore)
    update_document = _sent(writing.update_document)
    forget = _sent(writing.forget)
    clear = _sent(writing.clear)
    why = _sent(reading.why)
    load = _sent(looking.load)
    memories = _sent(looking.memories)
    count = _sent(looking.count)
    links = _sent(looking.links)
    revisions = _sent(looking.revisions)
    linked = _sent(looking.linked)
    due = _sent(looking.due)
    documents = _sent(looking.documents)
    count_documents = _sent(looking.count_documents)
    document = _sent(looking.document)
    chunks = _sent(looking.chunks)
    tags = _sent(looking.tags)
    entities = _sent(looking.entities)
    entity_page = _sent(looking.entity_page)
    entity = _sent(looking.entity)
    entity_graph = _sent(looking.entity_graph)
    warm = _sent(of_banks.warm)
    banks = _sent(of_banks.banks)
    bank = _sent(of_banks.bank)
    arrivals = _sent(of_banks.arrivals)
    stats = _sent(of_banks.stats)
    create_bank = _sent(of_banks.create_bank)
    configure_bank = _sent(of_banks.configure_bank)
    delete_bank = _sent(of_banks.delete_bank)
    reembed = _sent(of_banks.reembed)
    import_bank = _sent(of_banks.import_bank)
    operation = _sent(of_operations.operation)
    operations = _sent(of_operations.operations)
    cancel = _sent(of_operations.cancel)

    def recall(
        self,
        bank: str,
        query: str,
        *,
        on_event: OnEvent | None = None,
        **options: Unpack[RecallOptions],
    ) -> RecallResult:
        """What matters now, within `max_tokens`. Options are the library's. How a hit came about
        (`hit.arms`, `hit.scores`, `hit.explanation`) is asked for when somebody looks; with
        explain=True it comes along at once."""
        check_listener(on_event)
        if on_event is not None:
            return self._told(bank, query, on_event, options)
        body = reading.recall_body(query, options)
        given = answer(self._send(Call("POST", path(bank, "memories", "recall"), body=body)))
        return known(decode.recalled(given, bank, query, options, self._asking(bank, body)))

    def _asking(self, bank: str, body: Mapping[str, Any]) -> Ask:
        """Asks once for all hits of an answer."""
        held: list[Mapping[str, Told]] = []
        lock = Lock()

        def ask() -> Mapping[str, Told]:
            with lock:
                if not held:
                    asked = {**body, "verbosity": "full", "explain": True}
                    call = Call("POST", path(bank, "memories", "recall"), body=asked)
                    held.append(decode.told(answer(self._send(call))))
            return held[0]

        return ask

    def _told(
        self, bank: str, query: str, on_event: OnEvent, options: Mapping[str, Any]
    ) -> RecallResult:
        for item in self.recall_events(bank, query, **options):
            if isinstance(item, RecallResult):
                return item
            on_event(item)
        raise ServerError("the stream ended before the answer", hint="ask again")

    def recall_events(
        self, bank: str, query: str, **options: Unpack[RecallOptions]
    ) -> Iterator[StageEvent | RecallResult]:
        """Stage events while the recall runs, and the result last."""
        body = reading.recall_body(query, options)
        call = Call("POST", path(bank, "memories", "recall", "stream"), body=body)
        stream = Stream(bank, query, options, self._asking(bank, body))
        for line in self.lines(call):
            if (item := stream.line(line)) is not None:
                yield item

    def export(self, bank: str) -> Iterator[dict[str, Any]]:
        """The whole bank as JSON objects, one a line; `import_bank` makes it again, exactly."""
        yield from map(orjson.loads, filter(None, self.lines(Call("GET", path(bank, "dump")))))

    def lines(self, call: Call) -> Iterator[bytes]:
        """An answer as it comes in."""
        lines = Lines()
        response = self._send(call, stream=True)
        try:
            if response.status_code >= 300:
                response.read()
                answer(response)
            for part in response.iter_bytes():
                yield from lines.add(part)
            yield from lines.end()
        except httpx2.TransportError as error:
            raise self._server.unreachable(error) from error
        finally:
            response.close()

    @property
    def place(self) -> Place:
        """What is copied from and to."""
        from recollect.client.copying import ServerPlace

        return ServerPlace(self)

    def copy(
        self,
        bank: str,
        to: Holder,
        *,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> Copied:
        """The bank, exactly, in another store or on another server. One that was interrupted goes
        on where it stopped; both sides are compared at the end."""
        from recollect.storage.copy import copy_bank

        return copy_bank(self.place, to.place, bank, name, progress)


def connect(
    url: str, *, api_key: str | None = None, timeout: float = 60.0, retries: int = RETRIES
) -> Client:
    """The memory behind a `recollect serve`, with the verbs and types of `recollect.open`."""
    return Client(server_at(url, api_key, timeout, retries))
