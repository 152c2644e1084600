"""A folder of Markdown notes is a bank: notes you own, memories an agent can use."""

from __future__ import annotations

from recollect.vault.report import Report
from recollect.vault.sync import Options, sync

__all__ = ["Options", "Report", "sync"]
