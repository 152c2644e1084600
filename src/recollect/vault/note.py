"""One Markdown file, read: its frontmatter, its text, whom it links to and how it is tagged."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, cast
from urllib.parse import unquote

from recollect.vault import frontmatter
from recollect.vault.frontmatter import Frontmatter

# A section that a tool keeps up to date between two comments, such as Bastra's list of related
# notes. It is nobody's writing: it is no part of the memory, and is left alone in the file.
_GENERATED = re.compile(
    r"^[^\n]*<!--[^\n>]*auto-related[^\n>]*start[^\n>]*-->[^\n]*$.*?"
    r"^[^\n]*<!--[^\n>]*auto-related[^\n>]*end[^\n>]*-->[^\n]*$",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)
_BLANK = re.compile(r"\A(?:[^\S\n]*\n)+")
_CODE = re.compile(
    r"^[ \t]*(```+|~~~+).*?^[ \t]*\1[`~]*[ \t]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL
)
_WIKI = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
_MARKDOWN = re.compile(
    r"(?<!!)\[[^\[\]\n]*\]\(<?([^()\s<>]+?\.(?:md|markdown))(?:#[^()\s]*)?>?\)", re.I
)
_TAG = re.compile(r"(?<![\w/&#])#([\w/-]*[^\W\d][\w/-]*)")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
# A line of prose that ends as a sentence does, perhaps with tags behind it.
_SENTENCE = re.compile(r"""[^\W\d_].*[.!?…]["'”’)]*(?:\s+#[\w/-]+)*\s*""")
_URL = re.compile(r"\b\w+://\S+")
_HEADING = re.compile(r"\A\s*# +(.+?)[ #]*$", re.MULTILINE)
RELATED, WEIGHT = 1.0, 0.7


