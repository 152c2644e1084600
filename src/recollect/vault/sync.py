"""A folder of Markdown and a bank, kept in step.

    report = sync(memory, "work", Path("notes"))

A pass looks at both sides, decides note by note and carries it out; passes are run until one
finds nothing to do. What was decided can be looked at first with `dry_run`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.errors import InvalidInput
from recollect.memory import Recollect
from recollect.options import Progress
from recollect.vault import bank as banks
from recollect.vault import files
from recollect.vault.bank import Unit
from recollect.vault.decide import Do, Step, decide
from recollect.vault.fields import mark
from recollect.vault.ledger import let_go, note_down, note_superseded
from recollect.vault.links import Names, changed_links, groups, links_may_differ
from recollect.vault.look import Looking, Sides
from recollect.vault.report import Report
from recollect.vault.state import State, alone, load, save, state_path
from recollect.vault.to_bank import ToBank
from recollect.vault.to_folder import ToFolder
from recollect.vault.work import Work

PASSES = 4
MUCH = 100
LINKED = 500  # notes whose links are handed over in one transaction


@dataclass(frozen=True, slots=True)
class Options:
    dry_run: bool = False
    one_way: bool = False  # from the folder to the bank only
    forget: bool = False  # a deleted note's memory is forgotten rather than withdrawn
    force: bool = False  # even when most notes, or most memories, are suddenly gone
    new_in: str = "memories"  # the folder in the vault for new notes


def sync(
    memory: Recollect,
    bank: str,
    folder: str | Path,
    options: Options | None = None,
    *,
    progress: Progress | None = None,
) -> Report:
    options = options or Options()
    root = _root(folder)
    began = time.monotonic()
    if bank not in {b.id for b in memory.banks()}:
        if options.dry_run:
            return _dry_without_bank(memory, root, options)
        memory.create_bank(bank)
    if options.dry_run:
        state = load(state_path(root, memory.bank(bank)))
        report = _Pass(memory, bank, root, options, state).run(None)
    else:
        try:
            with alone(root):
                report = _passes(memory, bank, root, options, progress)
        except OSError as error:
            raise InvalidInput(
                f"{root} cannot be synced: {error.strerror or error}",
                hint="a sync notes in the folder what it did: it must be writable",
            ) from error
    report.dry_run, report.seconds = options.dry_run, time.monotonic() - began
    return report


def _root(folder: str | Path) -> Path:
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise InvalidInput(f"there is no folder {root}", hint="make it first, or check the path")
    return root


def _dry_without_bank(memory: Recollect, root: Path, options: Options) -> Report:
    """Everything would be new."""
    sides = Looking(memory, "", root, State()).look(bank_changed=False, no_bank=True)
    report = Report(notes=len(sides.scan.files), dry_run=True)
    report.problems = sides.problems
    report.retained = [p.path for p in sides.pairs if p.path is not None]
    return report


def _passes(
    memory: Recollect, bank: str, root: Path, options: Options, progress: Progress | None
) -> Report:
    report = Report()
    path = state_path(root, memory.bank(bank))
    state = load(path)
    for _ in range(PASSES):
        found = _Pass(memory, bank, root, options, state).run(progress)
        report.add(found)
        # Without a state the next sync compares everything: after much work, that is worth saving.
        if state.dirty and (not found.changed or len(found.retained) > MUCH):
            save(path, state)
        if not found.changed:
            break
    else:
        save(path, state)
    return report


class _Pass:
    def __init__(
        self, memory: Recollect, bank: str, root: Path, options: Options, state: State
    ) -> None:
        self._memory = memory
        self._bank = bank
        self._root = root
        self._options = options
        self._report = Report()
        self._state = state
        self._before = dict(self._state.entries)
        self._failed = False
        self._names: Names | None = None
        self._changed = memory.bank(bank).updated_at.isoformat()

    def run(self, progress: Progress | None) -> Report:
        state, report = self._state, self._report
        looking = Looking(self._memory, self._bank, self._root, state)
        sides = looking.look(bank_changed=state.seen != self._changed)
        report.notes = len(sides.scan.files) - len(sides.conflicts)
        report.problems += sides.problems
        report.open_conflicts = sides.conflicts
        steps = self._decided(sides)
        if self._options.dry_run:
            self._foretell(steps)
            return report
        for left in sides.scan.leftovers:
            (self._root / left).unlink(missing_ok=True)
        self._carry_out(steps, sides, progress)
        self._refresh(sides)
        quiet = sides.listed and not report.changed and not self._failed
        seen = self._changed if quiet and not self._options.one_way else state.seen
        written = (report.written, report.edited, report.conflicts, report.set_aside)
        files.settle(self._root, (path for paths in written for path in paths))
        if links_may_differ(self._before, state.entries):
            self._link()
        state.dirty |= state.entries != self._before or seen != state.seen or sides.doubted
        state.seen = seen
        return report

    def _decided(self, sides: Sides) -> list[Step]:
        names: Names | None = None
        steps: list[Step] = []
        for pair in sides.pairs:
            if pair.file is not None and "retired" in pair.file.fields:
                names = names or Names(self._state.entries)
                said = str(pair.file.fields["retired"])
                pair.file.fields["retired"] = names.id(said) or said
            step = decide(pair, one_way=self._options.one_way)
            if step is not None:
                steps.append(step)
        self._not_everything(steps)
        return steps

    def _not_everything(self, steps: list[Step]) -> None:
        """A folder that is not mounted, or a store put back from a backup, looks like everybody
        deleting everything."""
        known = len(self._state.entries)
        for do, what in ((Do.WITHDRAW, "notes"), (Do.SET_ASIDE, "memories")):
            count = sum(step.do is do for step in steps)
            if count > max(10, known / 2) and not self._options.force:
                raise InvalidInput(
                    f"{count} of {known} {what} are gone since the last sync",
                    hint="if that is meant, say --force; otherwise look at the folder and --db",
                )

    # --- carrying out ------------------------------------------------------------------------

    def _carry_out(self, steps: list[Step], sides: Sides, progress: Progress | None) -> None:
        """In an order in which being killed at any point loses nothing: the other side of a
        conflict is on disk before the bank is changed, the bank is changed before a note is."""
        by: dict[Do, list[Step]] = {do: [s for s in steps if s.do is do] for do in Do}
        work = Work(self._memory, self._bank, self._root, self._state, self._report)
        bank, folder = ToBank(work, self._named), ToFolder(work)
        # First: a note renamed and edited at once is one gone and one new, and what both say would
        # be known from the one, and be withdrawn with it.
        heirs, forget = self._heirs(steps), self._options.forget
        for step in by[Do.WITHDRAW]:
            work.guard(step, lambda s=step: bank.withdraw(s, heirs, forget=forget))
        safe = [s for s in by[Do.RETAIN] if work.guard(s, lambda s=s: folder.keep_other_side(s))]
        bank.retain(safe, progress)
        heirs |= {s.pair.id for s in bank.retained if s.form == "document" and not _says_retired(s)}
        self._note_retained(work, bank, heirs)
        merged = [
            s
            for s in by[Do.MERGE]
            if work.guard(s, lambda s=s: self._merge(bank, folder, s, heirs))
        ]
        kept = [s for s in by[Do.KEEP] if work.guard(s, lambda s=s: bank.rename(s))]
        for step in (*merged, *kept):
            note_down(work, step, self._unit(step), unsent=self._options.one_way)
        self._retire(work, bank, [s for s in merged if "retired" in s.merge.to_bank], heirs)
        if not self._options.one_way:
            self._to_folder(work, bank, folder, by, sides)
        for step in by[Do.DROP]:
            let_go(work, step)
        self._failed = work.failed

    def _heirs(self, steps: list[Step]) -> frozenset[str]:
        """Documents whose notes are here, or will be, and hold."""
        gone = {s.pair.id for s in steps if s.do in (Do.WITHDRAW, Do.DROP) or _says_retired(s)}
        held = self._state.entries.values()
        here = {e.id for e in held if e.form == "document" and "retired" not in e.file}
        coming = {s.pair.id for s in steps if s.do is Do.WRITE and s.form == "document"}
        return frozenset((here | coming) - gone)

    def _note_retained(self, work: Work, bank: ToBank, heirs: frozenset[str]) -> None:
        fresh = self._units() if bank.retained else {}
        for step in bank.retained:
            unit = fresh.get(step.pair.id)
            if unit is None and step.form == "document":  # others say all of it already
                document = self._memory.document(self._bank, step.pair.id)
                unit = Unit(step.pair.id, "document", (), document)
            note_down(work, step, unit)
        note_superseded(work, bank.superseded)
        if any(s.pair.entry is not None and s.pair.unit is None for s in bank.retained):
            self._redraw()
        # Successors are known by name only now.
        self._retire(work, bank, [s for s in bank.retained if _retirement(s)], heirs)

    def _named(self, name: str) -> str | None:
        """The memory that a name leads to, once all new notes are known."""
        if self._names is None:
            self._names = Names(dict(self._state.entries))
        return self._names.id(name)

    def _merge(self, bank: ToBank, folder: ToFolder, step: Step, heirs: frozenset[str]) -> None:
        folder.keep_other_side(step)
        bank.update(step, heirs)
        bank.rename(step)
        if step.merge.to_file and not self._options.one_way:
            folder.edit(step)

    def _retire(self, work: Work, bank: ToBank, steps: list[Step], heirs: frozenset[str]) -> None:
        """Those in force again first: a note that changed places with its successor replaces it."""
        for step in sorted(steps, key=lambda s: _says_retired(s) is not None):
            work.guard(step, lambda s=step: bank.retire(s, heirs))
            if step.form == "memory":
                note_down(work, step, self._unit(step))

    def _to_folder(
        self, work: Work, bank: ToBank, folder: ToFolder, by: dict[Do, list[Step]], sides: Sides
    ) -> None:
        rewritten = [s for s in by[Do.REWRITE] if work.guard(s, lambda s=s: folder.rewrite(s))]
        reworded = [s for s in by[Do.REWORD] if work.guard(s, lambda s=s: folder.reword(s))]
        for step in reworded:
            work.guard(step, lambda s=step: bank.rename(s))  # of what another note left to it
        for step in (*rewritten, *reworded):
            note_down(work, step, step.pair.unit)
        taken = {p.casefold() for p in (*sides.scan.files, *self._state.entries)}
        for step in by[Do.WRITE]:
            if work.guard(step, lambda s=step: folder.write(s, taken, self._options.new_in)):
                note_down(work, step, step.pair.unit)
        for step in by[Do.SET_ASIDE]:
            work.guard(step, lambda s=step: folder.set_aside(s))

    def _units(self) -> dict[str, Unit]:
        return banks.units(self._memory, self._bank, self._state.entries)

    def _unit(self, step: Step) -> Unit:
        """The memory as the bank holds it now."""
        unit = step.pair.unit
        if unit is not None and (unit.form == "document" or step.do is Do.KEEP):
            return unit  # this step did not change it
        now = self._memory.load(self._bank, step.pair.id)
        return Unit(step.pair.id, "memory", (now,))

    def _refresh(self, sides: Sides) -> None:
        """Files that were touched and say what they said: remember how they look now."""
        for path, entry in sides.kept.items():
            seen = sides.scan.files.get(path)
            if seen is not None and seen.stamp != entry.stamp and path in self._state.entries:
                held = self._state.entries[path]
                if held.digest:  # not one that is to be read again
                    self._state.entries[path] = replace(held, stamp=seen.stamp)

    def _redraw(self) -> None:
        """A memory that was forgotten and made anew has lost the links that led to it."""
        for path, entry in self._state.entries.items():
            self._state.entries[path] = replace(entry, linked="")

    def _link(self) -> None:
        links = changed_links(self._state)
        for group in groups(links, LINKED):
            self._memory.relate(self._bank, group)
        self._report.linked = len(links)

    # --- telling ahead -----------------------------------------------------------------------

    def _foretell(self, steps: list[Step]) -> None:
        report = self._report
        for step in steps:
            path, pair = step.path, step.pair
            if step.do is Do.RETAIN:
                (report.retained if pair.unit is None else report.updated).append(path)
            elif step.do is Do.MERGE:
                if step.merge.to_bank:
                    report.updated.append(path)
                if step.merge.to_file and not self._options.one_way:
                    report.edited.append(path)
            elif step.do is Do.WITHDRAW:
                gone = report.forgotten if self._options.forget else report.withdrawn
                gone.append(path)
            elif self._options.one_way:
                continue
            elif step.do is Do.WRITE:
                report.written.append(path or f"{self._options.new_in}/… ({pair.id})")
            elif step.do is Do.SET_ASIDE:
                report.set_aside.append(path)
            elif step.do in (Do.REWRITE, Do.REWORD):
                report.edited.append(path)
            if step.conflict:
                report.conflicts.append(path)
            if pair.was is not None and pair.path not in (None, pair.was):
                report.renamed.append(path)


def _says_retired(step: Step) -> str | None:
    return None if step.pair.file is None else step.pair.file.fields.get("retired")


def _retirement(step: Step) -> bool:
    """Whether the note says anew that it holds, or no longer does."""
    entry, said = step.pair.entry, _says_retired(step)
    if entry is None or step.pair.unit is None:
        back = step.pair.unit is not None and not step.pair.unit.active
        return said is not None or back
    return entry.file.get("retired") != (None if said is None else mark(said))
