"""Render docs/benchmarks.md, its plots and the figures of the model cards and of mcp.md from
benchmarks/results/*.json.

    python benchmarks/render.py [--check]

Nothing on that page is written by hand; --check fails when it is not what the results give.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from arguments import described
from machine import HERE, RESULTS
from recollect.eval.svg import grouped, growth
from render_cards import answers, cards
from render_postgres import peer, sizes

DOCS = HERE.parent / "docs"
IMAGES = DOCS / "img"
Json = dict[str, Any]
Pages = dict[str, str]
"""Path under docs/ → content."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = described(__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments or [])
    found = results()
    pages = render(found)
    for name in _preferred(found, "quality")[:1]:
        pages |= cards(found[name], DOCS)
    if "part-lean" in found:
        pages |= answers(found["part-lean"], DOCS)
    if options.check:
        stale = [name for name, text in pages.items() if _on_disk(name) != text]
        if stale:
            raise SystemExit("not up to date: " + ", ".join(stale) + "; run benchmarks/render.py")
        return
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (DOCS / name).write_text(text, encoding="utf-8")
    print(f"rendered {', '.join(pages)}", file=sys.stderr)


def results() -> dict[str, Json]:
    return {path.stem: orjson.loads(path.read_bytes()) for path in sorted(RESULTS.glob("*.json"))}


def render(found: dict[str, Json]) -> Pages:
    pages: Pages = {}
    lines = [
        "# Benchmarks",
        "",
        "Rendered by `benchmarks/render.py` from `benchmarks/results/*.json`; not written by hand.",
        "Quality figures are means over queries in per cent, on splits that no model was trained on and",
        "no weight fitted on (`src/recollect/eval/splits.py`; cautions in models.md and why.md). Costs are CPU time, median of the calls, all",
        "threads counted, query embedding included, unless a column says wall.",
        "",
    ]
    for name in _preferred(found, "quality"):
        lines += quality(name, found[name], pages)
    others = [name for name, result in found.items() if result.get("kind") == "scale"]
    for name in dict.fromkeys((*_preferred(found, "scale"), *others)):
        lines += scale(name, found[name], pages)
    if "peers" in found:
        lines += peers(found["peers"])
    lines += postgres(found)
    for name, result in found.items():
        if result.get("kind") not in ("quality", "scale", "peers", "postgres", "postgres-peer"):
            lines += other(name, result)
    pages["benchmarks.md"] = "\n".join(lines).rstrip() + "\n"
    return pages


def _preferred(found: dict[str, Json], kind: str) -> list[str]:
    """Full runs first; a short run is shown beside, because it is what `make bench` repeats."""
    return [name for name in (f"{kind}-full", f"{kind}-short") if name in found]


# --- quality ------------------------------------------------------------------------------


def quality(name: str, result: Json, pages: Pages) -> list[str]:
    full = name.endswith("full")
    lines = [f"## Recall quality ({'whole sets' if full else 'short run'})", "", *where(result)]
    lines.append(f"`python benchmarks/quality.py{' --full' if full else ''} --ablate`")
    lines += ["", *_quality_table(result), ""]
    sampled = [name for name, one in result["sets"].items() if "sampled" in one.get("note", "")]
    if sampled:
        lines += [f"Of {', '.join(sampled)} a sample by hash: not comparable with whole sets.", ""]
    plot = {
        set_name: {
            system: 100 * _value(s, "recall@10") for system, s in one["systems"].items() if _has(s)
        }
        for set_name, one in result["sets"].items()
        if any(_has(s) for s in one["systems"].values())
    }
    pages[f"img/{name}.svg"] = grouped("recall@10, %", plot)
    lines += [f"![recall@10 by set](img/{name}.svg)", ""]
    lines += [*_abstention(result), *_categories(result), *_ablations(result)]
    return lines


def _quality_table(result: Json) -> Iterable[str]:
    yield "| set | system | recall@10 | NDCG@10 | all evidence@10 | hit@10 | MRR | recall in 2,048 / 4,096 tokens |"
    yield "|---|---|---|---|---|---|---|---|"
    for set_name, one in result["sets"].items():
        for system, s in one["systems"].items():
            if not _has(s):
                continue
            o = s["overall"]
            cells = " | ".join(_interval(o[m]) for m in ("recall@10", "ndcg@10"))
            more = " | ".join(_percent(o[m]) for m in ("all-evidence@10", "hit@10", "mrr"))
            within = f"{_percent(o['recall@2048tokens'])} / {_percent(o['recall@4096tokens'])}"
            yield f"| {set_name} ({one['units']:,} units, {one['queries']} queries) | {system} | {cells} | {more} | {within} |"


