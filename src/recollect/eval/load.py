"""From a path to a data set, whatever its format."""

from __future__ import annotations

import os
from pathlib import Path

from recollect.eval import convert
from recollect.eval.data import Dataset, is_lines, read_json, read_jsonl
from recollect.eval.precisionmem import precisionmem
from recollect.eval.trouble import DatasetError

FORMATS = ("auto", "jsonl", "locomo", "longmemeval", "conversations", "corpus", "precisionmem")
FOLDERS = ("corpus", "precisionmem")


def load(path: str | Path, form: str = "auto") -> Dataset:
    """Read `path`; `auto` looks at the file's name and shape."""
    path = Path(path)
    if form not in FORMATS:
        raise DatasetError(f"unknown format {form!r}", hint="one of " + ", ".join(FORMATS))
    if not path.exists():
        raise DatasetError(f"there is no file {path}", hint="check the path")
    if form != "auto" and path.is_dir() is not (form in FOLDERS):
        what, needed = ("folder", "file") if path.is_dir() else ("file", "folder")
        raise DatasetError(f"{path} is a {what}", hint=f"--format {form} reads a {needed}")
    if path.is_dir():
        path = path.absolute()  # "." has no name, and a corpus is named by its folder
    if form == "auto":
        return _by_shape(path)
    if form == "jsonl":
        return read_jsonl(path)
    if form == "corpus":
        return convert.corpus(path)
    if form == "precisionmem":
        return precisionmem(path)
    records = convert.listed(read_json(path))
    if form == "conversations":
        return convert.conversations(records, path.name.split(".")[0].split("_")[0])
    return convert.locomo(records) if form == "locomo" else convert.longmemeval(records)


def _by_shape(path: Path) -> Dataset:
    if path.is_dir():
        return (
            precisionmem(path) if (path / "beliefs.seed.json.gz").exists() else convert.corpus(path)
        )
    return read_jsonl(path) if is_lines(path) else convert.sniff(path)


def data_folder() -> Path | None:
    """The development data, where it is present: RECOLLECT_DATA, else beside the repository."""
    named = os.environ.get("RECOLLECT_DATA")
    folder = Path(named) if named else Path(__file__).parents[4] / "shared" / "data"
    return folder if folder.is_dir() else None
