"""What is made many at a time is what the class itself would have made."""

from __future__ import annotations

import copy
import json
import operator
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, replace
from typing import Any

import orjson
import pytest

from recollect.types import Memory
from recollect.types.making import changer, maker
from recollect.types.shared import shared

make = maker(Memory)
GIVEN = Memory(id="a", bank="b", text="Alice rows.", tags=("sport",), tokens=3)


def made() -> Memory:
    return make(id="a", bank="b", text="Alice rows.", tags=("sport",), tokens=3)


def test_it_equals_one_of_its_class() -> None:
    assert made() == GIVEN
    assert type(made()) is Memory


def test_it_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        made().text = "Alice swims."  # type: ignore[misc]


def test_it_is_copied_and_pickled_like_any_other() -> None:
    assert replace(made(), text="Alice swims.").text == "Alice swims."
    assert pickle.loads(pickle.dumps(made())) == GIVEN


def test_nobody_can_change_the_defaults_of_others() -> None:
    with pytest.raises(TypeError, match="change a copy"):
        made().metadata["seen"] = True  # type: ignore[index]
    assert made().metadata == {}


CHANGES: dict[str, Callable[[Any], object]] = {
    "an item": lambda held: held.__setitem__("new", 1),
    "an item gone": lambda held: held.__delitem__("a"),
    "an update": lambda held: held.update(new=1),
    "a union": lambda held: operator.ior(held, {"new": 1}),
    "a default": lambda held: held.setdefault("new", 1),
    "taken out": lambda held: held.pop("a"),
    "taken out at the end": lambda held: held.popitem(),
    "cleared": lambda held: held.clear(),
    "inside": lambda held: held["d"].update(new=1),
    "a list": lambda held: held["l"].append(1),
    "a list's item": lambda held: held["l"].__setitem__(0, 1),
    "a list sorted": lambda held: held["l"].sort(),
    "a list, longer": lambda held: operator.iadd(held["l"], [1]),
    "inside a list": lambda held: held["l"][1].update(new=1),
}
HELD: dict[str, Any] = {"a": 1, "d": {"b": None}, "l": [1, {"c": [2]}]}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_shared_is_not_changed(change: Callable[[Any], object]) -> None:
    held = shared(HELD)
    with pytest.raises(TypeError, match="change a copy"):
        change(held)
    assert held == HELD


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_of_what_is_shared_is_ones_own(copied: Callable[[Memory], Memory]) -> None:
    one = copied(replace(GIVEN, metadata=shared(HELD))).metadata
    for change in list(CHANGES.values())[2:5]:
        change(one)
    one["l"][1]["c"].append(3)
    assert one == {**HELD, "new": 1, "l": [1, {"c": [2, 3]}]}
    assert (json.dumps(shared(HELD)), orjson.dumps(shared(HELD)).decode()) == (
        json.dumps(HELD),
        orjson.dumps(HELD).decode(),
    )
    assert asdict(replace(GIVEN, metadata=shared(HELD)))["metadata"] == HELD


def test_what_the_class_needs_is_needed() -> None:
    with pytest.raises(TypeError, match="text"):
        make(id="a", bank="b")  # type: ignore[call-arg]


def test_what_is_changed_is_like_the_first_but_for_what_is_named() -> None:
    changed = changer(Memory)(GIVEN, text="Alice swims.", tokens=4)
    assert changed == replace(GIVEN, text="Alice swims.", tokens=4)
    assert GIVEN.text == "Alice rows."


def test_there_is_no_changing_what_the_class_has_not() -> None:
    with pytest.raises(TypeError, match="colour"):
        changer(Memory)(GIVEN, colour="red")
