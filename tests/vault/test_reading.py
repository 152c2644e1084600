"""What a sync reads: a Bastra vault and an Obsidian folder, as they are."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from recollect import Recollect
from recollect.types import Arm, LinkKind, State

from .conftest import BANK, Run


def files(folder: Path) -> dict[str, bytes]:
    found = (p for p in folder.rglob("*") if p.is_file() and ".recollect" not in p.parts)
    return {str(p.relative_to(folder)): p.read_bytes() for p in found}


def linked(memory: Recollect, memory_id: str) -> dict[str, float]:
    links = memory.links(BANK, memory_id)
    return {
        k.target: k.weight for k in links if k.kind is LinkKind.RELATED and k.source == memory_id
    }


# --- Bastra --------------------------------------------------------------------------------


def test_a_note_with_frontmatter_is_one_memory_under_its_id(
    memory: Recollect, bastra: Path, run: Run
) -> None:
    run()
    found = memory.load(BANK, "css-input-focus-ring")
    assert found.title == "Use one focus style on inputs"
    assert found.kind == "lesson"
    assert found.scope == "all-projects"
    assert found.topic_path == "css/input/focus"
    assert found.tags == ("accessibility", "css", "input")
    assert found.recall_when == ("creating a new input component", "writing form css")
    assert found.text.startswith("## Rule\nUse one focus treatment")


def test_generated_sections_are_no_part_of_the_memory(
    memory: Recollect, bastra: Path, run: Run
) -> None:
    run()
    assert "Auto-Related" not in memory.load(BANK, "css-input-focus-ring").text


def test_what_has_no_field_is_kept_as_metadata(memory: Recollect, bastra: Path, run: Run) -> None:
    run()
    kept = memory.load(BANK, "css-input-focus-ring").metadata
    assert kept["source"] == "code review, third time"
    assert kept["affects_files"] == ["src/components/Input.tsx"]


def test_its_age_is_the_authors(memory: Recollect, bastra: Path, run: Run) -> None:
    run()
    found = memory.load(BANK, "tailwind-layer-order")
    assert found.updated_at == datetime(2024, 1, 10, tzinfo=UTC)
    assert found.mentioned_at == datetime(2024, 1, 10, tzinfo=UTC)
    assert "tailwind-layer-order" in {d.memory.id for d in memory.due(BANK, state="expired")}


def test_superseded_by_retires(memory: Recollect, bastra: Path, run: Run) -> None:
    run()
    old = memory.load(BANK, "storage-json-files")
    assert (old.state, old.superseded_by) == (State.SUPERSEDED, "storage-sqlite")


def test_related_and_related_via_become_links_with_their_weight(
    memory: Recollect, bastra: Path, run: Run
) -> None:
    run()
    assert linked(memory, "css-input-focus-ring") == {
        "css-effects-do-not-stack": 1.0,
        "tailwind-layer-order": 0.812,
    }


def test_authored_phrases_weigh_most(real: Recollect, bastra: Path) -> None:
    from recollect.vault import sync

    sync(real, BANK, bastra)
    hits = real.recall(BANK, "creating a new input component")
    assert hits.results[0].id == "css-input-focus-ring"


def test_the_files_of_a_vault_are_left_as_they_are(
    memory: Recollect, bastra: Path, run: Run
) -> None:
    before = files(bastra)
    run()
    assert files(bastra) == before


# --- Obsidian ------------------------------------------------------------------------------


def by_title(memory: Recollect, title: str):
    return next(m for m in memory.memories(BANK) if m.title == title)


def test_a_plain_note_is_named_by_its_file_and_tagged_by_its_words(
    memory: Recollect, obsidian: Path, run: Run
) -> None:
    run()
    plan = by_title(memory, "Apollo plan")
    assert plan.tags == ("project/apollo", "urgent")
    assert plan.metadata["note"] == "Projects/Apollo/Apollo plan.md"


def test_wikilinks_with_alias_and_heading_and_markdown_links_are_links(
    memory: Recollect, obsidian: Path, run: Run
) -> None:
    run()
    targets = linked(memory, by_title(memory, "Index").id)
    titles = {memory.load(BANK, t).title for t in targets}
    assert titles == {"Apollo plan", "Budget", "2026-11-02"}


def test_code_links_and_tags_nothing(memory: Recollect, obsidian: Path, run: Run) -> None:
    run()
    plan = by_title(memory, "Apollo plan")
    assert set(linked(memory, plan.id)) == {by_title(memory, "Budget").id}


def test_a_long_plain_note_is_read_statement_by_statement(
    memory: Recollect, obsidian: Path, run: Run
) -> None:
    run()
    guide = [m for m in memory.memories(BANK) if m.title == "Migration guide"]
    assert len(guide) > 5
    assert len({m.document_id for m in guide}) == 1


def test_a_daily_note_was_told_on_its_day(memory: Recollect, obsidian: Path, run: Run) -> None:
    run()
    assert by_title(memory, "2026-11-02").mentioned_at == datetime(2026, 11, 2, tzinfo=UTC)


def test_each_entry_of_a_daily_note_is_of_that_day_or_of_its_own(
    memory: Recollect, vault: Path, run: Run
) -> None:
    (vault / "2026-11-12.md").write_text(
        "- Met Carol. The Atlas launch moves to January.\n- Bought a bike helmet for Mia.\n"
    )
    run()
    held = {m.text: m for m in memory.memories(BANK)}
    helmet = held["Bought a bike helmet for Mia."]
    assert (helmet.occurred_start, helmet.mentioned_at) == (
        None,
        datetime(2026, 11, 12, tzinfo=UTC),
    )
    launch = held["Met Carol. The Atlas launch moves to January."]
    assert launch.occurred_start == datetime(2027, 1, 1, tzinfo=UTC)


def test_each_line_of_a_daily_note_that_is_a_sentence_is_an_entry(
    memory: Recollect, vault: Path, run: Run
) -> None:
    lines = [
        "Dentist on Thursday.",
        "The kiln is called Vesuv. #pottery",
        "A long thought",
        "goes on here.",
    ]
    note = vault / "2026-11-12.md"
    note.write_text("\n".join(lines))
    run()
    assert {m.text for m in memory.memories(BANK)} == {*lines[:2], "A long thought\ngoes on here."}
    assert note.read_text() == "\n".join(lines) and not run().changed


def test_what_was_corrected_in_the_bank_is_corrected_in_the_line_of_a_daily_note(
    memory: Recollect, vault: Path, run: Run
) -> None:
    note = vault / "2026-11-12.md"
    note.write_text("The kiln is called Vesuv.\nBen came by.\n")
    run()
    (kiln,) = (m for m in memory.memories(BANK) if "kiln" in m.text)
    memory.update(BANK, kiln.id, text="The kiln is called Etna.")
    run()
    assert note.read_text() == "The kiln is called Etna.\nBen came by.\n"


def test_a_daily_note_with_a_title_of_its_own_is_one_memory(
    memory: Recollect, vault: Path, run: Run
) -> None:
    text = "- Met Carol.\n- Bought a bike helmet for Mia."
    (vault / "2026-11-12.md").write_text(f"---\ntitle: A good day\n---\n{text}\n")
    run()
    assert [m.text for m in memory.memories(BANK)] == [text]


def test_settings_and_attachments_are_ignored(memory: Recollect, obsidian: Path, run: Run) -> None:
    assert run().notes == 5
    assert not any("not a note" in m.text for m in memory.memories(BANK))


def test_a_plain_folder_is_left_as_it_is(memory: Recollect, obsidian: Path, run: Run) -> None:
    before = files(obsidian)
    run()
    assert files(obsidian) == before


def test_synced_again_there_is_nothing_to_do(memory: Recollect, obsidian: Path, run: Run) -> None:
    run()
    held = memory.bank(BANK).updated_at
    assert not run().changed
    assert memory.bank(BANK).updated_at == held


def test_a_lost_state_changes_nothing(memory: Recollect, obsidian: Path, run: Run) -> None:
    run()
    before = files(obsidian), sorted(m.id for m in memory.memories(BANK, limit=1000))
    shutil.rmtree(obsidian / ".recollect")
    run()
    assert (files(obsidian), sorted(m.id for m in memory.memories(BANK, limit=1000))) == before


def test_a_removed_link_is_no_link_any_more(memory: Recollect, obsidian: Path, run: Run) -> None:
    run()
    (obsidian / "Index.md").write_text("# Index\n\nOnly [[Budget]] now.\n")
    run()
    assert set(linked(memory, by_title(memory, "Index").id)) == {by_title(memory, "Budget").id}


def test_a_link_to_a_note_that_comes_later_is_drawn_when_it_comes(
    memory: Recollect, vault: Path, run: Run
) -> None:
    (vault / "a.md").write_text("See [[b]] for more.")
    run()
    (vault / "b.md").write_text("Here is more.")
    run()
    assert set(linked(memory, by_title(memory, "a").id)) == {by_title(memory, "b").id}


def test_a_link_in_a_document_is_one_of_the_statement_it_stands_in(
    memory: Recollect, obsidian: Path, run: Run
) -> None:
    run()
    (one,) = [m for m in memory.memories(BANK) if "pays for it" in m.text]
    assert set(linked(memory, one.id)) == {by_title(memory, "Budget").id}


def test_a_recall_follows_the_links(real: Recollect, vault: Path) -> None:
    from recollect.vault import sync

    (vault / "tea.md").write_text("Tea is served at four. [[figures]]")
    (vault / "figures.md").write_text("Quarterly numbers stay flat.")
    (vault / "others.md").write_text("Bicycles need a new shed.")
    sync(real, BANK, vault)
    asked = real.recall(BANK, "When is tea served?", min_score=0.0, expand_hops=1)
    graph = {h.memory.title for h in asked if Arm.GRAPH in h.arms or h.hop}
    assert "figures" in graph and "others" not in graph
