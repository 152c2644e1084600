"""Have a small language model write conversations, and questions about them, on one GPU.

    python training/converse.py write PARTS_FOLDER TEXTS OUT SECONDS   # on the GPU
    python training/ask.py rows TEXTS OUT DATA_FOLDER                  # here: rows for training

Memory is asked about months of talk between the same two people, where the same pets, plans and
places come up again and again. No public set with a free licence has that. Here every pair of
friends has traits that last, and every chat a few things to tell; Qwen2.5-Coder-1.5B-Instruct
writes what they say and, message by message, what could be asked about it later.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from ask import answer
from qwen import blanks, load_model, sample, stops
from synthetic import NAMES, SLOTS

PAIRS, SESSIONS = 120, 16
"""Pairs of friends, and their chats."""

STYLES = (
    "They write warmly, one to three sentences a message.",
    "They write in detail, two or three sentences a message.",
    "They text: short, lower case, slang, typos.",
    "They write plainly and tease each other.",
)
RELATIONS = "old friends|former classmates|cousins|colleagues who became friends|neighbours|siblings|pen friends|friends who met online"
TRAITS = (
    "works as a {job} at {company}",
    "has a {animal} called {pet}",
    "is learning the {instrument}",
    "loves {hobby}",
    "plays {sport} in a local team",
    "lives in {city}, grew up near {place}",
    "wants to {goal}",
    "studies {subject} in the evenings",
    "is close to a {relative} called {friend}",
    "is afraid of {fear}",
    "is allergic to {allergy}",
    "runs a {shop} with {friend}",
    "volunteers at the animal shelter",
    "goes to a support group on Wednesdays",
    "collects vinyl records",
    "writes poems",
    "has two kids, {friend} and {friend}",
    "plans a wedding with {friend}",
)
NEWS = (
    "went to {place} with {friend} for {number} days",
    "was at a {event} in {city} on {weekday}",
    "argued with the boss about the late shifts",
    "cooked {food} for {number} people, it burned a little",
    "finished reading {book} and cried",
    "saw {film} with {friend}, liked the ending",
    "{injury} while playing {sport}",
    "got {gift} from {relative} {friend}",
    "bought {vehicle} for {number} thousand",
    "{relative} {friend} moved to {city}",
    "has an interview as {job} at {company} next {weekday}",
    "threw a surprise party for {friend}",
    "found a new flat near the station, {color} walls",
    "the {animal} ate {number} socks and had to see the vet",
    "signed up for {hobby} lessons on {weekday}s",
    "made up with {friend} after {number} weeks",
    "must take iron pills, said the doctor",
    "wants to {goal} before turning forty",
    "painted a {color} sunset over {place}",
    "won {number} to {number} in {sport}",
    "lost the wedding ring and found it in the garden",
    "saves money for {place}, has half of it",
    "spent summers in {place} as a child with the {relative}",
    "learned a song on the {instrument} for {friend}",
    "heard a band from {city} play on {weekday}",
    "planted tomatoes and {number} roses",
    "was promoted to head of {subject}",
    "misses grandmother, who taught {hobby}",
    "dropped the phone in a lake near {place}",
    "dreams of opening a {shop} in {city}",
    "ran {number} kilometres for the {event}",
    "stopped eating {allergy}, feels better",
    "gave {friend} a book, {book}",
    "teaches kids {sport} on {weekday}s",
)
WEEKDAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
CHAT = """Notes about chats, and the chats word for word.

Priya and Tom, old friends, 3 May 2022. They write warmly, one to three sentences a message.
Tom: father had heart surgery; mother sleeps at aunt Gloria's near the hospital
Tom: quit the choir after nine years
Priya: bought a green kayak from Mr. Olsen for 240
Priya: first pottery lesson with Lena, made a crooked bowl
Chat:
Priya: Tom! It's been ages. How is your dad doing after the operation?
Tom: Better, thanks. They fixed two valves and he's already complaining about the food, so that's a good sign.
Priya: Ha, sounds like him. And your mum, is she driving back and forth every day?
Tom: No, she sleeps at my aunt Gloria's place because it's two streets from the hospital. What about you, any news?
Priya: I finally bought that second-hand kayak from Mr. Olsen, the green one. I paid 240 and it doesn't even leak!
Tom: Wow, you've talked about that since last summer. Where will you take it first?
Priya: Probably the Alder lake, next Sunday if the wind is kind. Lena wants to come along, we also started pottery together.
Tom: Pottery? You, who broke three of my mugs?
Priya: Yes, me. My first bowl leans to the left like an old barn, but I love it. Do you still sing on Thursdays?
Tom: I left the choir in March, after nine years. With the hospital visits it was too much, and the new conductor shouts.
Priya: Oh no, I'm sorry. You were so proud of that solo at Christmas.
Tom: I was. Maybe I'll look for a smaller group in autumn.

