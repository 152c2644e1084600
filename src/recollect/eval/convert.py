"""Public data sets in their own formats, read into the one data model.

LoCoMo and LongMemEval are read as their authors publish them; users download those files
themselves. The other readers are for the development data beside this repository.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from recollect.eval.data import (
    Bank,
    Dataset,
    Query,
    Unit,
    check,
    json_lines,
    name_or_none,
    read_json,
    text_of,
    texts_of,
)
from recollect.eval.splits import Split, scifact
from recollect.eval.times import read_time
from recollect.eval.trouble import DatasetError, reading

Json = Mapping[str, Any]


def _each(records: Sequence[Json], kind: str, read: Callable[[Json, int], Bank]) -> Iterator[Bank]:
    """A bank a record; `read` is also told its place, counted from 1."""
    if not isinstance(records, list):
        raise DatasetError(f"the file is not a list of {kind}s", hint="see docs/eval.md")
    for place, record in enumerate(records, start=1):
        with reading(f"{kind} {place}"):
            bank = read(record, place)
            if bank.queries and not bank.units:  # they would be asked of the user's own store
                raise DatasetError("it holds no turn to remember", hint="is the file whole?")
        yield bank


# --- LoCoMo ------------------------------------------------------------------------------

_LOCOMO_CATEGORIES = {
    "1": "multi-hop",
    "2": "temporal",
    "3": "open-domain",
    "4": "single-hop",
    "5": "adversarial",
}
_DIALOG_ID = re.compile(r"D:?(\d+):(\d+)")
_PICTURE = re.compile(
    r"^(an?|the) (photo|photograph|photography|picture|image)( of)? ", re.IGNORECASE
)
_SESSION = re.compile(r"^session_(\d+)$")


def locomo(samples: Sequence[Json]) -> Dataset:
    """LoCoMo: ten long conversations; evidence are dialogue ids such as "D3:11"."""
    banks = tuple(_each(samples, "conversation", _locomo_bank))
    check(banks)
    return Dataset("locomo", banks)


def _locomo_bank(sample: Json, place: int) -> Bank:
    units = tuple(unit for unit in _locomo_units(sample["conversation"]) if unit.text)
    known = {unit.id for unit in units}
    asked = _last_time(units)
    name = str(sample.get("sample_id", f"locomo-{place}"))
    queries: list[Query] = []
    for number, qa in enumerate(sample["qa"]):
        with reading(f"question {number + 1}"):
            queries.append(_locomo_query(qa, f"{name}-{number}", known, asked))
    return Bank(name, units, tuple(queries))


def _locomo_units(conversation: Json) -> Iterable[Unit]:
    sessions = sorted((int(m[1]), key) for key in conversation if (m := _SESSION.match(key)))
    for number, key in sessions:
        time = read_time(conversation.get(f"session_{number}_date_time"))
        for place, turn in enumerate(conversation[key] or (), start=1):
            with reading(f"session {number}, turn {place}"):
                unit = _locomo_unit(turn, number, place, time)
            yield unit


def _locomo_unit(turn: Json, number: int, place: int, time: datetime | None) -> Unit:
    caption = _PICTURE.sub("", str(turn.get("blip_caption") or ""))
    shared = f" (shares a picture of {caption})" if caption else ""
    own = _dialog_ids(turn.get("dia_id"))
    text = text_of(turn, "text") if turn.get("text") else ""  # of a picture there may be none
    return Unit(
        id=own[0] if own else f"D{number}:{place}",
        text=f"{text}{shared}".strip(),
        speaker=_speaker(turn, "speaker"),
        time=time,
        session=f"session {number}",
    )


def _locomo_query(qa: Json, id: str, known: set[str], asked: datetime | None) -> Query:
    stated = str(qa["category"])
    category = _LOCOMO_CATEGORIES.get(stated, stated)
    # a few evidence strings name several turns, or a turn that does not exist
    named = _dialog_ids(qa.get("evidence"))
    gold = tuple(dict.fromkeys(id for id in named if id in known))
    answerable = False if category == "adversarial" else (True if gold else None)
    return Query(
        id, text_of(qa, "question"), gold, category=category, time=asked, answerable=answerable
    )


def _dialog_ids(text: Any) -> list[str]:
    """Every id in a text, or in a list of texts, however they are joined."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _DIALOG_ID.findall(str(text))]


