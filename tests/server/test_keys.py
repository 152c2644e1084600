"""Who may pass: API keys, their scopes and banks, their end."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import (
    ConfigError,
    InvalidInput,
    NotAllowed,
    NotAuthenticated,
    TooManyRequests,
)
from recollect.memory import Recollect
from recollect.server import keys as module
from recollect.server.keys import Caller, Gate, Limits, check_exposure, create_key
from recollect.server.limits import Buckets
from recollect.storage.sqlite import connection as opening
from recollect.testing import open_fake
from recollect.types import Scope


@pytest.fixture
def ring(memory: Recollect):
    return memory.store.keys


def bearer(secret: str) -> str:
    return f"Bearer {secret}"


def admit(gate: Gate, authorization: str | None, bank: str | None, scope: Scope) -> Caller:
    """As a route does."""
    caller = gate.recognise(authorization)
    gate.allow(caller, bank, scope)
    return caller


# --- passing -----------------------------------------------------------------------------------


def test_a_key_lets_its_owner_pass(ring) -> None:
    key, secret = create_key(ring, "laptop", [Scope.READ])
    assert admit(Gate(ring), bearer(secret), "alice", Scope.READ).id == key.id


def test_the_secret_is_nowhere_in_the_file(memory: Recollect, db) -> None:
    key, secret = create_key(memory.store.keys, "laptop", [Scope.READ])
    memory.close()
    kept = b"".join(p.read_bytes() for p in db.parent.glob("memory.db*"))
    assert key.id.encode() in kept
    assert secret.split("_", 2)[2].encode() not in kept


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", "Basic abc", "rk_1_2", "Bearer rk_", "Bearer ünï"],
)
def test_without_a_key_nobody_passes(ring, authorization) -> None:
    create_key(ring, "laptop", [Scope.READ])
    with pytest.raises(NotAuthenticated) as raised:
        admit(Gate(ring), authorization, "alice", Scope.READ)
    assert raised.value.hint


def test_a_key_with_one_character_changed_is_no_key(ring) -> None:
    _, secret = create_key(ring, "laptop", [Scope.READ])
    gate = Gate(ring)
    for at in (len("rk_"), len(secret) - 2):
        wrong = secret[:at] + ("a" if secret[at] != "a" else "b") + secret[at + 1 :]
        with pytest.raises(NotAuthenticated):
            admit(gate, bearer(wrong), "alice", Scope.READ)


def test_where_there_are_no_keys_anybody_passes(ring) -> None:
    assert admit(Gate(ring), None, "alice", Scope.ADMIN).key is None


def test_the_first_key_closes_an_open_gate(ring, monkeypatch) -> None:
    gate = Gate(ring)
    admit(gate, None, "alice", Scope.READ)
    create_key(ring, "laptop", [Scope.READ])
    monkeypatch.setattr(module.time, "monotonic", lambda: 10**9)
    with pytest.raises(NotAuthenticated):
        admit(gate, None, "alice", Scope.READ)


def test_a_gate_does_not_open_again_when_its_last_key_is_revoked(ring) -> None:
    key, _ = create_key(ring, "laptop", [Scope.READ])
    ring.revoke(key.id, 0)
    with pytest.raises(NotAuthenticated):
        admit(Gate(ring), None, "alice", Scope.READ)


def test_only_a_store_without_keys_is_unguarded(ring) -> None:
    assert Gate(ring).unguarded()
    assert not Gate(ring, no_auth=True).unguarded()
    create_key(ring, "laptop", [Scope.READ])
    assert not Gate(ring).unguarded()


def test_no_auth_asks_nobody(ring) -> None:
    create_key(ring, "laptop", [Scope.READ])
    assert admit(Gate(ring, no_auth=True), None, "alice", Scope.ADMIN).key is None


# --- scopes and banks --------------------------------------------------------------------------


@given(
    scopes=st.sets(st.sampled_from(Scope), min_size=1),
    banks=st.none() | st.sets(st.sampled_from(["alice", "bob", "carol"])),
    bank=st.sampled_from(["alice", "bob", "carol"]),
    wanted=st.sampled_from(Scope),
)
def test_a_key_passes_exactly_for_its_scopes_and_banks(scopes, banks, bank, wanted) -> None:
    with open_fake(":memory:") as memory:
        ring = memory.store.keys
        _, secret = create_key(ring, "any", list(scopes), None if banks is None else list(banks))
        gate = Gate(ring)
        right = (wanted in scopes or Scope.ADMIN in scopes) and (banks is None or bank in banks)
        try:
            admit(gate, bearer(secret), bank, wanted)
            passed = True
        except NotAllowed:
            passed = False
        assert passed == right


def test_what_is_of_no_bank_is_read_as_far_as_the_key_sees(ring) -> None:
    _, secret = create_key(ring, "alice's", [Scope.ADMIN], ["alice"])
    caller = admit(Gate(ring), bearer(secret), None, Scope.READ)
    assert caller.sees("alice")
    assert not caller.sees("bob")
    with pytest.raises(NotAllowed):
        admit(Gate(ring), bearer(secret), None, Scope.ADMIN)


def test_a_wrong_key_is_looked_up_once_before_the_route_asks(ring, monkeypatch) -> None:
    """On a thread. The route asks on the loop, where nobody may wait for a store."""
    create_key(ring, "laptop", [Scope.READ])
    gate, asked, find = Gate(ring), [], ring.find
    monkeypatch.setattr(gate._ring, "find", lambda key_id: asked.append(key_id) or find(key_id))
    gate.look(bearer("rk_no_body"))
    assert gate.remembers(bearer("rk_no_body"))
    gate.body_limit(bearer("rk_no_body"), 5)
    with pytest.raises(NotAuthenticated, match="no such API key"):
        admit(gate, bearer("rk_no_body"), "alice", Scope.READ)
    assert asked == ["no"]


# --- the end of a key --------------------------------------------------------------------------


def test_a_revoked_key_is_refused_soon(ring, monkeypatch) -> None:
    key, secret = create_key(ring, "laptop", [Scope.READ])
    gate, clock = Gate(ring), [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    admit(gate, bearer(secret), "alice", Scope.READ)
    ring.revoke(key.id, 0)
    clock[0] += module.REMEMBERED_S
    with pytest.raises(NotAuthenticated, match="revoked"):
        admit(gate, bearer(secret), "alice", Scope.READ)


def test_an_expired_key_is_refused_at_that_moment(ring, monkeypatch) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    _, secret = create_key(ring, "laptop", [Scope.READ], expires_at=soon)
    gate = Gate(ring)
    admit(gate, bearer(secret), "alice", Scope.READ)

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return soon

    monkeypatch.setattr(module, "datetime", Later)
    with pytest.raises(NotAuthenticated, match="expired"):
        admit(gate, bearer(secret), "alice", Scope.READ)


def test_a_key_that_would_do_nothing_is_not_made(ring) -> None:
    for name, scopes, expires in (
        ("laptop", [], None),
        (" ", [Scope.READ], None),
        ("laptop", [Scope.READ], datetime(2020, 1, 1, tzinfo=UTC)),
    ):
        with pytest.raises(InvalidInput):
            create_key(ring, name, scopes, expires_at=expires)
    assert ring.all() == []


# --- limits and exposure -----------------------------------------------------------------------


def test_each_key_has_a_rate_of_its_own(ring) -> None:
    _, one = create_key(ring, "one", [Scope.READ])
    _, two = create_key(ring, "two", [Scope.READ])
    gate = Gate(ring, buckets=Buckets(1.0, 2, clock=lambda: 0.0))
    for _ in range(2):
        admit(gate, bearer(one), "alice", Scope.READ)
    with pytest.raises(TooManyRequests) as raised:
        admit(gate, bearer(one), "alice", Scope.READ)
    assert raised.value.retry_after == 1
    admit(gate, bearer(two), "alice", Scope.READ)


def test_a_key_made_with_a_rate_has_that_one(ring) -> None:
    _, slow = create_key(ring, "slow", [Scope.READ], limits=Limits(rate=0.5))
    _, free = create_key(ring, "free", [Scope.READ], limits=Limits(rate=0))
    gate = Gate(ring, buckets=Buckets(1.0, 2, clock=lambda: 0.0))
    admit(gate, bearer(slow), "alice", Scope.READ)
    with pytest.raises(TooManyRequests, match=r"more than 0\.5 times") as raised:
        admit(gate, bearer(slow), "alice", Scope.READ)
    assert "--rate" in (raised.value.hint or "")
    for _ in range(100):
        admit(gate, bearer(free), "alice", Scope.READ)


def test_a_key_made_with_a_size_of_bodies_has_that_one(ring) -> None:
    assert Gate(ring).body_limit(None, 100) == 100
    _, small = create_key(ring, "small", [Scope.READ], limits=Limits(max_body=10))
    _, usual = create_key(ring, "usual", [Scope.READ])
    gate = Gate(ring)
    assert gate.body_limit(bearer(small), 100) == 10
    assert gate.body_limit(bearer(usual), 100) == 100
    assert gate.body_limit("Bearer nobody", 100) == 100


@pytest.mark.parametrize(
    ("rate", "max_body"), [(-1, None), (math.nan, None), (math.inf, None), (None, 0), (None, 2**63)]
)
def test_limits_that_are_none_are_refused(rate, max_body) -> None:
    with pytest.raises(InvalidInput):
        Limits(rate, max_body)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.3.4.5"])
def test_this_machine_may_be_served_without_keys(ring, host) -> None:
    check_exposure(host, ring, no_auth=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "memory.example.com"])
def test_other_machines_are_not_served_without_keys(ring, host) -> None:
    with pytest.raises(ConfigError) as raised:
        check_exposure(host, ring, no_auth=False)
    assert "recollect keys create" in (raised.value.hint or "")
    check_exposure(host, ring, no_auth=True)
    key, _ = create_key(ring, "laptop", [Scope.READ])
    check_exposure(host, ring, no_auth=False)
    ring.revoke(key.id, 0)
    with pytest.raises(ConfigError):
        check_exposure(host, ring, no_auth=False)


def test_keys_of_an_earlier_release_go_on_without_limits_of_their_own(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(opening, "migrations", lambda known=opening.migrations(): known[:3])
        open_fake(db).close()
        with closing(sqlite3.connect(db)) as raw, raw:
            made = ("a1", b"digest", "laptop", '["read"]', 1_700_000_000_000_000)
            raw.execute(
                "INSERT INTO keys (id, digest, name, scopes, created_at) VALUES (?,?,?,?,?)", made
            )
    with open_fake(db) as memory:
        (key,) = memory.store.keys.all()
    assert (key.name, key.scopes, key.rate, key.max_body) == ("laptop", (Scope.READ,), None, None)
