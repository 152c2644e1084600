"""The command line: the library's verbs in a terminal. stdout is data, stderr is talk."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives its exit code. This is what the `recollect` script calls."""
    try:
        from recollect.cli.run import run

        return run(arguments)
    except KeyboardInterrupt:  # while the modules were still loading
        return 130