def _abstention(result: Json) -> Iterable[str]:
    rows: list[str] = []
    for set_name, one in result["sets"].items():
        for system, s in one["systems"].items():
            o = s.get("overall", {})
            if not any(m in o for m in ("abstention_recall", "forbidden@10")):
                continue
            cells = " | ".join(
                _percent(o.get(m))
                for m in ("abstention_precision", "abstention_recall", "forbidden@10")
            )
            rows.append(f"| {set_name} | {system} | {cells} |")
    if rows:
        yield from ("### Knowing that nothing is known", "")
        yield "| set | system | abstention precision | abstention recall | queries with a forbidden id in the top 10 |"
        yield "|---|---|---|---|---|"
        yield from (*rows, "")


def _categories(result: Json) -> Iterable[str]:
    yield from (
        "### By category, recollect",
        "",
        "| set | category | queries | recall@10 | NDCG@10 |",
        "|---|---|---|---|---|",
    )
    for set_name, one in result["sets"].items():
        by = one["systems"].get("recollect", {}).get("by_category", {})
        for category, o in by.items():
            if "recall@10" in o:
                yield f"| {set_name} | {category} | {o['recall@10']['queries']} | {_interval(o['recall@10'])} | {_interval(o['ndcg@10'])} |"
    yield ""


def _ablations(result: Json) -> Iterable[str]:
    shown = {
        name: {"shipped": s["overall"], **s["ablations"]}
        for name, one in result["sets"].items()
        if (s := one["systems"].get("recollect", {})).get("ablations") and _has(s)
    }
    if not shown:
        return
    parts = list(dict.fromkeys(part for figures in shown.values() for part in figures))
    yield from ("### What each part is worth (recall@10 / NDCG@10)", "")
    yield "*only* an arm: its own order before anything is fused. *only fusion*: no reranker, bridges or boosts."
    yield "*fusion + rerank*: boosts left out. *fusion + boost*: rerankers and bridges left out. *without*: all but this."
    yield ""
    yield "| parts | " + " | ".join(shown) + " |"
    yield "|---|" + "---|" * len(shown)
    for part in parts:
        cells = (
            f"{_percent(f[part]['recall@10'])} / {_percent(f[part]['ndcg@10'])}"
            if part in f
            else "–"
            for f in shown.values()
        )
        yield f"| {part} | " + " | ".join(cells) + " |"
    yield ""


# --- scale --------------------------------------------------------------------------------


