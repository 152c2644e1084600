"""Training lists: a query, its answer and seven near misses, in the forms recall meets.

Texts are tokenised once; dates, speakers, contexts and wrappings are put together from token
ids, which for BERT's tokenizer is the same as tokenising the joined string. What is drawn at
random (a date, a speaker) is drawn for answer and misses alike, so that the model learns to
read it and not to trust its presence.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer

import ship
from synthetic import NAMES

CLS, SEP = 101, 102
QUERY_MOST, CONTEXT_MOST, EARLIER_MOST = 80, 48, 32
# Of a long passage the part that has most to do with the query is read: as much as the embedder reads at
# once, and as much as a cross-encoder is shown.
PASSAGE_MOST, EMBEDDED_MOST, PAIRED_MOST = 700, 252, 115
EXCERPT_STEP = 25
MUTED = 0.7
DRAWN = 1024  # rows at once, sorted by length and cut into batches
LIST = 8
SPEAKER = "\u0001"
CONTEXTS = (
    "chat|work notes|phone call|meeting|journal|weekend plans|family group|project review"
    "|conversation with a friend|support session|daily check-in|planning"
)
OPENERS = (
    "Remind me,|Can you tell me,|I was wondering,|Do you remember?|Quick question:|Tell me:"
    "|I need to know:|Hey, so|Please look up:|Going back to what we discussed,|Help me recall:"
)
# How often each family of sources is drawn.
SHARES = {
    "realmem": 0.1,
    "lifebench": 0.1,
    "friends": 0.1,
    "timeqa": 0.05,
    "scifact": 0.02,
    "chats": 0.65,
    "untold": 0.09,
    "synthetic": 0.08,
    "squad_sent": 0.12,
    "cosmosqa": 0.09,
    "mocha": 0.06,
    "qa": 0.06,
    "iirc": 0.06,
    "boolq": 0.045,
    "multirc": 0.04,
    "ropes": 0.035,
    "qasper": 0.03,
    "super": 0.025,
    "tellmewhy": 0.015,
    "quail": 0.02,
    "coqa": 0.01,
    "aquamuse": 0.02,
    "told": 0.1,
    "records": 0.08,
    "notes": 0.1,
    "articles": 0.09,
    "projects": 0.055,
    "steps": 0.12,
}
# What a cross-encoder that was trained for long orders better than a few rows teach another.
HEEDED = frozenset({"lifebench", "timeqa", "records", "scifact"})
# Notes are written down again as a project goes on, with few words changed.
REPEATED, ALIKE = frozenset({"realmem", "notes"}), 0.7
# What no teacher knows better than whoever marked the answers: a second step has little in common with the question.
UNTAUGHT = frozenset({"steps"})


@dataclass(slots=True)
class Passage:
    group: str
    ids: list[int]
    date: date | None
    speaker: str | None
    previous: int | None


@dataclass(slots=True)
class Row:
    source: str
    group: str
    # Token ids with None where the speaker's name goes.
    query: list[int | None]
    gold: list[int]
    hard: list[int]
    wordy: list[int] = field(default_factory=list[int])  # near misses by words alone
    judged: dict[int, float] = field(default_factory=dict[int, float])  # by passage, where known
    asked: date | None = None  # what was told later is no miss: nobody could have found it then


class Corpus:
    """Passages and rows as token ids, and pieces to dress them with."""

    def __init__(self, value: dict[str, Any], tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        texts = tokenizer.encode_batch(
            [p[1][:4000] for p in value["passages"]], add_special_tokens=False
        )
        self.passages = [
            Passage(
                p[0], e.ids[:PASSAGE_MOST], date.fromisoformat(p[2]) if p[2] else None, p[3], p[4]
            )
            for p, e in zip(value["passages"], texts, strict=True)
        ]
        self.following = {
            p.previous: i for i, p in enumerate(self.passages) if p.previous is not None
        }
        self.rows = [self._row(*row) for row in value["rows"]]
        for number, day in value["asked"].items():
            self.rows[int(number)].asked = date.fromisoformat(day)
        self.groups: dict[str, list[int]] = {}
        for pid, passage in enumerate(self.passages):
            self.groups.setdefault(passage.group, []).append(pid)
        self._ids: dict[str, list[int]] = {}
        self._alike: dict[int, frozenset[int]] = {}
        self.families: dict[str, list[int]] = {}
        for i, row in enumerate(self.rows):
            self.families.setdefault(row.source, []).append(i)

    def _row(self, source: str, group: str, query: str, gold: list[int]) -> Row:
        ids: list[int | None] = []
        for i, part in enumerate(query.split(SPEAKER)):
            ids += ([None] if i else []) + list(
                self.tokenizer.encode(part, add_special_tokens=False).ids
            )
        return Row(source, group, ids, gold, [])

    def known(self, row: Row, pid: int) -> bool:
        """Whether this had been told when the question was asked."""
        day = self.passages[pid].date
        return row.asked is None or day is None or day <= row.asked

    def repeats(self, row: Row, pid: int) -> bool:
        """Whether a note says again what an answer says: whoever marked one of them meant both."""
        return row.source in REPEATED and any(pid in self._twins(g) for g in row.gold)

    def _twins(self, pid: int) -> frozenset[int]:
        """What is told in nearly the same words, in the same bank."""
        found = self._alike.get(pid)
        if found is None:
            said = set(self.passages[pid].ids)
            others = ((i, set(self.passages[i].ids)) for i in self.groups[self.passages[pid].group])
            alike = (i for i, told in others if len(said & told) >= ALIKE * len(said | told))
            found = self._alike[pid] = frozenset(alike)
        return found

    def misses(self, row: Row, pid: int) -> bool:
        return pid not in row.gold and self.known(row, pid) and not self.repeats(row, pid)

    def name(self, passage: Passage) -> list[int]:
        return self.ids(passage.speaker + ":") if passage.speaker else []

    def said(self, passage: Passage) -> list[int]:
        """With the name of who said it."""
        return self.name(passage) + passage.ids

    def ids(self, text: str) -> list[int]:
        """Ids of a short, often repeated piece of text."""
        found = self._ids.get(text)
        if found is None:
            found = self._ids[text] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return found


def short_date(day: date) -> str:
    """As the models are shown it."""
    return f"{day:%B} {day.day}, {day.year}:"


@dataclass(frozen=True, slots=True)
class Dressed:
    """A passage as the embedder and as a cross-encoder reads it."""

    ids: list[int]
    muted: tuple[int, int]  # of `ids`: the turn before, which has vectors of its own
    paired: list[int]


@dataclass(slots=True)
class Form:
    """How the passages of one list are dressed."""

    dated: bool
    named: bool
    context: str  # "", "previous" or a phrase
    earlier: bool  # a cross-encoder is shown the turn before the previous one, too
    wrapped: bool
    separator: str


@dataclass(slots=True)
class Item:
    """One passage of a list with what is put around it."""

    pid: int
    date: date | None
    speaker: str | None
    previous: list[int] | None
    ids: list[int]
    earlier: list[int] | None = None  # said before the previous turn


class ListMaker:
    def __init__(self, corpus: Corpus, seed: int) -> None:
        self.c = corpus
        self.rng = random.Random(seed)
        self.names = NAMES.split()
        self.contexts, self.openers = CONTEXTS.split("|"), OPENERS.split("|")
        self.skipped = frozenset(ship.skip_tokens(corpus.tokenizer))

    def make(self, row: Row) -> tuple[list[int], list[Dressed], list[int]]:
        """Query ids, dressed passages (the answer first) and their passage numbers."""
        rng, c = self.rng, self.c
        # What nobody told has no answer: the list is of misses alone.
        answer = rng.choice(row.gold or row.hard[:4])
        form = self._form(row, c.passages[answer])
        speaker = rng.choice(self.names)
        query = self._query(row, speaker)
        misses = (pid for pid in self._misses(row) if pid != answer)
        items = [self._item(pid) for pid in [answer, *misses]]
        if None in row.query or (form.named and items[0].speaker is None):
            items[0].speaker = speaker
            form.named = form.named or None in row.query
        if row.gold:
            query = self._date_query(query, form, items)
            self._twins(row, form, items)
        self._dress_unknown(form, items)
        asked = set(query) - self.skipped
        texts = [self._text(item, form, asked) for item in items[:LIST]]
        return query, texts, [item.pid for item in items[:LIST]]

    def _form(self, row: Row, answer: Passage) -> Form:
        rng, chat = self.rng, row.source == "chats"
        dated = rng.random() < (0.85 if answer.date else 0.45)
        named = rng.random() < (0.95 if answer.speaker else 0.3)
        roll = rng.random()
        if answer.previous is not None:
            context = "previous" if roll < (0.9 if chat else 0.5) else ""
        else:
            context = (
                "previous" if roll < 0.12 else (rng.choice(self.contexts) if roll < 0.2 else "")
            )
        wrapped = len(answer.ids) < 60 and rng.random() < 0.2 and row.source != "synthetic"
        earlier = context == "previous" and rng.random() < (0.6 if chat else 0.35)
        return Form(dated, named, context, earlier, wrapped, rng.choice([":", "", "."]))

    def _query(self, row: Row, speaker: str) -> list[int]:
        rng = self.rng
        name = self.c.ids(speaker)
        query = [i for part in row.query for i in (name if part is None else [part])]
        roll = rng.random()
        if roll < 0.08:
            query = self.c.ids(rng.choice(self.openers)) + query
        elif roll < 0.13:
            # A remark before the question, as people make in a chat.
            remark = self.c.passages[rng.choice(self.c.groups["friends"])].ids[:24]
            query = remark + query
        elif roll < 0.2 and query and query[-1] == self.c.ids("?")[0]:
            query = query[:-1]
        return query[:QUERY_MOST]

    def _misses(self, row: Row) -> list[int]:
        rng = self.rng
        pool = self.c.groups[row.group]
        near = rng.sample(row.hard[:12], min(4, len(row.hard[:12])))
        far = rng.sample(row.hard[12:], min(2, len(row.hard[12:])))
        chosen = list(dict.fromkeys(near + far))
        tries = 0
        while len(chosen) < LIST and tries < 50:
            tries += 1
            pid = rng.choice(pool)
            if pid not in chosen and self.c.misses(row, pid):
                chosen.append(pid)
        return chosen

    def _item(self, pid: int) -> Item:
        p = self.c.passages[pid]
        previous = self._turn(p.previous) if p.previous is not None else None
        return Item(pid, p.date, p.speaker, previous, p.ids, self._earlier(p.previous))

    def _earlier(self, previous: int | None) -> list[int] | None:
        before = None if previous is None else self.c.passages[previous].previous
        return None if before is None else self._turn(before)[:EARLIER_MOST]

    def _turn(self, pid: int) -> list[int]:
        p = self.c.passages[pid]
        return self.c.name(p) + p.ids[:CONTEXT_MOST]

    def _date_query(self, query: list[int], form: Form, items: list[Item]) -> list[int]:
        """Sometimes name the answer's date in the query; the misses then lie elsewhere."""
        rng = self.rng
        if items[0].date is not None or not form.dated or rng.random() > 0.3:
            return query
        day = self._day()
        phrase, far = rng.choice(
            [
                (f"in {day:%B %Y}", 40),
                (f"on {day:%B} {day.day}, {day.year}", 2),
                (f"on {day.day} {day:%B}", 2),
                (f"in {day.year}", 370),
                (f"on {day.isoformat()}", 2),
            ]
        )
        items[0].date = day
        for item in items[1:]:
            shift = rng.randrange(far, far * 8 + 30) * rng.choice([-1, 1])
            item.date = day + timedelta(days=shift)
        items.insert(
            1, Item(items[0].pid, items[1].date, items[0].speaker, items[0].previous, items[0].ids)
        )
        mark = self.c.ids("?")[0]
        body = query[:-1] if query and query[-1] == mark else query
        if rng.random() < 0.3:
            return (self.c.ids(phrase + ",") + query)[:QUERY_MOST]
        return (body[: QUERY_MOST - 8] + self.c.ids(phrase) + [mark])[:QUERY_MOST]

    def _twins(self, row: Row, form: Form, items: list[Item]) -> None:
        """The same words by another speaker, and the turn after the answer, are misses."""
        rng, answer = self.rng, items[0]
        others = self._others(row, form, items)
        if others and rng.random() < (0.2 if row.source == "chats" else 0.4):
            other = rng.choice(others)
            items.insert(1, replace(answer, speaker=other))
        after = self.c.following.get(answer.pid)
        if after is not None and after not in row.gold and rng.random() < 0.6:
            p = self.c.passages[after]
            items.insert(
                1,
                Item(
                    after,
                    p.date,
                    p.speaker,
                    self._turn(answer.pid),
                    p.ids,
                    self._earlier(answer.pid),
                ),
            )
        elif form.context == "previous" and answer.previous is None and rng.random() < 0.5:
            # The answer as the context of an unrelated remark.
            remark = self.c.passages[rng.choice(self.c.groups["friends"])]
            name = self.c.ids((answer.speaker or rng.choice(self.names)) + ":")
            said = name + answer.ids[:CONTEXT_MOST]
            items.insert(1, Item(answer.pid, answer.date, None, said, remark.ids))

    def _others(self, row: Row, form: Form, items: list[Item]) -> list[str]:
        """Who may be made to say the answer's words instead: a miss where the question asks what
        their speaker said or did, and names nobody else of the list."""
        speaker = items[0].speaker
        if not form.named or speaker is None:
            return []
        if None in row.query or row.source == "synthetic":
            return [n for n in self.names if n != speaker]
        others = sorted({i.speaker for i in items if i.speaker} - {speaker})
        named = [who for who in (speaker, *others) if _within(self.c.ids(who), row.query)]
        return others if row.source == "chats" and named == [speaker] else []

    def _dress_unknown(self, form: Form, items: list[Item]) -> None:
        """Draw what a passage lacks, so that presence itself tells nothing."""
        rng = self.rng
        base = self._day()
        known = [i.speaker for i in items if i.speaker]
        pair = [*rng.sample(self.names, 2), *known]
        for item in items:
            if form.dated and item.date is None:
                item.date = base + timedelta(days=rng.randrange(-90, 90))
            if form.named and item.speaker is None:
                item.speaker = rng.choice(pair)
            if form.context == "previous" and item.previous is None:
                group = self.c.groups[
                    "friends" if rng.random() < 0.6 else self.c.passages[item.pid].group
                ]
                item.previous = (
                    self.c.ids(rng.choice(pair) + ":")
                    + self.c.passages[rng.choice(group)].ids[:CONTEXT_MOST]
                )

    def _text(self, item: Item, form: Form, asked: set[int]) -> Dressed:
        c = self.c
        dated = form.dated and item.date is not None
        answered: list[int] = []
        if form.context == "previous" and item.previous is not None:
            answered = c.ids("previous turn:") + item.previous + c.ids(form.separator)
        earlier: list[int] = []
        if form.earlier and item.earlier is not None:
            earlier = c.ids("previous turn:") + item.earlier + c.ids(form.separator)
        head = c.ids(form.context + ":") if form.context not in ("", "previous") else []
        head = head + (c.ids(item.speaker + ":") if form.named and item.speaker else [])
        text = self._wrap(item) if form.wrapped else item.ids
        short = c.ids(short_date(item.date)) if dated and item.date else []
        # Recall matches a turn's own vectors and those of the turn before apart; a context that
        # a caller gives is part of its memory. Both are met.
        mute = len(answered) if self.rng.random() < MUTED else 0
        front = short + answered + head
        return Dressed(
            front + excerpt(text, asked, EMBEDDED_MOST - len(front)),
            (len(short), len(short) + mute),
            short + earlier + answered + head + excerpt(text, asked, PAIRED_MOST),
        )

    def _wrap(self, item: Item) -> list[int]:
        """The passage inside a longer message."""
        rng = self.rng
        group = self.c.groups[self.c.passages[item.pid].group]
        before, after = (
            [self.c.passages[rng.choice(group)].ids[:60] for _ in range(rng.randrange(3))]
            for _ in range(2)
        )
        return [i for part in [*before, item.ids, *after] for i in part]

    def _day(self) -> date:
        return date(2018, 1, 1) + timedelta(days=self.rng.randrange(3200))


