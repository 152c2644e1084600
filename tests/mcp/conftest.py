from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect

TALK = "Alice joined Google last spring. Her manager is Carol Diaz, who runs the Atlas team."
LESSON = {
    "text": "Run a migration on staging first. In March 2026 the users table was locked for 40 minutes "
    "in production, because an index was built without CONCURRENTLY, and nobody could log in.",
    "title": "Migrations go to staging first",
    "kind": "lesson",
    "scope": "web",
    "recall_when": ["about to write a database migration"],
}


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[recollect.Recollect]:
    """A store with the models that ship, which the tests only read."""
    with recollect.open(tmp_path_factory.mktemp("mcp") / "memory.db") as memory:
        memory.retain("default", TALK)
        memory.retain("default", LESSON)
        memory.retain("other", "Bob's shoe size is 44.")
        yield memory


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own, and the current folder a project in it."""
    project = tmp_path / "project"
    project.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    for name in (
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
        "CODEX_HOME",
        "CLAUDE_CONFIG_DIR",
        "RECOLLECT_DB",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)
    # A socket's path must be short; a helper that a hook has started may still be coming.
    with tempfile.TemporaryDirectory(prefix="rec", ignore_cleanup_errors=True) as short:
        monkeypatch.setenv("XDG_RUNTIME_DIR", short)
        yield tmp_path
