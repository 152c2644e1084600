"""The file format: what can be written down, what is refused, and that nothing is lost."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.eval import DatasetError, load, read_jsonl, write_jsonl
from recollect.eval.data import Bank, Dataset, Query, Unit, only_banks, some_queries
from recollect.eval.times import read_time

EXAMPLE = """\
{"unit": "u1", "text": "I moved to Lisbon.", "speaker": "Ana", "time": "2024-05-02", "tags": ["home"]}
{"unit": "u2", "text": "I sold the kayak.", "speaker": "Ben", "session": "s1", "title": "Kayak"}

{"query": "Where does Ana live?", "gold": ["u1"], "category": "single-hop", "time": "2024-06-01"}
{"query": "What is Ana's cat called?", "gold": []}
{"query": "Is anyone happy?"}
"""


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text(EXAMPLE)
    return path


def test_a_file_without_banks_is_one_bank(example: Path) -> None:
    dataset = load(example)
    assert [(b.id, len(b.units), len(b.queries)) for b in dataset.banks] == [("default", 2, 3)]


def test_unknown_keys_of_a_unit_are_authored_fields(example: Path) -> None:
    assert read_jsonl(example).banks[0].units[1].fields == {"title": "Kayak"}


def test_times_without_a_zone_are_utc(example: Path) -> None:
    assert read_jsonl(example).banks[0].units[0].time == datetime(2024, 5, 2, tzinfo=UTC)


def test_empty_gold_means_unanswerable_and_no_gold_means_unjudged(example: Path) -> None:
    assert [q.answerable for q in read_jsonl(example).queries] == [True, False, None]


def test_a_path_may_be_a_text(example: Path, tmp_path: Path) -> None:
    dataset = load(str(example))
    write_jsonl(dataset, str(tmp_path / "copy.jsonl"))
    assert read_jsonl(str(tmp_path / "copy.jsonl"), dataset.name) == dataset


@pytest.mark.parametrize("name", ["mine.jsonl.gz", "mine.json.gz"])
@pytest.mark.parametrize("part", [slice(0, 60), slice(0, 10)])
def test_a_packed_file_that_was_cut_short_is_refused(
    tmp_path: Path, name: str, part: slice
) -> None:
    (tmp_path / name).write_bytes(gzip.compress(EXAMPLE.encode())[part])
    with pytest.raises(DatasetError, match="cannot be unpacked"):
        load(tmp_path / name)


def test_a_packed_file_with_wrong_bytes_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(EXAMPLE.encode() * 3))
    for wrong in (4 * [0xFF], 4 * [0x00]):
        packed[40:44] = bytes(wrong)
        (tmp_path / "mine.jsonl.gz").write_bytes(packed)
        with pytest.raises(DatasetError):
            load(tmp_path / "mine.jsonl.gz")


@pytest.mark.parametrize("name", ["copy.jsonl", "copy.jsonl.gz"])
def test_writing_and_reading_again_gives_the_same(example: Path, tmp_path: Path, name: str) -> None:
    dataset = read_jsonl(example)
    write_jsonl(dataset, tmp_path / name)
    assert read_jsonl(tmp_path / name, dataset.name) == dataset


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"query": "x", "gold": ["nowhere"]}', "unknown units"),
        ('{"query": "x", "gold": ["u1"], "forbidden": ["u1"]}', "wants and forbids the same"),
        ('{"unit": "u1", "text": "twice"}', "same id"),
        ('{"text": "no id"}', "neither a unit nor a query"),
        ('{"unit": "u3"}', "'text' is missing"),
        ('{"unit": "u3", "text": "a", "time": "some day"}', "not a time"),
        ('{"unit": null, "text": "a"}', "unit is None, not an id"),
        ('{"unit": "u3", "text": "a", "superseded_by": "u3"}', "supersede each other: 'u3'"),
        ('{"unit": "u3", "text": "a", "superseded_by": "u9"}', "superseded by unknown ones"),
        (
            '{"unit": "u3", "text": "a", "time": "2024-05-02", "timestamp": "2024-05-03"}',
            "unit 'u3' has time '2024-05-02' and timestamp '2024-05-03'",
        ),
        (
            '{"unit": "u3", "text": "a", "time": "2024-05-02", "timestamp": "unset"}',
            "and timestamp 'unset'",
        ),
        (
            '{"unit": "u3", "text": "a", "session": "s1", "document_id": "s2"}',
            "session 's1' and document_id 's2'",
        ),
        ('{"unit": "u3", "text": null}', "text is None, not a text"),
        ('{"unit": "u3", "text": " "}', "has no text"),
        ('{"unit": "u3", "text": "a", "tags": "home"}', "tags is 'home', not a list"),
        ('{"unit": "u3", "text": "a", "speaker": ["Ana"]}', r"speaker is \['Ana'\], not a name"),
        ('{"unit": "u3", "text": "a", "session": {"id": 1}}', "session is .*, not a name"),
        ('{"unit": "u3", "text": "a", "tags": [null]}', "tags holds None, not a text"),
        ('{"query": "x", "gold": "u1"}', "gold is 'u1', not a list"),
        ('{"query": "x", "gold": [["u1"]]}', r"gold holds \['u1'\], not a text"),
        ('{"query": "x", "answerable": "no"}', "answerable is 'no'"),
        ('{"query": "x", "category": ["hop"]}', r"category is \['hop'\], not a name"),
        ('{"query": "x", "gold_ids": ["u1"]}', "a query has no 'gold_ids'"),
        ('{"query": "x", "timestamp": "2024-09-01"}', "a query has no 'timestamp'.*'time' meant"),
        ('{"query": "x", "query_timestamp": "2024-09-01"}', "'time' meant"),
        ('{"query": "x", "query_time": "2024-09-01"}', "'time' meant"),
        ('{"query": "x", "unanswerable": true}', "'answerable' meant"),
        ('{"query": "x", "answerabel": false}', "'answerable' meant"),
        ('{"query": "x", "tags_match": "every"}', "tags_match is 'every'"),
        ('{"query": "x", "bank": "other"}', "'other' has queries and no units"),
        ("[1]", "not a JSON object"),
        ("{", "not JSON"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused(example: Path, line: str, complaint: str) -> None:
    example.write_text(EXAMPLE + line + "\n")
    with pytest.raises(DatasetError, match=f"(?s){complaint}") as caught:
        read_jsonl(example)
    assert caught.value.hint


@pytest.mark.parametrize(
    "also",
    [
        '"timestamp": "2024-05-02T00:00:00Z"',
        '"timestamp": null',
        '"session": "s1", "document_id": "s1"',
    ],
)
def test_what_is_said_twice_and_alike_is_said_once(example: Path, also: str) -> None:
    line = '{"unit": "u3", "text": "a", "time": "2024-05-02", ' + also + "}\n"
    example.write_text(EXAMPLE + line)
    unit = next(unit for unit in read_jsonl(example).units if unit.id == "u3")
    assert unit.time == datetime(2024, 5, 2, tzinfo=UTC) and not unit.fields


def test_a_complaint_names_the_line_of_the_file(example: Path) -> None:
    example.write_text(EXAMPLE + "\n\n" + '{"unit": "u3"}\n')
    with pytest.raises(DatasetError, match=r"line 9 of mine\.jsonl"):
        read_jsonl(example)


def test_gold_that_is_null_is_gold_left_out(example: Path) -> None:
    example.write_text(EXAMPLE + '{"query": "x", "gold": null}\n')
    assert [q.answerable for q in read_jsonl(example).queries][-1] is None


@pytest.mark.parametrize("key", ["bank", "category", "id", "tags_match", "time", "forbidden"])
def test_what_is_null_is_left_out(example: Path, key: str) -> None:
    query = '{"query": "Where does Ana live?", "gold": ["u1"]%s}'
    example.write_text(EXAMPLE + query % "")
    left_out = load(example)
    example.write_text(EXAMPLE + query % f', "{key}": null')
    assert load(example) == left_out


def test_a_missing_file_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        load(tmp_path / "none.jsonl")
    assert "hint:" in str(caught.value)


@pytest.mark.parametrize("form", ["jsonl", "locomo", "corpus", "precisionmem"])
def test_a_format_of_files_reads_no_folder_and_one_of_folders_no_file(
    example: Path, form: str
) -> None:
    other = example if form in ("corpus", "precisionmem") else example.parent
    with pytest.raises(DatasetError, match=f"is a (file|folder)(?s:.*)hint: --format {form} reads"):
        load(other, form)


def test_an_unknown_bank_names_those_there_are() -> None:
    dataset = Dataset("d", (Bank("alice", (Unit("u", "t"),), (Query("q", "t"),)),))
    with pytest.raises(DatasetError, match="alice"):
        only_banks(dataset, ["bob"])


def test_one_unknown_bank_among_known_ones_is_an_error_too() -> None:
    dataset = Dataset("d", (Bank("alice", (Unit("u", "t"),), (Query("q", "t"),)),))
    with pytest.raises(DatasetError, match="called bob"):
        only_banks(dataset, ["alice", "bob"])


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2025-12-20 (Saturday)", datetime(2025, 12, 20, tzinfo=UTC)),
        ("2023/05/20 (Sat) 07:34", datetime(2023, 5, 20, 7, 34, tzinfo=UTC)),
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2025-08-29 10:45:00", datetime(2025, 8, 29, 10, 45, tzinfo=UTC)),
        ("2025-08", datetime(2025, 8, 1, tzinfo=UTC)),
    ],
)
def test_times_as_the_public_sets_write_them(text: str, time: datetime) -> None:
    assert read_time(text) == time


def test_the_end_of_a_bare_day_or_month_is_its_last_instant() -> None:
    days = ("2025-12-08 (Monday)", "20251208", "2025/12/08", "2025/12/8")
    last = datetime(2025, 12, 8, 23, 59, 59, 999999, tzinfo=UTC)
    assert [read_time(day, end=True) for day in days] == [last] * 4
    assert read_time("2025-02", end=True) == datetime(2025, 2, 28, 23, 59, 59, 999999, tzinfo=UTC)


@pytest.mark.parametrize("time", [1711121300000, "1711121300000", 1711121300])
def test_seconds_and_milliseconds_are_no_day_of_long_ago(time: int | str) -> None:
    with pytest.raises(DatasetError, match="is not a time"):
        read_time(time)


def test_an_answer_may_stand_beside_a_query(example: Path) -> None:
    example.write_text(EXAMPLE + '{"query": "Who?", "answer": "Ana", "query_id": 7}\n')
    assert len(list(read_jsonl(example).queries)) == 4


def test_some_queries_are_spread_over_the_banks_and_leave_out_those_not_asked() -> None:
    banks = tuple(
        Bank(f"b{i}", (Unit("u", "x"),), tuple(Query(f"q{i}.{j}", "?") for j in range(2)))
        for i in range(6)
    )
    few = some_queries(Dataset("d", banks), 3)
    assert [(b.id, [q.id for q in b.queries]) for b in few.banks] == [
        ("b0", ["q0.0"]), ("b2", ["q2.0"]), ("b4", ["q4.0"]),
    ]  # fmt: skip
    assert few.note == "3 of 12 queries, spread evenly"


def test_more_queries_than_there_are_is_all_of_them(example: Path) -> None:
    dataset = read_jsonl(example)
    assert some_queries(dataset, 99) == dataset


@pytest.mark.parametrize("name", ["mine.ndjson", "mine.txt", "mine.json"])
@pytest.mark.parametrize("begin", ["", "\n \r\n"])
def test_lines_are_known_by_what_is_in_them(tmp_path: Path, name: str, begin: str) -> None:
    path = tmp_path / name
    path.write_text(begin + EXAMPLE)
    assert len(list(load(path).units)) == 2


def test_a_file_that_an_editor_marked_as_utf_8_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(EXAMPLE, encoding="utf-8-sig")
    assert len(list(load(path).units)) == 2


def test_whether_a_file_is_packed_is_seen_and_not_told_by_its_name(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain.jsonl.gz", tmp_path / "packed.jsonl"
    plain.write_text(EXAMPLE)
    packed.write_bytes(gzip.compress(EXAMPLE.encode()))
    assert list(load(plain).units) == list(load(packed).units)
