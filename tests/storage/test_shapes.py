"""A line of an export that was damaged or made by hand is refused, and breaks nothing."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Recollect
from recollect.errors import InvalidInput
from recollect.testing import open_fake

ODD: list[Any] = [
    None,
    "x",
    "\0",
    -1,
    2**70,
    1.5,
    [],
    {},
    True,
    [None],
    [7],
    {"a": 1},
    "2026-13-45",
]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    with open_fake(tmp_path_factory.mktemp("shapes") / "one.db") as memory:
        memory.retain("b", [
            {"text": "Rain fell on Oslo.", "document_id": "d", "entities": ["Oslo"]},
            {"text": "Roads flooded.", "causal_relations": [{"type": "caused_by", "target": 0}]},
        ])  # fmt: skip
        memory.retain("b", {"text": "Rain fell on Oslo.", "document_id": "e"})
        return orjson.loads(orjson.dumps(list(memory.export("b"))))


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    with open_fake(tmp_path_factory.mktemp("shapes") / "two.db") as memory:
        yield memory


@given(data=st.data())
def test_one_odd_field_is_refused_or_harmless(
    lines: list[dict[str, Any]], target: Recollect, data: st.DataObject
) -> None:
    changed = copy.deepcopy(lines)
    line = data.draw(st.sampled_from(changed[1:-1]))
    ((kind, values),) = line.items()
    values[data.draw(st.sampled_from(sorted(values)))] = data.draw(st.sampled_from(ODD))
    try:
        target.import_bank(changed, "copy")
    except InvalidInput as error:
        assert kind in error.message and error.hint
        return
    target.recall("copy", "Why did roads flood in Oslo?", include_chunks=True)
    target.memories("copy")
    list(target.export("copy"))
    target.delete_bank("copy")


def test_the_field_is_named(lines: list[dict[str, Any]], target: Recollect) -> None:
    changed = copy.deepcopy(lines)
    next(line["memory"] for line in changed if "memory" in line)["proof_count"] = "many"
    with pytest.raises(InvalidInput, match="its proof_count cannot be used"):
        target.import_bank(changed, "copy")
    assert target.banks() == [] and target.arrivals() == []


def test_vectors_of_another_model_are_refused(
    lines: list[dict[str, Any]], target: Recollect
) -> None:
    changed = copy.deepcopy(lines)
    changed[0]["dimensions"] *= 2
    with pytest.raises(InvalidInput, match="dimensions"):
        target.import_bank(changed, "copy")


def test_what_a_store_exports_it_takes_back(
    lines: list[dict[str, Any]], target: Recollect, tmp_path: Path
) -> None:
    assert target.import_bank(lines, "whole").memories == 2
    target.delete_bank("whole")
