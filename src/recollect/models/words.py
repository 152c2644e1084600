"""The tokens of a plain text, word by word.

A tokenizer works a text out from its characters. A question mostly has words that were asked before,
and what BERT's tokenizers make of a word does not depend on its neighbours: each is worked out once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_KINDS = ("BertNormalizer", "BertPreTokenizer", "WordPiece")
_WORD = re.compile(r"[a-z0-9]+|[^a-z0-9 ]")  # of ASCII in lower case: a sign is a word
_KEPT = 1 << 14  # words


class Tokens(list[int]):
    """What a graph reads of an encoding."""

    @property
    def ids(self) -> list[int]:
        return self

    @property
    def type_ids(self) -> list[int]:
        return [0] * len(self)


class Words:
    def __init__(self, tokenizer: Tokenizer) -> None:
        parts: tuple[Any, ...] = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.model)
        ends = tokenizer.encode("").ids
        same = tuple(type(part).__name__ for part in parts) == _KINDS and parts[0].lowercase
        self._ends = ends if same and len(ends) == 2 else None  # before and after every text
        self._special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]

        @lru_cache(_KEPT)
        def ids(word: str) -> list[int]:
            return tokenizer.encode(word, add_special_tokens=False).ids

        self._ids = ids

    def tokens(self, text: str, most: int) -> Tokens | None:
        """As the tokenizer has them; None for what is not plain, or has more than so many."""
        if self._ends is None or not text.isascii() or not text.isprintable():
            return None
        if any(token in text for token in self._special):
            return None
        found = Tokens(self._ends[:1])
        for word in _WORD.findall(text.lower()):
            found += self._ids(word)
        found += self._ends[1:]
        return found if len(found) <= most else None
