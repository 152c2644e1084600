from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from recollect.cli import main

ITEMS = [
    {"text": "Alice works at Google.", "timestamp": "2026-04-02", "tags": ["work"], "entities": ["Alice", "Google"]},
    {"text": "Alice's manager is Dana Okafor.", "timestamp": "2026-04-03", "tags": ["work", "people"]},
    {"text": "The error code E-1093 means that an invoice has no tax region.", "timestamp": "2026-02-17"},
    {"text": "The hiring freeze delayed the mobile app.", "timestamp": "2026-05-19", "document_id": "roadmap"},
    {"text": "Dana thinks that tea is better than coffee.", "type": "opinion", "confidence": 0.6, "timestamp": "2026-05-20"},
    {"text": "The [bold]deploy[/bold] script prints \x1b[31mred\x1b[0m.", "timestamp": "2026-06-01"},
]  # fmt: skip


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RECOLLECT_DB", "RECOLLECT_CONFIG", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One bank, `alice`, that the tests only read."""
    folder = tmp_path_factory.mktemp("cli")
    items = folder / "items.jsonl"
    items.write_text("".join(json.dumps(item) + "\n" for item in ITEMS), "utf-8")
    path = folder / "memory.db"
    assert main(["--db", str(path), "retain", "alice", str(items)]) == 0
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """The command line in this process: exit code, stdout, stderr."""

    def call(*arguments: object, stdin: str | bytes = "") -> Ran:
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw), "utf-8"))
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    yield call


@pytest.fixture
def ask(run: Run, store: Path) -> Run:
    """The same, on the shared store."""

    def call(*arguments: object, stdin: str | bytes = "") -> Ran:
        return run("--db", store, *arguments, stdin=stdin)

    return call
