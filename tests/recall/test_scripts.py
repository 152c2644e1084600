"""Questions in a script that the shipped embedder never learnt: to it, all that is written so is alike."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest

import recollect
from recollect.language.script import script_of
from recollect.models.registry import DEFAULT_EMBEDDER
from recollect.recall import pipeline
from recollect.recall.relevance import calibrations

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


@pytest.mark.parametrize("script", sorted({script_of(b["facts"][0]) or "latin" for b in BANKS}))
def test_few_best_hits_of_what_small_banks_cannot_know_are_rated_strong(
    memory: recollect.Recollect, script: str
) -> None:
    """By script, as the bias is: of one language alone it may be more (docs/models.md)."""
    results = [
        memory.recall(f"{at}", text, query_timestamp=NOW)
        for at, bank in enumerate(BANKS)
        if (script_of(bank["facts"][0]) or "latin") == script
        for text in bank["unrelated"]
    ]
    best = [result.results[0].band for result in results if result.results]
    assert best.count(recollect.Band.STRONG) <= len(results) / 4


@LANGUAGES
@pytest.mark.parametrize("bank", ["{}", "{} undated"])
def test_what_it_can_know_is_known(memory: recollect.Recollect, at: int, bank: str) -> None:
    for text in BANKS[at]["answered"]:
        assert not memory.recall(bank.format(at), text).nothing_known


@pytest.mark.parametrize("at", [0, 4, 13], ids=["zh", "ar", "en"])
def test_the_order_is_that_of_the_same_weights_anywhere(
    memory: recollect.Recollect, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def order() -> list[list[str]]:
        texts = [*BANKS[at]["unrelated"], *BANKS[at]["answered"]]
        results = (memory.recall(f"{at}", text, query_timestamp=NOW) for text in texts)
        return [[hit.text for hit in result] for result in results]

    now = order()
    monkeypatch.setattr(pipeline, "calibrations", lambda model, *_, **__: calibrations(model))
    assert now == order()


def test_a_question_in_latin_letters_is_judged_as_ever() -> None:
    assert calibrations(DEFAULT_EMBEDDER, None) == calibrations(DEFAULT_EMBEDDER)


def test_a_model_of_ones_own_is_not_taken_to_find_them_alike() -> None:
    assert calibrations("mine", "cjk") == calibrations("mine")
