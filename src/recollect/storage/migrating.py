"""The scripts that bring a store from one version of its schema to the next."""

from __future__ import annotations

from importlib.resources import files


def scripts_of(package: str) -> list[tuple[int, str]]:
    """(version, SQL) in order; file 0003.sql brings a store from version 2 to 3."""
    folder = files(package) / "migrations"
    found = [f for f in folder.iterdir() if f.name.endswith(".sql")]
    return sorted((int(f.name.removesuffix(".sql")), f.read_text("utf-8")) for f in found)