def excerpt(ids: list[int], asked: set[int], most: int) -> list[int]:
    """The part of a long passage that holds the most of what is asked for, as recall takes it."""
    if len(ids) <= most:
        return ids
    often = Counter(i for i in ids if i in asked)
    starts = range(0, len(ids) - most + EXCERPT_STEP, EXCERPT_STEP)
    held = (asked.intersection(ids[start : start + most]) for start in starts)
    worth = [sum(math.log1p(len(ids) / often[i]) for i in sorted(found)) for found in held]
    start = starts[worth.index(max(worth))]
    return ids[start : start + most]


def _within(part: list[int], whole: list[int | None]) -> bool:
    return any(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))


def pad(lists: list[list[int]]) -> np.ndarray:
    out = np.zeros((len(lists), -(-max(map(len, lists)) // 8) * 8), dtype=np.int32)
    for i, ids in enumerate(lists):
        out[i, : len(ids)] = ids
    return out


def longest(passages: list[Dressed]) -> int:
    return max(len(p.paired) for p in passages)


class Batches(torch.utils.data.IterableDataset):
    """Endless batches of one family each, cut by a budget of pair tokens."""

    def __init__(self, corpus: Corpus, budget: int, seed: int) -> None:
        self.corpus, self.budget, self.seed = corpus, budget, seed

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        info = torch.utils.data.get_worker_info()
        seed = self.seed * 1000 + (info.id if info else 0)
        maker = ListMaker(self.corpus, seed)
        rng = random.Random(seed + 17)
        families = [f for f in SHARES if f in self.corpus.families]
        shares = [SHARES[f] for f in families]
        while True:
            family = self.corpus.families[rng.choices(families, shares)[0]]
            rows = [self.corpus.rows[rng.choice(family)] for _ in range(DRAWN)]
            made = [(row, *maker.make(row)) for row in rows]
            made = [m for m in made if len(m[2]) == LIST]
            made.sort(key=lambda m: longest(m[2]) + len(m[1]))
            batches = list(self._cut(made))
            rng.shuffle(batches)
            yield from (self._tensors(batch) for batch in batches)

    def _cut(self, made: list[Any]) -> Iterator[list[Any]]:
        batch: list[Any] = []
        for m in made:
            width = longest(m[2]) + len(m[1]) + 3
            if batch and width * LIST * (len(batch) + 1) > self.budget:
                yield batch
                batch = []
            batch.append(m)
        if len(batch) >= 8:
            yield batch

    def _known(self, row: Row, pids: np.ndarray) -> np.ndarray:
        """Which of these passages must not count as misses."""
        known = np.isin(pids, row.gold)
        if row.asked is not None or row.source in REPEATED:
            for i in np.flatnonzero(~known):
                own = self.corpus.passages[pids[i]].group == row.group
                known[i] = own and not self.corpus.misses(row, int(pids[i]))
        return known

    def _tensors(self, batch: list[Any]) -> dict[str, torch.Tensor]:
        queries = [[CLS, *m[1], SEP] for m in batch]
        passages = [[CLS, *p.ids, SEP] for m in batch for p in m[2]]
        pairs = [[CLS, *m[1], SEP, *p.paired, SEP] for m in batch for p in m[2]]
        types = [[0] * (len(m[1]) + 2) + [1] * (len(p.paired) + 1) for m in batch for p in m[2]]
        pids = np.array([m[3] for m in batch])
        # In-batch passages that answer the query too, or were told later, must not count as misses.
        known = np.array([self._known(m[0], pids.reshape(-1)) for m in batch])
        # A passage that stands in its list as something else than the answer is not what was judged.
        judged = [
            [
                m[0].judged.get(pid, np.nan) if i == 0 or pid != m[3][0] else np.nan
                for i, pid in enumerate(m[3])
            ]
            for m in batch
        ]
        passage = pad(passages)
        muted = np.zeros(passage.shape, dtype=bool)
        for row, (start, end) in enumerate(p.muted for m in batch for p in m[2]):
            muted[row, start + 1 : end + 1] = True
        arrays = {
            "query": pad(queries),
            "passage": passage,
            "muted": muted,
            "pair": pad(pairs),
            "type": pad(types),
            "known": known,
            "judged": np.array(judged, dtype=np.float32),
            "answered": np.array([bool(m[0].gold) for m in batch]),
            "heeded": np.array([m[0].source in HEEDED for m in batch]),
            "untaught": np.array([m[0].source in UNTAUGHT for m in batch]),
        }
        return {k: torch.from_numpy(v) for k, v in arrays.items()}
