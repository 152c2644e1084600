"""Names that are recognised by their form: paths, identifiers, versions, error codes, URLs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

__all__ = ["technical_spans"]

# Repeats are bounded, so that a long run of letters and dots costs no more than its length.
# Cheap test: with none of these characters no pattern below can match.
_MAYBE = re.compile(r"[/_`@\\]|[a-z][A-Z]|\.[a-z]|v\d|\d\.\d|\d[A-Z]|[A-Z][- ]?\d|\d-\d")
# Figures alone ("It cost 40 euros") say nothing, but beside them a name in capitals counts.
_MAYBE_ERROR = re.compile(r"\bE[A-Z]{3}")
_FIGURE = re.compile(r"\d")

_PATTERN = r"""
    (?P<url>\b(?:https?|ftp|s3|postgres(?:ql)?|redis|file)://[^\s<>"'`)\]]+|\bwww\.[^\s<>"'`)\]]+)
  | (?P<mail>(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{0,64}\w)
  | (?P<handle>(?<![\w@])@(?!everyone\b|here\b|all\b|channel\b)\w{2,30}\b)
  | `(?P<code>[^`\n]{2,60})`
  | (?P<path>(?<![\w/.])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+*-]+)+/?|\b[A-Z]:\\[\w.\\-]+
      |(?<![\w/.-])[\w.-]{1,64}/(?:[\w.-]{1,64}/){0,12}[\w-]{1,64}\.[a-z]{1,5}\b)
  | (?P<file>(?<![\w.-])[\w-]{1,64}\.(?:py|js|ts|tsx|jsx|rs|go|java|rb|php|c|h|cc|cpp|hpp|cs|sql|sh|md|txt|json|
      jsonl|ya?ml|toml|ini|cfg|conf|csv|tsv|xml|html?|css|ipynb|lock|log|db|pdf|docx?|xlsx?|pptx?|
      png|jpe?g|gif|svg|mp[34]|zip|tar\.gz|gz|whl|onnx|env)\b(?!\.\w))
  | (?P<snake>\b[A-Za-z](?=\w{0,64}_)\w{0,80}[A-Za-z0-9](?:\(\))?)
  | (?P<camel>\b[a-z]+(?:[A-Z][a-z0-9]+)+(?:\(\))?(?![\w-])|\b(?:[A-Z][a-z0-9]+){2,}(?:Error|Exception|Warning)\b)
  | (?P<version>\bv\d+(?:\.\d+)*(?:[-.]?(?:rc|alpha|beta|dev|post)[-.]?\d*)?\b
      |(?<![\d.$€£])\b\d+\.\d+\.\d+(?:\.\d+)?(?:[-.]?(?:rc|alpha|beta|dev|post)[-.]?\d*)?\b(?!%))
  | (?P<error>\b(?:E|ERR|ORA|CVE|PEP|RFC|ISO|TS|HTTP|SQLSTATE|KB)[-_ ]?\d{2,}(?:-\d+)*\b
      |\b[A-Z][A-Z0-9]{1,9}-\d{1,6}\b|\bE(?:CONN|NOENT|ACCES|PERM|EXIST|INVAL|PIPE|AGAIN|ADDR|TIMEDOUT|HOST|NOTFOUND)[A-Z]*\b)
"""


_IDENTIFIERS = frozenset({"snake", "camel"})


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(_PATTERN, re.VERBOSE)


def technical_spans(text: str) -> Iterator[tuple[int, int]]:
    """Spans of URLs, addresses, paths, identifiers, versions and codes."""
    if not _MAYBE.search(text) and not (_MAYBE_ERROR.search(text) and _FIGURE.search(text)):
        return
    for match in _pattern().finditer(text):
        group = match.lastgroup or ""
        start, end = match.span(group)
        if group in _IDENTIFIERS and text.startswith("=", end):
            continue  # the name of a field ("message_type=Send") says nothing of its content
        if group in ("url", "path"):
            while text[end - 1] in ".,;:!?":
                end -= 1
        yield start, end
