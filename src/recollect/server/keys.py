"""API keys: made once, kept as a digest, asked for on every route.

A key reads `rk_<id>_<secret>`. The id is public and finds the row; the secret is 256 random
bits, so a plain SHA-256 of it cannot be guessed back, and it is compared in constant time.
"""

from __future__ import annotations

import hmac
import logging
import math
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from ipaddress import ip_address

from recollect.errors import ConfigError, InvalidInput, NotAllowed, NotAuthenticated, StoreError
from recollect.server.limits import Buckets
from recollect.storage.base import KeyRing
from recollect.types import ApiKey, Scope

log = logging.getLogger("recollect.server")
PREFIX = "rk"
REMEMBERED_S = 2.0  # how long a key is trusted without asking the store again
_NOBODY = sha256(b"").digest()
_DOES = {Scope.READ: "read", Scope.WRITE: "write", Scope.ADMIN: "administer"}


# --- making them -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limits:
    """What one key may take; None is what the server lets everybody take."""

    rate: float | None = None  # requests a second; 0 = no limit
    max_body: int | None = None  # bytes in one request

    def __post_init__(self) -> None:
        if self.rate is not None and not 0 <= self.rate < math.inf:
            raise InvalidInput(
                f"a rate of {self.rate}", hint="give requests a second; 0 is no limit"
            )
        if self.max_body is not None and not 1 <= self.max_body < 2**63:
            raise InvalidInput(f"a body of {self.max_body} bytes", hint="give a number from 1 up")


def create_key(
    ring: KeyRing,
    name: str,
    scopes: Sequence[Scope],
    banks: Sequence[str] | None = None,
    expires_at: datetime | None = None,
    limits: Limits | None = None,
) -> tuple[ApiKey, str]:
    """The key, and the text to hand to its owner, which nobody can ever read again."""
    if not name.strip() or len(name) > 200:
        raise InvalidInput(f"{name!r} is no name for a key", hint="say whose it is: 'laptop', 'ci'")
    if not scopes:
        raise InvalidInput("a key that may do nothing", hint="give read, write or admin")
    now = datetime.now(UTC)
    if expires_at is not None and expires_at <= now:
        raise InvalidInput(
            f"the key would have expired on {expires_at.isoformat()}", hint="name a later moment"
        )
    taken = limits or Limits()
    key = ApiKey(
        id=secrets.token_hex(5),
        name=name,
        scopes=tuple(s for s in Scope if s in scopes),
        banks=None if banks is None else tuple(dict.fromkeys(banks)),
        created_at=now,
        expires_at=expires_at,
        rate=taken.rate,
        max_body=taken.max_body,
    )
    secret = secrets.token_urlsafe(32)
    ring.add(key, _digest(secret))
    return key, f"{PREFIX}_{key.id}_{secret}"


def _digest(secret: str) -> bytes:
    return sha256(secret.encode()).digest()


# --- asking for them -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. Without a key where none are required."""

    key: ApiKey | None = None

    @property
    def id(self) -> str:
        return "-" if self.key is None else self.key.id

    def sees(self, bank: str) -> bool:
        """Whether a bank may be named to this caller at all."""
        return self.key is None or self.key.banks is None or bank in self.key.banks

    def may(self, scope: Scope) -> bool:
        return self.key is None or scope in self.key.scopes or Scope.ADMIN in self.key.scopes


ANYBODY = Caller()


