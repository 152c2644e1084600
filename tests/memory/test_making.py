"""What is made many at a time is what the class itself would have made."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace

import pytest

from recollect.types import Memory
from recollect.types.making import changer, maker

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


def test_defaults_are_not_shared() -> None:
    assert made().metadata is not made().metadata


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
