"""Whatever Hindsight's client can ask is answered: served, or said not to be."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import hindsight_client_api.api
import httpx2
import pytest

_CALL = re.compile(r"method='(?P<method>[A-Z]+)',\s+resource_path='(?P<path>[^']+)'")


def operations() -> list[tuple[str, str]]:
    """Method and path of everything the client has a verb for."""
    folder = Path(inspect.getfile(hindsight_client_api.api)).parent
    modules = [import_module(f"hindsight_client_api.api.{f.stem}") for f in folder.glob("*_api.py")]
    found = {
        m.group("method", "path") for x in modules for m in _CALL.finditer(inspect.getsource(x))
    }
    return sorted(found)


def test_the_client_has_been_read() -> None:
    assert ("POST", "/v1/default/banks/{bank_id}/memories/recall") in operations()
    assert len(operations()) > 80


@pytest.mark.parametrize(("method", "path"), operations())
def test_every_operation_is_served_or_says_that_it_is_not(
    http: httpx2.Client, method: str, path: str
) -> None:
    asked = re.sub(r"\{\w+\}", "contract", path)
    answer = http.request(method, asked, json={} if method in ("POST", "PUT", "PATCH") else None)
    assert answer.status_code != 405
    if answer.status_code == 404:
        assert "paths there are" not in answer.json()["hint"]
    if answer.status_code == 501:
        assert "recollect does not serve" in answer.json()["detail"]
