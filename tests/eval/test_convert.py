"""Converters, on small files of the published shapes."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect.eval import Bank, Dataset, DatasetError, Unit, load
from recollect.eval.convert import pool

LOCOMO: list[dict[str, Any]] = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ana",
            "speaker_b": "Ben",
            "session_2_date_time": "9:05 am on 3 June, 2023",
            "session_2": [{"speaker": "Ana", "dia_id": "D2:1", "text": "The kiln broke."}],
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ana", "dia_id": "D1:1", "text": "I built a kiln."},
                {
                    "speaker": "Ben",
                    "dia_id": "D1:2",
                    "text": "Look!",
                    "img_url": ["u"],
                    "blip_caption": "a blue boat",
                },
            ],
        },
        "qa": [
            {
                "question": "What broke?",
                "answer": "kiln",
                "evidence": ["D1:1; D2:01"],
                "category": 1,
            },
            {"question": "When?", "answer": "May", "evidence": ["D:1:1", "D9:9"], "category": 2},
            {
                "question": "What did Ben build?",
                "adversarial_answer": "a kiln",
                "evidence": ["D1:1"],
                "category": 5,
            },
        ],
    }
]

LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "Where do I swim?",
        "answer": "the lake",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21", "2023/05/21 (Sun) 10:00"],
        "haystack_session_ids": ["a", "b"],
        "haystack_sessions": [
            [{"role": "user", "content": "I swim in the lake.", "has_answer": True}],
            [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}],
        ],
        "answer_session_ids": ["a"],
    },
    {
        "question_id": "q2_abs",
        "question_type": "single-session-user",
        "question": "What is my cat called?",
        "answer": "not mentioned",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["a"],
        "haystack_sessions": [[{"role": "user", "content": "I have a dog.", "has_answer": False}]],
        "answer_session_ids": ["a"],
    },
]


def written(tmp_path: Path, content: Any, name: str = "file.json") -> Dataset:
    path = tmp_path / name
    path.write_text(json.dumps(content))
    return load(path)


def test_locomo_sessions_come_in_order_with_speaker_and_time(tmp_path: Path) -> None:
    units = written(tmp_path, LOCOMO).banks[0].units
    assert [(u.id, u.speaker) for u in units] == [("D1:1", "Ana"), ("D1:2", "Ben"), ("D2:1", "Ana")]
    assert units[2].time == datetime(2023, 6, 3, 9, 5, tzinfo=UTC)


def test_locomo_pictures_are_read_by_their_caption(tmp_path: Path) -> None:
    assert "a blue boat" in written(tmp_path, LOCOMO).banks[0].units[1].text


@pytest.mark.parametrize("kind", ["photo", "photography"])
def test_a_caption_is_not_called_a_picture_of_a_photo(tmp_path: Path, kind: str) -> None:
    caption = f"a {kind} of a red barn"
    turn = {"speaker": "Ana", "dia_id": "D3:1", "text": "", "blip_caption": caption}
    dataset = written(tmp_path, locomo_with(session_3=[turn]))
    assert dataset.banks[0].units[-1].text == "(shares a picture of a red barn)"


def test_one_conversation_or_question_of_a_file_is_read_alone(tmp_path: Path) -> None:
    assert written(tmp_path, LOCOMO[0]) == written(tmp_path, LOCOMO)
    assert written(tmp_path, LONGMEMEVAL[0]) == written(tmp_path, LONGMEMEVAL[:1])


def test_locomo_evidence_is_read_however_it_is_spelt(tmp_path: Path) -> None:
    queries = written(tmp_path, LOCOMO).banks[0].queries
    assert [q.gold for q in queries] == [("D1:1", "D2:1"), ("D1:1",), ("D1:1",)]


def test_locomo_categories_have_names_and_adversarial_is_unanswerable(tmp_path: Path) -> None:
    queries = written(tmp_path, LOCOMO).banks[0].queries
    assert [(q.category, q.answerable) for q in queries] == [
        ("multi-hop", True),
        ("temporal", True),
        ("adversarial", False),
    ]


def test_locomo_is_asked_when_the_conversation_is_over(tmp_path: Path) -> None:
    assert {q.time for q in written(tmp_path, LOCOMO).queries} == {
        datetime(2023, 6, 3, 9, 5, tzinfo=UTC)
    }


def test_longmemeval_gives_every_question_its_own_bank(tmp_path: Path) -> None:
    dataset = written(tmp_path, LONGMEMEVAL)
    assert [(b.id, len(b.units)) for b in dataset.banks] == [("q1", 3), ("q2_abs", 1)]


def test_longmemeval_gold_is_the_turn_that_has_the_answer(tmp_path: Path) -> None:
    bank = written(tmp_path, LONGMEMEVAL).banks[0]
    gold = [u.text for u in bank.units if u.id in bank.queries[0].gold]
    assert gold == ["I swim in the lake."]


def test_longmemeval_abstention_questions_are_unanswerable(tmp_path: Path) -> None:
    query = written(tmp_path, LONGMEMEVAL).banks[1].queries[0]
    assert (query.answerable, query.gold, query.category) == (False, (), "abstention")


def locomo_with(qa: dict[str, Any] | None = None, **conversation: Any) -> list[dict[str, Any]]:
    """One conversation, with a question or sessions of one's own."""
    talk = {**LOCOMO[0]["conversation"], **conversation}
    asked = {"question": "What broke?", "evidence": ["D1:1"], "category": 1} | (qa or {})
    return [{"sample_id": "conv-1", "conversation": talk, "qa": [asked]}]


