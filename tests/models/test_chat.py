"""Facts read by an LLM behind a URL, against a real HTTP server on loopback."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import Conflict, ModelError
from recollect.models.chat import SCHEMA
from recollect.models.http import Client
from recollect.models.registry import load_extractor
from recollect.retain.reading import AT_ONCE
from recollect.server.operations import Operations, QueueRules
from recollect.testing import open_fake

from .conftest import Service

TEXT = "Well, hello! It rained for a week, so Ann Lee moved the fair to Tuesday. Nice, eh?"
SAID = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def fact(text: str, **more: Any) -> dict[str, Any]:
    blank = {"type": "world", "entities": [], "occurred_start": None, "occurred_end": None}
    return {"text": text, **blank, "caused_by": [], **more}


RAIN = fact("It rained for a week.", occurred_start="2026-02-20", occurred_end="2026-02-27")
FAIR = fact("Ann Lee moved the fair to Tuesday.", entities=["Ann Lee"], caused_by=[0])


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client.__init__, "__defaults__", (None, 10.0, 3, 0.001))


@contextmanager
def reading(service: Service, db: Path, **settings: Any) -> Iterator[recollect.Recollect]:
    with open_fake(db, extractor=f"{service.url}/v1#some-llm", **settings) as memory:
        yield memory


def always(*facts: dict[str, Any]) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    return lambda _: list(facts)


def texts(memory: recollect.Recollect, bank: str = "b") -> list[str]:
    return sorted(m.text for m in memory.memories(bank))


# --- what is asked -----------------------------------------------------------------------------


def test_it_is_told_the_passage_its_context_and_when_it_was_said(service: Service) -> None:
    told: list[dict[str, Any]] = []
    service.facts = lambda given: told.append(given) or [RAIN]
    extractor = load_extractor(f"{service.url}/v1#some-llm")
    assert extractor is not None
    extractor.extract(TEXT, context="town hall", speaker="Bob", said_at=SAID)
    assert told == [
        {"context": "town hall", "speaker": "Bob", "said_at": SAID.isoformat(), "passage": TEXT}
    ]


def test_the_answer_is_held_to_the_schema_and_the_model_is_named(service: Service) -> None:
    service.facts = always(RAIN)
    extractor = load_extractor(f"{service.url}/v1#some-llm")
    assert extractor is not None
    extractor.extract(TEXT)
    _, body, _ = service.requests[0]
    assert body["model"] == extractor.name == "some-llm"
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert body["temperature"] == 0


def test_a_service_without_schemas_is_asked_in_words(service: Service) -> None:
    service.facts = always(RAIN)
    service.schemas = False
    extractor = load_extractor(f"{service.url}/v1#some-llm")
    assert extractor is not None
    for _ in range(2):
        assert [f.text for f in extractor.extract(TEXT)] == [RAIN["text"]]
    kinds = [body["response_format"]["type"] for _, body, _ in service.requests]
    assert kinds == ["json_schema", "json_object", "json_object"]


def test_such_a_service_reads_many_texts_at_once(service: Service, db: Path) -> None:
    service.facts = lambda told: [fact(f"Noted: {told['passage']}")]
    service.schemas = False
    given = [{"content": f"Ann has {n} cats.", "document_id": f"d{n}"} for n in range(12)]
    with reading(service, db) as memory:
        assert not memory.retain("b", given).degraded
        assert all(text.startswith("Noted: ") for text in texts(memory))


def test_the_key_is_its_own_or_that_of_the_other_models(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.facts = always(RAIN)
    monkeypatch.setenv("RECOLLECT_MODEL_API_KEY", "shared")
    (load_extractor(f"{service.url}/v1#x") or pytest.fail()).extract(TEXT)
    monkeypatch.setenv("RECOLLECT_EXTRACTOR_API_KEY", "own")
    (load_extractor(f"{service.url}/v1#x") or pytest.fail()).extract(TEXT)
    assert [key for _, _, key in service.requests] == ["Bearer shared", "Bearer own"]


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(ModelError) as raised:
        load_extractor("some-llm")
    assert "https://host/v1#model" in (raised.value.hint or "")


# --- what comes of it --------------------------------------------------------------------------


def test_the_facts_become_memories_like_any_other(service: Service, db: Path) -> None:
    service.facts = always(RAIN, FAIR)
    with reading(service, db) as memory:
        result = memory.retain("b", {"content": TEXT, "document_id": "d", "timestamp": SAID})
        assert texts(memory) == sorted([RAIN["text"], FAIR["text"]])
        assert not result.degraded
        rain, fair = (memory.load("b", i) for i in result.ids)
        assert rain.occurred_start == datetime(2026, 2, 20, tzinfo=UTC)
        assert fair.entities == ("Ann Lee",)
        assert memory.document("b", "d").text == TEXT
        causes = [k for k in memory.links("b", fair.id) if k.kind == "causes"]
        assert [(k.source, k.target) for k in causes] == [(rain.id, fair.id)]


def test_each_chunk_of_a_long_text_is_asked_for_and_remembered(service: Service, db: Path) -> None:
    service.facts = lambda told: [
        fact(f"Noted: {told['passage'][:12]}"),
        fact(f"Also noted: {told['passage'][:12]}", caused_by=[0]),
    ]
    paragraphs = [f"Day {n}. " + f"On day {n} the crew painted hull {n}. " * 40 for n in range(4)]
    with reading(service, db) as memory:
        result = memory.retain("b", {"content": "\n\n".join(paragraphs), "document_id": "log"})
        asked = len(service.requests)
        assert asked >= 4
        chunks = {c.id: c.text for c in memory.chunks("b", "log")}
        assert len(chunks) == asked
        for memory_id in result.ids:
            found = memory.load("b", memory_id)
            assert found.text.endswith(chunks[found.chunk_id or ""][:12])
            linked = [k for k in memory.links("b", found.id) if k.kind == "causes"]
            ends = {memory.load("b", i).chunk_id for k in linked for i in (k.source, k.target)}
            assert linked == [] or ends == {found.chunk_id}


def test_turns_and_ready_made_facts_are_kept_as_given(service: Service, db: Path) -> None:
    with reading(service, db) as memory:
        memory.retain("b", [{"text": "Bob runs."}, {"turns": [{"speaker": "A", "text": "Hi Bob"}]}])
        assert texts(memory) == ["Bob runs.", "Hi Bob"]
    assert service.requests == []


def test_a_date_that_cannot_be_read_is_left_to_the_rules(service: Service, db: Path) -> None:
    service.facts = always(fact("It rained on 2026-02-20.", occurred_start="a while ago"))
    with reading(service, db) as memory:
        one = memory.retain("b", {"content": TEXT, "timestamp": SAID}).ids[0]
        assert memory.load("b", one).occurred_start == datetime(2026, 2, 20, tzinfo=UTC)


def test_a_cause_that_is_not_in_the_answer_links_nothing(service: Service, db: Path) -> None:
    service.facts = always(RAIN, {**FAIR, "caused_by": [1, 7, -1]})
    with reading(service, db) as memory:
        memory.retain("b", {"content": TEXT, "timestamp": SAID})
        assert "causes" not in memory.stats("b").links


def test_a_document_is_not_read_twice(service: Service, db: Path) -> None:
    service.facts = always(RAIN, FAIR)
    given = {"content": TEXT, "document_id": "d", "timestamp": SAID}
    with reading(service, db) as memory:
        first = memory.retain("b", given)
        again = memory.retain("b", given)
        assert len(service.requests) == 1
        assert (again.new, set(again.ids)) == ((), set(first.ids))


# --- when it fails -----------------------------------------------------------------------------

FAILURES = {
    "down": lambda service: service.failures.extend([503] * 3),
    "refused": lambda service: service.failures.append(401),
    "not json": lambda service: setattr(service, "raw", b"<html>"),
    "no facts": lambda service: setattr(service, "raw", b'{"choices": []}'),
    "an empty fact": lambda service: setattr(service, "facts", always(fact("  "))),
    "cut short": lambda service: setattr(service, "finish_reason", "length"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_loses_nothing_and_is_told(service: Service, db: Path, failure: str) -> None:
    service.facts = always(RAIN)
    FAILURES[failure](service)
    with reading(service, db) as memory:
        result = memory.retain("b", {"content": TEXT, "timestamp": SAID})
        assert [d.part for d in result.degraded] == ["extract"]
        assert "Ann Lee moved the fair" in " ".join(texts(memory))


def test_a_service_that_is_not_there_loses_nothing(service: Service, db: Path) -> None:
    with open_fake(db, extractor="http://127.0.0.1:9/v1#some-llm") as memory:
        result = memory.retain("b", {"content": TEXT, "timestamp": SAID})
        assert "does not answer" in result.degraded[0].reason
        assert result.new


@pytest.mark.parametrize("code", [503, 401])
def test_a_service_that_is_down_is_not_asked_for_every_text(
    service: Service, db: Path, code: int
) -> None:
    service.facts = always(RAIN)
    service.failures = [code] * 1000
    given = [{"content": f"Ann has {n} cats.", "document_id": f"d{n}"} for n in range(60)]
    with reading(service, db) as memory:
        result = memory.retain("b", given)
        assert len(service.requests) < 60
        assert len(result.degraded) == 1
        assert len(texts(memory)) == 60


def test_texts_are_asked_for_a_few_at_a_time(service: Service, db: Path) -> None:
    lock, now, most = threading.Lock(), 0, 0
    together = threading.Barrier(AT_ONCE, timeout=60)

    def answer(told: dict[str, Any]) -> list[dict[str, Any]]:
        nonlocal now, most
        with lock:
            now, most = now + 1, max(most, now + 1)
        together.wait()
        with lock:
            now -= 1
        return [fact(f"Noted: {told['passage']}")]

    service.facts = answer
    with reading(service, db) as memory:
        count = 2 * AT_ONCE
        given = [{"content": f"Ann has {n} cats.", "document_id": f"d{n}"} for n in range(count)]
        result = memory.retain("b", given)
        assert most == AT_ONCE
        assert [memory.load("b", i).text for i in result.ids] == [
            f"Noted: Ann has {n} cats." for n in range(count)
        ]


def test_an_answer_that_is_none_says_nothing_about_the_next_text(
    service: Service, db: Path
) -> None:
    service.facts = lambda told: [fact("" if "0 cats" in told["passage"] else "Ann has cats.")]
    given = [{"content": f"Ann has {n} cats.", "document_id": f"d{n}"} for n in range(2)]
    with reading(service, db) as memory:
        memory.retain("b", given)
        assert texts(memory) == ["Ann has 0 cats.", "Ann has cats."]


def test_what_was_read_by_rule_is_read_anew_when_it_is_given_again(
    service: Service, db: Path
) -> None:
    service.facts = always(RAIN, FAIR)
    service.failures.append(401)
    given = {"content": TEXT, "document_id": "d", "timestamp": SAID}
    with reading(service, db) as memory:
        assert memory.retain("b", given).degraded
        assert not memory.retain("b", given).degraded
        assert texts(memory) == sorted([RAIN["text"], FAIR["text"]])


def test_where_it_is_required_nothing_is_stored_without_it(service: Service, db: Path) -> None:
    service.facts = always(RAIN)
    service.failures.append(401)
    with reading(service, db, extractor_required=True) as memory:
        with pytest.raises(ModelError) as raised:
            memory.retain("b", {"content": TEXT, "timestamp": SAID})
        assert raised.value.hint
        assert memory.banks() == []


def test_a_text_it_finds_nothing_in_is_kept_by_rule(service: Service, db: Path) -> None:
    service.facts = always()
    with reading(service, db) as memory:
        result = memory.retain("b", {"content": "Hello there!", "timestamp": SAID})
        assert texts(memory) == ["Hello there!"]
        assert not result.degraded


def test_what_is_cancelled_is_not_read_to_the_end(service: Service, db: Path) -> None:
    with reading(service, db) as memory:
        operations = Operations(memory, QueueRules(lease_s=0.06))
        given = [{"content": f"{TEXT} {n}", "timestamp": SAID} for n in range(300)]
        operation = operations.submit_retain("b", given)

        def cancelled(_: dict[str, Any]) -> list[dict[str, Any]]:
            if not memory.store.queue.operation("b", operation.id).finished:
                with suppress(Conflict):  # several are read at a time
                    operations.cancel("b", operation.id)
            time.sleep(0.01)
            return [RAIN]

        service.facts = cancelled
        operations.work_off()
        assert 0 < len(service.requests) < len(given)
        assert texts(memory) == []


def test_a_result_with_what_it_did_without_survives_json(service: Service, db: Path) -> None:
    service.failures.append(401)
    with reading(service, db) as memory:
        result = memory.retain("b", {"content": TEXT, "timestamp": SAID})
    assert recollect.types.RetainResult.from_dict(result.as_dict()) == result


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ModelError, match="name or password") as raised:
        load_extractor("https://me:hunter2@host/v1#some-llm")
    assert "hunter2" not in str(raised.value)
