"""Who changed what: one JSON line for every request that may write, never a word of memory."""

from __future__ import annotations

import logging
import logging.handlers
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from recollect.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    request_id: str
    key: str  # the API key's id, "-" where none is asked for
    bank: str | None
    action: str  # the route's operation id
    status: int
    counts: Mapping[str, int | str]  # what it changed: numbers, and ids where the route names them
    took_ms: float

    @property
    def outcome(self) -> str:
        if self.status < 400:
            return "done"
        return "refused" if self.status in (401, 403, 413, 429) else "failed"


class Audit:
    """Lines to a file, which may be moved away by whoever rotates logs, or to stderr."""

    def __init__(self, target: str) -> None:
        self._handler = _handler(target)
        self._handler.setFormatter(logging.Formatter("%(message)s"))

    def record(self, entry: Entry) -> None:
        line = orjson.dumps(
            {
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "request_id": entry.request_id,
                "key": entry.key,
                "bank": entry.bank,
                "action": entry.action,
                "outcome": entry.outcome,
                "status": entry.status,
                "took_ms": round(entry.took_ms, 1),
                **({"counts": dict(entry.counts)} if entry.counts else {}),
            }
        ).decode()
        made: dict[str, Any] = {"name": "recollect.audit", "msg": line, "levelno": logging.INFO}
        self._handler.handle(logging.makeLogRecord(made))

    def close(self) -> None:
        self._handler.close()


def _handler(target: str) -> logging.Handler:
    if target == "-":
        return logging.StreamHandler(sys.stderr)
    path = Path(target).expanduser()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        return logging.handlers.WatchedFileHandler(path, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"the audit log {path} cannot be written: {error.strerror}",
            hint='set audit_log to another file, or to "-" for stderr',
        ) from error
