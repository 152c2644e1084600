"""What is measured: units that become memories, queries that should bring some of them back.

The file format is one JSON object a line, a unit or a query (docs/eval.md describes it)::

    {"unit": "u1", "text": "I moved to Lisbon.", "speaker": "Ana", "time": "2024-05-02"}
    {"query": "Where does Ana live?", "gold": ["u1"], "category": "single-hop"}
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import orjson

from recollect.eval.times import read_time
from recollect.eval.trouble import DatasetError

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


def read_jsonl(path: Path, name: str | None = None) -> Dataset:
    """The simple format; units and queries may come in any order."""
    units: dict[str, list[Unit]] = {}
    queries: dict[str, list[Query]] = {}
    for number, record in enumerate(json_lines(path), start=1):
        bank = str(record.get("bank", DEFAULT_BANK))
        try:
            if "unit" in record:
                units.setdefault(bank, []).append(_unit(record))
            elif "query" in record:
                queries.setdefault(bank, []).append(_query(record, f"{bank}-q{number}"))
            else:
                raise DatasetError(
                    "a line is neither a unit nor a query",
                    hint='give each line a "unit" (its id) or a "query" (its text)',
                )
        except (KeyError, TypeError, ValueError) as cause:
            what = f"{cause} is missing" if isinstance(cause, KeyError) else cause
            raise DatasetError(
                f"line {number}: {what}", hint="docs/eval.md shows the format"
            ) from cause
    banks = tuple(
        Bank(bank, tuple(units.get(bank, ())), tuple(queries.get(bank, ())))
        for bank in dict.fromkeys((*units, *queries))
    )
    check(banks)
    return Dataset(name or _stem(path), banks)


def write_jsonl(dataset: Dataset, path: Path) -> None:
    """The inverse of read_jsonl: every converter's result can be kept, looked at and edited."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wb") as out:
        for bank in dataset.banks:
            for record in (*map(_unit_record, bank.units), *map(_query_record, bank.queries)):
                out.write(orjson.dumps({"bank": bank.id, **record}) + b"\n")


def check(banks: Iterable[Bank]) -> None:
    """A gold id that names nothing would silently count as never found; refuse it instead."""
    for bank in banks:
        known = {unit.id for unit in bank.units}
        if len(known) != len(bank.units):
            raise DatasetError(f"bank {bank.id!r} has two units with the same id")
        if not known:
            continue  # queries alone: their gold names memories of a bank that exists already
        if lost := [u.id for u in bank.units if u.superseded_by and u.superseded_by not in known]:
            raise DatasetError(f"units superseded by unknown ones: {lost[:5]}")
        for query in bank.queries:
            if unknown := [id for id in (*query.gold, *query.forbidden) if id not in known]:
                raise DatasetError(
                    f"query {query.id!r} of bank {bank.id!r} names unknown units: {unknown[:5]}",
                    hint="gold and forbidden ids must be ids of units in the same bank",
                )


def only_banks(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """The same data set with the named banks alone."""
    kept = tuple(bank for bank in dataset.banks if bank.id in names)
    if not kept:
        raise DatasetError(
            f"no bank of {dataset.name!r} is called {', '.join(names)}",
            hint="banks in it: " + ", ".join(bank.id for bank in dataset.banks[:10]),
        )
    return replace(dataset, banks=kept)


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with open_bytes(path) as lines:
        for number, line in enumerate(lines, start=1):
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
                raise DatasetError(f"line {number} of {path.name} is not a JSON object")
            yield cast(dict[str, Any], record)


def read_json(path: Path) -> Any:
    with open_bytes(path) as source:
        try:
            return orjson.loads(source.read())
        except orjson.JSONDecodeError as cause:
            raise DatasetError(
                f"{path.name} is not JSON: {cause}", hint="docs/eval.md shows the format"
            ) from cause


def open_bytes(path: Path) -> Any:
    if not path.exists():
        raise DatasetError(f"there is no file {path}", hint="check the path")
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


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
    return Unit(
        id=str(record["unit"]),
        text=str(record["text"]),
        speaker=_text_or_none(record.get("speaker")),
        time=read_time(record.get("time")),
        session=_text_or_none(record.get("session")),
        context=_text_or_none(record.get("context")),
        tags=tuple(map(str, record.get("tags", ()))),
        superseded_by=_text_or_none(record.get("superseded_by")),
        fields={key: value for key, value in record.items() if key not in _UNIT_KEYS},
    )


def _query(record: Mapping[str, Any], default_id: str) -> Query:
    gold = tuple(map(str, record.get("gold") or ()))
    # an explicit empty list says "nothing here answers this"; a missing key says "not judged"
    judged: bool | None = bool(gold) if "gold" in record else None
    return Query(
        id=str(record.get("id", default_id)),
        text=str(record["query"]),
        gold=gold,
        forbidden=tuple(map(str, record.get("forbidden", ()))),
        category=str(record.get("category", "all")),
        time=read_time(record.get("time")),
        as_of=read_time(record.get("as_of"), end=True),
        tags=tuple(map(str, record.get("tags", ()))),
        tags_match=str(record.get("tags_match", "any")),
        answerable=record.get("answerable", judged),
    )


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
        "tags_match": query.tags_match if query.tags else None,
    }
    record |= {key: value for key, value in optional.items() if value}
    if query.answerable is not None:
        record["answerable"] = query.answerable
    return record


def _text_or_none(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _stem(path: Path) -> str:
    return path.name.split(".")[0]