@dataclass(frozen=True)
class Note:
    path: str  # inside the vault, with forward slashes
    front: Frontmatter

    @property
    def raw(self) -> str:
        return self.front.text

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).stem

    @property
    def is_daily(self) -> bool:
        """Called by a day and nothing else, as diaries are."""
        return _DAY.fullmatch(self.name) is not None

    @cached_property
    def entries(self) -> str:
        """The text of a daily note, with a blank line between lines that are a sentence each: they are about
        different things, and read as one paragraph all would be of the first time that one of them names."""
        out, fenced, last = list[str](), False, ""
        for line in self.text.split("\n"):
            if not fenced and _SENTENCE.fullmatch(last) and line[:1].isupper():
                out.append("")
            fenced ^= line.lstrip().startswith(("```", "~~~"))
            out.append(line)
            last = line
        return "\n".join(out)

    @cached_property
    def body(self) -> str:
        """Everything below the frontmatter, with plain line ends."""
        return self.raw[self.front.body_at :].replace("\r\n", "\n")

    @cached_property
    def text(self) -> str:
        """What the author wrote: the body without sections that tools generate."""
        return plain(_GENERATED.sub("", self.body))

    @cached_property
    def prose(self) -> str:
        """The text without code: where links and tags count."""
        return _CODE.sub(" ", self.text)

    @cached_property
    def heading(self) -> str | None:
        found = _HEADING.match(self.text)
        return found.group(1).strip() if found else None

    @cached_property
    def inline_tags(self) -> tuple[str, ...]:
        found = _TAG.findall(_URL.sub(" ", _WIKI.sub(" ", self.prose)))
        return tuple(dict.fromkeys(tag.strip("/-") for tag in found if tag.strip("/-")))

    def word(self, key: str) -> str | None:
        """A key's value as text, None when it is empty or no single value."""
        found = self.front.words.get(key)
        return found.strip() or None if isinstance(found, str) else None

    def words(self, key: str) -> list[str]:
        """A list, or a text with commas."""
        found = self.front.words.get(key)
        if isinstance(found, str):
            found = found.split(",")
        if not isinstance(found, list):
            return []
        parts = (str(v).strip() for v in cast("list[Any]", found) if v is not None)
        return list(dict.fromkeys(part for part in parts if part))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What a link may call this note, besides its path."""
        given = [self.word("title"), self.heading, *self.words("aliases"), *self.words("alias")]
        return tuple(dict.fromkeys(name for name in given if name))

    @cached_property
    def links(self) -> dict[str, float]:
        """What this note points at, in the words it uses, with the weight of the link."""
        out: dict[str, float] = {}
        for target, weight in self._links():
            target = target.strip()
            if target:
                out[target] = max(weight, out.get(target, 0.0))
        return out

    def _links(self) -> Iterator[tuple[str, float]]:
        for given in _WIKI.findall(self.prose):
            yield given.split("|")[0].split("#")[0], RELATED
        for given in _MARKDOWN.findall(self.prose):
            if "://" not in given:
                yield unquote(given), RELATED
        for given in self.words("related"):
            yield given.strip("[]").split("|")[0].split("#")[0], RELATED
        found = self.front.values.get("related_via")
        for entry in cast("list[Any]", found) if isinstance(found, list) else []:
            if isinstance(entry, str):
                yield entry.strip("[]").split("|")[0], WEIGHT
            elif isinstance(entry, Mapping):
                via = cast("Mapping[str, Any]", entry)
                yield str(via.get("id") or ""), _cosine(via)


def _cosine(via: Mapping[str, Any]) -> float:
    for key in ("cosine", "score", "weight"):
        value = via.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return min(1.0, max(0.0, float(value)))
    return WEIGHT


def plain(text: str) -> str:
    """As a note keeps it: plain line ends, no blank lines around it."""
    return _BLANK.sub("", text.replace("\r\n", "\n").rstrip())


def read(path: str, text: str) -> Note:
    return Note(path, frontmatter.parse(text, path))


def with_text(note: Note, text: str) -> str:
    """The file with another text in place of the author's; lines that stay keep their line ends,
    generated sections stay where they are."""
    head, body = note.raw[: note.front.body_at], note.raw[note.front.body_at :]
    lines = body.split("\n")
    fixed = _generated_lines(body)
    own = [n for n in range(len(lines)) if n not in fixed]
    while own and not lines[own[0]].strip():
        own.pop(0)
    while own and not lines[own[-1]].strip():
        own.pop()
    new, newline = text.strip("\n").split("\n"), note.front.newline
    if not own:
        glue = "" if not head.strip("\ufeff") or head.endswith(("\n", "\r")) else newline
        return head + glue + newline.join(new) + newline + body
    old, ends = _ends([lines[n] for n in own])
    placed = "\n".join(_placed(old, new, ends, newline.removesuffix("\n")))
    inner = [lines[n] for n in range(own[0], own[-1] + 1) if n in fixed]
    return head + "\n".join([*lines[: own[0]], placed, *inner, *lines[own[-1] + 1 :]])


def _ends(lines: list[str]) -> tuple[list[str], list[str]]:
    """Lines without what ends them, and that: a carriage return, or blanks behind the last word."""
    cut = [line.removesuffix("\r") for line in lines]
    cut[-1] = cut[-1].rstrip()
    return cut, [line[len(c) :] for line, c in zip(lines, cut, strict=True)]


def _generated_lines(body: str) -> set[int]:
    out: set[int] = set()
    for found in _GENERATED.finditer(body):
        first = body.count("\n", 0, found.start())
        out.update(range(first, first + found.group().count("\n") + 1))
    return out


def _placed(old: list[str], new: list[str], ends: list[str], ending: str) -> list[str]:
    out: list[str] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            out += [old[i] + (ends[i] if i + 1 < len(old) else ending) for i in range(i1, i2)]
        else:
            out += [line + ending for line in new[j1:j2]]
    if out:  # the last line ends as the last line did
        out[-1] = out[-1].removesuffix(ending) + ends[-1]
    return out
