"""The grammar's rules. Importing this package declares them all."""

from recollect.language.time.rules import (
    clock,
    dates,
    distances,
    numbers,
    ranges,
    relative,
    repeats,
    suffixes,
)

__all__ = ["clock", "dates", "distances", "numbers", "ranges", "relative", "repeats", "suffixes"]
