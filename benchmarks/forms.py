"""The same conversations given as different clients give them: what the form costs in recall.

    python benchmarks/forms.py [--banks 6] [--split reported]

Most of the names in these chats are in no list of given names.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import recollect
import sets
from arguments import count, described
from recollect.eval.data import Dataset, Unit
from recollect.eval.report import evaluate
from recollect.eval.splits import Split
from recollect.eval.systems import Recollect, item

Form = Callable[[Unit, Collection[str]], dict[str, Any]]
SHOWN = ("recall@10", "ndcg@10")


def labelled(unit: Unit) -> str:
    return f"{unit.speaker}: {unit.text}"


def given(unit: Unit, **fields: Any) -> dict[str, Any]:
    return {"timestamp": unit.time, **fields}


FORMS: dict[str, Form] = {
    "speaker and text, a document a session": item,
    '"Ann: …" as a ready-made fact': lambda u, _: given(u, text=labelled(u)),
    '"Ann: …" as content, a document each': lambda u, _: given(
        u, content=labelled(u), document_id=u.id
    ),
    '"[2023-05-08 13:56] Ann: …" as content': lambda u, _: {
        "content": f"[{u.time:%Y-%m-%d %H:%M}] {labelled(u)}" if u.time else labelled(u)
    },
    "'Ann said, \"…\"' as a ready-made fact": lambda u, _: given(
        u, text=f'{u.speaker} said, "{u.text}"'
    ),
    "content, the speaker in its metadata": lambda u, _: given(
        u, content=u.text, metadata={"speaker": u.speaker}, document_id=u.id
    ),
    "text alone, nobody knows whose": lambda u, _: given(u, text=u.text),
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = described(__doc__)
    parser.add_argument("--banks", type=count, default=6)
    parser.add_argument("--split", default=Split.REPORTED, choices=[str(split) for split in Split])
    options = parser.parse_args(arguments)
    chats = sets.read("chats", Split(options.split), short=True)
    chats = replace(chats, banks=chats.banks[:: max(1, len(chats.banks) // options.banks)])
    turns, asked = sum(1 for _ in chats.units), sum(1 for _ in chats.queries)
    print(f"{len(chats.banks)} chats, {turns:,} turns, {asked} questions; {options.split} split")
    for name, form in FORMS.items():
        print(f"{name:42s} {measured(chats, form)}", flush=True)


def measured(chats: Dataset, form: Form) -> str:
    with (
        tempfile.TemporaryDirectory() as folder,
        recollect.open(str(Path(folder) / "forms.db")) as memory,
    ):
        report = evaluate(chats, Recollect(memory, given=form))
    return "  ".join(f"{name} {100 * report.overall[name].value:.1f}" for name in SHOWN)


if __name__ == "__main__":
    sys.exit(main())
