"""The clients: they drive the verbs over httpx2, one waiting, one awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx2
import orjson

from recollect.client import decode, verbs
from recollect.client.call import Call, Steps, path
from recollect.client.decode import Ask, Told
from recollect.client.wire import RETRIES, Server, Stream, answer, known, server_at, unasked
from recollect.errors import ServerError
from recollect.recall.result import RecallResult
from recollect.telemetry import OnEvent
from recollect.types import StageEvent

P = ParamSpec("P")
T = TypeVar("T")


# --- waiting ---------------------------------------------------------------------------------


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

    def _send(self, call: Call) -> httpx2.Response:
        tried = 0
        while True:
            try:
                response = self._http.request(**self._server.arguments(call))
                pause = self._server.pause(call, tried, response)
                if pause is None:
                    return response
            except httpx2.TransportError as error:
                pause = self._server.pause(call, tried, error)
                if pause is None:
                    raise self._server.unreachable(error) from error
            tried += 1
            time.sleep(pause)

    retain = _sent(verbs.retain)
    retain_file = _sent(verbs.retain_file)
    submit = _sent(verbs.submit)
    update = _sent(verbs.update)
    reinforce = _sent(verbs.reinforce)
    review = _sent(verbs.review)
    invalidate = _sent(verbs.invalidate)
    supersede = _sent(verbs.supersede)
    restore = _sent(verbs.restore)
    forget = _sent(verbs.forget)
    clear = _sent(verbs.clear)
    why = _sent(verbs.why)
    load = _sent(verbs.load)
    links = _sent(verbs.links)
    revisions = _sent(verbs.revisions)
    banks = _sent(verbs.banks)
    bank = _sent(verbs.bank)
    create_bank = _sent(verbs.create_bank)
    configure_bank = _sent(verbs.configure_bank)
    delete_bank = _sent(verbs.delete_bank)
    memories = _sent(verbs.memories)
    documents = _sent(verbs.documents)
    document = _sent(verbs.document)
    update_document = _sent(verbs.update_document)
    chunks = _sent(verbs.chunks)
    count = _sent(verbs.count)
    count_documents = _sent(verbs.count_documents)
    tags = _sent(verbs.tags)
    entities = _sent(verbs.entities)
    stats = _sent(verbs.stats)
    operation = _sent(verbs.operation)
    operations = _sent(verbs.operations)
    cancel = _sent(verbs.cancel)
    import_bank = _sent(verbs.import_bank)

    def recall(
        self, bank: str, query: str, *, on_event: OnEvent | None = None, **options: Any
    ) -> RecallResult:
        """What matters now, within `max_tokens`. Options are the library's. How a hit came about
        (`hit.arms`, `hit.scores`, `hit.explanation`) is asked for when somebody looks; with
        explain=True it comes along at once."""
        if on_event is not None:
            return self._told(bank, query, on_event, options)
        body = verbs.recall_body(query, options)
        given = answer(self._send(Call("POST", path(bank, "memories", "recall"), body=body)))
        return known(decode.recalled(given, bank, query, options, self._asking(bank, body)))

    def _asking(self, bank: str, body: Mapping[str, Any]) -> Ask:
        """Asks once for all hits of an answer."""
        held: list[Mapping[str, Told]] = []
        lock = Lock()

        def ask() -> Mapping[str, Told]:
            with lock:
                if not held:
                    call = Call(
                        "POST", path(bank, "memories", "recall"), body={**body, "explain": True}
                    )
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
        self, bank: str, query: str, **options: Any
    ) -> Iterator[StageEvent | RecallResult]:
        """Stage events while the recall runs, and the result last."""
        body = verbs.recall_body(query, options)
        call = Call("POST", path(bank, "memories", "recall", "stream"), body=body)
        stream = Stream(bank, query, options, self._asking(bank, body))
        try:
            with self._http.stream(**self._server.arguments(call)) as response:
                if response.status_code >= 400:
                    response.read()
                    answer(response)
                for line in response.iter_lines():
                    item = stream.line(line)
                    if item is not None:
                        yield item
        except httpx2.TransportError as error:
            raise self._server.unreachable(error) from error

    def export(self, bank: str) -> Iterator[dict[str, Any]]:
        """The whole bank as JSON objects, one a line; `import_bank` makes it again, exactly."""
        call = Call("GET", path(bank, "dump"))
        try:
            with self._http.stream(**self._server.arguments(call)) as response:
                if response.status_code >= 400:
                    response.read()
                    answer(response)
                yield from (orjson.loads(line) for line in response.iter_lines() if line)
        except httpx2.TransportError as error:
            raise self._server.unreachable(error) from error


# --- awaited ---------------------------------------------------------------------------------


def _awaited(verb: Callable[P, Steps[T]]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    @wraps(verb)
    async def call(self: AsyncClient, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.drive(verb(*args, **kwargs))

    return call


class AsyncClient:
    """`AsyncRecollect`'s verbs, asked of a server. Made by `recollect.aconnect()`."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._http = httpx2.AsyncClient(**server.options())

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def drive(self, steps: Steps[T]) -> T:
        """A verb to its end."""
        try:
            call = next(steps)
            while True:
                call = steps.send(answer(await self._send(call)))
        except StopIteration as done:
            return done.value

    async def _send(self, call: Call) -> httpx2.Response:
        tried = 0
        while True:
            try:
                response = await self._http.request(**self._server.arguments(call))
                pause = self._server.pause(call, tried, response)
                if pause is None:
                    return response
            except httpx2.TransportError as error:
                pause = self._server.pause(call, tried, error)
                if pause is None:
                    raise self._server.unreachable(error) from error
            tried += 1
            await asyncio.sleep(pause)

    retain = _awaited(verbs.retain)
    retain_file = _awaited(verbs.retain_file)
    submit = _awaited(verbs.submit)
    update = _awaited(verbs.update)
    reinforce = _awaited(verbs.reinforce)
    review = _awaited(verbs.review)
    invalidate = _awaited(verbs.invalidate)
    supersede = _awaited(verbs.supersede)
    restore = _awaited(verbs.restore)
    forget = _awaited(verbs.forget)
    clear = _awaited(verbs.clear)
    why = _awaited(verbs.why)
    load = _awaited(verbs.load)
    links = _awaited(verbs.links)
    revisions = _awaited(verbs.revisions)
    banks = _awaited(verbs.banks)
    bank = _awaited(verbs.bank)
    create_bank = _awaited(verbs.create_bank)
    configure_bank = _awaited(verbs.configure_bank)
    delete_bank = _awaited(verbs.delete_bank)
    memories = _awaited(verbs.memories)
    documents = _awaited(verbs.documents)
    document = _awaited(verbs.document)
    update_document = _awaited(verbs.update_document)
    chunks = _awaited(verbs.chunks)
    count = _awaited(verbs.count)
    count_documents = _awaited(verbs.count_documents)
    tags = _awaited(verbs.tags)
    entities = _awaited(verbs.entities)
    stats = _awaited(verbs.stats)
    operation = _awaited(verbs.operation)
    operations = _awaited(verbs.operations)
    cancel = _awaited(verbs.cancel)
    import_bank = _awaited(verbs.import_bank)

    async def recall(
        self, bank: str, query: str, *, on_event: OnEvent | None = None, **options: Any
    ) -> RecallResult:
        """What matters now, within `max_tokens`. Options are the library's; how a hit came about
        comes along with explain=True."""
        if on_event is not None:
            async for item in self.recall_events(bank, query, **options):
                if isinstance(item, RecallResult):
                    return item
                on_event(item)
            raise ServerError("the stream ended before the answer", hint="ask again")
        body = verbs.recall_body(query, options)
        given = answer(await self._send(Call("POST", path(bank, "memories", "recall"), body=body)))
        return known(decode.recalled(given, bank, query, options, unasked))

    async def recall_events(
        self, bank: str, query: str, **options: Any
    ) -> AsyncIterator[StageEvent | RecallResult]:
        """Stage events while the recall runs, and the result last."""
        body = verbs.recall_body(query, options)
        call = Call("POST", path(bank, "memories", "recall", "stream"), body=body)
        stream = Stream(bank, query, options, unasked)
        try:
            async with self._http.stream(**self._server.arguments(call)) as response:
                if response.status_code >= 400:
                    await response.aread()
                    answer(response)
                async for line in response.aiter_lines():
                    item = stream.line(line)
                    if item is not None:
                        yield item
        except httpx2.TransportError as error:
            raise self._server.unreachable(error) from error

    async def export(self, bank: str) -> list[dict[str, Any]]:
        response = await self._send(Call("GET", path(bank, "dump")))
        if response.status_code >= 400:
            answer(response)
        return [orjson.loads(line) for line in response.content.splitlines() if line]


# --- made by ------------------------------------------------------------------------------------


def connect(
    url: str, *, api_key: str | None = None, timeout: float = 60.0, retries: int = RETRIES
) -> Client:
    """The memory behind a `recollect serve`, with the verbs and types of `recollect.open`."""
    return Client(server_at(url, api_key, timeout, retries))


def aconnect(
    url: str, *, api_key: str | None = None, timeout: float = 60.0, retries: int = RETRIES
) -> AsyncClient:
    """The same, awaited."""
    return AsyncClient(server_at(url, api_key, timeout, retries))
