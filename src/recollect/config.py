"""One Settings object: defaults < TOML file < RECOLLECT_* environment < arguments.

Every setting knows where its value came from (`Settings.origin`), so that
`recollect config` can show it.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast, get_args, get_type_hints

from recollect.errors import ConfigError

ENV_PREFIX = "RECOLLECT_"
_WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", tuple: "list"}
# What makes sense, where the kind alone does not say it. `workers` and how to log are a server's, and
# are looked at when one starts.
_ONE_OF: Mapping[str, tuple[str, ...]] = {
    "fusion": ("weighted", "rrf"),
    "budget_mode": ("fixed", "adaptive"),
    "recency_decay": ("linear", "exponential", "none"),
}
_BETWEEN: Mapping[str, tuple[float, float]] = {
    **dict.fromkeys(("rrf_k", "rerank_candidates", "rerank_timeout_ms"), (1, math.inf)),
    **dict.fromkeys(("budget_low", "budget_mid", "budget_high"), (1, math.inf)),
    **dict.fromkeys(("threads", "pool_size", "rate_burst"), (1, math.inf)),
    **dict.fromkeys(("body_limit", "queue_attempts"), (1, math.inf)),
    **dict.fromkeys(("model_timeout_s", "extractor_timeout_s", "queue_lease_s"), (0.001, math.inf)),
    **dict.fromkeys(("cache_entries", "cache_seconds", "busy_timeout_ms"), (0, math.inf)),
    **dict.fromkeys(("held_facts", "rate_limit", "queue_kept_days"), (0, math.inf)),
    **dict.fromkeys(("min_score", "superseded_factor"), (0, 1)),
    "min_similarity": (-1, 1),
    "port": (0, 65535),
}
_PASSWORD = re.compile(r"(?<=password=)[^&\s]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    db: str | None = None  # a path or DSN; None = memory.db in the user's data folder
    api_key: str | None = None  # for a command line that asks a server: --db http://…
    embedder: str | None = None  # None = the shipped model
    reranker: str = "default"  # default | none | late-interaction | rrf | a path or URL
    model_timeout_s: float = 10.0  # for one answer of an embedder or reranker that is a service
    extractor: str | None = None  # an LLM, https://host/v1#model; None = rules, no LLM
    extractor_timeout_s: float = 60.0  # for one answer
    extractor_required: bool = False  # rather fail than read by rule when the LLM does
    fusion: str = "weighted"  # weighted | rrf (the reference: k = 60, equal votes)
    rrf_k: int = 60
    rerank_candidates: int = 300
    rerank_timeout_ms: int = 10_000  # for a reranker that is a service; then a recall does without
    budget_mode: str = "fixed"  # fixed | adaptive
    budget_low: int = 100
    budget_mid: int = 300
    budget_high: int = 1000
    min_similarity: float | None = None  # cosine; None: what fits the embedder
    min_score: float = 0.0  # floor on final scores when a call names none
    recency_decay: str = "linear"  # linear | exponential | none
    superseded_factor: float = 0.5
    cache_entries: int = 100
    cache_seconds: float = 30.0
    token_vectors: bool = True
    agent_names: tuple[str, ...] = ("assistant", "agent", "ai", "bot")
    busy_timeout_ms: int = 30_000
    held_facts: int = 2_000_000  # in memory (2 to 3 KB each); banks unused longest go
    read_dsn: str | None = None  # PostgreSQL: where recalls read, a replica of `db`
    pool_size: int = 8  # PostgreSQL: connections for reading; writing has half as many of its own
    pg_schema: str = "recollect"  # PostgreSQL: where the tables are
    threads: int = 2
    # --- as a server: `recollect serve`
    host: str = "127.0.0.1"
    port: int = 8888
    workers: int = 1  # processes; each core can have one
    no_auth: bool = False  # serve anybody, on any address
    cors_origins: tuple[str, ...] = ()  # web pages that may ask; none by default
    rate_limit: float = 100.0  # requests a second for each API key; 0 = as many as it likes
    rate_burst: int = 200  # how many of them at once
    body_limit: int = 32 * 1024 * 1024  # bytes in one request
    audit_log: str | None = None  # a file, or "-" for stderr: who changed what
    log_format: str = "text"  # text | json
    log_level: str = "info"
    metrics: bool = True  # /metrics, for Prometheus
    queue_attempts: int = 5  # before an operation has failed
    queue_lease_s: float = 30.0  # how long a claim outlives a worker that nobody can ask
    queue_kept_days: float = 7.0  # how long finished operations can be asked about
    origin: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)


def setting_names() -> frozenset[str]:
    return frozenset(_hints())


def cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load_settings(
    *,
    file: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    **arguments: Any,
) -> Settings:
    """Settings in force, each with its origin. An argument that is None says nothing."""
    environ = os.environ if environ is None else environ
    named = file or environ.get(ENV_PREFIX + "CONFIG")
    layers = [
        _from_toml(Path(named)) if named else {},
        _from_environ(environ),
        {k: (v, "argument") for k, v in arguments.items() if v is not None},
    ]
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for layer in layers:
        for name, (value, source) in layer.items():
            values[name] = _checked(name, value, source)
            origin[name] = source
    return replace(Settings(), **values, origin=origin)


def _from_toml(path: Path) -> dict[str, tuple[Any, str]]:
    try:
        loaded = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(
            f"no settings file at {path}",
            hint="check --config and RECOLLECT_CONFIG, or create the file",
        ) from error
    except OSError as error:
        raise ConfigError(
            f"the settings file {path} cannot be read: {error.strerror}", hint="name another file"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", hint="fix that line") from error
    table = loaded.get("recollect", loaded)
    return {name: (value, str(path)) for name, value in table.items()}


def _from_environ(environ: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    known = _hints()
    out: dict[str, tuple[Any, str]] = {}
    for variable, raw in environ.items():
        name = variable.removeprefix(ENV_PREFIX).lower()
        if variable.startswith(ENV_PREFIX) and name in known:
            out[name] = (_parse(name, raw, variable), f"${variable}")
    return out


def mistyped(environ: Mapping[str, str]) -> dict[str, str]:
    """Variables that are no setting but nearly one, and what was meant."""
    known = [name.upper() for name in _hints()]
    given = (v.removeprefix(ENV_PREFIX) for v in environ if v.startswith(ENV_PREFIX))
    near = {name: get_close_matches(name, known, 1, 0.8) for name in given if name not in known}
    return {ENV_PREFIX + name: ENV_PREFIX + found[0] for name, found in near.items() if found}


def without_password(value: Any) -> Any:
    """As it may be shown: postgresql://me:***@host/db."""
    if not isinstance(value, str) or "://" not in value:
        return value
    scheme, _, rest = value.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    name, colon, _ = user.partition(":")
    shown = f"{name}:***{at}{host}" if colon else authority
    return _PASSWORD.sub("***", f"{scheme}://{shown}{slash}{path}")


