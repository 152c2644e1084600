"""The client that is awaited: it drives the same verbs."""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
)
from contextlib import aclosing
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

import httpx2
import orjson

from recollect.client import banks as of_banks
from recollect.client import decode, looking, reading, writing
from recollect.client import operations as of_operations
from recollect.client.call import Call, Steps, path
from recollect.client.waiting import Client
from recollect.client.wire import RETRIES, Lines, Server, Stream, answer, known, server_at, unasked
from recollect.errors import ServerError
from recollect.recall.request import check_listener
from recollect.recall.result import RecallResult
from recollect.telemetry import OnEvent
from recollect.threads import awaited, waited_for
from recollect.types import Bank, StageEvent

if TYPE_CHECKING:
    from recollect.options import Progress, RecallOptions
    from recollect.storage.copy import Copied, Waitable

P = ParamSpec("P")
T = TypeVar("T")


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

    @cached_property
    def sync(self) -> Client:
        """The same server, waited for."""
        return Client(self._server)

    async def close(self) -> None:
        await self._http.aclose()
        if "sync" in self.__dict__:
            self.sync.close()

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

    async def _send(self, call: Call, *, stream: bool = False) -> httpx2.Response:
        tried = 0
        while True:
            try:
                arguments = self._server.arguments(call)
                if call.streamed:
                    arguments["content"] = awaited(arguments["content"], at_once=1)
                request = self._http.build_request(**arguments)
                response = await self._http.send(request, stream=stream)
                pause = self._server.pause(call, tried, response)
                if pause is None:
                    return response
                await response.aclose()
            except httpx2.TransportError as error:
                pause = self._server.pause(call, tried, error)
                if pause is None:
                    raise self._server.unreachable(error) from error
            tried += 1
            await asyncio.sleep(pause)

    retain = _awaited(writing.retain)
    retain_file = _awaited(writing.retain_file)
    submit = _awaited(writing.submit)
    update = _awaited(writing.update)
    reinforce = _awaited(writing.reinforce)
    review = _awaited(writing.review)
    invalidate = _awaited(writing.invalidate)
    supersede = _awaited(writing.supersede)
    relate = _awaited(writing.relate)
    restore = _awaited(writing.restore)
    update_document = _awaited(writing.update_document)
    forget = _awaited(writing.forget)
    clear = _awaited(writing.clear)
    why = _awaited(reading.why)
    load = _awaited(looking.load)
    memories = _awaited(looking.memories)
    count = _awaited(looking.count)
    links = _awaited(looking.links)
    revisions = _awaited(looking.revisions)
    linked = _awaited(looking.linked)
    due = _awaited(looking.due)
    documents = _awaited(looking.documents)
    count_documents = _awaited(looking.count_documents)
    document = _awaited(looking.document)
    chunks = _awaited(looking.chunks)
    tags = _awaited(looking.tags)
    entities = _awaited(looking.entities)
    entity_page = _awaited(looking.entity_page)
    entity = _awaited(looking.entity)
    entity_graph = _awaited(looking.entity_graph)
    warm = _awaited(of_banks.warm)
    banks = _awaited(of_banks.banks)
    bank = _awaited(of_banks.bank)
    arrivals = _awaited(of_banks.arrivals)
    stats = _awaited(of_banks.stats)
    create_bank = _awaited(of_banks.create_bank)
    configure_bank = _awaited(of_banks.configure_bank)
    delete_bank = _awaited(of_banks.delete_bank)
    reembed = _awaited(of_banks.reembed)
    operation = _awaited(of_operations.operation)
    operations = _awaited(of_operations.operations)
    cancel = _awaited(of_operations.cancel)

    async def recall(
        self,
        bank: str,
        query: str,
        *,
        on_event: OnEvent | None = None,
        **options: Unpack[RecallOptions],
    ) -> RecallResult:
        """What matters now, within `max_tokens`. Options are the library's; how a hit came about
        comes along with explain=True."""
        check_listener(on_event)
        if on_event is not None:
            async for item in self.recall_events(bank, query, **options):
                if isinstance(item, RecallResult):
                    return item
                on_event(item)
            raise ServerError("the stream ended before the answer", hint="ask again")
        body = reading.recall_body(query, options)
        given = answer(await self._send(Call("POST", path(bank, "memories", "recall"), body=body)))
        return known(decode.recalled(given, bank, query, options, unasked))

    async def recall_events(
        self, bank: str, query: str, **options: Unpack[RecallOptions]
    ) -> AsyncIterator[StageEvent | RecallResult]:
        """Stage events while the recall runs, and the result last."""
        body = reading.recall_body(query, options)
        call = Call("POST", path(bank, "memories", "recall", "stream"), body=body)
        stream = Stream(bank, query, options, unasked)
        async with aclosing(self.lines(call)) as lines:
            async for line in lines:
                if (item := stream.line(line)) is not None:
                    yield item

    async def export(self, bank: str) -> AsyncIterator[dict[str, Any]]:
        """The whole bank as JSON objects, one a line; `import_bank` makes it again, exactly."""
        async with aclosing(self.lines(Call("GET", path(bank, "dump")))) as lines:
            async for line in lines:
                if line:
                    yield orjson.loads(line)

    async def lines(self, call: Call) -> AsyncGenerator[bytes]:
        """An answer as it comes in."""
        lines = Lines()
        response = await self._send(call, stream=True)
        try:
            if response.status_code >= 300:
                await response.aread()
                answer(response)
            async for part in response.aiter_bytes():
                for line in lines.add(part):
                    yield line
            for line in lines.end():
                yield line
        except httpx2.TransportError as error:
            raise self._server.unreachable(error) from error
        finally:
            await response.aclose()

    async def import_bank(
        self,
        lines: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]],
        bank: str | None = None,
        *,
        progress: Progress | None = None,
    ) -> Bank:
        """A bank made again, exactly, from what `export` gave. It is sent as it is read."""
        given = await waited_for(lines) if isinstance(lines, AsyncIterable) else lines
        return await self.drive(of_banks.import_bank(given, bank, progress=progress))

    async def copy(
        self,
        bank: str,
        to: Waitable,
        *,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> Copied:
        """The bank, exactly, in another store or on another server. One that was interrupted goes
        on where it stopped; both sides are compared at the end."""
        return await asyncio.to_thread(self.sync.copy, bank, to.sync, name=name, progress=progress)


def aconnect(
    url: str, *, api_key: str | None = None, timeout: float = 60.0, retries: int = RETRIES
) -> AsyncClient:
    """The memory behind a `recollect serve`, with the verbs and types of `recollect.aopen`."""
    return AsyncClient(server_at(url, api_key, timeout, retries))
