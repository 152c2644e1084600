"""Recall drawn in a terminal: ranks per arm, explanation trees, the waterfall of stages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from recollect.cli.output import console, day, flat, rows, talk, terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

    from recollect.recall.explain import Why
    from recollect.recall.result import RecallResult
    from recollect.types import Explanation, Hit, Memory, StageTrace, Window

ARMS = ("semantic", "keyword", "graph", "temporal")
BAR = 10
LONGEST = 400  # characters of a memory that are drawn
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_STEPS = ((1, "█", "bold green"), (3, "▆", "green"), (10, "▄", "green"), (30, "▂", "yellow"))
_THREADS = ("cyan", "magenta", "green", "yellow", "blue", "red")
_BANDS = {"strong": "bold green", "maybe": "yellow", "noise": "dim"}


# --- recall ----------------------------------------------------------------------------------


def draw_recall(result: RecallResult, found: int, *, explain: bool) -> None:
    """Drawn for eyes; tab-separated (rank, score, band, date, id, text) for a pipe. `found` is how many
    hits there were before they were cut to those of the result."""
    from recollect.language.terms import terms

    shown = result.results
    _headline(result, len(shown))
    sys.stderr.flush()
    if not terminal() and not explain:
        rows(_line(number, hit) for number, hit in enumerate(shown, 1))
    elif shown:
        _pictures(console(), shown, terms(result.query), explain=explain)
    _sources(result)
    say_degraded(result)
    _footer(result, found)
    draw_stages(result)


def say_degraded(result: RecallResult) -> None:
    for part in result.degraded:
        talk(f"degraded: {part.part}: {part.reason}")


def draw_stages(result: RecallResult) -> None:
    """If they were asked for."""
    if result.trace is not None:
        waterfall(console(stderr=True), result.trace.stages)


def _headline(result: RecallResult, shown: int) -> None:
    if result.window is not None:
        talk(f"time asked for: {window_text(result.window)}")
    if result.nothing_known:
        talk("nothing is known about this" + ("; the nearest there is:" if shown else ""))
    elif result.under_floor is not None:
        talk(f"something is known about this, but {result.under_floor}")


def _footer(result: RecallResult, found: int) -> None:
    shown = len(result.results)
    more = " (all: -k 0)" if shown < found else ""
    took = result.timings.get("total", 0.0)
    talk(f"{shown} of {found} shown{more} · {result.tokens} tokens · {took:.0f} ms")


def _line(number: int, hit: Hit) -> tuple[object, ...]:
    from recollect.recall.result import day_of

    date = day_of(hit.memory) or ""
    return number, f"{hit.score:.3f}", hit.band.value, date, hit.id, said(hit.memory)


def said(memory: Memory) -> str:
    return flat(f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text)


def _pictures(out: Console, hits: Sequence[Hit], wanted: Sequence[str], *, explain: bool) -> None:
    from rich.text import Text

    wide = out.width >= 100
    names = ARMS if wide else tuple(name[:3] for name in ARMS)
    head = " " * 5 + "score".ljust(BAR + 7) + "  ".join(names)
    out.print(Text(head, style="dim"))
    for number, hit in enumerate(hits, 1):
        _picture(out, number, hit, names, wanted)
        if explain and hit.explanation is not None:
            from rich.padding import Padding

            out.print(Padding(explanation_tree(hit.explanation), (0, 0, 0, 5), expand=False))


def _picture(
    out: Console, number: int, hit: Hit, names: tuple[str, ...], wanted: Sequence[str]
) -> None:
    """One line of numbers, then the memory itself, then what one needs to go on with it."""
    from rich.padding import Padding
    from rich.text import Text

    band = _BANDS[hit.band.value]
    ranks = {arm.value: score.rank for arm, score in hit.arms.items()}
    line = Text(f"{number:>3}  ")
    line.append(bar(hit.score), style=band)
    line.append(f" {hit.score:5.3f} ", style=band)
    for at, arm in enumerate(ARMS):
        line.append_text(rank_cell(ranks.get(arm), max(len(names[at]), 3)))
        line.append("  ")
    line.append(hit.band.value, style=band)
    line.append("  linked to a hit" if hit.hop else "", style="dim")
    out.print(line)
    out.print(Padding(_body(hit, wanted), (0, 0, 0, 5), expand=False))


def _body(hit: Hit, wanted: Sequence[str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from recollect.recall.result import day_of

    body = Table.grid(padding=(0, 2))
    body.add_column(no_wrap=True)
    body.add_column(overflow="fold")  # Chinese has no spaces to break at, nor has an address
    dim = "dim" if hit.band.value == "noise" else ""
    date = Text((day_of(hit.memory) or "").replace(" to ", "\nto "), style="dim")  # it is narrow
    body.add_row(date, Text(_glimpse(hit.memory, wanted), style=dim))
    body.add_row("", Text(_about(hit), style="dim"))
    return body


def _glimpse(memory: Memory, wanted: Sequence[str]) -> str:
    """What is said, and of a long note the part that was asked about: ten of them would fill screens."""
    from recollect.language.excerpt import excerpt

    whole = said(memory)
    part = excerpt(whole, wanted, LONGEST)
    before = "" if whole.startswith(part) else "… "
    return before + part + ("" if whole.endswith(part) else " …")


def _about(hit: Hit) -> str:
    replaced = "since replaced" if hit.memory.superseded_by else ""
    sure = f"confidence {hit.memory.confidence:.2f}" if hit.memory.confidence is not None else ""
    parts = (hit.id, hit.type.value, replaced, sure, " ".join(f"#{t}" for t in hit.tags))
    return flat(" · ".join(p for p in parts if p))


def bar(score: float) -> str:
    """Eighths of a block, so that close scores look close and not equal."""
    eighths = round(min(max(score, 0.0), 1.0) * BAR * 8)
    full, part = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[part] if part else "")).ljust(BAR)


def rank_cell(rank: int | None, width: int) -> Text:
    """The higher the block, the better the rank; a dot where the arm did not find it."""
    from rich.text import Text

    if rank is None:
        return Text("·".rjust(width), style="dim")
    block, style = next(((b, s) for limit, b, s in _STEPS if rank <= limit), ("▁", "dim"))
    return Text(f"{block}{rank}".rjust(width), style=style)


def _sources(result: RecallResult) -> None:
    from recollect.cli.output import printable

    for chunk in result.chunks:
        mark = " (cut)" if chunk.truncated else ""
        sys.stdout.write(f"--- {printable(chunk.id)}{mark}\n{printable(chunk.text)}\n")


def window_text(window: Window) -> str:
    from recollect.cli.when import through

    start = day(window.start) or "…"
    end = through(window.end) or "…"
    words = f" ({window.text!r})" if window.text else ""
    return f"{start} through {end}{words}"


# --- explain, why ----------------------------------------------------------------------------


_CHANGES_NOTHING = {"sum": 0.0, "product": 1.0}


def explanation_tree(explanation: Explanation) -> Tree:
    """Without what changes nothing: of a score's many signals most are 0. JSON holds them all."""
    from rich.text import Text
    from rich.tree import Tree

    def label(node: Explanation) -> Text:
        text = Text(f"{node.value:.4f}", style="bold")
        return text.append(f"  {flat(node.label)}", style="not bold")

    def grow(tree: Tree, node: Explanation) -> Tree:
        silent = [d for d in node.details if _changes_nothing(d, node)]
        for detail in (
            node.details if len(silent) < 2 else [d for d in node.details if d not in silent]
        ):
            grow(tree.add(label(detail)), detail)
        if len(silent) > 1:
            tree.add(
                Text(
                    f"{silent[0].value:.4f}  each of {len(silent)} others (--json names them)",
                    style="dim",
                )
            )
        return tree

    return grow(Tree(label(explanation), guide_style="dim"), explanation)


