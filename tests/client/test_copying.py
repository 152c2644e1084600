"""Copies to and from servers: they go on where they stopped, and are compared at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import orjson
import pytest

import recollect
from recollect.client.call import path
from recollect.client.copying import ServerTaking
from recollect.errors import Conflict, InvalidInput, NotFound, ServerError
from recollect.testing import open_fake

BANK = "alice/ünï"
MANY = 40


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    import recollect.storage.arrival as arrival

    monkeypatch.setattr(arrival.parts, "__defaults__", (7,))


WAYS = ["file to server", "server to file", "server to server"]


@pytest.fixture
def ends(request: Any, serve, tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    """A source that holds a bank, and an empty target."""
    source, target = request.param.split(" to ")
    with ExitStack() as stack:

        def end(kind: str, name: str) -> Any:
            db = tmp_path / f"{name}.db"
            opened = open_fake(db) if kind == "file" else recollect.connect(serve(db))
            return stack.enter_context(opened)

        with open_fake(tmp_path / "source.db") as memory:
            fill(memory)
        yield end(source, "source"), end(target, "target")


def fill(memory: Any) -> None:
    cats = [{"id": f"m{n}", "text": f"Person{n} has {n} cats", "tags": ["x"]} for n in range(MANY)]
    memory.retain(BANK, cats)
    memory.retain(BANK, "Bob runs. Ann sings.", document_id="d", context="sport")


def lines(memory: Any, bank: str = BANK) -> list[bytes]:
    return [orjson.dumps(line) for line in memory.export(bank)][1:]


class Cut(Exception):
    pass


def cut_after(limit: int) -> Any:
    def progress(done: int, total: int) -> None:
        if done >= limit:
            raise Cut

    return progress


@pytest.mark.parametrize("ends", WAYS, indirect=True)
def test_a_copy_that_was_interrupted_goes_on(ends) -> None:
    source, target = ends
    for limit in (10, 25):
        with pytest.raises(Cut):
            source.copy(BANK, target, progress=cut_after(limit))
        assert target.banks() == [] and target.arrivals() == [BANK]
    seen: list[tuple[int, int]] = []
    copied = source.copy(BANK, target, progress=lambda *told: seen.append(told))
    assert copied.same and copied.resumed >= 25
    rows = sum(copied.source[kind].count for kind in ("document", "entity", "memory", "link"))
    assert seen[0][0] > 25 and seen[-1] == (rows, rows)
    assert target.arrivals() == []
    assert lines(target) == lines(source)


@pytest.mark.parametrize("ends", WAYS, indirect=True)
def test_a_copy_that_nobody_goes_on_with_is_deleted(ends) -> None:
    source, target = ends
    with pytest.raises(Cut):
        source.copy(BANK, target, progress=cut_after(10))
    target.delete_bank(BANK)
    assert target.arrivals() == []
    with pytest.raises(NotFound):
        target.delete_bank(BANK)


@pytest.mark.parametrize("ends", WAYS, indirect=True)
def test_a_source_that_changed_meanwhile_is_copied_anew(ends) -> None:
    source, target = ends
    with pytest.raises(Cut):
        source.copy(BANK, target, progress=cut_after(10))
    source.forget(BANK, "m0")
    copied = source.copy(BANK, target)
    assert copied.same and copied.resumed == 0
    assert lines(target) == lines(source)


@pytest.mark.parametrize("ends", WAYS, indirect=True)
def test_what_is_there_is_compared_and_not_copied_again(ends) -> None:
    source, target = ends
    assert not source.copy(BANK, target).there
    assert source.copy(BANK, target).there
    target.retain(BANK, "Somebody was here.")
    with pytest.raises(InvalidInput, match="other content") as raised:
        source.copy(BANK, target)
    assert "--as" in raised.value.hint


@pytest.mark.parametrize("ends", WAYS, indirect=True)
def test_a_copy_that_differs_is_told_and_not_kept(ends, monkeypatch: pytest.MonkeyPatch) -> None:
    import recollect.storage.copy as copying

    source, target = ends
    real = copying.parts
    monkeypatch.setattr(
        copying, "parts", lambda rows: real(row for row in rows if row[0] != "entity")
    )
    copied = source.copy(BANK, target)
    assert not copied.same
    assert copied.source["entity"].count > copied.target["entity"].count == 0
    assert target.banks() == [] and target.arrivals() == []


@pytest.mark.parametrize("ends", WAYS, indirect=True)
def test_an_empty_bank_gives_way(ends) -> None:
    source, target = ends
    target.create_bank(BANK, {"name": "was here"})
    assert source.copy(BANK, target).same
    assert lines(target) == lines(source)


@pytest.mark.parametrize("ends", WAYS, indirect=True)
def test_a_bank_that_is_not_there_cannot_be_copied(ends) -> None:
    source, target = ends
    with pytest.raises(NotFound):
        source.copy("nope", target)
    assert target.arrivals() == []


@pytest.mark.parametrize("ends", ["file to server"], indirect=True)
def test_of_two_who_bring_in_a_bank_one_is_refused(ends) -> None:
    source, target = ends
    other = recollect.connect(target._server.url)

    def meddle(done: int, total: int) -> None:
        if done and not target.banks():
            assert source.copy(BANK, other).resumed > 0

    with other, pytest.raises(Conflict, match="it was finished") as raised:
        source.copy(BANK, target, progress=meddle)
    assert raised.value.hint
    assert lines(target) == lines(source)


@pytest.mark.parametrize("ends", ["file to server"], indirect=True)
def test_a_part_whose_answer_was_lost_is_there_once(ends, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = ends
    real, lost = target._http.send, []

    def forgetful(request: httpx2.Request, **rest: Any) -> httpx2.Response:
        response = real(request, **rest)
        if request.url.path.endswith("/rows") and len(lost) < 2:
            lost.append(request)
            raise httpx2.ReadError("the line is dead")
        return response

    monkeypatch.setattr(target._http, "send", forgetful)
    copied = source.copy(BANK, target)
    assert len(lost) == 2 and copied.same
    assert lines(target) == lines(source)


@pytest.mark.parametrize("ends", ["server to file"], indirect=True)
def test_what_was_copied_is_not_sent_again(ends, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = ends
    with pytest.raises(Cut):
        source.copy(BANK, target, progress=cut_after(60))
    heard: list[bytes] = []
    real = source.lines
    monkeypatch.setattr(
        source, "lines", lambda call: (heard.append(line) or line for line in real(call))
    )
    source.copy(BANK, target)
    assert 0 < sum(b'"memory"' in line for line in heard[:-1]) < MANY - 10


@pytest.mark.parametrize("ends", ["server to file"], indirect=True)
def test_an_answer_that_was_cut_short_is_told(ends, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = ends
    real = source.lines
    monkeypatch.setattr(source, "lines", lambda call: list(real(call))[:-1])
    with pytest.raises(ServerError, match="last line") as raised:
        source.copy(BANK, target)
    assert "goes on where it stopped" in raised.value.hint
    monkeypatch.undo()
    assert source.copy(BANK, target).resumed > MANY


@pytest.mark.parametrize("ends", ["file to server"], indirect=True)
def test_a_part_needs_the_hold_on_the_bank(ends) -> None:
    _, target = ends
    with pytest.raises(Conflict):
        ServerTaking(target, BANK, {"by": "me", "done": {}}).bring([], {})
    head = {"recollect": 2, "bank": "b", "embedder": "e", "dimensions": 4, "token_dimensions": 0}
    target.place._arrival(BANK, {"origin": 1, "head": head})
    for verb in ("finish", "abandon"):
        with pytest.raises(Conflict):
            getattr(ServerTaking(target, BANK, {"by": "me", "done": {}}), verb)()


@pytest.mark.parametrize("ends", ["server to file"], indirect=True)
@pytest.mark.parametrize("asked", ["digest", "dump?after=memory:40"])
def test_lines_that_say_little_are_sent_as_they_are_made(ends, asked: str) -> None:
    """Compressed, they would be held back, and a client that hears nothing gives up."""
    source, _ = ends
    headers = {"Accept-Encoding": "gzip"}
    answer = source._http.get(f"{path(BANK)}/{asked}", headers=headers)
    assert answer.headers["content-encoding"] == "identity"


def test_a_server_over_postgresql_goes_on_as_well(postgres: str, serve, tmp_path: Path) -> None:
    import psycopg

    schema = f"test_{uuid4().hex[:12]}"
    with open_fake(tmp_path / "one.db") as here, open_fake(tmp_path / "two.db") as back:
        fill(here)
        with recollect.connect(serve(postgres, pg_schema=schema)) as far:
            for source, target in ((here, far), (far, back)):
                with pytest.raises(Cut):
                    source.copy(BANK, target, progress=cut_after(60))
                copied = source.copy(BANK, target)
                assert copied.same and copied.resumed >= 60
        assert lines(back) == lines(here)
    with psycopg.connect(postgres, autocommit=True) as db:
        db.execute(f"DROP SCHEMA {schema} CASCADE")  # pyright: ignore[reportArgumentType, reportCallIssue]