class Gate:
    """Who may pass: every route has it `recognise` who asks and `allow` what is asked for.

    Keys are asked for as soon as the store holds one, unless `no_auth` says that nobody is to
    be asked. What the store answered is trusted for two seconds, so a revoked key is refused
    soon, and a request costs no query. That it did not answer is remembered as long: `look` waits
    for it on a thread, so that nobody who asks for a key ever waits on the loop.
    """

    def __init__(self, ring: KeyRing, *, no_auth: bool = False, buckets: Buckets | None = None):
        self._ring = ring
        self._no_auth = no_auth
        self._buckets = buckets
        self._lock = threading.Lock()
        self._known: dict[bytes, tuple[float, Caller | None]] = {}  # None = no key of ours
        self._open_until = 0.0  # no key was there when we last looked
        self._closed = False
        self._looking = threading.Lock()
        self._trouble: tuple[float, StoreError] | None = None  # until when, and what

    def remembers(self, authorization: str | None) -> bool:
        """Whether this caller can be answered for without asking the store."""
        now = time.monotonic()
        if self._no_auth or self._in_trouble(now) is not None:
            return True
        if not self._closed:
            return now < self._open_until
        given = _given(authorization)
        held = None if given is None else self._known.get(sha256(given.encode()).digest())
        return given is None or (held is not None and now < held[0])

    def look(self, authorization: str | None) -> None:
        """Ask the store whatever `recognise` is going to want to know. One asks, the others wait for
        what it hears."""
        with self._looking:
            if self.remembers(authorization):
                return
            try:
                if not self.open():
                    self.caller(authorization)
            except NotAuthenticated:  # the route says so
                pass
            except StoreError as error:
                self._trouble = time.monotonic() + REMEMBERED_S, error

    def _in_trouble(self, now: float) -> StoreError | None:
        trouble = self._trouble
        return None if trouble is None or now >= trouble[0] else trouble[1]

    def open(self) -> bool:
        """Whether anybody may pass. Never again once a key was seen."""
        if self._no_auth:
            return True
        now = time.monotonic()
        if (trouble := self._in_trouble(now)) is not None:
            raise trouble
        if not self._closed and now >= self._open_until:
            self._closed = bool(self._ring.all())
            self._open_until = now + REMEMBERED_S
        return not self._closed

    def unguarded(self) -> bool:
        """Whether anybody may pass although nobody allowed it: the store has no keys, or does
        not answer."""
        try:
            return not self._no_auth and self.open()
        except StoreError:
            return True

    def recognise(self, authorization: str | None) -> Caller:
        """Who asks, whatever it is for; NotAuthenticated when that is nobody."""
        return ANYBODY if self.open() else self.caller(authorization)

    def allow(self, caller: Caller, bank: str | None, scope: Scope) -> None:
        """NotAllowed or TooManyRequests where this caller may not. With no bank named, a read is of
        what the caller sees (`Caller.sees`); anything else needs a key for all banks."""
        if caller.key is None:
            return
        if self._buckets is not None:
            self._buckets.take(caller.key.id, caller.key.rate)
        if not caller.may(scope):
            raise NotAllowed(
                f"the key {caller.key.id} may not {_DOES[scope]}",
                hint=f"make one that may: recollect keys create NAME --scope {scope.value}",
            )
        whole = caller.key.banks is None
        if not (whole or (scope is Scope.READ if bank is None else caller.sees(bank))):
            raise NotAllowed(
                f"the key {caller.key.id} is not for "
                + ("all banks" if bank is None else f"bank {bank!r}"),
                hint="its banks were named when it was created; `recollect keys list` shows them",
            )

    def body_limit(self, authorization: str | None, usual: int) -> int:
        """How many bytes this caller may send at once."""
        try:
            key = None if self.open() else self.caller(authorization).key
        except (NotAuthenticated, StoreError):  # the route says so
            return usual
        return usual if key is None or key.max_body is None else key.max_body

    def caller(self, authorization: str | None) -> Caller:
        """Whose key this is."""
        given = _bearer(authorization)
        seen, now = sha256(given.encode()).digest(), time.monotonic()
        with self._lock:
            held = self._known.get(seen)
        if held is not None and now < held[0]:
            return _valid(held[1])
        caller = self._looked_up(given)
        with self._lock:
            if len(self._known) > 1000:
                self._known.clear()
            self._known[seen] = (now + REMEMBERED_S, caller)
        return _valid(caller)

    def _looked_up(self, given: str) -> Caller | None:
        prefix, _, rest = given.partition("_")
        key_id, _, secret = rest.partition("_")
        found = self._ring.find(key_id) if prefix == PREFIX else None
        # Compared also when there is no such id: the time taken tells nothing.
        right = hmac.compare_digest(_digest(secret), _NOBODY if found is None else found[1])
        return Caller(found[0]) if found is not None and right else None


def _given(authorization: str | None) -> str | None:
    kind, _, given = (authorization or "").strip().partition(" ")
    return (given.strip() or None) if kind.lower() == "bearer" else None


def _bearer(authorization: str | None) -> str:
    given = _given(authorization)
    if given is None:
        raise NotAuthenticated(
            "this server asks for an API key",
            hint="send it as `Authorization: Bearer rk_…`; `recollect keys create NAME` makes one",
        )
    return given


def _valid(caller: Caller | None) -> Caller:
    if caller is None:
        raise _unknown()
    key, now = caller.key, datetime.now(UTC)
    assert key is not None
    if key.revoked_at is not None or (key.expires_at is not None and key.expires_at <= now):
        raise NotAuthenticated(
            f"the API key {key.id} {'was revoked' if key.revoked_at else 'has expired'}",
            hint="ask for a new one: recollect keys create NAME",
        )
    return caller


def _unknown() -> NotAuthenticated:
    return NotAuthenticated(
        "there is no such API key",
        hint="check that it is whole, and made for this store: recollect keys list",
    )


# --- where to serve --------------------------------------------------------------------------


def check_exposure(host: str, ring: KeyRing, *, no_auth: bool) -> None:
    """Refuse to serve everybody on an address that others can reach."""
    if is_loopback(host) or no_auth or any(k.revoked_at is None for k in ring.all()):
        return
    raise ConfigError(
        f"{host} can be reached from other machines, and this store has no API keys",
        hint="make one first: recollect keys create NAME\n"
        "or serve this machine only: --host 127.0.0.1\n"
        "or, where something else guards it: --no-auth",
    )


@lru_cache
def is_loopback(host: str) -> bool:
    if host == "localhost" or host.startswith(("/", "unix:")):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
