"""`recollect eval`: measure recall on your own data, and fail a build when it gets worse."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.arguments import Force, stdin_bytes
from recollect.cli.session import Session

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from rich.console import Console
    from rich.table import Table

    from recollect.eval.data import Dataset
    from recollect.eval.gate import Verdict
    from recollect.eval.metrics import Figure
    from recollect.eval.report import Report
    from recollect.eval.systems import RecallOptions
    from recollect.filing import Target

BY_CATEGORY = ("recall@{k}", "ndcg@10", "abstention_recall", "forbidden@10")
ENOUGH = 100  # columns that hold every figure whole, with names of usual length
BY_PART = ("recall@{k}", "ndcg@10", "all-evidence@{k}")


def eval_(
    session: Session,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|-",
            help="Units and queries: .jsonl, LoCoMo, LongMemEval, or a folder; - for stdin.",
        ),
    ],
    bank: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this bank of the file; may be repeated. With a file of queries alone: the existing bank to ask.",
        ),
    ] = None,
    k: Annotated[
        str, typer.Option("--k", metavar="N,N", help="Cut-offs, e.g. 5,10,20.")
    ] = "5,10,20",
    budget: Annotated[str, typer.Option(metavar="LEVEL", help="low, mid or high.")] = "mid",
    max_tokens: Annotated[int, typer.Option(metavar="N", help="Size of each answer.")] = 8192,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help="auto, jsonl, locomo, longmemeval, conversations, corpus, precisionmem.",
        ),
    ] = "auto",
    split: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="training, development or reported, for the sets that have splits."
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Ask only so many queries, spread evenly over the file."
        ),
    ] = None,
    ablate: Annotated[
        bool, typer.Option("--ablate", help="Also measure each part alone and left out.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report with plots to this file.")
    ] = None,
    fail_under: Annotated[
        str | None,
        typer.Option(
            metavar="RULES", help='Exit with 1 below these, e.g. "recall@10=0.8, forbidden@10<=0".'
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the bootstrap intervals.")] = 0,
    force: Force = False,
) -> None:
    """Measure recall quality and speed on a file of units and queries.

    The units never touch your own store; a file of queries alone asks the bank named by --bank.
    """
    from recollect.eval.gate import check_rules, judge, parse_rules
    from recollect.eval.systems import RecallOptions
    from recollect.eval.trouble import DatasetError
    from recollect.filing import Target

    target = None if html is None else Target(html, "a report of recollect eval", _is_report, force)
    if target is not None:
        target.check()
    rules = parse_rules(fail_under) if fail_under is not None else ()
    options, ks = RecallOptions(budget, max_tokens), _cut_offs(k)
    dataset = _dataset(file, form, split, bank, sample)
    check_rules(rules, ks, list(dataset.queries))
    report = _measure(session, dataset, options, ks, ablated=ablate, seed=seed)
    try:
        lost = report.incomplete / max(report.queries, 1) if rules else 0.0
        verdicts = judge(rules, report.overall, report.by_category, degraded=lost)
    except DatasetError:
        # Precision, where no answer was "nothing known": what was measured is wanted all the same.
        _publish(report, (), session.json, target)
        raise
    _publish(report, verdicts, session.json, target)
    if not all(verdict.passed for verdict in verdicts):
        raise typer.Exit(1)


def _dataset(
    file: Path, form: str, split: str | None, banks: list[str] | None, sample: int | None
) -> Dataset:
    from recollect.eval.data import only_banks, some_queries
    from recollect.eval.splits import Split, select
    from recollect.eval.trouble import DatasetError

    dataset = _loaded(file, form)
    name = repr(dataset.name)
    _must_ask(dataset, f"{name} holds no query to ask", "docs/eval.md shows the format")
    if split is not None:
        if split not in tuple(Split):
            raise DatasetError(f"unknown split {split!r}", hint="one of " + ", ".join(Split))
        dataset = select(dataset, Split(split))
        none = f"no query of {name} is in the {split} split"
        _must_ask(dataset, none, "a set without splits is reported as a whole")
    if banks and not any(True for _ in dataset.units):
        dataset = _of_bank(dataset, banks)
    elif banks:
        asked = ", ".join([bank.id for bank in dataset.banks if bank.queries][:10])
        dataset = only_banks(dataset, banks)
        none = f"no query of {name} is for {', '.join(banks)}"
        _must_ask(dataset, none, f"banks with queries: {asked}")
    return dataset if sample is None else some_queries(dataset, sample)


def _must_ask(dataset: Dataset, none: str, hint: str) -> None:
    """A build must not pass because nothing was asked."""
    from recollect.eval.trouble import DatasetError

    if not any(True for _ in dataset.queries):
        raise DatasetError(none, hint=hint)


def _loaded(file: Path, form: str) -> Dataset:
    """What comes through a pipe is there once, and is looked at before it is read: it is kept."""
    from tempfile import TemporaryDirectory

    from recollect.eval.load import load

    if str(file) != "-" and not file.is_fifo():
        return load(file, form)
    with TemporaryDirectory(prefix="recollect-") as folder:
        held = Path(folder) / "stdin"
        held.write_bytes(stdin_bytes() if str(file) == "-" else file.read_bytes())
        return load(held, form)


def _of_bank(dataset: Dataset, banks: list[str]) -> Dataset:
    """Queries alone, to be asked of a bank that exists already: those of some banks of the file, or
    those of its only one, whichever bank they are for."""
    from dataclasses import replace

    from recollect.eval.data import only_banks
    from recollect.eval.trouble import DatasetError

    if len(dataset.banks) > 1:
        return only_banks(dataset, banks)
    if len(banks) > 1:
        raise DatasetError(
            "queries without units are asked of one bank",
            hint="give --bank once, or name the bank of each query in the file",
        )
    only = tuple(replace(bank, id=banks[0]) for bank in dataset.banks)
    return replace(dataset, banks=only)


def _measure(
    session: Session,
    dataset: Dataset,
    options: RecallOptions,
    ks: tuple[int, ...],
    *,
    ablated: bool,
    seed: int,
) -> Report:
    from recollect.eval.report import ablate, evaluate
    from recollect.eval.systems import Recollect

    owned = any(True for _ in dataset.units)
    with _told(), session.own_store() if owned else session.existing_store() as memory:
        memory.warm()  # loading models is no part of a recall
        system = Recollect(memory, options, progress=_progress)
        for bank in () if owned else dataset.banks:
            system.expect(bank)
        report = evaluate(dataset, system, ks=ks, seed=seed, index=owned, progress=_progress)
        if ablated:
            report = ablate(report, dataset, system, progress=_progress)
    return report


@contextmanager
def _told() -> Generator[None]:
    """However it ends, what is said next has the line of the progress to itself."""
    try:
        yield
    finally:
        _progress("", 0, 0)


def _cut_offs(text: str) -> tuple[int, ...]:
    from recollect.eval.trouble import DatasetError

    parts = [part.strip() for part in text.split(",") if part.strip()]
    # ten digits and more are beyond what the measures can count
    if not all(p.isdecimal() and len(p) < 10 and int(p) > 0 for p in parts or [""]):
        raise DatasetError(f"{text!r} is not a list of cut-offs", hint="e.g. --k 5,10,20")
    return tuple(sorted({int(part) for part in parts}))


def _is_report(begins: bytes) -> bool:
    return begins.startswith(b"<!doctype html>") and b"<title>recollect eval: " in begins


def _publish(
    report: Report, verdicts: tuple[Verdict, ...], as_json: bool, target: Target | None
) -> None:
    if target is not None:
        from recollect.eval.html import render

        with target.written() as file:
            file.write(render(report, verdicts).encode())
        typer.echo(f"wrote {target.path}", err=True)
    if as_json:
        from recollect.cli.output import emit

        gate = [_verdict(verdict) for verdict in verdicts]
        emit(report.as_dict() | {"gate": gate}, indented=True)
    else:
        _print(report)
    for verdict in verdicts:
        word = "passed" if verdict.passed else "FAILED"
        typer.echo(f"{word}: {verdict.rule} (is {verdict.shown})", err=True)
    if any(v.rule.metric == "degraded" and not v.passed for v in verdicts):
        _say_degraded(report)


def _say_degraded(report: Report) -> None:
    """The figures are not those of what was asked for, and the build is told how to have it either way."""
    from recollect.cli.output import talk

    parts = ", ".join(report.degraded)
    talk(
        f"{report.incomplete:,} of {report.queries:,} recalls had to do without {parts}, so the figures are "
        "not those of the whole"
    )
    talk('hint: mend it, or allow it: --fail-under "…, degraded<=0.05"')


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {"rule": str(verdict.rule), "value": verdict.value, "passed": verdict.passed}


def _print(report: Report) -> None:
    from recollect.cli.output import console, flat
    from recollect.eval.report import TIMES, remarks, times

    out = console()
    counted = f"{report.queries:,} queries, {report.units:,} units"
    out.print(f"{flat(report.dataset)}: {counted}", style="bold")
    for remark in remarks(report):
        out.print(flat(remark), style="dim")
    if report.overall:
        _print_figures(out, report)
    spent = {
        name: ["–" if ms is None else f"{ms:.2f}" for ms in found]
        for name, found in times(report).items()
    }
    _show(out, _table("a recall, ms", TIMES, spent))


def _print_figures(out: Console, report: Report) -> None:
    measured = {m: _cells(f) for m, f in report.overall.items()}
    _show(out, _table("", ("mean", "95 % interval", "queries"), measured))
    if len(report.by_category) > 1:
        shown = _shown(BY_CATEGORY, report)
        rows = {
            name: [_cell(figures.get(m)) for m in shown]
            for name, figures in report.by_category.items()
        }
        _show(out, _table("category", shown, rows))
    if report.ablations:
        shown = _shown(BY_PART, report)
        parts = {"as shipped": report.overall, **report.ablations}
        rows = {n: [_cell(f.get(m)) for m in shown] for n, f in parts.items()}
        _show(out, _table("parts", shown, rows))


def _shown(measures: Iterable[str], report: Report) -> list[str]:
    from recollect.eval.report import headline

    k = headline(report)
    return [m for m in (name.format(k=k) for name in measures) if m in report.overall]


def _show(out: Console, table: Table) -> None:
    """Whole, though the terminal be narrower: a figure that is cut, or has lost its name, is none."""
    from rich.measure import Measurement

    wanted = Measurement.get(out, out.options.update(width=ENOUGH), table).maximum
    out.width = max(out.width, wanted)
    out.print(table)


def _table(corner: str, columns: Iterable[str], rows: Mapping[str, Iterable[str]]) -> Table:
    """Names to the left, however many; few columns, so that it fits a terminal."""
    from rich.table import Table

    from recollect.cli.output import flat

    table = Table(box=None, header_style="bold", title="", title_style="")
    table.add_column(corner, overflow="fold")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for name, cells in rows.items():
        table.add_row(flat(name), *cells)
    return table


def _cells(figure: Figure) -> tuple[str, str, str]:
    between = f"{figure.low:.3f}–{figure.high:.3f}"
    return f"{figure.value:.3f}", between, str(figure.queries)


def _cell(figure: Figure | None) -> str:
    if figure is None or not figure.queries:
        return "–"
    return f"{figure.value:.3f} ±{(figure.high - figure.low) / 2:.3f}"


def _progress(what: str, done: int, total: int) -> None:
    """One line, whatever is done: a file may hold hundreds of banks. Nothing is left of it."""
    if sys.stderr.isatty():
        from recollect.cli.output import flat

        sys.stderr.write(f"\r\x1b[K{flat(what)} {done:,}/{total:,}" if what else "\r\x1b[K")
        sys.stderr.flush()
