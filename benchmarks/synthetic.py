"""Made-up short facts for measuring cost: deterministic, varied, not near-duplicates.

Names, places and things follow a Zipf law, as in real notes: a few people are in thousands of
facts, most in a handful, and rare words keep appearing however many facts there are. Each
fact can be asked for, so a cost benchmark also shows that the right one is still found.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate


def _words(text: str) -> list[str]:
    return text.split()


_FIRST = _words(
    """Alice Bruno Chloe Dmitri Elena Farid Greta Hiro Imani Jonas Keiko Liam Mira Noor Oscar
Priya Quentin Rosa Samir Tara Ulrich Vera Wanda Xavier Yusuf Zoe Anton Bea Carlos Dana Emeka Fiona
Gael Hana Igor Julia Kofi Lena Marco Nadia Omar Petra Ravi Sofia Tomas Uma Viktor Wei Yara Zane"""
)
_LAST = _words(
    """Abbott Bauer Castro Dimitrov Eriksen Fontaine Garcia Haddad Ito Jensen Kowalski Lindqvist
Moreau Nakamura Okafor Petrov Quiroga Rossi Silva Tanaka Ulvestad Vargas Weber Xu Yilmaz Zhang
Almeida Brandt Cohen Duarte Engel Ferrari Grant Hoffmann Ivanova Joshi Kaplan Larsen Mbeki Novak
Olsen Park Reyes Schmidt Torres Ueda Vance Walsh Young Zimmer"""
)
_PLACES = _words(
    """Lisbon Oslo Kyoto Nairobi Austin Montreal Ghent Porto Leipzig Tbilisi Medellin Cork Malmo
Busan Adelaide Quito Krakow Trieste Bergen Lyon Seville Hanoi Tartu Bologna Accra Rabat Basel Graz
Utrecht Zagreb Denver Cusco Pune Galway Turku Aarhus Izmir Beirut Sapporo Hobart"""
)
_THINGS = _words(
    """kayak greenhouse telescope violin budget thesis bakery garden podcast archive kiln
workshop mortgage passport sourdough bicycle novel mural scooter aquarium compost loom piano
prototype database dashboard invoice contract newsletter curriculum vaccine greenhouse orchard
camera drone printer router pipeline dataset benchmark parser compiler antenna generator ferry
tent saddle canoe quilt lantern microscope syllabus petition festival marathon recital exhibition
warehouse bridge tunnel harbour lighthouse vineyard beehive stable chapel library clinic studio"""
)
_ADJECTIVES = _words(
    """old second-hand blue broken borrowed new antique leaking wooden quarterly unfinished
solar shared tiny noisy yearly overdue handmade spare digital bilingual experimental rusty heavy
folding rented seasonal award-winning abandoned community custom refurbished vegan portable"""
)
_ACTIONS = (
    ("bought", "buy"), ("sold", "sell"), ("repaired", "repair"), ("presented", "present"),
    ("lost", "lose"), ("planned", "plan"), ("finished", "finish"), ("painted", "paint"),
    ("donated", "donate"), ("reviewed", "review"), ("designed", "design"), ("cancelled", "cancel"),
    ("inherited", "inherit"), ("photographed", "photograph"), ("rebuilt", "rebuild"),
    ("inspected", "inspect"), ("borrowed", "borrow"), ("insured", "insure"), ("moved", "move"),
    ("catalogued", "catalogue"), ("tested", "test"), ("published", "publish"),
)  # fmt: skip
_TAILS = (
    "because the {thing2} had failed", "with {other}", "for {other}'s birthday", "to save money",
    "after the {adj2} {thing2} arrived", "despite the rain", "so that {other} could travel",
    "and told {other} about it", "before the {thing2} deadline", "as part of project {code}",
    "using a tool called {code}", "following advice from {other}", "for {code} Ltd",
)  # fmt: skip
_SYLLABLES = _words("ba ce di fo gu ka le mi no pu ra se ti vo zu shar len tor vik mon dra quel")
_EPOCH = datetime(2022, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Fact:
    id: str
    text: str
    time: datetime
    question: str
    """One that this fact answers (others may come close)."""


def facts(count: int, seed: int = 7) -> Iterator[Fact]:
    rng = random.Random(seed)
    people = [f"{first} {last}" for first in _FIRST for last in _LAST]
    rng.shuffle(people)
    pick = {
        "people": _Zipf(people, rng),
        "places": _Zipf(_PLACES, rng),
        "things": _Zipf(_THINGS, rng, 0.6),
        "adjectives": _Zipf(_ADJECTIVES, rng, 0.5),
        "codes": _Zipf(_codes(rng, 20000), rng, 0.8),
    }
    for number in range(count):
        yield _fact(number, rng, pick)


def _fact(number: int, rng: random.Random, pick: dict[str, _Zipf]) -> Fact:
    person, other = pick["people"](), pick["people"]()
    past, base = rng.choice(_ACTIONS)
    adjective, thing, place = pick["adjectives"](), pick["things"](), pick["places"]()
    when = _EPOCH + timedelta(minutes=rng.randrange(4 * 365 * 24 * 60))
    tail = rng.choice(_TAILS).format(
        other=other, thing2=pick["things"](), adj2=pick["adjectives"](), code=pick["codes"]()
    )
    text = f"{person} {past} the {adjective} {thing} in {place} {tail}."
    if rng.random() < 0.4:
        text += f" It cost {rng.randrange(5, 9000)} euros."
    if rng.random() < 0.3:
        text += f" The {pick['codes']()} ticket is {rng.choice('ABCDEFGH')}-{rng.randrange(100, 99999)}."
    question = rng.choice(
        (
            f"Where did {person} {base} the {adjective} {thing}?",
            f"What did {person} {base} in {place}?",
            f"When did {person} {base} the {adjective} {thing} in {place}?",
            f"Who {past} the {adjective} {thing} in {place} {tail}?",
        )
    )
    return Fact(f"f{number}", text, when, question)


class _Zipf:
    """Draws with probability 1 / rank^exponent."""

    def __init__(self, values: Sequence[str], rng: random.Random, exponent: float = 1.0) -> None:
        self._values = values
        self._rng = rng
        self._weights = list(accumulate(1 / rank**exponent for rank in range(1, len(values) + 1)))

    def __call__(self) -> str:
        return self._rng.choices(self._values, cum_weights=self._weights)[0]


def _codes(rng: random.Random, count: int) -> list[str]:
    made: dict[str, None] = {}
    while len(made) < count:
        made["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))).capitalize()] = None
    return list(made)
