"""What a server tells of itself names no file and no address."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from recollect import errors
from recollect.discretion import told, without_places
from recollect.errors import ModelError, OtherModel, RecollectError, StoreError, TooManyRequests
from recollect.server.app import create_app
from recollect.server.problems import of_error
from recollect.testing import open_fake

from .test_isolation import _ask

KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, RecollectError) and kind is not TooManyRequests
]


@pytest.mark.parametrize("kind", KINDS)
def test_no_error_of_store_or_model_names_its_place(kind: type[RecollectError]) -> None:
    error = kind("/srv/data/memory.db is gone", hint="look at postgresql://host/db")
    body = bytes(of_error(error).body).decode()
    hidden = issubclass(kind, StoreError | ModelError) and kind not in (
        OtherModel,
        errors.LeaseLost,
    )
    assert ("/srv/data" not in body and "postgresql://" not in body) == hidden
    assert all(told(error))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("ModelError: no ONNX model at /srv/models/x", "ModelError: no ONNX model at …"),
        ("the LLM at https://user:key@host/v1 is down", "the LLM at … is down"),
        ("cannot read 'C:\\models\\a\\b.onnx'", "cannot read '…'"),
        ("~/models/a/b is damaged", "… is damaged"),
        ("the deadline came first", "the deadline came first"),
        ("and/or, 3/4 and km/h stay", "and/or, 3/4 and km/h stay"),
    ],
)
def test_places_are_left_out_of_what_parts_said(said: str, shown: str) -> None:
    assert without_places(said) == shown


async def test_a_damaged_store_is_told_without_its_path(db: Path) -> None:
    with open_fake(db) as memory:
        memory.retain("b", "Bob runs.")
        with closing(sqlite3.connect(db)) as raw, raw:
            raw.execute("DROP TABLE memories")
        app = create_app(memory)
        answer = await _ask(app, "GET", "/v1/default/banks/b/memories/list", "", None, "")
    status, body = answer
    assert status == 500
    assert str(db.parent) not in body.decode()
    assert orjson.loads(body)["type"] == "urn:recollect:problem:store-error"
