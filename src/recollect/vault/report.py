"""What a sync did, or would do."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from recollect.vault.files import Problem

# In the order people want to know, with the words for one and for many.
SAID = {
    "retained": ("note retained", "notes retained"),
    "updated": ("memory updated", "memories updated"),
    "withdrawn": ("memory withdrawn", "memories withdrawn"),
    "forgotten": ("memory forgotten", "memories forgotten"),
    "restored": ("memory restored", "memories restored"),
    "written": ("note written", "notes written"),
    "edited": ("note edited", "notes edited"),
    "renamed": ("note renamed", "notes renamed"),
    "set_aside": ("note set aside", "notes set aside"),
    "conflicts": ("conflict", "conflicts"),
}


@dataclass
class Report:
    """Paths by what happened to them; `conflicts` names the notes that hold the other side."""

    notes: int = 0
    retained: list[str] = field(default_factory=list[str])
    updated: list[str] = field(default_factory=list[str])
    withdrawn: list[str] = field(default_factory=list[str])
    forgotten: list[str] = field(default_factory=list[str])
    restored: list[str] = field(default_factory=list[str])
    written: list[str] = field(default_factory=list[str])
    edited: list[str] = field(default_factory=list[str])
    renamed: list[str] = field(default_factory=list[str])
    set_aside: list[str] = field(default_factory=list[str])
    conflicts: list[str] = field(default_factory=list[str])
    open_conflicts: list[str] = field(default_factory=list[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    linked: int = 0  # notes whose links were handed to the bank
    dry_run: bool = False
    seconds: float = 0.0

    @property
    def changed(self) -> bool:
        return any(getattr(self, name) for name in SAID)

    def said(self) -> str:
        """The sum of it, in words."""
        counts = {name: len(getattr(self, name)) for name in SAID}
        parts = [f"{n} {SAID[name][n > 1]}" for name, n in counts.items() if n]
        return ", ".join(parts) or "nothing to do"

    def add(self, later: Report) -> None:
        """What a further pass did, on top."""
        for name in SAID:
            held: list[str] = getattr(self, name)
            held.extend(p for p in getattr(later, name) if p not in held)
        self.notes, self.open_conflicts = later.notes, later.open_conflicts
        self.linked += later.linked
        known = set(self.problems)
        self.problems.extend(p for p in later.problems if p not in known)

    def as_dict(self) -> dict[str, Any]:
        out = {f.name: getattr(self, f.name) for f in fields(self)}
        out["problems"] = [p.as_dict() for p in self.problems]
        out["seconds"] = round(self.seconds, 3)
        return out
