"""PrecisionMem: 35 beliefs, and cases that say what must and what must not come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from recollect.eval.data import Bank, Dataset, Query, Unit, check, read_json
from recollect.eval.times import read_time
from recollect.eval.trouble import DatasetError, reading

Json = Mapping[str, Any]
_EVERYWHERE = "user:universal"
_COLD_START = "brand-new-user"


def precisionmem(folder: Path) -> Dataset:
    """A bank a user; a belief's scope becomes its tag and a case's scope a strict tag filter."""
    beliefs: list[Json] = read_json(folder / "beliefs.seed.json.gz")
    cases: list[Json] = read_json(folder / "retrieval.cases.json.gz")
    sessions: list[Json] = read_json(folder / "session-retrieval.cases.json.gz")
    with reading(folder.name):
        banks = tuple(_banks(beliefs, cases, sessions))
    check(banks)
    return Dataset("precisionmem", banks)


def _banks(beliefs: list[Json], cases: list[Json], sessions: list[Json]) -> Iterable[Bank]:
    users: dict[str, list[Unit]] = {}
    for belief in beliefs:
        users.setdefault(str(belief["user_id"]), []).append(_unit(belief))
    if not users:
        raise DatasetError("it holds no belief", hint="is the folder whole?")
    owner = max(users, key=lambda user: len(users[user]))
    asked = {owner: tuple(_queries(cases, sessions, {u.id for u in users[owner]}))}
    return (Bank(user, tuple(units), asked.get(user, ())) for user, units in users.items())


def _unit(belief: Json) -> Unit:
    fields: dict[str, Any] = {
        "title": str(belief["canonical_name"]).replace("_", " "),
        "recall_when": list(belief["aliases"]),
    }
    if belief["resolved_at"]:  # an open question that was settled
        fields["valid_until"] = belief["resolved_at"]
    return Unit(
        id=str(belief["_id"]),
        text=str(belief["content"]),
        time=read_time(belief["created_at"]),
        tags=tuple(belief["scope"]),
        superseded_by=belief["superseded_by"],
        fields=fields,
    )


def _queries(cases: list[Json], sessions: list[Json], known: set[str]) -> Iterable[Query]:
    for case in cases:
        if case["query"].strip() and case.get("userId") != _COLD_START:
            yield _query(
                case["caseId"],
                case["category"],
                case["scope"],
                case["query"],
                case["expect"],
                known,
            )
    for session in sessions:
        for turn in session["turns"]:
            if "expect" in turn:
                id = f"{session['caseId']}-{turn['turnIndex']}"
                yield _query(
                    id, "Session", turn["scope"], turn["userMessage"], turn["expect"], known
                )


def _query(
    id: str, category: str, scope: list[str], text: str, expect: Json, known: set[str]
) -> Query:
    gold = _ids(expect, "relevantBeliefs", "shouldOnlyInclude") & known
    # pinned facts and open questions come back whatever is asked: neither gold nor forbidden
    always = _ids(expect, "pinnedFacts", "mustInclude") | _ids(
        expect, "openQuestions", "mustInclude"
    )
    excluded = {
        i
        for part in ("relevantBeliefs", "pinnedFacts", "openQuestions")
        for i in _ids(expect, part, "mustExclude")
    }
    query = Query(
        id=id,
        text=text,
        gold=tuple(sorted(gold)),
        forbidden=tuple(sorted((excluded & known) - gold - always)),
        category=category,
        tags=(*scope, _EVERYWHERE),
        tags_match="any_strict",
        answerable=True if gold else (None if always else False),
    )
    return replace(query, tags=tuple(dict.fromkeys(query.tags)))


def _ids(expect: Json, part: str, rule: str) -> set[str]:
    return set(expect.get(part, {}).get(rule, ()))