def _changes_nothing(detail: Explanation, node: Explanation) -> bool:
    return not detail.details and detail.value == _CHANGES_NOTHING.get(node.operation)


def draw_why(answer: Why) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    out.print(Text(flat(answer.text or answer.memory_id), style="bold"))
    if answer.returned:
        out.print(Text(f"returned as number {answer.rank}", style="green"))
    else:
        out.print(Text(f"not returned: it left at {answer.left_at}", style="yellow"))
    table = Table.grid(padding=(0, 2))
    for overflow in ("ellipsis", "ellipsis", "fold"):
        table.add_column(overflow=overflow, no_wrap=overflow != "fold")
    for stage in answer.stages:
        style = "green" if stage.passed else "yellow"
        says = Text(flat(stage.says))
        if stage.needed:
            says.append(f"; needed: {flat(stage.needed)}", style="dim")
        table.add_row(
            Text("✓" if stage.passed else "✗", style=style), Text(stage.stage, style="bold"), says
        )
    out.print(table)
    if answer.explanation is not None:
        out.print(explanation_tree(answer.explanation))


# --- trace -----------------------------------------------------------------------------------


def waterfall(out: Console, stages: tuple[StageTrace, ...]) -> None:
    """Each stage from its start to its stop: what overlaps in time overlaps on the page."""
    from rich.text import Text

    end = max((s.stop_ms for s in stages), default=0.0) or 1.0
    names = max((len(s.stage) for s in stages), default=0)
    threads = {name: at for at, name in enumerate(dict.fromkeys(s.thread for s in stages))}
    longest = max((len(name) for name in threads), default=0)
    width = min(max(out.width - names - longest - 40, 12), 48)
    head = f"{'stage':{names}}  {'':{width}} {'ms':>8} {'cpu':>8}  {'thread':{longest}}"
    out.print(Text(head, style="dim"))
    for stage in stages:
        colour = _THREADS[threads[stage.thread] % len(_THREADS)]
        line = Text(f"{stage.stage:{names}}  ")
        line.append(_span(stage.start_ms / end, stage.stop_ms / end, width), style=colour)
        line.append(f" {stage.took_ms:8.2f} {stage.cpu_ms:8.2f}  ")
        line.append(f"{stage.thread:{longest}}", style=colour)
        detail = " ".join(f"{k}={v}" for k, v in stage.detail.items())
        line.append(f"  {flat(detail)}", style="dim")
        out.print(line, no_wrap=True, overflow="ellipsis")


def _span(start: float, stop: float, width: int) -> str:
    """Blocks from start to stop, both as shares of the whole; never none."""
    begin = min(int(start * width), width - 1)
    until = max(min(round(stop * width), width), begin + 1)
    return (" " * begin + "█" * (until - begin)).ljust(width)
