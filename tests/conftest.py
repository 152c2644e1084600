"""Shared by all tests: a store on disk with a model that needs no weights, and the real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect.testing import open_fake


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def memory(db: Path) -> Iterator[recollect.Recollect]:
    with open_fake(db) as opened:
        yield opened


@pytest.fixture
def real(db: Path) -> Iterator[recollect.Recollect]:
    """The store with the model that ships."""
    with recollect.open(db) as opened:
        yield opened