# --- LongMemEval -------------------------------------------------------------------------


def longmemeval(questions: Sequence[Json]) -> Dataset:
    """LongMemEval (_s, _m or oracle): every question has a haystack, so a bank, of its own."""
    banks = tuple(_each(questions, "question", _longmemeval_bank))
    check(banks)
    return Dataset("longmemeval", banks)


def _longmemeval_bank(question: Json, _: int) -> Bank:
    said = list(_longmemeval_units(question))
    units = [unit for unit, _ in said]
    gold = [unit.id for unit, answers in said if answers]
    id = str(question["question_id"])
    unanswerable = id.endswith("_abs")
    query = Query(
        id=id,
        text=text_of(question, "question"),
        gold=() if unanswerable else tuple(gold),
        category="abstention" if unanswerable else str(question["question_type"]),
        time=read_time(question.get("question_date")),
        answerable=not unanswerable,
    )
    return Bank(id, tuple(units), (query,))


def _longmemeval_units(question: Json) -> Iterator[tuple[Unit, bool]]:
    """The turns in which something was said, and whether each holds the answer."""
    lists = [question[f"haystack_{of}"] for of in ("session_ids", "dates", "sessions")]
    if len(set(map(len, lists))) > 1:
        counted = "{} session ids, {} dates and {} sessions".format(*map(len, lists))
        raise DatasetError(f"its haystack has {counted}", hint="each session has one of each")
    for position, (session, date, turns) in enumerate(zip(*lists, strict=True)):
        for number, turn in enumerate(turns):
            with reading(f"session {position + 1}, turn {number + 1}"):
                if not turn["content"] or str(turn["content"]).isspace():
                    continue
                id = f"{position}:{session}:{number}"
                unit = _role_unit(id, turn, read_time(date), session=str(session))
            yield unit, bool(turn.get("has_answer"))


def longmemeval_sample(samples: Sequence[Json]) -> Dataset:
    """The trimmed LongMemEval samples: no turn is marked, so only abstention can be judged."""
    banks = tuple(_each(samples, "conversation", _longmemeval_sample_bank))
    check(banks)
    return Dataset("longmemeval_sample", banks)


def _longmemeval_sample_bank(sample: Json, _: int) -> Bank:
    turns = sample["conversation"]
    units = tuple(
        _role_unit(str(i), t, read_time(t.get("date")), session=str(t.get("date")))
        for i, t in enumerate(turns)
    )
    queries = tuple(
        Query(
            id=f"{sample['id']}-{q['id']}",
            text=text_of(q, "question"),
            category=str(sample["question_type"]),
            time=_last_time(units),
            answerable=not q.get("is_abstention", False),
        )
        for q in sample["questions"]
    )
    return Bank(str(sample["id"]), units, queries)


def _role_unit(id: str, turn: Json, time: datetime | None, *, session: str) -> Unit:
    speaker = _speaker(turn, "role")
    return Unit(id, text_of(turn, "content"), speaker=speaker, time=time, session=session)


def _speaker(turn: Json, key: str) -> str | None:
    """Every turn says who spoke, be it null, which is nobody's name."""
    if key not in turn:
        raise KeyError(key)
    return name_or_none(turn, key)


# --- conversations in the shared form (RealMem, LifeBench, FriendsQA) ---------------------


Talk = tuple[str, str]  # its day, and its name
_QUESTION_WORDS = ("what", "who", "where", "when", "why", "how")


def conversations(groups: Sequence[Json], name: str) -> Dataset:
    """`[{id, units: [{id, session, when, speaker, text}], questions: [{…, evidence}]}]`."""
    mask = name == "realmem"
    banks = tuple(
        _each(groups, "conversation", lambda group, _: _conversation_bank(group, mask=mask))
    )
    check(banks)
    return Dataset(name, banks)


