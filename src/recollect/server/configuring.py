"""A bank's settings under the names of the contract, which has several for some of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recollect.options import BANK_PARTS
from recollect.server.holdings import MISSIONS, disposition, mission
from recollect.types import Bank

_VARIABLE = "HINDSIGHT_API_"


def named(updates: Any) -> Any:
    """With the names of settings where those of environment variables are given."""
    if not isinstance(updates, Mapping):
        return updates
    return {_setting(name): value for name, value in updates.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _setting(name: Any) -> Any:
    variable = isinstance(name, str) and name.startswith(_VARIABLE)
    return name.removeprefix(_VARIABLE).lower() if variable else name


def said_last(said: Mapping[str, Any], held: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, and null for settings that the bank holds under other names for the same
    thing, which would otherwise stay in force."""
    others: set[str] = set()
    if any(name in said for name in MISSIONS):
        others.update(MISSIONS)
    if "disposition" in said:
        others.update(f"disposition_{trait}" for trait in said["disposition"])
    return {**dict.fromkeys(others & held.keys()), **said}


def in_force(bank: Bank) -> dict[str, Any]:
    """All settings that a bank may have of its own, with their defaults where it says nothing."""
    return {
        "reflect_mission": mission(bank) or None,
        **{f"disposition_{trait}": value for trait, value in disposition(bank).items()},
        **dict.fromkeys(BANK_PARTS, True),
        "recall_prefer_observations": False,
        **bank.config,
    }
