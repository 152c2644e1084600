"""A server as a place that banks are copied from and to. `storage/copy.py` says how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import orjson

from recollect.client import banks as of_banks
from recollect.client.call import Call, Steps, path
from recollect.errors import NotFound, ServerError
from recollect.ids import new_id
from recollect.storage.copy import Counts, Giving, Taking
from recollect.storage.digest import Digests, digests_in
from recollect.storage.transfer import FORMAT, KINDS, Row, checked_head, line, model_in, row_of
from recollect.types import Bank

if TYPE_CHECKING:
    from recollect.storage.base import BankStats, ModelIdentity

T = TypeVar("T")


class Asking(Protocol):
    """What of a client is needed."""

    def drive(self, steps: Steps[T]) -> T: ...
    def lines(self, call: Call) -> Iterator[bytes]: ...


@dataclass(frozen=True, slots=True)
class ServerPlace:
    asking: Asking

    def bank(self, bank: str) -> Bank | None:
        try:
            return self.asking.drive(of_banks.bank(bank))
        except NotFound:
            return None

    def stats(self, bank: str) -> BankStats:
        return self.asking.drive(of_banks.stats(bank))

    def digest(self, bank: str) -> Digests:
        return _digest(self.asking, path(bank, "digest"))

    def give(self, bank: str, after: Counts) -> Giving:
        there = [f"{kind}:{after.get(kind, 0)}" for kind in KINDS]
        lines = _objects(self.asking, Call("GET", path(bank, "dump"), {"after": there}))
        first = checked_head(next(lines, None))
        return _giving(first, lines, bank)

    def resume(self, bank: str, origin: Any) -> Taking | None:
        return self._arrival(bank, {"origin": origin})

    def begin(self, bank: str, given: Giving, origin: Any) -> Taking:
        head = _head(bank, given.model, given.config)
        made = self._arrival(bank, {"origin": origin, "head": head})
        if made is None:
            raise ServerError("the server began nothing", hint="is its recollect older than this?")
        return made

    def _arrival(self, bank: str, body: Mapping[str, Any]) -> Taking | None:
        said = _asked(self.asking, Call("PUT", path(bank, "arrival"), body=body))
        return None if said["by"] is None else ServerTaking(self.asking, bank, said)


class ServerTaking:
    """The hold on a bank in the making; every answer names the next one."""

    def __init__(self, asking: Asking, bank: str, said: Mapping[str, Any]) -> None:
        self._asking, self._bank, self._said = asking, bank, said

    @property
    def done(self) -> Counts:
        return self._said["done"]

    def bring(self, part: Sequence[Row], done: Counts) -> None:
        rows = b"".join(orjson.dumps({kind: line(kind, value)}) + b"\n" for kind, value in part)
        kind = {"Content-Type": "application/x-ndjson"}
        self._said = self._ask("POST", "rows", body=rows, headers=kind, params={"by": new_id()})

    def digest(self) -> Digests:
        return _digest(self._asking, path(self._bank, "arrival", "digest"))

    def finish(self) -> None:
        self._ask("POST", "finish", again=False)

    def abandon(self) -> None:
        self._ask("DELETE", again=False)

    def _ask(
        self, method: str, *below: str, params: Mapping[str, Any] | None = None, **rest: Any
    ) -> Any:
        named = {"was": self._said["by"], **(params or {})}
        call = Call(method, path(self._bank, "arrival", *below), named, **rest)
        return _asked(self._asking, call)


def _giving(head: Mapping[str, Any], lines: Iterator[Mapping[str, Any]], bank: str) -> Giving:
    ends: list[Mapping[str, Any]] = []

    def rows() -> Iterator[Row]:
        for said in lines:
            if "end" in said:
                ends.append(said)
                return
            yield row_of(said, bank, model_in(head))

    def digests() -> Digests:
        if not ends:
            raise ServerError(
                "the server's answer ends before its last line",
                hint="copy again: it goes on where it stopped",
            )
        return digests_in(ends[0]["digest"])

    return Giving(model_in(head), head.get("config") or {}, rows(), digests)


def _head(bank: str, model: ModelIdentity, config: Mapping[str, Any]) -> dict[str, Any]:
    named = dict(zip(("embedder", "dimensions", "token_dimensions"), model, strict=True))
    return {"recollect": FORMAT, "bank": bank, **named, "config": dict(config)}


def _digest(asking: Asking, where: str) -> Digests:
    *_, last = _objects(asking, Call("GET", where))
    if "digest" not in last:
        raise ServerError("the server's answer was cut short", hint="copy again")
    return digests_in(last["digest"])


def _objects(asking: Asking, call: Call) -> Iterator[Mapping[str, Any]]:
    return map(orjson.loads, filter(None, asking.lines(call)))


def _asked(asking: Asking, call: Call) -> Any:
    def once() -> Steps[Any]:
        return (yield call)

    return asking.drive(once())
