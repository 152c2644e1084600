"""Chats as they are exported in JSON: Telegram's result.json, a day of a Slack channel, all talks with ChatGPT or
Claude; and messages with roles.

Each becomes a conversation. What the messenger says itself is a turn of nobody's.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast

from recollect.retain.assistants import chatgpt, claude
from recollect.retain.speakers import word_set
from recollect.retain.transcript import leaves

__all__ = ["conversations", "slack_names"]

Entry = Mapping[str, Any]

_QUARTER = timedelta(minutes=15)  # zones differ by so much at least
_FARTHEST = timedelta(hours=14)
# What every message of Telegram's has, and what is said in another way.
_TELEGRAM = word_set("""id type date date_unixtime edited edited_unixtime from from_id text text_entities reply_to_message_id
    reply_to_peer_id forwarded_from forwarded_from_id saved_from via_bot author reactions inline_bot_buttons
    photo photo_file_size file file_name file_size thumbnail thumbnail_file_size mime_type media_type sticker_emoji
    duration_seconds width height performer title media_spoiler""")
_SLACK_SPEECH = frozenset({"", "bot_message", "thread_broadcast", "file_share", "file_comment"})
_LINK = re.compile(r"<([@#!]?)([^<>|]+)(?:\|([^<>]*))?>")


def conversations(value: Any, name: str, slack: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """Items of turns, where a file is a chat; `slack` are the names of a workspace's people by their ids."""
    if isinstance(value, Mapping):
        whole = cast("Entry", value)
        if _are(whole.get("messages"), "date"):
            return _telegram([whole], name)
        chats = whole.get("chats")
        held = cast("Entry", chats).get("list") if isinstance(chats, Mapping) else None
        if _are(held, "messages"):
            return _telegram(cast("list[Entry]", held), name)
        return _item(whole["messages"], name) if _are(whole.get("messages"), "role") else None
    for key, turns, called in _ASSISTANTS:
        if _are(value, key):
            return _talks(cast("list[Entry]", value), turns, called, name)
    if _are(value, "ts"):
        return _item(map(_Slack(slack).turn, value), name)
    return _item(cast("list[Entry]", value), name) if _are(value, "role") else None


_ASSISTANTS = (("mapping", chatgpt, "title"), ("chat_messages", claude, "name"))


def _talks(
    talks: Sequence[Entry], turns: Callable[[Entry], Iterable[Entry]], called: str, name: str
) -> list[dict[str, Any]]:
    """A talk is a document, called by its own id: an export of next month holds it, too."""
    ids = ("uuid", "conversation_id", "id")
    out: list[dict[str, Any]] = []
    for place, talk in enumerate(talks):
        own = next((str(talk[key]) for key in ids if talk.get(key)), str(place))
        out += _item(turns(talk), f"{name}#{own}", str(talk.get(called) or ""))
    return out


def _are(value: Any, key: str) -> bool:
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(e, Mapping) and key in e for e in cast("list[Any]", value))


def _item(turns: Iterable[Entry | None], name: str, context: str = "") -> list[dict[str, Any]]:
    said = [turn for turn in turns if turn is not None]
    item: dict[str, Any] = {"turns": said, "document_id": name}
    return [item | ({"context": context} if context else {})] if said else []


# --- Telegram -------------------------------------------------------------------------------------


def _telegram(chats: Sequence[Entry], name: str) -> list[dict[str, Any]]:
    """A chat is a document; of several each is called by its own number as well."""
    out: list[dict[str, Any]] = []
    for place, chat in enumerate(chats):
        own = name if len(chats) == 1 else f"{name}#{chat.get('id', place)}"
        out += _item(map(_telegram_turn, chat["messages"]), own, str(chat.get("name") or ""))
    return out


def _telegram_turn(message: Entry) -> dict[str, Any] | None:
    if message.get("type") == "service":
        told = (message.get("title"), *_listed(message.get("members")), _text(message.get("text")))
        what = str(message.get("action", "")).replace("_", " ")
        words = f"{message.get('actor') or ''}: {what} {', '.join(str(t) for t in told if t)}"
        return _turn(None, words.strip(" :"), _telegram_time(message))
    parts = [_text(message.get("text")), *_telegram_media(message)]
    words = "\n".join(part for part in parts if part.strip())
    if words and message.get("forwarded_from"):
        words = f"[Forwarded from {message['forwarded_from']}]\n{words}"
    return _turn(message.get("from") or message.get("from_id"), words, _telegram_time(message))


