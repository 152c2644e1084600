"""A note's YAML frontmatter: read with its places in the text, changed without touching the rest.

A user's file is never dumped anew. A change replaces the characters of one value (or adds one
line) and leaves comments, order, quoting, line endings and unknown keys as they are. Every edit
is read back before it is believed: it must change exactly the keys it was meant to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson
import yaml

from recollect.errors import InvalidInput

_FENCE = re.compile(r"---[ \t]*(?:\r\n|\n|\r|$)")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
# Words that YAML readers take for something other than text, or that begin a construct.
_PLAIN = re.compile(r"[A-Za-zÀ-ɏ0-9_./(][^\x00-\x1f\x7f-\x9f\ufeff\u2028\u2029]*\Z")
_YAML = cast("Any", yaml)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVE = yaml.SafeLoader("")


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """`span` is the YAML between the fences, as places in the text; None when there is none.
    `words` holds every scalar as it was written, `values` as YAML reads it."""

    text: str
    span: tuple[int, int] | None
    body_at: int
    words: Mapping[str, Any]
    values: Mapping[str, Any]
    nodes: Mapping[str, tuple[yaml.Node, yaml.Node]]

    @property
    def newline(self) -> str:
        """The line ending that the file uses most."""
        crlf = self.text.count("\r\n")
        return "\r\n" if crlf * 2 > self.text.count("\n") else "\n"


def parse(text: str, name: str) -> Frontmatter:
    """The frontmatter of a note; one that is not closed, or is no mapping, is plain text."""
    start = 1 if text.startswith("\ufeff") else 0
    opening = _FENCE.match(text, start)
    closing = _END.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return Frontmatter(text, None, start, {}, {}, {})
    source = text[opening.end() : closing.start()]
    root = _composed(source, name)
    if root is None:
        return Frontmatter(text, (opening.end(), closing.start()), closing.end(), {}, {}, {})
    if not isinstance(root, yaml.MappingNode):
        return Frontmatter(text, None, start, {}, {}, {})
    nodes: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", root.value):
        word = _words(key)
        if not isinstance(word, str) or word in nodes:
            raise _broken(name, key, f"the key {word!r} stands there twice or is no word")
        nodes[word] = (key, value)
    return Frontmatter(
        text,
        (opening.end(), closing.start()),
        closing.end(),
        {key: _words(value) for key, (_, value) in nodes.items()},
        {key: _Reading(typed=True).read(value) for key, (_, value) in nodes.items()},
        nodes,
    )


def _composed(source: str, name: str) -> yaml.Node | None:
    try:
        return _YAML.compose(source, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 2}" if mark is not None else ""
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InvalidInput(
            f"{name}{where}: the frontmatter is not valid YAML: {what}",
            hint="a text with a colon or a quote in it wants quotes around it",
        ) from error


def _broken(name: str, node: yaml.Node, what: str) -> InvalidInput:
    line = node.start_mark.line + 2
    return InvalidInput(f"{name}, line {line}: {what}", hint="keep one of them")


def _words(node: yaml.Node) -> Any:
    return _Reading(typed=False).read(node)


class _Reading:
    """Nodes as values. Anchors may make a small file endless, so there is an end to patience."""

    def __init__(self, *, typed: bool) -> None:
        self._typed = typed
        self._left = 10_000

    def read(self, node: yaml.Node, depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or depth > 40:
            raise InvalidInput("the frontmatter is nested too deeply", hint="write it out plainly")
        if isinstance(node, yaml.ScalarNode):
            return _typed(node) if self._typed else _word(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, depth + 1) for item in cast("list[yaml.Node]", node.value)]
        pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
        return {
            str(_Reading(typed=False).read(key, depth + 1)): self.read(value, depth + 1)
            for key, value in pairs
        }


def _word(node: yaml.ScalarNode) -> str | None:
    return None if node.tag.endswith(":null") else str(node.value)


def _typed(node: yaml.ScalarNode) -> Any:
    """The value as JSON can hold it; dates stay as they were written."""
    if node.tag.rpartition(":")[2] not in ("bool", "int", "float", "null"):
        return str(node.value)
    try:
        found = cast("Any", _RESOLVE).construct_object(node)
        orjson.dumps(found)
    except (ValueError, TypeError, yaml.YAMLError):
        return str(node.value)
    unreal = isinstance(found, float) and (found != found or abs(found) == float("inf"))
    return str(node.value) if unreal else found


# --- changing ------------------------------------------------------------------------------


def with_values(front: Frontmatter, changes: Mapping[str, Any], name: str) -> str:
    """The text with these keys set (None takes a key away), and nothing else changed."""
    text = front.text
    current = front
    try:
        for key, value in changes.items():
            text = _with_value(current, key, value)
            current = parse(text, name)
        sound = _as_meant(front, current, changes)
    except (InvalidInput, ValueError):
        sound = False
    if not sound:
        raise InvalidInput(
            f"{name}: {', '.join(changes)} cannot be set without changing more of the frontmatter",
            hint="set it by hand; the memory is as it should be",
        )
    return text


def _as_meant(before: Frontmatter, after: Frontmatter, changes: Mapping[str, Any]) -> bool:
    expected = {k: v for k, v in before.values.items() if k not in changes}
    kept = {k: v for k, v in after.values.items() if k not in changes}
    took = all(
        (after.values.get(k) is None) if v is None else _same(after.values.get(k), v)
        for k, v in changes.items()
    )
    start = 1 if before.text.startswith("\ufeff") else 0
    body = before.text[max(before.body_at, start) :]
    return expected == kept and took and after.text[after.body_at :] == body


def _same(read: Any, meant: Any) -> bool:
    return read == meant or str(read) == str(meant)


def _with_value(front: Frontmatter, key: str, value: Any) -> str:
    text, newline = front.text, front.newline
    if front.span is None:
        at = 1 if text.startswith("\ufeff") else 0
        block = f"---{newline}{_line(key, value, newline)}---{newline}"
        return text if value is None else text[:at] + block + text[at:]
    if key not in front.nodes:
        if value is None:
            return text
        end = front.span[1]
        glue = "" if end == front.span[0] or text[end - 1] in "\r\n" else newline
        return text[:end] + glue + _line(key, value, newline) + text[end:]
    if value is None:
        return _without(front, key)
    return _replaced(front, key, value)


def _line(key: str, value: Any, newline: str) -> str:
    if isinstance(value, list) and value and all(isinstance(v, str) for v in cast("Any", value)):
        items = (f"  - {scalar(v)}{newline}" for v in cast("list[str]", value))
        return f"{scalar(key)}:{newline}{''.join(items)}"
    return f"{scalar(key)}: {scalar(value)}{newline}"


def _extent(front: Frontmatter, node: yaml.Node) -> tuple[int, int]:
    """Where a value stands in the text, less the white space and comments after it."""
    assert front.span is not None
    base = front.span[0]
    start, end = base + node.start_mark.index, base + _end(node)
    body = front.text[start:end]
    return start, start + len(body.rstrip())


def _end(node: yaml.Node) -> int:
    """Where a node ends. For a block collection that is the end of its last item, because YAML
    places the collection's own end at the next token."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(node, yaml.MappingNode) else last)
    return node.end_mark.index


