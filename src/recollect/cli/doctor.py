"""`recollect doctor`: is everything here as it should be, and if not, what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from recollect.cli.session import Session

if TYPE_CHECKING:
    import sqlite3

    from recollect.client import Client
    from recollect.config import Settings
    from recollect.memory import Recollect


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    ok: bool
    says: str
    hint: str | None = None


def doctor(session: Session) -> None:
    """Check the store, the models and the installation.

    Exit code 1 when something is wrong; each finding says what to do.
    """
    from recollect.cli.output import emit

    findings = [*_versions(), *_models(session.settings()), *_store(session)]
    if session.json:
        emit({"ok": all(f.ok for f in findings), "findings": [asdict(f) for f in findings]})
    else:
        _draw(findings)
    if not all(f.ok for f in findings):
        raise typer.Exit(1)


def _draw(findings: list[Finding]) -> None:
    from rich.table import Table
    from rich.text import Text

    from recollect.cli.output import console, flat

    out = console()
    width = max(len(f.check) for f in findings)
    for f in findings:
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_column(width=width + 2, no_wrap=True)
        line.add_column(overflow="fold")
        mark = Text("✓ " if f.ok else "✗ ", style="green" if f.ok else "bold red")
        line.add_row(mark.append(f.check, style="bold"), flat(f.says))
        out.print(line)
        if f.hint:
            out.print(Text(f"  hint: {flat(f.hint)}", style="yellow"))


# --- the installation ------------------------------------------------------------------------


def _versions() -> Iterator[Finding]:
    import platform
    import sqlite3
    from importlib.metadata import PackageNotFoundError, version

    yield Finding("recollect", True, version("recollect"))
    yield Finding(
        "python", True, f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    )
    for package in ("onnxruntime", "numpy", "tokenizers", "simsimd"):
        try:
            yield Finding(package, True, version(package))
        except PackageNotFoundError:
            yield Finding(package, False, "is not installed", f"pip install {package}")
    enough = sqlite3.sqlite_version_info >= (3, 37)
    yield Finding(
        "sqlite",
        enough,
        sqlite3.sqlite_version,
        None if enough else "recollect needs SQLite 3.37 or newer; use a newer Python build",
    )


def _models(settings: Settings) -> Iterator[Finding]:
    from recollect.memory.parts import cross_encoder
    from recollect.models.folder import read_folder
    from recollect.models.registry import load_embedder, load_reranker, shipped, shipped_models

    names = shipped_models()
    if not names:
        yield Finding(
            "models",
            False,
            "no model is in the package",
            "reinstall recollect; the models are part of it",
        )
    for name in names:
        yield _tried(
            f"model {name}",
            lambda name=name: f"hashes match: {read_folder(shipped(name)).graph.name}",
        )

    def embeds() -> str:
        embedder = load_embedder(settings.embedder, timeout=settings.model_timeout_s)
        (vector,) = embedder.encode_queries(["Where does Alice work?"]).vectors
        return f"{embedder.name} embeds, {len(vector)} dimensions"

    def reranks() -> str:
        reranker = load_reranker(cross_encoder(settings), timeout=settings.model_timeout_s)
        if reranker is None:
            return f"{settings.reranker}: no cross-encoder is used"
        reranker.score("Where does Alice work?", ["Alice works in Zurich.", "It rained."])
        return f"{reranker.name} reranks"

    yield _tried("embedder", embeds)
    yield _tried("reranker", reranks)


# --- the file --------------------------------------------------------------------------------


def _store(session: Session) -> Iterator[Finding]:
    from recollect.cli.session import is_server, store_path

    if is_server(session.settings().db):
        yield from _asked(session)
        return
    path, named = store_path(session.settings()), session.settings().db or ""
    if named.startswith(("postgres://", "postgresql://")):
        yield from _server(session, named)
        return
    if path is None:
        yield Finding("store", True, f"{named}: no file to check")
        return
    if not path.exists():
        yield Finding("store", True, f"{path} is not there yet; the first retain makes it")
        return
    wal = path.with_name(path.name + "-wal")
    size = path.stat().st_size + (wal.stat().st_size if wal.exists() else 0)
    yield Finding("store", True, f"{path}, {size / 1e6:,.1f} MB")
    file = list(_file(path))
    yield from file
    if all(f.ok for f in file):
        yield from _banks(session)


def _asked(session: Session) -> Iterator[Finding]:
    """A server, as its clients find it."""
    from recollect.cli.output import held
    from recollect.errors import RecollectError

    where = session.settings().db or ""
    try:
        with session.open() as memory:
            memory.warm()
            yield Finding("server", True, f"{where} is ready")
            for bank in memory.banks():
                yield Finding(f"bank {bank.id}", True, held(bank))
                yield _tried(f"bank {bank.id}", lambda b=bank.id: _searched(memory, b))
    except RecollectError as error:
        yield Finding("server", False, error.message, error.hint)


def _server(session: Session, dsn: str) -> Iterator[Finding]:
    from recollect.errors import RecollectError

    try:
        from recollect.storage.postgres.schema import described

        yield Finding("store", True, described(dsn, session.settings().pg_schema))
    except (RecollectError, ModuleNotFoundError) as error:
        hint = getattr(error, "hint", None) or "pip install 'recollect[postgres]'"
        yield Finding("store", False, getattr(error, "message", str(error)), hint)
        return
    if session.settings().read_dsn is not None:
        yield _replica(session.settings())
    yield from _banks(session)


def _replica(settings: Settings) -> Finding:
    from recollect.storage.postgres.replica import described

    return _tried("replica", lambda: described(settings.read_dsn or "", settings.pg_schema))


def _file(path: Path) -> Iterator[Finding]:
    """Read only and without our own code first: a damaged file must still be reported on."""
    import sqlite3

    from recollect.storage.sqlite.connection import translated

    def readable() -> str:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        try:
            with translated(path):
                return _problems(connection)
        finally:
            connection.close()

    found = _tried("integrity", readable)
    if found.ok and found.says:
        found = Finding(
            "integrity", False, found.says, "restore a copy, or try `sqlite3 FILE .recover`"
        )
    yield found if not found.ok else Finding("integrity", True, "every page and index is sound")
    if found.ok:
        yield _tried("schema", lambda: _schema(path))


def _problems(connection: sqlite3.Connection) -> str:
    found = [row[0] for row in connection.execute("PRAGMA integrity_check(5)").fetchall()]
    return "" if found == ["ok"] else "; ".join(found)


def _schema(path: Path) -> str:
    from recollect.storage.sqlite.connection import migrations, prepare

    prepare(path, 5000)  # refuses what is not ours or newer than we are
    return f"version {migrations()[-1][0]}, the newest this recollect knows"


def _banks(session: Session) -> Iterator[Finding]:
    from recollect.cli.output import held
    from recollect.errors import RecollectError
    from recollect.models.registry import way_back

    try:
        with session.existing_store() as memory:
            for half in memory.arrivals():
                yield Finding(
                    f"bank {half}",
                    False,
                    "an import or copy of it is under way, or was interrupted",
                    f"repeat it, or take away what is there: recollect forget {half} --all",
                )
            mine = memory.embedder.name
            for bank in memory.banks():
                fits = bank.embedder == mine
                says = f"{held(bank)}, embedded with {bank.embedder}"
                hint = f"this process uses {mine}: {way_back(bank.embedder, bank.id)}"
                yield Finding(f"bank {bank.id}", fits, says, None if fits else hint)
                if fits:
                    yield _tried(f"bank {bank.id}", lambda b=bank.id: _searched(memory, b))
    except RecollectError as error:
        yield Finding("banks", False, error.message, error.hint)


def _searched(memory: Recollect | Client, bank: str) -> str:
    from recollect.errors import ModelError

    result = memory.recall(bank, "check", budget="low", max_tokens=1)
    if result.degraded:
        first = result.degraded[0]
        raise ModelError(
            f"answers without {first.part}: {first.reason}",
            hint=f"check that model; a bank embedded with another: recollect reembed {bank}",
        )
    return f"answers in {result.timings['total']:.0f} ms"


def _tried(check: str, what: Callable[[], str]) -> Finding:
    from recollect.errors import RecollectError

    try:
        return Finding(check, True, what())
    except RecollectError as error:
        return Finding(check, False, error.message, error.hint)
