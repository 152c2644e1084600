"""Writes the API's description: `python -m recollect.server.describe docs/openapi.json`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson

from recollect.config import Settings
from recollect.errors import InvalidInput
from recollect.filing import Target


def description() -> dict[str, Any]:
    """Of the server as it ships, whatever is installed or set here."""
    from recollect.memory import Recollect
    from recollect.server.app import create_app

    memory = Recollect(Settings(db=":memory:", metrics=False))
    try:
        return create_app(memory).openapi()
    finally:
        memory.close()


def text() -> str:
    return orjson.dumps(description(), option=orjson.OPT_INDENT_2).decode() + "\n"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("which file? for example: python -m recollect.server.describe docs/openapi.json")
    target = Target(Path(sys.argv[1]), "a description of recollect's API", _is_description)
    try:
        with target.written() as file:
            file.write(text().encode())
    except InvalidInput as error:
        sys.exit(f"error: {error}")


def _is_description(begins: bytes) -> bool:
    return begins.startswith(b"{") and b'"openapi"' in begins and b'"title": "recollect"' in begins


if __name__ == "__main__":
    main()
