"""Files that somebody names for an answer to be written to: whole or as they were, and never in the
place of something else."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from recollect.errors import InvalidInput

_LOOK = 65_536  # bytes from which a file can be told


@dataclass(frozen=True, slots=True)
class Target:
    path: Path
    what: str  # is written there: "an export"
    is_one: Callable[[bytes], bool]  # whether a file that begins so is an earlier one of these
    force: bool = False

    def check(self) -> None:
        """Refuse before the work is done, not after it."""
        path = self.path
        if not path.name or path.is_dir():
            raise InvalidInput(
                f"{str(path)!r} is {'a folder' if path.is_dir() else 'no file'}",
                hint=f"name a file for {self.what}",
            )
        if not path.parent.is_dir():
            raise InvalidInput(
                f"there is no folder {str(path.parent)!r}", hint="make it, or choose another file"
            )
        if self.force or not path.is_file():
            return
        with _explained(path), path.open("rb") as file:
            begins = file.read(_LOOK)
        if begins and not self.is_one(begins):
            raise InvalidInput(
                f"{path} is there, and it is not {self.what}",
                hint="choose another file; --force replaces it",
            )

    @contextmanager
    def written(self) -> Generator[BinaryIO]:
        """Beside the file first, then in its place: whatever fails leaves the old one. What is no
        plain file (/dev/null, a pipe) is written to, never replaced."""
        self.check()
        path = self.path.resolve()  # what a link points at is replaced, not the link
        with _explained(self.path):
            if path.exists() and not path.is_file():
                with path.open("wb") as file:
                    yield file
                return
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
            beside = Path(name)
            try:
                with os.fdopen(handle, "wb") as file:
                    yield file
                beside.chmod(path.stat().st_mode & 0o777 if path.exists() else _usual_mode())
                beside.replace(path)
            except BaseException:
                beside.unlink()
                raise


def _usual_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def _explained(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written: {error.strerror or error}", hint="choose another file"
        ) from error
