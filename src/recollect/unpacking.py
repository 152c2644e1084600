"""Files as they are handed on: packed or not, whatever they are called."""

from __future__ import annotations

import zlib
from collections.abc import Generator
from contextlib import contextmanager
from gzip import BadGzipFile, GzipFile
from io import BufferedIOBase, BufferedReader
from typing import BinaryIO, cast

from recollect.errors import InvalidInput

_GZIP = b"\x1f\x8b"


@contextmanager
def unpacked(
    stream: BinaryIO, name: str, error: type[InvalidInput] = InvalidInput
) -> Generator[BufferedIOBase]:
    """The bytes that a stream holds, or that are packed in it. A download that broke off, or a file
    with wrong bytes, is said to be that."""
    ahead = hasattr(stream, "peek")  # as files and pipes have
    source = cast("BufferedReader", stream if ahead else BufferedReader(stream))  # pyright: ignore[reportArgumentType]
    packed = source.peek(len(_GZIP)).startswith(_GZIP)
    try:
        yield GzipFile(fileobj=source) if packed else source
    except (EOFError, zlib.error, BadGzipFile) as cause:
        raise error(
            f"{name} cannot be unpacked: {cause}", hint="was it cut short? get it again"
        ) from cause
