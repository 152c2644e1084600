"""What is measured: units that become memories, queries that should bring some of them back.

The file format is one JSON object a line, a unit or a query (docs/eval.md describes it)::

    {"unit": "u1", "text": "I moved to Lisbon.", "speaker": "Ana", "time": "2024-05-02"}
    {"query": "Where does Ana live?", "gold": ["u1"], "category": "single-hop"}
"""

from __future__ import annotations

import gzip
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import get_close_matches
from io import BufferedIOBase
from pathlib import Path
from typing import Any, cast, get_args

import orjson

from recollect.eval.times import read_time
from recollect.eval.trouble import DatasetError, reading
from recollect.retain.items import UNSET
from recollect.types import TagsMatch
from recollect.unpacking import unpacked

DEFAULT_BANK = "default"


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that was said or written; it is retained as one ready-made fact."""

    id: str
    text: str
    speaker: str | None = None
    time: datetime | None = None
    session: str | None = None
    context: str | None = None
    tags: tuple[str, ...] = ()
    superseded_by: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Authored fields handed to retain as they are: title, recall_when, type, entities …"""


@dataclass(frozen=True, slots=True)
class Query:
    """One question, and the units that answer it."""

    id: str
    text: str
    gold: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    category: str = "all"
    time: datetime | None = None
    as_of: datetime | None = None
    tags: tuple[str, ...] = ()
    tags_match: str = "any"
    answerable: bool | None = None
    """None: it is not known whether the bank holds an answer, so abstention is not judged."""


@dataclass(frozen=True, slots=True)
class Bank:
    """Units that are searched together, with the queries asked of them."""

    id: str
    units: tuple[Unit, ...]
    queries: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    banks: tuple[Bank, ...]
    note: str = ""

    @property
    def queries(self) -> Iterator[Query]:
        return (query for bank in self.banks for query in bank.queries)

    @property
    def units(self) -> Iterator[Unit]:
        return (unit for bank in self.banks for unit in bank.units)


def read_jsonl(path: str | Path, name: str | None = None) -> Dataset:
    """The simple format; units and queries may come in any order."""
    path = Path(path)
    units: dict[str, list[Unit]] = {}
    queries: dict[str, list[Query]] = {}
    for number, record in json_lines(path):
        with reading(f"line {number} of {path.name}"):
            bank = _name_of(record, "bank", DEFAULT_BANK)
            if "unit" in record:
                units.setdefault(bank, []).append(_unit(record))
            elif "query" in record:
                queries.setdefault(bank, []).append(_query(record, f"{bank}-q{number}"))
            else:
                raise DatasetError(
                    "it is neither a unit nor a query",
                    hint='give each line a "unit" (its id) or a "query" (its text)',
                )
    banks = tuple(
        Bank(bank, tuple(units.get(bank, ())), tuple(queries.get(bank, ())))
        for bank in dict.fromkeys((*units, *queries))
    )
    check(banks)
    return Dataset(name or _stem(path), banks)


def write_jsonl(dataset: Dataset, path: str | Path) -> None:
    """The inverse of read_jsonl: every converter's result can be kept, looked at and edited."""
    path = Path(path)
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wb") as out:
        for bank in dataset.banks:
            for record in (*map(_unit_record, bank.units), *map(_query_record, bank.queries)):
                out.write(orjson.dumps({"bank": bank.id, **record}) + b"\n")


def check(banks: Sequence[Bank]) -> None:
    """A gold id that names nothing would silently count as never found; refuse it instead."""
    if twice := [bank for bank, times in Counter(bank.id for bank in banks).items() if times > 1]:
        raise DatasetError(
            f"two banks are called {twice[0]!r}", hint="their units would be searched together"
        )
    for bank in banks:
        if bank.queries and not bank.units and any(other.units for other in banks):
            raise DatasetError(
                f"bank {bank.id!r} has queries and no units",
                hint="banks in the file: " + ", ".join(b.id for b in banks[:10] if b.units),
            )
        _check_texts(bank)
        _check_wanted(bank)
        _check_ids(bank)


