"""recollect: a memory that an AI agent can trust.

import recollect
with recollect.open("memory.db") as memory:
    memory.retain("alice", "Alice joined Google last spring because she loves research.")
    print(memory.recall("alice", "Where does Alice work?").as_context())
"""

from __future__ import annotations

from recollect.errors import RecollectError
from recollect.memory import AsyncRecollect, Recollect
from recollect.memory import aopen_memory as aopen
from recollect.memory import open_memory as open
from recollect.types import Arm, Band, Hit, Memory, MemoryType, RetainResult, State

__all__ = [
    "Arm",
    "AsyncRecollect",
    "Band",
    "Hit",
    "Memory",
    "MemoryType",
    "Recollect",
    "RecollectError",
    "RetainResult",
    "State",
    "aopen",
    "open",
]
__version__ = "0.1.0"
