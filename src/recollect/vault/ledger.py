"""What both sides agree on, noted down after it was done."""

from __future__ import annotations

from dataclasses import replace

from recollect.vault import fields as mapping
from recollect.vault.bank import Unit
from recollect.vault.decide import Do, Step
from recollect.vault.fields import digests
from recollect.vault.links import sources
from recollect.vault.state import Entry
from recollect.vault.work import Work, once


def note_down(work: Work, step: Step, unit: Unit | None, *, unsent: bool = False) -> None:
    """What both sides look like now. Of the bank's fields, those that were sent are as it
    holds them now; the others as they were when they were compared: what somebody else
    changed meanwhile is found by the next sync."""
    pair, file = step.pair, step.pair.file
    if file is None or unit is None:
        return
    if pair.was is not None and pair.was != pair.path:
        let_go(work, step)
        if pair.path is not None:
            once(work.report.renamed, pair.path)
    before = pair.entry
    held = _bank_digests(step, unit)
    if unsent and before is not None:  # for the day on which notes may be written again
        held = {k: v for k, v in held.items() if k not in step.merge.to_file}
        held |= {k: v for k, v in before.bank.items() if k in step.merge.to_file}
    on_file, digest, stamp = digests(file.fields), file.digest, file.seen.stamp
    if step.do is Do.REWORD and before is not None:
        # read again by the next pass, as any edit: the document shall say what its note says
        on_file, digest, stamp = dict(before.file), "", ()
    elif step.do is not Do.RETAIN and pair.id in work.again:
        on_file, digest, stamp = {}, "", ()
    elif step.before is not None:
        on_file = _file_digests(step, on_file)
    work.state.entries[step.path] = Entry(
        id=pair.id,
        form=unit.form,
        digest=digest,
        stamp=stamp,
        file=on_file,
        bank=held,
        stamps=unit.stamps() if held == digests(unit.fields()) else "",
        names=file.note.names,
        links=file.note.links,
        anchor=unit.memories[0].id if unit.memories else None,
        sources=sources(file.note, unit.memories) if unit.form == "document" else {},
        linked=before.linked if before is not None else "",
    )


def note_superseded(work: Work, superseded: set[str]) -> None:
    """The bank finds out, at every sync of these notes, that a statement of one note replaces
    that of another. That is not a change to write into a file."""
    for path, entry in list(work.state.entries.items()):
        if entry.id in superseded and entry.form == "memory":
            held = digests(mapping.of_memory(work.memory.load(work.bank, entry.id)))
            known = {**entry.bank, **{k: v for k, v in held.items() if k == "retired"}}
            work.state.entries[path] = replace(entry, bank=known, stamps="")


def let_go(work: Work, step: Step) -> None:
    """The note is no longer where it was; another one may be there by now."""
    was = step.pair.was or ""
    if was in work.state.entries and work.state.entries[was].id == step.pair.id:
        del work.state.entries[was]


def _bank_digests(step: Step, unit: Unit) -> dict[str, str]:
    now = digests(unit.fields())
    if step.do is not Do.MERGE or step.pair.unit is None:
        return now
    seen = digests(step.pair.unit.fields())
    for key in step.merge.to_bank:
        seen.pop(key, None)
        if key in now:
            seen[key] = now[key]
    return seen


def _file_digests(step: Step, now: dict[str, str]) -> dict[str, str]:
    """An edit of one field may change another: a new text has another heading or #tag. That is a
    change of the note like any other, which the next pass finds."""
    before = digests(step.before or {})
    meant = {"text"} if step.do is Do.REWRITE else step.merge.to_file.keys()
    out = {key: mark for key, mark in before.items() if key not in meant}
    return out | {key: mark for key, mark in now.items() if key in meant}
