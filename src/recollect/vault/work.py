"""What every step of a sync has at hand, and how one that fails is told."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from recollect.errors import InvalidInput, NotFound
from recollect.memory import Recollect
from recollect.vault.decide import Step
from recollect.vault.files import Problem
from recollect.vault.report import Report
from recollect.vault.state import State, save, state_path


@dataclass
class Work:
    memory: Recollect
    bank: str
    root: Path
    state: State
    report: Report
    failed: bool = False  # something is still to be done that the next sync must look for
    again: set[str] = field(default_factory=set[str])  # documents that the next pass is to read

    def read_again(self, documents: Collection[str]) -> None:
        """Saved at once, so that it is not lost if the process is killed before the next pass."""
        found = {p: e for p, e in self.state.entries.items() if e.id in documents}
        for path, entry in found.items():
            self.state.entries[path] = replace(entry, digest="", stamp=(), file={})
        if found:
            self.again.update(documents)
            save(state_path(self.root, self.memory.bank(self.bank)), self.state)

    def guard(self, step: Step, action: Callable[[], None]) -> bool:
        """Runs one step. If its note cannot be synced, the others still are."""
        try:
            action()
        except NotFound:
            # Forgotten by somebody else since it was looked at.
            self.failed = True
            return False
        except InvalidInput as error:
            cause = error.message.removeprefix(step.path).lstrip(":, ")
            self.report.problems.append(Problem(step.path, cause, error.hint))
            self.failed = True
            return False
        return True


def once(paths: list[str], path: str) -> None:
    if path not in paths:
        paths.append(path)
