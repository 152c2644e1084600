"""Make the derived word lists in ``src/recollect/language/data``.

Two lists come from development data, everything else in that folder is written by hand:

- ``nicknames.txt``: one line a formal name, ``robert bob bobby rob | rupert``, from the nickname
  pairs. Before the bar are those that may name one person: part of the formal name ("Rob",
  "Beth") or listed by hand in ``irregular_nicknames.txt``. The rest are mostly names of their own
  ("Lisa" for Alice, "Erin" for Aaron), which would join two people.
- ``common_words.txt``: words that running English writes in lower case, so that a capital at
  the start of a sentence says nothing. Two lines: words that are hardly ever capitalised inside
  a sentence ("yesterday"), and words that are now and then ("red", "university", "bank").

Only text that kept its case is counted, and none of the sets that entity figures are
reported on. Run: ``python tools/make_gazetteer.py`` (RECOLLECT_DATA names the data folder).
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = REPOSITORY / "src" / "recollect" / "language" / "data"

# Lower-cased or of doubtful licence, so neither is counted.
SKIPPED_SOURCES = frozenset({"squad_sent", "tweetqa/task239", "sciq/task593", "yahoo/task1594"})

# Inside a sentence: the word before ends in a lower-case letter or a comma.
# Labels and titles capitalise every word, which says nothing about running text.
LABELS = re.compile(r"【[^】]*】|\btitle=[^;]*;|\"[^\"]*\"|\*\*[^*]*\*\*")
INSIDE = re.compile(r"(?<=[a-z,] )[A-Za-z][a-z]+\b")

MIN_LOWER = 4
RARELY = 0.06
SOMETIMES = 0.45
# A word seen this often in lower case is a word, however many names it is part of ("street").
OFTEN = 80
MOSTLY = 0.9


def data_folder() -> Path:
    return Path(os.environ.get("RECOLLECT_DATA", REPOSITORY.parent / "shared" / "data"))


def rows(path: Path) -> Iterator[dict[str, object]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def texts(data: Path) -> Iterator[str]:
    for part in sorted((data / "train").glob("*.jsonl.gz")):
        for row in rows(part):
            if row["src"] not in SKIPPED_SOURCES:
                yield str(row["p"])
    with gzip.open(data / "memory" / "realmem.json.gz", "rt", encoding="utf-8") as file:
        for persona in json.load(file):
            yield from (unit["text"] for unit in persona["units"])
    yield from (" ".join(row["tokens"]) for row in rows(data / "entities" / "gum_train.jsonl.gz"))


def common_words(data: Path) -> tuple[list[str], list[str]]:
    lower: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for text in texts(data):
        for word in INSIDE.findall(LABELS.sub(" . ", text)):
            (capital if word[0].isupper() else lower)[word.lower()] += 1
    rarely: list[str] = []
    sometimes: list[str] = []
    for word, count in sorted(lower.items()):
        share = capital[word] / (count + capital[word])
        often = count >= OFTEN and share < MOSTLY
        if often or (count >= MIN_LOWER and share < SOMETIMES):
            (rarely if share < RARELY else sometimes).append(word)
    return rarely, sometimes


def nicknames(data: Path) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = defaultdict(list)
    path = data / "entities" / "nicknames.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["name2"] != row["name1"] and row["name2"] not in groups[row["name1"]]:
                groups[row["name1"]].append(row["name2"])
    return groups


def trusted(formal: str, short: str) -> bool:
    """Whether a nickname is its formal name cut short, with or without a fond ending."""
    stem = re.sub(r"(?:ie|ey|y|i|ee|s)$", "", short)
    if len(stem) > 2 and stem[-1] == stem[-2]:
        stem = stem[:-1]
    if len(stem) < 2:
        return False
    if formal.startswith(stem):
        return len(stem) > 2 or len(short) < 4
    return len(stem) > 2 and stem in formal


def irregular() -> dict[str, list[str]]:
    lines = (TARGET / "irregular_nicknames.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.split() for line in lines if not line.startswith("#"))
    return {formal: short for formal, *short in rows}


def nickname_lines(groups: dict[str, list[str]]) -> Iterator[str]:
    listed = irregular()
    for formal in sorted(groups.keys() | listed.keys()):
        names = {*groups.get(formal, ()), *listed.get(formal, ())}
        good = {n for n in names if n in listed.get(formal, ()) or trusted(formal, n)}
        yield " ".join([formal, *sorted(good), "|", *sorted(names - good)])


def main() -> None:
    data = data_folder()
    words = common_words(data)
    lines = [" ".join(group) for group in words]
    (TARGET / "common_words.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    groups = nicknames(data)
    lines = list(nickname_lines(groups))
    (TARGET / "nicknames.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{sum(map(len, words))} common words, {len(groups)} formal names")


if __name__ == "__main__":
    main()
