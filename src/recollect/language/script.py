"""In which script a text is written, where it is not the Latin one."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter

# Where each begins; None are letters that say nothing of it, or are Latin.
_BLOCKS: tuple[tuple[int, str | None], ...] = (
    (0x0000, None),
    (0x0370, "greek"),
    (0x0400, "cyrillic"),
    (0x0530, "other"),
    (0x0590, "hebrew"),
    (0x0600, "arabic"),
    (0x0700, "other"),
    (0x0750, "arabic"),
    (0x0780, "other"),
    (0x08A0, "arabic"),
    (0x0900, "indic"),
    (0x0E00, "thai"),
    (0x0E80, "other"),
    (0x1100, "cjk"),
    (0x1200, "other"),
    (0x1C80, "cyrillic"),
    (0x1C90, "other"),
    (0x1D00, None),
    (0x1F00, "greek"),
    (0x2000, None),
    (0x2DE0, "cyrillic"),
    (0x2E00, None),
    (0x2E80, "cjk"),
    (0xA000, "other"),
    (0xA640, "cyrillic"),
    (0xA6A0, None),
    (0xA800, "other"),
    (0xA960, "cjk"),
    (0xA980, "other"),
    (0xAB30, None),
    (0xAB70, "other"),
    (0xAC00, "cjk"),
    (0xD800, None),
    (0xF900, "cjk"),
    (0xFB00, None),
    (0xFB1D, "hebrew"),
    (0xFB50, "arabic"),
    (0xFE00, None),
    (0xFE70, "arabic"),
    (0xFF00, None),
    (0xFF66, "cjk"),
    (0xFFE0, None),
    (0x20000, "cjk"),
    (0x40000, None),
)
_STARTS = [start for start, _ in _BLOCKS]


def script_of(text: str) -> str | None:
    """The script of most of its letters; None for the Latin one; "signs" where only signs are that ASCII has not
    (🐈)."""
    if text.isascii():
        return None
    found = Counter(
        _BLOCKS[bisect_right(_STARTS, ord(letter)) - 1][1] for letter in text if letter.isalpha()
    )
    return found.most_common(1)[0][0] if found else "signs"
