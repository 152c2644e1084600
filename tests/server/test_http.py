"""The API itself: problems, pages, streams, once-only retains, compression, explanations."""

from __future__ import annotations

import gzip
import json
from base64 import urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from .conftest import Server

Body = dict[str, Any]


def path(bank: str, rest: str = "") -> str:
    return f"/v1/default/banks/{bank}{rest}"


def retain(http: httpx2.Client, bank: str, *items: Body | str, **headers: str) -> httpx2.Response:
    given = [{"text": i} if isinstance(i, str) else i for i in items]
    return http.post(path(bank, "/memories"), json={"items": given}, headers=headers)


def recall(http: httpx2.Client, bank: str, query: str, **body: Any) -> Body:
    answer = http.post(path(bank, "/memories/recall"), json={"query": query, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


DEEP: Body = {"tags": ["a"]}
for _ in range(900):
    DEEP = {"not": DEEP}


# --- problems --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "where", "body", "status"),
    [
        ("GET", "/nowhere", None, 404),
        ("PUT", "/health", None, 405),
        ("GET", path("nobody", "/memories/list"), None, 404),
        ("GET", path("nobody", "/stats"), None, 404),
        ("DELETE", path("nobody"), None, 404),
        ("POST", path("b", "/memories/recall"), {"query": ""}, 422),
        ("POST", path("b", "/memories/recall"), {"query": "x", "budget": "huge"}, 422),
        ("POST", path("b", "/memories/recall"), {"query": "x", "types": ["dream"]}, 422),
        ("POST", path("b", "/memories/recall"), {"query": "x", "trace": "yes"}, 422),
        ("POST", path("b", "/memories"), {"items": [{"content": "x"}], "async": 1}, 422),
        ("POST", path("b", "/memories/recall"), {"query": "x", "as_of": "someday"}, 422),
        ("POST", path("b", "/memories"), {"items": [{"contents": "x"}]}, 422),
        ("POST", path("b", "/reflect"), {"query": "x"}, 501),
        ("GET", path("b", "/memories/list?cursor=???"), None, 422),
        ("PUT", path("%00"), {}, 422),
        ("GET", path("b", "/operations/%00"), None, 422),
        (
            "POST",
            path("b", "/memories"),
            {"items": [], "async": True, "operation_id": "\ud800"},
            422,
        ),
        ("POST", path("b", "/memories/recall"), {"query": "x", "tag_groups": [DEEP]}, 422),
        (
            "POST",
            path("b", "/memories/recall"),
            {"query": "x", "tag_groups": [{"tags": [DEEP]}]},
            422,
        ),
        ("GET", path("b", "/entities?tag_groups=" + json.dumps([DEEP])), None, 422),
    ],
)
def test_every_error_is_a_problem_with_a_hint(
    http: httpx2.Client, method: str, where: str, body: Body | None, status: int
) -> None:
    content = None if body is None else json.dumps(body)  # half a character is JSON as well
    kind = {"content-type": "application/json"} if body is not None else {}
    answer = http.request(method, where, content=content, headers=kind)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found = answer.json()
    assert found["status"] == status
    assert found["type"].startswith("urn:recollect:problem:")
    assert found["detail"] and found["hint"]


def test_a_body_that_is_no_json_is_a_problem(http: httpx2.Client, bank: str) -> None:
    answer = http.post(
        path(bank, "/memories/recall"), content=b"{", headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert "JSON" in answer.json()["detail"]


def test_a_problem_names_every_field(http: httpx2.Client, bank: str) -> None:
    body = {"query": "x", "max_tokens": 0, "deadline_ms": -1}
    found = http.post(path(bank, "/memories/recall"), json=body).json()["errors"]
    assert {e["where"] for e in found} == {"body.max_tokens", "body.deadline_ms"}


def test_answers_tell_browsers_to_do_nothing_clever(http: httpx2.Client) -> None:
    headers = http.get("/health").headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "server" not in headers
    assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:8888", 200), ("127.0.0.1", 200), ("[::1]:8888", 200), ("evil.test:8888", 403)],
)
def test_a_page_that_renames_this_machine_is_refused(
    http: httpx2.Client, host: str, status: int
) -> None:
    assert http.get("/v1/default/banks", headers={"host": host}).status_code == status


# --- recall's additions ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def trip(server: Server) -> str:
    with server.client() as http:
        retain(
            http,
            "trip",
            {"text": "Alice moved to Lisbon.", "timestamp": "2026-02-01", "metadata": {"n": 1}},
            {"text": "Bob repaired the blue kayak.", "timestamp": "2026-03-01"},
        ).raise_for_status()
    return "trip"


def test_an_explanation_adds_up(http: httpx2.Client, trip: str) -> None:
    best = recall(http, trip, "Where did Alice move?", explain=True)["results"][0]
    assert best["explanation"]["value"] == pytest.approx(best["score"])
    assert set(best["arms"]) >= {"semantic", "keyword"}
    assert "alic" in " ".join(best["matched_terms"])


def test_a_lean_answer_holds_little(http: httpx2.Client, trip: str) -> None:
    lean = recall(http, trip, "Where did Alice move?", verbosity="lean")["results"][0]
    assert set(lean) <= {"id", "title", "type", "scope", "summary", "text", "score", "band"}


def test_a_floor_leaves_only_what_reaches_it(http: httpx2.Client, trip: str) -> None:
    asked = {"query": "Alice Lisbon blue kayak", "query_timestamp": "2026-06-01"}
    scores = [r["score"] for r in recall(http, trip, **asked)["results"]]
    assert len(scores) > 1
    kept = recall(http, trip, **asked, min_score=max(scores))["results"]
    assert [r["score"] for r in kept] == [max(scores)]


def test_a_floor_that_nothing_reaches_is_not_called_ignorance(
    http: httpx2.Client, trip: str
) -> None:
    found = recall(http, trip, "Where did Alice move?", min_score=1)
    assert (found["results"], found["nothing_known"]) == ([], False)
    assert found["under_floor"].startswith("nothing scores at least 1")


def test_as_of_before_anything_was_told_nothing_is_known(http: httpx2.Client, trip: str) -> None:
    found = recall(http, trip, "Where did Alice move?", as_of="2020-01-01")
    assert (found["results"], found["nothing_known"]) == ([], True)


def test_metadata_are_texts_with_the_values_beside_them(http: httpx2.Client, trip: str) -> None:
    best = recall(http, trip, "Where did Alice move?")["results"][0]
    assert (best["metadata"], best["metadata_values"]) == ({"n": "1"}, {"n": 1})


def test_a_deadline_that_is_over_says_what_was_skipped(http: httpx2.Client, trip: str) -> None:
    found = recall(http, trip, "Where did Alice go then?", deadline_ms=0.001)
    assert {d["reason"] for d in found["degraded"]} == {"the deadline came first"}


def test_neighbours_are_marked(http: httpx2.Client, bank: str) -> None:
    flood = {
        "text": "Zanzibar's market was flooded.",
        "causal_relations": [{"type": "caused_by", "target": 0}],
    }
    retain(http, bank, {"facts": [{"text": "The dam broke."}, flood]})
    asked = {"query": "When was Zanzibar's market flooded?", "min_score": 0.1}
    assert [r["text"] for r in recall(http, bank, **asked)["results"]] == [flood["text"]]
    hit, neighbour = recall(http, bank, **asked, expand_hops=1)["results"]
    assert ("hop" in hit, neighbour["hop"]) == (False, 1)
    assert neighbour["text"] == "The dam broke."


def test_why_says_at_which_stage_a_memory_left(http: httpx2.Client, trip: str) -> None:
    kayak = recall(http, trip, "Who repaired the kayak?")["results"][0]["id"]
    body = {"query": "Where did Alice move?", "memory_id": kayak, "max_tokens": 6}
    found = http.post(path(trip, "/memories/why"), json=body).json()
    assert not found["returned"]
    assert found["left_at"] in ("retrieve", "pack")
    assert found["stages"][-1]["needed"]


def test_stages_are_told_while_they_run_and_the_result_last(http: httpx2.Client, trip: str) -> None:
    body = {"query": "Who repaired the kayak, tell me?"}
    with http.stream("POST", path(trip, "/memories/recall/stream"), json=body) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = [part.split("\n") for part in "".join(answer.iter_text()).strip().split("\n\n")]
    names = [lines[0].removeprefix("event: ") for lines in told]
    assert names == ["stage"] * (len(names) - 1) + ["result"]
    stages = [json.loads(lines[1].removeprefix("data: "))["stage"] for lines in told[:-1]]
    order = [stages.index(s) for s in ("understand", "retrieve", "fuse", "rerank", "boost", "pack")]
    assert order == sorted(order)
    result = json.loads(told[-1][1].removeprefix("data: "))
    assert result["results"][0]["text"] == "Bob repaired the blue kayak."


def test_a_stream_that_fails_ends_with_the_problem(http: httpx2.Client, trip: str) -> None:
    answer = http.post(
        path(trip, "/memories/recall/stream"), json={"query": "x", "types": ["dream"]}
    )
    assert answer.text.startswith("event: problem\n")
    assert "dream" in answer.text


# --- pages -----------------------------------------------------------------------------------


def test_a_cursor_walks_a_listing_that_grows(http: httpx2.Client, bank: str) -> None:
    names = ["Anna", "Bert", "Carl", "Dora", "Emil"]
    first = retain(http, bank, *(f"{n} owns a unique boat." for n in names)).json()["new"]
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(10):
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = http.get(path(bank, "/memories/list"), params=query).json()
        seen += [m["id"] for m in page["items"]]
        cursor = page["next_cursor"]
        retain(http, bank, f"Somebody number {len(seen)} came in between.")
        if cursor is None:
            break
    assert sorted(seen) == sorted(first)


def told(text: str, when: str | None) -> dict[str, Any]:
    return {"text": text, "id": text[0].lower(), "timestamp": when or "unset"}


def test_memories_are_listed_mentioned_last_first(http: httpx2.Client, bank: str) -> None:
    given = [
        told("Anna was told of in May", "2026-05-01"),
        told("Bert never", None),
        told("Carl was told of in June", "2026-06-01"),
        told("Dora was told of in May", "2026-05-01"),
    ]
    retain(http, bank, *given)
    retain(http, bank, told("Emil was told of in March", "2026-03-01"))
    listed = http.get(path(bank, "/memories/list")).json()["items"]
    assert [m["id"] for m in listed] == ["c", "d", "a", "e", "b"]
    seen: list[str] = []
    cursor: str | None = None
    while cursor or not seen:
        query = {"limit": 1} | ({"cursor": cursor} if cursor else {})
        page = http.get(path(bank, "/memories/list"), params=query).json()
        seen += [m["id"] for m in page["items"]]
        cursor = page["next_cursor"]
    assert seen == ["c", "d", "a", "e", "b"]


@pytest.mark.parametrize("query", [{}, {"time_field": "updated_at"}, {"tags": "t"}])
def test_documents_are_listed_written_last_first_and_a_cursor_outlives_what_it_stands_on(
    http: httpx2.Client, bank: str, query: dict[str, str]
) -> None:
    for name in ("old", "gone", "seen", "new"):
        given = {"content": f"The {name} boat.", "document_id": name, "tags": ["t"]}
        retain(http, bank, given)
    asked = {"limit": 2, **query}
    first = http.get(path(bank, "/documents"), params=asked).json()
    assert [d["id"] for d in first["items"]] == ["new", "seen"]
    retain(http, bank, {"content": "The seen boat sank.", "document_id": "seen", "tags": ["t"]})
    cursor = {"cursor": first["next_cursor"]}
    second = http.get(path(bank, "/documents"), params={**asked, **cursor, "limit": 1}).json()
    assert [d["id"] for d in second["items"]] == ["gone"]
    http.delete(path(bank, "/documents/gone"))
    cursor = {"cursor": second["next_cursor"]}
    third = http.get(path(bank, "/documents"), params={**asked, **cursor}).json()
    assert [d["id"] for d in third["items"]] == ["old"]
    assert third["next_cursor"] is None
    assert http.get(path(bank, "/documents")).json()["items"][0]["id"] == "seen"


def test_documents_are_listed_by_the_time_asked_for(http: httpx2.Client, bank: str) -> None:
    for name in ("first", "second", "first"):
        retain(http, bank, {"content": f"Boat {uuid4()}.", "document_id": name})
    by = {
        field: [d["id"] for d in http.get(path(bank, "/documents"), params=field).json()["items"]]
        for field in ("", "time_field=created_at", "time_field=updated_at")
    }
    assert list(by.values()) == [["first", "second"], ["second", "first"], ["first", "second"]]


@pytest.mark.parametrize("place", ["t:", "t:x:d", f"t:{10**30}:d", f"t:{10**18}:d", "t:1:d\0"])
def test_a_cursor_that_nobody_gave_is_refused(http: httpx2.Client, bank: str, place: str) -> None:
    retain(http, bank, "Alice sails.")
    cursor = urlsafe_b64encode(place.encode()).decode()
    answer = http.get(path(bank, "/documents"), params={"cursor": cursor})
    assert answer.status_code == 422


@pytest.mark.parametrize("rest", ["/tags", "/entities", "/documents"])
def test_every_listing_ends(http: httpx2.Client, bank: str, rest: str) -> None:
    people = ("Anna Berg", "Bert Dahl", "Carl Engel")
    retain(http, bank, *({"content": f"{n} sails.", "tags": [n], "document_id": n} for n in people))
    key = {"/tags": "tag", "/entities": "canonical_name", "/documents": "id"}[rest]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        query = {"limit": 1} | ({"cursor": cursor} if cursor else {})
        page = http.get(path(bank, rest), params=query).json()
        seen += [item[key] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(seen) == sorted(people)


# --- retain ----------------------------------------------------------------------------------


def test_an_empty_key_is_none(http: httpx2.Client, bank: str) -> None:
    answer = retain(http, bank, "Anna sails.", **{"Idempotency-Key": ""})
    assert answer.status_code == 422
    assert "Idempotency-Key" in answer.json()["detail"]
    assert http.get(path(bank, "/profile")).status_code == 404


def test_the_same_key_retains_once_and_answers_the_same(http: httpx2.Client, bank: str) -> None:
    key = {"Idempotency-Key": f"{bank}-1"}
    first = retain(http, bank, "Anna sails.", **key).json()
    again = retain(http, bank, "Anna sails.", **key).json()
    assert (again["new"], again["items"]) == (first["new"], first["items"])
    listed = http.get(path(bank, "/memories/list")).json()["items"]
    assert [m["proof_count"] for m in listed] == [1]


def test_the_same_key_for_something_else_is_a_conflict(http: httpx2.Client, bank: str) -> None:
    key = {"Idempotency-Key": f"{bank}-2"}
    retain(http, bank, "Anna sails.", **key)
    assert retain(http, bank, "Bert rows.", **key).status_code == 409


def test_turns_and_facts_are_retained_as_they_are(http: httpx2.Client, bank: str) -> None:
    turns = [{"speaker": "Ada", "text": "I sold the piano."}, {"speaker": "Bo", "text": "To whom?"}]
    made = retain(http, bank, {"turns": turns}, {"text": "Tea is nice.", "type": "opinion"}).json()
    assert [len(i["memory_ids"]) for i in made["items"]] == [2, 1]


def test_a_field_that_nobody_knows_is_refused_with_a_guess(http: httpx2.Client, bank: str) -> None:
    answer = retain(http, bank, {"text": "Tea is nice.", "tag": ["x"]})
    assert answer.status_code == 422
    assert "'tags'" in answer.json()["hint"]


def test_an_opinion_is_moved_by_evidence(http: httpx2.Client, bank: str) -> None:
    made = retain(
        http, bank, {"text": "Rust is nicer than C.", "type": "opinion", "confidence": 0.5}
    )
    where = path(bank, "/memories/" + made.json()["new"][0])
    assert http.patch(where, json={"evidence": "strong_support"}).json()[
        "confidence"
    ] == pytest.approx(0.6)


@pytest.mark.parametrize(
    "refused",
    [
        {"state": "superseded"},
        {"state": "superseded", "superseded_by": "nobody"},
        {"evidence": "weak_support"},
        {"fact_type": "dream"},
    ],
)
def test_a_correction_that_is_refused_changes_nothing(
    http: httpx2.Client, bank: str, refused: Body
) -> None:
    made = retain(http, bank, "Rust is older than C.").json()["new"][0]
    where = path(bank, "/memories/" + made)
    answer = http.patch(where, json={"text": "C is older than Rust.", **refused})
    assert answer.status_code in (404, 422), answer.text
    assert http.get(where).json()["text"] == "Rust is older than C."


def test_memories_do_not_replace_each_other(http: httpx2.Client, bank: str) -> None:
    old, new = retain(http, bank, "Use tabs.", "Use four spaces.").json()["new"]

    def replaced(one: str, by: str) -> httpx2.Response:
        body = {"text": "Use spaces.", "state": "superseded", "superseded_by": by}
        return http.patch(path(bank, "/memories/" + one), json=body)

    assert replaced(old, new).json()["superseded_by"] == new
    answer = replaced(new, old)
    assert answer.status_code == 422
    assert f"restore {old}" in answer.json()["hint"]
    assert http.get(path(bank, "/memories/" + new)).json()["text"] == "Use four spaces."


# --- bytes -----------------------------------------------------------------------------------


def test_long_answers_are_compressed_for_who_can_read_them(http: httpx2.Client, bank: str) -> None:
    retain(http, bank, *(f"Person {n} keeps {n} bees in town {n}." for n in range(20)))
    where, body = path(bank, "/memories/recall"), {"query": "bees"}
    with http.stream("POST", where, json=body, headers={"accept-encoding": "gzip"}) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        packed = b"".join(answer.iter_raw())
    plain = http.post(where, json=body, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert len(packed) < len(plain.content) / 3
    assert json.loads(gzip.decompress(packed))["results"] == plain.json()["results"]


@pytest.mark.parametrize(
    ("accepted", "gzipped"),
    [
        ("gzip;q=0", False),
        ("identity, gzip; q=0.0", False),
        ("gzip;q=0, br", False),
        ("gzip;q=0.5", True),
        ("br;q=0, gzip;q=1", True),
    ],
)
def test_compression_that_is_declined_is_not_sent(
    http: httpx2.Client, bank: str, accepted: str, gzipped: bool
) -> None:
    retain(http, bank, *(f"Person {n} keeps {n} bees in town {n}." for n in range(20)))
    listed = http.get(path(bank, "/memories/list"), headers={"accept-encoding": accepted})
    assert (listed.headers.get("content-encoding") == "gzip") is gzipped
    assert len(listed.json()["items"]) == 20


def test_more_than_the_limit_is_refused_unread(server: Server, bank: str) -> None:
    asked = HTTPConnection(server.url.removeprefix("http://"))
    asked.putrequest("POST", path(bank, "/memories"))
    asked.putheader("Content-Length", str(10**9))
    asked.endheaders()
    assert asked.getresponse().status == 413
    asked.close()


def test_stats_say_what_is_linked_with_what(http: httpx2.Client, bank: str) -> None:
    retain(
        http,
        bank,
        {"text": "The pump failed.", "id": "a", "type": "experience"},
        {
            "text": "The cellar was flooded.",
            "id": "b",
            "type": "world",
            "causal_relations": [{"type": "caused_by", "target": "a"}],
        },
    ).raise_for_status()
    found = http.get(path(bank, "/stats")).json()
    assert found["links_breakdown"]["world"]["caused_by"] == 1
    assert found["links_by_fact_type"]["world"] == sum(found["links_breakdown"]["world"].values())
    assert sum(found["links_by_link_type"].values()) == found["total_links"]
    assert found["nodes_by_fact_type"] == {"experience": 1, "world": 1}


def test_metrics_count_recalls_by_operation(http: httpx2.Client, trip: str) -> None:
    recall(http, trip, "Who counts?")
    assert 'operation="recall_memories",status="200"' in http.get("/metrics").text


# --- requests that cannot be read ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "body", "says"),
    [
        ("application/json", b'{"query": ', "not JSON, at character 10"),
        ("application/json", b"[1]", "not a JSON object"),
        ("application/json", b"", "missing"),
        ("application/x-www-form-urlencoded", b"query=x", "not a JSON object"),
    ],
)
def test_a_body_that_cannot_be_read_is_told_how_to_send_one(
    http: httpx2.Client, trip: str, kind: str, body: bytes, says: str
) -> None:
    answer = http.post(
        path(trip, "/memories/recall"), content=body, headers={"Content-Type": kind}
    ).json()
    assert answer["status"] == 422
    assert says in answer["detail"]
    assert "Content-Type: application/json" in answer["hint"]


@pytest.mark.parametrize("way", ["/memories/recall", "/memories/recall/stream"])
def test_a_field_that_recall_does_not_have_is_named(
    http: httpx2.Client, trip: str, way: str
) -> None:
    body = {"query": "Who repaired the kayak?", "max_token": 5}
    answer = http.post(path(trip, way), json=body).text
    assert '{"part":"request.max_token"' in answer
    assert "did you mean max_tokens?" in answer


def test_an_unknown_path_or_method_is_named(http: httpx2.Client, trip: str) -> None:
    assert http.get("/v1/default/bankz").json()["detail"] == "there is no path /v1/default/bankz"
    wrong = http.get(path(trip, "/memories")).json()
    assert wrong["detail"] == "this path has no GET"
    assert "POST" in wrong["hint"]


@pytest.mark.parametrize("rest", ["/", "/memories/"])
def test_an_empty_id_deletes_nothing(http: httpx2.Client, trip: str, rest: str) -> None:
    answer = http.delete(path(trip, rest), follow_redirects=True)
    assert answer.status_code == 404, answer.text
    assert http.get(path(trip, "/memories/list")).json()["total"] > 0


def test_the_front_door_says_where_to_go_on(http: httpx2.Client) -> None:
    said = http.get("/").json()
    assert said["name"] == "recollect"
    assert http.get(said["health"]).status_code == 200
    assert http.get(said["openapi"]).json()["info"]["version"] == said["version"]
    assert "banks" in http.get(said["api"]).json()


@pytest.mark.parametrize("where", ["/", "/health", "/health/live", "/health/ready"])
def test_who_watches_may_ask_for_the_head_alone(http: httpx2.Client, where: str) -> None:
    answer = http.head(where)
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > 0


# --- what a bank is told ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "updates",
    [
        {"disposition": "friendly"},
        {"disposition": {"empathy": 0.5}},
        {"disposition_empathy": "high"},
        {"disposition_skepticism": 9},
        {"name": 5},
        {"mission": ["a", "b"]},
        {"enable_reranking": "maybe"},
        {"recall_prefer_observations": "often"},
        {"fusion": "nonsense"},
        {"rerank_candidates": 20},
    ],
)
def test_settings_that_no_client_could_read_back_are_refused(
    http: httpx2.Client, bank: str, updates: Body
) -> None:
    http.put(path(bank), json={"name": "as it was"})
    assert http.patch(path(bank, "/config"), json={"updates": updates}).status_code == 422
    assert http.put(path(bank), json=updates).status_code == 422
    assert http.get(path(bank, "/profile")).json()["name"] == "as it was"


@pytest.mark.parametrize("listing", ["/entities", "/tags", "/documents/d/chunks", None])
def test_a_cursor_of_another_listing_is_refused(
    http: httpx2.Client, bank: str, listing: str | None
) -> None:
    given = [{"content": f"Alice met Bob {n} times.", "tags": [f"t{n}"]} for n in range(3)]
    retain(http, bank, *given, {"content": "Carol rows.", "document_id": "d"})
    cursor = http.get(path(bank, "/documents?limit=1")).json()["next_cursor"]
    assert http.get(path(bank, "/memories/list"), params={"cursor": cursor}).status_code == 422
    cursor = http.get(path(bank, "/memories/list?limit=1")).json()["next_cursor"]
    where = "/v1/default/banks" if listing is None else path(bank, listing)
    answer = http.get(where, params={"limit": 1, "cursor": cursor})
    assert answer.status_code == 422
    assert "next_cursor" in answer.json()["hint"]
    first = http.get(where, params={"limit": 1}).json()
    if following := first["next_cursor"]:
        assert http.get(where, params={"cursor": following}).json()["offset"] == 1


@pytest.mark.parametrize("config", [False, True])
def test_of_settings_changed_at_once_none_is_lost(
    http: httpx2.Client, bank: str, config: bool
) -> None:
    http.put(path(bank), json={"name": "as it was"})
    names = [f"s{n}" for n in range(40)]

    def change(name: str) -> int:
        if config:
            return http.patch(
                path(bank, "/config"), json={"updates": {name: 1, "name": None}}
            ).status_code
        return http.patch(path(bank), json={name: 1}).status_code

    with ThreadPoolExecutor(8) as several:
        assert set(several.map(change, names)) == {200}
    held = http.get(path(bank, "/config")).json()["overrides"]
    assert held == {**dict.fromkeys(names, 1), **({} if config else {"name": "as it was"})}


@pytest.mark.parametrize("weight", [True, "1", None])
def test_a_number_in_a_body_is_a_number(http: httpx2.Client, bank: str, weight: Any) -> None:
    http.put(path(bank), json={})
    links = {"links": {"a": {"b": weight}}}
    assert http.put(path(bank, "/links"), json=links).status_code == 422
    asked = {"query": "tea", "max_tokens": weight}
    assert http.post(path(bank, "/memories/recall"), json=asked).status_code == 422


def test_a_whole_number_is_a_number_of_any_kind(http: httpx2.Client, bank: str) -> None:
    http.put(path(bank), json={})
    assert http.put(path(bank, "/links"), json={"links": {"a": {"b": 1}}}).status_code == 200


def test_a_list_of_documents_says_how_long_each_is(http: httpx2.Client, bank: str) -> None:
    long = "\n\n".join(f"On day {n} the ferry to Bergen was late again. " * 20 for n in range(9))
    given = {"short": "Ænes has a café.", "long": long}
    items = [{"content": text, "document_id": id} for id, text in given.items()]
    http.post(path(bank, "/memories"), json={"items": items})
    listed = http.get(path(bank, "/documents")).json()["items"]
    whole = {id: http.get(path(bank, f"/documents/{id}")).json() for id in given}
    assert whole["long"]["chunk_count"] > 1
    assert {d["id"]: d["text_length"] for d in listed} == {
        id: len(found["original_text"]) for id, found in whole.items()
    }
    assert whole["short"]["text_length"] == len("Ænes has a café.")


def test_retaining_nothing_is_no_error(http: httpx2.Client, bank: str) -> None:
    answer = http.post(path(bank, "/memories"), json={"items": []})
    assert (answer.status_code, answer.json()["items_count"]) == (200, 0)
