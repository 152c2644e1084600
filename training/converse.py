"""Have a small language model write conversations, and questions about them, on one GPU.

    python training/converse.py write PARTS_FOLDER TEXTS OUT SECONDS   # on the GPU
    python training/ask.py rows TEXTS OUT DATA_FOLDER                  # here: rows for training

Memory is asked about months of talk between the same two people, where the same pets, plans and
places come up again and again. No public set with a free licence has that. Here every pair of
friends has traits that last, every session a few things to tell, and every project a person who
works on it with an assistant; Qwen2.5-Coder-1.5B-Instruct writes what they say and, message by
message, what could be asked about it later.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from ask import AREAS, PROJECTS, answer
from qwen import END, START, load_model, sample, stops
from synthetic import NAMES, SLOTS

PAIRS, SESSIONS, PEOPLE, TALKS = 72, 16, 192, 3
"""Pairs of friends and their sessions; people with an assistant and their talks."""

STYLES = (
    "They write warmly, one to three sentences a message.",
    "They write warmly and in detail, two or three sentences a message.",
    "They text quickly: short messages, lower case, slang, a few typos, lol and haha.",
    "They write plainly, one or two sentences a message, and tease each other.",
)
RELATIONS = "old friends|former classmates|cousins|colleagues who became friends|neighbours|siblings|pen friends|friends who met online"
TRAITS = (
    "works as a {job} at {company}",
    "has a {animal} called {pet}",
    "is learning the {instrument}",
    "loves {hobby}",
    "plays {sport} in a local team",
    "lives in {city} and grew up in {place}",
    "wants to {goal}",
    "studies {subject} in the evenings",
    "is close to a {relative} called {friend}",
    "is afraid of {fear}",
    "is allergic to {allergy}",
    "runs a {shop} with {friend}",
    "volunteers at the animal shelter",
    "goes to a support group on Wednesdays",
    "collects vinyl records",
    "writes poems and keeps a journal",
    "is raising two kids",
    "is planning a wedding with {friend}",
)
EVENTS = (
    "a trip to {place}",
    "a {event} last weekend",
    "trouble at work",
    "a new recipe for {food}",
    "a book, {book}, and what it meant",
    "seeing {film} with {friend}",
    "an injury: {injury}",
    "a gift, {gift}, from a {relative}",
    "buying {vehicle}",
    "a visit of the {relative}",
    "a job interview",
    "a party for {friend}",
    "moving to another flat",
    "something the pet did",
    "a class in {hobby}",
    "a fight with {friend} and making up",
    "a result from the doctor",
    "plans for next month",
    "a painting or photo and the story behind it",
    "a match of {sport}",
    "losing something and finding it",
    "money and saving up",
    "a memory from childhood in {place}",
    "advice about {goal}",
    "a concert and who played",
    "the garden",
    "a promotion",
    "missing someone",
    "a phone that broke",
    "a dream of one day",
)
CHAT = (
    "Write a chat of 18 messages between {a} and {b}, {relation}, on {day}. {a} {ta}. {b} {tb}. "
    "Today {a} tells about {ea}, and {b} about {eb}. {style} Messages name concrete things: people, "
    "places, titles, amounts, weekdays, feelings. They also ask each other questions. Write one "
    'message a line, as "{a}: ..." or "{b}: ...", and nothing else.'
)
TALK = (
    "Write a conversation of 6 messages between a user called {a} and an AI assistant. {a} works on "
    "{project} ({area}); this is their {nth} conversation about it. The user's messages are 50 to 110 "
    "words long and full of specifics: names, versions, dates, amounts, decisions made, what was tried and "
    "failed, preferences. The assistant answers in 60 to 120 words with concrete steps, values or names. "
    'Write one message a line, without lists, as "User: ..." or "Assistant: ...", and nothing else.'
)
OPENING = {"chat": "{a}:", "talk": "User:"}
MOST = {"chat": 640, "talk": 820}
NTH = ("first", "second", "third")


def filled(template: str, rng: random.Random) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: rng.choice(SLOTS[m[1]].split("|")), template)


def sessions(rng: random.Random) -> list[dict[str, Any]]:
    names, made = NAMES.split(), list[dict[str, Any]]()
    for number in range(PAIRS):
        a, b = rng.sample(names, 2)
        relation, style = rng.choice(RELATIONS.split("|")), rng.choice(STYLES)
        traits = {n: [filled(t, rng) for t in rng.sample(TRAITS, 4)] for n in (a, b)}
        day = date(2021, 1, 1) + timedelta(days=rng.randrange(1200))
        for _ in range(SESSIONS):
            day += timedelta(days=rng.randrange(3, 26))
            first, second = (a, b) if rng.random() < 0.5 else (b, a)
            said = CHAT.format(
                a=first, b=second, relation=relation, style=style, day=f"{day.day} {day:%B %Y}",
                ta=" and ".join(rng.sample(traits[first], 2)), tb=" and ".join(rng.sample(traits[second], 2)),
                ea=filled(rng.choice(EVENTS), rng), eb=filled(rng.choice(EVENTS), rng),
            )  # fmt: skip
            made.append({"kind": "chat", "group": f"chats:{number}", "a": first, "b": second,
                         "day": day.isoformat(), "ask": said})  # fmt: skip
    for number in range(PEOPLE):
        name, project, area = rng.choice(names), rng.choice(PROJECTS), rng.choice(AREAS)
        day = date(2023, 1, 1) + timedelta(days=rng.randrange(600))
        for nth in NTH[:TALKS]:
            day += timedelta(days=rng.randrange(2, 30))
            said = TALK.format(a=name, project=project, area=area, nth=nth)
            made.append({"kind": "talk", "group": f"talks:{number // 4}", "a": name, "b": "Assistant",
                         "day": day.isoformat(), "ask": said})  # fmt: skip
    return made


def messages(session: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """The messages of a session as items that can be asked about; what is malformed ends it."""
    kind = "chat" if session["kind"] == "chat" else "message"
    speakers = (session["a"], session["b"]) if kind == "chat" else ("User", "Assistant")
    items: list[dict[str, Any]] = []
    for line in (OPENING[session["kind"]].format(a=session["a"]) + text).splitlines():
        speaker, _, said = line.strip().partition(":")
        said = said.strip().strip('"').strip()
        if not line.strip():
            continue
        if speaker not in speakers or not said or any(said == i["text"] for i in items):
            break
        other = speakers[1] if speaker == speakers[0] else speakers[0]
        items.append({"kind": kind, "group": session["group"], "place": len(items), "text": said,
                      "speaker": speaker, "other": other, "day": session["day"],
                      "before": items[-1]["text"][:200] if items else None})  # fmt: skip
    # The last message of a session that ran into the limit may be cut off.
    return items[:-1] if items and items[-1]["text"][-1] not in ".!?)" else items


def write(parts: str, texts: str, out: str, seconds: str, batch: str = "640") -> None:
    from tokenizers import Tokenizer

    started, folder = time.time(), Path(parts)
    model = load_model(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    print(f"loaded in {time.time() - started:.0f} s", flush=True)
    wanted = sessions(random.Random(5))
    items: list[dict[str, Any]] = []
    head = tokenizer.encode("user\n").ids
    tail = [END, *tokenizer.encode("\n").ids, START, *tokenizer.encode("assistant\n").ids]
    for kind in ("chat", "talk"):
        places = [s for s in wanted if s["kind"] == kind]
        for at in range(0, len(places), int(batch)):
            part = places[at : at + int(batch)]
            asked = [
                [START, *head, *tokenizer.encode(s["ask"]).ids, *tail, *tokenizer.encode(OPENING[kind].format(a=s["a"])).ids]
                for s in part
            ]  # fmt: skip
            begun = time.time()
            made = tokenizer.decode_batch(sample(model, asked, MOST[kind], stops(), heat=0.9))
            for session, text in zip(part, made, strict=True):
                items += messages(session, text)
            print(kind, len(part), f"{time.time() - begun:.0f} s", len(items), repr(made[0][:400]), flush=True)  # fmt: skip
    with gzip.open(texts, "wt", encoding="utf-8") as file:
        json.dump(items, file, ensure_ascii=False)
    left = float(seconds) - (time.time() - started)
    answers = answer(model, tokenizer, items, left)
    with gzip.open(out, "wt", encoding="utf-8") as file:
        json.dump(answers, file, ensure_ascii=False)
    print(len(answers), "of", len(items), f"in {time.time() - started:.0f} s")


if __name__ == "__main__":
    {"write": write}[sys.argv[1]](*sys.argv[2:])
