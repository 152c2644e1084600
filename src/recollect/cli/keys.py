"""`recollect keys`: who may use the server of a store."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.arguments import limited_to, words
from recollect.cli.session import Session, add

if TYPE_CHECKING:
    from datetime import datetime

    from recollect.types import ApiKey, Scope

keys_app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="API keys of a server: create, list, revoke.",
)


def create(
    session: Session,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is: laptop, ci …")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="read, write or admin; a,b or repeated. read,write unless given.",
            autocompletion=words("read", "write", "admin"),
        ),
    ] = None,
    bank: Annotated[
        list[str] | None,
        typer.Option("--bank", metavar="BANK", help="Only for this bank; may be repeated."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Good until then: 2027-01-31, or 12h, 30d, 1y from now."),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(metavar="N", help="Requests a second, rather than rate_limit; 0 = no limit."),
    ] = None,
    max_body: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Of one request, rather than body_limit: 64K, 10M."),
    ] = None,
) -> None:
    """Make a key and show it, this once: the store keeps only a hash."""
    from recollect.cli.output import emit, talk
    from recollect.server.keys import Limits, create_key

    scopes = _scopes(limited_to("--scope", scope) or ["read", "write"])
    until = None if expires is None else moment(expires)
    limits = Limits(rate, None if max_body is None else size(max_body))
    with session.open_store() as memory:
        key, secret = create_key(memory.store.keys, name, scopes, bank, until, limits)
    if session.json:
        emit({"key": secret, **_described(key)})
        return
    print(secret)
    where = "all banks" if key.banks is None else ", ".join(key.banks)
    end = "" if key.expires_at is None else f", until {key.expires_at:%Y-%m-%d %H:%M}"
    taken = "".join(f", {limit}" for limit in _limits(key))
    talk(f"{key.name} may {' and '.join(s.value for s in key.scopes)} in {where}{end}{taken}")
    talk("keep it now: it is not shown again. Send it as `Authorization: Bearer …`")


def list_(session: Session) -> None:
    """All keys, with what they may do; never their secrets."""
    from recollect.cli.output import emit
    from recollect.cli.tables import show_table

    with session.existing_store() as memory:
        found = memory.store.keys.all()
    if session.json:
        emit([_described(key) for key in found])
        return
    show_table(
        ("id", "name", "scopes", "banks", "created", "state", "limits"),
        [
            (
                key.id,
                key.name,
                ",".join(key.scopes),
                "all" if key.banks is None else ",".join(key.banks),
                f"{key.created_at:%Y-%m-%d}",
                _state(key),
                ", ".join(_limits(key)),
            )
            for key in found
        ],
        none="there are no keys; recollect keys create NAME makes one",
    )


def revoke(
    session: Session,
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id, or the key itself.")],
) -> None:
    """End a key; a running server refuses it within two seconds."""
    from recollect.language.dates import now_micros

    wanted = key_id.split("_")[1] if key_id.startswith("rk_") and "_" in key_id[3:] else key_id
    with session.existing_store() as memory:
        key = memory.store.keys.revoke(wanted.removeprefix("rk_"), now_micros())
    session.tell(_described(key), f"revoked {key.id} ({key.name})")


for _function, _name in ((create, "create"), (list_, "list"), (revoke, "revoke")):
    add(keys_app, _function, _name)


def _scopes(names: list[str]) -> list[Scope]:
    from recollect.errors import InvalidInput
    from recollect.types import Scope

    for name in names:
        if name not in tuple(Scope):
            raise InvalidInput(f"unknown scope {name!r}", hint="use read, write or admin")
    return [Scope(name) for name in names]


def moment(text: str) -> datetime:
    """A date, or so many hours, days, weeks, months or years from now."""
    from datetime import UTC, datetime, timedelta

    from recollect.errors import InvalidInput

    found = re.fullmatch(r"(\d{1,5})\s*([hdwmy])", text.strip().lower())
    if found:
        days = {"h": 1 / 24, "d": 1, "w": 7, "m": 30, "y": 365}[found[2]] * int(found[1])
        return datetime.now(UTC) + timedelta(days=days)
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidInput(
            f"--expires {text!r} is no moment", hint="give a date like 2027-01-31, or 12h, 30d, 1y"
        ) from error
    return given if given.tzinfo else given.replace(tzinfo=UTC)


_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def size(text: str) -> int:
    """Bytes, or so many K, M or G of them."""
    from recollect.errors import InvalidInput

    found = re.fullmatch(r"(\d{1,18})\s*([KMG]?)(?:I?B)?", text.strip().upper())
    if found is None:
        raise InvalidInput(f"--max-body {text!r} is no size", hint="give bytes, or 64K, 10M, 1G")
    return int(found[1]) * _UNITS[found[2]]


def _limits(key: ApiKey) -> list[str]:
    """Those of its own."""
    out: list[str] = []
    if key.rate is not None:
        out.append(f"{key.rate:g} requests a second" if key.rate else "any number of requests")
    if key.max_body is not None:
        out.append(f"{key.max_body:,} bytes a request")
    return out


def _state(key: ApiKey) -> str:
    from datetime import UTC, datetime

    if key.revoked_at is not None:
        return f"revoked {key.revoked_at:%Y-%m-%d}"
    if key.expires_at is None:
        return "good"
    word = "expired" if key.expires_at <= datetime.now(UTC) else "good until"
    return f"{word} {key.expires_at:%Y-%m-%d}"


def _described(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": [s.value for s in key.scopes],
        "banks": None if key.banks is None else list(key.banks),
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "rate": key.rate,
        "max_body": key.max_body,
        "state": _state(key),
    }