def _without(front: Frontmatter, key: str) -> str:
    assert front.span is not None
    head, value = front.nodes[key]
    start = front.span[0] + head.start_mark.index
    end = max(_extent(front, value)[1], front.span[0] + head.end_mark.index)
    stop = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|$)").match(front.text, end)
    assert stop is not None
    return front.text[:start] + front.text[stop.end() :]


def _replaced(front: Frontmatter, key: str, value: Any) -> str:
    head, node = front.nodes[key]
    text, newline = front.text, front.newline
    start, end = _extent(front, node)
    assert front.span is not None
    if end <= start:  # "key:" with nothing behind it
        at = front.span[0] + head.end_mark.index
        at = text.index(":", at) + 1
        return f"{text[:at]} {scalar(value)}{text[at:]}"
    if (
        isinstance(node, yaml.SequenceNode)
        and not node.flow_style
        and isinstance(value, list)
        and value
    ):
        return _relisted(front, node, cast("list[Any]", value), newline)
    inline = scalar(value)
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        at = text.index(":", front.span[0] + head.end_mark.index) + 1
        return f"{text[:at]} {inline}{text[end:]}"
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        return f"{text[:start]}{inline}{newline}{text[end:].lstrip(' ').removeprefix(newline)}"
    return text[:start] + inline + text[end:]


def _relisted(front: Frontmatter, node: yaml.SequenceNode, value: Sequence[Any], nl: str) -> str:
    """A block list with items taken away and added: the lines of those that stay, stay."""
    assert front.span is not None
    text, base = front.text, front.span[0]
    wanted = [str(v) for v in value]
    lines: list[tuple[int, int, str]] = []
    for item in cast("list[yaml.Node]", node.value):
        start = text.rfind("\n", 0, base + item.start_mark.index) + 1
        end = _extent(front, item)[1]
        stop = text.find("\n", end)
        lines.append((start, len(text) if stop < 0 else stop + 1, str(_words(item))))
    indent = text[lines[0][0] : base + node.start_mark.index]
    indent = indent if not indent.strip() else ""
    kept = [word for *_, word in lines if word in wanted]
    if kept != [w for w in wanted if w in kept] or len({*kept}) != len(kept):
        body = "".join(f"{indent}- {scalar(v)}{nl}" for v in value)  # another order: all anew
        return text[: lines[0][0]] + body + text[lines[-1][1] :]
    out, at = "", lines[0][0]
    for start, stop, word in lines:
        out += text[at:start] + (text[start:stop] if word in wanted else "")
        at = stop
    out += "".join(f"{indent}- {scalar(v)}{nl}" for v in value if str(v) not in kept)
    return text[: lines[0][0]] + out + text[lines[-1][1] :]


def scalar(value: Any) -> str:
    """A value on one line. Text stands bare where every YAML reader takes it for that text;
    everything else is JSON, which is YAML."""
    if isinstance(value, str) and _bare(value):
        return value
    dumped = orjson.dumps(value).decode()
    # What JSON leaves as it is and YAML 1.1 takes for a line break or refuses.
    return re.sub(
        r"[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]",
        lambda m: f"\\u{ord(m.group()):04x}",
        dumped,
    )


def _bare(value: str) -> bool:
    if not _PLAIN.match(value) or value != value.strip() or ": " in value or " #" in value:
        return False
    if value.endswith(":") or value in ("---", "..."):
        return False
    try:
        node = _YAML.compose(f"a: {value}\n", Loader=_LOADER)
    except yaml.YAMLError:
        return False
    if not isinstance(node, yaml.MappingNode) or len(node.value) != 1:
        return False
    read = node.value[0][1]
    kind = read.tag.rpartition(":")[2]
    return (
        isinstance(read, yaml.ScalarNode) and read.value == value and kind in ("str", "timestamp")
    )
