"""Files as items: Markdown, plain text or subtitles are one document, JSONL is one item a line, JSON holds items or a chat."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, cast

import orjson
import yaml

from recollect.errors import InvalidInput
from recollect.retain.exports import conversations, slack_names

TEXT_SUFFIXES = {".md", ".markdown", ".txt", ".text", ""}
SUBTITLE_SUFFIXES = {".vtt", ".srt"}
LINES_SUFFIXES = {".jsonl", ".ndjson"}
WHOLE_SUFFIXES = {".json"}
# What names a file, there or not.
KNOWN_SUFFIXES = (TEXT_SUFFIXES | SUBTITLE_SUFFIXES | LINES_SUFFIXES | WHOLE_SUFFIXES) - {""}
_FORMS = {"content", "text", "turns", "facts"}
# Frontmatter that a memory has a field for; the rest is kept as metadata.
_AUTHORED = {
    "title", "summary", "topic_path", "recall_when", "kind", "scope", "valid_until", "last_reviewed_at", "tags",
    "context", "entities",
}  # fmt: skip


def read_file(path: Path) -> list[dict[str, Any]]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise InvalidInput(f"no file at {path}", hint="check the path") from error
    except OSError as error:
        raise InvalidInput(
            f"{str(path)[:300]} cannot be read: {error.strerror}",
            hint=f"give its files, such as {path}/*.md, or `recollect vault sync {path} --bank NAME`; on the command line "
            "words that a folder is called are given as - on stdin"
            if isinstance(error, IsADirectoryError)
            else "give a readable file",
        ) from error
    except ValueError as error:  # NUL bytes, half characters
        raise InvalidInput(f"{str(path)!r} is no path of a file", hint="check the path") from error
    suffix = path.suffix.lower()
    if suffix in LINES_SUFFIXES:
        return read_lines(raw, str(path))
    if suffix in WHOLE_SUFFIXES:
        return read_json(raw, path)
    if suffix in SUBTITLE_SUFFIXES:
        return [{"content": _cues(_decoded(raw, str(path))), "document_id": _called(path)}]
    if suffix not in TEXT_SUFFIXES:
        raise InvalidInput(
            f"{path.name} is of no kind that retain reads",
            hint="use .md, .txt, .vtt, .srt, .json or .jsonl; convert the rest to text",
        )
    return [read_markdown(_decoded(raw, str(path)), _called(path))]


def _cues(text: str) -> str:
    """What a WebVTT file says of itself, up to its first empty line, is nothing that was said."""
    return text.partition("\n\n")[2] if text.startswith("WEBVTT") else text


def _called(path: Path) -> str:
    """A document is called by its path, from the current folder where it lies in it: of two files called
    README.md one must not replace the other."""
    whole = Path(os.path.normpath(path.absolute()))
    try:
        return whole.relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):  # elsewhere, or the current folder is gone
        return whole.as_posix()


def read_lines(raw: bytes, where: str) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for number, line in enumerate(raw.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise InvalidInput(
                f"{where}, line {number} is not JSON: {error}", hint="one object a line"
            ) from error
        out.append(_object(entry, f"{where}, line {number}"))
    return out


def read_json(raw: bytes, path: Path) -> list[dict[str, Any]]:
    """A messenger's export is a conversation; anything else is an item, or a list of them, as retain takes them."""
    value = _json(raw, str(path))
    found = conversations(value, _called(path), _people(path) if isinstance(value, list) else {})
    if found is None:
        found = cast("list[Any]", value) if isinstance(value, list) else [value]
    given = [_object(entry, f"{path}, entry {number}") for number, entry in enumerate(found)]
    if not given or not all(_FORMS & entry.keys() for entry in given):
        raise InvalidInput(
            f"{path} holds something else than items to retain",
            hint="give an export of Telegram, Slack, ChatGPT or Claude, messages with role and content, or items with "
            "content, text, turns or facts",
        )
    return given


def _people(path: Path) -> dict[str, str]:
    """Who has which id in a Slack workspace: users.json lies in its folder, and the channels' days in folders below."""
    for folder in (path.parent, path.parent.parent):
        users = folder / "users.json"
        if users.is_file():
            return slack_names(_json(users.read_bytes(), str(users)))
    return {}


def _json(raw: bytes, where: str) -> Any:
    try:
        return orjson.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise InvalidInput(
            f"{where} is not JSON: {error}", hint="one value a file; for one a line use .jsonl"
        ) from error


def _object(entry: Any, where: str) -> dict[str, Any]:
    if isinstance(entry, str):
        return {"content": entry}
    if not isinstance(entry, dict):
        raise InvalidInput(f"{where} is not an object", hint='for example {"content": "…"}')
    return cast("dict[str, Any]", entry)


def read_markdown(text: str, name: str) -> dict[str, Any]:
    """One document. YAML frontmatter becomes authored fields and metadata."""
    head, body = split_frontmatter(text, name)
    item: dict[str, Any] = {"content": body, "document_id": str(head.pop("id", None) or name)}
    for key in list(head):
        if key in _AUTHORED and head[key] is not None:
            item[key] = _plain(head.pop(key))
    stamp = head.pop("updated", None) or head.pop("created", None) or head.pop("date", None)
    if stamp is not None:
        item["timestamp"] = _plain(stamp)
    for key in ("tags", "recall_when", "entities"):
        if isinstance(item.get(key), str):
            item[key] = [part.strip() for part in item[key].split(",") if part.strip()]
    if isinstance(item.get("topic_path"), list):
        item["topic_path"] = "/".join(item["topic_path"])
    if head:
        item["metadata"] = {key: _plain(value) for key, value in head.items()}
    return item


def split_frontmatter(text: str, name: str) -> tuple[dict[str, Any], str]:
    if not text.startswith("---\n"):
        return {}, text
    end = text.find("\n---", 3)
    if end < 0:
        return {}, text
    try:
        head = yaml.safe_load(text[4:end])
    except yaml.YAMLError as error:
        raise InvalidInput(
            f"{name}: the frontmatter is not valid YAML: {error}", hint="fix it"
        ) from error
    body = text[end + 4 :].lstrip("-").lstrip("\n")
    if not isinstance(head, Mapping):
        return {}, text
    return {str(k): v for k, v in cast("Mapping[Any, Any]", head).items()}, body


def _decoded(raw: bytes, where: str) -> str:
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{where} is not UTF-8 text", hint="convert it to UTF-8 first"
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, list):
        return [str(_plain(v)) for v in cast("list[Any]", value)]
    return value
