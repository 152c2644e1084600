"""A memory for agents that speak the Model Context Protocol: over stdio and over HTTP.

`serve_stdio` is what `recollect mcp` runs; `http_app` is mounted at `/mcp` by `recollect serve`.
Nothing of the `mcp` package is imported until one of them is called: it takes half a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.mcp.server import Allow, http_app, make_server, serve_stdio

__all__ = ["Allow", "http_app", "make_server", "serve_stdio"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'recollect.mcp' has no attribute {name!r}")
    from recollect.mcp import server

    return getattr(server, name)