def _conversation_bank(group: Json, *, mask: bool) -> Bank:
    noted: Mapping[Talk, datetime] = _noted(group["units"]) if mask else {}
    units = tuple(
        Unit(
            id=str(unit["id"]),
            text=text_of(unit, "text"),
            speaker=None if unit["speaker"] == "#NOTE#" else _speaker(unit, "speaker"),
            time=noted.get(_talk(unit)) or read_time(unit["when"]),
            # LifeBench's sessions are kinds of record (sms, call …), not conversations
            session=None
            if unit["session"] in (None, unit["speaker"])
            else f"{group['id']}/{unit['session']}",
        )
        for unit in group["units"]
    )
    queries = tuple(_conversation_query(q, noted, mask=mask) for q in group["questions"])
    return Bank(str(group["id"]), units, queries)


def _noted(units: Sequence[Json]) -> Mapping[Talk, datetime]:
    """When the notes of each talk were made, by its day and name. They come of the talk, and are dated by
    the day alone: talks of one day are a minute apart, in the order of the file."""
    found: dict[Talk, datetime] = {}
    on = Counter[str]()
    for talk in dict.fromkeys(map(_talk, units)):
        day = read_time(talk[0])
        if day is not None:
            on[talk[0]] += 1
            found[talk] = day + timedelta(minutes=on[talk[0]])
    return found


def _talk(record: Json) -> Talk:
    return str(record.get("when") or ""), str(record.get("session") or "")


def _conversation_query(question: Json, noted: Mapping[Talk, datetime], *, mask: bool) -> Query:
    asked = read_time(question.get("when") or question.get("ask_time"), end=True)
    gold = _named(question, "evidence")
    category = str(question["category"])
    if category.islower() and category not in _QUESTION_WORDS:
        category = "other"  # FriendsQA's category is the first word, whatever it is
    # What is noted of the talk that a message of RealMem belongs to, or of later ones, was not known yet.
    own = noted.get(_talk(question))
    known = asked if own is None else own - timedelta(seconds=1)
    return Query(
        id=str(question["id"]),
        text=text_of(question, "question"),
        gold=gold,
        category=category,
        time=asked,
        as_of=known if mask else None,
        answerable=False if category == "Unanswerable" else (True if gold else None),
    )


# --- corpora with queries (multi-hop and retrieval collections) ---------------------------


def corpus(folder: Path) -> Dataset:
    """A folder with `corpus*.jsonl[.gz]` and `queries*.jsonl[.gz]`."""
    name = folder.name.split("_")[0]
    passages = [unit for path in _parts(folder, "corpus") for unit in _read(path, _passage)]
    units = tuple(unit for unit in passages if unit.text.strip())
    if name == "timeqa":
        return _timeqa(units, folder)
    if name == "scifact":
        return _scifact(units, folder)
    empty = {unit.id for unit in passages} - {unit.id for unit in units}  # Cranfield has two
    queries = tuple(
        replace(q, gold=tuple(id for id in q.gold if id not in empty))
        for path in _parts(folder, "queries")
        for q in _read(path, _corpus_query)
    )
    banks = (Bank(name, units, queries),)
    check(banks)
    return Dataset(name, banks)


def _named(record: Json, key: str) -> tuple[str, ...]:
    """Ids, each once; a file of these shapes always has them."""
    if key not in record:
        raise KeyError(key)
    return tuple(dict.fromkeys(texts_of(record, key)))


Read = TypeVar("Read")


def _read(path: Path, read: Callable[[Json], Read]) -> Iterator[Read]:
    for number, record in json_lines(path):
        with reading(f"line {number} of {path.name}"):
            yield read(record)


def _passage(record: Json) -> Unit:
    title = str(record.get("title") or "")
    text = "" if record["text"] is None else text_of(record, "text")
    # SciFact's abstracts arrive as a printed list of sentences
    if text.startswith(("['", '["')):
        text = re.sub(r"""['"]\s*\n\s*['"]""", " ", text[2:-2])
    return Unit(str(record["id"]), text or title, fields={"title": title} if title else {})


def _corpus_query(record: Json, category: str | None = None) -> Query:
    gold = _named(record, "gold")
    return Query(
        id=str(record["id"]),
        text=text_of(record, "question"),
        gold=gold,
        category=category or str(record.get("type") or _hops(str(record["id"]))),
        answerable=True if gold else None,
    )


def _hops(query_id: str) -> str:
    """MuSiQue writes the number of hops into the id: 2hop__…, 4hop1__…"""
    hop = re.match(r"^(\d)hop", query_id)
    return f"{hop[1]}-hop" if hop else "all"