def scale(name: str, result: Json, pages: Pages) -> list[str]:
    sizes = {int(size): one for size, one in result["sizes"].items()}
    option = ",".join(map(str, sizes))
    lines = [f"## Cost as a bank grows ({name.removeprefix('scale-')})", "", *where(result)]
    lines += [f"`python benchmarks/scale.py --sizes {option}`", ""]
    lines.append("| | " + " | ".join(f"{size:,}" for size in sizes) + " |")
    lines.append("|---|" + "---|" * len(sizes))
    rows = {
        "recall, reranker off, CPU ms p50 / p95": lambda s: (
            f"{s['recall_rerank_off']['cpu_p50']:.1f} / {s['recall_rerank_off']['cpu_p95']:.1f}"
        ),
        "recall, late interaction, CPU ms p50 / p95": lambda s: (
            f"{s['recall_late_interaction']['cpu_p50']:.1f} / {s['recall_late_interaction']['cpu_p95']:.1f}"
        ),
        "recall, as shipped, CPU ms p50 / p95": lambda s: (
            f"{s['recall_rerank_on']['cpu_p50']:.1f} / {s['recall_rerank_on']['cpu_p95']:.1f}"
        ),
        "recall, as shipped, wall ms p50": lambda s: f"{s['recall_rerank_on']['wall_p50']:.1f}",
        "recalls a second as shipped, 1 / 8 callers": lambda s: " / ".join(
            f"{c['per_second']:.0f}" for c in s["callers"]
        ),
        "… as shipped, 8 callers in a process for each core": lambda s: _in_processes(
            s, "callers_processes"
        ),
        "recalls a second, reranker off, 1 / 8 callers": lambda s: " / ".join(
            f"{c['per_second']:.0f}" for c in s.get("callers_off", ())
        ),
        "… reranker off, 8 callers in a process for each core": lambda s: _in_processes(
            s, "callers_off_processes"
        ),
        "retain, CPU ms a fact, batches of 100": lambda s: f"{s['retain_batch']['cpu_ms']:.2f}",
        "retain, CPU ms, one fact alone": lambda s: f"{s['retain_single']['cpu_p50']:.1f}",
        "RSS, MB": lambda s: f"{s['rss_mb']:.0f}",
        "disk, KB a fact": lambda s: f"{s['disk_bytes_a_fact'] / 1024:.1f}",
        "cold open to first answer, wall ms": lambda s: f"{s['cold']['open_to_answer_ms']:.0f}",
        "right fact in the top 10, off / on": lambda s: (
            f"{s['recall_rerank_off']['known_item_hit@10']:.2f} / {s['recall_rerank_on']['known_item_hit@10']:.2f}"
        ),
    }
    for label, cell in rows.items():
        lines.append(f"| {label} | " + " | ".join(cell(s) for s in sizes.values()) + " |")
    pages[f"img/{name}.svg"] = growth(
        "recall cost, CPU ms p50",
        {
            "reranker off": {s: one["recall_rerank_off"]["cpu_p50"] for s, one in sizes.items()},
            "late interaction": {
                s: one["recall_late_interaction"]["cpu_p50"] for s, one in sizes.items()
            },
            "as shipped": {s: one["recall_rerank_on"]["cpu_p50"] for s, one in sizes.items()},
        },
        x="facts in the bank",
        y="ms",
    )
    lines += ["", f"![recall cost by size](img/{name}.svg)", "", *_stages(sizes)]
    return lines


def _in_processes(size: Json, name: str) -> str:
    return f"{size[name]['per_second']:.0f}" if name in size else "–"


def _stages(sizes: dict[int, Json]) -> list[str]:
    names = list(
        dict.fromkeys(n for s in sizes.values() for n in s["recall_rerank_on"]["stages_wall_ms"])
    )
    lines = [
        "Stages of a recall, wall ms p50:",
        "",
        "| stage | " + " | ".join(f"{s:,}" for s in sizes) + " |",
    ]
    lines.append("|---|" + "---|" * len(sizes))
    for name in names:
        cells = (s["recall_rerank_on"]["stages_wall_ms"].get(name) for s in sizes.values())
        lines.append(
            f"| {name} | " + " | ".join("–" if c is None else f"{c:.2f}" for c in cells) + " |"
        )
    return [*lines, ""]


# --- peers and the rest -------------------------------------------------------------------


def peers(result: Json) -> list[str]:
    ours, theirs = result["recollect"], result["hindsight"]
    lines = ["## Side by side with Hindsight 1.1.0", "", *where(result)]
    lines += [
        f"`python benchmarks/peers.py --facts {result['facts']}`: the same facts and queries, no LLM,",
        "the same MiniLM weights for the peer, its cross-encoder off (none can be fetched offline).",
        "",
    ]
    lines += ["| | recollect | Hindsight | ratio |", "|---|---|---|---|"]
    rows = (
        ("retain, CPU ms a fact", "retain CPU", lambda s: s["retain"]["cpu_ms"]),
        (
            "recall, reranker off, CPU ms",
            "recall CPU, reranker off",
            lambda s: s["recall_rerank_off"]["cpu_ms"],
        ),
        (
            "recall, reranker off, wall ms p50",
            "recall wall, reranker off",
            lambda s: s["recall_rerank_off"]["wall_p50_ms"],
        ),
        (
            "recall as shipped, CPU ms",
            "recall CPU, recollect with its reranker",
            lambda s: s["recall"]["cpu_ms"],
        ),
        ("RSS idle, MB", "RSS idle", lambda s: s["rss_idle_mb"]),
        ("RSS with the facts, MB", "RSS with the facts", lambda s: s["rss_mb"]),
        ("disk, KB a fact", "disk a fact", lambda s: s["disk_bytes_a_fact"] / 1024),
        ("start, s", "start", lambda s: s["start_s"]),
    )
    for label, ratio, value in rows:
        lines.append(
            f"| {label} | {value(ours):.2f} | {value(theirs):.2f} | {result['ratios'][ratio]:.1f} × |"
        )
    lines += ["", "| recall@10 / NDCG@10 | recollect | Hindsight |", "|---|---|---|"]
    for name in ours["quality"]:
        cells = " | ".join(
            f"{_percent(side['quality'][name]['overall']['recall@10'])} / {_percent(side['quality'][name]['overall']['ndcg@10'])}"
            for side in (ours, theirs)
        )
        lines.append(f"| {name} | {cells} |")
    return [*lines, ""]


