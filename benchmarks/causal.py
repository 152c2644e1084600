"""Causal relations on SemEval-2010 task 8 and BECauSE.

    python benchmarks/causal.py             # the figures in docs/extraction.md
    python benchmarks/causal.py --develop   # the half of SemEval the cues were developed on
    python benchmarks/causal.py --errors    # what went wrong there

SemEval: does the sentence hold a cause-effect relation between its two marked nouns? Its Cause-
Effect sentences against all other relations; a relation counts when one noun lies in the cause
and the other in the effect. The halves are by hash of the sentence id.

BECauSE comes as pairs of arguments and a connective without their sentence, so the sentence is
put together from them, in the connective's usual order, for the connectives that recollect
reads ("covered"). Its pairs marked NonCausal with the same connectives must give nothing.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from recollect.retain.causal import find_causal
from sets import folder

MARK = re.compile(r"</?e[12]>")
EFFECT_FIRST = frozenset(
    {"because", "because of", "since", "due to", "thanks to", "as a result of", "given that",
     "caused by", "owing to", "on account of"}
)  # fmt: skip
CAUSE_FIRST = frozenset(
    {"so", "therefore", "consequently", "thus", "led to", "caused", "causes", "resulted in",
     "prevent", "prevented", "prevents", "so that", "hence", "leads to", "in order to", "so as to",
     "triggered", "results in", "lead to", "brought about", "why"}
)  # fmt: skip
# BECauSE takes a purpose as the cause, recollect takes the act as what makes it possible.
PURPOSE = frozenset({"in order to", "so as to", "so that"})


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    first: int
    second: int
    causal: bool
    first_is_cause: bool


def rows(name: str) -> Iterator[dict[str, str]]:
    with gzip.open(folder() / "causal" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def semeval(half: int) -> list[Sentence]:
    found: list[Sentence] = []
    for row in rows("semeval2010t8_train"):
        if hashlib.sha256(str(row["id"]).encode()).digest()[0] % 2 != half:
            continue
        marked, relation = row["text"], row["relation"]
        first = len(MARK.sub("", marked[: marked.index("<e1>")]))
        second = len(MARK.sub("", marked[: marked.index("<e2>")]))
        found.append(
            Sentence(
                MARK.sub("", marked), first, second,
                relation.startswith("Cause-Effect"), relation.endswith("(e1,e2)"),
            )
        )  # fmt: skip
    return found


def related(sentence: Sentence) -> str:
    """ "e1" or "e2" for the noun that is found to be the cause, "" for no relation."""
    for relation in find_causal(sentence.text):
        if relation.cause_span is None or relation.effect_span is None:
            continue
        for cause, effect, name in (
            (sentence.first, sentence.second, "e1"),
            (sentence.second, sentence.first, "e2"),
        ):
            in_cause = relation.cause_span[0] <= cause < relation.cause_span[1]
            if in_cause and relation.effect_span[0] <= effect < relation.effect_span[1]:
                return name
    return ""


def score_semeval(half: int, *, errors: bool) -> None:
    right = found = causal = directed = 0
    missed: list[str] = []
    wrong: list[str] = []
    sentences = semeval(half)
    for sentence in sentences:
        cause = related(sentence)
        causal += sentence.causal
        found += bool(cause)
        if cause and sentence.causal:
            right += 1
            directed += (cause == "e1") == sentence.first_is_cause
        elif cause:
            wrong.append(sentence.text)
        elif sentence.causal:
            missed.append(sentence.text)
    precision, recall = right / max(1, found), right / causal
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    print(
        f"SemEval-2010 task 8 ({len(sentences)} sentences, {causal} causal): precision "
        f"{precision:.3f} recall {recall:.3f} F1 {f1:.3f}, direction right {directed / max(1, right):.3f}"
    )
    if errors:
        print("\nMISSED", *missed[:70], "\nWRONG", *wrong[:70], sep="\n  ")


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def overlap(one: str, other: str) -> float:
    shared = sum((words(one) & words(other)).values())
    return 2 * shared / max(1, sum(words(one).values()) + sum(words(other).values()))


def score_because() -> None:
    covered = causal = found = matched = 0
    traps = alarms = 0
    for row in rows("because"):
        connective = row["connective"].lower()
        order = _compose(row, connective)
        if row["type"] == "NonCausal":
            if order and "arg0" in row:
                traps += 1
                alarms += bool(find_causal(order))
            continue
        causal += 1
        if order is None or not row.get("cause") or not row.get("effect"):
            continue
        covered += 1
        relations = find_causal(order)
        found += bool(relations)
        cause, effect = row["cause"], row["effect"]
        if connective in PURPOSE:
            cause, effect = effect, cause
        matched += any(
            overlap(r.cause, cause) > 0.5 and overlap(r.effect, effect) > 0.5 for r in relations
        )
    print(
        f"BECauSE: {covered} of {causal} causal pairs have a covered connective; found {found}, "
        f"with both arguments right {matched} ({matched / max(1, covered):.3f}); "
        f"{alarms} of {traps} non-causal pairs raised an alarm"
    )


def _compose(row: dict[str, str], connective: str) -> str | None:
    first = row.get("effect") or row.get("arg1") or ""
    second = row.get("cause") or row.get("arg0") or ""
    if connective in EFFECT_FIRST:
        comma = "," if connective == "since" and row["type"] != "NonCausal" else ""
        return f"{first}{comma} {row['connective'].lower()} {second}."
    if connective in PURPOSE:
        return f"{first} {connective} {second}."
    if connective == "why":
        return f"{second}, which is why {first}."
    if connective in CAUSE_FIRST:
        comma = "," if connective in ("so", "therefore", "consequently", "thus", "hence") else ""
        return f"{second}{comma} {connective} {first}."
    return None


def speed() -> float:
    texts = [s.text for s in semeval(0)][:2000]
    find_causal(texts[0])
    start = time.process_time()
    for text in texts:
        find_causal(text)
    return (time.process_time() - start) / len(texts) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--develop", action="store_true")
    parser.add_argument("--errors", action="store_true")
    options = parser.parse_args()
    develop = options.develop or options.errors
    score_semeval(0 if develop else 1, errors=options.errors)
    if not develop:
        score_because()
        print(f"CPU-ms a sentence: {speed():.3f}")


if __name__ == "__main__":
    main()
