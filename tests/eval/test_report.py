"""One evaluation end to end with a system whose answers are known."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from typing import ClassVar

import orjson
import pytest

from recollect.eval import Bank, Dataset, Query, Ranked, Unit, evaluate
from recollect.eval.data import some_queries
from recollect.eval.gate import judge, parse_rules
from recollect.eval.html import render
from recollect.eval.report import Report, remarks, times
from recollect.eval.svg import Bar, bars, grouped, growth
from recollect.eval.trouble import DatasetError


class WordOverlap:
    """Ranks units by words shared with the query, and knows nothing when none is."""

    name = "word overlap"

    def __init__(self) -> None:
        self.indexed: list[str] = []

    def index(self, bank: Bank) -> None:
        self.indexed.append(bank.id)

    def gold_key(self, bank: Bank, unit_id: str) -> str:
        return unit_id

    def search(self, bank: Bank, query: Query) -> Ranked:
        asked = set(query.text.lower().split())
        shared = {u.id: len(asked & set(u.text.lower().split())) for u in bank.units}
        ids = tuple(sorted((i for i in shared if shared[i]), key=lambda i: -shared[i]))
        return Ranked(
            ids, (5,) * len(ids), nothing_known=not ids, wall_ms=1, stages=(("rank", 0.5, 0.25),)
        )


DATASET = Dataset(
    "tiny",
    (
        Bank(
            "a",
            (Unit("1", "ana built a kiln"), Unit("2", "ben <b>sold</b> the boat")),
            (
                Query("q1", "who built a kiln", ("1",), category="who", answerable=True),
                Query("q2", "nothing matches", (), category="none", answerable=False),
                Query("q3", "ana sold", ("2",), category="who", answerable=True),
            ),
        ),
    ),
)


def test_that_nothing_computes_the_measures_is_said_before_anything_is_indexed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    system = WordOverlap()
    with pytest.raises(DatasetError, match="ir-measures"):
        evaluate(DATASET, system)
    assert system.indexed == []


@pytest.fixture
def report() -> Report:
    return evaluate(DATASET, WordOverlap(), ks=(1, 10))


def test_every_bank_is_indexed_before_it_is_asked() -> None:
    system = WordOverlap()
    evaluate(DATASET, system)
    assert system.indexed == ["a"]


def test_a_bank_that_exists_is_not_indexed_again() -> None:
    system = WordOverlap()
    evaluate(DATASET, system, index=False)
    assert system.indexed == []


def test_the_report_holds_overall_and_category_figures(report: Report) -> None:
    assert report.overall["recall@1"].value == 0.5
    assert set(report.by_category) == {"who", "none"}
    assert report.overall["abstention_recall"].value == 1.0


def test_latency_names_wall_cpu_and_stages(report: Report) -> None:
    assert set(report.latency) == {"wall", "cpu", "stage rank"}


def test_a_stage_has_its_wall_and_its_cpu_time(report: Report) -> None:
    assert times(report)["stage rank"] == (0.5, 0.5, 0.25, 0.25)


def test_misses_name_the_evidence_that_was_not_found(report: Report) -> None:
    assert [(m.query, m.missing) for m in report.misses] == [("ana sold", ("2",))]


def test_what_a_trick_question_twists_is_no_miss() -> None:
    trick = Query("q", "when was it sold", ("1",), answerable=False)
    bank = replace(DATASET.banks[0], queries=(trick,))
    assert evaluate(replace(DATASET, banks=(bank,)), WordOverlap()).misses == ()


def test_the_report_is_plain_json(report: Report) -> None:
    assert orjson.loads(orjson.dumps(report.as_dict()))["overall"]["recall@1"]["queries"] == 2


def test_the_html_loads_nothing_and_runs_nothing(report: Report) -> None:
    page = render(report, judge(parse_rules("recall@1=0.9"), report.overall, report.by_category))
    # an SVG's namespace is a name, not something fetched
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|<script|<link|src=|url\(", page)
    assert "failed: recall@1" in page


def test_categories_and_parts_are_plotted_at_a_cut_off_that_was_measured() -> None:
    report = evaluate(DATASET, WordOverlap(), ks=(1, 5))
    page = render(replace(report, ablations={"only rank": report.overall}))
    assert page.count('aria-label="recall@5"') == 2


def test_the_html_escapes_what_users_wrote() -> None:
    hostile = Dataset(
        "<i>x</i>", (Bank("a", (Unit("1", "x"),), (Query("q", "<b>y</b>", ("1",)),)),)
    )
    page = render(evaluate(hostile, WordOverlap()))
    assert "<b>y</b>" not in page
    assert "<i>x</i>" not in page


def test_a_query_that_was_missed_has_room_for_its_words(report: Report) -> None:
    page = render(report)
    assert "td.q{white-space:normal;min-width:16rem}" in page
    assert "<td class='q'>ana sold</td>" in page


def test_a_name_too_long_for_a_plot_is_seen_to_be_cut() -> None:
    assert "a" * 29 + "…<" in bars("t", [Bar("a" * 31, 0.5)])
    assert "a" * 30 + "<" in bars("t", [Bar("a" * 30, 0.5)])


def test_letters_that_are_twice_as_wide_take_twice_the_room_of_a_plot() -> None:
    assert "会" * 14 + "…<" in bars("t", [Bar("会" * 16, 0.5)])
    assert "会" * 15 + "<" in bars("t", [Bar("会" * 15, 0.5)])


@pytest.mark.parametrize(
    "svg",
    [
        bars("a & b", [Bar("x", 0.5, 0.4, 0.6), Bar("<y>", 0.0)]),
        grouped("g", {"realmem": {"bm25": 0.2, "recollect": 0.4}, "empty": {}}),
        growth("cost", {"on": {1000: 3.0, 10000: 30.0}, "none": {}}, x="facts", y="ms"),
        growth("nothing", {}, x="facts", y="ms"),
    ],
)
def test_plots_are_well_formed(svg: str) -> None:
    import xml.etree.ElementTree as ET

    assert ET.fromstring(svg).tag.endswith("svg")


def test_every_tag_of_the_html_is_closed(report: Report) -> None:
    class Balance(HTMLParser):
        open_tags: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in ("meta", "rect", "line", "circle", "polyline", "html"):
                self.open_tags.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            return

        def handle_endtag(self, tag: str) -> None:
            if tag != "html":
                assert self.open_tags.pop() == tag

    parser = Balance()
    parser.feed(render(report))
    assert parser.open_tags == []


def test_recalls_that_had_to_do_without_a_part_are_counted() -> None:
    class Late(WordOverlap):
        def search(self, bank: Bank, query: Query) -> Ranked:
            return replace(super().search(bank, query), degraded=("cross-encoder", "bridge"))

    report = evaluate(DATASET, Late())
    assert report.incomplete == 3
    assert "recalls that had to do without cross-encoder: 3" in remarks(report)
    assert "had to do without cross-encoder" in render(report)


def test_a_file_whose_queries_have_no_gold_is_told_so() -> None:
    asked = Bank("a", (Unit("1", "ana built a kiln"),), (Query("q", "who"),))
    report = evaluate(Dataset("d", (asked,)), WordOverlap())
    assert remarks(report) == ["no query has gold, so there is nothing but times"]


def test_a_report_of_nothing_but_times_has_no_empty_tables() -> None:
    queries = tuple(Query(f"q{n}", "who", category=f"c{n}") for n in range(3))
    asked = Bank("a", (Unit("1", "ana built a kiln"),), queries)
    page = render(evaluate(Dataset("d", (asked,)), WordOverlap()))
    assert re.findall("<h2>(.*?)</h2>", page) == ["Time a recall (ms)"]


def test_queries_that_could_not_be_judged_are_counted_among_those_that_were_asked() -> None:
    queries = tuple(Query(f"q{n}", "kiln", ("1",) if n % 2 else ()) for n in range(8))
    trick = (Query("t", "kiln", answerable=False), Query("f", "kiln", forbidden=("1",)))
    whole = Dataset("d", (Bank("a", (Unit("1", "ana built a kiln"),), (*queries, *trick)),))
    said = "not judged, for they name no evidence that is in the file: {}".format
    assert remarks(evaluate(whole, WordOverlap())) == [said(4)]
    part = remarks(evaluate(some_queries(whole, 3), WordOverlap()))
    assert part == [said(2), "3 of 10 queries, spread evenly"]
    assert remarks(evaluate(some_queries(whole, 1), WordOverlap())) == [
        "1 of 10 queries, spread evenly",
        "no query has gold, so there is nothing but times",
    ]


def test_answers_that_were_full_before_the_last_cut_off_are_counted() -> None:
    class Long(WordOverlap):
        settings: ClassVar = {"max_tokens": 100}

        def search(self, bank: Bank, query: Query) -> Ranked:
            return Ranked(("1", "2"), (50, 45))

    report = evaluate(DATASET, Long(), ks=(1, 20))
    assert report.cut == 3
    assert "answers full before place 20, see --max-tokens: 3" in remarks(report)


@pytest.mark.parametrize(("found", "cut"), [(9, 3), (10, 0)])
def test_ten_places_are_looked_at_whatever_the_cut_offs(found: int, cut: int) -> None:
    class Full(WordOverlap):
        settings: ClassVar = {"max_tokens": 100}

        def search(self, bank: Bank, query: Query) -> Ranked:
            return Ranked(tuple(map(str, range(found))), (100 // found,) * found)

    assert evaluate(DATASET, Full(), ks=(1, 2)).cut == cut


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (100, ["of answers of 100 tokens: recall@2048tokens, recall@4096tokens"]),
        (4000, ["of answers of 4,000 tokens: recall@4096tokens"]),
        (4096, []),
    ],
)
def test_figures_of_more_tokens_than_an_answer_has_are_remarked_upon(
    tokens: int, said: list[str]
) -> None:
    class Small(WordOverlap):
        settings: ClassVar = {"max_tokens": tokens}

    told = remarks(evaluate(DATASET, Small()))
    assert [remark.replace(", see --max-tokens", "") for remark in told] == said
