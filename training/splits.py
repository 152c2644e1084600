"""Which part of each public set trains and which part is reported on."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recollect.eval.splits import Split, by_hash
from recollect.eval.splits import chats as part_of

DATA = Path(os.environ.get("RECOLLECT_DATA", Path(__file__).parents[2] / "shared" / "data"))
OWN = Path(__file__).parents[1] / "data"
REALMEM_HELD = frozenset({"Pak_Budi", "Sarah_Miller", "Sophie_Dubois"})
LIFEBENCH_HELD = frozenset({"lumingqiang"})
# Evaluation sets, or rebuilt from their own files below, or of doubtful licence.
LEFT_OUT = ("musique_train100", "hotpot_train100", "timeqa_train", "friendsqa_dev", "scifact_train")
# Of our own chats, those that are no talk: what stands before says nothing about what comes.
APART = ("notes", "records", "articles")
# Question-passage pairs whose passages tell of things in the world: questions of several steps lead through them.
STEPS = ("qa", "iirc", "boolq", "super", "aquamuse")
STEPS_MOST = 170  # words of a passage
DOUBTFUL = ("sciq", "yahoo", "tweetqa")


@dataclass(frozen=True, slots=True)
class Unit:
    """One memory of a collection."""

    id: str
    text: str
    date: str | None = None
    speaker: str | None = None
    previous: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    gold: tuple[str, ...]
    # Memories dated later are not yet known when the query is asked.
    asked: str | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    name: str
    units: list[Unit]
    queries: list[Query] = field(default_factory=list[Query])


def held(key: str, share: float) -> bool:
    """A split by hash: the same on every machine and independent of order."""
    digest = hashlib.sha256(key.encode()).digest()
    return int.from_bytes(digest[:4], "big") < share * 2**32


def load_json(path: str) -> Any:
    with gzip.open(DATA / path, "rt", encoding="utf-8") as file:
        return json.load(file)


def load_lines(path: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def conversation(name: str, item: dict[str, Any], *, turns: bool) -> Collection:
    """One persona or dialogue; in dialogues the turn before is the context."""
    units: list[Unit] = []
    last: dict[str, Any] | None = None
    for unit in item["units"]:
        same = turns and last is not None and last["session"] == unit["session"]
        date = (unit["when"] or "")[:10] or None
        units.append(
            Unit(
                unit["id"],
                unit["text"],
                date,
                unit["speaker"],
                last["id"] if same and last else None,
            )
        )
        last = unit
    queries = [
        Query(q["question"], tuple(q["evidence"]), (q.get("when") or "")[:10] or None)
        for q in item["questions"]
        if q["evidence"]
    ]
    return Collection(f"{name}:{item['id']}", units, queries)


def asked(about: str) -> dict[str, list[Query]]:
    """Questions of our own about public texts (`data/`), by persona, dialogue or group."""
    found: dict[str, list[Query]] = {}
    with gzip.open(OWN / "asked.jsonl.gz", "rt", encoding="utf-8") as file:
        for record in map(json.loads, file):
            if record["about"] == about:
                query = Query(record["query"], tuple(record["gold"]), record.get("time"))
                found.setdefault(record["bank"], []).append(query)
    return found


def more_asked(c: Collection, more: dict[str, list[Query]]) -> Collection:
    return replace(c, queries=[*c.queries, *more.get(c.name.split(":", 1)[1], [])])


def realmem() -> Iterator[tuple[bool, Collection]]:
    more = asked("realmem")
    for item in load_json("memory/realmem.json.gz"):
        part = conversation("realmem", item, turns=False)
        yield item["id"] in REALMEM_HELD, more_asked(part, more)


def lifebench() -> Iterator[tuple[bool, Collection]]:
    more = asked("lifebench")
    for item in load_json("memory/lifebench_en.json.gz"):
        part = conversation("lifebench", item, turns=False)
        yield item["id"] in LIFEBENCH_HELD, more_asked(part, more)


def friends() -> Iterator[tuple[bool, Collection]]:
    more = asked("friends")
    for item in load_json("memory/friendsqa_dev.json.gz"):
        part = conversation("friends", item, turns=True)
        yield held(f"friends:{item['id']}", 0.25), more_asked(part, more)


def chats() -> Iterator[tuple[bool, Collection]]:
    """Our own; held are those that choices are made on and those that are reported."""
    units: dict[str, list[Unit]] = {}
    queries: dict[str, list[Query]] = {}
    session = None
    with gzip.open(OWN / "chats.jsonl.gz", "rt", encoding="utf-8") as file:
        for record in map(json.loads, file):
            said = units.setdefault(record["bank"], [])
            if "unit" in record:
                talk = record["bank"].split("-")[0] not in APART
                same = talk and said and record["session"] == session
                before = said[-1].id if said and same else None
                session = record.get("session")
                day, speaker = (record.get("time") or "")[:10] or None, record.get("speaker")
                said.append(Unit(record["unit"], record["text"], day, speaker, before))
            else:
                known = (record.get("as_of") or "")[:10] or None
                asked = queries.setdefault(record["bank"], [])
                asked.append(Query(record["query"], tuple(record["gold"]), known))
    for bank, said in units.items():
        style = bank.split("-")[0]
        name = f"{style if style in APART else 'chats'}:{bank}"
        yield part_of(bank) != "training", Collection(name, said, queries[bank])


def timeqa() -> Iterator[tuple[bool, Collection]]:
    """By article: paragraphs of held articles, with their questions, are not trained on."""
    corpus = load_lines("ir/timeqa/corpus_train.jsonl.gz")
    queries = load_lines("ir/timeqa/queries_train.jsonl.gz")
    for part in (False, True):
        units = [
            Unit(p["id"], f"{p['title']}: {p['text']}")
            for p in corpus
            if held("timeqa:" + p["title"], 0.15) == part
        ]
        ids = {unit.id for unit in units}
        asked = [Query(q["question"], tuple(g for g in q["gold"] if g in ids)) for q in queries]
        yield part, Collection("timeqa", units, [q for q in asked if q.gold])


def steps() -> Iterator[tuple[bool, Collection]]:
    """Questions of several steps through the passages of question-passage pairs; held are those of the groups
    of passages that choices are made on."""
    texts = {row["p"].strip() for row in question_passages() if row["src"].split("/")[0] in STEPS}
    kept = sorted(text for text in texts if len(text.split()) < STEPS_MOST)
    units = [Unit(passage_id(text), text) for text in kept]
    groups = asked("steps")
    for part in (False, True):
        queries = [
            q
            for group, questions in groups.items()
            for q in questions
            if (by_hash(group, reported=0.0, development=0.15) is Split.DEVELOPMENT) == part
        ]
        yield part, Collection("steps", units, queries)


def passage_id(text: str) -> str:
    return hashlib.sha1(text.encode()).hexdigest()[:16]


def _abstract(text: str) -> str:
    """SciFact's abstracts come as a printed list of sentences."""
    return re.sub(r"\s+", " ", re.sub(r"^\[['\"]|['\"]\]$|['\"]\n ['\"]", " ", text)).strip()


