"""recollect: a memory that an AI agent can trust.

import recollect
with recollect.open("memory.db") as memory:
    memory.retain("alice", "Alice joined Google last spring because she loves research.")
    print(memory.recall("alice", "When did Alice join Google?").as_context())
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.aio import AsyncRecollect
    from recollect.aio import aopen_memory as aopen
    from recollect.client import AsyncClient, Client, aconnect, connect
    from recollect.errors import RecollectError
    from recollect.memory import Recollect
    from recollect.memory import open_memory as open
    from recollect.types import Arm, Band, Hit, Memory, MemoryType, RetainResult, State

__all__ = [
    "Arm",
    "AsyncClient",
    "AsyncRecollect",
    "Band",
    "Client",
    "Hit",
    "Memory",
    "MemoryType",
    "Recollect",
    "RecollectError",
    "RetainResult",
    "State",
    "aconnect",
    "aopen",
    "connect",
    "open",
]
__version__ = "0.1.0"

# Imported when first named: `recollect --help` must not wait for numpy and the whole library.
_HOMES = {
    "RecollectError": "errors",
    "AsyncRecollect": "aio",
    "Recollect": "memory",
    "aopen": "aio:aopen_memory",
    "open": "memory:open_memory",
    **dict.fromkeys(("AsyncClient", "Client", "aconnect", "connect"), "client"),
} | dict.fromkeys(("Arm", "Band", "Hit", "Memory", "MemoryType", "RetainResult", "State"), "types")


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    module, _, attribute = home.partition(":")
    value = globals()[name] = getattr(import_module(f"recollect.{module}"), attribute or name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
