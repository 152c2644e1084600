"""A coding agent's transcript, read for what was asked and what came of it.

One JSON object a line. Kept are what the user wrote and the agent's last words before the next
prompt; tool calls, their output, thinking and what other programs put between are not. So are
passages marked <private>…</private>, and what looks like a credential.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from recollect.language.sentences import sentences
from recollect.language.tokens import count_tokens, truncate

PIECE = 200  # tokens of one memory
MOST = 20  # memories of one prompt, or one answer

_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
_INSERTED = re.compile(
    r"<(system-reminder|command-[a-z]+|local-command-[a-z]+|user-prompt-submit-hook|ide_[a-z_]+)>"
    r".*?(?:</\1>|\Z)",
    re.DOTALL,
)
_SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{30,}|\bxox[abeoprs]-[\w-]{10,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"
    r"|(?i:\b(?:password|passwd|secret|token|api[_-]?key)\b\s*[:=]\s*)\S{6,}",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt and the answer it led to. `offset` is where its prompt begins in the file."""

    id: str
    offset: int
    asked: str
    time: str | None
    answered: str = ""
    answered_at: str | None = None

    def turns(self) -> list[dict[str, Any]]:
        said = [("user", self.asked, self.time), ("assistant", self.answered, self.answered_at)]
        return [
            {"speaker": speaker, "text": piece} | ({"time": time} if time else {})
            for speaker, text, time in said
            for piece in pieces(text)
        ]


def exchanges(path: Path, offset: int = 0) -> Iterator[Exchange]:
    """Those from `offset` on, in order. A line cut short, or not understood, is passed over."""
    current: Exchange | None = None
    with path.open("rb") as stream:
        stream.seek(offset)
        for raw in stream:
            line = _parsed(raw)
            role, text = _said(line)
            if role == "user" and text:
                if current is not None:
                    yield current
                current = Exchange(str(line.get("uuid") or offset), offset, text, _time(line))
            elif role == "assistant" and text and current is not None:
                current = replace(current, answered=text, answered_at=_time(line))
            offset += len(raw)
    if current is not None:
        yield current


def _parsed(raw: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _said(line: Mapping[str, Any]) -> tuple[str | None, str]:
    """Who said what, without text that neither of them wrote."""
    message = line.get("message")
    if line.get("isMeta") or line.get("isSidechain") or not isinstance(message, dict):
        return None, ""
    said = cast("Mapping[str, Any]", message)
    role, content = said.get("role"), said.get("content")
    blocks = cast("Sequence[Any]", content) if isinstance(content, list) else [content]
    texts = [_text(block) for block in blocks]
    return (role if isinstance(role, str) else None), cleaned("\n\n".join(t for t in texts if t))


def _text(block: Any) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    held = cast("Mapping[str, Any]", block)
    text = held.get("text") if held.get("type") == "text" else None
    return text if isinstance(text, str) else ""


def _time(line: Mapping[str, Any]) -> str | None:
    time = line.get("timestamp")
    return time if isinstance(time, str) else None


def cleaned(text: str) -> str:
    """Without private passages, other programs' insertions and credentials."""
    for pattern, instead in ((_PRIVATE, ""), (_INSERTED, ""), (_SECRET, "[secret]")):
        text = pattern.sub(instead, text)
    return text.strip()


def pieces(text: str) -> list[str]:
    """As few pieces as possible that are each short enough to be one memory, cut between
    paragraphs, else lines, else sentences. Of very long text, such as a pasted log, only the
    beginning is kept."""
    out: list[str] = []
    for gap, part in _parts(text):
        joined = f"{out[-1]}{gap}{part}" if out else part
        if out and count_tokens(joined) <= PIECE:
            out[-1] = joined
        elif len(out) < MOST:
            out.append(part)
        else:
            break
    return out


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs, the lines of those too long, and the sentences of lines too long, each with what
    stands before it."""
    for paragraph in (p.strip() for p in re.split(r"\n\s*\n", text)):
        if not paragraph:
            continue
        if count_tokens(paragraph) <= PIECE:
            yield "\n\n", paragraph
            continue
        for number, line in enumerate(paragraph.split("\n")):
            yield from _of_line("\n" if number else "\n\n", line)


def _of_line(gap: str, line: str) -> Iterator[tuple[str, str]]:
    if count_tokens(line) <= PIECE:
        yield gap, line
        return
    end = 0
    for start, stop in sentences(line):
        yield line[end:start] if end else gap, truncate(line[start:stop], PIECE)
        end = stop
