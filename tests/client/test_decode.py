"""What a server renders a client reads back: every value, in every form the contract has for it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.client import decode
from recollect.server import render
from recollect.server.respond import Json
from recollect.types import (
    Explanation,
    Memory,
    MemoryType,
    State,
)

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
maybe = st.none() | texts
times = st.none() | st.datetimes(
    datetime(1, 1, 2), datetime(9998, 1, 1), timezones=st.just(UTC)
)  # fmt: skip
several = st.lists(texts, max_size=3, unique=True).map(tuple)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
memories = st.builds(
    Memory,
    id=texts,
    bank=texts,
    text=texts,
    type=st.sampled_from(MemoryType),
    context=maybe,
    speaker=maybe,
    document_id=maybe,
    chunk_id=maybe,
    title=maybe,
    summary=maybe,
    topic_path=maybe,
    recall_when=several,
    kind=maybe,
    scope=maybe,
    occurred_start=times,
    occurred_end=times,
    occurred_grain=maybe,
    recurrence=maybe,
    duration_s=st.none() | st.floats(0, 1e9),
    mentioned_at=times,
    last_mentioned_at=times,
    created_at=times,
    updated_at=times,
    valid_until=times,
    last_reviewed_at=times,
    tags=several,
    metadata=st.dictionaries(texts, values, max_size=3),
    entities=several,
    confidence=st.none() | st.floats(0, 1),
    weakened=st.booleans(),
    proof_count=st.integers(1, 1000),
    source_ids=several,
    state=st.sampled_from(State),
    superseded_by=maybe,
    tokens=st.integers(0, 10_000),
)


def sent(value: Any) -> Any:
    return orjson.loads(Json(value).body)


@pytest.mark.parametrize("rendered", [render.fact, render.unit, render.whole])
@given(memory=memories)
def test_a_memory_comes_back_as_it_was(rendered, memory: Memory) -> None:
    assert decode.memory(sent(rendered(memory)), memory.bank) == memory


explanations = st.deferred(
    lambda: (
        st.builds(
            Explanation,
            st.floats(allow_nan=False, allow_infinity=False),
            texts,
            st.lists(explanations, max_size=2).map(tuple),
            st.sampled_from(["product", "sum", "sigmoid", "either"]),
        )
        | st.builds(Explanation, st.floats(0, 1), texts)
    )
)


@given(tree=explanations)
def test_an_explanation_comes_back_as_it_was(tree: Explanation) -> None:
    back = decode.explanation(sent(tree.as_dict()))
    assert back.as_dict() == tree.as_dict()
