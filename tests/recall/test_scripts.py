"""Questions in a script that the shipped embedder never learnt: to it, all that is written so is alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

import recollect
from recollect.language.script import script_of
from recollect.models.registry import DEFAULT_EMBEDDER
from recollect.recall.pipeline import CROSSED_OWN
from recollect.recall.relevance import tells_apart

NOW = datetime(2026, 11, 19, tzinfo=UTC)
BANKS = [
    orjson.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "scripts.jsonl").read_bytes().splitlines()
]


@pytest.fixture(scope="module")
def memory() -> Iterator[recollect.Recollect]:
    with recollect.open(":memory:") as memory:
        for at, bank in enumerate(BANKS):
            memory.retain(f"{at}", bank["facts"], timestamp=NOW)
            memory.retain(f"{at} undated", bank["facts"])
        yield memory


LANGUAGES = pytest.mark.parametrize(
    "at", range(len(BANKS)), ids=lambda at: f"{at}-{BANKS[at]['language']}"
)


SCRIPTS = pytest.mark.parametrize(
    "script", sorted({script_of(b["facts"][0]) or "latin" for b in BANKS})
)


def asked(
    memory: recollect.Recollect, script: str, kind: str
) -> Iterator[tuple[str, recollect.RecallResult]]:
    """With the fact that answers it, where one does."""
    for at, bank in enumerate(BANKS):
        if (script_of(bank["facts"][0]) or "latin") == script:
            for text, fact in zip(bank[kind], bank["facts"], strict=True):
                yield fact, memory.recall(f"{at}", text, query_timestamp=NOW)
                yield fact, memory.recall(f"{at} undated", text)


@SCRIPTS
def test_nearly_all_best_hits_are_the_answer(memory: recollect.Recollect, script: str) -> None:
    """By meanings a third of those in Chinese, Japanese, Korean and Arabic were another one."""
    right = [found.results[0].text == fact for fact, found in asked(memory, script, "answered")]
    assert sum(right) >= 0.9 * len(right)


@SCRIPTS
def test_most_of_what_small_banks_can_know_is_known_and_hardly_anything_else(
    memory: recollect.Recollect, script: str
) -> None:
    known = [not found.nothing_known for _, found in asked(memory, script, "answered")]
    assert sum(known) >= 0.85 * len(known)
    wrongly = [not found.nothing_known for _, found in asked(memory, script, "unrelated")]
    assert sum(wrongly) <= 0.1 * len(wrongly)


def test_what_hardly_any_model_reads_is_found_by_the_letter() -> None:
    told = ["Loved the concert 🎸", "Mia has a cat 🐈", "Flight to Oslo at nine ✈️", "Pizza 🍕🍕"]
    with recollect.open(":memory:") as memory:
        memory.retain("signs", told)
        for text in told:
            assert memory.recall("signs", text.split()[-1]).results[0].text == text


def test_without_the_keyword_arm_meanings_are_what_there_is(memory: recollect.Recollect) -> None:
    hit = memory.recall("7", BANKS[7]["answered"][0], without=["keyword"]).results[0]
    assert hit.text == BANKS[7]["facts"][0]


def test_a_reranker_of_ones_own_reads_what_the_shipped_one_does_not() -> None:
    class Reads:
        name = "mine"

        def score(self, query: str, texts: list[str]) -> list[float]:
            return [9.0 if "猫" in text else -9.0 for text in texts]

    with recollect.open(":memory:") as memory:
        ours = replace(memory._recalling, reranker=Reads, crossed=CROSSED_OWN)  # pyright: ignore[reportPrivateUsage]
        memory.__dict__["_recalling"] = ours
        memory.retain("zh", ["我家的猫叫团团。", "我家的狗叫小黑。", "我家在杭州。"])
        assert memory.recall("zh", "我家的宠物叫什么？").results[0].text == "我家的猫叫团团。"


def test_a_model_of_ones_own_is_not_taken_to_find_them_alike() -> None:
    assert tells_apart("mine", "cjk") and not tells_apart(DEFAULT_EMBEDDER, "cjk")