def postgres(found: dict[str, Json]) -> list[str]:
    """One table over all sizes, and one for each run beside the peer."""
    alone = {r["facts"]: r for r in found.values() if r.get("kind") == "postgres"}
    lines: list[str] = []
    if alone:
        largest = alone[max(alone)]
        command = f"python benchmarks/postgres.py --sizes {','.join(map(str, sorted(alone)))}"
        lines += ["## PostgreSQL", "", *where(largest), f"`{command}`", "", *sizes(alone), ""]
    for result in found.values():
        if result.get("kind") == "postgres-peer":
            lines += [*peer(result), about(result), ""]
    return lines


def other(name: str, result: Json) -> list[str]:
    """Figures of single parts: what the script printed, or whatever numbers it wrote."""
    title = name.removeprefix("part-")
    lines = [f"## {title}", "", *meaning(title)]
    if result.get("kind") == "printed":
        lines += [f"`{result['command']}`, {about(result)}"]
        return [*lines, "", "```", result["printed"].strip("\n"), "```", ""]
    rows = [f"| {label} | {_shown(value)} |" for label, value in _figures(result)]
    if not rows:
        return []
    command = f"`{result['command']}`, " if "command" in result else ""
    return [*lines, command + about(result), "", "| figure | value |", "|---|---|", *rows, ""]


def meaning(title: str) -> list[str]:
    """What the figures are, in the words of the script that measured them, without how it is called."""
    scripts = [path for path in HERE.glob("*.py") if f"{title}-".startswith(f"{path.stem}-")]
    if not scripts:
        return []
    script = max(scripts, key=lambda path: len(path.stem))
    told = ast.get_docstring(ast.parse(script.read_text("utf-8"))) or ""
    paragraphs = (p for p in told.split("\n\n") if not p.lstrip().startswith(("python ", "pip ")))
    return [line for paragraph in paragraphs for line in (paragraph, "")]


def _figures(result: Json, within: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in result.items():
        if not within and key in ("when", "commit", "command", "kind", "machine", "versions"):
            continue
        if isinstance(value, dict):
            yield from _figures(value, f"{within}{key} · ")
        elif isinstance(value, int | float | str):
            yield within + key, value


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def where(result: Json) -> list[str]:
    m, v = result["machine"], result["versions"]
    return [
        f"{m['cpu']}, {m['cores']} cores, {m['memory_gib']} GiB; Python {v['python']},"
        f" onnxruntime {v.get('onnxruntime', '–')}; {about(result)}",
        "",
    ]


def about(result: Json) -> str:
    load = result["machine"].get("load_1m")
    busy = "" if load is None else f", load {load:g}"
    parts = result.get("sets", {}).values()  # measured one by one, not all of them each time
    commits = dict.fromkeys(part.get("commit", result["commit"]) for part in parts)
    named = ", ".join(commits or [result["commit"]])
    return f"commit{'s' * (len(commits) > 1)} {named}, {result['when'][:10]}{busy}."


def _has(system: Json) -> bool:
    return "recall@10" in system.get("overall", {})


def _value(system: Json, measure: str) -> float:
    return float(system["overall"][measure]["value"])


def _percent(figure: Json | None) -> str:
    return "–" if not figure else f"{100 * figure['value']:.1f}"


def _interval(figure: Json) -> str:
    return f"{100 * figure['value']:.1f} ({100 * figure['low']:.0f}–{100 * figure['high']:.0f})"


def _on_disk(name: str) -> str | None:
    path = DOCS / name
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    main(sys.argv[1:])
