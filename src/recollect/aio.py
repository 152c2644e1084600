"""The same verbs, awaited. A face over the one core, not a copy of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from recollect.config import Settings
from recollect.errors import StoreError
from recollect.memory import Recollect, settings_of
from recollect.recall.result import RecallResult
from recollect.threads import awaited, waited_for
from recollect.types import Bank, StageEvent

if TYPE_CHECKING:
    from recollect.options import Progress, RecallOptions
    from recollect.storage.copy import Copied, Waitable

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    method: Callable[Concatenate[Recollect, P], T],
) -> Callable[Concatenate[AsyncRecollect, P], Awaitable[T]]:
    """The same verb, awaited: the work runs in a thread (SQLite and onnxruntime free the GIL)."""

    @wraps(method)
    async def call(self: AsyncRecollect, *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(method, self.sync, *args, **kwargs)

    return call


class AsyncRecollect:
    """`Recollect` with every verb awaited; made by `recollect.aopen()`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: Recollect | None = None

    @property
    def sync(self) -> Recollect:
        if self._opened is None:
            raise StoreError("not open yet", hint="use `async with recollect.aopen(…) as memory`")
        return self._opened

    async def __aenter__(self) -> Self:
        self._opened = await asyncio.to_thread(Recollect, self._settings)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._opened is not None:
            await asyncio.to_thread(self._opened.close)

    warm = _awaited(Recollect.warm)
    retain = _awaited(Recollect.retain)
    retain_file = _awaited(Recollect.retain_file)
    recall = _awaited(Recollect.recall)
    why = _awaited(Recollect.why)
    load = _awaited(Recollect.load)
    update = _awaited(Recollect.update)
    reinforce = _awaited(Recollect.reinforce)
    review = _awaited(Recollect.review)
    invalidate = _awaited(Recollect.invalidate)
    supersede = _awaited(Recollect.supersede)
    relate = _awaited(Recollect.relate)
    forget = _awaited(Recollect.forget)
    restore = _awaited(Recollect.restore)
    clear = _awaited(Recollect.clear)
    update_document = _awaited(Recollect.update_document)
    banks = _awaited(Recollect.banks)
    bank = _awaited(Recollect.bank)
    arrivals = _awaited(Recollect.arrivals)
    create_bank = _awaited(Recollect.create_bank)
    configure_bank = _awaited(Recollect.configure_bank)
    delete_bank = _awaited(Recollect.delete_bank)
    documents = _awaited(Recollect.documents)
    document = _awaited(Recollect.document)
    chunks = _awaited(Recollect.chunks)
    memories = _awaited(Recollect.memories)
    due = _awaited(Recollect.due)
    count = _awaited(Recollect.count)
    count_documents = _awaited(Recollect.count_documents)
    tags = _awaited(Recollect.tags)
    entities = _awaited(Recollect.entities)
    entity = _awaited(Recollect.entity)
    entity_page = _awaited(Recollect.entity_page)
    entity_graph = _awaited(Recollect.entity_graph)
    linked = _awaited(Recollect.linked)
    links = _awaited(Recollect.links)
    revisions = _awaited(Recollect.revisions)
    stats = _awaited(Recollect.stats)
    reembed = _awaited(Recollect.reembed)

    async def export(self, bank: str) -> AsyncIterator[dict[str, Any]]:
        """The whole bank as JSON objects, one a line; `import_bank` makes it again, exactly."""
        lines = await asyncio.to_thread(self.sync.export, bank)
        async with aclosing(awaited(lines)) as made:
            async for line in made:
                yield line

    async def import_bank(
        self,
        lines: Iterable[Mapping[str, Any]] | AsyncIterable[Mapping[str, Any]],
        bank: str | None = None,
        *,
        progress: Progress | None = None,
    ) -> Bank:
        """A bank made again, exactly, from what `export` gave; nobody sees it before it is whole."""
        given = await waited_for(lines) if isinstance(lines, AsyncIterable) else lines
        return await asyncio.to_thread(self.sync.import_bank, given, bank, progress=progress)

    async def copy(
        self,
        bank: str,
        to: Waitable,
        *,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> Copied:
        """The bank, exactly, in another store, or on a server (`recollect.aconnect`). One that was
        interrupted goes on where it stopped; both sides are compared at the end."""
        return await asyncio.to_thread(self.sync.copy, bank, to.sync, name=name, progress=progress)

    async def recall_events(
        self, bank: str, query: str, **options: Unpack[RecallOptions]
    ) -> AsyncIterator[StageEvent | RecallResult]:
        """Stage events while the recall runs, and the result last."""
        loop, told = asyncio.get_running_loop(), asyncio.Queue[StageEvent | None]()

        def tell(event: StageEvent | None) -> None:
            with suppress(RuntimeError):  # nobody listens any more, nor does the loop run
                loop.call_soon_threadsafe(told.put_nowait, event)

        def over(recall: asyncio.Future[RecallResult]) -> None:
            if not recall.cancelled():
                recall.exception()  # looked at, though nobody may listen any more
            tell(None)

        recall = asyncio.ensure_future(self.recall(bank, query, on_event=tell, **options))
        recall.add_done_callback(over)
        try:
            while (event := await told.get()) is not None:
                yield event
            yield await recall
        finally:
            recall.cancel()


def aopen_memory(db: str | Path | None = None, **settings: Any) -> AsyncRecollect:
    """The same memory, awaited; `recollect.aopen` is this."""
    return AsyncRecollect(settings_of(db, **settings))