def _check_texts(bank: Bank) -> None:
    for kind, one in (*(("unit", u) for u in bank.units), *(("query", q) for q in bank.queries)):
        if not one.text.strip():
            raise DatasetError(
                f"{kind} {one.id!r} of bank {bank.id!r} has no text",
                hint="give it one, or leave it out",
            )


def _check_wanted(bank: Bank) -> None:
    """What is gold does not count as forbidden: a gate on both at once could not fail."""
    for query in bank.queries:
        if both := [id for id in query.gold if id in query.forbidden]:
            raise DatasetError(
                f"query {query.id!r} of bank {bank.id!r} wants and forbids the same: {both[:5]}",
                hint="an id is in gold or in forbidden",
            )


def _check_ids(bank: Bank) -> None:
    counted = Counter(unit.id for unit in bank.units)
    if twice := [id for id, times in counted.items() if times > 1]:
        raise DatasetError(
            f"bank {bank.id!r} has two units with the same id, {twice[0]!r}",
            hint="gold could mean either: give each an id of its own",
        )
    if not counted:
        return  # queries alone: their gold names memories of a bank that exists already
    if lost := [u.id for u in bank.units if u.superseded_by and u.superseded_by not in counted]:
        raise DatasetError(
            f"units superseded by unknown ones: {lost[:5]}",
            hint="superseded_by is the id of a unit in the same bank",
        )
    _check_successors(bank)
    for query in bank.queries:
        if unknown := [id for id in (*query.gold, *query.forbidden) if id not in counted]:
            raise DatasetError(
                f"query {query.id!r} of bank {bank.id!r} names unknown units: {unknown[:5]}",
                hint="gold and forbidden ids must be ids of units in the same bank",
            )


def _check_successors(bank: Bank) -> None:
    """Units that replace each other, at whatever remove, would leave none that holds."""
    after = {unit.id: unit.superseded_by for unit in bank.units if unit.superseded_by}
    for unit in after:
        if unit in (chain := list(successors(unit, after))):
            raise DatasetError(
                f"units of bank {bank.id!r} supersede each other: {', '.join(map(repr, chain[:5]))}",
                hint="the last one has no superseded_by",
            )


def successors(unit: str, after: Mapping[str, str]) -> Iterator[str]:
    """What replaced a unit, what replaced that, and so on; each once."""
    seen: set[str] = set()
    while (unit := after.get(unit, "")) and unit not in seen:
        seen.add(unit)
        yield unit


