"""How many tokens a text will cost the model that reads it.

An estimate of OpenAI's cl100k count that needs no vocabulary. The exact tokenizer is a
75 MB package and 100 MB of memory; packing needs a count that is close and does not run
under. `benchmarks/tokens.py` compares the two: within a few per cent over a packed answer,
leaning high. What is refused for its length is refused by the least it can be: each of the pieces that cl100k cuts
a text into is a token at least.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|[^\s\w]+|_+|\n+")
# A character of a script without spaces is a word: a Chinese paragraph is not one of them.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
    r"|[^\s\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+"
)
# As cl100k cuts a text before it looks anything up: a word takes the sign or space before it along.
_CUT = re.compile(
    r"'(?:[sdmt]|ll|ve|re)|(?:[^\w\r\n]|_)?[^\W\d_]+|\d{1,3}| ?(?:[^\s\w]|_)+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    re.IGNORECASE,
)
_SOLID = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
# No token is longer: of a word, of a row of spaces or dashes, and in bytes of other letters. Of scripts without spaces
# hardly any holds two signs.
_WORD_MOST, _ROW_MOST, _BYTES_MOST, _SIGNS_MOST = 32, 128, 16, 2
_LEAN = 1.06  # above the mean ratio to the exact count, so that a budget is kept


def count_tokens(text: str) -> int:
    n = 0.0
    for piece in _PIECE.findall(text):
        if not piece.isascii():
            n += len(piece.encode()) / 2.4
        elif piece[0].isalpha():
            size = len(piece)
            n += 1 + (size - 8) / 6 if size > 8 else 1
            if size > 4 and not piece.islower():
                n += 0.25
        else:
            n += 1
    return max(1, math.ceil(n * _LEAN)) if text else 0


def least_tokens(text: str) -> int:
    """A text has so many tokens or more."""
    return sum(map(_least, _CUT.findall(text)))


def _least(piece: str) -> int:
    size = len(piece)
    if piece.isascii():
        most = _WORD_MOST if piece[-1].isalpha() else _ROW_MOST
        return 1 + (size - 1) // most
    signs, rest = len(_SOLID.findall(piece)), len(piece.encode())
    return max(1, signs // _SIGNS_MOST, rest // _BYTES_MOST)


def truncate(text: str, max_tokens: int) -> str:
    """The longest prefix of whole words within `max_tokens`. Where even the first word is longer,
    as much of it as fits: a log line, a link, or a script whose words we cannot tell apart."""
    if count_tokens(text) <= max_tokens:
        return text
    words = [m.end() for m in _WORD.finditer(text)]
    return _fitting(text, words, max_tokens) or _fitting(text, range(1, len(text)), max_tokens)


def _fitting(text: str, ends: Sequence[int], max_tokens: int) -> str:
    """The longest prefix that stops at one of `ends`."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[: ends[middle - 1]]) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return text[: ends[low - 1]] if low else ""
