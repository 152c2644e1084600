"""Files that cannot be synced: each is named, the rest is synced, and neither side is touched."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.types import State
from recollect.vault.files import LARGEST

from .conftest import BANK, Run


@pytest.fixture
def good(vault: Path) -> Path:
    (vault / "good.md").write_text("Tea is served at four.")
    return vault


def _only_problem(run: Run, path: str, *words: str) -> None:
    report = run()
    assert "good.md" in report.retained
    (problem,) = report.problems
    assert problem.path == path
    assert all(word in problem.cause for word in words), problem


def test_broken_yaml(good: Path, run: Run) -> None:
    (good / "bad.md").write_text("---\ntitle: a: b\n---\ntext")
    _only_problem(run, "bad.md", "line 2", "not valid YAML")


def test_a_key_that_stands_there_twice(good: Path, run: Run) -> None:
    (good / "bad.md").write_text("---\ntitle: a\ntitle: b\n---\ntext")
    _only_problem(run, "bad.md", "line 3", "twice")


def test_anchors_without_end(good: Path, run: Run) -> None:
    levels = "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    (good / "bad.md").write_text(f"---\na0: &a0 x\n{levels}---\ntext")
    _only_problem(run, "bad.md", "nested too deeply")


def test_bytes_that_are_no_utf8(good: Path, run: Run) -> None:
    (good / "bad.md").write_bytes(b"caf\xe9 au lait")
    _only_problem(run, "bad.md", "not UTF-8")


def test_utf16(good: Path, run: Run) -> None:
    (good / "bad.md").write_bytes("tea".encode("utf-16-le"))
    _only_problem(run, "bad.md", "NUL")


def test_the_id_of_another_note(good: Path, run: Run) -> None:
    (good / "a.md").write_text("---\nid: x\n---\nfirst")
    (good / "b.md").write_text("---\nid: x\n---\nsecond")
    _only_problem(run, "b.md", "'x'", "a.md")


def test_a_huge_file(good: Path, run: Run) -> None:
    (good / "bad.md").write_bytes(b"x" * (LARGEST + 1))
    _only_problem(run, "bad.md", "larger than")


def test_a_link_out_of_the_folder(good: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("outside")
    (good / "bad.md").symlink_to(tmp_path / "secret.md")
    _only_problem(run, "bad.md", "leads out")


def test_a_linked_folder_out_of_the_folder(good: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (good / "bad").symlink_to(tmp_path / "other")
    _only_problem(run, "bad", "leads out")


def test_a_link_in_a_circle_ends(good: Path, run: Run) -> None:
    (good / "loop").symlink_to(good)
    assert run().problems == []


def test_a_link_to_nothing(good: Path, run: Run) -> None:
    (good / "bad.md").symlink_to(good / "none.md")
    _only_problem(run, "bad.md", "link to nothing")


def test_a_date_that_is_none(memory: Recollect, good: Path, run: Run) -> None:
    (good / "bad.md").write_text("---\nvalid_until: soon\n---\nCoffee is served at five.")
    report = run()
    assert "valid_until 'soon'" in report.problems[0].cause
    assert "bad.md" in report.retained  # the rest of it is as good as any


def test_a_successor_that_is_nowhere(memory: Recollect, good: Path, run: Run) -> None:
    (good / "bad.md").write_text("---\nid: old\nsuperseded_by: gone\n---\nCoffee at five.")
    report = run()
    assert "'gone'" in report.problems[0].cause
    assert memory.load(BANK, "old").state is State.INVALIDATED


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(good: Path, run: Run) -> None:
    (good / "bad.md").write_text("secret")
    (good / "bad.md").chmod(0)
    _only_problem(run, "bad.md", "Permission denied")


def test_an_empty_file_is_no_memory_and_no_problem(memory: Recollect, good: Path, run: Run) -> None:
    (good / "Untitled.md").write_text("\n")
    assert run().problems == []
    assert len(memory.memories(BANK)) == 1


@pytest.mark.parametrize("broken", [b"", b"---\ntitle: a: b\n---\nx", b"\xff\xfe"])
def test_a_note_that_breaks_leaves_its_memory_alone(
    memory: Recollect, good: Path, run: Run, broken: bytes
) -> None:
    run()
    (held,) = memory.memories(BANK)
    (good / "good.md").write_bytes(broken)
    os.utime(good / "good.md", (1_700_000_000, 1_700_000_000))
    report = run()
    assert [p.path for p in report.problems] == ["good.md"]
    assert memory.load(BANK, held.id) == held
    assert (good / "good.md").read_bytes() == broken


def test_a_note_that_was_emptied_just_now_may_still_be_being_saved(
    memory: Recollect, good: Path, run: Run
) -> None:
    run()
    (good / "good.md").write_bytes(b"")
    later = time.time() + 3600  # whenever the sync comes to it
    os.utime(good / "good.md", (later, later))
    report = run()
    assert not report.problems and not report.changed
    assert memory.memories(BANK)[0].state is State.ACTIVE


def test_frontmatter_that_cannot_be_edited_is_reported_and_left(
    memory: Recollect, vault: Path, run: Run
) -> None:
    text = "---\n{id: a, type: lesson}\n---\nTea is served at four.\n"
    (vault / "a.md").write_text(text)
    run()
    memory.update(BANK, "a", scope="home")
    report = run()
    assert [p.path for p in report.problems] == ["a.md"]
    assert (vault / "a.md").read_text() == text


def test_a_folder_that_is_not_there(memory: Recollect, tmp_path: Path) -> None:
    from recollect.errors import InvalidInput
    from recollect.vault import sync

    with pytest.raises(InvalidInput, match="no folder"):
        sync(memory, BANK, tmp_path / "nowhere")


def test_leftovers_of_a_killed_sync_are_cleared(good: Path, run: Run) -> None:
    left = good / ".good.md.1.recollect-partial"
    left.write_text("half")
    run()
    assert not left.exists()
