"""Measure recall quality on your own data: what `recollect eval` runs.

>>> from recollect.eval import load, evaluate, Recollect
>>> report = evaluate(load(path), Recollect(memory))        # doctest: +SKIP
>>> report.overall["recall@10"].value                       # doctest: +SKIP
"""

from recollect.eval.data import Bank, Dataset, Query, Unit, read_jsonl, write_jsonl
from recollect.eval.gate import parse_rules
from recollect.eval.load import load
from recollect.eval.metrics import Figure, Judged, Ranked
from recollect.eval.report import Report, ablate, evaluate
from recollect.eval.systems import Recollect, System
from recollect.eval.trouble import DatasetError

__all__ = [
    "Bank",
    "Dataset",
    "DatasetError",
    "Figure",
    "Judged",
    "Query",
    "Ranked",
    "Recollect",
    "Report",
    "System",
    "Unit",
    "ablate",
    "evaluate",
    "load",
    "parse_rules",
    "read_jsonl",
    "write_jsonl",
]
