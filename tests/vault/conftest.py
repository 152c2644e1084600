from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.vault import Options, Report, sync

DATA = Path(__file__).parent / "data"
BANK = "v"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """An empty folder."""
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def bastra(vault: Path) -> Path:
    return _copied("bastra", vault)


@pytest.fixture
def obsidian(vault: Path) -> Path:
    return _copied("obsidian", vault)


def _copied(name: str, vault: Path) -> Path:
    shutil.copytree(DATA / name, vault, dirs_exist_ok=True)
    return vault


Run = Callable[..., Report]


@pytest.fixture
def run(memory: Recollect, vault: Path) -> Run:
    """One sync of the vault with the bank `v`."""

    def call(**options: object) -> Report:
        return sync(memory, BANK, vault, Options(**options))  # type: ignore[arg-type]

    return call
