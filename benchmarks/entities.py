"""Entity finding on WNUT17, WikiGold and GUM, and resolution on nickname pairs.

    python benchmarks/entities.py            # the figures in docs/extraction.md
    python benchmarks/entities.py --develop  # the splits the rules were developed on
    python benchmarks/entities.py --errors wnut17_train   # what went wrong, for development

Rules were developed on the train splits of WNUT17 and GUM and on one half of WikiGold (by hash
of the sentence); the figures are of WNUT17 dev, the other half of WikiGold and GUM test.

Scored are exact spans. URLs, handles, paths, versions and identifiers that recollect finds are
left out, as none of the sets marks them. GUM marks every noun phrase, so only its spans of
capitalised words are taken as gold; a name inside a longer noun phrase counts against precision.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from recollect.language.entities import EntityResolver, KnownEntity, find_entities
from recollect.language.entities.gazetteer import given_names
from recollect.language.entities.technical import technical_spans
from recollect.retain import chunk, statements
from recollect.retain.causal import find_causal
from sets import folder

KINDS = {
    "person": "person", "PER": "person", "location": "place", "LOC": "place", "place": "place",
    "corporation": "organisation", "group": "organisation", "ORG": "organisation",
    "organization": "organisation", "product": "product", "creative-work": "product",
}  # fmt: skip
NO_SPACE_BEFORE = frozenset(
    [
        ".",
        ",",
        ";",
        ":",
        "!",
        "?",
        ")",
        "]",
        "'",
        "'s",
        "’s",
        "n't",
        "'re",
        "'m",
        "'ve",
        "'ll",
        "'d",
        "%",
        "…",
    ]
)
SMALL = frozenset(
    [
        "of",
        "the",
        "and",
        "de",
        "la",
        "van",
        "von",
        "der",
        "for",
        "in",
        "to",
        "&",
        "-",
        "'s",
        ".",
        ",",
        "'",
    ]
)
NOT_NAMES = frozenset(
    [
        "i",
        "you",
        "he",
        "she",
        "it",
        "we",
        "they",
        "me",
        "him",
        "her",
        "us",
        "them",
        "my",
        "your",
        "his",
        "our",
        "their",
        "its",
        "this",
        "that",
        "these",
        "those",
        "there",
        "here",
        "who",
        "what",
        "which",
        "one",
        "some",
        "all",
        "both",
        "each",
        "many",
        "most",
        "someone",
        "everyone",
        "anyone",
    ]
)

Span = tuple[int, int]
Gold = dict[Span, str]


def sentences_of(name: str) -> Iterator[tuple[str, Gold]]:
    with gzip.open(folder() / "entities" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield _text_and_gold(row["tokens"], row["tags"], named_only=name.startswith("gum"))


def _text_and_gold(tokens: list[str], tags: list[str], *, named_only: bool) -> tuple[str, Gold]:
    text = ""
    places: list[Span] = []
    for token in tokens:
        tight = token in NO_SPACE_BEFORE or not text or text[-1] in "([$#“‘"
        text += token if tight else f" {token}"
        places.append((len(text) - len(token), len(text)))
    gold: Gold = {}
    for first, last, label in _runs(tags):
        words = tokens[first : last + 1]
        if named_only:
            while words and words[0].lower() in ("the", "a", "an", "this", "our", "my"):
                first, words = first + 1, words[1:]
            if not _named(words, label):
                continue
        gold[places[first][0], places[last][1]] = label
    return text, gold


def _runs(tags: list[str]) -> Iterator[tuple[int, int, str]]:
    first: int | None = None
    for index, tag in enumerate([*tags, "O"]):
        label = tag[2:]
        continues = first is not None and tag.startswith("I-") and label == tags[first][2:]
        if first is not None and not continues:
            yield first, index - 1, tags[first][2:]
            first = None
        if tag != "O" and first is None:
            first = index


def _named(words: list[str], label: str) -> bool:
    if not words or label in ("time", "quantity") or len(words) > 6:
        return False
    large = [word for word in words if word.lower() not in SMALL]
    if not large or any(not (word[0].isupper() or word[0].isdigit()) for word in large):
        return False
    return any(word[0].isupper() for word in large) and large[0].lower() not in NOT_NAMES


def half_of(text: str) -> int:
    return hashlib.sha256(text.encode()).digest()[0] % 2


def found_in(text: str) -> Gold:
    by_form = set(technical_spans(text))
    return {m.span: m.kind for m in find_entities(text) if m.span not in by_form}


def score(rows: Iterable[tuple[str, Gold]]) -> dict[str, float]:
    right = found = marked = typed = typable = 0
    for text, gold in rows:
        mentions = found_in(text)
        shared = mentions.keys() & gold.keys()
        right += len(shared)
        found += len(mentions)
        marked += len(gold)
        typable += sum(gold[span] in KINDS for span in shared)
        typed += sum(mentions[span] == KINDS.get(gold[span]) for span in shared)
    precision, recall = right / max(1, found), right / max(1, marked)
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    kind = typed / max(1, typable)
    return {"precision": precision, "recall": recall, "F1": f1, "kind": kind, "spans": marked}


def rows_of(name: str, half: int | None = None) -> list[tuple[str, Gold]]:
    return [
        (text, gold) for text, gold in sentences_of(name) if half is None or half_of(text) == half
    ]


def print_errors(name: str) -> None:
    many = 60
    half = 0 if name == "wikigold" else None
    rows = rows_of(name, half)
    random.Random(1).shuffle(rows)
    missed: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for text, gold in rows:
        mentions = found_in(text)
        bad = [f"+{text[a:b]}" for a, b in mentions.keys() - gold.keys()]
        bad += [f"-{text[a:b]}[{gold[a, b]}]" for a, b in gold.keys() - mentions.keys()]
        missed.update(text[a:b].lower() for a, b in gold.keys() - mentions.keys())
        wrong.update(text[a:b] for a, b in mentions.keys() - gold.keys())
        if bad and many:
            many -= 1
            print(text, "\n    ", bad)
    print("missed", missed.most_common(60))
    print("wrong", wrong.most_common(150))


def nickname_pairs() -> tuple[float, float, int]:
    """Share of (nickname, formal name) pairs of the data joined with one candidate in the bank,
    and share of pairs of names that the data does not relate that were joined all the same."""
    with gzip.open(folder() / "entities" / "nicknames.csv.gz", "rt", encoding="utf-8") as file:
        pairs = [(row["name1"], row["name2"]) for row in csv.DictReader(file)]
    joined = sum(_joins(formal, short) for formal, short in pairs)
    related = {*pairs, *((b, a) for a, b in pairs)}
    names = sorted({name for pair in pairs for name in pair})
    choice = random.Random(7)
    others = [tuple(choice.sample(names, 2)) for _ in range(5000)]
    others = [pair for pair in others if pair not in related]
    wrong = sum(_joins(one, other) for one, other in others)
    return joined / len(pairs), wrong / len(others), len(pairs)


def _joins(one: str, other: str) -> bool:
    bank = EntityResolver([KnownEntity(1, f"{one.title()} Novak", "person", frozenset(), 1)])
    return bank.resolve(other.title(), "person").entity is not None


def speed() -> tuple[float, float, float]:
    """CPU milliseconds for finding in a fact, and for resolving and adding at 20k entities."""
    rows = [text for text, _ in rows_of("wikigold", 0)][:500]
    rows = [text for text in rows if 12 <= len(text.split()) <= 28]
    find_entities("Warm Up")
    names = sorted(given_names())
    choice = random.Random(3)
    known = [
        KnownEntity(
            i, f"{choice.choice(names).title()} {choice.choice(names).title()}son {i % 97}",
            "person", frozenset(), 1,
        )
        for i in range(20_000)
    ]  # fmt: skip
    bank = EntityResolver(known)
    start = time.process_time()
    for text in rows:
        find_entities(text, known=bank.matcher())
    find = (time.process_time() - start) / len(rows) * 1e3
    start = time.process_time()
    for entity in known[:2000]:
        bank.resolve(entity.name.split()[0], "person")
        bank.resolve(entity.name.rsplit(" ", 1)[0], "person")
    resolve = (time.process_time() - start) / 4000 * 1e3
    start = time.process_time()
    for entity in known[:2000]:
        bank.add(entity)
    return find, resolve, (time.process_time() - start) / 2000 * 1e3


def cost() -> list[tuple[str, float]]:
    """CPU milliseconds a fact of 14 to 26 words, for every part of extraction."""
    with gzip.open(folder() / "memory" / "realmem.json.gz", "rt", encoding="utf-8") as file:
        facts = [unit["text"] for persona in json.load(file) for unit in persona["units"]]
    facts = random.Random(1).sample([text for text in facts if 14 <= len(text.split()) <= 26], 1000)
    parts: list[Callable[[str], object]] = [
        chunk.statements, find_entities, find_causal, statements.slot, statements.is_event,
        statements.fact_type, statements.normalise,
    ]  # fmt: skip
    costs: list[tuple[str, float]] = []
    for part in parts:
        part(facts[0])
        start = time.process_time()
        for text in facts:
            part(text)
        costs.append((part.__name__, (time.process_time() - start) / len(facts) * 1e3))
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--develop", action="store_true")
    parser.add_argument("--errors", metavar="SET")
    options = parser.parse_args()
    if options.errors:
        print_errors(options.errors)
        return
    reported = [("wnut17_dev", None), ("wikigold", 1), ("gum_test", None)]
    developed = [("wnut17_train", None), ("wikigold", 0), ("gum_train", None)]
    print(f"{'set':<14}{'precision':>10}{'recall':>8}{'F1':>7}{'kind':>7}{'spans':>7}")
    for name, half in developed if options.develop else reported:
        row = score(rows_of(name, half))
        print(
            f"{name:<14}{row['precision']:>10.3f}{row['recall']:>8.3f}{row['F1']:>7.3f}"
            f"{row['kind']:>7.3f}{row['spans']:>7.0f}"
        )
    if not options.develop:
        joined, wrong, pairs = nickname_pairs()
        print(f"nicknames: {joined:.3f} of {pairs} pairs joined, {wrong:.4f} of others joined")
        find, resolve, add = speed()
        print(f"CPU-ms at 20k known: find {find:.3f}, resolve {resolve:.3f}, add {add:.3f}")
        costs = cost()
        print("CPU-ms a fact:", ", ".join(f"{name} {ms:.3f}" for name, ms in costs))
        print(f"CPU-ms a fact, all parts: {sum(ms for _, ms in costs):.3f}")


if __name__ == "__main__":
    main()
