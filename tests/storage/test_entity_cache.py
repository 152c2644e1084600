"""Entities are loaded asleep and learnt when a word of theirs comes up; nobody can tell."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.language.entities import EntityResolver, KnownEntity, find_entities
from recollect.storage.entities import EntityCache
from recollect.testing import open_fake

NAMES = """Alice|Alice Chen|A. Chen|Dr. Chen|Bob|Robert|Robert Smith|Bobby|International Business
Machines|IBM|I.B.M.|Bank of England|BOE|Google|Google LLC|Alphabet Inc.|Room 101|Room 102|Tigran|Iran
|postgres|PostgreSQL|js|JavaScript|Zoë|Zoe|東京|U.S.|US|O'Brien|McDonald's|AT&T|node.js|v1.2|The Hague
|Liz|Elizabeth Warren|New York|New York Times|NYT|San Francisco|SF"""
NAME = st.sampled_from([" ".join(n.split()) for n in NAMES.split("|")])
KIND = st.sampled_from(["person", "organisation", "place", "product", "technical", "other"])
KNOWN = st.lists(st.tuples(NAME, KIND, st.lists(NAME, max_size=2)), max_size=12)


@settings(max_examples=300, deadline=None)
@given(KNOWN, st.lists(st.tuples(NAME, KIND), min_size=1, max_size=6))
def test_a_sleeping_resolver_resolves_as_one_that_knows_all(known, asked) -> None:
    entities = [
        KnownEntity(n, name, kind, frozenset(aliases) - {name}, n % 3)
        for n, (name, kind, aliases) in enumerate(known, 1)
    ]
    awake = EntityResolver(entities)
    cache = EntityCache()
    rows = [(e.id, e.name, e.kind, _json(e.aliases), e.mentions) for e in entities]
    cache.catch_up(rows)
    assert len(cache.resolver) == len(awake)
    for name, kind in asked:
        assert cache.resolver.resolve(name, kind) == awake.resolve(name, kind)
        text = f"Yesterday {name} met somebody from {asked[0][0]}."
        found, wanted = (
            [m.span for m in find_entities(text, known=resolver.matcher())]
            for resolver in (cache.resolver, awake)
        )
        assert found == wanted


def test_the_first_text_after_opening_finds_a_name_that_only_the_bank_knows(tmp_path: Path) -> None:
    with open_fake(tmp_path / "m.db") as memory:
        memory.retain("b", {"text": "We saw it from the tower", "entities": ["zorblax prime"]})
    with open_fake(tmp_path / "m.db") as memory:
        known = memory.store.view("b").resolver.matcher()
        found = find_entities("what about zorblax prime then", known=known)
    assert [mention.text for mention in found] == ["zorblax prime"]


def _json(aliases: frozenset[str]) -> str:
    import orjson

    return orjson.dumps(sorted(aliases)).decode()