def _text(value: Any) -> str:
    """Words, or a list of them in which links and the like are objects with a text."""
    if isinstance(value, Mapping):
        return _text(cast("Entry", value).get("text"))
    return "".join(map(_text, _listed(value))) if isinstance(value, list) else str(value or "")


def _telegram_media(message: Entry) -> Iterator[str]:
    if message.get("photo"):
        yield "[photo]"
    if message.get("file"):
        kind = str(message.get("media_type") or "file").replace("_", " ")
        called = message.get("file_name") or message.get("sticker_emoji") or message.get("title")
        yield f"[{kind}: {called}]" if called else f"[{kind}]"
    for key in message.keys() - _TELEGRAM:
        told = "; ".join(leaves(message[key]))
        yield f"[{key.replace('_', ' ')}: {told}]" if told else f"[{key.replace('_', ' ')}]"


def _telegram_time(message: Entry) -> str:
    """As it was on the clock of whoever exported, with the zone where the file tells it."""
    shown = str(message["date"])
    try:
        exact = datetime.fromtimestamp(int(message["date_unixtime"]), UTC)
        away = datetime.fromisoformat(shown).replace(tzinfo=UTC) - exact
    except (KeyError, ValueError, TypeError, OverflowError, OSError):
        return shown
    if away % _QUARTER or abs(away) > _FARTHEST:
        return exact.isoformat()
    return exact.astimezone(timezone(away)).isoformat()


# --- Slack ----------------------------------------------------------------------------------------


def slack_names(users: Any) -> dict[str, str]:
    """Of users.json, which lies beside the folders of the channels."""
    return {
        str(user["id"]): name
        for user in (cast("list[Entry]", users) if _are(users, "id") else ())
        if (name := _slack_name(user, user.get("profile")))
    }


def _slack_name(*told: Any) -> str:
    known = [cast("Entry", each) for each in told if isinstance(each, Mapping)]
    named = (each.get(key) for key in ("real_name", "display_name", "name") for each in known)
    return next((str(name) for name in named if name), "")


class _Slack:
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def turn(self, message: Entry) -> dict[str, Any] | None:
        user, subtype = str(message.get("user") or ""), str(message.get("subtype") or "")
        name = self._names.get(user) or _slack_name(message.get("user_profile"), message)
        speaker = name or str(message.get("username") or "") or user or message.get("bot_id")
        words = "\n".join(part for part in self._parts(message) if part.strip())
        if subtype == "me_message":
            return _turn(None, f"{speaker} {words}", _slack_time(message["ts"]))
        said = speaker if subtype in _SLACK_SPEECH else None
        return _turn(said, words, _slack_time(message["ts"]))

    def _parts(self, message: Entry) -> Iterator[str]:
        yield self._plain(str(message.get("text") or ""))
        for file in _entries(message.get("files")):
            yield f"[file: {file.get('title') or file.get('name') or file.get('id')}]"
        for added in _entries(message.get("attachments")):
            yield self._plain(str(added.get("text") or added.get("fallback") or ""))

    def _plain(self, text: str) -> str:
        return html.unescape(_LINK.sub(self._link, text))

    def _link(self, link: re.Match[str]) -> str:
        sign, target, label = link.groups()
        shown = label or target
        if sign == "@":
            return "@" + self._names.get(target, shown)
        if sign:  # a channel, everybody, a group, or a day as it is shown
            return shown if "^" in target else f"{'#' if sign == '#' else '@'}{shown}"
        return f"{label} ({target})" if label and label not in target else target


def _slack_time(ts: Any) -> str:
    try:
        return datetime.fromtimestamp(float(ts), UTC).isoformat()
    except (ValueError, TypeError, OverflowError, OSError):
        return str(ts)  # retain says what is wrong with it


# --- both -----------------------------------------------------------------------------------------


def _turn(speaker: Any, text: str, time: str) -> dict[str, Any] | None:
    """Nothing where nothing was said: a message that was taken back."""
    who = str(speaker) if speaker else None
    return {"speaker": who, "text": text.strip(), "time": time} if text.strip() else None


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _entries(value: Any) -> list[Entry]:
    return [cast("Entry", each) for each in _listed(value) if isinstance(each, Mapping)]