def scifact() -> Iterator[tuple[bool, Collection]]:
    units = [
        Unit(p["id"], f"{p['title']} {_abstract(p['text'])}")
        for p in load_lines("ir/scifact/corpus.jsonl.gz")
    ]
    for part, name in ((False, "train"), (True, "validation")):
        queries = [
            Query(q["question"], tuple(q["gold"]))
            for q in load_lines(f"ir/scifact/queries_{name}.jsonl.gz")
            if q["gold"]
        ]
        yield part, Collection("scifact", units, queries)


def plain(name: str, folder: str) -> Collection:
    units = [
        Unit(p["id"], f"{p['title']}. {p['text']}") for p in load_lines(f"{folder}/corpus.jsonl.gz")
    ]
    queries = [
        Query(q["question"], tuple(q["gold"])) for q in load_lines(f"{folder}/queries.jsonl.gz")
    ]
    return Collection(name, units, [q for q in queries if q.gold])


def evaluation_sets() -> dict[str, list[Collection]]:
    """Everything that figures are reported on."""
    split = {"realmem": realmem, "lifebench": lifebench, "timeqa": timeqa, "scifact": scifact}
    sets = {name: [c for part, c in load() if part] for name, load in split.items()}
    dialogues = [c for part, c in friends() if part]
    sets["friends"] = [_merge("friends", dialogues)]
    sets["musique"] = [plain("musique", "multihop/musique_train100")]
    sets["hotpot"] = [plain("hotpot", "multihop/hotpot_train100")]
    sets["chats"] = [_answered(c) for part, c in chats() if part]
    sets["cranfield"] = [plain("cranfield", "ir/cranfield")]
    return sets


def _answered(c: Collection) -> Collection:
    return replace(c, queries=[q for q in c.queries if q.gold])


def training_collections() -> list[Collection]:
    """The training parts of the sets that come as collections."""
    loads = (realmem, lifebench, timeqa, scifact, chats, steps)
    kept = [c for load in loads for part, c in load() if not part]
    return [*kept, _merge("friends", [c for part, c in friends() if not part])]


def _merge(name: str, parts: list[Collection]) -> Collection:
    """Dialogues of thirty turns are too easy alone: search all of them at once."""
    units: list[Unit] = []
    queries: list[Query] = []
    for part in parts:
        key = part.name + "/"
        units += [
            Unit(key + u.id, u.text, u.date, u.speaker, key + u.previous if u.previous else None)
            for u in part.units
        ]
        queries += [Query(q.text, tuple(key + g for g in q.gold), q.asked) for q in part.queries]
    return Collection(name, units, queries)


def question_passages() -> list[dict[str, str]]:
    """The question-passage pairs that train: no evaluation set, no doubtful licence."""
    rows = [row for part in (0, 1) for row in load_lines(f"train/qp_train.part{part}.jsonl.gz")]
    return [
        row for row in rows if row["src"] not in LEFT_OUT and not row["src"].startswith(DOUBTFUL)
    ]
