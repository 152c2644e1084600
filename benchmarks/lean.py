"""What a recall costs the agent that reads it: tokens of lean answers against full ones, k = 5.

The answers are those of the MCP tools, word for word: the text, and the structured object as the
JSON that clients show a model instead of the text. "two steps" is a lean recall and then
load_memory of the best hit, which is how an agent is told to work. Banks of the development
splits (conversations, long messages, phone records) and the demo's story; only answers with at
least one hit count. Tokens are `recollect.language.tokens`, an estimate of cl100k.

python benchmarks/lean.py
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import recollect
import sets
from arguments import no_options
from recollect.cli.demo import QUESTIONS, TODAY, story
from recollect.eval.splits import Split
from recollect.eval.systems import Recollect as System
from recollect.language.tokens import count_tokens
from recollect.mcp import verbs
from recollect.mcp.answers import Answer
from recollect.mcp.verbs import Call

SIZES = {"realmem": (None, 60), "lifebench": (800, 60), "friendsqa": (800, 60)}


@dataclass(frozen=True)
class Asked:
    bank: str
    query: str


def main() -> None:
    with recollect.open(":memory:") as memory:
        asked = {"story": _story(memory)}
        for name, (units, queries) in SIZES.items():
            bank = sets.sample(sets.read(name, Split.DEVELOPMENT).banks[0], units, queries)
            System(memory).index(bank)
            asked[name] = [Asked(bank.id, q.text[:1500]) for q in bank.queries[:queries]]
        print(f"{'':12s} {'text':>24s} {'structured':>24s} {'two steps':>18s}")
        head = f"{'lean':>7s} {'full':>7s} {'saved':>8s}"
        print(f"{'tokens':12s} {head} {head} {'tokens':>9s} {'saved':>8s}")
        for name, questions in asked.items():
            measure(memory, name, questions)


def _story(memory: recollect.Recollect) -> list[Asked]:
    memory.retain("story", story())
    return [Asked("story", q.query) for q in QUESTIONS]


def measure(memory: recollect.Recollect, name: str, questions: list[Asked]) -> None:
    sums = dict.fromkeys(("lean", "full", "lean object", "full object", "steps"), 0)
    answered = 0
    for asked in questions:
        lean, full = (_recalled(memory, asked, v) for v in ("lean", "full"))
        if not lean.structured["results"]:
            continue
        answered += 1
        best = {"id": lean.structured["results"][0]["id"], "bank": asked.bank}
        loaded = verbs.load_memory(Call(memory, asked.bank), best)
        sums["lean"] += count_tokens(lean.text)
        sums["full"] += count_tokens(full.text)
        sums["lean object"] += _tokens(lean.structured)
        sums["full object"] += _tokens(full.structured)
        sums["steps"] += count_tokens(lean.text) + count_tokens(loaded.text)
    print(f"{name:12s} {_row(sums, answered)}   ({answered} of {len(questions)} answered)")


def _recalled(memory: recollect.Recollect, asked: Asked, verbosity: str) -> Answer:
    arguments = {"query": asked.query, "verbosity": verbosity, "k": 5}
    if asked.bank == "story":
        arguments["query_timestamp"] = TODAY
    return verbs.recall(Call(memory, asked.bank), arguments)


def _row(sums: Mapping[str, int], n: int) -> str:
    def mean(name: str) -> float:
        return sums[name] / max(1, n)

    def saved(small: str, large: str) -> str:
        return f"{100 * (1 - sums[small] / max(1, sums[large])):7.0f}%"

    text = f"{mean('lean'):7.0f} {mean('full'):7.0f} {saved('lean', 'full')}"
    parts = f"{mean('lean object'):7.0f} {mean('full object'):7.0f} {saved('lean object', 'full object')}"
    return f"{text} {parts} {mean('steps'):9.0f} {saved('steps', 'full')}"


def _tokens(structured: Mapping[str, Any]) -> int:
    return count_tokens(json.dumps(structured, ensure_ascii=False))


if __name__ == "__main__":
    no_options(__doc__)
    main()
