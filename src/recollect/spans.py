"""Runs and stages as OpenTelemetry spans, by the GenAI memory conventions.

Only the API is used, and only where the application has loaded the SDK: what happens to the
spans is set up there. Text, of queries as of memories, is never put into a span.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from recollect.types import Degradation

OPERATIONS = {  # gen_ai.operation.name
    "recall": "search_memory",
    "retain": "upsert_memory",  # what is known gains evidence, what is new is made
    "update": "update_memory",
    "forget": "delete_memory",
    "create_bank": "create_memory_store",
    "delete_bank": "delete_memory_store",
}
_NAMES = {  # what a run notes of itself, by the conventions' names
    "results": "gen_ai.memory.record.count",
    "memories": "gen_ai.memory.record.count",
    "memory_id": "gen_ai.memory.record.id",
}


class Spans:
    """One run's span, and those of its stages, which may be on other threads."""

    def __init__(self, run: str, bank: str | None) -> None:
        operation = OPERATIONS.get(run, run)
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": "recollect",
        }
        if bank is not None:
            attributes["gen_ai.memory.store.id"] = bank
        self._tracer = trace.get_tracer("recollect")
        self._span = self._tracer.start_span(
            operation, kind=SpanKind.INTERNAL, attributes=attributes
        )
        self._context = trace.set_span_in_context(self._span)
        self._token = context.attach(self._context)

    def begin(self, stage: str) -> Span:
        return self._tracer.start_span(f"recollect.{stage}", context=self._context)

    def finish(
        self, span: Span | None, detail: Mapping[str, Any], error: BaseException | None
    ) -> None:
        if span is None:
            return
        for name, value in detail.items():
            if isinstance(value, bool | int | float | str):
                span.set_attribute(_NAMES.get(name, f"recollect.{name}"), value)
        _mark(span, error)
        span.end()

    def end(
        self,
        detail: Mapping[str, Any],
        degraded: Sequence[Degradation],
        error: BaseException | None,
    ) -> None:
        if degraded:
            self._span.set_attribute("recollect.degraded", [d.part for d in degraded])
        context.detach(self._token)
        self.finish(self._span, detail, error)


def _mark(span: Span, error: BaseException | None) -> None:
    if error is not None:
        span.set_attribute("error.type", type(error).__name__)
        span.set_status(Status(StatusCode.ERROR))
