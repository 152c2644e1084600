"""Over real processes and real HTTP: progress, resources, a killed server, two clients at once."""

from __future__ import annotations

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from fastapi import FastAPI
from mcp.shared.exceptions import MCPError
from mcp_clients import (
    LEGACY,
    MODERN,
    Agent,
    connected,
    http,
    over_http,
    over_stdio,
    serving,
    stdio,
)

import recollect
from mcp import Client
from recollect.mcp import http_app


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_progress_carries_the_stages(
    filled: recollect.Recollect, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.mcp.progress.PATIENCE_S", 60)  # the machine may be busy
    told: list[tuple[float, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, message))

    with http(filled) as url:
        async with over_http(url, mode) as agent:
            await agent.client.call_tool(
                "recall", {"query": f"Who manages Alice, {mode}?"}, progress_callback=progress
            )
    stages = [message.split(":")[0] for _, message in told if message]
    assert {"understand", "retrieve", "semantic", "fuse", "pack"} <= set(stages)
    assert [done for done, _ in told] == sorted({done for done, _ in told})


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_bad_argument_is_told_to_who_asked_for_progress_too(
    filled: recollect.Recollect, mode: str
) -> None:
    async def progress(done: float, total: float | None, message: str | None) -> None:
        pass

    with http(filled) as url:
        async with over_http(url, mode) as agent:
            reply = await agent.client.call_tool(
                "recall", {"query": "x", "as_of": "someday"}, progress_callback=progress
            )
    assert reply.is_error and "as_of" in reply.content[0].text


async def test_banks_and_memories_are_resources(filled: recollect.Recollect) -> None:
    async with connected(filled) as agent:
        listed = (await agent.client.list_resources()).resources
        uri = next(r.uri for r in listed if r.name == "Migrations go to staging first")
        (memory,) = (await agent.client.read_resource(uri)).contents
        (bank,) = (await agent.client.read_resource("recollect://other")).contents
        templates = (await agent.client.list_resource_templates()).resource_templates
    assert "nobody could log in" in memory.text and '"memories": 1' in bank.text
    assert {t.uri_template for t in templates} == {
        "recollect://{bank}",
        "recollect://{bank}/{id}",
    }


async def test_a_name_with_a_slash_is_a_resource_too(memory: recollect.Recollect) -> None:
    memory.retain("team/ops è", "The staging server is called heron.")
    async with connected(memory) as agent:
        (listed,) = (await agent.client.list_resources()).resources
        (read,) = (await agent.client.read_resource(listed.uri)).contents
    assert '"bank": "team/ops è"' in read.text


async def test_the_list_of_resources_is_bounded(memory: recollect.Recollect) -> None:
    memory.retain("default", [f"Fact number {n} about server {n}." for n in range(120)])
    async with connected(memory) as agent:
        listed = (await agent.client.list_resources()).resources
    assert len(listed) == 51


@pytest.mark.parametrize("uri", ["recollect://nope", "recollect://default/nope", "file:///etc"])
async def test_a_resource_that_is_not_there_is_refused(
    filled: recollect.Recollect, uri: str
) -> None:
    async with connected(filled) as agent:
        with pytest.raises(MCPError, match="hint:"):
            await agent.client.read_resource(uri)


async def test_over_http_a_bank_not_allowed_does_not_exist(filled: recollect.Recollect) -> None:
    def allow(request: Any, bank: str, action: str) -> bool:
        return bank == request.headers.get("x-bank") and action == "read"

    with http(filled, allow=allow) as url:
        async with over_http(url, headers={"x-bank": "default"}) as agent:
            assert [b["bank"] for b in (await agent("banks")).data["banks"]] == ["default"]
            asked = await agent("recall", query="Bob's shoe size", bank="other")
            assert asked.data["nothing_known"] and "Banks: default." in asked.text
            assert (await agent("retain", content="x is y", bank="default")).failed
            assert {r.uri for r in (await agent.client.list_resources()).resources} >= {
                "recollect://default"
            }
            with pytest.raises(MCPError):
                await agent.client.read_resource("recollect://other")


async def test_a_foreign_host_is_refused(filled: recollect.Recollect) -> None:
    import httpx2

    with http(filled) as url:
        asked = httpx2.post(url, headers={"Host": "evil.example"}, json={})
    assert asked.status_code == 421


async def test_a_request_that_is_no_json_does_not_end_the_server(
    filled: recollect.Recollect,
) -> None:
    import httpx2

    with http(filled) as url:
        asked = httpx2.post(url, content=b"\xff{", headers={"Content-Type": "application/json"})
        assert 400 <= asked.status_code < 500
        async with over_http(url) as agent:
            assert not (await agent("banks")).failed


async def test_two_processes_on_one_file_see_each_others_memories(db: Path) -> None:
    async with over_stdio(db) as one, over_stdio(db, mode=LEGACY) as two:
        await one("retain", content="The staging server is called heron.")
        found = await two("recall", query="What is the staging server called?")
        await two("retain", content="The production server is called crane.")
        back = await one("recall", query="What is the production server called?")
    assert "heron" in found.text and "crane" in back.text


async def test_two_processes_write_at_once(db: Path) -> None:
    async with over_stdio(db) as one, over_stdio(db) as two, anyio.create_task_group() as tasks:
        for n in range(5):
            tasks.start_soon(lambda n=n: one("retain", content=f"The red box {n} holds bolts."))
            tasks.start_soon(lambda n=n: two("retain", content=f"The blue box {n} holds nuts."))
    with recollect.open(db) as memory:
        assert len(memory.memories("default")) == 10


async def test_a_killed_server_loses_nothing_it_said_was_stored(db: Path) -> None:
    acknowledged: list[str] = []
    with pytest.raises(BaseException):  # noqa: B017  however the client says it
        async with over_stdio(db) as agent:
            for n in range(200):
                made = await agent("retain", content=f"The red box {n} holds {n} bolts.")
                acknowledged += made.data["new"]
                if n == 3:
                    os.kill(_server_of(db), signal.SIGKILL)
    assert 4 <= len(acknowledged) < 200
    assert sqlite3.connect(db).execute("pragma integrity_check").fetchone() == ("ok",)
    async with over_stdio(db) as agent:
        for memory_id in acknowledged:
            assert not (await agent("load_memory", id=memory_id)).failed


def _server_of(db: Path) -> int:
    """The process that has this store on its command line."""
    mine = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and str(db).encode() in _command_of(entry)
    ]
    (server,) = mine
    return server