@pytest.mark.parametrize(
    ("evidence", "gold"),
    [
        ("D1:1", ("D1:1",)),
        ("['D1:1', 'D2:1']", ("D1:1", "D2:1")),
        (["D1:1 D2:1", ["D1:2"]], ("D1:1", "D2:1", "D1:2")),
        (["D"], ()),
        (None, ()),
    ],
)
def test_locomo_evidence_may_be_a_text_a_list_or_nothing(
    tmp_path: Path, evidence: Any, gold: tuple[str, ...]
) -> None:
    dataset = written(tmp_path, locomo_with({"evidence": evidence}))
    assert dataset.banks[0].queries[0].gold == gold


def test_locomo_turns_that_say_nothing_are_left_out(tmp_path: Path) -> None:
    silent = [{"speaker": "Ana", "dia_id": "D3:1", "text": None}]
    dataset = written(tmp_path, locomo_with(session_3=silent, session_4=[], session_5=None))
    assert [unit.id for unit in dataset.units] == ["D1:1", "D1:2", "D2:1"]


def test_a_locomo_category_may_be_its_name(tmp_path: Path) -> None:
    dataset = written(tmp_path, locomo_with({"category": "adversarial"}))
    assert dataset.banks[0].queries[0].answerable is False


def test_locomo_says_which_conversation_and_question_cannot_be_read(tmp_path: Path) -> None:
    broken = [*LOCOMO, {**LOCOMO[0], "sample_id": "conv-2", "qa": [{"category": 1}]}]
    with pytest.raises(DatasetError, match="conversation 2: question 1: 'question' is missing"):
        written(tmp_path, broken)


def test_locomo_says_which_turn_cannot_be_read(tmp_path: Path) -> None:
    turns = [{"speaker": "Ana", "text": "Hi."}, {"text": "Hello."}]
    with pytest.raises(DatasetError, match="conversation 1: session 3, turn 2: 'speaker' is"):
        written(tmp_path, locomo_with(session_3=turns))


def test_a_question_that_is_none_is_not_asked(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="question is None, not a text"):
        written(tmp_path, locomo_with({"question": None}))
    with pytest.raises(DatasetError, match="question is None, not a text"):
        written(tmp_path, [LONGMEMEVAL[0] | {"question": None}])


@pytest.mark.parametrize("nothing", ["", None, " \n"])
def test_longmemeval_turns_that_say_nothing_are_left_out(
    tmp_path: Path, nothing: str | None
) -> None:
    sessions = [[{"role": "user", "content": nothing}, {"role": "user", "content": "Hi."}], []]
    dataset = written(tmp_path, [{**LONGMEMEVAL[0], "haystack_sessions": sessions}])
    assert [unit.id for unit in dataset.units] == ["0:a:1"]


def test_longmemeval_says_which_turn_cannot_be_read(tmp_path: Path) -> None:
    sessions = [[{"role": "user", "content": "Hi."}, {"role": "user"}], []]
    with pytest.raises(DatasetError, match="question 1: session 1, turn 2: 'content' is missing"):
        written(tmp_path, [{**LONGMEMEVAL[0], "haystack_sessions": sessions}])


