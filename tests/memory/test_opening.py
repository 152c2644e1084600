"""What a store's address may be, what settings may be, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.config import load_settings
from recollect.errors import ConfigError, RecollectError


@pytest.mark.parametrize(
    ("db", "way_out"),
    [
        ("http://127.0.0.1:8888", "recollect.connect"),
        ("https://me:secret@host/x", "recollect.connect"),
        ("mysql://host/db", "postgresql://"),
        ("file:///tmp/memory.db", "path of a file"),
        ("sqlite:///memory.db", "path of a file"),
        (" ", "memory.db"),
        ("nul\x00byte.db", "memory.db"),
        ("half\ud800.db", "memory.db"),
    ],
)
def test_what_is_no_file_makes_none(
    db: str, way_out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as raised:
        recollect.open(db)
    assert way_out in (raised.value.hint or "")
    assert "secret" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("opened", [recollect.open, recollect.aopen])
def test_what_is_neither_text_nor_path_names_no_file(opened: Any) -> None:
    with pytest.raises(ConfigError, match="no path of a file"):
        opened(5)


@pytest.mark.parametrize("db", ["/proc/nowhere/x.db", "x" * 5000, "."])
def test_where_no_file_can_be_is_said(db: str) -> None:
    with pytest.raises(RecollectError) as raised:
        recollect.open(db)
    assert raised.value.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("agent_names", "bot"),
        ("threads", True),
        ("threads", "two"),
        ("min_similarity", float("nan")),
        ("rerank_timeout_ms", 1.5),
        ("no_such_setting", 1),
        ("token_vectors", "yes"),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        load_settings(environ={}, **{name: value})
    assert name in raised.value.message and raised.value.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rerank_candidates", -1),
        ("budget_mid", -1),
        ("budget_low", 0),
        ("threads", -1),
        ("superseded_factor", -1),
        ("superseded_factor", 1.5),
        ("min_similarity", 2),
        ("port", 70_000),
        ("cache_seconds", -0.5),
        ("fusion", "nonsense"),
        ("recency_decay", "steep"),
        ("budget_mode", ""),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ConfigError) as raised:
        load_settings(environ={}, **{name: value})
    assert f"{name} = " in raised.value.message
    assert raised.value.hint is not None and raised.value.hint.startswith(f"{name} is ")


def test_so_is_one_from_the_environment() -> None:
    with pytest.raises(ConfigError, match=r"threads = -1 from \$RECOLLECT_THREADS"):
        load_settings(environ={"RECOLLECT_THREADS": "-1"})


def test_a_settings_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(file=tmp_path, environ={})