def _command_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:  # it has ended meanwhile
        return b""


async def test_stdout_carries_nothing_but_the_protocol(db: Path) -> None:
    async with over_stdio(db, "--bank", "mine") as agent:
        await agent("retain", content="The staging server is called heron.")
        assert (await agent("banks")).data["default"] == "mine"
        assert agent.client.instructions


def test_ctrl_c_in_a_terminal_ends_it_at_once(db: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "recollect.cli", "mcp", "--db", str(db)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while b"recollect mcp install" not in said:  # an error, once the process has ended
            said += os.read(ours, 65536)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    os.close(ours)


async def test_each_project_may_have_a_bank_of_its_own(db: Path, tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    server = stdio(db, "--bank", "team {project}")
    server.cwd = tmp_path / "shop" / "src"
    async with Client(server) as client:
        banks = await Agent(client)("banks")
    assert banks.data["default"] == "team shop"


async def test_it_can_be_mounted_as_its_documentation_says(filled: recollect.Recollect) -> None:
    mcp = http_app(filled)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with mcp.router.lifespan_context(mcp):
            yield

    app = FastAPI(lifespan=lifespan)
    app.mount("/mcp", mcp)
    with serving(app) as address:
        async with over_http(f"{address}/mcp") as agent:
            assert "Carol" in (await agent("recall", query="Who is Alice's manager?")).text


async def test_a_store_that_cannot_be_opened_is_told_by_every_answer_until_it_can(db: Path) -> None:
    db.write_text("this is a letter, not a store" * 100, "utf-8")
    async with over_stdio(db) as agent:
        refused = await agent("recall", query="anything")
        assert refused.failed and str(db) in refused.text and "hint:" in refused.text
        with pytest.raises(MCPError, match="hint:"):
            await agent.client.list_resources()
        db.unlink()
        assert not (await agent("retain", content="The staging server is called heron.")).failed


def test_a_request_that_is_no_message_is_answered(db: Path) -> None:
    """One that the client would otherwise wait for."""
    given = stdio(db)
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    half = {"name": "retain", "arguments": {"content": "cut \ud83d"}}
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "nonsense",
        json.dumps({"jsonrpc": "2.0", "id": "two", "method": "tools/call", "params": half}),
        json.dumps({"jsonrpc": "2.0", "id": 3}),
        json.dumps({"jsonrpc": "2.0", "id": 4, "method": "ping"}),
    ]
    command = [given.command, *given.args]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=given.env, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        answers = {a["id"]: a for a in (json.loads(process.stdout.readline()) for _ in range(4))}
        process.stdin.close()
    assert "half a character" in answers["two"]["error"]["message"]
    assert "hint:" in answers["two"]["error"]["message"]
    assert "no message" in answers[3]["error"]["message"]
    assert "result" in answers[1] and "result" in answers[4]
