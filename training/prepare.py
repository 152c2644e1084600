"""Gather training rows into a compact file.

    python training/prepare.py OUT_FOLDER
    python training/prepare.py OUT_FOLDER JUDGED.npz     # keep what judge.py said, under data/

What the judge said of our own chats is kept, so that students can be trained without it. Also checks the overlap of training and evaluation texts, drops training rows that share text
with an evaluation set, and writes what it found to `overlap.json`.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import splits
import synthetic
from recollect.models.registry import WEIGHTS

KEPT = splits.OWN / "judged.jsonl.gz"
JUDGED = ("row", "pid", "logit")
WORLDS = 900
GRAM = 10
# Questions about "the narrator" become questions about whoever is made the speaker.
NARRATOR = re.compile(r"\bthe (?:narrator|writer|speaker|author|poster|blogger)\b", re.IGNORECASE)
FIRST_PERSON = re.compile(r"\b(?:I|my|me|we|our)\b|\bi'm\b", re.IGNORECASE)
SPEAKER = "\u0001"


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def grams(text: str) -> set[str]:
    tokens = words(text)
    return {" ".join(tokens[i : i + GRAM]) for i in range(len(tokens) - GRAM + 1)}


class Pool:
    """Passages, each stored once per group; a group is what negatives are mined from."""

    def __init__(self) -> None:
        self.passages: list[list[Any]] = []
        self.ids: dict[tuple[str, str], int] = {}

    def add(self, group: str, key: str, record: list[Any]) -> int:
        known = self.ids.get((group, key))
        if known is None:
            known = self.ids[group, key] = len(self.passages)
            self.passages.append(record)
        return known


def add_collection(
    pool: Pool,
    rows: list[list[Any]],
    asked: dict[tuple[str, str], str],
    source: str,
    c: splits.Collection,
) -> None:
    """Its questions as rows; `asked` gets the day of those that were asked before all was told."""
    group = c.name
    ids = {u.id: pool.add(group, u.id, [group, u.text, u.date, u.speaker, None]) for u in c.units}
    for unit in c.units:
        if unit.previous is not None:
            pool.passages[ids[unit.id]][4] = ids[unit.previous]
    for q in c.queries:
        row = [source, group, q.text, [ids[g] for g in q.gold if g in ids]]
        if q.asked is not None:
            asked[group, q.text] = q.asked
        # What nobody ever said, though it sounds as if, teaches what an answer lacks.
        rows.append(row if q.gold else ["untold", *row[1:]])


def add_pairs(pool: Pool, rows: list[list[Any]]) -> None:
    for row in splits.question_passages():
        source, query, text = row["src"].split("/")[0], row["q"].strip(), row["p"].strip()
        if FIRST_PERSON.search(text):
            query = NARRATOR.sub(SPEAKER, query)
        pid = pool.add(source, text, [source, text, None, None, None])
        rows.append([source, source, query, [pid]])


def add_worlds(pool: Pool, rows: list[list[Any]]) -> None:
    rng = random.Random(6)
    for number in range(WORLDS):
        world = synthetic.make_world(rng)
        # Ten worlds together make a group, so that names and days must be read, not guessed.
        group = f"synthetic:{number // 10}"
        ids = [
            pool.add(group, f"{number}/{i}", [group, t.text, t.when.isoformat(), t.speaker, None])
            for i, t in enumerate(world.turns)
        ]
        for before, pid in itertools.pairwise(ids):
            pool.passages[pid][4] = before
        rows += [
            ["synthetic", group, query, [ids[i] for i in gold]] for query, gold in world.questions
        ]


# Rows kept out of training to fit the mix of scores on: by persona, by dialogue, or by a hash
# of the positive passage, so that no held row's answer was ever shown as an answer.
CALIBRATION_PERSONA = "realmem:Lin_Wanyu"
CALIBRATION_SHARE = {
    "friends": 0.12,
    "lifebench": 0.12,
    "timeqa": 0.15,
    "scifact": 0.2,
    "squad_sent": 0.012,
    "cosmosqa": 0.03,
    "mocha": 0.03,
    "iirc": 0.03,
    "boolq": 0.04,
    "synthetic": 0.012,
}


def calibrates(pool: Pool, row: list[Any]) -> bool:
    source, group, _, gold = row
    if source == "untold":
        return False
    if source == "realmem":
        return group == CALIBRATION_PERSONA
    share = CALIBRATION_SHARE.get(source, 0.0)
    return splits.held(f"calibrate:{source}:{pool.passages[min(gold)][1]}", share)


def overlap(
    pool: Pool, rows: list[list[Any]], sets: dict[str, list[splits.Collection]]
) -> tuple[list[list[Any]], dict[str, Any]]:
    """Rows that share no text with an evaluation set, and how many did.

    SciFact is left out of the passage check: its training and validation claims search the
    same abstracts by design, and validation claims cite other ones in part.
    """
    seen: dict[str, str] = {}
    queries: dict[str, str] = {}
    for name, collections in sets.items():
        for c in collections:
            gold = {g for q in c.queries for g in q.gold}
            for unit in c.units:
                if name != "scifact" and unit.id in gold:
                    seen.update(dict.fromkeys(grams(unit.text), name))
            queries.update({" ".join(words(q.text)): name for q in c.queries})
    found: Counter[str] = Counter()
    shared = [next((seen[g] for g in grams(p[1]) if g in seen), None) for p in pool.passages]
    kept: list[list[Any]] = []
    for row in rows:
        hit = [f"passage:{row[0]}->{shared[pid]}" for pid in row[3] if shared[pid]]
        name = queries.get(" ".join(words(row[2])))
        if name:
            hit.append(f"query:{row[0]}->{name}")
        found.update(hit[:1])
        if not hit and (row[3] or row[0] == "untold"):
            kept.append(row)
    return kept, {"rows": len(rows), "kept": len(kept), "dropped": dict(found.most_common())}


def keep(pool: Pool, rows: list[list[Any]], judged: Path) -> None:
    """What was judged, by chat, question and turn instead of by number."""
    names = {pid: name for name, pid in pool.ids.items()}
    said: dict[int, dict[str, float]] = {}
    with np.load(judged) as found:
        for row, pid, logit in zip(*(found[k].tolist() for k in JUDGED), strict=True):
            if rows[row][1].split(":")[0] in (*splits.APART, "chats"):
                said.setdefault(row, {})[names[pid][1]] = round(logit, 2)
    lines = [
        {"group": rows[row][1], "query": rows[row][2], "logits": said[row]} for row in sorted(said)
    ]
    with gzip.GzipFile(KEPT, "wb", mtime=0) as file:
        file.writelines((json.dumps(line) + "\n").encode() for line in lines)


def kept(pool: Pool, rows: list[list[Any]]) -> dict[str, Any]:
    """What was judged and kept, by number."""
    numbers = {(row[1], row[2]): i for i, row in enumerate(rows)}
    found: list[tuple[int, int, float]] = []
    with gzip.open(KEPT, "rt", encoding="utf-8") as file:
        for line in map(json.loads, file):
            row = numbers.get((line["group"], line["query"]))
            if row is not None:
                found += [
                    (row, pool.ids[line["group"], unit], x) for unit, x in line["logits"].items()
                ]
    columns = zip(JUDGED, zip(*found, strict=True), (np.int32, np.int32, np.float16), strict=True)
    return {name: np.array(values, dtype=kind) for name, values, kind in columns}


def main(out: str, judged: str = "") -> None:
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    sets = splits.evaluation_sets()
    pool, rows, asked = Pool(), list[list[Any]](), dict[tuple[str, str], str]()
    add_pairs(pool, rows)
    for c in splits.training_collections():
        add_collection(pool, rows, asked, c.name.split(":")[0], c)
    add_worlds(pool, rows)
    rows, report = overlap(pool, rows, sets)
    calibration = [row for row in rows if calibrates(pool, row)]
    shown = {pid for row in calibration for pid in row[3]}
    rows = [row for row in rows if not shown.intersection(row[3])]
    report |= {"train": len(rows), "calibration": Counter(row[0] for row in calibration)}
    days = {i: asked[row[1], row[2]] for i, row in enumerate(rows) if (row[1], row[2]) in asked}
    value = {"passages": pool.passages, "rows": rows, "asked": days, "calibration": calibration}
    write(folder / "train.json.gz", value)
    if judged:
        keep(pool, rows, Path(judged))
    np.savez(folder / "judged.npz", **kept(pool, rows))
    shutil.copy(WEIGHTS / "tokenizer.json", folder)
    (folder / "overlap.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1), Counter(r[0] for r in rows), len(pool.passages))
    print(
        {
            n: (sum(len(c.units) for c in cs), sum(len(c.queries) for c in cs))
            for n, cs in sets.items()
        }
    )
    print("narrator rows", sum(SPEAKER in r[2] for r in rows))


def write(path: Path, value: Any) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump(value, file, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main(*sys.argv[1:])