def _timeqa(units: Sequence[Unit], folder: Path) -> Dataset:
    """One bank an article; the splits go by article and the benchmark pools what it keeps."""
    articles: dict[str, list[Unit]] = {}
    for unit in units:
        articles.setdefault(unit.id.rsplit("#", 1)[0], []).append(unit)
    asked: dict[str, list[Query]] = {}
    for path in _parts(folder, "queries"):
        for doc, query in _read(path, lambda r: (str(r["doc"]), _corpus_query(r, "time"))):
            asked.setdefault(doc, []).append(query)
    banks = tuple(Bank(doc, tuple(us), tuple(asked.get(doc, ()))) for doc, us in articles.items())
    check(banks)
    return Dataset("timeqa", banks)


def _claim(record: Json) -> Query:
    # the usual SciFact figure takes every cited abstract as relevant
    return _corpus_query({**record, "gold": record.get("cited") or record["gold"]}, "claim")


def _scifact(units: tuple[Unit, ...], folder: Path) -> Dataset:
    asked: dict[Split, list[Query]] = {split: [] for split in Split}
    for path in _parts(folder, "queries"):
        part = path.name.split(".")[0].removeprefix("queries_")
        asked[scifact(part)] += _read(path, _claim)
    banks = tuple(Bank(split.value, units, tuple(queries)) for split, queries in asked.items())
    check(banks)
    return Dataset("scifact", banks)


def _parts(folder: Path, kind: str) -> list[Path]:
    found = sorted((*folder.glob(f"{kind}*.jsonl"), *folder.glob(f"{kind}*.jsonl.gz")))
    if not found:
        raise DatasetError(f"{folder.name} holds no {kind}*.jsonl", hint="a corpus folder has both")
    return found


# --- together -----------------------------------------------------------------------------


def pool(dataset: Dataset, name: str) -> Dataset:
    """All banks as one: dialogues or articles of twenty units each would be no search at all."""
    units: list[Unit] = []
    queries: list[Query] = []
    for bank in dataset.banks:
        prefix = f"{bank.id}/"
        units += (_pooled(unit, bank.id, prefix) for unit in bank.units)
        queries += (
            replace(
                q,
                gold=tuple(prefix + g for g in q.gold),
                forbidden=tuple(prefix + g for g in q.forbidden),
            )
            for q in bank.queries
        )
    return replace(dataset, banks=(Bank(name, tuple(units), tuple(queries)),))


def _pooled(unit: Unit, bank: str, prefix: str) -> Unit:
    """Two banks may have a "session 1" each, as two of LoCoMo's do: they are not one conversation."""
    return replace(
        unit,
        id=prefix + unit.id,
        session=prefix + unit.session if unit.session else bank,
        superseded_by=prefix + unit.superseded_by if unit.superseded_by else None,
    )


def _last_time(units: Sequence[Unit]) -> datetime | None:
    """Conversations are asked about when they are over: "last week" counts from there."""
    return max((unit.time for unit in units if unit.time), default=None)


def listed(content: Any) -> Any:
    """One conversation or question, cut out of the published file, as such a file."""
    if isinstance(content, dict) and ("qa" in content or "haystack_sessions" in content):
        return [content]
    return content  # pyright: ignore[reportUnknownVariableType]


def sniff(path: Path) -> Dataset:
    """Read a JSON file by its shape."""
    content = listed(read_json(path))
    if isinstance(content, dict) and "data" in content:
        return longmemeval_sample(content["data"])  # pyright: ignore[reportUnknownArgumentType]
    if not isinstance(content, list) or not content:
        raise DatasetError(f"{path.name} has no shape that is known here", hint="see docs/eval.md")
    first: Any = content[0] if isinstance(content[0], dict) else {}  # pyright: ignore[reportUnknownVariableType]
    records: list[Any] = content  # pyright: ignore[reportUnknownVariableType]
    if "qa" in first and "conversation" in first:
        return locomo(records)
    if "haystack_sessions" in first:
        return longmemeval(records)
    if "units" in first and "questions" in first:
        return conversations(records, path.name.split(".")[0].split("_")[0])
    raise DatasetError(f"{path.name} has no shape that is known here", hint="see docs/eval.md")