def test_what_a_turn_says_is_a_text(tmp_path: Path) -> None:
    sessions = [[{"role": "user", "content": ["Hi."]}], []]
    with pytest.raises(DatasetError, match=r"content is .*, not a text"):
        written(tmp_path, [{**LONGMEMEVAL[0], "haystack_sessions": sessions}])
    with pytest.raises(DatasetError, match=r"text is .*, not a text"):
        written(tmp_path, locomo_with(session_3=[{"speaker": "Ana", "text": ["Hi."]}]))


def test_longmemeval_says_which_question_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"question 2: .* 1 session ids, 0 dates and 1 sessions"):
        written(tmp_path, [LONGMEMEVAL[0], {**LONGMEMEVAL[1], "haystack_dates": []}])


def test_a_conversation_without_turns_is_not_taken_for_one_in_the_store(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="conversation 1: it holds no turn"):
        written(tmp_path, [LOCOMO[0] | {"conversation": {"speaker_a": "Ana"}}])
    with pytest.raises(DatasetError, match="question 1: it holds no turn"):
        written(tmp_path, [LONGMEMEVAL[0] | {"haystack_sessions": [[], []]}])


def test_two_banks_of_one_name_are_refused_rather_than_searched_together(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="two banks are called 'conv-1'"):
        written(tmp_path, LOCOMO * 2)


@pytest.mark.parametrize("content", [{"a": 1}, ["text"], [1]])
@pytest.mark.parametrize("form", ["auto", "locomo", "longmemeval", "conversations"])
def test_json_of_another_kind_is_refused(tmp_path: Path, content: Any, form: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DatasetError):
        load(path, form)


@pytest.mark.parametrize(("content", "form"), [(LOCOMO, "locomo"), (LONGMEMEVAL, "longmemeval")])
def test_one_record_cut_out_of_a_file_is_read_whoever_names_its_format(
    tmp_path: Path, content: list[Any], form: str
) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(content[0]))
    assert load(path, form) == load(path) and len(load(path).banks) == 1


def test_a_folder_has_a_name_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for form in ("auto", "corpus"):
        with pytest.raises(DatasetError, match=f"^{tmp_path.name} holds no corpus"):
            load(".", form)


def test_a_corpus_folder_reads_title_text_and_gold(tmp_path: Path) -> None:
    folder = tmp_path / "musique_small"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(
        '{"id": "d0", "title": "Kiln", "text": "A kiln is hot."}\n'
    )
    (folder / "queries.jsonl").write_text(
        '{"id": "2hop__1_2", "question": "Hot?", "gold": ["d0"]}\n'
    )
    bank = load(folder).banks[0]
    assert bank.units[0].fields == {"title": "Kiln"}
    assert (bank.queries[0].gold, bank.queries[0].category) == (("d0",), "2-hop")


