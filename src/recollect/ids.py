"""Ids: UUID version 7, so that they sort by the time they were made."""

from __future__ import annotations

import os
import time


def new_id() -> str:
    millis = time.time_ns() // 1_000_000
    value = (millis & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76  # version
    value = value & ~(0x3 << 62) | 0x2 << 62  # variant
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
