"""Ranking arithmetic that every store shares: BM25F and the one way to take a top k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeVar

import numpy as np
import simsimd
from numpy.typing import NDArray

Row = TypeVar("Row", np.int32, np.int64)
K1 = 1.2
B = 0.75
SIFTED = 2000  # of more memories than this, those worth an exact look are found first


class Field:
    """Keyword fields by number."""

    BODY, SUMMARY, TOPIC, TAGS, TITLE, RECALL_WHEN = range(6)


FIELD_WEIGHTS = np.array([1, 2, 2, 3, 4, 5], np.float32)  # what a match in each field counts
_SORTED_WHOLE = 8  # times k: fewer are sorted sooner than parted
_COMPARED = 64  # fewer scores than this are sorted sooner as they are
_HALF = 32  # bits
_LOWER_HALF = (1 << _HALF) - 1
_BELOW_ZERO = np.int32(
    0x7FFFFFFF
)  # what numbers below zero turn over, for their bits to ascend with them
_SHIFT = 13  # half precision has 10 bits of fraction, single precision 23
_SIGN_AND_NUMBER = np.uint32(0x8FFFE000).astype(np.int32)  # without the copies of the sign
_EXPONENT = np.float32(2.0**112)  # exponents count from 15 in the one, from 127 in the other


def idf(total: int, containing: int) -> float:
    return math.log(1 + (total - containing + 0.5) / (containing + 0.5))


def field_tf(
    tf: NDArray[np.float32], length: NDArray[np.float32], average: NDArray[np.float32] | float
) -> NDArray[np.float32]:
    """Length-normalised frequency in one field. Fields are weighted and added *before* the
    saturation below (BM25F): a term in title and text saturates once, and a memory with
    text alone scores exactly as Okapi BM25 would have it."""
    return (tf / (1 - B + B * length / average)).astype(np.float32, copy=False)


def weighted_tf(
    rows: NDArray[Row],
    length: NDArray[np.uint16],
    tf: NDArray[np.uint8],
    fields: NDArray[np.uint8],
    average: NDArray[np.float32],
) -> tuple[NDArray[Row], NDArray[np.float32]]:
    """The places of one term as one weighted frequency a row."""
    frequency, size = tf.astype(np.float32), length.astype(np.float32)
    if not fields.any():
        return rows, FIELD_WEIGHTS[Field.BODY] * field_tf(frequency, size, average[Field.BODY])
    weighted = FIELD_WEIGHTS[fields] * field_tf(frequency, size, average[fields])
    # A row may hold the term in several fields: add them up first.
    rows, inverse = np.unique(rows, return_inverse=True)
    return rows, np.bincount(inverse, weighted, len(rows)).astype(np.float32)


def saturate(weighted: NDArray[np.float32]) -> NDArray[np.float32]:
    return (weighted * (K1 + 1) / (weighted + K1)).astype(np.float32, copy=False)


def exact_dots(vector: NDArray[np.float32], matrix: NDArray[np.float16]) -> NDArray[np.float32]:
    """Row by row: a matrix product adds in an order that depends on the row's place, and equal
    vectors must score equal."""
    return np.einsum("ij,j->i", widened(matrix), vector)


def widened(matrix: NDArray[np.float16]) -> NDArray[np.float32]:
    """The same numbers in single precision. numpy converts half by half; moving the bits to where
    single precision has them and setting the exponent right takes a sixth of that, and is exact
    for every finite number."""
    bits = np.ascontiguousarray(matrix, np.float16).view(np.int16).astype(np.int32)
    bits <<= _SHIFT
    bits &= _SIGN_AND_NUMBER
    wide = bits.view(np.float32)
    wide *= _EXPONENT
    return wide


def dots(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """All dot products of two small sets of vectors, on this thread alone: the threads of BLAS
    spin for many times longer than such a product takes."""
    if not len(a) or not len(b):
        return np.zeros((len(a), len(b)), np.float32)
    return np.asarray(simsimd.cdist(a, b, "dot"), np.float32).reshape(len(a), len(b))


def distinct(*parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every key once, ascending. `np.unique` hashes, and takes ten times as long for a thousand."""
    keys = np.concatenate(parts) if parts else np.empty(0, np.int64)
    keys.sort()
    return keys[_first_of_each(keys)]


def placed(parts: Sequence[NDArray[np.int64]]) -> tuple[NDArray[np.int64], list[NDArray[np.intp]]]:
    """Every key once, ascending, and for each part where its keys stand among them: sooner sorted with their
    places than looked for one by one, as no processor can guess which way a search goes on."""
    together = np.concatenate(parts) if parts else np.empty(0, np.int64)
    order = together.argsort()
    keys = together[order]
    first = _first_of_each(keys)
    at = np.empty_like(order)
    at[order] = first.cumsum() - 1
    ends = accumulate(map(len, parts))
    return keys[first], [at[end - len(part) : end] for part, end in zip(parts, ends, strict=True)]


def counted(keys: NDArray[Row]) -> tuple[NDArray[Row], NDArray[np.int64]]:
    """Every key once, ascending, and how often it was there."""
    keys = np.sort(keys)
    first = _first_of_each(keys).nonzero()[0]
    ends = np.empty_like(first)
    ends[:-1], ends[-1:] = first[1:], len(keys)
    return keys[first], ends - first


def _first_of_each(ordered: NDArray[Row]) -> NDArray[np.bool_]:
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def top(
    scores: NDArray[np.float32], keys: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The k best, best first; among equals the lower key, also at the cut."""
    if len(scores) > _SORTED_WHOLE * k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        chosen = (scores >= least).nonzero()[0]  # more than k where several are level at the cut
        scores, keys = scores[chosen], keys[chosen]
    few = len(keys) < _COMPARED
    first = 0 if few else int(keys.min())
    if few or int(keys.max()) - first > _LOWER_HALF:
        order = np.lexsort((keys, -scores))[:k]
        return keys[order], scores[order]
    best = _ordered(scores, keys - first)[:k]
    return (best & _LOWER_HALF) + first, _score_of(best)


def best_first(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """As `argsort(-scores, kind="stable")`."""
    return _ordered(scores, np.arange(len(scores))) & _LOWER_HALF


def _ordered(scores: NDArray[np.float32], ties: NDArray[np.int64]) -> NDArray[np.int64]:
    """Best first, a number for each: in its upper half the score, in its lower what orders equals. Whole numbers are
    sorted several at a time; what has a tie-breaker beside it pair by pair, in up to ten times as long."""
    bits = (np.float32(0) - scores).view(np.int32)  # from zero: there is no other zero then
    bits ^= (bits >> 31) & _BELOW_ZERO
    numbers = bits.astype(np.int64)
    numbers <<= _HALF
    numbers |= ties
    numbers.sort()
    return numbers


def _score_of(numbers: NDArray[np.int64]) -> NDArray[np.float32]:
    bits = (numbers >> _HALF).astype(np.int32)
    bits ^= (bits >> 31) & _BELOW_ZERO
    return np.float32(0) - bits.view(np.float32)
