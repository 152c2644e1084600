"""A report as one HTML file: nothing loaded from elsewhere, no script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from recollect.eval.gate import Verdict
from recollect.eval.metrics import Figure
from recollect.eval.report import TIMES, Report, headline, remarks, times
from recollect.eval.svg import Bar, bars

_CSS = """
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}
th,td{padding:.3rem .7rem;border-bottom:1px solid #8885;text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}td.q{white-space:normal;min-width:16rem}small{opacity:.7}svg{display:block;max-width:100%;height:auto;margin:.5rem 0}
.bad{color:#d1242f}.good{color:#1a7f37}@media(prefers-color-scheme:dark){.bad{color:#ff8182}.good{color:#56d364}}
"""


def render(report: Report, verdicts: Sequence[Verdict] = ()) -> str:
    body = [
        f"<h1>{escape(report.dataset)}</h1>",
        f"<p>{escape(report.system)} · {report.queries:,} queries over {report.units:,} units"
        f" · means with 95 % bootstrap intervals, seed {report.seed}</p>",
        *(f"<p>{escape(remark)}</p>" for remark in remarks(report)),
        *_gate(verdicts),
        *(_figures(report) if report.overall else ()),
        *_latency(report),
        *_misses(report),
        "<p><small>"
        + escape(", ".join(f"{k} {v}" for k, v in {**report.settings, **report.versions}.items()))
        + "</small></p>",
    ]
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>recollect eval: {escape(report.dataset)}</title>'
    return f"{head}<style>{_CSS}</style><body>{''.join(body)}</body></html>\n"


def _figures(report: Report) -> Iterable[str]:
    yield "<h2>Overall</h2>"
    yield bars("all queries", [_bar(name, f) for name, f in report.overall.items()])
    yield _table("measure", {name: {"mean": f} for name, f in report.overall.items()})
    yield from _categories(report)
    yield from _ablations(report)


def _categories(report: Report) -> Iterable[str]:
    if len(report.by_category) < 2:
        return
    yield "<h2>By category</h2>"
    for name in (f"recall@{headline(report)}", "ndcg@10"):
        rows = [
            _bar(c, figures[name]) for c, figures in report.by_category.items() if name in figures
        ]
        if rows:
            yield bars(name, rows)
    yield _table("category", report.by_category)


def _ablations(report: Report) -> Iterable[str]:
    if not report.ablations:
        return
    shown = {"shipped": report.overall, **report.ablations}
    yield "<h2>What each part is worth</h2>"
    for name in (f"recall@{headline(report)}", "ndcg@10"):
        rows = [_bar(part, figures[name]) for part, figures in shown.items() if name in figures]
        if rows:
            yield bars(name, rows)
    yield _table("parts", shown)


def _latency(report: Report) -> Iterable[str]:
    heads = "".join(f"<th>{h}</th>" for h in TIMES)
    yield f"<h2>Time a recall (ms)</h2><table><tr><th>what</th>{heads}</tr>"
    for name, found in times(report).items():
        cells = "".join("<td>–</td>" if ms is None else f"<td>{ms:.2f}</td>" for ms in found)
        yield f"<tr><td>{escape(name)}</td>{cells}</tr>"
    yield "</table>"


def _misses(report: Report) -> Iterable[str]:
    if not report.misses:
        return
    yield "<h2>Evidence not in the best ten</h2><table><tr><th>query</th><th>category</th><th>recall@10</th><th>missing</th></tr>"
    for miss in report.misses:
        ids = ", ".join(miss.missing[:6])
        yield (
            f"<tr><td class='q'>{escape(miss.query[:200])}</td><td>{escape(miss.category)}</td>"
            f"<td>{miss.found:.2f}</td><td>{escape(ids)}</td></tr>"
        )
    yield "</table>"


def _gate(verdicts: Sequence[Verdict]) -> Iterable[str]:
    for verdict in verdicts:
        word, style = ("passed", "good") if verdict.passed else ("failed", "bad")
        yield f'<p class="{style}">{word}: {escape(str(verdict.rule))} (is {verdict.shown})</p>'


def _table(first: str, rows: Mapping[str, Mapping[str, Figure]]) -> str:
    names = list(dict.fromkeys(name for figures in rows.values() for name in figures))
    head = (
        f"<tr><th>{escape(first)}</th>" + "".join(f"<th>{escape(n)}</th>" for n in names) + "</tr>"
    )
    lines = (
        f"<tr><td>{escape(label)}</td>" + "".join(_cell(figures.get(n)) for n in names) + "</tr>"
        for label, figures in rows.items()
    )
    return f"<table>{head}{''.join(lines)}</table>"


def _cell(figure: Figure | None) -> str:
    if figure is None or figure.queries == 0:
        return "<td>–</td>"
    return f"<td>{figure.value:.3f} <small>{figure.low:.3f}–{figure.high:.3f}, n={figure.queries}</small></td>"


def _bar(label: str, figure: Figure) -> Bar:
    return Bar(label, figure.value, figure.low, figure.high)
