"""`recollect demo`: a small story retained, then asked in every way recall can be asked.

Nothing here is prepared but the story and the questions: the memories are really retained,
the answers really recalled, with the models and settings in force.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.session import Session

if TYPE_CHECKING:
    from recollect.memory import Recollect
    from recollect.recall.result import RecallResult

BANK = "northwind"
TODAY = "2026-11-15"  # the day the story is asked about; "last spring" counts from here


@dataclass(frozen=True, slots=True)
class Question:
    shows: str
    query: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    hits: int = 3  # that tell it


QUESTIONS = (
    Question("meaning: asked in other words than it was said", "Why are the invoices wrong?"),
    Question("an exact code, among texts that all sound alike", "E-1093"),
    Question(
        "several hops: Alice → manager → team → project",
        "What did Alice's manager's team work on?",
        {"budget": "high"},
        hits=6,  # one for each step, and what came between
    ),
    Question("time: a season becomes a range of dates", "What happened last spring?"),
    Question("cause: what led to it", "Why is the mobile app late?"),
    Question("effect: what it led to", "What happened after the pricing change?"),
    Question("a corrected fact: the newer value first", "What is the budget for Lighthouse?"),
    Question(
        "the same fact as it was known in March",
        "What is the budget for Lighthouse?",
        {"as_of": "2026-03-01"},
    ),
    Question("only opinions", "What do people think about pricing?", {"types": ["opinion"]}),
    Question("another language", "谁负责 Lighthouse 的数据质量？"),
    Question("something nobody ever said", "What is the wifi password of the guest house?"),
)
WHY_NOT = ("What happened last spring?", "rolled out to the Valencia warehouse")


def story() -> list[dict[str, Any]]:
    import json

    text = (files("recollect.cli.demo") / "story.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def demo(
    session: Session,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FILE", help="Keep the demo's store here to play with."),
    ] = None,
    hits: Annotated[
        int | None,
        typer.Option("-k", metavar="N", help="Hits shown for each question; 0 = all. [some]"),
    ] = None,
) -> None:
    """Retain a small story and recall from it in every way there is."""
    from recollect.cli.output import emit, talk

    _check_new(keep)
    with session.own_store(keep) as memory:
        memory.warm()  # or the first answer would tell how long the models take to load
        retained = memory.retain(BANK, story())
        if session.json:
            emit(_as_json(memory, len(retained.ids), hits))
            return
        stats = memory.stats(BANK)
        links = ", ".join(f"{count} {kind}" for kind, count in stats.links.items())
        talk(
            f"retained a year at a small company: {stats.memories} memories, {stats.entities} entities, "
            f"links: {links or 'none'} ({retained.timings['total']:.0f} ms); asked as on {TODAY}"
        )
        for question in QUESTIONS:
            _show(question, _ask(memory, question), question.hits if hits is None else hits)
        _show_why_not(memory)
    _next_steps(keep)


def _check_new(keep: Path | None) -> None:
    from recollect.errors import InvalidInput

    if keep is not None and keep.exists():
        raise InvalidInput(
            f"{keep} exists", hint=f"name a new file, or ask this one: recollect --db {keep} banks"
        )


def _ask(memory: Recollect, question: Question) -> RecallResult:
    anchor = {} if "as_of" in question.options else {"query_timestamp": TODAY}
    return memory.recall(BANK, question.query, **anchor, **question.options)


def _show(question: Question, result: RecallResult, hits: int) -> None:
    from recollect.cli.output import show
    from recollect.cli.picture import draw_recall
    from recollect.cli.reading import shortened

    options = "".join(
        f" --{k.replace('_', '-')} {v if isinstance(v, str) else ','.join(v)}"
        for k, v in question.options.items()
    )
    _heading(question.shows)
    show(f'$ recollect recall {BANK} "{question.query}"{options}')
    draw_recall(shortened(result, hits), len(result.results), explain=False)


def _heading(text: str) -> None:
    from rich.text import Text

    from recollect.cli.output import show

    show("", Text(text, style="bold cyan"))


def _why_not(memory: Recollect) -> tuple[Any, Any]:
    """A memory that a question did not bring up: found by asking for it, then asked about."""
    question, other = WHY_NOT
    wanted = memory.recall(BANK, other).results[0].memory
    return memory.why(BANK, question, wanted.id, query_timestamp=TODAY, min_score=0.2), wanted


def _show_why_not(memory: Recollect) -> None:
    from recollect.cli.output import show
    from recollect.cli.picture import draw_why

    answer, wanted = _why_not(memory)
    _heading("why not: where a memory was left behind, and what it would have needed")
    show(f'$ recollect why {BANK} "{WHY_NOT[0]}" {wanted.id} --min-score 0.2')
    draw_why(answer)


def _as_json(memory: Recollect, retained: int, hits: int | None) -> dict[str, Any]:
    from recollect.cli.reading import recall_dict

    return {
        "bank": BANK,
        "retained": retained,
        "questions": [
            {
                "shows": q.shows,
                **recall_dict(
                    _ask(memory, q),
                    q.hits if hits is None else hits,
                    explain=False,
                    verbosity="full",
                ),
            }
            for q in QUESTIONS
        ],
        "why_not": _why_not(memory)[0].as_dict(),
    }


def _next_steps(keep: Path | None) -> None:
    from recollect.cli.output import talk

    store = keep or "demo.db"
    steps = [
        (
            f'recollect --db {store} recall {BANK} "Who is Dana?" --explain',
            "the numbers behind a score",
        ),
        (f'recollect --db {store} recall {BANK} "Who is Dana?" --trace', "the stages on a clock"),
        ('recollect retain me "I prefer tea to coffee."', "your own memory begins"),
        ("recollect --help", "everything else"),
    ]
    if keep is None:
        steps.insert(0, (f"recollect demo --keep {store}", "keep this story to ask it yourself"))
    talk("\nnext steps\n" + "\n".join(f"  {what}:\n    {step}" for step, what in steps))
