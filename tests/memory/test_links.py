"""Every link of the pages leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("data/*.md")]
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    for link in re.findall(r"\]\(([^)\s]+)\)", _CODE.sub("", page.read_text("utf-8"))):
        if not re.match(r"\w+:", link):
            path, _, anchor = link.partition("#")
            yield (page.parent / path).resolve() if path else page, anchor


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    found = re.findall(
        r"^#+ (.*)$", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL), re.M
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_every_file_that_a_page_links_to_is_there() -> None:
    assert not [f"{p.name}: {to}" for p in PAGES for to, _ in links(p) if not to.exists()]


def test_every_heading_that_a_page_links_to_is_there() -> None:
    told = [(p, to, anchor) for p in PAGES for to, anchor in links(p) if anchor and to in PAGES]
    assert not [f"{p.name}: {to.name}#{a}" for p, to, a in told if a not in anchors(to)]
