"""What the benchmarks take on the command line. What cannot be is said at once: they run for minutes, and
some write over their last result."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable


def described(description: str | None) -> argparse.ArgumentParser:
    """Whose --help says what a script's docstring says, its commands on lines of their own."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def no_options(description: str | None) -> None:
    """For a script that takes none, but is asked for --help, or given what it would not heed."""
    described(description).parse_args()


def chosen(description: str | None, known: Iterable[str]) -> list[str]:
    """For a script that takes names of sets and nothing else: those it is given, or all that it knows."""
    names = list(known)
    parser = described(description)
    parser.add_argument("sets", nargs="*", metavar="SET", type=some_of(names))
    return [name for some in parser.parse_args().sets for name in some] or names


def count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)


def counts(text: str) -> list[int]:
    return [count(part.strip()) for part in text.split(",")]


def some_of(known: Iterable[str]) -> Callable[[str], list[str]]:
    """Names, with commas between them."""
    names = list(known)

    def chosen(text: str) -> list[str]:
        asked = [part.strip() for part in text.split(",")]
        if unknown := [name for name in asked if name not in names]:
            raise argparse.ArgumentTypeError(f"no {unknown[0]!r} here: {', '.join(names)}")
        return asked

    return chosen
