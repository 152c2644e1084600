"""Request ids, logs, metrics and spans."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest
from fastapi import FastAPI, Request
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from recollect import telemetry
from recollect.errors import ConfigError, InvalidInput
from recollect.memory import Recollect
from recollect.server.audit import Audit
from recollect.server.keys import ANYBODY
from recollect.server.metrics import Metrics
from recollect.server.observe import Observe, configure_logging, identify, request_id
from recollect.server.operations import Operations
from recollect.types import Scope

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    made = Metrics()
    yield made
    made.close()


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


# --- request ids -------------------------------------------------------------------------------


def test_the_callers_request_id_is_kept() -> None:
    assert identify({"x-request-id": "abc-123"}) == "abc-123"


def test_a_traced_request_is_known_by_its_trace() -> None:
    assert identify({"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}) == TRACE


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", "a\nb", 'a"b', "ü"])
def test_an_id_that_could_forge_a_log_line_is_replaced(given: str) -> None:
    made = identify({"x-request-id": given})
    assert made != given and len(made) == 36


# --- around an application ---------------------------------------------------------------------


@pytest.fixture
def app() -> FastAPI:
    app = FastAPI()

    @app.get("/things/{thing}", operation_id="get_thing")
    async def get_thing(thing: str) -> dict[str, str]:
        logging.getLogger("recollect.test").warning("looking for %s", thing)
        return {"id": request_id.get()}

    @app.post("/things/{thing}", operation_id="make_thing")
    async def make_thing(request: Request, thing: str) -> None:
        request.state.scope, request.state.caller, request.state.bank = Scope.WRITE, ANYBODY, thing
        request.state.counts = {"new": 3}

    @app.get("/broken", operation_id="break")
    async def broken() -> None:
        raise RuntimeError("no")

    return app


def test_every_answer_names_its_request(app: FastAPI) -> None:
    app.add_middleware(Observe)
    answer = TestClient(app).get("/things/1", headers={"X-Request-Id": "mine"})
    assert answer.headers["x-request-id"] == "mine"
    assert answer.json() == {"id": "mine"}


def test_requests_are_timed_by_operation_not_by_path(app: FastAPI, metrics: Metrics) -> None:
    app.add_middleware(Observe, metrics=metrics)
    client = TestClient(app, raise_server_exceptions=False)
    for thing in ("1", "2"):
        client.get(f"/things/{thing}")
    client.get("/nowhere")
    client.get("/broken")
    name = "recollect_http_request_seconds_count"
    assert value(metrics, name, operation="get_thing", status="200") == 2
    assert value(metrics, name, operation="unknown", status="404") == 1
    assert value(metrics, name, operation="break", status="500") == 1
    assert b"/things/1" not in metrics.text()


def test_what_writes_is_audited_and_what_reads_is_not(app: FastAPI, tmp_path) -> None:
    audit = Audit(str(tmp_path / "audit"))
    app.add_middleware(Observe, audit=audit)
    client = TestClient(app)
    client.get("/things/1")
    client.post("/things/alice", headers={"X-Request-Id": "w"})
    audit.close()
    (line,) = [json.loads(text) for text in (tmp_path / "audit").read_text().splitlines()]
    assert (line["action"], line["bank"], line["request_id"]) == ("make_thing", "alice", "w")
    assert (line["counts"], line["outcome"]) == ({"new": 3}, "done")


@pytest.fixture
def logs(capsys: pytest.CaptureFixture[str]) -> Iterator[pytest.CaptureFixture[str]]:
    held = [(logging.getLogger(n), logging.getLogger(n).__dict__.copy()) for n in ("recollect", "uvicorn")]  # fmt: skip
    yield capsys
    for logger, state in held:
        logger.handlers, logger.propagate = state["handlers"], state["propagate"]
        logger.setLevel(state["level"])


def test_json_logs_carry_the_request_id(app: FastAPI, logs) -> None:
    configure_logging("json", "info")
    app.add_middleware(Observe)
    TestClient(app).get("/things/tea", headers={"X-Request-Id": "mine"})
    said = [json.loads(line) for line in logs.readouterr().err.splitlines()]
    assert [(s["message"], s["request_id"]) for s in said if s["logger"] == "recollect.test"] == [
        ("looking for tea", "mine")
    ]
    (asked,) = [s for s in said if s["logger"] == "recollect.http"]
    assert (asked["operation"], asked["status"], asked["key"]) == ("get_thing", 200, "-")


def test_text_logs_are_one_line_each(app: FastAPI, logs) -> None:
    configure_logging("text", "info")
    app.add_middleware(Observe)
    TestClient(app).get("/things/a%0Ab")
    lines = logs.readouterr().err.splitlines()
    assert sum("GET /things/" in line for line in lines) == 1


def test_unknown_log_settings_are_refused(logs) -> None:
    for given in ({"format": "xml"}, {"level": "loud"}):
        with pytest.raises(ConfigError):
            configure_logging(**given)


# --- runs --------------------------------------------------------------------------------------


def test_stages_arms_and_the_cache_are_measured(memory: Recollect, metrics: Metrics) -> None:
    memory.retain("b", "Bob runs.")
    memory.recall("b", "Who runs?", query_timestamp="2026-01-01")
    memory.recall("b", "Who runs?", query_timestamp="2026-01-01")
    stages = "recollect_stage_seconds_count"
    for stage in ("understand", "keyword", "semantic", "fuse", "rerank", "boost", "pack"):
        assert value(metrics, stages, run="recall", stage=stage) == 1
    assert value(metrics, stages, run="retain", stage="commit") == 1
    assert value(metrics, "recollect_arm_candidates_sum", arm="semantic") == 1
    assert value(metrics, "recollect_run_seconds_count", run="recall", outcome="done") == 2
    assert value(metrics, "recollect_recall_cache_total", result="hit") == 1
    assert value(metrics, "recollect_recall_cache_total", result="miss") == 1


def test_failed_runs_are_counted_as_such(memory: Recollect, metrics: Metrics) -> None:
    with pytest.raises(InvalidInput):
        memory.retain("b", {"nothing": "known"})
    assert value(metrics, "recollect_run_seconds_count", run="retain", outcome="failed") == 1


def test_what_an_answer_went_without_is_counted(memory: Recollect, metrics: Metrics) -> None:
    memory.retain("b", "Bob runs.")
    result = memory.recall("b", "Who runs?", deadline_ms=0.0001)
    assert result.degraded
    part = result.degraded[0].part
    assert (value(metrics, "recollect_degraded_total", part=part) or 0) >= 1


def test_waits_are_measured(metrics: Metrics) -> None:
    telemetry.waited("pool", 0.2)
    assert value(metrics, "recollect_wait_seconds_sum", what="pool") == 0.2


def test_the_queue_is_counted_when_somebody_looks(memory: Recollect, metrics: Metrics) -> None:
    operations = Operations(memory)
    metrics.watch_queue(operations)
    assert value(metrics, "recollect_operations", state="pending") == 0
    operations.submit_retain("b", [{"content": "Bob runs."}])
    assert value(metrics, "recollect_operations", state="pending") == 1


def test_what_prometheus_reads_is_its_format(memory: Recollect, metrics: Metrics) -> None:
    memory.retain("b", "Bob runs.")
    families = {f.name for f in text_string_to_metric_families(metrics.text().decode())}
    assert {"recollect_stage_seconds", "recollect_run_seconds"} <= families


def test_nobody_watches_once_closed(memory: Recollect) -> None:
    before = telemetry._watches
    Metrics().close()
    assert telemetry._watches == before


# --- spans -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    made = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    trace.set_tracer_provider(provider)
    return made


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> InMemorySpanExporter:
    exporter.clear()
    return exporter


def test_a_recall_is_a_span_by_the_memory_conventions(memory: Recollect, spans) -> None:
    memory.retain("alice", "Bob runs.")
    spans.clear()
    memory.recall("alice", "Who runs?")
    done = spans.get_finished_spans()
    (whole,) = [s for s in done if s.name == "search_memory"]
    assert whole.attributes["gen_ai.operation.name"] == "search_memory"
    assert whole.attributes["gen_ai.provider.name"] == "recollect"
    assert whole.attributes["gen_ai.memory.store.id"] == "alice"
    assert whole.attributes["gen_ai.memory.record.count"] == 1
    inner = {s.name for s in done if s.parent and s.parent.span_id == whole.context.span_id}
    assert {"recollect.keyword", "recollect.fuse", "recollect.pack"} <= inner


def test_a_retain_is_an_upsert(memory: Recollect, spans) -> None:
    memory.retain("alice", "Bob runs.")
    (whole,) = [s for s in spans.get_finished_spans() if s.name == "upsert_memory"]
    assert whole.attributes["gen_ai.memory.record.count"] == 1


def test_every_change_is_a_span_of_its_own(memory: Recollect, spans) -> None:
    memory.create_bank("alice")
    (made,) = memory.retain("alice", {"text": "Bob runs."}).ids
    memory.update("alice", made, text="Bob swims.")
    memory.forget("alice", made)
    memory.delete_bank("alice")
    whole = [s for s in spans.get_finished_spans() if not s.name.startswith("recollect.")]
    assert [s.name for s in whole] == [
        "create_memory_store", "upsert_memory", "update_memory", "delete_memory", "delete_memory_store"
    ]  # fmt: skip
    assert [s.attributes.get("gen_ai.memory.record.id") for s in whole[2:4]] == [made, made]


def test_no_text_gets_into_a_span(memory: Recollect, spans) -> None:
    memory.retain("alice", "Bob hides the xyzzy.")
    memory.recall("alice", "Where is the xyzzy?")
    assert "xyzzy" not in str([s.to_json() for s in spans.get_finished_spans()])


def test_a_failure_is_marked(memory: Recollect, spans) -> None:
    with pytest.raises(InvalidInput):
        memory.retain("alice", {"nothing": "known"})
    (whole,) = [s for s in spans.get_finished_spans() if s.name == "upsert_memory"]
    assert whole.attributes["error.type"] == "InvalidInput"
    assert not whole.status.is_ok


def test_a_request_goes_on_in_its_callers_trace(app: FastAPI, spans, memory: Recollect) -> None:
    memory.retain("alice", "Bob runs.")
    spans.clear()

    @app.get("/recall")
    async def recall() -> None:
        memory.recall("alice", "Who runs?")

    app.add_middleware(Observe)
    TestClient(app).get("/recall", headers={"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"})
    (whole,) = [s for s in spans.get_finished_spans() if s.name == "search_memory"]
    assert format(whole.context.trace_id, "032x") == TRACE
