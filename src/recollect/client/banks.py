"""Verbs of whole banks, as calls to a server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import orjson

from recollect.client import decode
from recollect.client.call import Call, Steps, pages, path, plain
from recollect.errors import InvalidInput
from recollect.options import Progress
from recollect.storage.base import BankStats
from recollect.types import Bank

_AT_ONCE = 200  # lines of a bank that are sent before the next are made


def warm() -> Steps[None]:
    """Wait until the server has loaded its models."""
    yield Call("GET", "/health/ready")


def banks() -> Steps[list[Bank]]:
    """Every bank there is, by name, with how much it holds."""
    found: list[Any] = yield from pages(Call("GET", "/v1/default/banks"), "banks", None)
    return sorted((decode.bank(b) for b in found), key=lambda bank: bank.id)


def bank(bank: str) -> Steps[Bank]:
    """One bank: when it was made and changed, how much it holds, its model and its settings."""
    return (yield from _bank(bank))


def arrivals() -> Steps[list[str]]:
    """Banks that an import or a copy has not finished: nobody sees them before it is repeated
    and done; `delete_bank` takes one away."""
    return (yield Call("GET", "/v1/default/arrivals"))["items"]


def stats(bank: str) -> Steps[BankStats]:
    """What a bank holds, in numbers."""
    return decode.stats((yield Call("GET", path(bank, "stats"))))


def create_bank(bank: str, config: Mapping[str, Any] | None = None) -> Steps[Bank]:
    """An empty bank; one that is there already stays as it is."""
    new = {"If-None-Match": "*"}
    return decode.bank((yield Call("PUT", path(bank), body=dict(config or {}), headers=new)))


def configure_bank(bank: str, config: Mapping[str, Any], *, merge: bool = False) -> Steps[Bank]:
    """New settings of a bank, in the place of those it had; with `merge` beside them, where None
    takes one back."""
    updates = dict(config)
    if not merge:
        held = yield Call("GET", path(bank, "config"))
        updates = {**dict.fromkeys(held["overrides"]), **config}
    yield Call("PATCH", path(bank, "config"), body={"updates": updates})
    return (yield from _bank(bank))


def delete_bank(bank: str) -> Steps[None]:
    """A bank with everything in it: text, vectors, terms, links."""
    yield Call("DELETE", path(bank), again=False)


def reembed(bank: str, *, progress: Progress | None = None) -> Steps[int]:
    """Make the bank's vectors anew with the server's embedder; resumes where it stopped."""
    done = 0
    while True:  # a server works on it for some seconds at a time
        given = yield Call("POST", path(bank, "reembed"))
        before, done = done, done + given["done"]
        if progress and given["total"]:
            progress(done, before + given["total"])
        if given["finished"]:
            return done


def import_bank(
    lines: Iterable[Mapping[str, Any]],
    bank: str | None = None,
    *,
    progress: Progress | None = None,
) -> Steps[Bank]:
    """A bank made again, exactly, from what `export` gave. It is sent as it is read."""
    stream = iter(lines)
    head = next(stream, None)
    name = bank or (str(head.get("bank") or "") if isinstance(head, Mapping) else "")
    if head is None or not name:
        raise InvalidInput("this is not an exported bank", hint="make it with export(bank)")
    body = _written(head, stream, progress)
    kind = {"Content-Type": "application/x-ndjson"}
    yield Call("POST", path(name, "dump"), body=body, headers=kind, again=False)
    return (yield from _bank(name))


def _written(
    head: Mapping[str, Any], rest: Iterator[Mapping[str, Any]], progress: Progress | None
) -> Iterator[bytes]:
    part, count = [head], 0
    while part:
        yield b"".join(orjson.dumps(line, default=plain) + b"\n" for line in part)
        count += len(part)
        if progress:
            progress(count, 0)
        part = list(islice(rest, _AT_ONCE))


def _bank(name: str) -> Steps[Bank]:
    return decode.bank((yield Call("GET", path(name, "profile"))))
