"""recollect over HTTP: the verbs and types of `recollect.open`, asked of a server.

with recollect.connect("http://127.0.0.1:8888", api_key="rk_…") as memory:
    memory.retain("alice", "Alice joined Google last spring.")
    print(memory.recall("alice", "When did Alice join Google?").as_context())
"""

from __future__ import annotations

from recollect.client.awaiting import AsyncClient, aconnect
from recollect.client.waiting import Client, connect

__all__ = ["AsyncClient", "Client", "aconnect", "connect"]
