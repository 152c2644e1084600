"""Talks with assistants as they are exported: ChatGPT's and Claude's conversations.json.

Each conversation is a document of two who talk, `user` and `assistant`. What an assistant thought, searched and ran
is left out, as is what was regenerated: of ChatGPT's tree the branch counts that was seen last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, cast

__all__ = ["chatgpt", "claude"]

Entry = Mapping[str, Any]

_SPEAKERS = ("user", "assistant")
_SPOKEN = frozenset({"text", "multimodal_text"})


def chatgpt(talk: Entry) -> Iterator[dict[str, Any]]:
    """The turns of one conversation of ChatGPT's, along the branch that was seen last."""
    for message in _branch(talk):
        speaker = _entry(message.get("author")).get("role")
        content, about = _entry(message.get("content")), _entry(message.get("metadata"))
        hidden = about.get("is_visually_hidden_from_conversation")
        elsewhere = message.get("recipient") not in (None, "all")  # the call of a tool
        if speaker in _SPEAKERS and content.get("content_type", "text") in _SPOKEN:
            words = "\n".join(filter(None, map(_part, _list(content.get("parts")))))
            if words and not hidden and not elsewhere:
                yield _turn(speaker, words, _epoch(message.get("create_time")))


def _branch(talk: Entry) -> list[Entry]:
    nodes = cast("Mapping[str, Entry]", talk["mapping"])
    at = talk.get("current_node")
    if at not in nodes:  # the last that was written
        at = max(nodes, key=lambda name: _entry(nodes[name].get("message")).get("create_time") or 0)
    found: list[Entry] = []
    met: set[str] = set()
    while isinstance(at, str) and at in nodes and at not in met:
        met.add(at)
        found.append(_entry(nodes[at].get("message")))
        at = nodes[at].get("parent")
    return found[::-1]


def _part(part: Any) -> str:
    """Words; a picture or what else is no text leaves a mark."""
    if isinstance(part, str):
        return part.strip()
    told = _entry(part)
    if isinstance(told.get("text"), str):  # of what was spoken
        return told["text"].strip()
    kind = str(told.get("content_type") or "").removesuffix("_asset_pointer").replace("_", " ")
    return f"[{kind}]" if kind else ""


def _epoch(seconds: Any) -> str | None:
    try:
        return datetime.fromtimestamp(float(seconds), UTC).isoformat()
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def claude(talk: Entry) -> Iterator[dict[str, Any]]:
    """The turns of one conversation of Claude's."""
    for message in map(_entry, _list(talk["chat_messages"])):
        parts = [p for p in map(_entry, _list(message.get("content"))) if p.get("type") == "text"]
        said = "\n".join(str(p.get("text") or "").strip() for p in parts)
        words = [said.strip() or str(message.get("text") or "").strip()]
        for file in map(_entry, [*_list(message.get("attachments")), *_list(message.get("files"))]):
            words.append(f"[file: {file['file_name']}]" if file.get("file_name") else "")
        text = "\n".join(filter(None, words))
        if text:
            speaker = "user" if message.get("sender") == "human" else "assistant"
            yield _turn(speaker, text, message.get("created_at"))


def _turn(speaker: str, text: str, time: Any) -> dict[str, Any]:
    turn = {"speaker": speaker, "text": text}
    return turn if not time else turn | {"time": str(time)}


def _entry(value: Any) -> Entry:
    return cast("Entry", value) if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
