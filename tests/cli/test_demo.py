"""recollect demo: real recall on a small story."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.cli.demo import QUESTIONS, story


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    import contextlib
    import io
    import json

    from recollect.cli import main

    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert (
            main(["demo", "--json", "--keep", str(tmp_path_factory.mktemp("demo") / "demo.db")])
            == 0
        )
    return json.loads(out.getvalue())


def _best(shown: dict[str, Any], query: str) -> list[str]:
    return next(
        [h["text"] for h in q["results"]] for q in shown["questions"] if q["query"] == query
    )


def test_the_story_is_of_a_realistic_size() -> None:
    assert 40 <= sum(len(item.get("turns", [item])) for item in story()) <= 60


def test_every_question_is_really_asked(shown: dict[str, Any]) -> None:
    assert [q["query"] for q in shown["questions"]] == [q.query for q in QUESTIONS]


def test_the_first_question_is_answered_first(shown: dict[str, Any]) -> None:
    assert "an invoice has no tax region" in _best(shown, QUESTIONS[0].query)[0]


def test_several_hops_reach_the_project(shown: dict[str, Any]) -> None:
    found = " ".join(_best(shown, "What did Alice's manager's team work on?"))
    for step in ("manager is Dana", "Dana Okafor leads the Harbor", "Harbor team built Lighthouse"):
        assert step in found


def test_an_exact_code_finds_its_memories(shown: dict[str, Any]) -> None:
    assert all("E-1093" in text for text in _best(shown, "E-1093")[:2])


def test_last_spring_finds_what_happened_then(shown: dict[str, Any]) -> None:
    asked = next(q for q in shown["questions"] if q["query"] == "What happened last spring?")
    dates = [h.get("occurred_start", h["mentioned_at"])[:7] for h in asked["results"]]
    assert dates and all(date in ("2026-03", "2026-04", "2026-05") for date in dates)


def test_what_was_said_is_known(shown: dict[str, Any]) -> None:
    assert [q["query"] for q in shown["questions"][:-1] if q["nothing_known"]] == []


def test_what_nobody_said_is_not_known(shown: dict[str, Any]) -> None:
    assert shown["questions"][-1]["nothing_known"]


def test_the_why_not_names_a_stage(shown: dict[str, Any]) -> None:
    assert shown["why_not"]["left_at"] in ("retrieve", "pack")


def test_the_demo_does_not_touch_the_users_store(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "mine.db"
    ran = run("--db", path, "demo", "-k", "1")
    assert ran.code == 0 and "next steps" in ran.err
    assert not path.exists()


def test_the_demo_is_not_written_into_a_file_that_exists(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "mine.db"
    path.write_bytes(b"mine")
    assert run("demo", "--keep", path).code == 2
    assert path.read_bytes() == b"mine"