Jade and Sam, cousins, 12 November 2023. They text: short, lower case, slang, typos.
Jade: failed the driving test, took a roundabout the wrong way
Jade: night shifts at the bakery until december
Sam: adopted a one-eyed cat called Captain
Sam: flies to Porto on friday for a wedding
Chat:
Sam: yo how did it go??
Jade: dont ask. took the roundabout the wrong way lol. instant fail
Sam: nooo. when can u try again
Jade: in 2 weeks but im on nights at the bakery til december so idk when id practise
Sam: come over, ill let u drive my mums car. also i have a cat now
Jade: WHAT since when
Sam: tuesday. shelter had him for a year cause he has one eye. hes called captain
Jade: omg i need pics. who feeds him when ur away
Sam: well... i fly to porto on friday, milas wedding. so i was gonna ask u haha
Jade: deal but i sleep in ur bed and captain sleeps on me

{a} and {b}, {relation}, {day}. {style}
{notes}
Chat:
"""
MOST = 560
"""Tokens of a chat."""
REPEATED = 7
"""So many words in a row that were said before make a message an echo, and end the chat."""


def filled(template: str, rng: random.Random) -> str:
    slots = {**SLOTS, "weekday": WEEKDAYS}
    return re.sub(r"\{(\w+)\}", lambda m: rng.choice(slots[m[1]].split("|")), template)


def chats(number: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Sessions of two friends over a year or two: what they are stays, what they tell is new."""
    pair = rng.sample(NAMES.split(), 2)
    relation, style = rng.choice(RELATIONS.split("|")), rng.choice(STYLES)
    traits = {name: [filled(t, rng) for t in rng.sample(TRAITS, 4)] for name in pair}
    day = date(2021, 1, 1) + timedelta(days=rng.randrange(1200))
    for _ in range(SESSIONS):
        day += timedelta(days=rng.randrange(3, 26))
        a, b = rng.sample(pair, 2)
        notes = [
            f"{name}: {note}"
            for name in (a, b)
            for note in (rng.choice(traits[name]), *(filled(n, rng) for n in rng.sample(NEWS, 2)))
        ]
        ask = CHAT.format(
            a=a, b=b, relation=relation, style=style, day=f"{day.day} {day:%B %Y}",
            notes="\n".join(notes),
        )  # fmt: skip
        yield {"kind": "chat", "group": f"chats:{number}", "a": a, "b": b, "day": day.isoformat(), "ask": ask}  # fmt: skip


def messages(chat: dict[str, Any], text: str) -> list[dict[str, Any]]:
    """The messages of a chat as items that can be asked about; what is malformed ends it."""
    speakers, items, runs = (chat["a"], chat["b"]), list[dict[str, Any]](), set[tuple[str, ...]]()
    for line in (chat["a"] + ":" + text).splitlines():
        speaker, _, said = line.strip().partition(":")
        said = said.strip()
        words = re.findall(r"\w+", said.lower())
        new = {tuple(words[i : i + REPEATED]) for i in range(len(words) - REPEATED + 1)}
        if speaker not in speakers or not said or new & runs:
            break
        runs |= new
        other = speakers[1] if speaker == speakers[0] else speakers[0]
        items.append({"kind": "chat", "group": chat["group"], "place": len(items), "text": said,
                      "speaker": speaker, "other": other, "day": chat["day"],
                      "before": items[-1]["text"][:200] if items else None})  # fmt: skip
    # The last message of a chat that ran into the limit may be cut off.
    return items[:-1] if items and items[-1]["text"][-1] not in ".!?)" else items


def write(parts: str, texts: str, out: str, seconds: str, batch: str = "640") -> None:
    from tokenizers import Tokenizer

    started, folder, rng = time.time(), Path(parts), random.Random(5)
    model = load_model(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    print(f"loaded in {time.time() - started:.0f} s", flush=True)
    wanted = [chat for number in range(PAIRS) for chat in chats(number, rng)]
    items: list[dict[str, Any]] = []
    for at in range(0, len(wanted), int(batch)):
        part = wanted[at : at + int(batch)]
        begun = time.time()
        asked = [tokenizer.encode(chat["ask"] + chat["a"] + ":").ids for chat in part]
        made = tokenizer.decode_batch(
            sample(model, asked, MOST, stops(blanks(tokenizer)), heat=0.9)
        )
        for chat, text in zip(part, made, strict=True):
            items += messages(chat, text)
        print(
            len(part), f"{time.time() - begun:.0f} s", len(items), repr(made[0][:400]), flush=True
        )
    with gzip.open(texts, "wt", encoding="utf-8") as file:
        json.dump(items, file, ensure_ascii=False)
    answers = answer(model, tokenizer, items, float(seconds) - (time.time() - started))
    with gzip.open(out, "wt", encoding="utf-8") as file:
        json.dump(answers, file, ensure_ascii=False)
    print(len(answers), "of", len(items), f"in {time.time() - started:.0f} s")


if __name__ == "__main__":
    {"write": write}[sys.argv[1]](*sys.argv[2:])
