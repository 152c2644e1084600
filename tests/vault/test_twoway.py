"""Both ways: edits, renames and deletions in the folder, changes in the bank, and conflicts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.errors import InvalidInput, NotFound
from recollect.types import State

from .conftest import BANK, Run

NOTE = """\
---
# kept by hand
id: keys
title: 'Rotate keys'   # short
type: lesson
custom: [1, {a: b}]
tags:
  - ops   # on call
  - keys
---

# Rotate keys

Rotate the signing keys every month.
"""


@pytest.fixture
def note(vault: Path, run: Run) -> Path:
    path = vault / "keys.md"
    path.write_text(NOTE)
    run()
    return path


# --- from the folder -----------------------------------------------------------------------


def test_an_edited_text_is_the_memorys_new_wording(memory: Recollect, note: Path, run: Run) -> None:
    note.write_text(NOTE.replace("every month", "every week"))
    assert run().updated == ["keys.md"]
    assert "every week" in memory.load(BANK, "keys").text
    assert "every month" in memory.revisions(BANK, "keys")[-1].text


def test_an_edited_field_goes_to_the_memory(memory: Recollect, note: Path, run: Run) -> None:
    note.write_text(NOTE.replace("type: lesson", "type: decision").replace("  - keys\n", ""))
    run()
    found = memory.load(BANK, "keys")
    assert (found.kind, found.tags) == ("decision", ("ops",))


def test_an_edit_that_keeps_size_and_time_is_seen(memory: Recollect, note: Path, run: Run) -> None:
    import os

    held = note.stat()
    note.write_text(NOTE.replace("month", "mouth"))
    os.utime(note, ns=(held.st_atime_ns, held.st_mtime_ns))
    run()
    assert "every mouth" in memory.load(BANK, "keys").text


def test_a_renamed_note_stays_its_memory(memory: Recollect, note: Path, run: Run) -> None:
    (note.parent / "ops").mkdir()
    note.rename(note.parent / "ops" / "rotation.md")
    report = run()
    assert report.renamed == ["ops/rotation.md"] and not report.retained and not report.withdrawn
    assert memory.load(BANK, "keys").metadata["note"] == "ops/rotation.md"


def test_a_renamed_note_without_an_id_is_known_by_what_it_says(
    memory: Recollect, vault: Path, run: Run
) -> None:
    (vault / "a.md").write_text("Tea is served at four.")
    run()
    (before,) = memory.memories(BANK)
    (vault / "a.md").rename(vault / "tea.md")
    assert run().renamed == ["tea.md"]
    (after,) = memory.memories(BANK)
    assert (after.id, after.title) == (before.id, "tea")


def test_a_deleted_note_withdraws_its_memory(memory: Recollect, note: Path, run: Run) -> None:
    note.unlink()
    assert run().withdrawn == ["keys.md"]
    assert memory.load(BANK, "keys").state is State.INVALIDATED
    assert not note.exists()


def test_a_note_that_comes_back_is_remembered_again(
    memory: Recollect, note: Path, run: Run
) -> None:
    note.unlink()
    run()
    note.write_text(NOTE)
    assert run().restored == ["keys.md"]
    assert memory.load(BANK, "keys").state is State.ACTIVE


def test_a_deleted_note_is_forgotten_when_asked(memory: Recollect, note: Path, run: Run) -> None:
    note.unlink()
    assert run(forget=True).forgotten == ["keys.md"]
    with pytest.raises(NotFound):
        memory.load(BANK, "keys")


def test_a_note_marked_obsolete_is_withdrawn_and_unmarked_it_holds_again(
    memory: Recollect, note: Path, run: Run
) -> None:
    note.write_text(NOTE.replace("type: lesson", "type: lesson\nobsolete: true"))
    run()
    assert memory.load(BANK, "keys").state is State.INVALIDATED
    note.write_text(NOTE)
    run()
    assert memory.load(BANK, "keys").state is State.ACTIVE


def test_an_edited_document_is_read_again(memory: Recollect, obsidian: Path, run: Run) -> None:
    run()
    guide = obsidian / "Projects/Apollo/Migration guide.md"
    before = {m.id for m in memory.memories(BANK, limit=1000)}
    guide.write_text(guide.read_text() + "\nThe rollback takes nine minutes.\n")
    run()
    after = {m.id: m for m in memory.memories(BANK, limit=1000)}
    assert any("rollback" in m.text for m in after.values())
    assert len(before - after.keys()) <= 1  # the statement that was added to


def test_a_note_that_outgrows_a_memory_becomes_a_document(
    memory: Recollect, note: Path, run: Run
) -> None:
    parts = [
        f"\n## Part {n}\n\nThe gate of hall {n} closes at {n} o'clock, says the plan.\n"
        for n in range(200)
    ]
    note.write_text(NOTE + "".join(parts))
    run()
    found = memory.memories(BANK, document_id="keys", limit=1000)
    assert len(found) > 100 and all(m.state is State.ACTIVE for m in found)
    assert memory.load(BANK, "keys").state is State.INVALIDATED
    assert not run().changed
    note.write_text(NOTE + "".join(parts[:-1]))
    assert run().updated == ["keys.md"]
    assert len(memory.memories(BANK, document_id="keys", limit=1000)) < len(found)


def test_what_a_note_said_from_the_start_is_held_when_it_outgrows_a_memory(
    memory: Recollect, vault: Path, run: Run
) -> None:
    (vault / "choir.md").write_text(MORE)
    run()
    grown = [MORE, *(f"Person{n} moved to the town of Place{n} for work." for n in range(400))]
    (vault / "choir.md").write_text("\n\n".join(grown))
    run()
    assert _held(memory) == sorted(grown)
    assert not run().changed


def test_links_may_use_titles_and_aliases(memory: Recollect, obsidian: Path, run: Run) -> None:
    (obsidian / "all.md").write_text("All of it: [[Money]] and [[apollo PLAN]].")
    run()
    own = next(m for m in memory.memories(BANK) if m.title == "all")
    targets = {k.target for k in memory.links(BANK, own.id) if k.kind == "related"}
    titles = {memory.load(BANK, t).title for t in targets}
    assert titles == {"Budget", "Apollo plan"}


def test_a_copy_of_a_document_is_in_step_and_makes_no_second_memories(
    memory: Recollect, obsidian: Path, run: Run
) -> None:
    run()
    guide = obsidian / "Projects/Apollo/Migration guide.md"
    count = len(memory.memories(BANK, limit=1000))
    (obsidian / "Copy.md").write_text(guide.read_text())
    assert run().retained == ["Copy.md"]
    assert len(memory.memories(BANK, limit=1000)) == count
    assert not run().changed
    (obsidian / "Copy.md").write_text(guide.read_text() + "\nThe rollback takes nine minutes.\n")
    assert run().updated == ["Copy.md"]
    assert len(memory.memories(BANK, limit=1000)) == count + 1
    (obsidian / "Copy.md").unlink()
    run()
    assert not run().changed


def test_a_document_renamed_and_edited_at_once_keeps_its_statements(
    memory: Recollect, vault: Path, run: Run
) -> None:
    said = [f"Person{n} moved to the town of Place{n} for work." for n in range(60)]
    (vault / "a.md").write_text("\n\n".join(said))
    run()
    (vault / "a.md").unlink()
    (vault / "b.md").write_text("\n\n".join([*said, "Zed sings in the choir."]))
    report = run()
    assert (report.retained, report.withdrawn) == (["b.md"], ["a.md"])
    held = " ".join(m.text for m in memory.memories(BANK, state="active"))
    assert all(one in held for one in said)


# --- documents that say the same ------------------------------------------------------------

SAID = [f"Person{n} moved to the town of Place{n} for work." for n in range(60)]
MORE = "Zed sings in the choir."


@pytest.fixture
def shared(vault: Path, run: Run) -> Path:
    """One note, then two that say all of it; the second has one statement more, the third none."""
    for name, said in (("a.md", SAID), ("b.md", [*SAID, MORE]), ("c.md", SAID)):
        (vault / name).write_text("\n\n".join(said))
        run()
    return vault


def _held(memory: Recollect) -> list[str]:
    return sorted(m.text for m in memory.memories(BANK, state="active", limit=1000))


@pytest.mark.parametrize("forget", [False, True])
@pytest.mark.parametrize("order", ["abc", "acb", "bac", "bca", "cab", "cba"])
def test_what_other_notes_still_say_is_held(
    memory: Recollect, shared: Path, run: Run, order: str, forget: bool
) -> None:
    for number, gone in enumerate(order):
        (shared / f"{gone}.md").unlink()
        report = run(forget=forget)
        assert (report.forgotten if forget else report.withdrawn) == [f"{gone}.md"]
        left = order[number + 1 :]
        wanted = sorted([*SAID, MORE] if "b" in left else SAID) if left else []
        assert _held(memory) == wanted
        assert run(forget=forget).said() == "nothing to do"
        assert sorted(p.name for p in shared.glob("**/*.md")) == [f"{n}.md" for n in sorted(left)]


def test_notes_deleted_together_leave_nothing_to_each_other(
    memory: Recollect, shared: Path, run: Run
) -> None:
    (shared / "a.md").unlink()
    (shared / "b.md").unlink()
    run()
    assert _held(memory) == sorted(SAID)
    assert {m.metadata["note"] for m in memory.memories(BANK, state="active")} == {"c.md"}
    assert not run().changed


@pytest.mark.parametrize("one_way", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_a_note_that_took_statements_over_can_be_edited(
    memory: Recollect, shared: Path, run: Run, at_once: bool, one_way: bool
) -> None:
    (shared / "c.md").unlink()
    run(one_way=one_way)
    (shared / "a.md").unlink()
    if not at_once:
        run(one_way=one_way)
    (shared / "b.md").write_text("\n\n".join([*SAID[1:], "Zed sings in the opera."]))
    assert run(one_way=one_way).updated == ["b.md"]
    assert _held(memory) == sorted([*SAID[1:], "Zed sings in the opera."])
    assert not run(one_way=one_way).changed


def test_a_statement_taken_out_does_not_bring_back_a_note_that_was_deleted(
    memory: Recollect, shared: Path, run: Run
) -> None:
    (shared / "b.md").unlink()
    (shared / "c.md").unlink()
    run()
    (shared / "a.md").write_text("\n\n".join(SAID[1:]))
    report = run()
    assert (report.updated, report.written) == (["a.md"], [])
    assert _held(memory) == sorted(SAID[1:])


def test_nor_one_that_was_obsolete_before(memory: Recollect, shared: Path, run: Run) -> None:
    (shared / "c.md").unlink()
    copy = shared / "b.md"
    copy.write_text(f"---\nobsolete: true\n---\n{copy.read_text()}")
    run()
    copy.unlink()
    run()
    (shared / "a.md").write_text("\n\n".join(SAID[1:]))
    assert run().written == []
    assert _held(memory) == sorted(SAID[1:])


def test_what_a_note_says_that_is_still_to_be_written_is_held(
    memory: Recollect, shared: Path, run: Run
) -> None:
    (shared / "b.md").unlink()
    (shared / "c.md").unlink()
    run()
    memory.retain(BANK, {"content": "\n\n".join([*SAID, MORE, "Ida dives."]), "document_id": "d"})
    (shared / "a.md").unlink()
    report = run()
    assert report.withdrawn == ["a.md"] and len(report.written) == 1
    assert _held(memory) == sorted([*SAID, MORE, "Ida dives."])
    assert not run().changed


@pytest.mark.parametrize("how", ["withdraw", "forget", "obsolete"])
@pytest.mark.parametrize("moved", [False, True])
def test_what_a_document_says_as_well_does_not_go_with_a_short_note(
    memory: Recollect, vault: Path, run: Run, how: str, moved: bool
) -> None:
    short, long = vault / "short.md", vault / "long.md"
    short.write_text(MORE)
    run()
    long.write_text("\n\n".join([*SAID, MORE]))
    run()
    assert _held(memory) == sorted([*SAID, MORE])
    if moved:
        long.rename(vault / "elsewhere.md")
    if how == "obsolete":
        short.write_text(f"---\nobsolete: true\n---\n{MORE}")
    else:
        short.unlink()
    report = run(forget=how == "forget")
    assert report.withdrawn + report.forgotten == ["short.md"]
    assert _held(memory) == sorted([*SAID, MORE])
    assert run().said() == "nothing to do"
    (vault / "elsewhere.md" if moved else long).write_text("\n\n".join(SAID))
    run()
    assert _held(memory) == sorted(SAID)
    short.write_text(MORE)
    run()
    assert _held(memory) == sorted([*SAID, MORE])
    assert not run().changed


def test_a_document_says_what_it_said_when_a_short_note_says_something_else(
    memory: Recollect, vault: Path, run: Run
) -> None:
    (vault / "short.md").write_text(MORE)
    run()
    (vault / "long.md").write_text("\n\n".join([*SAID, MORE]))
    run()
    (vault / "short.md").write_text("Zed conducts the town orchestra.")
    run()
    assert _held(memory) == sorted([*SAID, MORE, "Zed conducts the town orchestra."])
    assert not run().changed


def test_a_sync_killed_between_the_two_goes_on(
    memory: Recollect, vault: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / "short.md").write_text(MORE)
    run()
    (vault / "long.md").write_text("\n\n".join([*SAID, MORE]))
    run()
    (vault / "short.md").unlink()
    invalidate = type(memory).invalidate

    def killed(*given: Any) -> None:
        invalidate(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(type(memory), "invalidate", killed)
        run()
    assert MORE not in _held(memory)
    run()
    assert _held(memory) == sorted([*SAID, MORE])
    assert not run().changed


def test_an_obsolete_document_leaves_to_others_what_they_say_as_well(
    memory: Recollect, shared: Path, run: Run
) -> None:
    first, only = shared / "a.md", "Ida dives."
    first.write_text("\n\n".join([*SAID, only]))
    run()
    assert only in _held(memory)
    plain = first.read_text()
    first.write_text(f"---\nobsolete: true\n---\n{plain}")
    assert run().withdrawn == ["a.md"]
    assert _held(memory) == sorted([*SAID, MORE])
    assert run().said() == "nothing to do"
    first.write_text(plain)
    run()
    assert _held(memory) == sorted([*SAID, MORE, only])
    assert not run().changed


def test_documents_obsolete_at_once_leave_nothing_to_each_other(
    memory: Recollect, shared: Path, run: Run
) -> None:
    for name in ("a.md", "b.md", "c.md"):
        text = (shared / name).read_text()
        (shared / name).write_text(f"---\nobsolete: true\n---\n{text}")
    run()
    assert _held(memory) == []
    assert not run().changed


def test_a_document_that_comes_back_is_remembered_again(
    memory: Recollect, shared: Path, run: Run
) -> None:
    text = (shared / "b.md").read_text()
    for name in ("a.md", "b.md", "c.md"):
        (shared / name).unlink()
        run()
    (shared / "b.md").write_text(text)
    report = run()
    assert not report.conflicts and _held(memory) == sorted([*SAID, MORE])
    assert not run().changed


def test_a_document_renamed_while_the_state_was_lost_is_the_same(
    memory: Recollect, obsidian: Path, run: Run
) -> None:
    import shutil

    run()
    before = sorted(m.id for m in memory.memories(BANK, limit=1000))
    (obsidian / "Projects/Apollo/Migration guide.md").rename(obsidian / "Guide.md")
    shutil.rmtree(obsidian / ".recollect")
    run()
    assert sorted(m.id for m in memory.memories(BANK, limit=1000)) == before
    assert not run().changed


def test_a_statement_that_was_withdrawn_stays_so_when_its_document_changes(
    memory: Recollect, obsidian: Path, run: Run
) -> None:
    run()
    one = next(m for m in memory.memories(BANK) if "part 3" in m.text)
    memory.invalidate(BANK, one.id)
    guide = obsidian / "Projects/Apollo/Migration guide.md"
    guide.write_text(guide.read_text() + "\nThe rollback takes nine minutes.\n")
    run()
    states = {m.state for m in memory.memories(BANK, limit=1000) if m.text == one.text}
    assert states == {State.INVALIDATED}


# --- from the bank -------------------------------------------------------------------------


def test_a_new_memory_becomes_a_note(memory: Recollect, vault: Path, run: Run) -> None:
    memory.retain(
        BANK,
        {"text": "Priya prefers tea.", "kind": "lesson", "tags": ["people"], "title": "Priya: tea?",
         "metadata": {"source": "chat #1", "count": 3}, "recall_when": ["offering a drink"]},
    )  # fmt: skip
    report = run()
    assert report.written == ["memories/Priya tea.md"]
    text = (vault / report.written[0]).read_text()
    (found,) = memory.memories(BANK)
    created = found.mentioned_at.strftime("%Y-%m-%dT%H:%M:%SZ") if found.mentioned_at else ""
    assert text == (
        f'---\nid: {found.id}\ntitle: "Priya: tea?"\ntype: lesson\ntags:\n  - people\n'
        f"recall_when:\n  - offering a drink\ncreated: {created}\n"
        f'source: "chat #1"\ncount: 3\n---\n\nPriya prefers tea.\n'
    )


@pytest.mark.parametrize(
    "times",
    [
        {"occurred_start": "2026-01-01"},
        {"occurred_start": "2026-01-01", "occurred_end": "2026-01-05"},
        {"occurred_start": "2026-01-01T10:00:00Z", "occurred_end": "2026-01-01T11:30:00Z"},
    ],
)
def test_times_come_back_as_they_were(
    memory: Recollect, vault: Path, run: Run, times: dict[str, str]
) -> None:
    memory.retain(BANK, {"text": "The lamp of the stair hummed.", "id": "a", **times})
    (path,) = run().written
    text = (vault / path).read_text()
    assert all(f"{key}: {value}" in text for key, value in times.items())
    assert text.count("occurred_") == len(times)
    held = memory.load(BANK, "a")
    memory.forget(BANK, "a")
    (vault / path).write_text(text + "More of it.\n")
    run()
    again = memory.load(BANK, "a")
    assert (again.occurred_start, again.occurred_end) == (held.occurred_start, held.occurred_end)


def test_metadata_that_would_mean_something_else_in_a_note_stays_in_the_bank(
    memory: Recollect, vault: Path, run: Run
) -> None:
    memory.retain(BANK, {"text": "Tea at four.", "id": "a", "metadata": {"title": "no", "x": 1}})
    (path,) = run().written
    text = (vault / path).read_text()
    assert "title" not in text and "x: 1" in text
    assert memory.load(BANK, "a").metadata == {"title": "no", "x": 1}


def test_a_topic_is_written_as_a_path(memory: Recollect, vault: Path, run: Run) -> None:
    memory.retain(BANK, {"text": "Tea at four.", "id": "a", "topic_path": "home/kitchen"})
    (path,) = run().written
    assert "topic_path:\n  - home\n  - kitchen\n" in (vault / path).read_text()
    memory.update(BANK, "a", topic_path="home/hall")
    run()
    assert "topic_path:\n  - home\n  - hall\n" in (vault / path).read_text()
    assert not run().changed


def test_a_document_becomes_one_note(memory: Recollect, vault: Path, run: Run) -> None:
    text = "\n\n".join(f"Rule {n}: the gate of hall {n} closes at {n} o'clock." for n in range(30))
    memory.retain(BANK, {"content": text, "document_id": "rules", "title": "Rules"})
    report = run()
    assert len(report.written) == 1
    body = (vault / report.written[0]).read_text()
    assert all(f"Rule {n}:" in body for n in range(30))
    assert not run().changed


def test_a_correction_is_written_into_the_note_and_nothing_else_is(
    memory: Recollect, note: Path, run: Run
) -> None:
    held = memory.load(BANK, "keys")
    memory.update(BANK, "keys", text=held.text.replace("every month", "every week"))
    assert run().edited == ["keys.md"]
    assert note.read_text() == NOTE.replace("every month", "every week")


def test_a_review_is_written_into_the_note(memory: Recollect, note: Path, run: Run) -> None:
    memory.update(BANK, "keys", last_reviewed_at=datetime(2026, 11, 1, 9, 30, tzinfo=UTC))
    run()
    assert note.read_text() == NOTE.replace(
        "  - keys\n---", "  - keys\nlast_reviewed_at: 2026-11-01T09:30:00Z\n---"
    )


def test_tags_are_added_and_taken_away_line_by_line(
    memory: Recollect, note: Path, run: Run
) -> None:
    memory.update(BANK, "keys", tags=["ops", "security"])
    run()
    assert note.read_text() == NOTE.replace("  - keys\n", "  - security\n")


def test_withdrawn_and_superseded_are_written_into_the_notes(
    memory: Recollect, note: Path, vault: Path, run: Run
) -> None:
    (vault / "new.md").write_text("---\nid: new\n---\nKeys rotate by themselves.\n")
    run()
    memory.supersede(BANK, "keys", "new")
    run()
    assert "superseded_by: new\n" in note.read_text()
    memory.invalidate(BANK, "new")
    run()
    assert "state: invalidated\n" in (vault / "new.md").read_text()
    assert not run().changed


def test_a_note_may_change_places_with_its_successor(
    memory: Recollect, vault: Path, run: Run
) -> None:
    texts = {"a": "Tea is served at four.", "b": "Coffee is served at five."}

    def write(**by: str) -> None:
        for name, text in texts.items():
            said = f"superseded_by: {by[name]}\n" if name in by else ""
            (vault / f"{name}.md").write_text(f"---\nid: {name}\n{said}---\n{text}\n")

    for old, new in ("ab", "ba", "ab"):
        write(**{old: new})
        assert run().problems == []
        assert memory.load(BANK, old).superseded_by == new
        assert memory.load(BANK, new).state is State.ACTIVE
        assert not run().changed
    write(a="b", b="a")
    (problem,) = run().problems
    assert "cannot replace b, which has replaced it" in problem.cause
    assert memory.load(BANK, "b").state is State.ACTIVE
    assert not run().changed
    assert "superseded_by: a\n" in (vault / "b.md").read_text()


def test_a_plain_note_gets_frontmatter_only_when_there_is_something_to_say(
    memory: Recollect, vault: Path, run: Run
) -> None:
    (vault / "a.md").write_bytes(b"\xef\xbb\xbfTea is served at four.\r\nAlways.")
    run()
    (held,) = memory.memories(BANK)
    memory.update(BANK, held.id, valid_until=datetime(2027, 1, 1, tzinfo=UTC))
    run()
    assert (vault / "a.md").read_bytes() == (
        b"\xef\xbb\xbf---\r\nvalid_until: 2027-01-01\r\n---\r\nTea is served at four.\r\nAlways."
    )
    assert not run().changed


def test_a_forgotten_memorys_note_is_set_aside(memory: Recollect, note: Path, run: Run) -> None:
    memory.forget(BANK, "keys")
    assert run().set_aside == ["keys.md"]
    assert (note.parent / ".recollect/forgotten/keys.md").read_text() == NOTE
    assert not run().changed


def test_a_note_edited_after_its_memory_was_forgotten_is_remembered_anew(
    memory: Recollect, note: Path, run: Run
) -> None:
    memory.forget(BANK, "keys")
    note.write_text(NOTE.replace("every month", "every week"))
    assert run().retained == ["keys.md"]
    assert "every week" in memory.load(BANK, "keys").text


def test_links_to_a_memory_made_anew_are_drawn_anew(
    memory: Recollect, note: Path, vault: Path, run: Run
) -> None:
    (vault / "see.md").write_text("See [[keys]] for more.")
    run()
    memory.forget(BANK, "keys")
    note.write_text(NOTE.replace("every month", "every week"))
    run()
    assert [k.target for k in memory.links(BANK, "keys") if k.kind == "related"] == ["keys"]


def test_a_corrected_statement_replaces_its_old_wording_in_the_document(
    memory: Recollect, obsidian: Path, run: Run
) -> None:
    run()
    one = next(m for m in memory.memories(BANK) if "part 3" in m.text)
    memory.update(BANK, one.id, text="Part 3 was dropped from the guide.")
    run()
    guide = (obsidian / "Projects/Apollo/Migration guide.md").read_text()
    assert "Part 3 was dropped from the guide." in guide and one.text not in guide
    assert not run().changed
    assert memory.load(BANK, one.id).text == "Part 3 was dropped from the guide."


def test_a_document_with_a_corrected_statement_says_what_its_note_says(
    memory: Recollect, vault: Path, run: Run
) -> None:
    said = [f"Person{n} moved to the town of Place{n} for work." for n in range(60)]
    (vault / "a.md").write_text("\n\n".join(said))
    run()
    one = next(m for m in memory.memories(BANK, limit=1000) if "Person7 " in m.text)
    memory.update(BANK, one.id, text="Person7 moved to Rio.")
    run()
    (held,) = memory.documents(BANK)
    assert "Person7 moved to Rio." in (memory.document(BANK, held.id).text or "")
    (vault / "a.md").rename(vault / "b.md")
    assert run().renamed == ["b.md"]
    assert memory.load(BANK, one.id).state is State.ACTIVE


def test_a_mode_is_kept(memory: Recollect, note: Path, run: Run) -> None:
    note.chmod(0o640)
    memory.update(BANK, "keys", scope="ops")
    run()
    assert note.stat().st_mode & 0o777 == 0o640


# --- both at once --------------------------------------------------------------------------


def test_changes_of_different_fields_are_merged(memory: Recollect, note: Path, run: Run) -> None:
    note.write_text(NOTE.replace("every month", "every week"))
    memory.update(BANK, "keys", scope="ops")
    report = run()
    assert report.conflicts == []
    assert "every week" in memory.load(BANK, "keys").text
    assert "scope: ops" in note.read_text()


def test_a_conflict_keeps_both_sides(memory: Recollect, note: Path, run: Run) -> None:
    note.write_text(NOTE.replace("every month", "every week"))
    memory.update(BANK, "keys", text="# Rotate keys\n\nRotate the signing keys every day.")
    (other,) = run().conflicts
    assert "every week" in note.read_text() and "every week" in memory.load(BANK, "keys").text
    kept = (note.parent / other).read_text()
    assert (
        other.startswith("keys (conflict ") and "every day" in kept and "conflict_of: keys" in kept
    )


def test_a_conflict_note_is_no_memory_and_is_named_until_it_is_settled(
    memory: Recollect, note: Path, run: Run
) -> None:
    note.write_text(NOTE.replace("every month", "every week"))
    memory.update(BANK, "keys", text="Rotate the signing keys every day.")
    (other,) = run().conflicts
    again = run()
    assert again.open_conflicts == [other] and not again.changed
    assert len(memory.memories(BANK)) == 1
    (note.parent / other).unlink()
    assert run().open_conflicts == []


def test_the_same_change_on_both_sides_is_no_conflict(
    memory: Recollect, note: Path, run: Run
) -> None:
    note.write_text(NOTE.replace("every month", "every week"))
    memory.update(BANK, "keys", text=memory.load(BANK, "keys").text.replace("month", "week"))
    assert run().conflicts == []


def test_a_note_deleted_while_its_memory_changed_is_written_again(
    memory: Recollect, note: Path, run: Run
) -> None:
    note.unlink()
    memory.update(BANK, "keys", text="Rotate the signing keys every day.")
    assert run().written == ["keys.md"]
    assert "every day" in note.read_text()


# --- looking first, and limits -------------------------------------------------------------


def test_a_dry_run_says_and_changes_nothing(memory: Recollect, note: Path, run: Run) -> None:
    memory.retain(BANK, {"text": "Tea at four.", "id": "tea"})
    note.write_text(NOTE.replace("every month", "every week"))
    before = memory.bank(BANK).updated_at
    report = run(dry_run=True)
    assert report.updated == ["keys.md"] and len(report.written) == 1
    assert memory.bank(BANK).updated_at == before
    assert not (note.parent / "memories").exists()


def test_a_dry_run_makes_no_bank(memory: Recollect, bastra: Path, run: Run) -> None:
    assert len(run(dry_run=True).retained) == 5
    assert memory.banks() == []


def test_one_way_writes_no_notes(memory: Recollect, note: Path, run: Run) -> None:
    memory.retain(BANK, "Tea is served at four.")
    memory.update(BANK, "keys", scope="ops")
    run(one_way=True)
    assert note.read_text() == NOTE and not (note.parent / "memories").exists()


def test_what_one_way_did_not_write_is_written_later(
    memory: Recollect, note: Path, run: Run
) -> None:
    memory.update(BANK, "keys", scope="ops")
    run(one_way=True)
    run(one_way=True)
    assert run().edited == ["keys.md"]
    assert "scope: ops" in note.read_text()


def test_a_write_that_failed_is_made_up_for(
    memory: Recollect, note: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from recollect.vault import files

    memory.update(BANK, "keys", scope="ops")
    with monkeypatch.context() as full:
        full.setattr(files, "_still", _no_room)  # the disk fills up while the note is written
        report = run()
    assert "No space left" in report.problems[0].cause and note.read_text() == NOTE
    assert sorted(p.name for p in note.parent.iterdir()) == [".recollect", "keys.md"]
    assert run().edited == ["keys.md"]


def _no_room(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_statement_that_another_note_replaces_is_not_written_into_its_note(
    memory: Recollect, vault: Path, run: Run
) -> None:
    (vault / "2020-01-01.md").write_text("Priya lives in Berlin.")
    run()
    (vault / "2026-01-01.md").write_text("Priya lives in Rome.")
    run()
    states = {m.title: m.state for m in memory.memories(BANK)}
    assert states["2020-01-01"] is State.SUPERSEDED
    assert (vault / "2020-01-01.md").read_text() == "Priya lives in Berlin."


def test_a_folder_that_is_suddenly_empty_is_not_believed(
    memory: Recollect, vault: Path, run: Run
) -> None:
    for n in range(20):
        (vault / f"{n}.md").write_text(f"The gate of hall {n} closes at {n}.")
    run()
    for path in vault.glob("*.md"):
        path.unlink()
    with pytest.raises(InvalidInput, match="20 of 20 notes are gone"):
        run()
    assert len(run(force=True).withdrawn) == 20


def test_a_store_from_a_backup_does_not_set_notes_aside(
    memory: Recollect, vault: Path, run: Run
) -> None:
    for n in range(20):
        (vault / f"{n}.md").write_text(f"The gate of hall {n} closes at {n}.")
    run()
    for m in memory.memories(BANK):
        memory.forget(BANK, m.id)
    with pytest.raises(InvalidInput, match="20 of 20 memories are gone"):
        run()
    assert len(list(vault.glob("*.md"))) == 20


def test_two_folders_of_one_bank_come_to_hold_the_same(memory: Recollect, tmp_path: Path) -> None:
    from recollect.vault import sync

    one, two = tmp_path / "one", tmp_path / "two"
    for folder, name, text in (
        (one, "bees.md", "Alice keeps bees."),
        (two, "sail.md", "Bob sails on Sundays."),
        (one, "same.md", "Roses stand by the gate."),
        (two, "same.md", "Tulips stand by the gate."),
    ):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    for folder in (one, two, one, two):
        sync(memory, BANK, folder)
    assert (one / "memories/sail.md").exists() and (two / "memories/bees.md").exists()
    assert (one / "same.md").read_text() == (two / "same.md").read_text()
    assert any("Roses" in path.read_text() for path in two.glob("same (conflict *).md"))
    (one / "bees.md").unlink()
    for folder in (one, two):
        sync(memory, BANK, folder)
    assert "state: invalidated" in (two / "memories/bees.md").read_text()
    assert not any(sync(memory, BANK, folder).changed for folder in (one, two))
