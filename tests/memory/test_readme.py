"""The README's first code prints what it says."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def code() -> str:
    return re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]


def printed(code: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    monkeypatch.chdir(folder)
    with redirect_stdout(StringIO()) as out:
        exec(code, {})
    return out.getvalue()


def test_the_first_code_prints_what_stands_beside_it(
    code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = printed(code, monkeypatch, tmp_path)
    told = re.findall(r"# ([A-Z].*)$", code, re.MULTILINE)
    assert told == ["Carol. She runs the Atlas team.", "True"]
    assert all(f"{line}\n" in out for line in told)


def test_the_first_code_gives_the_context_shown_below_it(
    code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (context,) = re.findall(r"^```\n(\[1\].*?)^```", README, re.DOTALL | re.MULTILINE)
    assert context in printed(code, monkeypatch, tmp_path)