@pytest.mark.parametrize("name", ["timeqa", "scifact", "mine"])
def test_a_corpus_folder_says_which_query_cannot_be_read(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(json.dumps({"id": "1", "text": "The kiln broke."}))
    (folder / "queries.jsonl").write_text(json.dumps({"id": "q", "question": "What broke?"}))
    with pytest.raises(DatasetError, match=r"line 1 of queries\.jsonl: '(gold|doc)' is missing"):
        load(folder)


@pytest.mark.parametrize(("beliefs", "wrong"), [([], "no belief"), ([{"user_id": 1}], "missing")])
def test_a_precisionmem_folder_says_what_it_lacks(
    tmp_path: Path, beliefs: list[dict[str, Any]], wrong: str
) -> None:
    for kind in ("retrieval.cases", "session-retrieval.cases"):
        (tmp_path / f"{kind}.json.gz").write_text("[]")
    (tmp_path / "beliefs.seed.json.gz").write_text(json.dumps(beliefs))
    with pytest.raises(DatasetError, match=wrong):
        load(tmp_path)


def turns_of(who: dict[str, Any]) -> list[Any]:
    """The same turn in each of the shapes that say who spoke."""
    turn = {"id": "1", "text": "Hi.", "session": "s", "when": None, **who}
    said = {"content": "Hi.", **dict(zip(("role",), who.values(), strict=False))}
    lists = {"haystack_session_ids": ["a"], "haystack_dates": [None], "haystack_sessions": [[said]]}
    return [
        [{"id": "c", "units": [turn], "questions": []}],
        locomo_with(session_3=[{"text": "Hi.", **who}]),
        [LONGMEMEVAL[0] | lists],
    ]


def test_who_spoke_may_be_unknown_and_is_then_nobody(tmp_path: Path) -> None:
    for content in turns_of({"speaker": None}):
        assert list(written(tmp_path, content).units)[-1].speaker is None


@pytest.mark.parametrize("who", [{}, {"speaker": ["Ana"]}])
def test_who_spoke_is_said_and_is_a_name(tmp_path: Path, who: dict[str, Any]) -> None:
    for content in turns_of(who):
        with pytest.raises(DatasetError, match=r"'(speaker|role)' is missing|not a name"):
            written(tmp_path, content)


def test_a_turn_of_a_conversation_without_a_text_is_refused(tmp_path: Path) -> None:
    turn = {"id": "1", "text": None, "speaker": "Ana", "session": "s", "when": None}
    with pytest.raises(DatasetError, match="conversation 1: text is None, not a text"):
        written(tmp_path, [{"id": "c", "units": [turn], "questions": []}])


def test_turns_of_no_session_are_no_conversation(tmp_path: Path) -> None:
    turn = {"id": "1", "text": "Hi.", "speaker": "Ana", "session": None, "when": None}
    (unit,) = written(tmp_path, [{"id": "c", "units": [turn], "questions": []}]).units
    assert unit.session is None


def test_a_passage_whose_text_is_null_is_known_by_its_title(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"id": "d0", "title": "Kiln", "text": null}\n')
    (tmp_path / "queries.jsonl").write_text('{"id": "q", "question": "Hot?", "gold": ["d0"]}\n')
    assert load(tmp_path).banks[0].units[0].text == "Kiln"


def test_evidence_that_is_no_list_is_not_read_letter_by_letter(tmp_path: Path) -> None:
    unit = {"id": "1", "text": "The kiln broke.", "speaker": "Ana", "session": "s", "when": None}
    asked = {"id": "q", "question": "What broke?", "evidence": "1", "category": "X"}
    with pytest.raises(DatasetError, match="evidence is '1', not a list"):
        written(tmp_path, [{"id": "c", "units": [unit], "questions": [asked]}])
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"id": "1", "text": "The kiln broke."}))
    (tmp_path / "queries.jsonl").write_text(json.dumps({**asked, "gold": "1"}))
    with pytest.raises(DatasetError, match="gold is '1', not a list"):
        load(tmp_path)


def test_passages_without_text_are_left_out_as_evidence_too(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(
        '{"id": "d0", "title": "", "text": ""}\n{"id": "d1", "text": "A kiln is hot."}\n'
    )
    (tmp_path / "queries.jsonl").write_text(
        '{"id": "q", "question": "Hot?", "gold": ["d0", "d1"]}\n'
    )
    bank = load(tmp_path).banks[0]
    assert ([unit.id for unit in bank.units], bank.queries[0].gold) == (["d1"], ("d1",))


def test_a_json_file_of_no_known_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="no shape"):
        written(tmp_path, [{"something": "else"}])


def test_pooled_banks_keep_gold_pointing_at_the_same_text(tmp_path: Path) -> None:
    both = [{**LOCOMO[0], "sample_id": f"conv-{i}"} for i in (1, 2)]
    dataset = written(tmp_path, both)
    pooled = pool(dataset, "all").banks[0]
    texts = {u.id: u.text for u in pooled.units}
    assert len(texts) == 6
    assert texts[pooled.queries[3].gold[1]] == "The kiln broke."


def test_pooled_banks_keep_their_sessions_apart(tmp_path: Path) -> None:
    both = [{**LOCOMO[0], "sample_id": f"conv-{i}"} for i in (1, 2)]
    pooled = pool(written(tmp_path, both), "all").banks[0]
    assert [len([u for u in pooled.units if u.session == s]) for s in sessions(pooled)] == [
        2,
        1,
    ] * 2


def sessions(bank: Bank) -> list[str | None]:
    return list(dict.fromkeys(unit.session for unit in bank.units))


def test_what_replaced_a_unit_is_found_in_pooled_banks() -> None:
    units = (Unit("u1", "Ana lives in Rome.", superseded_by="u2"), Unit("u2", "Ana lives in Oslo."))
    pooled = pool(Dataset("d", (Bank("a", units, ()), Bank("b", units, ()))), "all").banks[0]
    assert [unit.superseded_by for unit in pooled.units] == ["a/u2", None, "b/u2", None]
