"""Files that a command writes: whole or as they were, and never in the place of something else."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import InvalidInput
from recollect.filing import Target


def letters(path: Path, *, force: bool = False) -> Target:
    return Target(path, "a letter", lambda begins: begins.startswith(b"Dear"), force)


def write(target: Target, text: bytes = b"Dear Ann") -> None:
    with target.written() as file:
        file.write(text)


def test_an_earlier_export_is_renewed(ask: Any, tmp_path: Path) -> None:
    file = tmp_path / "alice.jsonl"
    assert ask("export", "alice", "-o", file).code == 0
    first = file.read_bytes()
    assert ask("export", "alice", "-o", file).code == 0
    assert file.read_bytes() == first


@pytest.mark.parametrize(
    "holds", [b"my only copy", b'{"name": "package"}', b"[1]", b"\xff\xfe", b"\n{}"]
)
def test_anything_else_is_kept(ask: Any, tmp_path: Path, holds: bytes) -> None:
    file = tmp_path / "precious"
    file.write_bytes(holds)
    refused = ask("export", "alice", "-o", file)
    assert refused.code == 2
    assert "is not an export" in refused.err and "--force" in refused.err
    assert file.read_bytes() == holds
    assert ask("export", "alice", "-o", file, "--force").code == 0
    assert json.loads(file.read_text().splitlines()[0])["bank"] == "alice"


def test_the_file_is_looked_at_before_the_store(run: Any, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    asked = ("--db", tmp_path / "no.db", "export", "alice", "-o", tmp_path / "precious")
    assert "is not an export" in run(*asked).err


def test_an_empty_file_is_filled(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    write(letters(tmp_path / "empty"))
    assert (tmp_path / "empty").read_bytes() == b"Dear Ann"


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    write(letters(tmp_path / "a"))
    with pytest.raises(RuntimeError), letters(tmp_path / "a").written() as file:
        file.write(b"Dear")
        raise RuntimeError
    assert (tmp_path / "a").read_bytes() == b"Dear Ann"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_file_keeps_its_rights(tmp_path: Path) -> None:
    write(letters(tmp_path / "a"))
    (tmp_path / "a").chmod(0o600)
    write(letters(tmp_path / "a"))
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o600


def test_what_a_link_points_at_is_replaced_and_not_the_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    write(letters(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"Dear Ann"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(
        [sys.executable, "-c", f"print(open({str(pipe)!r}).read())"], stdout=subprocess.PIPE
    )
    write(letters(pipe))
    assert reader.communicate(timeout=120)[0] == b"Dear Ann\n"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("name", ["", ".", "folder", "no/such/folder/a"])
def test_what_is_no_file_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InvalidInput) as raised:
        letters(tmp_path / name).check()
    assert raised.value.hint
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_the_description_of_the_api_is_not_written_over_something_else(tmp_path: Path) -> None:
    page = tmp_path / "notes.json"
    page.write_text('{"mine": 1}')
    command = [sys.executable, "-m", "recollect.server.describe", str(page)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 1
    assert "hint:" in ran.stderr and "Traceback" not in ran.stderr
    assert page.read_text() == '{"mine": 1}'
