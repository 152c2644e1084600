"""An API key as a row, for every store: the values it is written with, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import orjson

from recollect.language.dates import from_micros, to_micros
from recollect.types import ApiKey, Scope

# In the order of a row; the digest of the secret stands after them.
KEY_COLUMNS = tuple(f.name for f in fields(ApiKey))


def key_values(key: ApiKey, digest: bytes) -> dict[str, Any]:
    return {name: _kept(getattr(key, name)) for name in KEY_COLUMNS} | {"digest": digest}


def _kept(value: Any) -> Any:
    if isinstance(value, tuple):
        return orjson.dumps(value).decode()
    return to_micros(value) if isinstance(value, datetime) else value


def key_of(row: Sequence[Any]) -> ApiKey:
    given = dict(zip(KEY_COLUMNS, row, strict=False))
    for name in ("created_at", "expires_at", "revoked_at"):
        given[name] = None if given[name] is None else from_micros(given[name])
    given["scopes"] = tuple(Scope(s) for s in orjson.loads(given["scopes"]))
    given["banks"] = None if given["banks"] is None else tuple(orjson.loads(given["banks"]))
    return ApiKey(**given)


def digest_of(row: Sequence[Any]) -> bytes:
    return bytes(row[len(KEY_COLUMNS)])
