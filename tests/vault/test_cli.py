"""`recollect vault sync` as a user calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.cli import main

Ran = tuple[int, str, str]


@pytest.fixture
def cli(db: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def call(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main(["--db", str(db), *map(str, arguments)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_it_says_what_happened_to_which_note(cli: Callable[..., Ran], bastra: Path) -> None:
    code, out, err = cli("vault", "sync", bastra, "--bank", "b")
    assert code == 0
    assert "retained\tstorage-sqlite.md" in out.splitlines()
    assert "b, 5 notes: 5 notes retained, 1 memory withdrawn" in err


def test_json_is_one_object(cli: Callable[..., Ran], bastra: Path) -> None:
    code, out, _ = cli("vault", "sync", bastra, "--bank", "b", "--json")
    assert code == 0 and len(json.loads(out)["retained"]) == 5


def test_a_dry_run_is_told_as_one(cli: Callable[..., Ran], bastra: Path) -> None:
    cli("retain", "other", "Bob sails.")
    _, _, err = cli("vault", "sync", bastra, "--bank", "b", "--dry-run")
    assert "5 notes: would be: 5 notes retained" in err
    assert [bank["id"] for bank in json.loads(cli("banks", "--json")[1])] == ["other"]


def test_a_dry_run_makes_no_store(cli: Callable[..., Ran], bastra: Path, db: Path) -> None:
    code, _, err = cli("vault", "sync", bastra, "--bank", "b", "--dry-run")
    assert code == 0 and "would be: 5 notes retained" in err
    assert not db.exists()


def test_a_file_left_out_is_named_and_makes_the_exit_code_1(
    cli: Callable[..., Ran], bastra: Path
) -> None:
    (bastra / "bad.md").write_bytes(b"\xff")
    code, out, err = cli("vault", "sync", bastra, "--bank", "b")
    assert code == 1
    assert "left out: bad.md: is not UTF-8" in err and "storage-sqlite.md" in out


def test_of_a_note_with_a_date_that_is_none_the_date_alone_is_left_out(
    cli: Callable[..., Ran], bastra: Path
) -> None:
    (bastra / "bad.md").write_text("---\nvalid_until: soon\n---\nCoffee is served at five.")
    code, out, err = cli("vault", "sync", bastra, "--bank", "b")
    assert code == 1 and "retained\tbad.md" in out.splitlines()
    assert "ignored in bad.md: valid_until 'soon'" in err and "left out" not in err


@pytest.mark.parametrize("arguments", [("--new-in", "../up"), ("--watch", "--dry-run")])
def test_what_cannot_be_is_refused(
    cli: Callable[..., Ran], bastra: Path, arguments: tuple[str, ...]
) -> None:
    code, _, err = cli("vault", "sync", bastra, "--bank", "b", *arguments)
    assert code == 2 and "hint:" in err


def test_a_folder_that_is_not_there_is_refused(cli: Callable[..., Ran], tmp_path: Path) -> None:
    code, _, err = cli("vault", "sync", tmp_path / "none", "--bank", "b")
    assert code == 2 and "there is no folder" in err