def only_banks(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """The same data set with the named banks alone."""
    kept = tuple(bank for bank in dataset.banks if bank.id in names)
    if unknown := sorted({*names} - {bank.id for bank in kept}):
        raise DatasetError(
            f"no bank of {dataset.name!r} is called {', '.join(unknown)}",
            hint="banks in it: " + ", ".join(bank.id for bank in dataset.banks[:10]),
        )
    return replace(dataset, banks=kept)


def some_queries(dataset: Dataset, count: int) -> Dataset:
    """So many queries, spread evenly over the file, and the banks they are asked of."""
    asked = sum(1 for _ in dataset.queries)
    if count >= asked:
        return dataset
    chosen = {i * asked // count for i in range(count)}
    banks: list[Bank] = []
    place = 0
    for bank in dataset.banks:
        kept = tuple(q for i, q in enumerate(bank.queries, start=place) if i in chosen)
        place += len(bank.queries)
        if kept:
            banks.append(replace(bank, queries=kept))
    note = f"{count:,} of {asked:,} queries, spread evenly"
    return replace(dataset, banks=tuple(banks), note="; ".join(filter(None, (dataset.note, note))))


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every object with the number of its line."""
    with _opened(path) as lines:
        for number, line in enumerate(lines, start=1):
            line = line.removeprefix(BOM_UTF8) if number == 1 else line  # as some editors write it
            if not line.strip():
                continue
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError as cause:
                raise DatasetError(
                    f"line {number} of {path.name} is not JSON: {cause}",
                    hint="docs/eval.md shows the format",
                ) from cause
            if not isinstance(record, dict):
                raise DatasetError(
                    f"line {number} of {path.name} is not a JSON object",
                    hint="docs/eval.md shows the format",
                )
            yield number, cast(dict[str, Any], record)


def is_lines(path: Path) -> bool:
    """By its name, or because its first line that is not blank is a unit or a query, whatever it is called."""
    if {".jsonl", ".ndjson"} & set(path.suffixes):
        return True
    with _opened(path) as lines:
        written = (line.removeprefix(BOM_UTF8).strip() for line in lines)
        try:
            first = orjson.loads(next(filter(None, written), b""))
        except orjson.JSONDecodeError:
            return False
    return isinstance(first, dict) and ("unit" in first or "query" in first)


def read_json(path: Path) -> Any:
    with _opened(path) as source:
        try:
            return orjson.loads(source.read().removeprefix(BOM_UTF8))
        except orjson.JSONDecodeError as cause:
            raise DatasetError(
                f"{path.name} is not JSON: {cause}", hint="docs/eval.md shows the format"
            ) from cause


@contextmanager
def _opened(path: Path) -> Generator[BufferedIOBase]:
    if not path.exists():
        raise DatasetError(f"there is no file {path}", hint="check the path")
    with path.open("rb") as file, unpacked(file, path.name, DatasetError) as source:
        yield source


_UNIT_KEYS = {
    "bank",
    "unit",
    "text",
    "speaker",
    "time",
    "session",
    "context",
    "tags",
    "superseded_by",
}


def _unit(record: Mapping[str, Any]) -> Unit:
    _check_twice(record)
    return Unit(
        id=_id_of(record, "unit"),
        text=text_of(record, "text"),
        speaker=name_or_none(record, "speaker"),
        time=read_time(record.get("time")),
        session=name_or_none(record, "session"),
        context=name_or_none(record, "context"),
        tags=texts_of(record, "tags"),
        superseded_by=name_or_none(record, "superseded_by"),
        fields={
            key: value
            for key, value in record.items()
            if key not in _UNIT_KEYS and not (key in _ALSO and _said(record, _ALSO[key]))
        },
    )


# What retain calls it. Of two that differ, one would be taken, and nobody would notice which.
_ALSO = {"timestamp": "time", "document_id": "session"}


def _said(record: Mapping[str, Any], key: str) -> bool:
    return record.get(key) not in (None, "")


def _check_twice(record: Mapping[str, Any]) -> None:
    for theirs, ours in _ALSO.items():
        if not (_said(record, theirs) and _said(record, ours)):
            continue
        one, other = record[ours], record[theirs]
        same = str(one) == str(other)
        if not same and ours == "time" and other != UNSET:
            same = read_time(one) == read_time(other)
        if not same:
            raise DatasetError(
                f"unit {record['unit']!r} has {ours} {one!r} and {theirs} {other!r}",
                hint=f"they mean the same: give {ours!r} alone",
            )


_JUDGED_BY = ("gold", "forbidden", "category", "time", "as_of", "tags", "tags_match", "bank")
# What the verbs call it: an old "last week" would count from today, and nobody would notice.
_ELSEWHERE = {"timestamp": "time", "query_timestamp": "time", "query_time": "time"}


def _check_keys(record: Mapping[str, Any]) -> None:
    """`golds` would leave a query without gold, and nobody would notice; an `answer` is welcome."""
    for key in record:
        if key in _JUDGED_BY:
            continue
        near = get_close_matches(key, _JUDGED_BY, 1, 0.66)
        if key != "answerable":  # an `answer` is less like it than that
            near += get_close_matches(key, ["answerable"], 1, 0.85)
        if meant := _ELSEWHERE.get(key) or next(iter(near), None):
            raise DatasetError(f"a query has no {key!r}", hint=f"is {meant!r} meant?")


def _query(record: Mapping[str, Any], default_id: str) -> Query:
    _check_keys(record)
    gold = texts_of(record, "gold")
    # an explicit empty list says "nothing here answers this"; a missing key says "not judged"
    judged: bool | None = None if record.get("gold") is None else bool(gold)
    answerable = record.get("answerable", judged)
    if not isinstance(answerable, bool | None):
        raise DatasetError(f"answerable is {answerable!r}", hint="write true or false")
    match = _name_of(record, "tags_match", "any")
    if match not in get_args(TagsMatch):
        ways = ", ".join(get_args(TagsMatch))
        raise DatasetError(f"tags_match is {match!r}", hint=f"one of {ways}")
    return Query(
        id=_name_of(record, "id", default_id),
        text=text_of(record, "query"),
        gold=gold,
        forbidden=texts_of(record, "forbidden"),
        category=_name_of(record, "category", "all"),
        time=read_time(record.get("time")),
        as_of=read_time(record.get("as_of"), end=True),
        tags=texts_of(record, "tags"),
        tags_match=match,
        answerable=answerable,
    )


def _id_of(record: Mapping[str, Any], key: str) -> str:
    if not isinstance(id := record[key], str | int) or isinstance(id, bool):
        raise DatasetError(f"{key} is {id!r}, not an id", hint="give it a text or a whole number")
    return str(id)


def _name_of(record: Mapping[str, Any], key: str, default: str) -> str:
    """Programs write null for what they leave out; it is no name."""
    if (name := record.get(key)) is None:
        return default
    if isinstance(name, list | dict):
        raise DatasetError(f"{key} is {name!r}, not a name", hint=f'write "{key}": "…"')
    return str(name)


def name_or_none(record: Mapping[str, Any], key: str) -> str | None:
    return _name_of(record, key, "") or None


def text_of(record: Mapping[str, Any], key: str) -> str:
    if not isinstance(text := record[key], str):
        raise DatasetError(f"{key} is {text!r}, not a text", hint=f'write "{key}": "…"')
    return text


def texts_of(record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """A text in place of a list would be read letter by letter, and nobody would notice."""
    values: Any = record.get(key)
    if values is None:
        return ()
    if not isinstance(values, list):
        raise DatasetError(f"{key} is {values!r}, not a list", hint=f'write "{key}": ["…"]')
    texts = cast(list[Any], values)
    if wrong := [one for one in texts if not isinstance(one, str | int)]:
        raise DatasetError(f"{key} holds {wrong[0]!r}, not a text", hint=f'write "{key}": ["…"]')
    return tuple(map(str, texts))


def _unit_record(unit: Unit) -> dict[str, Any]:
    record: dict[str, Any] = {"unit": unit.id, "text": unit.text}
    optional = {
        "speaker": unit.speaker,
        "time": unit.time and unit.time.isoformat(),
        "session": unit.session,
        "context": unit.context,
        "tags": list(unit.tags),
        "superseded_by": unit.superseded_by,
    }
    return record | {key: value for key, value in optional.items() if value} | dict(unit.fields)


def _query_record(query: Query) -> dict[str, Any]:
    record: dict[str, Any] = {"query": query.text, "id": query.id, "category": query.category}
    if query.gold or query.answerable is False:
        record["gold"] = list(query.gold)
    optional = {
        "forbidden": list(query.forbidden),
        "time": query.time and query.time.isoformat(),
        "as_of": query.as_of and query.as_of.isoformat(),
        "tags": list(query.tags),
        "tags_match": None if query.tags_match == "any" else query.tags_match,
    }
    record |= {key: value for key, value in optional.items() if value}
    if query.answerable is not None:
        record["answerable"] = query.answerable
    return record


def _stem(path: Path) -> str:
    return path.name.split(".")[0]
