"""An operation from the values of a row, for every store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from recollect.language.dates import from_micros
from recollect.types import FINISHED, Operation, OperationState


def operation_from_row(row: Sequence[Any]) -> Operation:
    state = OperationState(row[3])
    waits = state not in FINISHED and row[10] > 0
    return Operation(
        id=row[0],
        bank=row[1],
        kind=row[2],
        state=state,
        items=row[4],
        attempts=row[5],
        error=row[6],
        created_at=from_micros(row[7]),
        updated_at=from_micros(row[8]),
        finished_at=None if row[9] is None else from_micros(row[9]),
        not_before=from_micros(row[10]) if waits else None,
        steps=row[11],
        note=orjson.loads(row[12]),
        result=None if row[13] is None else orjson.loads(row[13]),
        payload=None if row[14] is None else orjson.loads(row[14]),
    )