def _hints() -> dict[str, Any]:
    hints = get_type_hints(Settings)
    return {f.name: hints[f.name] for f in fields(Settings) if f.name != "origin"}


def _kind(name: str) -> type:
    hint = _hints()[name]
    plain = [a for a in get_args(hint) if a is not type(None) and a is not ...]
    if getattr(hint, "__origin__", None) is tuple:
        return tuple
    return plain[0] if plain else hint


def _parse(name: str, raw: str, source: str) -> Any:
    kind = _kind(name)
    try:
        if kind is bool:
            return {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}[
                raw.lower()
            ]
        if kind is tuple:
            return tuple(part.strip() for part in raw.split(",") if part.strip())
        return kind(raw)
    except (KeyError, ValueError) as error:
        raise ConfigError(
            f"{source} = {raw!r} is not a {_WORDS.get(kind, kind.__name__)}",
            hint=f"set {source} to a {_WORDS.get(kind, kind.__name__)}",
        ) from error


def _checked(name: str, value: Any, source: str) -> Any:
    if name not in _hints():
        raise ConfigError(
            f"unknown setting {name!r} from {source}",
            hint="settings are: " + ", ".join(sorted(_hints())),
        )
    kind = _kind(name)
    if kind is tuple and isinstance(value, list | tuple):
        return tuple(str(part) for part in cast("Sequence[Any]", value))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if kind is str and isinstance(value, Path):  # a folder with a model
        value = str(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(
            f"{name} = {value!r} from {source} is not a {_WORDS.get(kind, kind.__name__)}",
            hint=f"give {name} as a {_WORDS.get(kind, kind.__name__)}",
        )
    if kind is float and not math.isfinite(value):
        raise ConfigError(f"{name} = {value} from {source}", hint="give a number")
    return _sensible(name, value, source)


def _sensible(name: str, value: Any, source: str) -> Any:
    choices = _ONE_OF.get(name)
    if choices is not None and value not in choices:
        raise ConfigError(
            f"{name} = {value!r} from {source}",
            hint=f"{name} is {', '.join(choices[:-1])} or {choices[-1]}",
        )
    least, most = _BETWEEN.get(name, (-math.inf, math.inf))
    if name in _BETWEEN and not least <= value <= most:
        span = f"{least:g} or more" if most == math.inf else f"from {least:g} to {most:g}"
        raise ConfigError(f"{name} = {value!r} from {source}", hint=f"{name} is {span}")
    return value
