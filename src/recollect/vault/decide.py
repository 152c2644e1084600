"""What has to happen to bring one note and one memory in step. Nothing is done here."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from recollect.language.tokens import count_tokens
from recollect.vault.fields import Fields, digests, flat
from recollect.vault.look import File, Pair
from recollect.vault.merge import Merge, merge
from recollect.vault.state import Form

# A note of this size is one memory: its author wrote it as one thing, with a title, a summary or
# phrases to recall it by. Without those, what is longer than a chunk is read statement by
# statement, as any document. So is what is called by a day: it holds whatever came up on it, and as
# one memory it would be of the first time that it names.
AUTHORED_TOKENS, PLAIN_TOKENS = 1_500, 400
_AUTHORED = frozenset({"id", "type", "kind", "summary", "recall_when", "title"})


class Do(StrEnum):
    KEEP = "keep"  # in step already; note it down
    RETAIN = "retain"  # the note goes to the bank, whole
    MERGE = "merge"  # single fields go one way or the other
    WRITE = "write"  # the memory becomes a note
    WITHDRAW = "withdraw"  # the note was deleted
    SET_ASIDE = "set aside"  # the memory was forgotten
    DROP = "drop"  # gone on both sides
    REWORD = "reword"  # statements of a document were corrected in the bank
    REWRITE = "rewrite"  # a document was given anew elsewhere


@dataclass
class Step:
    do: Do
    pair: Pair
    form: Form = "memory"
    merge: Merge = field(default_factory=Merge)
    conflict: bool = False  # the bank's side is to be kept in a note of its own
    before: Fields | None = None  # what the note said before it was edited

    @property
    def path(self) -> str:
        return self.pair.path or self.pair.was or ""


def decide(pair: Pair, *, one_way: bool) -> Step | None:
    """None when there is nothing to do, or nothing can be told."""
    if pair.path is not None and pair.file is None:
        return None  # there, but it cannot be read
    if pair.file is not None:
        return _noted(pair, pair.file, one_way=one_way)
    if pair.unit is None:
        return Step(Do.DROP, pair)
    if pair.entry is None:
        return Step(Do.WRITE, pair, pair.unit.form) if pair.unit.active and not one_way else None
    if not pair.unit.active:
        # A document with no statement that holds may still stand behind those of others.
        return Step(Do.DROP if pair.unit.form == "memory" else Do.WITHDRAW, pair, pair.unit.form)
    if digests(pair.unit.fields()) != pair.entry.bank and not one_way:
        return Step(Do.WRITE, pair, pair.unit.form)  # deleted here, but changed there since
    return Step(Do.WITHDRAW, pair, pair.unit.form)


def _noted(pair: Pair, file: File, *, one_way: bool) -> Step:
    unit, entry = pair.unit, pair.entry
    if unit is None:
        untouched = entry is not None and entry.digest == file.digest
        return Step(Do.SET_ASIDE if untouched else Do.RETAIN, pair, form_of(file))
    if unit.form == "document":
        return _document(pair, file, one_way=one_way)
    if _outgrown(file):
        return Step(Do.RETAIN, pair, "document")
    held = unit.fields()
    if entry is None:
        found = merge(file.fields, held, None, None)
    else:
        found = merge(file.fields, held, entry.file, entry.bank)
    if not found:
        return Step(Do.KEEP, pair)
    return Step(Do.MERGE, pair, "memory", found, conflict=bool(found.clashes))


def _document(pair: Pair, file: File, *, one_way: bool) -> Step:
    assert pair.unit is not None
    held, entry = digests(pair.unit.fields()), pair.entry
    if entry is None:
        if not pair.unit.active and "retired" not in file.fields:
            return Step(Do.RETAIN, pair, "document")  # withdrawn with its note, which is back
        told = pair.unit.document.text if pair.unit.document is not None else None
        if flat(str(file.fields["text"])) == flat(told or ""):
            return Step(Do.KEEP, pair, "document")
        return Step(Do.RETAIN, pair, "document", conflict=True)
    here = digests(file.fields) != entry.file
    given = held.get("given") != entry.bank.get("given")
    said = held.get("said") != entry.bank.get("said")
    if given:
        return Step(Do.RETAIN if here else Do.REWRITE, pair, "document", conflict=here)
    if said and not (one_way and here):  # what is never written must not keep an edit back
        return Step(Do.REWORD, pair, "document")
    return Step(Do.RETAIN if here else Do.KEEP, pair, "document")


def form_of(file: File) -> Form:
    authored = not _AUTHORED.isdisjoint(file.note.front.words)
    if not authored and file.note.is_daily:
        return "document"
    limit = AUTHORED_TOKENS if authored else PLAIN_TOKENS
    return "memory" if count_tokens(str(file.fields["text"])) <= limit else "document"


def _outgrown(file: File) -> bool:
    """A memory stays one until it is far too long: a note must not flip with every edit."""
    text = str(file.fields["text"])
    return len(text) > 4 * AUTHORED_TOKENS and count_tokens(text) > 2 * AUTHORED_TOKENS
