"""`recollect keys`: create, list, revoke."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect.cli import main
from recollect.cli.keys import moment
from recollect.errors import NotAuthenticated
from recollect.server.keys import Gate
from recollect.testing import open_fake


@pytest.fixture
def keys(db: Path, capsys: pytest.CaptureFixture[str]):
    def call(*arguments: str):
        code = main(["--db", str(db), "keys", *arguments])
        said = capsys.readouterr()
        return code, said.out.strip(), said.err

    return call


def test_a_created_key_passes_and_a_revoked_one_does_not(keys, db: Path) -> None:
    code, secret, told = keys("create", "laptop")
    assert code == 0
    assert "not shown again" in told and secret not in told
    with open_fake(db) as memory:
        gate = Gate(memory.store.keys)
        assert gate.recognise(f"Bearer {secret}").key.name == "laptop"
        assert keys("revoke", secret)[0] == 0
        with pytest.raises(NotAuthenticated):
            Gate(memory.store.keys).recognise(f"Bearer {secret}")


def test_the_list_says_what_each_key_may_and_no_secret(keys) -> None:
    secret = keys("create", "ci", "--scope", "read", "--bank", "alice", "--bank", "bob")[1]
    made = json.loads(keys("create", "me", "--scope", "admin", "--expires", "30d", "--json")[1])
    listed = keys("list")[1]
    assert secret.split("_", 2)[2] not in listed
    first, second = (line.split("\t") for line in listed.splitlines())
    assert (first[1], first[2], first[3], first[5]) == ("ci", "read", "alice,bob", "good")
    assert (second[0], second[2]) == (made["id"], "admin")
    assert second[5].startswith("good until")


def test_a_key_may_have_limits_of_its_own(keys) -> None:
    code, _, told = keys("create", "ci", "--rate", "5", "--max-body", "64k")
    assert (code, "5 requests a second, 65,536 bytes a request" in told) == (0, True)
    (listed,) = json.loads(keys("list", "--json")[1])
    assert (listed["rate"], listed["max_body"]) == (5, 65_536)
    assert keys("list")[1].endswith("5 requests a second, 65,536 bytes a request")


@pytest.mark.parametrize(
    "arguments",
    [("create", "x", "--scope", "everything"), ("create", "x", "--expires", "soon"), ("revoke", "nobody"), ("create", "x", "--max-body", "big"), ("create", "x", "--rate", "-1")],
)  # fmt: skip
def test_what_cannot_be_is_said_with_the_way_out(keys, arguments, db: Path) -> None:
    keys("create", "laptop")
    code, out, told = keys(*arguments)
    assert (code, out) == (2, "")
    assert "hint:" in told


def test_an_end_is_a_date_or_so_long_from_now() -> None:
    assert moment("2031-05-01") == datetime(2031, 5, 1, tzinfo=UTC)
    assert abs(moment("12h") - datetime.now(UTC) - timedelta(hours=12)) < timedelta(minutes=1)
    assert abs(moment("1y") - datetime.now(UTC) - timedelta(days=365)) < timedelta(minutes=1)
