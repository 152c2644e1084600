"""The data sets a benchmark run uses, split so that nothing fitted is reported on."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.eval.convert import pool
from recollect.eval.data import Bank, Dataset
from recollect.eval.load import data_folder, load
from recollect.eval.splits import Split, select, share


@dataclass(frozen=True)
class Set:
    name: str
    path: str
    pooled: bool = False
    short_units: int | None = None
    """In a short run a bank larger than this keeps its gold and a hash sample of the rest."""
    short_queries: int | None = None
    masked: bool = False
    """Hide what was dated after the query (the published RealMem figures do not)."""
    styles: tuple[str, ...] = ()
    """Of our own chats (`data/`): those of these styles."""


OWN = Path(__file__).parent.parent / "data"
SETS = (
    Set("chats", "chats.jsonl.gz", styles=("friends", "messages", "group"), short_queries=36),
    Set("assistants", "chats.jsonl.gz", styles=("assistant", "agent"), short_queries=36),
    Set("notes", "chats.jsonl.gz", styles=("notes", "records", "articles")),
    Set("answers", "answers.jsonl.gz", styles=("answers",)),
    Set("realmem", "memory/realmem.json.gz"),
    Set("realmem-as-of", "memory/realmem.json.gz", masked=True),
    Set("lifebench", "memory/lifebench_en.json.gz"),
    Set("friendsqa", "memory/friendsqa_dev.json.gz", pooled=True),
    Set("musique", "multihop/musique_train100"),
    Set("hotpot", "multihop/hotpot_train100"),
    Set("scifact", "ir/scifact", short_units=1500, short_queries=150),
    Set("timeqa", "ir/timeqa", pooled=True, short_units=2000, short_queries=150),
    Set("cranfield", "ir/cranfield", short_units=1400, short_queries=100),
    Set("precisionmem", "memory/precisionmem"),
    Set("abstain", "memory/longmemeval_abstain_sample.json.gz"),
    Set("oracle", "memory/longmemeval_oracle_sample.json.gz"),
)
NAMES = tuple(each.name for each in SETS)
QUALITY = (
    "chats",
    "assistants",
    "notes",
    "answers",
    "realmem",
    "realmem-as-of",
    "lifebench",
    "friendsqa",
    "musique",
    "hotpot",
    "scifact",
    "timeqa",
)


def folder() -> Path:
    """The development data. In a clone without it everything else can still be measured."""
    found = data_folder()
    if found is None:
        print("no data: set RECOLLECT_DATA, or put it beside the repository", file=sys.stderr)
        raise SystemExit(77)  # machine.SKIPPED; training imports this file, and not that one
    return found


def read(name: str, split: Split = Split.REPORTED, *, short: bool = False) -> Dataset:
    about = next(s for s in SETS if s.name == name)
    whole = load((OWN if about.styles else folder()) / about.path)
    chosen = select(whole, split)
    if about.styles:
        banks = (bank for bank in chosen.banks if bank.id.split("-")[0] in about.styles)
        chosen = replace(chosen, banks=tuple(banks))
    if about.pooled:
        chosen = pool(chosen, name)
    if not about.masked:
        chosen = replace(chosen, banks=tuple(map(_unmasked, chosen.banks)))
    chosen = replace(chosen, name=name, note=_note(about, split, short))
    if short and (about.short_units or about.short_queries):
        banks = tuple(sample(b, about.short_units, about.short_queries) for b in chosen.banks)
        chosen = replace(chosen, banks=banks)
    return chosen


def sample(bank: Bank, units: int | None, queries: int | None) -> Bank:
    """Queries by hash, their gold, and other units by hash up to the limit; order is kept."""
    asked = set(_first((q.id for q in bank.queries), queries))
    kept = tuple(q for q in bank.queries if q.id in asked)
    needed = {id for q in kept for id in (*q.gold, *q.forbidden)}
    if units is None or len(bank.units) <= units:
        return replace(bank, queries=kept)
    others = (u.id for u in bank.units if u.id not in needed)
    chosen = needed | set(_first(others, max(0, units - len(needed))))
    return replace(bank, queries=kept, units=tuple(u for u in bank.units if u.id in chosen))


def _unmasked(bank: Bank) -> Bank:
    return replace(bank, queries=tuple(replace(q, as_of=None) for q in bank.queries))


def _first(ids: Iterable[str], count: int | None, key: Callable[[str], float] = share) -> list[str]:
    return sorted(ids, key=key)[:count]


def _note(about: Set, split: Split, short: bool) -> str:
    sampled = short and (about.short_units or about.short_queries)
    part = " (sampled: not comparable with a full run)" if sampled else ""
    return f"{split.value} split{part}"
