"""Small plots as SVG text: no library, no script, readable in light and dark."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate
from unicodedata import east_asian_width

COLOURS = ("#2f6fde", "#e0662f", "#2f9e6b", "#a04fd0", "#c2a01c", "#808890")
_STYLE = (
    "<style>text{font:12px system-ui,sans-serif;fill:#57606a}.t{font-weight:600;font-size:13px}"
    ".g{stroke:#8c959f;stroke-opacity:.35}.e{stroke:#24292f;stroke-width:1.4}"
    "@media(prefers-color-scheme:dark){text{fill:#c9d1d9}.e{stroke:#e6edf3}}</style>"
)


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    low: float | None = None
    high: float | None = None


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Horizontal bars, with a whisker for the interval where there is one."""
    left, width, step = 225, 420, 22
    top = max([r.high if r.high is not None else r.value for r in rows], default=1.0) or 1.0
    height = 34 + step * len(rows)
    parts = [f'<text class="t" x="0" y="14">{escape(title)}</text>']
    for i, row in enumerate(rows):
        y = 30 + i * step
        long = width * row.value / top
        parts.append(
            f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{escape(_cut(row.label))}</text>'
        )
        parts.append(
            f'<rect x="{left}" y="{y}" width="{long:.1f}" height="14" rx="2" fill="{COLOURS[0]}"/>'
        )
        end = long
        if row.low is not None and row.high is not None:
            x1, x2 = left + width * row.low / top, left + width * row.high / top
            parts.append(f'<line class="e" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y + 7}" y2="{y + 7}"/>')
            end = max(long, x2 - left)
        parts.append(f'<text x="{left + end + 6:.1f}" y="{y + 11}">{_short(row.value)}</text>')
    return _svg(left + width + 70, height, title, parts)


def grouped(title: str, groups: Mapping[str, Mapping[str, float]]) -> str:
    """One group of bars a row, one colour a series."""
    series = list(dict.fromkeys(name for values in groups.values() for name in values))
    left, width, bar = 120, 440, 13
    top = max((v for values in groups.values() for v in values.values()), default=1.0) or 1.0
    parts = [f'<text class="t" x="0" y="14">{escape(title)}</text>', *_legend(series, 30)]
    y = 46
    for group, values in groups.items():
        middle = y + bar * len(series) / 2 + 4
        parts.append(
            f'<text x="{left - 8}" y="{middle:.0f}" text-anchor="end">{escape(group)}</text>'
        )
        for i, name in enumerate(series):
            if name not in values:
                continue
            long = width * values[name] / top
            colour = COLOURS[i % len(COLOURS)]
            parts.append(
                f'<rect x="{left}" y="{y + i * bar}" width="{long:.1f}" height="{bar - 2}" fill="{colour}"/>'
            )
            parts.append(
                f'<text x="{left + long + 5:.1f}" y="{y + i * bar + 10}">{_short(values[name])}</text>'
            )
        y += bar * len(series) + 10
    return _svg(left + width + 70, y, title, parts)


def growth(title: str, lines: Mapping[str, Mapping[float, float]], *, x: str, y: str) -> str:
    """Log–log lines: how a cost grows with the number of memories."""
    left, top_y, width, height = 64, 48, 470, 240
    points = [(px, py) for line in lines.values() for px, py in line.items() if px > 0 and py > 0]
    if not points:
        return _svg(left + width, 40, title, [f'<text class="t" y="14">{escape(title)}</text>'])
    x0, x1 = _decades([p[0] for p in points])
    y0, y1 = _decades([p[1] for p in points])

    def place(px: float, py: float) -> tuple[float, float]:
        across = (math.log10(px) - x0) / max(x1 - x0, 1)
        up = (math.log10(py) - y0) / max(y1 - y0, 1)
        return left + across * width, top_y + (1 - up) * height

    parts = [f'<text class="t" x="0" y="14">{escape(title)}</text>', *_legend(list(lines), 30)]
    for e in range(x0, x1 + 1):
        gx = place(10.0**e, 10.0**y0)[0]
        parts.append(
            f'<line class="g" x1="{gx:.1f}" x2="{gx:.1f}" y1="{top_y}" y2="{top_y + height}"/>'
        )
        parts.append(
            f'<text x="{gx:.1f}" y="{top_y + height + 16}" text-anchor="middle">{_power(e)}</text>'
        )
    for e in range(y0, y1 + 1):
        gy = place(10.0**x0, 10.0**e)[1]
        parts.append(
            f'<line class="g" x1="{left}" x2="{left + width}" y1="{gy:.1f}" y2="{gy:.1f}"/>'
        )
        parts.append(f'<text x="{left - 6}" y="{gy + 4:.1f}" text-anchor="end">{_power(e)}</text>')
    for i, line in enumerate(lines.values()):
        colour = COLOURS[i % len(COLOURS)]
        at = [place(px, py) for px, py in sorted(line.items()) if px > 0 and py > 0]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in at)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in at]
    parts.append(
        f'<text x="{left + width}" y="{top_y + height + 32}" text-anchor="end">{escape(x)}</text>'
    )
    parts.append(f'<text x="{left - 50}" y="{top_y - 6}">{escape(y)}</text>')
    return _svg(left + width + 20, top_y + height + 40, title, parts)


def _legend(series: Sequence[str], y: int) -> list[str]:
    parts: list[str] = []
    x = 0
    for i, name in enumerate(series):
        parts.append(
            f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>'
        )
        parts.append(f'<text x="{x + 14}" y="{y}">{escape(name)}</text>')
        x += 30 + 7 * len(name)
    return parts


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low = math.floor(math.log10(min(values)))
    return low, max(math.ceil(math.log10(max(values))), low + 1)


def _power(exponent: int) -> str:
    return (
        f"{10.0**exponent:g}"
        if exponent < 3
        else f"{10 ** (exponent - 3):,}k"
        if exponent < 6
        else f"{10 ** (exponent - 6)}M"
    )


def _cut(label: str, limit: int = 30) -> str:
    """To so many columns; Chinese, Japanese and Korean letters, and emoji, take two."""
    ends = list(accumulate(2 if east_asian_width(letter) in "WF" else 1 for letter in label))
    if not ends or ends[-1] <= limit:
        return label
    return label[: bisect(ends, limit - 1)] + "…"


def _short(value: float) -> str:
    return f"{value:.3f}" if value <= 1 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img"'
    return f'{head} aria-label="{escape(title, quote=True)}">{_STYLE}{"".join(parts)}</svg>'
