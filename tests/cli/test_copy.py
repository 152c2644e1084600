"""recollect copy: banks from one store to another, checked at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import recollect
import recollect.storage.copy as copying


def test_all_banks_are_copied_and_compared(run: Any, store: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    made = run("copy", store, target, "--json")
    assert made.code == 0
    (bank,) = made.json
    assert (bank["name"], bank["same"], bank["there"]) == ("alice", True, False)
    assert bank["source"]["memory"]["count"] == 6
    asked = ("recall", "alice", "Who is Alice's manager?", "--at", "2030-01-01", "--json")
    recalls = [run("--db", db, *asked).json["results"] for db in (store, target)]
    assert recalls[0]
    assert [(h["id"], h["score"]) for h in recalls[0]] == [
        (h["id"], h["score"]) for h in recalls[1]
    ]


def test_counts_and_hashes_are_shown(run: Any, store: Path, tmp_path: Path) -> None:
    made = run("copy", store, tmp_path / "target.db", "--bank", "alice", "--as", "alice-2")
    assert made.code == 0
    memories = next(line.split("\t") for line in made.out.splitlines() if "memory" in line)
    assert memories[:4] == ["alice-2", "memory", "6", "6"]
    assert len(memories[4]) == 32
    assert memories[5] == "same"
    assert "the same on both sides" in made.err


def test_other_content_in_the_target_is_refused(run: Any, store: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    run("--db", target, "retain", "alice", "Alice paints.")
    made = run("copy", store, target)
    assert made.code == 2
    assert "other content" in made.err
    assert "hint:" in made.err


def test_a_difference_ends_with_1(
    run: Any, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = copying.batch_of
    monkeypatch.setattr(copying, "batch_of", lambda p: real([r for r in p if r[0] != "entity"]))
    made = run("copy", store, tmp_path / "target.db")
    assert made.code == 1
    assert "DIFFERS" in made.out


def test_a_source_that_is_not_there_leaves_no_file(run: Any, tmp_path: Path) -> None:
    made = run("copy", tmp_path / "nope.db", tmp_path / "target.db")
    assert made.code == 2
    assert list(tmp_path.iterdir()) == []


def test_what_an_interrupted_copy_left_is_told_and_can_be_taken_away(
    run: Any, tmp_path: Path
) -> None:
    db = tmp_path / "half.db"
    with recollect.open(db) as memory:
        memory._store.begin("half", {}, ("x", 4, 0), "{}")
    found = run("--db", db, "doctor", "--json")
    assert found.code == 1
    hints = [f["hint"] for f in found.json["findings"] if f["check"] == "bank half"]
    assert "recollect forget half --all" in hints[0]
    assert run("--db", db, "forget", "half", "--all", "--yes").code == 0
    assert run("--db", db, "doctor", "--json").code == 0


def test_an_unknown_bank_copies_nothing(run: Any, store: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    made = run("copy", store, target, "--bank", "alice", "--bank", "nope")
    assert made.code == 2
    assert not target.exists()


def test_a_server_that_goes_away_is_told_what_to_do(run: Any, store: Path, served: Any) -> None:
    from recollect.client.waiting import Client
    from recollect.testing import open_fake

    with (
        served(open_fake(store.parent / "served.db")) as url,
        pytest.MonkeyPatch.context() as patch,
    ):
        real = Client._send
        patch.setattr(Client, "_send", lambda c, call, **rest: _lost(real, c, call, rest))
        made = run("copy", store, url)
    assert made.code == 1
    assert "it goes on where it stopped" in made.err


def _lost(real: Any, client: Any, call: Any, rest: dict[str, Any]) -> Any:
    import httpx2

    if call.path.endswith("/rows"):
        raise client._server.unreachable(httpx2.ReadError("the line is dead"))
    return real(client, call, **rest)


def test_two_servers_may_have_two_keys(
    run: Any, store: Path, served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.server.keys import create_key
    from recollect.testing import open_fake
    from recollect.types import Scope

    here, there = open_fake(store), open_fake(store.parent / "there.db")
    _, mine = create_key(here.store.keys, "mine", [Scope.READ])
    _, yours = create_key(there.store.keys, "yours", [Scope.READ, Scope.ADMIN])
    monkeypatch.setenv("RECOLLECT_API_KEY", mine)
    with served(here) as source, served(there) as target:
        refused = run("copy", source, target)
        monkeypatch.setenv("RECOLLECT_TARGET_API_KEY", yours)
        copied = run("copy", source, target, "--json")
    assert refused.code == 1 and "API key" in refused.err
    assert copied.code == 0 and copied.json[0]["same"]
