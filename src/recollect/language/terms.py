"""Terms: what the keyword arm matches.

A text becomes terms the same way on every store and on both sides of a search: NFKC,
case-folded, accents folded, English words stemmed, CJK and Hangul runs cut into bigrams.
A name, code or identifier ("PROJ-1234", "foo_bar.py", "v1.2") is a term of its own *and*
its parts are, so that it matches exactly and in pieces; so is a flag of a command line ("--chunks", "-v").
Emoji are terms. "Müller" is a term as "Mueller" writes it, too; words in ASCII letters are none but themselves.

A term is stored as a 64-bit hash: no vocabulary to keep, to load or to clean after a
deletion, and the same number in every store.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b
from itertools import chain

import Stemmer

from recollect.language.emoji import SEQUENCE, emoji_terms, has_emoji

_stem_word: Callable[[str], str] = Stemmer.Stemmer("english").stemWord  # pyright: ignore

# Where a word may be broken, what it must not be parted from, which way it runs: nobody sees that they are in it.
_UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
# Scripts whose vowel signs and marks are no "word" characters to a regular expression.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
# Written without spaces: cut into bigrams.
_SOLID = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u104f\u1780-\u17d3"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
)
_LETTER = rf"[\w{_MARKS}{_SOLID}]"
# Letters, digits and the characters that hold identifiers together (not at their ends).
_CHUNK = re.compile(rf"{_LETTER}+(?:[.\-_/@:+#'’]{_LETTER}+)*[+#]*")
# A flag begins a word: "--" may also be a dash, a rule or a minus ("a--b", "-----", "x -- y", "-9").
_NOT_BEFORE = r"""[^\s"'“”‘’(\[{`|/,=]"""
_FLAG = rf"(?<!{_NOT_BEFORE})(?:--(?=[A-Za-z])|-(?=[A-Za-z](?![\w-])))"
# What begins with a letter is looked for faster than what begins with a look back.
_HAS_FLAG = re.compile(rf"-(?<!{_NOT_BEFORE}-)(?:-[A-Za-z]|[A-Za-z](?![\w-]))").search
# The same with flags and emoji: it takes longer, and few texts have any.
_RARER = re.compile(rf"(?:{_FLAG})?{_CHUNK.pattern}|{SEQUENCE}")
_NAMED_FLAG = re.compile(rf"{_FLAG}{_CHUNK.pattern}")
# Written without the letters of their own: Mueller, Soeren, Aarhus. ("ß" is folded to "ss" in any case.)
_PLAIN_LETTERS = str.maketrans({
    "ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae",
    "Ä": "AE", "Ö": "OE", "Ü": "UE", "Ø": "OE", "Å": "AA", "Æ": "AE",
})  # fmt: skip
_PART = re.compile(rf"(?:[^\W_]|[{_MARKS}{_SOLID}])+")
_CJK = re.compile(rf"[{_SOLID}]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_APOSTROPHE = re.compile(r"['’](?:s|re|ve|ll|d|m|t)$|n['’]t$")

# What asks in Chinese and Japanese, where no space parts it from what is asked about: "我|什么时候|看牙医".
_ASKING = re.compile(
    "[为為]?什[么麼](?:[时時]候)?|怎[么麼][样樣]?|哪[里裡儿兒个個些天年]|多少|[几幾][点點个個岁歲时時天]|[谁誰吗嗎呢]"
    # After a particle, or where kana begin: ぶどう are grapes, and いつも is always.
    "|(?:(?<![ぁ-ん])|(?<=[はがをにでのと]))(?:いつ|どこ|だれ|なぜ|どうして|どんな|どの|どう|いくつ|いくら)(?![もぶ])"
    "|何(?=[がをはにで])|(?:で|ま)(?:す|した)か|でしょうか"
)
# Words that carry the form of a question, not its subject. They are indexed (a memory may be
# *about* "The Who") but asked for only when nothing else is left of the query.
STOP = frozenset(
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "of",
        "to",
        "in",
        "on",
        "at",
        "by",
        "for",
        "from",
        "with",
        "and",
        "or",
        "but",
        "if",
        "so",
        "as",
        "than",
        "then",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "am",
        "do",
        "does",
        "did",
        "doing",
        "done",
        "have",
        "has",
        "had",
        "having",
        "will",
        "would",
        "shall",
        "should",
        "can",
        "could",
        "may",
        "might",
        "must",
        "i",
        "me",
        "my",
        "mine",
        "we",
        "us",
        "our",
        "you",
        "your",
        "he",
        "him",
        "his",
        "she",
        "her",
        "it",
        "its",
        "they",
        "them",
        "their",
        "who",
        "whom",
        "whose",
        "what",
        "which",
        "when",
        "where",
        "why",
        "how",
        "not",
        "no",
        "there",
        "here",
        "about",
        "into",
        "over",
        "any",
        "some",
        "tell",
        "please",
        "s",
        "t",
        "re",
        "ve",
        "ll",
        "d",
        "m",
    ]
)


def terms(text: str) -> list[str]:
    """All terms of a text, in order, repeats included."""
    return list(chain.from_iterable(map(_terms_of, _chunks(text))))


def counted(text: str) -> Counter[int]:
    """Term hash → how often, as the index stores it."""
    return Counter(chain.from_iterable(map(_hashes_of, _chunks(text))))


def query_terms(text: str) -> tuple[str, ...]:
    """The distinct terms worth asking for, in order of appearance; where a text is all small
    words ("Who are you?"), those."""
    return content_terms(text) or tuple(dict.fromkeys(terms(text)))


def content_terms(text: str) -> tuple[str, ...]:
    """The distinct terms of a text that are no stop words, in order of appearance."""
    asked = text if text.isascii() else _ASKING.sub(" ", text)
    return tuple(t for t in dict.fromkeys(terms(asked)) if t not in _STOP_TERMS)


def flags(text: str) -> list[str]:
    """The flags of a command line that a text names: "--max-tokens", "-v"."""
    return _NAMED_FLAG.findall(text) if "-" in text else []


def without_flags(text: str) -> str:
    return _NAMED_FLAG.sub(" ", text)


def spellings(text: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Of words that have terms besides the plain ones: these, and those. A bank need not hold both: it may write
    "Mueller", or have been filled when flags and emoji were no terms."""
    if text.isascii() and "-" not in text:
        return []
    told = map(_spelt, dict.fromkeys(_chunks(text)))
    return [(plain, others) for plain, others in told if others]


@lru_cache(maxsize=1 << 16)
def term_hash(term: str) -> int:
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little", signed=True)


def label_hash(label: str) -> int:
    """A tag or another exact label as a number; never equal to a term's by construction."""
    return term_hash("\x00" + label)


def fold(text: str) -> str:
    """Case and accents away: "Café" and "CAFE" are one word."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    kept = "".join(c for c in decomposed if not unicodedata.combining(c) or c in "\u3099\u309a")
    return unicodedata.normalize("NFC", kept)


def _chunks(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", text)
    if not text.isascii():
        text = _UNSEEN.sub("", text)
    if ("-" in text and _HAS_FLAG(text)) or (not text.isascii() and has_emoji(text)):
        return _RARER.findall(text)
    return _CHUNK.findall(text)


@lru_cache(maxsize=1 << 16)
def _hashes_of(chunk: str) -> tuple[int, ...]:
    return tuple(term_hash(t) for t in _terms_of(chunk))


@lru_cache(maxsize=1 << 16)
def _terms_of(chunk: str) -> tuple[str, ...]:
    plain, others = _spelt(chunk)
    return plain + others


def _spelt(chunk: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The terms of a chunk, and those that stand beside them."""
    if chunk[0] == "-":
        bare = chunk.lstrip("-")
        return _terms_of(bare), (f"-{bare}" if len(bare) == 1 else fold(chunk),)  # -v is not -V
    if chunk.isascii():
        return _plain_terms(chunk), ()
    if has_emoji(chunk[0]):
        return (), emoji_terms(chunk)
    plain = _plain_terms(chunk)
    spelt = chunk.translate(_PLAIN_LETTERS)
    return plain, tuple(t for t in _plain_terms(spelt) if t not in plain) if spelt != chunk else ()


def _plain_terms(chunk: str) -> tuple[str, ...]:
    if _CJK.search(chunk):
        return tuple(_mixed(chunk))
    word = _APOSTROPHE.sub("", chunk)
    folded = fold(word)
    parts = [p for camel in _CAMEL.split(word) for p in _PART.findall(fold(camel))]
    out = [_stem(p) for p in parts]
    if len(parts) != 1 or folded != parts[0]:
        out.append(folded)  # the identifier whole: exact, unstemmed
    return tuple(out)


def _mixed(chunk: str) -> Iterable[str]:
    at = 0
    for run in _CJK.finditer(chunk):
        yield from _terms_of(chunk[at : run.start()]) if run.start() > at else ()
        yield from _bigrams(fold(run.group()))
        at = run.end()
    if at < len(chunk):
        yield from _terms_of(chunk[at:])


def _bigrams(run: str) -> Iterable[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


def _stem(word: str) -> str:
    if len(word) > 3 and word.isascii() and word.isalpha():
        return _stem_word(word)
    return word


_STOP_TERMS = STOP | {_stem(w) for w in STOP}
