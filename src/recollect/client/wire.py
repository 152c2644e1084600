"""Between a verb and the wire: where the server is, when to try again, what its lines say."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
import orjson

from recollect.client import decode
from recollect.client.call import Call, error_of
from recollect.client.decode import Ask, Told
from recollect.errors import InvalidInput, NotFound, RecollectError, ServerError
from recollect.recall.result import RecallResult
from recollect.types import StageEvent

RETRIES = 3
LONGEST_WAIT_S = 10.0
_NOT_NOW = frozenset({429, 503})  # a server that did nothing
_LOST = frozenset({502, 504})  # somebody in between who does not know what it did


@dataclass(frozen=True, slots=True)
class Server:
    """Where it is, how to ask it, how long to wait."""

    url: str
    api_key: str | None
    timeout_s: float
    retries: int

    def options(self) -> dict[str, Any]:
        headers = {"User-Agent": "recollect", "Accept-Encoding": "gzip"}
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        timeout = httpx2.Timeout(self.timeout_s, connect=min(5.0, self.timeout_s))
        return {"base_url": self.url.rstrip("/"), "headers": headers, "timeout": timeout}

    def arguments(self, call: Call) -> dict[str, Any]:
        content = call.content()
        headers = {"Content-Type": "application/json"} if content is not None else {}
        return {
            "method": call.method,
            "url": call.path,
            "params": call.query(),
            "content": content,
            "headers": {**headers, **call.headers},
        }

    def pause(self, call: Call, tried: int, outcome: httpx2.Response | Exception) -> float | None:
        """How long to wait before trying once more; None when that is of no use or not safe."""
        if tried >= self.retries or call.streamed:
            return None
        waits = min(0.1 * 2**tried * (1 + random.random()), LONGEST_WAIT_S)
        if isinstance(outcome, httpx2.Response):
            if outcome.status_code not in (_NOT_NOW | _LOST if call.again else _NOT_NOW):
                return None
            said = outcome.headers.get("retry-after", "")
            waits = max(waits, float(said)) if said.isdigit() else waits
            return waits if waits <= LONGEST_WAIT_S else None
        unheard = isinstance(outcome, httpx2.ConnectError | httpx2.ConnectTimeout)
        return waits if call.again or unheard else None

    def unreachable(self, error: httpx2.TransportError) -> ServerError:
        return ServerError(
            f"no answer from {self.url}: {error or type(error).__name__}",
            hint="is it running? `recollect serve` starts one; timeout= sets how long to wait",
        )


def answer(response: httpx2.Response) -> Any:
    if response.status_code >= 400:
        raise error_of(response.status_code, response.content, response.headers.get("retry-after"))
    if response.status_code >= 300:
        raise ServerError(
            f"the server sends elsewhere: {response.headers.get('location', 'it does not say where')}",
            hint="connect to the address where it is: https:// where it was http://, or without a path",
        )
    try:
        return orjson.loads(response.content) if response.content else None
    except orjson.JSONDecodeError as error:
        raise ServerError(
            "what answered is no recollect server: this is no JSON",
            hint="check the address; something in between may answer in its place",
        ) from error


def unasked() -> Mapping[str, Told]:
    raise InvalidInput(
        "this recall was not asked how its hits came about", hint="await recall(…, explain=True)"
    )


def known(result: RecallResult) -> RecallResult:
    """A server answers an agent that recalls before it retains; the library says what is wrong."""
    for part in result.degraded:
        if part.part == "bank":
            raise NotFound(
                f"there is no bank {result.bank!r}",
                hint="retaining into a new name creates it; banks() lists them",
            )
    return result


class Lines:
    """Bytes as they come, cut at line feeds alone: JSON may hold whatever else ends a line."""

    def __init__(self) -> None:
        self._rest = b""

    def add(self, part: bytes) -> list[bytes]:
        *whole, self._rest = (self._rest + part).split(b"\n")
        return whole

    def end(self) -> list[bytes]:
        return [self._rest] if self._rest else []


class Stream:
    """Server-sent events, line by line."""

    def __init__(
        self,
        bank: str,
        query: str,
        options: Mapping[str, Any],
        ask: Ask,
    ) -> None:
        self._bank, self._query, self._options, self._ask = bank, query, options, ask
        self._event, self._data = "", b""

    def line(self, text: bytes) -> StageEvent | RecallResult | None:
        name, _, value = text.partition(b": ")
        if name == b"event":
            self._event = value.decode()
        elif name == b"data":
            self._data += value
        elif not text and self._data:
            event, data = self._event, orjson.loads(self._data)
            self._event, self._data = "", b""
            return self._item(event, data)
        return None

    def _item(self, event: str, data: Any) -> StageEvent | RecallResult:
        if event == "stage":
            return decode.event(data)
        if event == "result":
            return decode.recalled(data, self._bank, self._query, self._options, self._ask)
        raise _problem(data)


def _problem(given: Mapping[str, Any]) -> RecollectError:
    return error_of(int(given.get("status", 500)), orjson.dumps(given))


def server_at(url: str, api_key: str | None, timeout: float, retries: int) -> Server:
    if not url.startswith(("http://", "https://")):
        raise InvalidInput(
            f"{url!r} is no address of a server",
            hint='for example "http://127.0.0.1:8888"; a file is opened with recollect.open(…)',
        )
    return Server(url, api_key, timeout, retries)
