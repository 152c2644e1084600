"""JSON over HTTP for remote models: timeouts, retries and errors that say what to do."""

from __future__ import annotations

import http.client
import json
import math
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

from recollect.errors import ModelError
from recollect.models.patience import left

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
_EXCERPT = 200
_PART = 1 << 16


class Refused(ModelError):
    """The service answered with a refusal."""

    def __init__(self, message: str, hint: str, code: int) -> None:
        super().__init__(message, hint=hint)
        self.code = code


class Unanswered(ModelError):
    """The service is not there, or too slow."""


class _Staying(urllib.request.HTTPRedirectHandler):
    """A redirect would ask another address without the texts, and tell it the API key."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Nowhere: the status is a refusal."""


@cache
def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_Staying)


@dataclass(frozen=True, slots=True)
class Client:
    """Where a service is and how patient we are with it."""

    url: str
    key: str | None = None
    timeout: float = 10.0
    attempts: int = 3
    pause: float = 0.2

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON answer; short outages are waited out, and so is what the service asks for, as long
        as there is patience; everything else is a ModelError."""
        # "https://host/v1?api-version=1" has its paths before the query.
        base, mark, query = self.url.partition("?")
        target = base.rstrip("/") + path + mark + query if path else self.url
        last, asked = "no attempt was made", 0.0
        for attempt in range(self.attempts):
            if attempt:
                time.sleep(max(0.0, min(max(self.pause * 2 ** (attempt - 1), asked), left())))
            if left() <= 0:
                break
            try:
                return self._send(target, body)
            except urllib.error.HTTPError as error:
                last = f"HTTP {error.code}: {_excerpt(error)}"
                if error.code not in RETRIED:
                    raise Refused(
                        f"the model service at {target} refused the request: {last}",
                        _hint(error.code, error.headers.get("Location")),
                        error.code,
                    ) from error
                asked = _retry_after(error)
                if asked > min(self.timeout, left()):  # to ask sooner would only make it worse
                    raise Unanswered(
                        f"the model service at {target} does not answer: {last}",
                        hint=f"it asks not to be asked again for {asked:g} s: wait that long, or ask "
                        "less at once",
                    ) from error
            except (OSError, http.client.HTTPException) as error:
                last = str(getattr(error, "reason", error)) or type(error).__name__
        raise Unanswered(
            f"the model service at {target} does not answer: {last}",
            hint=f"it was tried {self.attempts} times with a timeout of {self.timeout:g} s; check "
            "that it runs and that the URL is right, allow it more (model_timeout_s, "
            "extractor_timeout_s), or use a shipped model",
        )

    def _send(self, target: str, body: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        data = json.dumps(body).encode("utf-8")
        request = urllib.request.Request(target, data=data, headers=headers, method="POST")
        seconds = max(0.001, min(self.timeout, left()))
        until = time.monotonic() + seconds
        with _opener().open(request, timeout=seconds) as answer:
            content = _whole(answer, until)
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ModelError(
                f"the model service at {target} answered with something that is not JSON",
                hint="is this the URL of the API, not of a web page in front of it?",
            ) from error
        _raise_complaint(found, target)
        return found


def _raise_complaint(answer: Any, target: str) -> None:
    """Gateways pass on what a model's server complains of as an answer like any other, status 200."""
    complaint: Any = (
        cast("dict[str, Any]", answer).get("error") if isinstance(answer, dict) else None
    )
    if not complaint:
        return
    code, said = 200, complaint
    if isinstance(complaint, dict):
        told = cast("dict[str, Any]", complaint)
        said = told.get("message") or told
        code = told["code"] if type(told.get("code")) is int else code
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    raise Refused(
        f"the model service at {target} refused the request: {text.strip()[:_EXCERPT]}",
        _hint(code),
        code,
    )


def _whole(answer: http.client.HTTPResponse, until: float) -> bytes:
    """The timeout of a socket applies to each read; here it applies to the whole answer."""
    stated, content = answer.length, bytearray()
    while part := answer.read1(_PART):
        content += part
        if time.monotonic() > until:
            raise TimeoutError("timed out in the middle of its answer")
    if stated is not None and len(content) < stated:  # `read1` does not mind
        raise http.client.IncompleteRead(bytes(content), stated - len(content))
    return bytes(content)


def check_url(url: str, what: str, hint: str) -> None:
    """Refuses at once what could not be asked, in words that hold no password."""
    authority = url.partition("://")[2].partition("/")[0]
    if "@" in authority:  # it would be printed wherever the service is spoken of
        raise ModelError(
            f"the URL of {what} at {authority.rpartition('@')[2]} holds a name or password",
            hint="leave it out: the API key is read from RECOLLECT_MODEL_API_KEY",
        )
    try:
        fine = _can_be_asked(urlsplit(url))
    except ValueError:  # a host or a port that is none
        fine = False
    if not fine:
        raise ModelError(f"{url!r} is not the URL of {what}", hint=hint)


def _can_be_asked(parts: SplitResult) -> bool:
    host, asked = parts.hostname or "", parts.path + parts.query
    known = parts.scheme in ("http", "https") and host.encode("idna") != b"" and parts.port != 0
    return known and asked.isascii() and asked.isprintable() and " " not in host + asked


def key_of(*names: str) -> str | None:
    """The API key in the first of these variables that holds one. What a header cannot carry is not sent,
    nor repeated in an error."""
    found = ((name, os.environ.get(name, "").strip()) for name in names)
    name, key = next(((name, key) for name, key in found if key), ("", None))
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ModelError(
            f"the API key in {name} holds a character that no key has",
            hint="it may be a line break, or a dash or quote that a word processor put there",
        )
    return key


def _retry_after(error: urllib.error.HTTPError) -> float:
    """Seconds that the service wants to be left alone, said as such or as a date; 0 unsaid."""
    said = (error.headers.get("Retry-After") or "").strip()
    try:
        seconds = float(said)
    except ValueError:
        try:
            when = parsedate_to_datetime(said)
        except ValueError:
            return 0.0
        seconds = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


def _excerpt(error: urllib.error.HTTPError) -> str:
    """What it said with a failure, which may break off as any other answer."""
    try:
        said = error.read(_EXCERPT)
    except (OSError, http.client.HTTPException):
        said = b""
    return said.decode("utf-8", "replace").strip() or str(error.reason)


def _hint(code: int, location: str | None = None) -> str:
    if code in (401, 403):
        return "check the API key (RECOLLECT_MODEL_API_KEY, RECOLLECT_EXTRACTOR_API_KEY)"
    if code == 404:
        return "check the path of the URL and the name of the model"
    if 300 <= code < 400:
        return f"it sends to {location or 'elsewhere'}: give the URL that the service has there"
    return "check that the URL and the kind of service belong together"
