"""New notes: for memories that have none yet, and for the other side of a conflict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any, cast

from recollect.vault.fields import Fields, mark
from recollect.vault.frontmatter import scalar

_UNFIT = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*#^\[\]\u2028\u2029]+')
LONGEST = 60


def file_stem(fields: Fields) -> str:
    """A name that people recognise, without what file systems or links do not take."""
    words = str(fields.get("title") or fields.get("text") or "").split("\n")[0]
    words = " ".join(_UNFIT.sub(" ", words.lstrip("# ")).split())
    if len(words) > LONGEST:
        words = words[: LONGEST + 1].rsplit(" ", 1)[0][:LONGEST]
    while len(words.encode()) > 2 * LONGEST:
        words = words[:-1]
    words = words.strip(" .")
    return words or "Memory"


def new_note(head: Mapping[str, Any], text: str) -> str:
    lines = ["---"]
    for key, value in head.items():
        if isinstance(value, list) and value:
            items = cast("list[Any]", value)
            lines += [f"{scalar(key)}:", *(f"  - {scalar(item)}" for item in items)]
        else:
            lines.append(f"{scalar(key)}: {scalar(value)}")
    return "\n".join([*lines, "---", "", text, ""])


def conflict_path(path: str, fields: Mapping[str, Any]) -> str:
    """Named by what it holds, so that a sync that is run again does not write it twice."""
    at = PurePosixPath(path)
    return str(at.with_name(f"{at.stem} (conflict {mark(dict(fields))[:8]}).md"))


def conflict_note(head: Mapping[str, Any], text: str, memory_id: str) -> str:
    """It names the note it belongs to; with that line removed it is a note of its own."""
    kept = {k: v for k, v in head.items() if k != "id"}
    return new_note({"conflict_of": memory_id, **kept}, text)
